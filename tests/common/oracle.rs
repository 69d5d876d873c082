//! The machines as their papers write them, solved by an interior-point method (Clarabel): the
//! primal problem in an explicit feature space, with nothing taken from the library but the names
//! of the kernels.
//!
//! ```text
//! minimise    1/2 |w|^2 + price.t + sum_i cost_i slack_i^p,   p = 1 or 2
//! subject to  w.features_i + t.scalars_i >= right_i - slack_i,   slack_i >= 0
//! ```
//!
//! t holds the numbers that are not penalised: a bias, rho, epsilon, R^2. The optimal w is unique,
//! t need not be, so [`Primal::minimise`] returns the whole set of its optimal values.

use super::qp::value;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, SupportedConeT,
    ZeroConeT,
};
use mercer::Kernel;
use ndarray::{Array2, ArrayView1};

/// A left side and a right side.
pub type Row = (Vec<f64>, f64);

/// A convex quadratic programme.
pub struct Programme {
    /// The upper triangle of the Hessian; zeros below it.
    pub hessian: Vec<Vec<f64>>,
    pub linear: Vec<f64>,
    pub equal: Vec<Row>,
    pub at_most: Vec<Row>,
}

impl Programme {
    /// The minimiser by Clarabel, to 1e-9 or better; None where it cannot promise that.
    pub fn minimise(mut self) -> Option<Vec<f64>> {
        if self.equal.is_empty() && self.at_most.is_empty() {
            // Clarabel wants a constraint; this one always holds.
            self.at_most.push((vec![0.0; self.linear.len()], 1.0));
        }
        let cones: [SupportedConeT<f64>; 2] = [
            ZeroConeT(self.equal.len()),
            NonnegativeConeT(self.at_most.len()),
        ];
        let (rows, right): (Vec<Vec<f64>>, Vec<f64>) =
            self.equal.into_iter().chain(self.at_most).unzip();
        let (hessian, rows) = (CscMatrix::from(&self.hessian), CscMatrix::from(&rows));
        // As accurate as it gets; near duplicates may not allow the first.
        [1e-12, 1e-11, 1e-10, 1e-9]
            .into_iter()
            .find_map(|accuracy| {
                let settings = DefaultSettings {
                    verbose: false,
                    tol_gap_abs: accuracy,
                    tol_gap_rel: accuracy,
                    tol_feas: accuracy,
                    max_iter: 500,
                    ..DefaultSettings::default()
                };
                let mut solver =
                    DefaultSolver::new(&hessian, &self.linear, &rows, &right, &cones, settings)
                        .expect("a well-formed programme");
                solver.solve();
                (solver.solution.status == SolverStatus::Solved).then(|| solver.solution.x.clone())
            })
    }
}

/// What is left of a diagonal value when its row counts as spanned by the others.
const SPANNED: f64 = 1e-12;

/// phi with phi(x_i).phi(x_j) = k(x_i, x_j), by a pivoted Cholesky factorisation: coordinates in
/// an orthonormal basis of the span of the rows. Of any other row it gives the projection on that
/// span, which is all a decision function sees.
pub struct Features {
    kernel: Kernel,
    /// The rows that were orthonormalised, and their coordinates, a triangle.
    basis: Array2<f64>,
    triangle: Vec<Vec<f64>>,
    /// phi of all the rows.
    pub rows: Vec<Vec<f64>>,
}

impl Features {
    pub fn new(kernel: &Kernel, x: &Array2<f64>) -> Self {
        let mut left: Vec<f64> = x.rows().into_iter().map(|x| value(kernel, x, x)).collect();
        let least = SPANNED * left.iter().copied().fold(0.0, f64::max);
        let mut features = Features {
            kernel: kernel.clone(),
            basis: Array2::zeros((0, x.ncols())),
            triangle: Vec::new(),
            rows: vec![Vec::new(); x.nrows()],
        };
        while let Some(pivot) = (0..left.len()).max_by(|&i, &j| left[i].total_cmp(&left[j]))
            && left[pivot] > least
        {
            let mut own = features.rows[pivot].clone();
            own.push(left[pivot].sqrt());
            features.basis.push_row(x.row(pivot)).expect("as wide");
            features.triangle.push(own);
            for (i, left) in left.iter_mut().enumerate() {
                let known = std::mem::take(&mut features.rows[i]);
                features.rows[i] = features.extend(known, x.row(i));
                *left -= features.rows[i].last().expect("one more").powi(2);
            }
            left[pivot] = 0.0;
        }
        features
    }

    pub fn of(&self, z: ArrayView1<f64>) -> Vec<f64> {
        self.extend(Vec::new(), z)
    }

