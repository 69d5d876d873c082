//! Quadratic programmes of public collections: QPS files, read, and brought into Mercer's form.
//!
//! ```text
//! minimise    1/2 x'Px + q'x + constant
//! subject to  bottom <= Ax <= top,   lower <= x <= upper
//! ```

use super::oracle::{Programme, Row};
use mercer::qp::{Constraint, DualProblem};
use ndarray::Array2;
use std::collections::HashMap;

/// A convex quadratic programme as its file has it.
#[derive(Debug, Default)]
pub struct Public {
    pub hessian: Vec<Vec<f64>>,
    pub linear: Vec<f64>,
    pub constant: f64,
    pub rows: Vec<Constrained>,
    pub bounds: Vec<(f64, f64)>,
}

/// bottom <= coefficients.x <= top.
#[derive(Clone, Debug)]
pub struct Constrained {
    pub coefficients: Vec<f64>,
    pub bottom: f64,
    pub top: f64,
}

/// A programme in Mercer's form: its minimum, times `sign`, plus `constant` is that of the file.
pub struct Posed {
    pub problem: DualProblem,
    pub matrix: Array2<f64>,
    pub sign: f64,
    pub constant: f64,
}

impl Public {
    /// Reads free-format QPS whose columns are numbered in order; panics where a file is not like that.
    pub fn read(text: &str) -> Self {
        let mut public = Public::default();
        let (mut section, mut rows) = ("", HashMap::new());
        let mut entries = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if !line.starts_with(' ') {
                section = words[0];
                continue;
            }
            let number = || words[2].parse::<f64>().expect("a number");
            let column = |word: &str| word.parse::<usize>().expect("a column");
            match (section, words[0]) {
                ("ROWS", "N") => assert_eq!(words[1], "f"),
                ("ROWS", kind) => {
                    rows.insert(words[1].to_owned(), rows.len());
                    public.rows.push(Constrained::of(kind));
                }
                ("COLUMNS", _) if words[1] == "f" => {
                    assert_eq!(column(words[0]), public.linear.len());
                    public.linear.push(number());
                    public.bounds.push((0.0, f64::INFINITY));
                }
                ("COLUMNS", _) => entries.push((rows[words[1]], column(words[0]), number())),
                ("RHS", _) if words[1] == "f" => public.constant = -number(),
                ("RHS", _) => public.rows[rows[words[1]]].shift(number()),
                ("RANGES", _) => public.rows[rows[words[1]]].widen(number()),
                ("BOUNDS", kind) => {
                    let bounds = &mut public.bounds[column(words[2])];
                    let value = || words[3].parse::<f64>().expect("a number");
                    match kind {
                        "LO" => bounds.0 = value(),
                        "UP" => bounds.1 = value(),
                        "MI" => bounds.0 = f64::NEG_INFINITY,
                        _ => panic!("a bound {kind}"),
                    }
                }
                ("QUADOBJ", _) => {
                    let n = public.linear.len();
                    public.hessian.resize(n, vec![0.0; n]);
                    let (i, j) = (column(words[0]), column(words[1]));
                    public.hessian[i][j] = number();
                    public.hessian[j][i] = number();
                }
                _ => panic!("{line} in {section}"),
            }
        }
        for row in &mut public.rows {
            row.coefficients = vec![0.0; public.linear.len()];
        }
        for (row, column, value) in entries {
            public.rows[row].coefficients[column] = value;
        }
        public
    }

    /// The minimum by Clarabel; None where it cannot promise that.
    pub fn minimum(&self) -> Option<f64> {
        let n = self.linear.len();
        let (mut equal, mut at_most): (Vec<Row>, Vec<Row>) = Default::default();
        for row in self.all_rows() {
            if row.bottom == row.top {
                equal.push((row.coefficients, row.top));
                continue;
            }
            if row.bottom.is_finite() {
                let minus = row.coefficients.iter().map(|value| -value).collect();
                at_most.push((minus, -row.bottom));
            }
            if row.top.is_finite() {
                at_most.push((row.coefficients, row.top));
            }
        }
        let mut upper = self.hessian.clone();
        (0..n).for_each(|i| upper[i][..i].fill(0.0));
        let programme = Programme {
            hessian: upper,
            linear: self.linear.clone(),
            equal,
            at_most,
        };
        programme.minimise().map(|x| self.value(&x))
    }

    fn value(&self, x: &[f64]) -> f64 {
        let n = x.len();
        let product = |i: usize| (0..n).map(|j| self.hessian[i][j] * x[j]).sum::<f64>();
        let terms = (0..n).map(|i| x[i] * (0.5 * product(i) + self.linear[i]));
        self.constant + terms.sum::<f64>()
    }

    /// The rows, and the bounds as rows.
    fn all_rows(&self) -> Vec<Constrained> {
        let unit = |(i, &(bottom, top)): (usize, &(f64, f64))| {
            let mut coefficients = vec![0.0; self.linear.len()];
            coefficients[i] = 1.0;
            Constrained {
                coefficients,
                bottom,
                top,
            }
        };
        let bounds = self.bounds.iter().enumerate().map(unit);
        let rows = self.rows.iter().cloned().chain(bounds);
        rows.filter(|row| row.bottom.is_finite() || row.top.is_finite())
            .collect()
    }

    /// The programme itself, with at most one row: with beta_i = a_i x_i the row fixes the sum of
    /// beta, and the matrix is P_ij / (a_i a_j). An inequality has one variable more, what it leaves.
    pub fn posed(&self) -> Posed {
        let (mut scale, mut linear) = (vec![1.0; self.linear.len()], self.linear.clone());
        let (mut bounds, mut sum) = (self.bounds.clone(), 0.0);
        let constraint = match &self.rows[..] {
            [] => Constraint::None,
            [row] => {
                scale.clone_from(&row.coefficients);
                if row.bottom == row.top {
                    sum = row.top;
                } else {
                    // a.x - left = 0, where left is what the row comes to.
                    scale.push(-1.0);
                    linear.push(0.0);
                    bounds.push((row.bottom, row.top));
                }
                Constraint::Sum
            }
            _ => panic!("more than one row"),
        };
        assert!(
            scale.iter().all(|&scale| scale != 0.0),
            "a variable outside"
        );
        let known = self.linear.len();
        let entry = |(i, j): (usize, usize)| match i < known && j < known {
            true => self.hessian[i][j] / (scale[i] * scale[j]),
            false => 0.0,
        };
        let matrix = Array2::from_shape_fn((scale.len(), scale.len()), entry);
        let scaled = |i: usize| {
            let ends = (bounds[i].0 * scale[i], bounds[i].1 * scale[i]);
            (ends.0.min(ends.1), ends.0.max(ends.1))
        };
        let bounds: Vec<(f64, f64)> = (0..scale.len()).map(scaled).collect();
        let linear = (0..scale.len()).map(|i| linear[i] / scale[i]).collect();
        Posed {
            problem: problem(linear, &bounds, sum, constraint),
            matrix,
            sign: 1.0,
            constant: self.constant,
        }
    }

    /// The dual of a strictly convex programme with any rows, which has no constraint but signs:
    ///
    /// ```text
    /// minimise  1/2 y' A P^-1 A' y - (A P^-1 q).y - sum_i (bottom_i y_i+ - top_i y_i-)
    /// ```
    ///
    /// and the last sum is linear and absolute: (top + bottom) / 2 y - (top - bottom) / 2 |y|.
    pub fn dual(&self) -> Posed {
        let rows = self.all_rows();
        let factor = cholesky(&self.hessian);
        let halves: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| forward(&factor, &row.coefficients))
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let half = forward(&factor, &self.linear);
        let matrix = Array2::from_shape_fn((rows.len(), rows.len()), |(i, j)| {
            dot(&halves[i], &halves[j])
        });
        let mut bounds = Vec::new();
        let (mut linear, mut absolute) = (Vec::new(), Vec::new());
        for (row, own) in rows.iter().zip(&halves) {
            let (finite, negative) = (row.bottom.is_finite(), row.top.is_finite());
            let (low, high) = match (finite, negative) {
                (true, true) => (row.bottom, row.top),
                (true, false) => (row.bottom, row.bottom),
                _ => (row.top, row.top),
            };
            let far = |open: bool| if open { f64::INFINITY } else { 0.0 };
            bounds.push((-far(negative), far(finite)));
            linear.push(-dot(own, &half) - 0.5 * (low + high));
            absolute.push(0.5 * (high - low));
        }
        let problem = DualProblem {
            absolute,
            ..problem(linear, &bounds, 0.0, Constraint::None)
        };
        Posed {
            problem,
            matrix,
            sign: -1.0,
            constant: self.constant - 0.5 * dot(&half, &half),
        }
    }
}

