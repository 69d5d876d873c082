//! The interactions of a group of rows with columns: elementary symmetric polynomials.
//!
//! ```text
//! e_s(v_1 .. v_n) = sum over i_1 < ... < i_s of v_{i_1} ... v_{i_s},   v_i = exp(-gamma (x_i - z_i)^2)
//! e_s(v_1 .. v_m) = e_s(v_1 .. v_{m-1}) + v_m e_{s-1}(v_1 .. v_{m-1})
//! ```
//!
//! No term is negative, so nothing cancels. Shawe-Taylor, Cristianini: Kernel methods for pattern
//! analysis (2004), section 9.2.

use super::Real;
use super::isa::dispatch;
use super::product::{GROUP, PanelValues, for_each_panel};

/// Interactions of more features than this are refused: a sum for each degree stays in L1.
pub(crate) const LARGEST_DEGREE: usize = 16;

dispatch! {
    /// Writes the interactions of a group of rows with the columns of panels, packed as for
    /// [`dense_products`](super::product::dense_products).
    pub(crate) fn dense_interactions<T: Real>(
        left: &[T], panels: &[T], dim: usize, out: &mut [&mut [T]], of: (f64, u32)
    ) = dense_interactions_body
}

#[inline(always)]
fn dense_interactions_body<T: Real, const FMA: bool>(
    left: &[T],
    panels: &[T],
    dim: usize,
    out: &mut [&mut [T]],
    (gamma, degree): (f64, u32),
) {
    let of = Interactions::<T, FMA> {
        minus: T::from_f64(-gamma),
        degree: degree as usize,
    };
    match size_of::<T>() {
        4 => for_each_panel::<T, 32, 16>(left, panels, dim, out, &of),
        _ => for_each_panel::<T, 16, 8>(left, panels, dim, out, &of),
    }
}

/// The interactions of so many features; `minus` is -gamma.
struct Interactions<T, const FMA: bool> {
    minus: T,
    degree: usize,
}

impl<T: Real, const FMA: bool, const PANEL: usize, const WIDTH: usize> PanelValues<T, PANEL, WIDTH>
    for Interactions<T, FMA>
{
    #[inline(always)]
    fn of(&self, left: &[[T; GROUP]], panel: &[[T; PANEL]], part: usize) -> [[T; WIDTH]; GROUP] {
        let columns = panel.iter().map(|features| &features.as_chunks().0[part]);
        group::<T, FMA, WIDTH>(left, columns, self.minus, self.degree)
    }
}

#[inline(always)]
fn group<'a, T: Real, const FMA: bool, const WIDTH: usize>(
    left: &[[T; GROUP]],
    columns: impl Iterator<Item = &'a [T; WIDTH]> + Clone,
    minus: T,
    degree: usize,
) -> [[T; WIDTH]; GROUP] {
    let mut values = [[T::ZERO; WIDTH]; GROUP];
    for (r, values) in values.iter_mut().enumerate() {
        let mut sums = Polynomials::<T, WIDTH>::new(degree);
        for (a, b) in left.iter().zip(columns.clone()) {
            sums.extend::<FMA>(&[a[r]; WIDTH], b, minus);
        }
        *values = sums.highest();
    }
    values
}

/// The elementary symmetric polynomials of the features so far, of every degree.
pub(crate) struct Polynomials<T, const WIDTH: usize> {
    sums: [[T; WIDTH]; LARGEST_DEGREE + 1],
    degree: usize,
}

impl<T: Real, const WIDTH: usize> Polynomials<T, WIDTH> {
    /// Those of no features.
    #[inline(always)]
    pub fn new(degree: usize) -> Self {
        let mut sums = [[T::ZERO; WIDTH]; LARGEST_DEGREE + 1];
        sums[0] = [T::ONE; WIDTH];
        Polynomials { sums, degree }
    }

    /// Takes one more feature, with values of rows and columns; `minus` is -gamma.
    #[inline(always)]
    pub fn extend<const FMA: bool>(&mut self, x: &[T; WIDTH], z: &[T; WIDTH], minus: T) {
        let mut values = [T::ZERO; WIDTH];
        for (value, (&x, &z)) in values.iter_mut().zip(x.iter().zip(z)) {
            let difference = x - z;
            *value = (difference * difference * minus).exponential::<FMA>();
        }
        for s in (1..=self.degree).rev() {
            let lower = self.sums[s - 1];
            for ((sum, value), lower) in self.sums[s].iter_mut().zip(values).zip(lower) {
                *sum = value.multiply_add::<FMA>(lower, *sum);
            }
        }
    }

    /// Returns those of the degree itself.
    #[inline(always)]
    pub fn highest(&self) -> [T; WIDTH] {
        self.sums[self.degree]
    }

    /// Returns those of the degree itself after `count` more features of value 1.
    pub fn highest_with_ones(&self, count: usize) -> [T; WIDTH] {
        let mut total = [T::ZERO; WIDTH];
        for s in 0..=self.degree {
            let factor = T::from_f64(binomial(count, self.degree - s));
            for (total, sum) in total.iter_mut().zip(self.sums[s]) {
                *total += factor * sum;
            }
        }
        total
    }
}

/// Returns the number of subsets of `size` of `count` things.
pub(crate) fn binomial(count: usize, size: usize) -> f64 {
    if size > count {
        return 0.0;
    }
    // Every intermediate result is a binomial coefficient, and exact while it is below 2^53.
    (0..size).fold(1.0, |ways, k| ways * (count - k) as f64 / (k + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomials() {
        assert_eq!(binomial(5, 2), 10.0);
        assert_eq!(binomial(60, 3), 34220.0);
        assert_eq!(binomial(3, 4), 0.0);
        assert_eq!(binomial(0, 0), 1.0);
    }
}