    /// The coordinates that are missing, by forward substitution.
    fn extend(&self, mut known: Vec<f64>, z: ArrayView1<f64>) -> Vec<f64> {
        for at in known.len()..self.triangle.len() {
            let own = &self.triangle[at];
            let rest = value(&self.kernel, self.basis.row(at), z) - dot(&known, &own[..at]);
            known.push(rest / own[at]);
        }
        known
    }
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A vector times a number.
pub fn times(factor: f64, vector: &[f64]) -> Vec<f64> {
    vector.iter().map(|value| factor * value).collect()
}

/// w.features + t.scalars >= right - slack, at this cost of slack; infinite: no slack.
pub struct Margin {
    pub features: Vec<f64>,
    pub scalars: Vec<f64>,
    pub right: f64,
    pub cost: f64,
}

impl Margin {
    fn slack(&self, w: &[f64], t: &[f64]) -> f64 {
        (self.right - dot(w, &self.features) - dot(t, &self.scalars)).max(0.0)
    }
}

/// The primal problem of a machine.
pub struct Primal {
    /// The price of each scalar.
    pub price: Vec<f64>,
    /// Directions in the space of scalars along which the objective is a sum of functions of one
    /// number each, orthogonal to each other.
    pub directions: Vec<Vec<f64>>,
    /// Whether slack is squared.
    pub squared: bool,
    pub margins: Vec<Margin>,
}

/// What minimises a [`Primal`].
pub struct Optimum {
    pub w: Vec<f64>,
    /// The middle of the optimal scalars.
    pub t: Vec<f64>,
    /// How far t may move along each direction, down and up, and be optimal.
    pub ranges: Vec<(f64, f64)>,
    pub value: f64,
}

/// Slack of hard margins that is rounding.
const HARD_SLACK: f64 = 1e-7;

impl Primal {
    /// The minimum; None where Clarabel does not find it.
    pub fn minimise(&self) -> Option<Optimum> {
        let width = self
            .margins
            .first()
            .map_or(0, |margin| margin.features.len());
        let soft = |margin: &&Margin| margin.cost.is_finite();
        let slacks = self.margins.iter().filter(soft).count();
        let scalars = width + self.price.len();
        let size = scalars + slacks;
        let (mut curvature, mut linear) = (vec![0.0; size], vec![0.0; size]);
        curvature[..width].fill(1.0);
        linear[width..scalars].copy_from_slice(&self.price);
        let mut at_most = Vec::new();
        let mut at = scalars;
        for margin in &self.margins {
            let mut row = times(-1.0, &margin.features);
            row.extend(times(-1.0, &margin.scalars));
            row.resize(size, 0.0);
            if margin.cost.is_finite() {
                if self.squared {
                    curvature[at] = 2.0 * margin.cost;
                } else {
                    linear[at] = margin.cost;
                }
                row[at] = -1.0;
                let mut positive = vec![0.0; size];
                positive[at] = -1.0;
                at_most.push((positive, 0.0));
                at += 1;
            }
            at_most.push((row, -margin.right));
        }
        let diagonal = |i: usize| {
            let mut row = vec![0.0; size];
            row[i] = curvature[i];
            row
        };
        let programme = Programme {
            hessian: (0..size).map(diagonal).collect(),
            linear,
            equal: Vec::new(),
            at_most,
        };
        let x = programme.minimise()?;
        let (w, mut t) = (x[..width].to_vec(), x[width..scalars].to_vec());
        let mut ranges = Vec::new();
        for direction in &self.directions {
            let (down, up) = self.range(&w, &t, direction);
            let middle = if (down + up).is_finite() {
                0.5 * (down + up)
            } else {
                0.0
            };
            for (t, direction) in t.iter_mut().zip(direction) {
                *t += middle * direction;
            }
            ranges.push((down - middle, up - middle));
        }
        let value = self.value(&w, &t);
        Some(Optimum {
            w,
            t,
            ranges,
            value,
        })
    }

    /// The objective; hard margins are taken as kept.
    fn value(&self, w: &[f64], t: &[f64]) -> f64 {
        let soft = self.margins.iter().filter(|margin| margin.cost.is_finite());
        let losses = soft.map(|margin| {
            let slack = margin.slack(w, t);
            margin.cost * if self.squared { slack * slack } else { slack }
        });
        0.5 * dot(w, w) + dot(&self.price, t) + losses.sum::<f64>()
    }

