//! How far computed kernel values may be from exact ones: bounds, not estimates.
//!
//! ```text
//! |computed - k(x, z)| <= u (r_x + r_z) s_x s_z,   |k(x, z)| <= s_x s_z
//! ```
//!
//! with u the roundoff of the arithmetic, s the size of a row and r its roundings, the worst case to
//! first order; what underflows comes on top, see [`underflow`](super::underflow). They follow from the formulas: a sum of t terms takes t roundings, each of its
//! terms is known to two more, and
//!
//! ```text
//! |x|^2 + |z|^2 - 2 x.z   is known to (2 t + 6) u (|x|^2 + |z|^2)
//! ```
//!
//! which kernels of distances multiply by gamma, or divide by c^2. Between a row far out and the
//! others their values vanish, and so do the errors: for a row of norm a, a partner of norm b counts
//! as one at its reach at the most, since b^2 exp(-gamma (a - b)^2) < (a + 1 / sqrt(gamma))^2.

use super::function::Kernel;
use super::underflow::TINY;
use crate::data::Samples;
use crate::simd::Real;
use crate::simd::interactions::binomial;
use crate::simd::product::chains;

/// While the roundings of a value are below this share of it, those of higher order add less than a
/// tenth to them.
const FIRST_ORDER: f64 = 1.0 / 16.0;
const HIGHER_ORDERS: f64 = 1.1;
/// Distances in f64 are computed from norms while that leaves kernel values right to this, as a share
/// of k(x, x); beyond, from differences.
const FROM_NORMS: f64 = 1e-10;

/// What bounds the kernel values of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The squared norm and the L1 norm, less the centre if there is one.
    pub squares: f64,
    pub absolutes: f64,
    /// The most roundings of a sum over its features.
    pub terms: f64,
    /// How many features there are.
    pub columns: usize,
    /// Whether it is stored sparse, where an L1 distance is a difference of sums.
    pub sparse: bool,
}

impl Row {
    /// Returns that of row `i` of samples.
    pub fn of(samples: &Samples, i: usize, center: Option<&[f64]>) -> Self {
        let (mut squares, mut absolutes) = (0.0, 0.0);
        let mut add = |value: f64| {
            squares += value * value;
            absolutes += value.abs();
        };
        match center {
            None => samples.for_each(i, |_, value| add(value)),
            Some(center) if !samples.is_sparse() => {
                samples.for_each(i, |column, value| add(value - center[column]));
            }
            // Zeros that are not stored are as far from the centre as others.
            Some(center) => {
                let mut row = vec![0.0; center.len()];
                samples.copy_row(i, &mut row);
                row.iter()
                    .zip(center)
                    .for_each(|(value, center)| add(value - center));
            }
        }
        let sparse = !samples.is_packed_dense();
        Row {
            squares,
            absolutes,
            terms: match sparse {
                true => samples.entries(i) as f64,
                false => chains(samples.columns()),
            },
            columns: samples.columns(),
            sparse,
        }
    }

    /// Returns one that bounds both.
    pub fn max(&self, other: &Self) -> Self {
        // Norms that overflow are not smaller than others.
        let max = |a: f64, b: f64| match a.is_nan() || b.is_nan() {
            true => f64::INFINITY,
            false => a.max(b),
        };
        Row {
            squares: max(self.squares, other.squares),
            absolutes: max(self.absolutes, other.absolutes),
            terms: self.terms.max(other.terms),
            columns: self.columns,
            sparse: self.sparse,
        }
    }
}

/// The figures of a row: see above.
#[derive(Clone, Copy, Debug)]
struct Figures {
    size: f64,
    roundings: f64,
    /// The most roundings with which a partner further out counts.
    reach: f64,
}

/// A kernel without a width reaches everywhere.
fn reach_of(gamma: f64, reach: impl Fn(f64) -> f64) -> f64 {
    match gamma > 0.0 {
        true => reach(gamma),
        false => f64::INFINITY,
    }
}

impl Figures {
    /// Those of a kernel that does not vanish far out.
    fn plain(size: f64, roundings: f64) -> Self {
        let reach = f64::INFINITY;
        Figures {
            size,
            roundings,
            reach,
        }
    }

    fn sum(parts: impl Iterator<Item = Self>) -> Self {
        let (mut squares, mut most, mut operations) = (0.0, 0.0f64, 0.0);
        for part in parts {
            squares += part.size * part.size;
            most = most.max(part.roundings);
            operations += 0.5;
        }
        Figures::plain(f64::sqrt(squares), most + operations)
    }

