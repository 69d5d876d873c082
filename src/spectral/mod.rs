//! What lives in feature space: eigenproblems of the kernel matrix, and distances.
//!
//! | file | what |
//! |---|---|
//! | `eigen` | decomposing a symmetric matrix that lies in memory |
//! | `operator`, `krylov` | the centred kernel matrix by what it does to vectors; its largest eigenvalues |
//! | `condition` | what Mercer's theorem says of a matrix |
//! | `low_rank` | a kernel matrix by a few of its rows |
//! | `projection` | linear functions in feature space |
//! | `pca`, `pre_image` | kernel PCA, and points whose images are near to a projection |
//! | `fisher` | Fisher's discriminants |
//! | `kmeans`, `neighbors` | clusters and nearest neighbours by distances in feature space |
//! | `tdsep` | rotations that diagonalise several matrices at once, for ICA |

mod condition;
mod dense;
pub mod eigen;
mod fisher;
mod ica;
mod kmeans;
mod krylov;
mod low_rank;
mod neighbors;
mod operator;
mod pca;
#[cfg_attr(not(feature = "python"), allow(dead_code))]
pub(crate) mod pre_image;
mod projection;
mod tdsep;

pub use condition::{Condition, mercer_map};
pub use fisher::{Discriminants, KernelFisher, Regularisation};
pub use ica::{KernelIca, KernelIcaModel, Sources};
pub use kmeans::{Clusters, KernelKMeans};
pub use neighbors::Neighbors;
pub use pca::{EigenSolver, KernelPca, KernelPcaModel};
pub use projection::Projection;
pub use tdsep::joint_diagonalizer;
