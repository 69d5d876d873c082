//! A block: the rows of some samples, optimised together with their small kernel matrix.
//!
//! Where the sums of columns are fixed, a step goes along a cycle of columns, see [`Edges`]. Two
//! columns u and v and two samples are the pair step of SMO: sample a lets u grow at the cost of v,
//! sample c the other way round, and of all c the one that lowers the objective most is taken.
//!
//! Where they are not, a step takes the sample whose conditions are violated most, and minimises over
//! its whole row: with K_aa the curvature in all directions, that is the [`nearest`] point of a box to
//! beta - g / K_aa.

use super::cycles::{Cycle, Edges};
use super::shares::nearest;
use crate::error::Polled;
use crate::qp::control::Control;

/// Steps between two looks at the clock.
const STEPS_BEFORE_LOOK: u64 = 256;
/// The smallest curvature, as a share of the largest diagonal value: LIBSVM's.
const FLATTEST: f64 = 1e-12;

/// Rows of the table, and the small matrix of their samples.
pub(super) struct Block {
    pub columns: usize,
    /// Whether the sums of the columns are kept.
    pub keeps_sums: bool,
    /// The matrix, row by row.
    pub kernel: Vec<f64>,
    /// Of each sample the coefficients, their gradient and their bounds, row by row.
    pub beta: Vec<f64>,
    pub gradient: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
}

/// How steps ended.
pub(super) struct Walked {
    pub steps: u64,
    /// A coefficient without bounds met no curvature.
    pub diverged: bool,
}

/// A change of coefficients that leaves the sums of rows: sample, column and sign of each.
struct Direction {
    moves: Vec<(usize, usize, f64)>,
    slope: f64,
    curvature: f64,
}

impl Block {
    fn samples(&self) -> usize {
        self.beta.len() / self.columns
    }

    fn kernel(&self, a: usize, c: usize) -> f64 {
        self.kernel[a * self.samples() + c]
    }

    fn at(&self, sample: usize, column: usize) -> usize {
        sample * self.columns + column
    }

    /// Returns how fast the objective falls where a coefficient grows; minus infinity if it may not.
    fn up(&self, at: usize) -> f64 {
        match self.beta[at] < self.upper[at] {
            true => -self.gradient[at],
            false => f64::NEG_INFINITY,
        }
    }

    /// Returns how fast it rises where a coefficient shrinks; infinity if it may not.
    fn down(&self, at: usize) -> f64 {
        match self.beta[at] > self.lower[at] {
            true => -self.gradient[at],
            false => f64::INFINITY,
        }
    }

    /// Takes steps until the gap of the block is at most `tolerance`, at most so many.
    pub fn solve(&mut self, tolerance: f64, most: u64, control: &Control) -> Polled<Walked> {
        let flattest = (0..self.samples()).map(|a| self.kernel(a, a));
        let flattest = FLATTEST * flattest.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let (mut edges, mut steps) = (Edges::new(self.columns), 0);
        let mut scratch = Vec::new();
        let mut diverged = false;
        while steps < most && !diverged {
            if (steps + 1).is_multiple_of(STEPS_BEFORE_LOOK) {
                control.poll()?;
            }
            let moved = match self.keeps_sums {
                true => {
                    let direction = self.direction(&mut edges, tolerance, flattest);
                    direction.map(|direction| self.go(&direction))
                }
                false => self.move_sample(tolerance, flattest, &mut scratch),
            };
            match moved {
                None => break,
                Some(bounded) => diverged = !bounded,
            }
            steps += 1;
        }
        Ok(Walked { steps, diverged })
    }

    /// Minimises over the row of the sample with the largest gap. Returns whether it is bounded; None
    /// if no gap is above the tolerance.
    fn move_sample(
        &mut self,
        tolerance: f64,
        flattest: f64,
        scratch: &mut Vec<f64>,
    ) -> Option<bool> {
        let k = self.columns;
        let gap = |sample: usize| {
            let all = || (0..k).map(|column| self.at(sample, column));
            let up = all()
                .map(|at| self.up(at))
                .fold(f64::NEG_INFINITY, f64::max);
            up - all().map(|at| self.down(at)).fold(f64::INFINITY, f64::min)
        };
        let gaps = (0..self.samples()).map(|sample| (gap(sample), sample));
        let (gap, sample) = gaps.max_by(|a, b| a.0.total_cmp(&b.0))?;
        if gap.is_nan() || gap <= tolerance {
            return None;
        }
        let row = sample * k..(sample + 1) * k;
        let curvature = self.kernel(sample, sample).max(flattest);
        let before = self.beta[row.clone()].to_vec();
        let gradient = &self.gradient[row.clone()];
        let mut point: Vec<f64> = (before.iter().zip(gradient))
            .map(|(beta, gradient)| beta - gradient / curvature)
            .collect();
        nearest(
            &mut point,
            &self.lower[row.clone()],
            &self.upper[row.clone()],
            scratch,
        );
        for (column, (&to, from)) in point.iter().zip(before).enumerate() {
            if to != from {
                self.shift(sample, column, to - from);
            }
        }
        self.beta[row].copy_from_slice(&point);
        Some(point.iter().all(|beta| beta.is_finite()))
    }

