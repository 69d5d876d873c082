//! Kernel functions and their evaluation in tiles.
//!
//! ```text
//! linear                 x.z
//! polynomial             (gamma x.z + coef0)^degree
//! RBF                    exp(-gamma |x - z|^2)          papers write gamma = 1 / (2 sigma^2)
//! sigmoid                tanh(gamma x.z + coef0)        not positive semi-definite in general
//! Laplacian              exp(-gamma |x - z|_1)
//! inverse multiquadric   1 / sqrt(|x - z|^2 + c^2)
//! Matern                 (1 + r + [r^2 / 3]) exp(-r)    r = sqrt(2 nu) |x - z| / length_scale
//! periodic               exp(-2 sum sin^2(pi (x_i - z_i) / period) / length_scale^2)
//! chi-squared            exp(-gamma sum (x_i - z_i)^2 / (x_i + z_i))
//! intersection           sum min(x_i, z_i)
//! ANOVA                  sum over i_1 < ... < i_d of the products of exp(-gamma (x_i - z_i)^2)
//! normalised             k(x, z) / sqrt(k(x, x) k(z, z))
//! ```
//!
//! and their sums, products and multiples, a matrix computed beforehand, and the user's own. [`SequenceKernel`]
//! is for strings and other sequences.

mod centred;
mod columns;
mod distance;
mod epilogue;
mod evaluate;
mod explicit;
mod function;
mod gamma;
mod lengths;
mod own_values;
mod parameters;
mod primal;
mod products;
mod properties;
mod rounding;
mod sequences;
mod sparse;
mod sums;
#[cfg(test)]
mod tests;
mod tile;
mod underflow;
mod user;
mod weights;

pub(crate) use centred::Centred;
#[cfg(test)]
use centred::Frame;
pub(crate) use columns::{Bounds, Columns, Groups, PANEL};
pub(crate) use distance::{RowSquares, Squares};
pub(crate) use evaluate::check_columns;
pub(crate) use explicit::Explicit;
pub use function::Kernel;
pub use gamma::Gamma;
pub(crate) use primal::{add_products, weight_vector};
pub(crate) use properties::{LARGEST_VALUE, Profile};
pub use sequences::{SequenceKernel, Sequences};
pub(crate) use underflow::{LARGEST_SINGLE, TINY};
pub use user::UserKernel;
pub(crate) use user::user_block;
pub(crate) use weights::Weights;
