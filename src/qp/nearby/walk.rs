//! Walk: the way from a start to the solution of a problem nearby.

use super::solved::{AT_BOUND, Solved, Start};
use super::system::{Kind, Step, System};
use crate::error::{Polled, Stop, poll};
use crate::qp::coordinates::{Coordinates, Point};
use crate::qp::driver::TINY;
use crate::qp::exact_sum::exact_sum;
use crate::qp::kkt::{Thresholds, intercepts};
use crate::qp::problem::DualProblem;
use crate::simd::{Isa, add_multiples};

/// Rounds after which a solver is asked instead.
const ROUNDS: usize = 60;
/// Borders beyond which solving for them costs more than a solver.
const BORDERS: usize = 160;
/// Variables that are let in at a time: of more, most meet their bounds again at once.
const ENTERING: usize = 3;
/// The share of the tolerance by which a variable at a bound has to gain more than free ones to be let
/// in: the gap has two sides.
const SIDE: f64 = 0.45;
/// The largest error of a sum, as a share of the coefficients.
const SUM: f64 = 1e-11;

/// A solution of a problem nearby.
pub(crate) struct Near {
    pub beta: Vec<f64>,
    /// The gradient of the smooth part of the objective.
    pub gradient: Vec<f64>,
    pub intercepts: [f64; 2],
    pub gap: f64,
}

/// Solves a problem with the same matrix as one that is solved, and the sums of its own start, beginning
/// at `start`, with the variables `held` fixed at zero. Returns None if the gap does not come below the
/// tolerance soon.
pub(crate) fn near(
    solved: &Solved,
    problem: &DualProblem,
    held: &[usize],
    start: Start,
    tolerance: f64,
    stop: Stop,
) -> Polled<Option<Near>> {
    if problem.ridge != solved.ridge && !same_but(&problem.ridge, &solved.ridge, held) {
        return Ok(None);
    }
    let moved: Vec<(usize, f64)> = (start.beta.iter().zip(&solved.beta).enumerate())
        .map(|(i, (now, then))| (i, now - start.scale * then))
        .filter(|&(_, change)| change != 0.0)
        .collect();
    if !solved.rows.hold(moved.iter().map(|&(i, _)| i), stop)? {
        return Ok(None);
    }
    let mut gradient = vec![0.0; start.beta.len()];
    for (i, gradient) in gradient.iter_mut().enumerate() {
        let own = problem.linear[i] + problem.ridge[i] * start.beta[i];
        *gradient = start.scale * solved.image[i] + own;
    }
    add_rows(solved, &moved, &mut gradient);
    let mut at = Coordinates::of(problem, start.beta, gradient);
    for &i in held {
        (at.lower[i], at.upper[i]) = (0.0, 0.0);
    }
    Walk::new(solved, problem, at, tolerance).run(stop)
}

/// Tells whether vectors are the same but for some entries.
fn same_but(values: &[f64], others: &[f64], held: &[usize]) -> bool {
    let pairs = values.iter().zip(others).enumerate();
    pairs
        .into_iter()
        .all(|(i, (a, b))| a == b || held.contains(&i))
}

/// Adds the rows of variables that moved.
fn add_rows(solved: &Solved, moves: &[(usize, f64)], sums: &mut [f64]) {
    let factors: Vec<f64> = moves.iter().map(|&(_, change)| change).collect();
    let lines: Vec<&[f64]> = moves.iter().map(|&(i, _)| solved.rows.row(i)).collect();
    add_multiples(Isa::detect(), &factors, &lines, sums);
}

/// The share of the tolerance to which tiny problems are polished, as by the solvers: it costs next to
/// nothing.
const POLISH: f64 = 1e-4;

/// The interval in which a free variable moves without a kink, and the slope of its absolute value.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    high: f64,
    slope: f64,
}

impl Range {
    /// That of a variable on one side of zero, where that matters.
    fn new(point: Point, positive: bool) -> Self {
        let Point {
            lower,
            upper,
            absolute,
            ..
        } = point;
        match (absolute > 0.0, positive) {
            (false, _) => Range {
                low: lower,
                high: upper,
                slope: 0.0,
            },
            (true, true) => Range {
                low: lower.max(0.0),
                high: upper,
                slope: absolute,
            },
            (true, false) => Range {
                low: lower,
                high: upper.min(0.0),
                slope: -absolute,
            },
        }
    }
}

