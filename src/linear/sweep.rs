//! A sweep of coordinate descent: one coefficient after another, each to its minimum.
//!
//! With D_i = y_i - w.x_i - ridge_i beta_i the descent of a coefficient and q_i = |x_i|^2 + ridge_i its
//! curvature, the minimum is at
//!
//! ```text
//! beta_i + D_i / q_i,   drawn to zero by tube / q_i and cut at the bounds
//! ```
//!
//! and w follows at once. Coefficients at a bound (or at zero, in the tube) that every other would have to
//! be far off to move are set aside.

use super::charge::Target;

/// Rows one at a time.
pub(super) trait RowWise {
    /// Returns the inner product of a row with a vector.
    fn row_dot(&self, row: usize, weights: &[f64]) -> f64;
    /// Adds a multiple of a row to a vector.
    fn row_add(&self, row: usize, factor: f64, sums: &mut [f64]);
}

/// Coefficients, their weights, and which of them are looked at.
pub(super) struct Sweep<'a> {
    pub target: &'a Target<'a>,
    pub beta: Vec<f64>,
    /// The sum of beta x, up to rounding.
    pub weights: Vec<f64>,
    /// q.
    pub curvature: Vec<f64>,
    /// The rows, those that are set aside last.
    pub order: Vec<u32>,
    pub active: usize,
    /// The largest violation of the sweep before.
    pub largest: f64,
    /// m and M of the last sweep, each as it was before the coefficient moved.
    pub m: f64,
    pub big_m: f64,
    pub random: u64,
}

/// What a coefficient is about to do.
enum Visit {
    /// It is better set aside.
    Aside,
    Stays,
    Moves(f64),
}

impl Sweep<'_> {
    /// Looks at every active coefficient once, in random order.
    pub fn go(&mut self, rows: &impl RowWise) {
        (self.m, self.big_m) = (0.0, 0.0);
        self.shuffle();
        let mut at = 0;
        while at < self.active {
            let i = self.order[at] as usize;
            let f = rows.row_dot(i, &self.weights);
            match self.visit(i, f) {
                Visit::Aside => {
                    self.active -= 1;
                    self.order.swap(at, self.active);
                    continue;
                }
                Visit::Stays => {}
                Visit::Moves(step) => rows.row_add(i, step, &mut self.weights),
            }
            at += 1;
        }
        self.largest = self.m.max(-self.big_m);
    }

    /// Forgets what was set aside.
    pub fn look_at_all(&mut self) {
        self.active = self.order.len();
        self.largest = f64::INFINITY;
    }

    #[inline(always)]
    fn visit(&mut self, i: usize, f: f64) -> Visit {
        let Target { value, cost, .. } = *self.target;
        let (value, cost, beta) = (value[i], cost[i], self.beta[i]);
        let (ridge, top) = (self.target.ridge() / cost, self.target.top() * cost);
        let (lower, upper, tube) = match self.target.tube {
            None if value > 0.0 => (0.0, top, 0.0),
            None => (-top, 0.0, 0.0),
            Some(tube) => (-top, top, tube),
        };
        let descent = value - f - ridge * beta;
        // What growing and shrinking would bring.
        let up = match beta < upper {
            true => descent - if beta >= 0.0 { tube } else { -tube },
            false => f64::NEG_INFINITY,
        };
        let down = match beta > lower {
            true => descent - if beta > 0.0 { tube } else { -tube },
            false => f64::INFINITY,
        };
        if up < -self.largest && down > self.largest {
            return Visit::Aside;
        }
        self.m = self.m.max(up);
        self.big_m = self.big_m.min(down);
        if up <= 0.0 && down >= 0.0 {
            return Visit::Stays;
        }
        let q = self.curvature[i];
        let free = beta + descent / q;
        let drawn = (free.abs() - tube / q).max(0.0).copysign(free);
        let new = drawn.clamp(lower, upper);
        self.beta[i] = new;
        Visit::Moves(new - beta)
    }

    /// Shuffles the active coefficients (Fisher, Yates), by xorshift.
    fn shuffle(&mut self) {
        for at in (1..self.active).rev() {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let bound = at as u64 + 1;
            let other = ((u128::from(self.random) * u128::from(bound)) >> 64) as usize;
            self.order.swap(at, other);
        }
    }
}