impl Constrained {
    /// A row of this kind whose right side is zero, as QPS has it before it tells.
    fn of(kind: &str) -> Self {
        let (bottom, top) = match kind {
            "E" => (0.0, 0.0),
            "G" => (0.0, f64::INFINITY),
            "L" => (f64::NEG_INFINITY, 0.0),
            _ => panic!("a row {kind}"),
        };
        Constrained {
            coefficients: Vec::new(),
            bottom,
            top,
        }
    }

    fn shift(&mut self, right: f64) {
        self.bottom += right;
        self.top += right;
    }

    fn widen(&mut self, range: f64) {
        if self.top.is_infinite() {
            self.top = self.bottom + range;
        } else {
            self.bottom = self.top - range;
        }
    }
}

/// A problem without ridges or kinks whose start has this sum.
fn problem(
    linear: Vec<f64>,
    bounds: &[(f64, f64)],
    sum: f64,
    constraint: Constraint,
) -> DualProblem {
    let mut start: Vec<f64> = bounds.iter().map(|b| 0f64.clamp(b.0, b.1)).collect();
    if constraint == Constraint::Sum {
        for (i, bounds) in bounds.iter().enumerate() {
            let missing = sum - start.iter().sum::<f64>();
            start[i] = (start[i] + missing).clamp(bounds.0, bounds.1);
        }
        assert_eq!(start.iter().sum::<f64>(), sum, "no feasible start");
    }
    let n = linear.len();
    DualProblem {
        linear,
        absolute: vec![0.0; n],
        lower: bounds.iter().map(|b| b.0).collect(),
        upper: bounds.iter().map(|b| b.1).collect(),
        ridge: vec![0.0; n],
        start,
        constraint,
    }
}

/// The lower factor of a positive definite matrix.
fn cholesky(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut factor: Vec<Vec<f64>> = Vec::new();
    for (i, row) in matrix.iter().enumerate() {
        let mut own = forward(&factor, &row[..i]);
        let rest = row[i] - own.iter().map(|value| value * value).sum::<f64>();
        assert!(rest > 0.0, "not strictly convex");
        own.push(rest.sqrt());
        factor.push(own);
    }
    factor
}

/// L^-1 b.
fn forward(factor: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut solved: Vec<f64> = Vec::new();
    for (row, b) in factor.iter().zip(b) {
        let known: f64 = row.iter().zip(&solved).map(|(l, x)| l * x).sum();
        solved.push((b - known) / row[solved.len()]);
    }
    solved
}
