//! Sigmoid: the probability of a class from the value of a machine.
//!
//! ```text
//! p(f) = 1 / (1 + exp(a f + b)),      a, b minimise  -sum_i (t_i log p_i + (1 - t_i) log(1 - p_i))
//! ```
//!
//! with t = (n_plus + 1) / (n_plus + 2) for positive rows and 1 / (n_minus + 2) for negative ones. The
//! values have to be those of rows that were not trained on. The minimum is found by Newton's method
//! with a ridge and backtracking, and nothing is computed that could overflow or cancel.
//!
//! Platt: Probabilistic outputs for support vector machines (1999). Lin, Lin, Weng: A note on Platt's
//! probabilistic outputs for support vector machines, Machine Learning 68 (2007).

/// Newton steps at the most; a few are enough.
const STEPS: usize = 100;
/// Added to the diagonal of the Hessian, which may be singular.
const RIDGE: f64 = 1e-12;
/// The gradient at which to stop, for each row.
const SMALL: f64 = 1e-9;
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
        let rows: Vec<(f64, f64)> = (values.iter().zip(positive))
            .map(|(&value, &yes)| (value, if yes { high } else { low }))
            .collect();
        let mut best = Sigmoid {
            a: 0.0,
            b: ((minus + 1.0) / (plus + 1.0)).ln(),
        };
        let mut loss = best.loss(&rows);
        for _ in 0..STEPS {
            let ([g_a, g_b], [h_aa, h_ab, h_bb]) = best.derivatives(&rows);
            if g_a.abs().max(g_b.abs()) <= SMALL * rows.len() as f64 {
                break;
            }
            let determinant = h_aa * h_bb - h_ab * h_ab;
            let step_a = -(h_bb * g_a - h_ab * g_b) / determinant;
            let step_b = -(h_aa * g_b - h_ab * g_a) / determinant;
            let slope = g_a * step_a + g_b * step_b;
            let mut length = 1.0;
            let next = loop {
                let next = Sigmoid {
                    a: best.a + length * step_a,
                    b: best.b + length * step_b,
                };
                let next_loss = next.loss(&rows);
                if next_loss < loss + SUFFICIENT * length * slope {
                    break Some((next, next_loss));
                }
                length *= 0.5;
                if length < SHORTEST {
                    break None;
                }
            };
            let Some(next) = next else { break };
            (best, loss) = next;
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

    fn loss(&self, rows: &[(f64, f64)]) -> f64 {
        let term = |&(value, target): &(f64, f64)| {
            let t = self.a * value + self.b;
            let share = if t >= 0.0 {
                target * t
            } else {
                (target - 1.0) * t
            };
            share + (-t.abs()).exp().ln_1p()
        };
        rows.iter().map(term).sum()
    }

    /// Returns gradient and Hessian.
    fn derivatives(&self, rows: &[(f64, f64)]) -> ([f64; 2], [f64; 3]) {
        let (mut gradient, mut hessian) = ([0.0; 2], [RIDGE, 0.0, RIDGE]);
        for &(value, target) in rows {
            let p = self.probability(value);
            let (first, second) = (target - p, p * (1.0 - p));
            gradient[0] += value * first;
            gradient[1] += first;
            hessian[0] += value * value * second;
            hessian[1] += value * second;
            hessian[2] += second;
        }
        (gradient, hessian)
    }
}