/// A variable that is free now.
#[derive(Clone, Copy)]
struct Free {
    variable: usize,
    group: usize,
    range: Range,
    /// Its place on the known face; None if it has entered.
    place: Option<usize>,
}

impl Free {
    fn entered(&self) -> Kind {
        Kind::Entered {
            variable: self.variable,
            group: self.group,
        }
    }
}

struct Walk<'a> {
    solved: &'a Solved<'a>,
    problem: &'a DualProblem,
    tolerance: f64,
    /// The gap at which to end, if it can be reached.
    aim: f64,
    at: Coordinates,
    system: System<'a>,
    free: Vec<Free>,
    is_free: Vec<bool>,
    /// What each sum lacks, where they are fixed, and what is rounding of it.
    lacking: Vec<f64>,
    rounding: f64,
    /// The intercept of each group: what free variables gain, where there are any.
    level: [f64; 2],
}

impl<'a> Walk<'a> {
    fn new(
        solved: &'a Solved<'a>,
        problem: &'a DualProblem,
        at: Coordinates,
        tolerance: f64,
    ) -> Self {
        let sums = match problem.constraint.absorber() {
            None => problem.constraint.groups(),
            Some(_) => 0,
        };
        let lacking = |group: usize| {
            let members = (0..at.len()).filter(|&i| problem.constraint.group(i) == group);
            exact_sum(members.flat_map(|i| [problem.start[i], -at.beta[i]]))
        };
        let lacking: Vec<f64> = (0..sums).map(lacking).collect();
        let size = lacking.iter().fold(0.0f64, |size, l| size.max(l.abs()));
        Walk {
            system: System::new(&solved.known),
            free: Vec::new(),
            is_free: vec![false; at.len()],
            rounding: SUM * at.beta.iter().fold(size, |size, beta| size + beta.abs()),
            lacking,
            level: [0.0; 2],
            solved,
            problem,
            tolerance,
            aim: match at.len() <= TINY {
                true => POLISH * tolerance,
                false => tolerance,
            },
            at,
        }
    }

    /// Goes until the gap is at most the tolerance; None if that does not happen soon.
    fn run(mut self, stop: Stop) -> Polled<Option<Near>> {
        if !self.begin(stop)? {
            return Ok(None);
        }
        self.level = intercepts(&self.at, &self.problem.constraint);
        let mut gap = f64::INFINITY;
        for _ in 0..ROUNDS {
            poll(stop)?;
            if self.system.len() > BORDERS || !self.minimise() {
                break;
            }
            let thresholds = Thresholds::at(&self.at, &self.problem.constraint);
            gap = thresholds.gap();
            if (0..self.lacking.len()).any(|group| self.lacks(group)) {
                gap = f64::INFINITY;
            }
            if gap <= self.aim {
                break;
            }
            self.level = self.levels(&thresholds);
            if !self.let_in(stop)? {
                break;
            }
        }
        Ok((gap <= self.tolerance).then(|| self.end(gap)))
    }

    fn end(self, gap: f64) -> Near {
        let intercepts = intercepts(&self.at, &self.problem.constraint);
        let Coordinates { beta, gradient, .. } = self.at;
        Near {
            beta,
            gradient,
            intercepts,
            gap,
        }
    }

    /// Tells whether a sum lacks more than rounding.
    fn lacks(&self, group: usize) -> bool {
        self.lacking[group].abs() > self.rounding
    }

    /// Returns what the free variables of each group gain by growing, in the mean; where there is none,
    /// the middle of what optimality allows.
    fn levels(&self, thresholds: &Thresholds) -> [f64; 2] {
        if self.lacking.is_empty() {
            return intercepts(&self.at, &self.problem.constraint);
        }
        let level = |group: usize| {
            let free = || self.free.iter().filter(|free| free.group == group);
            if free().next().is_none() {
                return thresholds.middle(group);
            }
            let gain = |free: &Free| -self.at.gradient[free.variable] - free.range.slope;
            free().map(gain).sum::<f64>() / free().count() as f64
        };
        match self.lacking.len() {
            2 => [level(0), level(1)],
            _ => [level(0); 2],
        }
    }

