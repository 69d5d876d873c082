//! What is known of a kernel without computing its matrix.

use super::centred::Frame;
use super::function::Kernel;
use super::rounding::{Rounding, Row};
use super::underflow::LARGEST_SINGLE;
use super::user::{USER_DIAGONAL, user_diagonal};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::simd::Real;
use crate::simd::interactions::binomial;

/// Kernel values up to this size, with room for sums and products of them, are far from overflowing.
pub(crate) const LARGEST_VALUE: f64 = 1e150;
/// Values in f32 that are typically this wrong, as a share of the largest, are of no use.
const USELESS: f64 = 1e-2;
/// What rows are divided by is a normal number of f32 from here on, and so are its parts that matter.
const SMALLEST_SINGLE: f64 = 1e-30;

/// What the matrix of a kernel over some rows looks like.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// k(x, x) of each row.
    pub diagonal: Vec<f64>,
    pub frame: Frame,
    /// Estimated absolute error of one value in f32; infinite where f32 is of no use.
    pub single_noise: f64,
    /// The same in f64.
    pub double_noise: f64,
    /// Bounds of the errors of values.
    pub rounding: Rounding,
    /// Kernel values computed to find out.
    pub evaluations: usize,
}

impl Profile {
    /// Returns that of some rows.
    pub fn select(&self, rows: &[usize]) -> Self {
        Profile {
            diagonal: rows.iter().map(|&i| self.diagonal[i]).collect(),
            rounding: self.rounding.select(rows),
            frame: self.frame.clone(),
            ..*self
        }
    }

    /// Returns that of a matrix whose values in f32 are those in f64, rounded. Where f32 is of no use it
    /// is of none either.
    pub fn rounded(mut self) -> Self {
        let scale = self
            .diagonal
            .iter()
            .fold(0.0f64, |max, own| max.max(own.abs()));
        let noise = f32::ROUNDOFF * scale + self.double_noise;
        self.single_noise = match self.single_noise.is_finite() {
            true => self.single_noise.min(noise),
            false => f64::INFINITY,
        };
        self.rounding = self.rounding.rounded();
        self
    }
}

/// How large rows are.
#[derive(Default)]
struct Spread {
    /// A typical squared norm, and the largest.
    typical: f64,
    largest: f64,
    /// Whether a row to be normalised is too long or too short for f32.
    is_uneven: bool,
}

/// Checks that k(x, x) of each row is a number to compute with.
pub(super) fn check_diagonal(diagonal: &[f64], index: &[usize]) -> Result<()> {
    if let Some(at) = diagonal.iter().position(|value| !value.is_finite()) {
        return Err(Error::NotFinite {
            name: "the kernel of a row of X with itself",
            row: index[at],
            value: diagonal[at],
        });
    }
    let too_large = |value: &f64| value.abs() > LARGEST_VALUE;
    if let Some(at) = diagonal.iter().position(too_large) {
        let allowed =
            format!("scaled so that the kernel of a row with itself is at most {LARGEST_VALUE:e}");
        let value = format!("{:e} for row {}", diagonal[at], index[at]);
        return Err(Error::parameter("X", allowed, value));
    }
    Ok(())
}

impl Kernel {
    /// Finds out what the matrix over rows `index` of `samples` looks like.
    ///
    /// # Errors
    /// If a parameter is out of range, a precomputed matrix is not square, the user's kernel fails,
    /// or k(x, x) of a row is not finite or too large.
    pub(crate) fn profile(&self, samples: &Samples, index: &[usize]) -> Result<Profile> {
        let centred = self.is_translation_invariant() && samples.is_packed_dense();
        self.profile_around(centred.then(|| samples.mean(index)), samples, index)
    }

    /// Finds out what the matrix of rows less a centre looks like.
    ///
    /// # Errors
    /// As [`profile`](Self::profile).
    pub(crate) fn profile_around(
        &self,
        center: Option<Vec<f64>>,
        samples: &Samples,
        index: &[usize],
    ) -> Result<Profile> {
        self.check()?;
        let mut profile = Profile {
            diagonal: Vec::with_capacity(index.len()),
            frame: Frame {
                center,
                differences: false,
            },
            single_noise: 0.0,
            double_noise: 0.0,
            rounding: Rounding::default(),
            evaluations: 0,
        };
        let mut spread = Spread::default();
        match self {
            Kernel::Precomputed => {
                if samples.rows() != samples.columns() || samples.is_sparse() {
                    return Err(Error::shape(
                        "X",
                        "as many columns as rows (a dense, square kernel matrix)",
                        format!("{} x {}", samples.rows(), samples.columns()),
                    ));
                }
                profile.diagonal = index.iter().map(|&i| samples.dense_value(i, i)).collect();
                profile.rounding = Rounding::given(index.len());
            }
            Kernel::User(user) => {
                profile.diagonal = user_diagonal(&**user, samples, index)?;
                profile.evaluations = index.len() * USER_DIAGONAL;
                profile.rounding = Rounding::given(index.len());
            }
            _ => spread = self.profile_rows(samples, index, &mut profile)?,
        }
        check_diagonal(&profile.diagonal, index)?;
        let largest = |max: f64, value: &f64| max.max(value.abs());
        let scale = profile.diagonal.iter().fold(0.0, largest);
        let noise = f32::ROUNDOFF * self.roundings(spread.typical);
        let fits = scale.max(spread.largest) <= LARGEST_SINGLE && !spread.is_uneven;
        let loss = self.loss(spread.largest, samples.columns());
        profile.single_noise = match fits && noise <= USELESS && loss <= USELESS * scale {
            true => noise * scale + loss,
            false => f64::INFINITY,
        };
        let roundings = match profile.frame.differences {
            true => self.roundings(0.0),
            false => self.roundings(spread.typical),
        };
        profile.double_noise = f64::ROUNDOFF * roundings * scale;
        Ok(profile)
    }

