//! Sigmoid: the probability of a class from the value of a machine.
//!
//! ```text
//! p(f) = 1 / (1 + exp(a f + b)),      a, b minimise  -sum_i (t_i log p_i + (1 - t_i) log(1 - p_i))
//! ```
//!
//! with t = (n_plus + 1) / (n_plus + 2) for positive rows and 1 / (n_minus + 2) for negative ones. The
//! values have to be those of rows that were not trained on. The minimum is found by Newton's method
//! with a ridge and backtracking, and nothing is computed that could overflow or cancel. A pass over the
//! rows takes one exponential for each, and one logarithm for many.
//!
//! Platt: Probabilistic outputs for support vector machines (1999). Lin, Lin, Weng: A note on Platt's
//! probabilistic outputs for support vector machines, Machine Learning 68 (2007).

use crate::simd::{Isa, Real, WIDE, added_up, dispatch};

/// Rows handled together: their terms stay in the first cache.
const ROWS: usize = 16 * WIDE;
/// Newton steps at the most; a few are enough.
const STEPS: usize = 100;
/// Added to the diagonal of the Hessian, which may be singular.
const RIDGE: f64 = 1e-12;
/// The gradient at which to stop, for each row.
const SMALL: f64 = 1e-9;
/// The share of the loss that its rounding may hide.
const HIDDEN: f64 = 1e-13;
/// The shortest step that is tried.
const SHORTEST: f64 = 1e-10;
/// The share of the expected decrease that a step has to bring.
const SUFFICIENT: f64 = 1e-4;

/// A sigmoid 1 / (1 + exp(a f + b)).
///
/// ```
/// use mercer::search::Sigmoid;
/// let values = [-2.0, -1.0, 0.5, 1.0, -0.5, 2.0];
/// let sigmoid = Sigmoid::fit(&values, &[false, false, true, true, true, true]);
/// assert!(sigmoid.a < 0.0); // the larger the value, the more probable
/// assert!(sigmoid.probability(2.0) > sigmoid.probability(-2.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sigmoid {
    /// The slope, negative if large values speak for the class.
    pub a: f64,
    /// The constant.
    pub b: f64,
}

impl Sigmoid {
    /// Fits a sigmoid to values of rows, of which some are positive.
    ///
    /// ```
    /// use mercer::search::Sigmoid;
    /// // Without any information the prior, drawn towards one half.
    /// let sigmoid = Sigmoid::fit(&[0.0; 6], &[true, true, true, true, false, false]);
    /// assert!((sigmoid.probability(0.0) - (4.0 * 5.0 / 6.0 + 2.0 / 4.0) / 6.0).abs() < 1e-6);
    /// ```
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn fit(values: &[f64], positive: &[bool]) -> Self {
        assert_eq!(values.len(), positive.len(), "one sign per value");
        let plus = positive.iter().filter(|&&yes| yes).count() as f64;
        let minus = positive.len() as f64 - plus;
        let (high, low) = ((plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0));
        let targets: Vec<f64> = (positive.iter())
            .map(|&yes| if yes { high } else { low })
            .collect();
        let isa = Isa::detect();
        let at = |sigmoid: &Sigmoid| Sums::from(sums(isa, sigmoid.a, sigmoid.b, values, &targets));
        let mut best = Sigmoid {
            a: 0.0,
            b: ((minus + 1.0) / (plus + 1.0)).ln(),
        };
        let mut here = at(&best);
        for _ in 0..STEPS {
            if here.slope[0].abs().max(here.slope[1].abs()) <= SMALL * values.len() as f64 {
                break;
            }
            let step = here.newton_step();
            let slope = here.slope[0] * step[0] + here.slope[1] * step[1];
            if -slope <= HIDDEN * here.loss {
                break; // the sums do not resolve what is left to gain
            }
            let mut length = 1.0;
            let next = loop {
                let next = Sigmoid {
                    a: best.a + length * step[0],
                    b: best.b + length * step[1],
                };
                let there = at(&next);
                if there.loss < here.loss + SUFFICIENT * length * slope {
                    break Some((next, there));
                }
                length *= 0.5;
                if length < SHORTEST {
                    break None;
                }
            };
            let Some(next) = next else { break };
            (best, here) = next;
        }
        best
    }