    /// How far t may move along a direction, down and up, without leaving the minimum: where the
    /// slope of the objective, which never falls, changes its sign.
    fn range(&self, w: &[f64], t: &[f64], direction: &[f64]) -> (f64, f64) {
        let slope = |distance: f64| {
            let moved: Vec<f64> = t
                .iter()
                .zip(direction)
                .map(|(t, direction)| t + distance * direction)
                .collect();
            let mut slope = dot(&self.price, direction);
            for margin in &self.margins {
                let (slack, rate) = (margin.slack(w, &moved), dot(&margin.scalars, direction));
                if margin.cost.is_infinite() {
                    if slack > HARD_SLACK && rate != 0.0 {
                        slope -= f64::INFINITY * rate;
                    }
                } else if self.squared {
                    slope -= 2.0 * margin.cost * slack * rate;
                } else if slack > 0.0 {
                    slope -= margin.cost * rate;
                }
            }
            slope
        };
        let costs: f64 = self
            .margins
            .iter()
            .map(|margin| margin.cost)
            .filter(|c| c.is_finite())
            .sum();
        let flat = 1e-9 * (costs + dot(&self.price, direction).abs());
        // The last distance below which `yes` holds.
        let last = |yes: &dyn Fn(f64) -> bool| {
            let (mut low, mut high) = (-1e4, 1e4);
            if !yes(low) {
                return f64::NEG_INFINITY;
            }
            if yes(high) {
                return f64::INFINITY;
            }
            for _ in 0..70 {
                let middle = 0.5 * (low + high);
                if yes(middle) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            0.5 * (low + high)
        };
        (
            last(&|distance| slope(distance) < -flat),
            last(&|distance| slope(distance) <= flat),
        )
    }
}

/// What the library found, in the terms of the primal problem.
pub struct Found {
    /// Published decision values of fresh rows.
    pub decisions: Vec<f64>,
    pub t: Vec<f64>,
    /// The primal objective that the published (dual) one implies.
    pub value: f64,
}

/// Decision values agree to this, relative to the largest of them or to 1 if that is more.
const DECISIONS: f64 = 1e-4;
/// Objectives agree to this, relative to the objective or to 1 if that is more.
const OBJECTIVES: f64 = 1e-6;
/// Scalars that may move by less than this are unique.
const UNIQUE: f64 = 1e-5;

/// Counts the problems in which a machine was compared with the oracle.
pub struct Tally {
    machine: String,
    /// Everything was compared.
    full: usize,
    /// The scalars were not unique: w was compared, and that the scalars are optimal.
    partial: usize,
    /// The oracle gave up.
    unsolved: usize,
    worst: (f64, f64),
}

impl Tally {
    pub fn new(machine: impl ToString) -> Self {
        Tally {
            machine: machine.to_string(),
            full: 0,
            partial: 0,
            unsolved: 0,
            worst: (0.0, 0.0),
        }
    }

    /// Compares a problem; `decide` maps w and t to decision values of the fresh rows.
    pub fn compare(
        &mut self,
        problem: &str,
        primal: &Primal,
        found: &Found,
        decide: impl Fn(&[f64], &[f64]) -> Vec<f64>,
    ) {
        let about = format!("{}, {problem}", self.machine);
        let Some(best) = primal.minimise() else {
            self.unsolved += 1;
            return;
        };
        let error = (found.value - best.value).abs() / best.value.abs().max(1.0);
        assert!(
            error <= OBJECTIVES,
            "{about}: objective {} not {}",
            found.value,
            best.value
        );
        self.worst.1 = self.worst.1.max(error);
        let size = best.t.iter().fold(1.0f64, |size, t| size.max(t.abs()));
        let mut unique = true;
        for (direction, &(down, up)) in primal.directions.iter().zip(&best.ranges) {
            let apart: Vec<f64> = found.t.iter().zip(&best.t).map(|(a, b)| a - b).collect();
            let moved = dot(&apart, direction) / dot(direction, direction);
            let slack = DECISIONS * size;
            assert!(
                down - slack <= moved && moved <= up + slack,
                "{about}: {:?} is {moved} along {direction:?} from {:?}, optimal from {down} to {up}",
                found.t,
                best.t
            );
            unique &= up - down <= UNIQUE * size;
        }
        // Where t is not unique, the one found is as good.
        let t = if unique { &best.t } else { &found.t };
        let expected = decide(&best.w, t);
        assert_eq!(found.decisions.len(), expected.len());
        let largest = expected.iter().fold(1.0f64, |size, f| size.max(f.abs()));
        for (f, expected) in found.decisions.iter().zip(&expected) {
            let error = (f - expected).abs() / largest;
            assert!(error <= DECISIONS, "{about}: decision {f} not {expected}");
            self.worst.0 = self.worst.0.max(error);
        }
        self.full += usize::from(unique);
        self.partial += usize::from(!unique);
    }

    /// Asserts that enough problems were compared in full, and prints what was measured.
    pub fn finish(self, least: usize) {
        println!(
            "{}: {} in full, {} with scalars that are not unique, {} unsolved; worst errors: \
             decisions {:.1e}, objectives {:.1e}",
            self.machine, self.full, self.partial, self.unsolved, self.worst.0, self.worst.1
        );
        assert!(
            self.full >= least,
            "{}: {} in full",
            self.machine,
            self.full
        );
        assert!(10 * self.unsolved <= self.full, "the oracle gives up");
    }
}
