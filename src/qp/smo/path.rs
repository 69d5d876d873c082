//! LIBSVM's path: pair steps over all active variables, with rows as they are needed.
//!
//! A block that holds all variables takes the same steps ([`pairs`](super::block)), but has its whole
//! matrix first, and again whenever it is posed anew. Where rows are read from memory that is most of
//! the work: n^2 values, of which the steps need the rows of the variables that move. So here a step
//! fetches two rows, and finds most of them in the cache.

use super::block::pairs::{Extremes, STEPS_BETWEEN_POLLS, TAU, best_partner, step_and_select};
use super::block::{Goal, Selection, landing};
use super::variables::Variables;
use crate::error::{Polled, poll};
use crate::matrix::{CHUNK, CachedRows, Precision};
use crate::qp::coordinates::Coordinates;
use crate::simd::Isa;

/// The variables by position, padded to whole chunks with some that cannot move.
pub(super) struct Path<T> {
    /// How many there are.
    size: usize,
    coordinates: Coordinates<T>,
    diagonal: Vec<T>,
    may_grow: Vec<T>,
    may_shrink: Vec<T>,
}

impl<T: Precision> Path<T> {
    /// Tells whether such a path leads where a block would: one sum is fixed, and no ridge is added to
    /// the rows.
    pub fn leads(variables: &Variables) -> bool {
        let plain = variables.groups == 1 && variables.absorber.is_none();
        plain && variables.ridge.iter().all(|&ridge| ridge == 0.0)
    }

    /// Begins where the active variables are.
    pub fn new(variables: &Variables) -> Self {
        let size = variables.active;
        let padded = size.next_multiple_of(CHUNK);
        let mut coordinates = Coordinates::default();
        coordinates.clear(padded);
        let mut path = Path {
            size,
            coordinates,
            diagonal: vec![T::ZERO; padded],
            may_grow: vec![-T::INFINITY; padded],
            may_shrink: vec![T::INFINITY; padded],
        };
        for at in 0..size {
            path.coordinates.set(at, variables.point(at));
            path.diagonal[at] = T::from_f64(variables.diagonal[at]);
            path.mark(at);
        }
        path
    }

    /// Returns the coefficients by position.
    pub fn into_beta(mut self) -> Vec<f64> {
        self.coordinates.beta.truncate(self.size);
        self.coordinates.beta
    }

    /// Steps until the goal is reached or rounding leaves no pair. Adds the number of steps to
    /// `steps`; those done before a halt count as well.
    pub fn solve(&mut self, rows: &mut CachedRows<T>, goal: &Goal, steps: &mut u64) -> Polled<()> {
        let isa = Isa::detect();
        let nothing = vec![T::ZERO; self.diagonal.len()];
        let mut found = self.step_and_select(isa, [&nothing, &nothing], T::ZERO);
        for step in 0..goal.max_steps {
            let gap = found.m.to_f64() - found.big_m.to_f64();
            if gap <= goal.tolerance || gap.is_nan() || found.i >= self.size {
                break;
            }
            if step.is_multiple_of(STEPS_BETWEEN_POLLS) {
                poll(goal.stop)?;
            }
            match self.step(isa, rows, &found, goal)? {
                Some(next) => found = next,
                None => break,
            }
            *steps += 1;
        }
        Ok(())
    }

    /// Takes a step from the thresholds that were found and returns the next; None if overflow or
    /// rounding leaves no partner.
    fn step(
        &mut self,
        isa: Isa,
        rows: &mut CachedRows<T>,
        found: &Extremes<T>,
        goal: &Goal,
    ) -> Polled<Option<Extremes<T>>> {
        let &Extremes { m, i, .. } = found;
        let name = rows.order().variable(i);
        let j = match goal.selection {
            Selection::FirstOrder => found.j,
            Selection::SecondOrder => {
                let [row, _] = rows.pair(name, name, self.size, goal.stop)?;
                let Coordinates { gradient, .. } = &self.coordinates;
                let (diagonal, closed) = (&self.diagonal, &self.may_shrink);
                best_partner(isa, row, diagonal, gradient, closed, m, diagonal[i])
            }
        };
        if j >= self.size || j == i {
            return Ok(None);
        }
        let descent = self.may_shrink[j] - self.coordinates.gradient[j];
        let violation = m.to_f64() - descent.to_f64();
        if violation <= 0.0 {
            return Ok(None);
        }
        let partner = rows.order().variable(j);
        let pair = rows.pair(name, partner, self.size, goal.stop)?;
        let two = T::ONE + T::ONE;
        let curvature = self.diagonal[i] + self.diagonal[j] - two * pair[0][j];
        let wanted = violation / curvature.to_f64().max(TAU);
        let (point_i, point_j) = (self.coordinates.point(i), self.coordinates.point(j));
        let (room_i, end_i) = point_i.room_above();
        let (room_j, end_j) = point_j.room_below();
        let step = wanted.min(room_i).min(room_j);
        self.coordinates.beta[i] = landing(point_i.beta, step, room_i, end_i);
        self.coordinates.beta[j] = landing(point_j.beta, -step, room_j, end_j);
        self.mark(i);
        self.mark(j);
        Ok(Some(self.step_and_select(isa, pair, T::from_f64(step))))
    }

    /// Adds step (row_i - row_j) to the gradient and finds the thresholds.
    fn step_and_select(&mut self, isa: Isa, [i, j]: [&[T]; 2], step: T) -> Extremes<T> {
        let Path {
            coordinates,
            may_grow,
            may_shrink,
            ..
        } = self;
        step_and_select(
            isa,
            i,
            j,
            step,
            &mut coordinates.gradient,
            may_grow,
            may_shrink,
        )
    }

