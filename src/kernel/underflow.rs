//! What is lost where numbers are too small or too large for f32.
//!
//! ```text
//! |computed - k(x, z)| <= sqrt(l_x l_z) + the roundings,   l_x the loss of a row
//! ```
//!
//! Roundings are shares of values (see [`rounding`](super::rounding)); what underflows is lost whole,
//! and all that follows multiplies it: features, products and powers of them, factors of composed
//! kernels. Losses are bounds in the form of a geometric mean, as sizes are, so sums and products of
//! kernels take them apart by the inequality of Cauchy and Schwarz.

use super::function::Kernel;
use crate::simd::SMALLEST_EXPONENTIAL;

/// The smallest normal number of f32. Below it a number is wrong by 2^-24 of this at the most, which
/// leaves room for sums of millions of terms and for all factors of order one.
pub(crate) const TINY: f64 = f32::MIN_POSITIVE as f64;
/// Numbers up to this size, with room for sums and squares of them, are far from overflowing f32.
pub(crate) const LARGEST_SINGLE: f64 = f32::MAX as f64 / 1e6;

impl Kernel {
    /// Returns the loss of rows of up to this squared norm with so many columns; infinite where
    /// something may overflow, or a parameter is not a number of f32.
    pub(super) fn loss(&self, squares: f64, columns: usize) -> f64 {
        let largest = self.largest_value(squares, columns);
        if !self.fits_single() || !fits(largest) {
            return f64::INFINITY;
        }
        // Of an inner product, or of a distance: (1 + |x|) (1 + |z|) is more than 1 + |x| + |z|.
        let measured = 4.0 * TINY * (1.0 + squares.sqrt()).powi(2);
        let exponential = |gamma: f64| gamma * measured + TINY + SMALLEST_EXPONENTIAL;
        match self {
            Kernel::Linear | Kernel::HistogramIntersection => measured,
            Kernel::Polynomial {
                gamma,
                coef0,
                degree,
            } => {
                let base = gamma * measured + 2.0 * TINY;
                let size = (gamma * squares + coef0.abs() + base).max(1.0);
                f64::from(*degree) * base * size.powi(*degree as i32)
            }
            Kernel::Sigmoid { gamma, .. } => gamma * measured + 3.0 * TINY,
            Kernel::Rbf { gamma } | Kernel::Laplacian { gamma } => exponential(*gamma),
            Kernel::Periodic { .. } => exponential(self.slope()),
            // Its polynomial multiplies what is lost, by less the further beyond.
            Kernel::Matern { .. } => {
                let r = -SMALLEST_EXPONENTIAL.ln();
                exponential(self.slope()) + SMALLEST_EXPONENTIAL * (r + r * r / 3.0)
            }
            // Squares of differences are lost before they are divided by sums as small as these.
            Kernel::ChiSquared { gamma } => {
                exponential(*gamma) + gamma * columns as f64 * TINY.sqrt()
            }
            Kernel::Anova { gamma, degree } => {
                f64::from(*degree) * exponential(*gamma) * largest.max(1.0)
            }
            Kernel::InverseMultiquadric { c } => (measured + TINY) / c.powi(3) + TINY,
            // Rows whose own value is too small are left to f64 as it is.
            Kernel::Precomputed | Kernel::User(_) | Kernel::Normalized(_) => TINY,
            Kernel::Sum(parts) => parts.iter().map(|part| part.loss(squares, columns)).sum(),
            Kernel::Product(parts) => loss_of_product(parts, squares, columns),
            Kernel::Scaled(factor, kernel) => {
                let size = kernel.largest_value(squares, columns);
                factor * kernel.loss(squares, columns) + TINY * (1.0 + size)
            }
        }
    }
}

/// Tells whether a value is a number of f32.
fn fits(value: f64) -> bool {
    value <= LARGEST_SINGLE
}

/// Multiplies from the left, as values are: each product is a number of f32 of its own.
fn loss_of_product(parts: &[Kernel], squares: f64, columns: usize) -> f64 {
    let (mut size, mut loss) = (1.0, 0.0);
    for part in parts {
        let (other, lost) = (
            part.largest_value(squares, columns),
            part.loss(squares, columns),
        );
        loss = loss * (other + lost) + size * lost + TINY;
        size *= other;
        if !fits(size) {
            return f64::INFINITY;
        }
    }
    loss
}
