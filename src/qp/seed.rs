//! Seed: the solution of one problem as the start of another over the same variables.
//!
//! Most coefficients of a solution are at a bound, and most of these are there for the next cost and
//! the next fold as well. So a variable at a bound goes to the new one, and the free ones are
//! multiplied by what the bounds were multiplied by. A variable that was fixed before (it belonged to
//! a held-out row) goes to the bound that its gradient points to: its decision value is known. Then
//! what the sums lack is given to the variables that gain most by it, or lose least, and what rounding
//! has left of that is taken off: the sums are right to the last digit, however many problems in a row
//! start from one another.

use super::coordinates::Coordinates;
use super::image::Image;
use super::problem::{Constraint, DualProblem};

/// A bound counts as reached within this share of its size.
const AT_BOUND: f64 = 1e-9;
/// The share of the coefficients by which a sum may be off.
const ROUNDING: f64 = 1e-14;

/// What a seed has to know of the problem that was solved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Origin {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// The sum of |beta| that it began with.
    pub size: f64,
    /// Those of the solution.
    pub intercepts: [f64; 2],
}

impl Origin {
    pub fn of(problem: &DualProblem, intercepts: [f64; 2]) -> Self {
        Origin {
            lower: problem.lower.clone(),
            upper: problem.upper.clone(),
            size: size(problem),
            intercepts,
        }
    }

    /// Tells whether a variable could not move, as one that was not there.
    fn is_fixed(&self, i: usize) -> bool {
        self.lower[i] == self.upper[i]
    }
}

fn size(problem: &DualProblem) -> f64 {
    problem.start.iter().map(|beta| beta.abs()).sum()
}

/// Makes the start of `problem` from the image of a solution of the problem `last`, and scales the
/// image. Returns false, and leaves the start as it is, if that start would not have the right sums.
pub(crate) fn seed(problem: &mut DualProblem, last: &Origin, image: &mut Image) -> bool {
    let factor = ratio(problem, last);
    let near = |beta: f64, bound: f64| (beta - bound).abs() <= AT_BOUND * bound.abs();
    let at_upper: Vec<Option<bool>> = (image.beta.iter().enumerate())
        .map(|(i, &beta)| match (last.lower[i], last.upper[i]) {
            (lower, upper) if lower == upper => None,
            (_, upper) if upper != 0.0 && near(beta, upper) => Some(true),
            (lower, _) if lower != 0.0 && near(beta, lower) => Some(false),
            _ => None,
        })
        .collect();
    image.scale(factor);
    let mut start = Vec::with_capacity(image.beta.len());
    for (i, &beta) in image.beta.iter().enumerate() {
        let (lower, upper) = (problem.lower[i], problem.upper[i]);
        start.push(match at_upper[i] {
            Some(true) if upper.is_finite() => upper,
            Some(false) if lower.is_finite() => lower,
            _ if last.is_fixed(i) && lower < upper => {
                entering(problem, i, image.values[i], last.intercepts, factor)
            }
            _ => beta.clamp(lower, upper),
        });
    }
    let possible = repair(problem, &mut start, &image.values);
    if possible {
        let terms = start.iter().zip(&problem.ridge).zip(&problem.linear);
        let gradient = terms.zip(&image.values);
        let gradient =
            gradient.map(|(((beta, ridge), linear), image)| image + linear + ridge * beta);
        let at = Coordinates::of(problem, start.clone(), gradient.collect());
        problem.start = at.with_sums_of(problem);
    }
    possible
}

/// Returns where a variable that was fixed begins: at the bound on whose side the optimality conditions
/// put it, if that is finite.
fn entering(problem: &DualProblem, i: usize, image: f64, intercepts: [f64; 2], factor: f64) -> f64 {
    let group = problem.constraint.group(i);
    // The image has been scaled; what it says of the side was true before.
    let image = image / factor;
    let descent = -(image + problem.linear[i]) - intercepts[group];
    let absolute = problem.absolute[i];
    let to = match descent {
        _ if descent > absolute => problem.upper[i],
        _ if descent < -absolute => problem.lower[i],
        _ => 0.0,
    };
    if to.is_finite() { to } else { 0.0 }
}

