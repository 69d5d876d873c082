//! What is known of a kernel without computing its matrix.

use super::centred::Frame;
use super::function::Kernel;
use super::rounding::{Rounding, Row};
use super::user::{USER_DIAGONAL, user_diagonal};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::simd::Real;

/// Kernel values up to this size, with room for sums and products of them, are far from overflowing.
pub(crate) const LARGEST_VALUE: f64 = 1e150;
/// Numbers up to this size, with room for sums and squares of them, are far from overflowing f32.
const LARGEST_SINGLE: f64 = f32::MAX as f64 / 1e6;
/// Values in f32 that are typically this wrong, as a share of the largest, are of no use.
const USELESS: f64 = 1e-2;

/// What the matrix of a kernel over some rows looks like.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// k(x, x) of each row.
    pub diagonal: Vec<f64>,
    pub frame: Frame,
    /// Estimated absolute error of one value computed in f32; infinite where f32 is of no use.
    pub single_noise: f64,
    /// The same in f64.
    pub double_noise: f64,
    /// Bounds of the errors of values computed in f32.
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
}

/// Checks that k(x, x) of each row is a number to compute with.
fn check_diagonal(diagonal: &[f64], index: &[usize]) -> Result<()> {
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
        // Squared norms: a typical one, and the largest.
        let mut norms = (0.0, 0.0);
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
            _ => norms = self.profile_rows(samples, index, &mut profile),
        }
        check_diagonal(&profile.diagonal, index)?;
        let largest = |max: f64, value: &f64| max.max(value.abs());
        let scale = profile.diagonal.iter().fold(0.0, largest);
        let noise = f32::ROUNDOFF * self.roundings(norms.0);
        let fits = scale <= LARGEST_SINGLE && norms.1 <= LARGEST_SINGLE && self.fits_single();
        profile.single_noise = match fits && noise <= USELESS {
            true => noise * scale,
            false => f64::INFINITY,
        };
        let roundings = match profile.frame.differences {
            true => self.roundings(0.0),
            false => self.roundings(norms.0),
        };
        profile.double_noise = f64::ROUNDOFF * roundings * scale;
        Ok(profile)
    }

    /// Fills in what is known of a kernel that is computed from rows. Returns a typical squared norm of
    /// a row, and the largest.
    fn profile_rows(
        &self,
        samples: &Samples,
        index: &[usize],
        profile: &mut Profile,
    ) -> (f64, f64) {
        let center = profile.frame.center.as_deref();
        let (mut total, mut largest) = (0.0f64, None::<Row>);
        for &i in index {
            let row = Row::of(samples, i, center);
            total += row.squares;
            profile.rounding.push(self, &row);
            profile.diagonal.extend(self.on_diagonal(row.squares));
            largest = Some(largest.map_or(row, |largest| largest.max(&row)));
        }
        if let Some(largest) = &largest {
            profile.frame.differences = self.wants_differences(largest);
        }
        // The mean, not the largest: kernels of distances vanish between a row far out and most
        // others, and so do their errors there.
        let typical = 2.0 * total / index.len().max(1) as f64;
        (typical, largest.map_or(0.0, |largest| largest.squares))
    }

    /// Checks that every parameter is in its range.
    pub(crate) fn check(&self) -> Result<()> {
        let finite = |name, value: f64| {
            if value.is_finite() {
                Ok(())
            } else {
                Err(Error::parameter(name, "finite", value))
            }
        };
        let not_negative = |name, value: f64| {
            if value.is_finite() && value >= 0.0 {
                Ok(())
            } else {
                Err(Error::parameter(name, "finite and not negative", value))
            }
        };
        match self {
            Kernel::Linear | Kernel::Precomputed | Kernel::User(_) => Ok(()),
            Kernel::Rbf { gamma } | Kernel::Laplacian { gamma } => not_negative("gamma", *gamma),
            Kernel::Polynomial { gamma, coef0, .. } | Kernel::Sigmoid { gamma, coef0 } => {
                not_negative("gamma", *gamma)?;
                finite("coef0", *coef0)
            }
            Kernel::InverseMultiquadric { c } => {
                if c.is_finite() && *c > 0.0 {
                    Ok(())
                } else {
                    Err(Error::parameter("c", "positive and finite", c))
                }
            }
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                if parts.is_empty() {
                    return Err(Error::parameter(
                        "kernel",
                        "made of at least one part",
                        "none",
                    ));
                }
                parts.iter().try_for_each(Kernel::check_part)
            }
            Kernel::Scaled(factor, kernel) => {
                not_negative("the factor of a kernel", *factor)?;
                kernel.check_part()
            }
        }
    }

    fn check_part(&self) -> Result<()> {
        match self {
            Kernel::Precomputed | Kernel::User(_) => Err(Error::parameter(
                "kernel",
                "made of built-in kernels",
                format!("{self:?} as a part"),
            )),
            _ => self.check(),
        }
    }

    /// Tells whether only differences x - z enter, so that the data may be centred.
    pub(crate) fn is_translation_invariant(&self) -> bool {
        match self {
            Kernel::Rbf { .. } | Kernel::Laplacian { .. } | Kernel::InverseMultiquadric { .. } => {
                true
            }
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                parts.iter().all(Kernel::is_translation_invariant)
            }
            Kernel::Scaled(_, kernel) => kernel.is_translation_invariant(),
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
            Kernel::Scaled(_, kernel) => kernel.may_be_indefinite(),
            _ => false,
        }
    }

    /// Returns k(x, x) for a row with the given squared norm; None where that is not enough.
    pub(crate) fn on_diagonal(&self, squared_norm: f64) -> Option<f64> {
        Some(match self {
            Kernel::Linear => squared_norm,
            Kernel::Polynomial {
                gamma,
                coef0,
                degree,
            } => (gamma * squared_norm + coef0).powi(*degree as i32),
            Kernel::Rbf { .. } | Kernel::Laplacian { .. } => 1.0,
            Kernel::Sigmoid { gamma, coef0 } => (gamma * squared_norm + coef0).tanh(),
            Kernel::InverseMultiquadric { c } => 1.0 / c,
            Kernel::Sum(parts) => {
                let values: Option<Vec<f64>> =
                    parts.iter().map(|k| k.on_diagonal(squared_norm)).collect();
                values?.iter().sum()
            }
            Kernel::Product(parts) => {
                let values: Option<Vec<f64>> =
                    parts.iter().map(|k| k.on_diagonal(squared_norm)).collect();
                values?.iter().product()
            }
            Kernel::Scaled(factor, kernel) => factor * kernel.on_diagonal(squared_norm)?,
            Kernel::Precomputed | Kernel::User(_) => return None,
        })
    }

    /// Tells whether the parameters, and values of theirs, are numbers of f32 that are neither too large
    /// nor too small.
    fn fits_single(&self) -> bool {
        let fits = |value: f64| value <= LARGEST_SINGLE && value >= LARGEST_SINGLE.recip();
        let fits_or_zero = |value: f64| value == 0.0 || fits(value.abs());
        match self {
            Kernel::Rbf { gamma } | Kernel::Laplacian { gamma } => fits_or_zero(*gamma),
            Kernel::Polynomial { gamma, coef0, .. } | Kernel::Sigmoid { gamma, coef0 } => {
                fits_or_zero(*gamma) && fits_or_zero(*coef0)
            }
            Kernel::InverseMultiquadric { c } => fits(c * c),
            Kernel::Sum(parts) | Kernel::Product(parts) => parts.iter().all(Kernel::fits_single),
            Kernel::Scaled(factor, kernel) => fits_or_zero(*factor) && kernel.fits_single(),
            Kernel::Linear | Kernel::Precomputed | Kernel::User(_) => true,
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
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                let roundings = |kernel: &Kernel| kernel.roundings(squared_norm);
                parts.iter().map(roundings).sum()
            }
            Kernel::Scaled(_, kernel) => kernel.roundings(squared_norm),
            Kernel::Linear | Kernel::Precomputed | Kernel::User(_) => 1.0,
        }
    }
}
