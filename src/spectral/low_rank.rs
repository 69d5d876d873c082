//! A kernel matrix of low rank, by pivoted Cholesky factors.
//!
//! ```text
//! K ~ L L',   L = K_P G'^-1,   G G' = K_PP        P: the landmarks, L_P = G
//! ```
//!
//! The next landmark is the row that those before explain least, which is the largest entry left on the diagonal
//! of K - L L'. Its features are L, so a row z has G^-1 k(P, z): Nystrom's approximation on these
//! landmarks (Fine and Scheinberg, Efficient SVM training using low-rank kernel representations, 2001).

use crate::error::{Polled, Stop};
use crate::matrix::KernelMatrix;
use crate::simd::{Isa, add_multiple, memory, parallel};

/// What an error calls the factor.
const FACTOR: &str = "the low-rank factor of the kernel matrix";
/// Rows left on the diagonal, as a share of its largest entry, that are rounding.
const ROUNDING: f64 = 1e-12;
/// Rows of a column a thread computes at a time.
const ROWS: usize = 4096;

/// The factor and its landmarks.
pub(super) struct LowRank {
    /// The rows that stand for all, in the order they were chosen.
    pub landmarks: Vec<usize>,
    /// The columns of L, one after another.
    pub columns: Vec<f64>,
    /// The number of rows.
    pub length: usize,
}

impl LowRank {
    /// Chooses up to `count` landmarks, fewer if these explain all rows.
    ///
    /// # Errors
    /// If there is no memory for the factor, a value cannot be computed, or if halted.
    pub fn new(matrix: &KernelMatrix, count: usize, stop: Stop) -> Polled<Self> {
        let length = matrix.len();
        let count = count.min(length);
        let mut left = matrix.diagonal().to_vec();
        let size = length.saturating_mul(count);
        let mut found = LowRank {
            landmarks: Vec::with_capacity(count),
            columns: memory::with_capacity(size, FACTOR)?,
            length,
        };
        let all: Vec<u32> = (0..length as u32).collect();
        let mut unit = vec![0.0; length];
        let least = ROUNDING * left.iter().copied().fold(0.0, f64::max);
        while found.landmarks.len() < count {
            let (row, most) = largest(&left);
            if most <= least || most.is_nan() {
                break;
            }
            unit[row] = 1.0;
            let mut column = matrix.product(&unit, &all, stop)?;
            unit[row] = 0.0;
            found.subtract(row, &mut column, stop)?;
            let root = most.sqrt();
            for (value, left) in column.iter_mut().zip(&mut left) {
                *value /= root;
                *left -= *value * *value;
            }
            // Exactly, so that no row is chosen twice.
            left[row] = 0.0;
            found.columns.extend_from_slice(&column);
            found.landmarks.push(row);
        }
        Ok(found)
    }

    /// Takes from the kernel values with a row what the landmarks before explain.
    fn subtract(&self, row: usize, column: &mut [f64], stop: Stop) -> Polled<()> {
        let isa = Isa::detect();
        let factors: Vec<f64> = self.columns[row.min(self.columns.len())..]
            .iter()
            .step_by(self.length)
            .copied()
            .collect();
        let parts: Vec<_> = column.chunks_mut(ROWS).enumerate().collect();
        let work = self.length * factors.len();
        parallel::try_for_each(parts, work, stop, |_: &mut (), (at, part)| {
            for (factor, known) in factors.iter().zip(self.columns.chunks(self.length)) {
                let known = &known[at * ROWS..at * ROWS + part.len()];
                add_multiple(isa, -factor, known, part);
            }
            Ok(())
        })
    }

    /// Returns the number of landmarks.
    pub fn rank(&self) -> usize {
        self.landmarks.len()
    }

    /// Makes coefficients of the landmarks of a vector in the space of features: G'^-1 v, in place.
    pub fn to_landmarks(&self, vector: &mut [f64]) {
        for last in (0..self.rank()).rev() {
            let below = (last + 1..self.rank()).map(|row| self.entry(row, last) * vector[row]);
            let rest = vector[last] - below.sum::<f64>();
            vector[last] = rest / self.entry(last, last);
        }
    }

    /// Returns an entry of G.
    fn entry(&self, row: usize, column: usize) -> f64 {
        self.columns[column * self.length + self.landmarks[row]]
    }
}

fn largest(values: &[f64]) -> (usize, f64) {
    let mut best = (0, f64::NEG_INFINITY);
    for (row, &value) in values.iter().enumerate() {
        if value > best.1 {
            best = (row, value);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kernel, Samples};
    use ndarray::Array2;

    fn rows(count: usize) -> Samples {
        let values = Array2::from_shape_fn((count, 2), |(i, j)| ((3 * i + 7 * j) as f64).sin());
        values.view().try_into().expect("finite")
    }

    #[test]
    fn all_landmarks_give_the_matrix() {
        let (samples, kernel) = (rows(12), Kernel::laplacian(1.0));
        let matrix = KernelMatrix::new(&kernel, &samples, (0..12).collect()).expect("a matrix");
        let found = LowRank::new(&matrix, 100, &|| false).unwrap_or_else(|_| panic!("not stopped"));
        assert_eq!(found.rank(), 12);
        let values = kernel.matrix(&samples, &samples).expect("values");
        for ((i, j), value) in values.indexed_iter() {
            let terms = found.columns.chunks(12).map(|column| column[i] * column[j]);
            assert!((terms.sum::<f64>() - value).abs() < 1e-12);
        }
    }

    #[test]
    fn a_matrix_of_low_rank_needs_no_more_landmarks_than_that() {
        let (samples, kernel) = (rows(40), Kernel::linear());
        let matrix = KernelMatrix::new(&kernel, &samples, (0..40).collect()).expect("a matrix");
        let found = LowRank::new(&matrix, 10, &|| false).unwrap_or_else(|_| panic!("not stopped"));
        assert_eq!(found.rank(), 2);
        // A function of the features is one of the kernel with the landmarks.
        let mut vector = vec![0.3, -2.0];
        let expected: Vec<f64> = (0..40)
            .map(|row| 0.3 * found.columns[row] - 2.0 * found.columns[40 + row])
            .collect();
        found.to_landmarks(&mut vector);
        let values = kernel.matrix(&samples, &samples).expect("values");
        for (row, expected) in expected.iter().enumerate() {
            let terms = vector.iter().zip(&found.landmarks);
            let value: f64 = terms
                .map(|(entry, &other)| entry * values[[row, other]])
                .sum();
            assert!((value - expected).abs() < 1e-12);
        }
    }
}
