//! What lives in feature space: eigenproblems of the kernel matrix.
//!
//! [`eigen`] decomposes a symmetric matrix that lies in memory.

pub mod eigen;