    /// Changes the gradients of a column as if a sample's coefficient had moved so far.
    fn shift(&mut self, sample: usize, column: usize, change: f64) {
        let (k, n) = (self.columns, self.samples());
        let kernel = &self.kernel[sample * n..(sample + 1) * n];
        let gradients = self.gradient[column..].iter_mut().step_by(k);
        for (gradient, value) in gradients.zip(kernel) {
            *gradient += change * value;
        }
    }

    /// Returns the direction of the best cycle; None if no cycle has a mean above the tolerance.
    fn direction(&self, edges: &mut Edges, tolerance: f64, flattest: f64) -> Option<Direction> {
        let k = self.columns;
        edges.clear();
        let (mut up, mut down) = (vec![0.0; k], vec![0.0; k]);
        for sample in 0..self.samples() {
            for column in 0..k {
                let at = self.at(sample, column);
                (up[column], down[column]) = (self.up(at), self.down(at));
            }
            edges.include(sample as u32, &up, &down);
        }
        match edges.best_pair().filter(|pair| pair.mean > tolerance) {
            Some(pair) => Some(self.along_pair(edges, &pair, flattest)),
            // A longer one may be left where all pairs are done.
            None => {
                let cycle = edges.best().filter(|cycle| cycle.mean > tolerance)?;
                Some(self.along(edges, &cycle, flattest))
            }
        }
    }

    /// Returns the direction of a cycle through the steepest edges.
    fn along(&self, edges: &Edges, cycle: &Cycle, flattest: f64) -> Direction {
        let next = cycle.columns.iter().cycle().skip(1);
        let rows: Vec<usize> = (cycle.columns.iter().zip(next))
            .map(|(&u, &v)| edges.row(u, v) as usize)
            .collect();
        self.through(
            &cycle.columns,
            &rows,
            cycle.mean * rows.len() as f64,
            flattest,
        )
    }

    /// Returns the direction in which column `columns[p]` grows in sample `rows[p]`, at the cost of the
    /// next column.
    fn through(&self, columns: &[usize], rows: &[usize], slope: f64, flattest: f64) -> Direction {
        let (mut moves, mut curvature) = (Vec::new(), 0.0);
        for (at, &column) in columns.iter().enumerate() {
            // It grows in one sample and shrinks in the one before.
            let (a, c) = (rows[at], rows[(at + rows.len() - 1) % rows.len()]);
            if a != c {
                moves.extend([(a, column, 1.0), (c, column, -1.0)]);
                curvature += self.kernel(a, a) + self.kernel(c, c) - 2.0 * self.kernel(a, c);
            }
        }
        Direction {
            moves,
            slope,
            curvature: curvature.max(flattest),
        }
    }

    /// Returns the direction of a pair of columns, with the second sample that lowers the objective
    /// most.
    fn along_pair(&self, edges: &Edges, pair: &Cycle, flattest: f64) -> Direction {
        let (mut u, mut v) = (pair.columns[0], pair.columns[1]);
        if edges.slope(v, u) > edges.slope(u, v) {
            (u, v) = (v, u);
        }
        let (first, slope) = (edges.row(u, v) as usize, edges.slope(u, v));
        let mut best = (f64::NEG_INFINITY, edges.row(v, u) as usize, 0.0);
        for other in (0..self.samples()).filter(|&other| other != first) {
            let fall = slope + self.up(self.at(other, v)) - self.down(self.at(other, u));
            if fall > 0.0 {
                let distance = self.kernel(first, first) + self.kernel(other, other)
                    - 2.0 * self.kernel(first, other);
                let gain = fall * fall / (2.0 * distance).max(flattest);
                if gain > best.0 {
                    best = (gain, other, fall);
                }
            }
        }
        self.through(&[u, v], &[first, best.1], best.2, flattest)
    }

    /// Goes along a direction to the minimum or to the first bound. Returns false if there is neither.
    fn go(&mut self, direction: &Direction) -> bool {
        let room = |&(sample, column, sign): &(usize, usize, f64)| {
            let at = self.at(sample, column);
            match sign > 0.0 {
                true => self.upper[at] - self.beta[at],
                false => self.beta[at] - self.lower[at],
            }
        };
        let rooms = direction.moves.iter().map(room);
        let most = rooms.fold(f64::INFINITY, f64::min);
        let step = (direction.slope / direction.curvature).min(most);
        for &(sample, column, sign) in &direction.moves {
            let at = self.at(sample, column);
            let (end, room) = match sign > 0.0 {
                true => (self.upper[at], self.upper[at] - self.beta[at]),
                false => (self.lower[at], self.beta[at] - self.lower[at]),
            };
            self.beta[at] = if room <= step {
                end
            } else {
                self.beta[at] + sign * step
            };
            self.shift(sample, column, sign * step);
        }
        step.is_finite()
    }
}
