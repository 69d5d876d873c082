//! Everything in the crate that reads what somebody else wrote, fed with arbitrary bytes: the bodies
//! of the targets in `fuzz/`, as ordinary functions, so that `tests/hostile_bytes.rs` runs them with
//! any toolchain. Each returns whether the input was accepted; what is wrong panics.

use mercer::matrix::KernelMatrix;
use mercer::model::{Expansion, Multiclass};
use mercer::qp::{Adatron, Constraint, DualProblem, Smo, Solution, Unwatched};
use mercer::{Kernel, Samples};
use ndarray::Array2;
use std::time::Duration;

/// Columns up to which sparse rows are compared with dense ones.
const DENSE_COLUMNS: usize = 64;

/// Bytes taken from the front; zeros when there are no more.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    fn eight(&mut self) -> [u8; 8] {
        std::array::from_fn(|_| self.byte())
    }

    /// A number of which most are small, and some as large as they get.
    fn integer(&mut self) -> i64 {
        match self.byte() {
            255 => i64::from_le_bytes(self.eight()),
            254 => -i64::from(self.byte()),
            small => i64::from(small % 16),
        }
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// A number of which most are near 1, and some have any bits at all.
    fn number(&mut self) -> f64 {
        match self.byte() {
            255 => f64::from_le_bytes(self.eight()),
            254 => f64::INFINITY,
            253 => f64::NEG_INFINITY,
            252 => f64::NAN,
            251 => f64::MAX,
            250 => f64::MIN_POSITIVE / 8.0,
            byte => (f64::from(byte) - 125.0) / 25.0,
        }
    }

    fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }

    fn integers(&mut self) -> Vec<i64> {
        let count = self.below(24);
        (0..count).map(|_| self.integer()).collect()
    }

    /// Rows of numbers, if these are finite.
    fn samples(&mut self, rows: usize, columns: usize) -> Option<Samples> {
        let values = self.numbers(rows * columns);
        let x = Array2::from_shape_vec((rows, columns), values).expect("as many as asked for");
        Samples::try_from(x.view()).ok()
    }

    fn kernel(&mut self, depth: usize) -> Kernel {
        let kinds = if depth == 0 { 7 } else { 10 };
        match self.below(kinds) {
            0 => Kernel::linear(),
            1 => Kernel::rbf(self.number()),
            2 => Kernel::polynomial(self.number(), self.number(), u32::from(self.byte())),
            3 => Kernel::sigmoid(self.number(), self.number()),
            4 => Kernel::Laplacian {
                gamma: self.number(),
            },
            5 => Kernel::InverseMultiquadric { c: self.number() },
            6 => Kernel::Precomputed,
            7 => Kernel::Scaled(self.number(), Box::new(self.kernel(depth - 1))),
            8 => Kernel::Sum(self.kernels(depth - 1)),
            _ => Kernel::Product(self.kernels(depth - 1)),
        }
    }

    fn kernels(&mut self, depth: usize) -> Vec<Kernel> {
        let count = self.below(3);
        (0..count).map(|_| self.kernel(depth)).collect()
    }
}

/// Sparse rows of any arrays: refused, or what the arrays say, added up.
pub fn csr(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let single = bytes.byte() % 2 == 0;
    let columns = bytes.integer() as usize;
    let (indices, indptr) = (bytes.integers(), bytes.integers());
    let count = match bytes.byte() {
        255 => bytes.below(24),
        _ => indices.len(),
    };
    let data = bytes.numbers(count);
    let samples = if single {
        let data: Vec<f32> = data.iter().map(|&value| value as f32).collect();
        Samples::csr(data, &indices, &indptr, columns)
    } else {
        Samples::csr(data.clone(), &indices, &indptr, columns)
    };
    let Ok(samples) = samples else {
        return false;
    };
    assert_eq!(samples.rows() + 1, indptr.len());
    assert_eq!(samples.columns(), columns);
    assert!(samples.is_sparse());
    let all: Vec<usize> = (0..samples.rows()).collect();
    assert_eq!(samples.select(&all).expect("memory"), samples);
    if columns <= DENSE_COLUMNS {
        assert_rows(&samples, &data, &indices, &indptr, single);
    }
    true
}