/// Returns by how much bounds, or where there are none, or they have not, sums have grown; 1 if that is
/// not the same for all.
fn ratio(problem: &DualProblem, last: &Origin) -> f64 {
    let mut found: Option<f64> = None;
    for i in 0..last.lower.len() {
        let new = problem.upper[i] - problem.lower[i];
        let old = last.upper[i] - last.lower[i];
        if new == 0.0 || old == 0.0 || !new.is_finite() || !old.is_finite() {
            continue;
        }
        let ratio = new / old;
        match found {
            Some(known) if (ratio - known).abs() > AT_BOUND * known => return 1.0,
            _ => found = Some(ratio),
        }
    }
    match (found, &problem.constraint) {
        (Some(found), Constraint::TwoSums(_)) if found == 1.0 && last.size > 0.0 => {
            size(problem) / last.size
        }
        (None, Constraint::Sum) if last.size > 0.0 && size(problem) > 0.0 => {
            size(problem) / last.size
        }
        (found, _) => found.unwrap_or(1.0),
    }
}

/// Moves coefficients until the fixed sums are those of the start of the problem; false if bounds do not
/// allow that.
fn repair(problem: &DualProblem, start: &mut [f64], image: &[f64]) -> bool {
    let groups: &[bool] = match &problem.constraint {
        Constraint::Sum => &[false],
        Constraint::TwoSums(_) => &[false, true],
        Constraint::Penalized | Constraint::None => return true,
    };
    for &group in groups {
        let belongs = |i: usize| match &problem.constraint {
            Constraint::TwoSums(second) => second[i] == group,
            _ => true,
        };
        let members: Vec<usize> = (0..start.len()).filter(|&i| belongs(i)).collect();
        let lacking: f64 = members.iter().map(|&i| problem.start[i] - start[i]).sum();
        if !give(problem, start, image, members, lacking) {
            return false;
        }
    }
    true
}

/// Gives what a sum lacks to the members of its group that gain most by it.
fn give(
    problem: &DualProblem,
    start: &mut [f64],
    image: &[f64],
    mut members: Vec<usize>,
    mut lacking: f64,
) -> bool {
    let size: f64 = members.iter().map(|&i| start[i].abs()).sum();
    // What rounding leaves over makes no variable free: the intercept would be that of this one.
    let nothing = ROUNDING * size;
    if lacking.abs() <= nothing {
        return true;
    }
    let up = lacking > 0.0;
    let room = |i: usize, beta: f64| match up {
        true => problem.upper[i] - beta,
        false => beta - problem.lower[i],
    };
    members.retain(|&i| room(i, start[i]) > 0.0);
    // The gradient of the smooth part; how the sum is shared is a matter of speed only.
    let gradient = |i: usize| image[i] + problem.linear[i] + problem.ridge[i] * start[i];
    let mut keyed: Vec<(f64, usize)> = members.iter().map(|&i| (gradient(i), i)).collect();
    keyed.sort_by(|a, b| {
        if up {
            a.0.total_cmp(&b.0)
        } else {
            b.0.total_cmp(&a.0)
        }
    });
    for (_, i) in keyed {
        let room = room(i, start[i]);
        let (share, all) = if lacking.abs() < room - nothing {
            (lacking, false)
        } else {
            (lacking.signum() * room, true)
        };
        start[i] = match (all, up) {
            (true, true) => problem.upper[i],
            (true, false) => problem.lower[i],
            (false, _) => start[i] + share,
        };
        lacking -= share;
        if !all || lacking.abs() <= nothing {
            return true;
        }
    }
    lacking.abs() <= 1e-12 * size
}
