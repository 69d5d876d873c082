//! Solved: a problem that is solved, and what problems near it share.

use super::system::Known;
use crate::error::{Polled, Stop};
use crate::matrix::HeldRows;
use crate::qp::coordinates::Coordinates;
use crate::qp::kkt::intercepts;
use crate::qp::problem::{Constraint, DualProblem};
use crate::simd::buffer::Buffer;
use crate::simd::inverse::Inverse;
use crate::simd::{Isa, add_multiples};

/// Free variables up to which their inverse is worth its memory and time.
const LARGEST: usize = 4000;
/// Added to the diagonal, as a share of its mean: directions of smaller eigenvalues are lost to
/// rounding, and what they do to a gradient is below any tolerance.
const RIDGE: f64 = 1e-10;
/// The share of its range within which a variable is at a bound.
pub(super) const AT_BOUND: f64 = 1e-13;
/// What an error calls the inverse.
const INVERSE: &str = "the inverse of the matrix of the free variables";

/// A problem that is solved, and what problems near it share.
pub(crate) struct Solved<'a> {
    pub(super) rows: &'a HeldRows<'a>,
    pub(super) beta: Vec<f64>,
    /// K beta.
    pub(super) image: Vec<f64>,
    pub(super) ridge: Vec<f64>,
    /// The free variables, and for each variable its place among them.
    pub(super) free: Vec<usize>,
    pub(super) place: Vec<Option<usize>>,
    pub(super) known: Known,
}

/// Where to begin.
pub(crate) struct Start {
    pub beta: Vec<f64>,
    /// The multiple of the coefficients of the solved problem that most of these are.
    pub scale: f64,
}

impl<'a> Solved<'a> {
    /// Prepares for problems near one whose solution is `beta`. Returns None where that is of no use:
    /// there is no room for the rows, or the free variables are too many or their matrix singular.
    pub fn new(
        problem: &DualProblem,
        beta: Vec<f64>,
        rows: &'a HeldRows<'a>,
        stop: Stop,
    ) -> Polled<Option<Self>> {
        let beta = settled(problem, beta);
        let support: Vec<usize> = (0..beta.len()).filter(|&i| beta[i] != 0.0).collect();
        if !rows.hold(support.iter().copied(), stop)? {
            return Ok(None);
        }
        let factors: Vec<f64> = support.iter().map(|&i| beta[i]).collect();
        let lines: Vec<&[f64]> = support.iter().map(|&i| rows.row(i)).collect();
        let mut image = vec![0.0; beta.len()];
        add_multiples(Isa::detect(), &factors, &lines, &mut image);
        let at = Coordinates::of(problem, beta.clone(), image.clone());
        let free: Vec<usize> = support
            .into_iter()
            .filter(|&i| at.point(i).is_free())
            .collect();
        if free.len() > LARGEST {
            return Ok(None);
        }
        let mut place = vec![None; beta.len()];
        for (at, &variable) in free.iter().enumerate() {
            place[variable] = Some(at);
        }
        let Some(known) = known(problem, &free, rows, stop)? else {
            return Ok(None);
        };
        Ok(Some(Solved {
            rows,
            beta,
            image,
            ridge: problem.ridge.clone(),
            free,
            place,
            known,
        }))
    }

    /// Returns the coefficients, those that are at a bound but for rounding put there.
    pub fn beta(&self) -> &[f64] {
        &self.beta
    }

    /// Returns the intercepts of the groups.
    pub fn intercepts(&self, problem: &DualProblem) -> [f64; 2] {
        let own = |i: usize| problem.linear[i] + problem.ridge[i] * self.beta[i];
        let gradient = self.image.iter().enumerate().map(|(i, v)| v + own(i));
        let at = Coordinates::of(problem, self.beta.clone(), gradient.collect());
        intercepts(&at, &problem.constraint)
    }

    /// Returns K beta of the solved problem.
    pub fn image(&self) -> &[f64] {
        &self.image
    }

    /// Tells whether some variable of each group is free, so that the intercepts are those of free
    /// variables.
    pub fn has_free(&self, constraint: &Constraint) -> bool {
        let groups = constraint.groups();
        (0..groups).all(|group| {
            let mut free = self.free.iter();
            free.any(|&variable| constraint.group(variable) == group)
        })
    }
}

/// Puts coefficients that are at a bound or at zero but for rounding there: they are not free, and the
/// intercept is not theirs.
fn settled(problem: &DualProblem, mut beta: Vec<f64>) -> Vec<f64> {
    for (i, beta) in beta.iter_mut().enumerate() {
        let (lower, upper) = (problem.lower[i], problem.upper[i]);
        let width = upper - lower;
        let ends = [lower, 0.0, upper].into_iter();
        let near = |end: &f64| width.is_finite() && (*beta - end).abs() <= AT_BOUND * width;
        let end = ends.into_iter().find(near);
        *beta = end.unwrap_or(*beta);
    }
    beta
}

/// Inverts the matrix of the free variables. Returns None if it is singular.
fn known(
    problem: &DualProblem,
    free: &[usize],
    rows: &HeldRows,
    stop: Stop,
) -> Polled<Option<Known>> {
    let (n, isa) = (free.len(), Isa::detect());
    let diagonal = rows.matrix().diagonal();
    let mean = diagonal.iter().sum::<f64>() / diagonal.len().max(1) as f64;
    let ridge = RIDGE * mean;
    let mut inverse = Buffer::default();
    inverse.reserve(n * n, INVERSE)?;
    for (i, (line, &variable)) in inverse.chunks_mut(n.max(1)).zip(free).enumerate() {
        let row = rows.row(variable);
        for (entry, &other) in line.iter_mut().zip(&free[..=i]) {
            *entry = row[other];
        }
        line[i] += problem.ridge[variable] + ridge;
    }
    let Some(found) = Inverse::new(isa, inverse, n, stop)? else {
        return Ok(None);
    };
    let (sums, curvature) = sums_of(&problem.constraint);
    let mut known = Known {
        isa,
        n,
        inverse: found.into_whole()?,
        sums: Vec::new(),
        ridge,
        curvature,
    };
    for group in 0..sums {
        let member = |&i: &usize| f64::from(u8::from(problem.constraint.group(i) == group));
        let column: Vec<f64> = free.iter().map(member).collect();
        let product = known.times(&column);
        known.sums.push((column, product));
    }
    Ok(Some(known))
}

/// Returns how many sums have a multiplier, and what it costs.
fn sums_of(constraint: &Constraint) -> (usize, f64) {
    match constraint.absorber() {
        None => (constraint.groups(), 0.0),
        Some(curvature) => (usize::from(curvature > 0.0), curvature),
    }
}