    /// Notes which ways a variable may move from where it is.
    fn mark(&mut self, at: usize) {
        let point = self.coordinates.point(at);
        (self.may_grow[at], self.may_shrink[at]) = point.ways();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Samples;
    use crate::error::{Halt, Stop};
    use crate::kernel::Kernel;
    use crate::matrix::KernelMatrix;
    use crate::qp::problem::{Constraint, DualProblem};
    use ndarray::{Array1, Array2};

    const SIZE: usize = 41;

    /// A classifier's problem on points of a circle, labels in turn, with rows of rank three.
    fn problem() -> (DualProblem, Array2<f64>) {
        let angle = |i: usize| (i * i) as f64;
        let matrix = Array2::from_shape_fn((SIZE, SIZE), |(i, j)| {
            1.0 + (angle(i) - angle(j)).cos() + f64::from(u8::from(i == j))
        });
        let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        let problem = DualProblem {
            linear: (0..SIZE).map(|i| -sign(i)).collect(),
            absolute: vec![0.0; SIZE],
            lower: (0..SIZE).map(|i| 0f64.min(sign(i))).collect(),
            upper: (0..SIZE).map(|i| 0f64.max(sign(i))).collect(),
            ridge: vec![0.0; SIZE],
            start: vec![0.0; SIZE],
            constraint: Constraint::Sum,
        };
        (problem, matrix)
    }

    fn variables(problem: &DualProblem, matrix: &Array2<f64>) -> Variables {
        let start = problem.start.clone();
        let coordinates = Coordinates::of(problem, start, problem.linear.clone());
        Variables::new(problem, &matrix.diag().to_vec(), coordinates)
    }

    /// Follows the path; returns how it ended, the steps and the coefficients.
    fn follow<T: Precision>(goal: &Goal) -> (Polled<()>, u64, Vec<f64>) {
        let (problem, matrix) = problem();
        let samples = Samples::try_from(matrix.view()).expect("finite");
        let index = (0..SIZE).collect();
        let matrix = KernelMatrix::new(&Kernel::Precomputed, &samples, index).expect("a matrix");
        let mut rows = CachedRows::<T>::new(&matrix, 4096).expect("memory");
        let state = variables(&problem, &self::problem().1);
        assert!(Path::<T>::leads(&state));
        let (mut path, mut steps) = (Path::new(&state), 0);
        let ended = path.solve(&mut rows, goal, &mut steps);
        (ended, steps, path.into_beta())
    }

    /// m - M at a feasible point, from its definition; the bounds and the sum are asserted.
    fn gap(beta: &[f64]) -> f64 {
        let (problem, matrix) = problem();
        let sum: f64 = beta.iter().sum();
        assert!(sum.abs() < 1e-12, "{sum}");
        let gradient = matrix.dot(&Array1::from(beta.to_vec())) + Array1::from(problem.linear);
        let (mut m, mut big_m) = (f64::NEG_INFINITY, f64::INFINITY);
        for i in 0..SIZE {
            assert!(problem.lower[i] <= beta[i] && beta[i] <= problem.upper[i]);
            if beta[i] < problem.upper[i] {
                m = m.max(-gradient[i]);
            }
            if beta[i] > problem.lower[i] {
                big_m = big_m.min(-gradient[i]);
            }
        }
        m - big_m
    }

    fn goal(selection: Selection, max_steps: u64, stop: Stop) -> Goal {
        Goal {
            selection,
            faces: false,
            tolerance: 1e-6,
            max_steps,
            stop,
        }
    }

    #[test]
    fn it_ends_at_the_optimum() {
        for selection in [Selection::SecondOrder, Selection::FirstOrder] {
            let (ended, steps, beta) = follow::<f64>(&goal(selection, 100_000, &|| false));
            assert!(ended.is_ok() && steps > 0);
            assert!(gap(&beta) <= 1.001e-6, "{}", gap(&beta));
        }
        // Rows in f32 leave their rounding in the gradient.
        let (_, _, beta) = follow::<f32>(&goal(Selection::SecondOrder, 100_000, &|| false));
        assert!(gap(&beta) <= 1e-4, "{}", gap(&beta));
    }

    #[test]
    fn it_takes_as_many_steps_as_it_may() {
        let (ended, steps, beta) = follow::<f64>(&goal(Selection::SecondOrder, 3, &|| false));
        assert!(ended.is_ok());
        assert_eq!(steps, 3);
        assert!(gap(&beta) > 1e-3, "not there yet");
        assert!(beta.iter().filter(|&&beta| beta != 0.0).count() <= 6);
    }

    #[test]
    fn a_stop_leaves_a_feasible_point() {
        let (ended, steps, beta) = follow::<f64>(&goal(Selection::SecondOrder, 100_000, &|| true));
        assert!(matches!(ended, Err(Halt::Stopped)));
        assert_eq!(steps, 0);
        gap(&beta);
    }

    #[test]
    fn it_leads_only_where_one_sum_is_fixed_and_there_is_no_ridge() {
        let (mut problem, matrix) = problem();
        problem.ridge[3] = 0.1;
        assert!(!Path::<f64>::leads(&variables(&problem, &matrix)));
        problem.ridge[3] = 0.0;
        for constraint in [
            Constraint::None,
            Constraint::Penalized,
            Constraint::TwoSums((0..SIZE).map(|i| i % 3 == 0).collect()),
        ] {
            problem.constraint = constraint;
            assert!(!Path::<f64>::leads(&variables(&problem, &matrix)));
        }
    }
}