    /// Fills in what is known of a kernel that is computed from rows.
    ///
    /// # Errors
    /// If the kernel is not defined for a row.
    fn profile_rows(
        &self,
        samples: &Samples,
        index: &[usize],
        profile: &mut Profile,
    ) -> Result<Spread> {
        self.check_rows(samples, index)?;
        let center = profile.frame.center.as_deref();
        let (mut total, mut largest) = (0.0f64, None::<Row>);
        let mut is_uneven = false;
        for &i in index {
            let row = Row::of(samples, i, center);
            total += row.squares;
            is_uneven |= !self.fits_row(&row);
            profile.rounding.push(self, &row);
            profile.diagonal.extend(self.on_diagonal(&row));
            largest = Some(largest.map_or(row, |largest| largest.max(&row)));
        }
        if let Some(largest) = &largest {
            profile.frame.differences = self.wants_differences(largest);
        }
        Ok(Spread {
            // The mean, not the largest: kernels of distances vanish between a row far out and most
            // others, and so do their errors there.
            typical: 2.0 * total / index.len().max(1) as f64,
            largest: largest.map_or(0.0, |largest| largest.squares),
            is_uneven,
        })
    }

    /// Tells whether only differences x - z enter, so that the data may be centred.
    pub(crate) fn is_translation_invariant(&self) -> bool {
        match self {
            Kernel::Rbf { .. }
            | Kernel::Laplacian { .. }
            | Kernel::InverseMultiquadric { .. }
            | Kernel::Matern { .. }
            | Kernel::Periodic { .. }
            | Kernel::Anova { .. } => true,
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                parts.iter().all(Kernel::is_translation_invariant)
            }
            Kernel::Scaled(_, kernel) | Kernel::Normalized(kernel) => {
                kernel.is_translation_invariant()
            }
            _ => false,
        }
    }

    /// Tells whether it is the inner product itself.
    pub(crate) fn is_linear(&self) -> bool {
        matches!(self, Kernel::Linear)
    }

    /// Tells whether its values are computed here, in tiles.
    pub(crate) fn is_tiled(&self) -> bool {
        !matches!(self, Kernel::Precomputed | Kernel::User(_))
    }

    /// Returns the multiplications behind the matrix of so many rows, roughly: one that is given is only
    /// read.
    pub(crate) fn work_of_matrix(&self, samples: &Samples, rows: usize) -> usize {
        match self {
            Kernel::Precomputed => Samples::numbered(0).work_of_matrix(rows),
            _ => samples.work_of_matrix(rows),
        }
    }

    /// Tells whether the kernel is one that need not be positive semi-definite.
    pub(crate) fn may_be_indefinite(&self) -> bool {
        match self {
            Kernel::Sigmoid { .. } => true,
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                parts.iter().any(Kernel::may_be_indefinite)
            }
            Kernel::Scaled(_, kernel) | Kernel::Normalized(kernel) => kernel.may_be_indefinite(),
            _ => false,
        }
    }

    /// Tells whether it is known to be positive semi-definite, so that |k(x, z)|^2 <= k(x, x) k(z, z), and
    /// k(x, x) comes without cancellation. Others may or may not be.
    pub(crate) fn is_semidefinite(&self) -> bool {
        match self {
            Kernel::Sigmoid { .. } | Kernel::Precomputed | Kernel::User(_) => false,
            Kernel::Polynomial { coef0, .. } => *coef0 >= 0.0,
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                parts.iter().all(Kernel::is_semidefinite)
            }
            Kernel::Scaled(_, kernel) | Kernel::Normalized(kernel) => kernel.is_semidefinite(),
            _ => true,
        }
    }

    /// Tells whether k(x, x) of a row that is to be normalised is a normal number of f32, or 0.
    pub(super) fn fits_row(&self, row: &Row) -> bool {
        match self {
            Kernel::Normalized(kernel) => {
                let fits = SMALLEST_SINGLE..=LARGEST_SINGLE;
                let own = kernel.on_diagonal(row).unwrap_or(f64::NAN);
                (own == 0.0 || fits.contains(&own)) && kernel.fits_row(row)
            }
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                parts.iter().all(|kernel| kernel.fits_row(row))
            }
            Kernel::Scaled(_, kernel) => kernel.fits_row(row),
            _ => true,
        }
    }

    /// Returns k(x, x) of a row; None where what is known of it is not enough.
    pub(super) fn on_diagonal(&self, row: &Row) -> Option<f64> {
        let all = |parts: &[Kernel]| -> Option<Vec<f64>> {
            parts.iter().map(|kernel| kernel.on_diagonal(row)).collect()
        };
        Some(match self {
            Kernel::Linear => row.squares,
            Kernel::Polynomial {
                gamma,
                coef0,
                degree,
            } => (gamma * row.squares + coef0).powi(*degree as i32),
            Kernel::Rbf { .. }
            | Kernel::Laplacian { .. }
            | Kernel::Matern { .. }
            | Kernel::Periodic { .. }
            | Kernel::ChiSquared { .. } => 1.0,
            Kernel::Sigmoid { gamma, coef0 } => (gamma * row.squares + coef0).tanh(),
            Kernel::InverseMultiquadric { c } => 1.0 / c,
            Kernel::HistogramIntersection => row.absolutes,
            Kernel::Anova { degree, .. } => binomial(row.columns, *degree as usize),
            Kernel::Sum(parts) => all(parts)?.iter().sum(),
            Kernel::Product(parts) => all(parts)?.iter().product(),
            Kernel::Scaled(factor, kernel) => factor * kernel.on_diagonal(row)?,
            Kernel::Normalized(kernel) => match kernel.on_diagonal(row)? {
                0.0 => 0.0,
                own if own > 0.0 => 1.0,
                _ => f64::NAN,
            },
            Kernel::Precomputed | Kernel::User(_) => return None,
        })
    }

    /// Tells whether the parameters, and values of theirs, are numbers of f32 that are neither too large
    /// nor too small.
    pub(super) fn fits_single(&self) -> bool {
        let fits = |value: f64| value <= LARGEST_SINGLE && value >= LARGEST_SINGLE.recip();
        let fits_or_zero = |value: f64| value == 0.0 || fits(value.abs());
        match self {
            Kernel::Rbf { gamma }
            | Kernel::Laplacian { gamma }
            | Kernel::ChiSquared { gamma }
            | Kernel::Anova { gamma, .. } => fits_or_zero(*gamma),
            Kernel::Matern { length_scale, .. } => fits(length_scale * length_scale),
            Kernel::Periodic {
                period,
                length_scale,
            } => fits(*period) && fits(length_scale * length_scale),
            Kernel::Polynomial { gamma, coef0, .. } | Kernel::Sigmoid { gamma, coef0 } => {
                fits_or_zero(*gamma) && fits_or_zero(*coef0)
            }
            Kernel::InverseMultiquadric { c } => fits(c * c),
            Kernel::Sum(parts) | Kernel::Product(parts) => parts.iter().all(Kernel::fits_single),
            Kernel::Scaled(factor, kernel) => fits_or_zero(*factor) && kernel.fits_single(),
            Kernel::Normalized(kernel) => kernel.is_semidefinite() && kernel.fits_single(),
            Kernel::Linear
            | Kernel::HistogramIntersection
            | Kernel::Precomputed
            | Kernel::User(_) => true,
        }
    }

    /// Estimates how many roundings of the arithmetic a kernel value carries, given a typical
    /// squared norm of the (centred) rows. Relative to the largest value of the kernel.
    pub(crate) fn roundings(&self, squared_norm: f64) -> f64 {
        match self {
            Kernel::Rbf { gamma } => 1.0 + gamma * squared_norm,
            Kernel::InverseMultiquadric { c } => 1.0 + squared_norm / (c * c),
            Kernel::Polynomial { degree, .. } => f64::from(*degree) + 1.0,
            Kernel::Sigmoid { gamma, .. } => 1.0 + gamma * squared_norm,
            // Features are rounded apart from each other: their errors grow as a norm does.
            Kernel::Laplacian { gamma } => 4.0 + gamma * squared_norm.sqrt(),
            Kernel::Matern { .. } => 1.0 + self.slope() * squared_norm,
            Kernel::Periodic { .. } | Kernel::ChiSquared { .. } => {
                4.0 + 4.0 * self.slope() * squared_norm.sqrt()
            }
            Kernel::Anova { gamma, degree } => {
                f64::from(*degree) * (4.0 + (gamma * squared_norm).sqrt())
            }
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                let roundings = |kernel: &Kernel| kernel.roundings(squared_norm);
                parts.iter().map(roundings).sum()
            }
            Kernel::Scaled(_, kernel) => kernel.roundings(squared_norm),
            Kernel::Normalized(kernel) => 2.0 + 2.0 * kernel.roundings(squared_norm),
            Kernel::Linear
            | Kernel::HistogramIntersection
            | Kernel::Precomputed
            | Kernel::User(_) => 1.0,
        }
    }
}
