//! A solver as simple as one can be: the most violating pair, a step to the lowest point before a bound
//! or a kink, on a matrix that is written out.

use mercer::qp::{Constraint, DualProblem};
use ndarray::{Array2, ArrayView1};

/// Violations below this are rounding.
const SMALLEST: f64 = 1e-11;
/// Steps between two exact gradients.
const REFRESH: usize = 256;

/// Where it is.
pub struct Naive<'a> {
    problem: &'a DualProblem,
    matrix: &'a Array2<f64>,
    pub beta: Vec<f64>,
    gradient: Vec<f64>,
}

/// A variable that grows and one that shrinks; None is the one that absorbs the sum.
type Pair = (Option<usize>, Option<usize>);

impl<'a> Naive<'a> {
    pub fn new(problem: &'a DualProblem, matrix: &'a Array2<f64>) -> Self {
        Naive {
            problem,
            matrix,
            beta: problem.start.clone(),
            gradient: Vec::new(),
        }
    }

    /// Takes so many steps, or fewer if there is nothing left to do.
    pub fn solve(mut self, steps: usize) -> Vec<f64> {
        for step in 0..steps {
            if step % REFRESH == 0 {
                self.gradient = gradient(self.problem, self.matrix, &self.beta);
            }
            let Some((violation, pair)) = self.worst() else {
                break;
            };
            self.step(violation, pair);
        }
        self.beta
    }

    fn is_open(&self, i: usize, up: bool) -> bool {
        match up {
            true => self.beta[i] < self.problem.upper[i],
            false => self.beta[i] > self.problem.lower[i],
        }
    }

    /// How fast the objective falls when a variable grows, or rises when it shrinks.
    fn fall(&self, i: usize, up: bool) -> f64 {
        let positive = self.beta[i] > 0.0 || (self.beta[i] == 0.0 && up);
        let kink = self.problem.absolute[i];
        -self.gradient[i] - if positive { kink } else { -kink }
    }

    /// Where a variable has to stop.
    fn end(&self, i: usize, up: bool) -> f64 {
        let bounds = [self.problem.lower[i], self.problem.upper[i]];
        let bound = bounds[usize::from(up)];
        match self.beta[i] * bound < 0.0 && self.problem.absolute[i] > 0.0 {
            true => 0.0,
            false => bound,
        }
    }

    /// How far it may go.
    fn room(&self, i: usize, up: bool) -> f64 {
        (self.end(i, up) - self.beta[i]).abs()
    }

    /// The intercept where no sum is fixed, and its curvature.
    fn absorber(&self) -> Option<(f64, f64)> {
        match self.problem.constraint {
            Constraint::Penalized => Some((self.beta.iter().sum(), 1.0)),
            Constraint::None => Some((0.0, 0.0)),
            _ => None,
        }
    }

    fn worst(&self) -> Option<(f64, Pair)> {
        let mut pairs: Vec<(f64, Pair)> = Vec::new();
        for group in [false, true] {
            let belongs = |i: &usize| match &self.problem.constraint {
                Constraint::TwoSums(second) => second[*i] == group,
                _ => !group,
            };
            let best = |up: bool, sign: f64| {
                let open = (0..self.beta.len()).filter(belongs);
                let open = open.filter(|&i| self.is_open(i, up));
                let falls = open.map(|i| (sign * self.fall(i, up), i));
                falls.max_by(|a, b| a.0.total_cmp(&b.0))
            };
            let (up, down) = (best(true, 1.0), best(false, -1.0));
            if let (Some((a, i)), Some((b, j))) = (up, down) {
                pairs.push((a + b, (Some(i), Some(j))));
            }
            if let Some((intercept, _)) = self.absorber() {
                pairs.extend(up.map(|(a, i)| (a - intercept, (Some(i), None))));
                pairs.extend(down.map(|(b, j)| (b + intercept, (None, Some(j)))));
            }
        }
        let worst = pairs.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        worst.filter(|worst| worst.0 > SMALLEST)
    }

    fn step(&mut self, violation: f64, (i, j): Pair) {
        let own = |i: usize| self.matrix[[i, i]] + self.problem.ridge[i];
        let flat = self.absorber().map_or(0.0, |absorber| absorber.1);
        let curvature = match (i, j) {
            (Some(i), Some(j)) => own(i) + own(j) - 2.0 * self.matrix[[i, j]],
            (Some(i), None) | (None, Some(i)) => own(i) + flat,
            (None, None) => return,
        };
        let moves = [(i, true), (j, false)];
        let moves = moves.into_iter().filter_map(|(i, up)| Some((i?, up)));
        let rooms = moves.clone().map(|(i, up)| self.room(i, up));
        let step = rooms.fold(violation / curvature.max(1e-12), f64::min);
        for (i, up) in moves {
            let to = match self.room(i, up) <= step {
                true => self.end(i, up),
                false if up => self.beta[i] + step,
                false => self.beta[i] - step,
            };
            let change = to - self.beta[i];
            self.beta[i] = to;
            for (k, gradient) in self.gradient.iter_mut().enumerate() {
                *gradient += change * self.matrix[[k, i]];
            }
            self.gradient[i] += change * self.problem.ridge[i];
        }
    }
}

/// (K + diag(ridge)) beta + linear.
pub fn gradient(problem: &DualProblem, matrix: &Array2<f64>, beta: &[f64]) -> Vec<f64> {
    let product = matrix.dot(&ArrayView1::from(beta));
    (0..beta.len())
        .map(|i| product[i] + problem.linear[i] + problem.ridge[i] * beta[i])
        .collect()
}