    fn product(parts: impl Iterator<Item = Self>) -> Self {
        let (mut size, mut roundings) = (1.0, 0.0);
        for part in parts {
            size *= part.size;
            roundings += part.roundings + 0.5;
        }
        Figures::plain(size, roundings)
    }

    /// Those of a kernel divided by the lengths of rows; `own` is k(x, x) of this one.
    fn divided(self, own: f64) -> Self {
        match own > 0.0 {
            true => {
                let share = self.size * self.size / own;
                Figures::plain(share.sqrt(), self.roundings * (1.0 + share) + 3.0)
            }
            false => Figures::plain(0.0, 0.0),
        }
    }

    fn scaled(self, factor: f64) -> Self {
        Figures {
            size: self.size * factor.sqrt(),
            roundings: self.roundings + 1.0,
            reach: self.reach + 1.0,
        }
    }
}

impl Kernel {
    fn figures(&self, row: &Row) -> Figures {
        let (t, squares) = (row.terms, row.squares);
        match self {
            Kernel::Linear => Figures::plain(squares.sqrt(), 0.5 * t + 1.5),
            Kernel::Polynomial {
                gamma,
                coef0,
                degree,
            } => {
                let degree = f64::from(*degree);
                let size = (gamma * squares + coef0.abs()).powf(0.5 * degree);
                Figures::plain(size, 0.5 * degree * (t + 6.0) + 0.5)
            }
            Kernel::Sigmoid { gamma, coef0 } => {
                let argument = gamma * squares + coef0.abs();
                Figures::plain(1.0, 3.0 + 0.5 * (t + 6.0) * argument)
            }
            Kernel::Rbf { gamma } => {
                let of = |squares: f64| 2.0 + gamma * (2.0 * t + 8.0) * squares;
                let radius = |gamma: f64| squares.sqrt() + gamma.sqrt().recip();
                Figures {
                    size: 1.0,
                    roundings: of(squares),
                    reach: reach_of(*gamma, |gamma| of(radius(gamma).powi(2))),
                }
            }
            Kernel::InverseMultiquadric { c } => {
                let of = |squares: f64| 2.0 + (t + 4.0) * squares / (c * c);
                Figures {
                    size: c.recip().sqrt(),
                    roundings: of(squares),
                    reach: of((2.0 * squares.sqrt() + c).powi(2)),
                }
            }
            Kernel::Matern { .. }
            | Kernel::Laplacian { .. }
            | Kernel::Periodic { .. }
            | Kernel::ChiSquared { .. }
            | Kernel::HistogramIntersection
            | Kernel::Anova { .. } => self.further_figures(row),
            // Given in f64, and only rounded.
            Kernel::Precomputed | Kernel::User(_) => Figures::plain(0.0, 0.5),
            Kernel::Sum(parts) => Figures::sum(parts.iter().map(|part| part.figures(row))),
            Kernel::Product(parts) => Figures::product(parts.iter().map(|part| part.figures(row))),
            Kernel::Scaled(factor, kernel) => kernel.figures(row).scaled(*factor),
            Kernel::Normalized(kernel) => {
                let own = kernel.on_diagonal(row).unwrap_or(f64::NAN);
                kernel.figures(row).divided(own)
            }
        }
    }

