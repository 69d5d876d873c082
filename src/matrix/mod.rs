//! The kernel matrix of a problem, row by row on demand.
//!
//! [`KernelMatrix`] says what the matrix is: a kernel, samples, and which sample stands behind
//! each variable. Its rows come from a `RowSource`, in `f32` or `f64`, and `CachedRows` keeps the
//! most recently used ones. The solver orders its variables so that the active ones come first;
//! columns follow that order (`Order`), so a row of an active set is the beginning of a row. Rows
//! are named by variable, which never changes.

mod cache;
mod cached;
mod description;
mod features;
mod held;
mod kernel_matrix;
mod kernel_rows;
mod memory;
mod order;
mod rows;
#[cfg(test)]
mod tests;
mod worth;

pub(crate) use cache::CHUNK;
#[doc(hidden)]
pub use cache::RowCache;
pub(crate) use cached::{CachedRows, Change, SMALL_PROBLEM, Traffic};
pub(crate) use features::{Features, Scratch as FeatureScratch};
pub(crate) use held::HeldRows;
pub use kernel_matrix::KernelMatrix;
pub use kernel_rows::KernelRows;
pub(crate) use kernel_rows::Precision;
pub(crate) use memory::fair_share;
pub(crate) use order::Order;
pub(crate) use rows::add_in_parallel;
pub(crate) use rows::shared::Shared;
pub(crate) use rows::whole::{BYTES_WITH_PAIRS, Gathered, Whole};