    /// Finds out which variables are free at the start.
    fn begin(&mut self, stop: Stop) -> Polled<bool> {
        // A multiplier that is charged for is there whatever is free.
        if self.lacking.is_empty() && !self.solved.known.sums.is_empty() {
            self.system.keep(0);
        }
        for (place, &variable) in self.solved.free.iter().enumerate() {
            if self.at.beta[variable] == 0.0 || !self.at.point(variable).is_free() {
                self.system.fix(place);
            }
        }
        let free: Vec<usize> = (0..self.at.len())
            .filter(|&i| self.at.beta[i] != 0.0 && self.at.point(i).is_free())
            .collect();
        let new = free.iter().filter(|&&i| self.solved.place[i].is_none());
        if !self.solved.rows.hold(new.copied(), stop)? {
            return Ok(false);
        }
        for variable in free {
            let point = self.at.point(variable);
            self.release(variable, Range::new(point, point.beta > 0.0), false);
        }
        Ok(true)
    }

    /// Makes a variable free, which may have been `fixed` on the known face.
    fn release(&mut self, variable: usize, range: Range, fixed: bool) {
        let group = self.problem.constraint.group(variable);
        let free = Free {
            variable,
            group,
            range,
            place: self.solved.place[variable],
        };
        let first = !self.free.iter().any(|other| other.group == group);
        match free.place {
            Some(place) if fixed => self.system.remove(Kind::Fixed(place)),
            Some(_) => {}
            None => {
                let row = self.solved.rows.row(variable);
                let ridge = self.problem.ridge[variable] + self.solved.known.ridge;
                let diagonal = row[variable] + ridge;
                let known = &self.solved.free;
                self.system.enter(free.entered(), row, known, diagonal);
            }
        }
        self.free.push(free);
        self.is_free[variable] = true;
        if first && !self.lacking.is_empty() {
            self.system.keep(group);
        }
    }

    /// Leaves the free variable at this place of the list where it is.
    fn fix(&mut self, at: usize) {
        let free = self.free.swap_remove(at);
        self.is_free[free.variable] = false;
        match free.place {
            Some(place) => self.system.fix(place),
            None => self.system.remove(free.entered()),
        }
        let last = !self.free.iter().any(|other| other.group == free.group);
        if last && !self.lacking.is_empty() {
            self.system.remove(Kind::Sum(free.group));
        }
    }

    /// Goes to the minimum over the face. Returns false if the system is singular.
    fn minimise(&mut self) -> bool {
        let descent = |free: &Free| {
            -self.at.gradient[free.variable] - free.range.slope - self.level[free.group]
        };
        let mut known = vec![0.0; self.solved.free.len()];
        for free in &self.free {
            if let Some(place) = free.place {
                known[place] = descent(free);
            }
        }
        let right = |kind: Kind| match kind {
            Kind::Sum(group) => self.lacking.get(group).copied().unwrap_or(0.0),
            Kind::Entered { variable, .. } => {
                let found = self.free.iter().find(|free| free.variable == variable);
                found.map_or(0.0, descent)
            }
            Kind::Fixed(_) => 0.0,
        };
        let right: Vec<(Kind, f64)> = self
            .system
            .kinds()
            .map(|kind| (kind, right(kind)))
            .collect();
        let first = self.solved.known.times(&known);
        let before: Vec<(usize, f64)> = (self.free.iter())
            .map(|free| (free.variable, self.at.beta[free.variable]))
            .collect();
        let mut rest = 1.0;
        while !self.free.is_empty() {
            let of = |kind: Kind| match kind {
                Kind::Fixed(_) => 0.0,
                _ => right
                    .iter()
                    .find(|(other, _)| *other == kind)
                    .map_or(0.0, |r| r.1),
            };
            let Some(step) = self.system.solve(&first, self.system.kinds().map(of)) else {
                return false;
            };
            match self.follow(&step, &mut rest) {
                Some(blocked) => self.fix(blocked),
                None => break,
            }
        }
        self.settle();
        let moves: Vec<(usize, f64)> = (before.into_iter())
            .map(|(i, before)| (i, self.at.beta[i] - before))
            .filter(|&(_, change)| change != 0.0)
            .collect();
        add_rows(self.solved, &moves, &mut self.at.gradient);
        for (i, change) in moves {
            self.at.gradient[i] += self.problem.ridge[i] * change;
            if let Some(lacking) = self.lacking.get_mut(self.problem.constraint.group(i)) {
                *lacking -= change;
            }
        }
        true
    }

    /// Puts variables that are at a bound but for rounding there: they are not free, and the intercept is
    /// not theirs.
    fn settle(&mut self) {
        for at in (0..self.free.len()).rev() {
            let Free {
                variable, range, ..
            } = self.free[at];
            let beta = self.at.beta[variable];
            let width = range.high - range.low;
            let allowed = if width.is_finite() {
                AT_BOUND * width
            } else {
                0.0
            };
            let bounds = [range.low, range.high].into_iter();
            let near = |bound: &f64| bound.is_finite() && (beta - bound).abs() <= allowed;
            if let Some(bound) = bounds.clone().find(near) {
                self.at.beta[variable] = bound;
                self.fix(at);
            }
        }
    }