    /// Returns the probability at a value.
    ///
    /// ```
    /// use mercer::search::Sigmoid;
    /// let sigmoid = Sigmoid { a: -1.0, b: 0.0 };
    /// assert_eq!(sigmoid.probability(0.0), 0.5);
    /// assert_eq!(sigmoid.probability(-1e9), 0.0);
    /// ```
    pub fn probability(&self, value: f64) -> f64 {
        let t = self.a * value + self.b;
        let e = (-t.abs()).exp();
        if t >= 0.0 {
            e / (1.0 + e)
        } else {
            1.0 / (1.0 + e)
        }
    }
}

/// The loss of a sigmoid over all rows, and its derivatives.
struct Sums {
    loss: f64,
    slope: [f64; 2],
    curvature: [f64; 3],
}

impl From<[f64; 6]> for Sums {
    fn from([loss, g_a, g_b, h_aa, h_ab, h_bb]: [f64; 6]) -> Self {
        Sums {
            loss,
            slope: [g_a, g_b],
            curvature: [h_aa + RIDGE, h_ab, h_bb + RIDGE],
        }
    }
}

impl Sums {
    fn newton_step(&self) -> [f64; 2] {
        let ([g_a, g_b], [h_aa, h_ab, h_bb]) = (self.slope, self.curvature);
        let determinant = h_aa * h_bb - h_ab * h_ab;
        [
            -(h_bb * g_a - h_ab * g_b) / determinant,
            -(h_aa * g_b - h_ab * g_a) / determinant,
        ]
    }
}

dispatch! {
    /// Returns the sums over rows of the loss, of its two first and its three second derivatives.
    fn sums<T: Real>(a: T, b: T, values: &[T], targets: &[T]) -> [f64; 6] = sums_body
}

/// What a row adds to the sums, but for the loss: the share of it that is no logarithm, and what the
/// logarithm is of.
#[inline(always)]
fn row<T: Real, const FMA: bool>(a: T, b: T, value: T, target: T) -> ([T; 6], T) {
    let t = a.multiply_add::<FMA>(value, b);
    let e = (-t.absolute()).exponential::<FMA>();
    let q = T::ONE / (T::ONE + e);
    let positive = t >= T::ZERO;
    let p = if positive { e * q } else { q };
    let share = if positive { target } else { target - T::ONE };
    let (first, second) = (target - p, e * q * q);
    let terms = [
        share * t,
        value * first,
        first,
        value * value * second,
        value * second,
        second,
    ];
    (terms, T::ONE + e)
}

#[inline(always)]
fn sums_body<T: Real, const FMA: bool>(a: T, b: T, values: &[T], targets: &[T]) -> [f64; 6] {
    let mut totals = [0.0f64; 6];
    for (values, targets) in values.chunks(ROWS).zip(targets.chunks(ROWS)) {
        // All terms first, then their sums: a loop that does both is not made into vector instructions.
        let (mut terms, mut factors) = ([[T::ZERO; ROWS]; 6], [T::ONE; ROWS]);
        let targets = &targets[..values.len()];
        for k in 0..values.len() {
            let (row, factor) = row::<T, FMA>(a, b, values[k], targets[k]);
            terms[0][k] = row[0];
            terms[1][k] = row[1];
            terms[2][k] = row[2];
            terms[3][k] = row[3];
            terms[4][k] = row[4];
            terms[5][k] = row[5];
            factors[k] = factor;
        }
        for (total, terms) in totals.iter_mut().zip(&terms) {
            *total += added_up(&folded(terms, T::ZERO, |sum, term| sum + term)).to_f64();
        }
        // Factors are between one and two, so that no product of a few is large.
        let products = folded(&factors, T::ONE, |product, factor| product * factor);
        totals[0] += products.iter().map(|p| p.to_f64().ln()).sum::<f64>();
    }
    totals
}

/// Folds numbers into as many as are handled together.
#[inline(always)]
fn folded<T: Real>(numbers: &[T; ROWS], start: T, fold: impl Fn(T, T) -> T) -> [T; WIDE] {
    let mut lanes = [start; WIDE];
    for numbers in numbers.as_chunks::<WIDE>().0 {
        for lane in 0..WIDE {
            lanes[lane] = fold(lanes[lane], numbers[lane]);
        }
    }
    lanes
}