    /// Returns the figures of Matern kernels, and of kernels of sums over features that are neither inner
    /// products nor squared distances.
    fn further_figures(&self, row: &Row) -> Figures {
        let (t, squares, sum) = (row.terms, row.squares, row.absolutes);
        match self {
            Kernel::Matern { nu, length_scale } => {
                let slope = self.slope();
                let of = |squares: f64| 4.0 + slope * (2.0 * t + 8.0) * squares;
                // b^2 (1 + t) exp(-t) < (a + 1.35 w)^2 for b = a + w t.
                let radius = squares.sqrt() + 1.35 * length_scale / (2.0 * nu).sqrt();
                Figures {
                    size: 1.0,
                    roundings: of(squares),
                    reach: of(radius.powi(2)),
                }
            }
            Kernel::Laplacian { gamma } => {
                let per_size = if row.sparse { 3.0 * t + 3.0 } else { 2.0 };
                let of = |sum: f64| 2.0 + 0.2 * (t + 2.0) + gamma * per_size * sum;
                Figures {
                    size: 1.0,
                    roundings: of(sum),
                    reach: reach_of(*gamma, |gamma| of(sum + gamma.recip())),
                }
            }
            // A term (x - z)^2 / (x + z), or sin^2, is known to 8 roundings of x and z, times the slope.
            Kernel::Periodic { .. } | Kernel::ChiSquared { .. } => {
                let per_size = if row.sparse { 3.0 * t + 12.0 } else { 8.0 };
                Figures::plain(1.0, 2.0 + 0.2 * (t + 6.0) + self.slope() * per_size * sum)
            }
            Kernel::HistogramIntersection => Figures::plain(sum.sqrt(), 0.5 * t + 1.5),
            Kernel::Anova { gamma, degree } => {
                // Of the products, the share degree / columns has a given feature as a factor, whose slope
                // is below sqrt(gamma). Features are added one by one.
                let (degree, columns) = (f64::from(*degree), row.columns as f64);
                let share = degree / columns.max(1.0);
                let size = binomial(row.columns, degree as usize).sqrt();
                let roundings = columns + 3.0 * degree + share * 2.0 * gamma.sqrt() * sum;
                Figures::plain(size, roundings)
            }
            _ => Figures::plain(0.0, 0.0),
        }
    }

    /// Returns how fast a kernel of distances falls at most: per squared distance for Matern kernels, per
    /// sum of terms times the slope of these for others.
    pub(super) fn slope(&self) -> f64 {
        match self {
            // exp(-s r) and (1 + s r) exp(-s r) are at most 1.
            Kernel::Matern { nu, length_scale } => {
                let factor = if *nu == 1.5 { 3.0 / 2.0 } else { 5.0 / 6.0 };
                factor / (length_scale * length_scale)
            }
            Kernel::Periodic {
                period,
                length_scale,
            } => 2.0 / (length_scale * length_scale) * std::f64::consts::PI / period,
            Kernel::ChiSquared { gamma } => *gamma,
            _ => 0.0,
        }
    }

    /// Returns what |k(x, z)|, or what its roundings are relative to, is at the most for rows of up to
    /// this squared norm. Not on the diagonal as a rule: think of (x.z - 1)^2.
    pub(super) fn largest_value(&self, squared_norm: f64, columns: usize) -> f64 {
        let row = Row {
            squares: squared_norm,
            absolutes: (columns as f64 * squared_norm).sqrt(),
            terms: 0.0,
            columns,
            sparse: false,
        };
        self.figures(&row).size.powi(2)
    }

    /// Tells whether distances of such rows in f64 have to be computed from differences: from norms, or
    /// from sums of which most cancels, they would not be right to [`FROM_NORMS`].
    pub(super) fn wants_differences(&self, largest: &Row) -> bool {
        match self {
            Kernel::ChiSquared { .. } if !largest.sparse => false,
            Kernel::Rbf { .. }
            | Kernel::InverseMultiquadric { .. }
            | Kernel::Laplacian { .. }
            | Kernel::Matern { .. }
            | Kernel::Periodic { .. }
            | Kernel::ChiSquared { .. }
            | Kernel::Anova { .. } => {
                let error = f64::EPSILON * self.figures(largest).roundings;
                // Norms that overflow are not smaller either.
                error.is_nan() || error > FROM_NORMS
            }
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                parts.iter().any(|kernel| kernel.wants_differences(largest))
            }
            Kernel::Scaled(_, kernel) | Kernel::Normalized(kernel) => {
                kernel.wants_differences(largest)
            }
            _ => false,
        }
    }
}

/// Bounds the errors of kernel values between the rows of a matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounding {
    /// Whether values in f32 are those in f64, rounded.
    is_of_double: bool,
    size: Vec<f64>,
    roundings: Vec<f64>,
    reach: Vec<f64>,
    /// Square roots of what rows lose to underflow.
    loss: Vec<f64>,
}

impl Rounding {
    /// Adds a row.
    pub(super) fn push(&mut self, kernel: &Kernel, row: &Row) {
        let figures = kernel.figures(row);
        self.size.push(figures.size);
        self.roundings.push(figures.roundings);
        self.reach.push(figures.reach);
        self.loss.push(kernel.loss(row.squares, row.columns).sqrt());
    }