fn assert_rows(samples: &Samples, data: &[f64], indices: &[i64], indptr: &[i64], single: bool) {
    let mut row = vec![0.0; samples.columns()];
    for (i, ends) in indptr.windows(2).enumerate() {
        let mut expected = vec![0.0f64; samples.columns()];
        for at in ends[0] as usize..ends[1] as usize {
            let sum = &mut expected[indices[at] as usize];
            *sum += data[at];
            if single {
                *sum = f64::from((*sum - data[at]) as f32 + data[at] as f32);
            }
        }
        samples.copy_row(i, &mut row);
        assert_eq!(row, expected, "row {i}");
    }
}

/// A kernel of any parameters on any rows: refused, or one value for each pair of rows.
pub fn kernel(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let kernel = bytes.kernel(3);
    let (rows, others, columns) = (bytes.below(6), bytes.below(20), 1 + bytes.below(20));
    let Some(a) = bytes.samples(rows, columns) else {
        return false;
    };
    let Some(b) = bytes.samples(others, columns) else {
        return false;
    };
    match kernel.matrix(&a, &b) {
        Ok(matrix) => {
            assert_eq!(matrix.dim(), (rows, others));
            true
        }
        Err(_) => false,
    }
}

/// Decision functions of any counts and coefficients: refused, or values and classes for all rows.
pub fn expansion(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let kernel = bytes.kernel(1);
    let multiclass = match bytes.below(3) {
        0 => Multiclass::OneVsOne,
        1 => Multiclass::OneVsRest,
        _ => Multiclass::Dag,
    };
    let n_support: Vec<usize> = bytes.integers().iter().map(|&n| n as usize).collect();
    let (height, width) = (bytes.below(5), bytes.below(12));
    let columns = 1 + bytes.below(3);
    let coefficients = bytes.numbers(height * width);
    let coefficients = Array2::from_shape_vec((height, width), coefficients).expect("the shape");
    let machines = bytes.below(7);
    let intercept = bytes.numbers(machines);
    let support = match bytes.byte() % 8 {
        0 => None,
        1 => bytes.samples(width + 1, columns),
        _ => bytes.samples(width, columns),
    };
    let Ok(expansion) = Expansion::with_multiclass(
        kernel,
        support,
        &n_support,
        coefficients.view(),
        &intercept,
        multiclass,
    ) else {
        return false;
    };
    let Some(x) = bytes.samples(3, columns) else {
        return false;
    };
    if let Ok(Some(values)) = expansion.decision(&x, &|| false) {
        assert_eq!(values.dim(), (3, machines));
    }
    if let Ok(Some(classes)) = expansion.predict(&x, &|| false) {
        assert_eq!(classes.len(), 3);
        assert!(classes.iter().all(|&class| class < n_support.len()));
    }
    true
}

/// A programme of any numbers: refused, or a point within the bounds.
pub fn programme(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let n = bytes.below(6);
    let constraint = match bytes.below(4) {
        0 => Constraint::Sum,
        1 => Constraint::TwoSums((0..n).map(|_| bytes.byte() % 2 == 0).collect()),
        2 => Constraint::Penalized,
        _ => Constraint::None,
    };
    let problem = DualProblem {
        linear: bytes.numbers(n),
        absolute: bytes.numbers(n),
        lower: bytes.numbers(n),
        upper: bytes.numbers(n),
        ridge: bytes.numbers(n),
        start: bytes.numbers(n),
        constraint,
    };
    let Some(samples) = bytes.samples(n, n) else {
        return false;
    };
    let Ok(matrix) = KernelMatrix::new(&Kernel::Precomputed, &samples, (0..n).collect()) else {
        return false;
    };
    let limit = Duration::from_millis(50);
    let smo = Smo::new().max_iterations(100).time_limit(limit);
    let adatron = Adatron::new().max_iterations(20).time_limit(limit);
    let solutions = [
        smo.solve(&problem, &matrix, &Unwatched),
        adatron.solve(&problem, &matrix, &Unwatched),
    ];
    let accepted = solutions.iter().any(Result::is_ok);
    for solution in solutions.into_iter().flatten() {
        assert_within(&problem, &solution);
    }
    accepted
}

fn assert_within(problem: &DualProblem, solution: &Solution) {
    assert_eq!(solution.beta.len(), problem.start.len());
    for (i, beta) in solution.beta.iter().enumerate() {
        let (lower, upper) = (problem.lower[i], problem.upper[i]);
        assert!(
            lower <= *beta && *beta <= upper,
            "beta[{i}] = {beta} is outside [{lower}, {upper}]"
        );
    }
}
