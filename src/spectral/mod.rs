//! What lives in feature space: eigenproblems of the kernel matrix.
//!
//! [`eigen`] decomposes a symmetric matrix that lies in memory; [`Condition`] and [`mercer_map`] are what
//! Mercer's theorem says of it.

mod condition;
pub mod eigen;

pub use condition::{Condition, mercer_map};