    /// Returns those of `count` rows of values that are given in f64 and only rounded.
    pub(super) fn given(count: usize) -> Self {
        Rounding {
            is_of_double: false,
            size: vec![0.0; count],
            roundings: vec![0.5; count],
            reach: vec![f64::INFINITY; count],
            loss: vec![TINY.sqrt(); count],
        }
    }

    /// Returns those of some rows.
    pub fn select(&self, rows: &[usize]) -> Self {
        let some = |values: &[f64]| rows.iter().map(|&row| values[row]).collect();
        Rounding {
            is_of_double: self.is_of_double,
            size: some(&self.size),
            roundings: some(&self.roundings),
            reach: some(&self.reach),
            loss: some(&self.loss),
        }
    }

    /// Returns that of values which are computed in f64 and rounded to f32.
    pub fn rounded(self) -> Self {
        Rounding {
            is_of_double: true,
            ..self
        }
    }

    /// Bounds the sums over j of |factor_j| |k(x_i, x_j)| for every row i; `largest` bounds values that
    /// are given.
    pub fn sizes(&self, factors: &[f64], largest: f64) -> Vec<f64> {
        let size = |i: usize| self.size[i].max(largest.sqrt());
        let factors = factors.iter().enumerate();
        let sum: f64 = factors.map(|(j, factor)| factor.abs() * size(j)).sum();
        (0..self.size.len()).map(|i| size(i) * sum).collect()
    }

    /// Returns the sum over j of |factor_j| times the root of what row j loses to underflow: nothing in
    /// f64.
    fn lost(&self, factors: &[f64], roundoff: f64) -> f64 {
        let factors = factors.iter().zip(&self.loss);
        let lost = factors.filter(|&(&factor, _)| factor != 0.0 && roundoff > f64::EPSILON);
        lost.map(|(factor, loss)| factor.abs() * loss).sum()
    }

    /// Bounds the errors of the sums over j of factor_j k(x_i, x_j) for every row i, with kernel values
    /// of this roundoff.
    pub fn errors(&self, factors: &[f64], largest: f64, roundoff: f64) -> Vec<f64> {
        if !self.is_of_double || roundoff <= f64::EPSILON {
            return self.computed(factors, largest, roundoff);
        }
        let computed = self.computed(factors, largest, f64::ROUNDOFF);
        let (sizes, lost) = (self.sizes(factors, largest), self.lost(factors, roundoff));
        let rounded = computed.into_iter().zip(sizes).zip(&self.loss);
        rounded
            .map(|((computed, size), loss)| computed + roundoff * (computed + size) + loss * lost)
            .collect()
    }

    /// Bounds the errors of such sums, with kernel values computed with this roundoff.
    fn computed(&self, factors: &[f64], largest: f64, roundoff: f64) -> Vec<f64> {
        let size = |i: usize| self.size[i].max(largest.sqrt());
        // Partners by their roundings, with the sums of their weights from there on.
        let mut partners: Vec<(f64, f64)> = (factors.iter().enumerate())
            .filter(|&(_, &factor)| factor != 0.0)
            .map(|(j, factor)| (self.roundings[j], factor.abs() * size(j)))
            .collect();
        partners.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = partners.iter().map(|partner| partner.1).sum();
        let lost = self.lost(factors, roundoff);
        // Of the partners up to each: their weights, and these times their roundings.
        let mut sums = vec![(0.0, 0.0)];
        for &(roundings, weight) in &partners {
            let (weights, rounded) = sums[sums.len() - 1];
            sums.push((weights + weight, rounded + weight * roundings));
        }
        let bound = |i: usize| {
            let (roundings, reach) = (self.roundings[i], self.reach[i]);
            if partners.is_empty() {
                return 0.0;
            }
            let within = partners.partition_point(|partner| partner.0 <= reach);
            let most = partners[..within].last().map_or(0.0, |partner| partner.0);
            let first_order = roundoff * (roundings + most) <= FIRST_ORDER;
            if !first_order {
                return f64::INFINITY;
            }
            let (weights, rounded) = sums[within];
            let beyond = match total - weights {
                rest if rest > 0.0 && within < partners.len() => reach * rest,
                _ => 0.0,
            };
            let rounded =
                HIGHER_ORDERS * roundoff * size(i) * (roundings * total + rounded + beyond);
            if lost == 0.0 {
                rounded
            } else {
                rounded + self.loss[i] * lost
            }
        };
        (0..self.size.len()).map(bound).collect()
    }
}