    /// Goes along what is left of a step, as far as the first bound. Returns which free variable met it.
    fn follow(&mut self, step: &Step, rest: &mut f64) -> Option<usize> {
        let mut of_entered = vec![0.0; self.free.len()];
        let borders: Vec<(Kind, f64)> = self
            .system
            .kinds()
            .zip(step.borders.iter().copied())
            .collect();
        for (step, free) in of_entered.iter_mut().zip(&self.free) {
            if free.place.is_none() {
                let own = free.entered();
                let found = borders.iter().find(|(kind, _)| *kind == own);
                *step = found.map_or(0.0, |&(_, value)| value);
            }
        }
        let (mut length, mut blocked) = (1.0f64, None);
        let step_of = |at: usize, free: &Free| match free.place {
            Some(place) => *rest * step.known[place],
            None => *rest * of_entered[at],
        };
        for (at, free) in self.free.iter().enumerate() {
            let (step, beta) = (step_of(at, free), self.at.beta[free.variable]);
            let room = match step > 0.0 {
                true => free.range.high - beta,
                false => beta - free.range.low,
            };
            if step != 0.0 && room < length * step.abs() {
                (length, blocked) = ((room / step.abs()).max(0.0), Some((at, step > 0.0)));
            }
        }
        for (at, free) in self.free.iter().enumerate() {
            let range = free.range;
            let beta = &mut self.at.beta[free.variable];
            *beta = (*beta + length * step_of(at, free)).clamp(range.low, range.high);
        }
        *rest *= 1.0 - length;
        let (at, above) = blocked?;
        let free = self.free[at];
        self.at.beta[free.variable] = match above {
            true => free.range.high,
            false => free.range.low,
        };
        Some(at)
    }

    /// Lets in the variables that gain most by leaving their bounds, and where a sum lacks something
    /// that nothing free can give, one that can. Returns false if there is no such variable.
    fn let_in(&mut self, stop: Stop) -> Polled<bool> {
        let level = self.level;
        let margin = SIDE * self.aim;
        let mut found: Vec<(f64, usize, bool)> = Vec::new();
        for i in (0..self.at.len()).filter(|&i| !self.is_free[i]) {
            let (point, level) = (self.at.point(i), level[self.problem.constraint.group(i)]);
            if point.may_grow() && point.up() - level > margin {
                found.push((point.up() - level, i, true));
            } else if point.may_shrink() && level - point.down() > margin {
                found.push((level - point.down(), i, false));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.truncate(ENTERING);
        for group in 0..self.lacking.len() {
            let helped = self.free.iter().any(|free| free.group == group);
            if helped || !self.lacks(group) {
                continue;
            }
            let lacking = self.lacking[group];
            let Some(helper) = self.helper(group, lacking > 0.0) else {
                return Ok(false);
            };
            found.retain(|&(_, i, _)| i != helper);
            found.push((f64::INFINITY, helper, lacking > 0.0));
        }
        if found.is_empty() {
            // What is left is the rounding of the last step, unless nothing is free.
            return Ok(!self.free.is_empty());
        }
        let variables = found.iter().map(|&(_, i, _)| i);
        if !self.solved.rows.hold(variables, stop)? {
            return Ok(false);
        }
        for (_, i, up) in found {
            let point = self.at.point(i);
            let positive = point.beta > 0.0 || (point.beta == 0.0 && up);
            self.release(i, Range::new(point, positive), true);
        }
        Ok(true)
    }

    /// Returns the variable of a group that loses least by growing, or by shrinking.
    fn helper(&self, group: usize, up: bool) -> Option<usize> {
        let able = |&i: &usize| {
            let point = self.at.point(i);
            !self.is_free[i]
                && if up {
                    point.may_grow()
                } else {
                    point.may_shrink()
                }
        };
        let value = |i: usize| {
            let point = self.at.point(i);
            if up { point.up() } else { -point.down() }
        };
        let of_group = |&i: &usize| self.problem.constraint.group(i) == group;
        let candidates = (0..self.at.len()).filter(of_group).filter(able);
        candidates.max_by(|&i, &j| value(i).total_cmp(&value(j)))
    }
}
