//! The centred kernel matrix, as what it does to vectors or as a matrix.
//!
//! ```text
//! M = S (1 - e p') K (1 - p e') S        e = (1, ..., 1),  p = weights / their sum,  S = sqrt(weights)
//! ```
//!
//! Its eigenvectors u are those of the weighted covariance in feature space: the unit vector of a
//! component is sum_i a_i phi(x_i) with a = S u / sqrt(lambda), whose sum is zero. Without weights it is
//! the centred matrix of kernel PCA.

use super::dense::transposed;
use crate::error::{Polled, Stop};
use crate::matrix::{KernelMatrix, fair_share};
use crate::simd::{memory, parallel};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Bytes of a kernel matrix that are worth keeping for later passes; with more, computing values
/// again takes hardly longer than reading them.
const MOST_BYTES: usize = 2 << 30;
/// Rows of a matrix a thread multiplies at a time.
const ROWS: usize = 128;
/// What an error calls the matrix.
const MATRIX: &str = "the kernel matrix";

/// What centring and weighting need to know.
#[derive(Debug)]
pub(super) struct Frame {
    /// The share of each row in the mean: they add up to one.
    pub shares: Vec<f64>,
    /// The square root of each weight.
    pub roots: Vec<f64>,
}

impl Frame {
    pub fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        Frame {
            shares: weights.iter().map(|weight| weight / total).collect(),
            roots: weights.iter().map(|weight| weight.sqrt()).collect(),
        }
    }

    /// Applies (1 - p e') S to a vector.
    pub fn enter(&self, vector: &mut [f64]) {
        for (value, root) in vector.iter_mut().zip(&self.roots) {
            *value *= root;
        }
        let sum: f64 = vector.iter().sum();
        for (value, share) in vector.iter_mut().zip(&self.shares) {
            *value -= share * sum;
        }
    }

    /// Applies S (1 - e p') to a vector.
    pub fn leave(&self, vector: &mut [f64]) {
        let mean = self.mean(vector);
        for (value, root) in vector.iter_mut().zip(&self.roots) {
            *value = root * (*value - mean);
        }
    }

    pub fn mean(&self, vector: &[f64]) -> f64 {
        let terms = vector.iter().zip(&self.shares);
        terms.map(|(value, share)| value * share).sum()
    }
}

/// Kernel values for one pass after another: held, if there is room for them, else computed again.
pub(super) struct Passes<'a> {
    matrix: &'a KernelMatrix<'a>,
    held: Option<Vec<f64>>,
}

impl<'a> Passes<'a> {
    /// Computes the kernel values if they fit into so many bytes, by default a fair share of what is free
    /// but not much.
    pub fn new(matrix: &'a KernelMatrix<'a>, bytes: Option<usize>, stop: Stop) -> Polled<Self> {
        let bytes = bytes.unwrap_or_else(|| fair_share().min(MOST_BYTES));
        let values = matrix.len().saturating_mul(matrix.len());
        let fits = values.saturating_mul(size_of::<f64>()) <= bytes;
        // A matrix that is given lies in memory already, and a linear kernel has weight vectors.
        let held = match fits && matrix.is_bounded() && matrix.features().is_none() {
            true => Some(write(matrix, stop)?),
            false => None,
        };
        Ok(Passes { matrix, held })
    }

    /// Tells whether the values are held.
    pub fn are_held(&self) -> bool {
        self.held.is_some()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.matrix.len()
    }

    /// Returns one row of kernel values.
    pub fn row(&self, row: usize, stop: Stop) -> Polled<Vec<f64>> {
        let length = self.len();
        if let Some(held) = &self.held {
            return Ok(held[row * length..(row + 1) * length].to_vec());
        }
        let all: Vec<u32> = (0..length as u32).collect();
        let mut unit = vec![0.0; length];
        unit[row] = 1.0;
        self.matrix.product(&unit, &all, stop)
    }

    /// Returns K times vectors, row after row.
    pub fn multiply(&self, vectors: &[f64], count: usize, stop: Stop) -> Polled<Vec<f64>> {
        let length = self.len();
        let Some(held) = &self.held else {
            return self.matrix.products(vectors, count, stop);
        };
        let mut out = memory::zeros(vectors.len(), "products with a kernel matrix")?;
        let parts = held
            .chunks(ROWS * length)
            .zip(out.chunks_mut(ROWS * count))
            .collect();
        let work = held.len() * count;
        parallel::try_for_each(parts, work, stop, |_: &mut (), (values, out)| {
            let rows = values.len() / length;
            let values = MatRef::from_row_major_slice(values, rows, length);
            let vectors = MatRef::from_column_major_slice(vectors, length, count);
            let out = MatMut::from_row_major_slice_mut(out, rows, count);
            matmul(out, Accum::Replace, values, vectors, 1.0, Par::Seq);
            Ok(())
        })?;
        Ok(out)
    }
}

/// The operator of a kernel matrix.
pub(super) struct Operator<'a> {
    passes: Passes<'a>,
    frame: &'a Frame,
    /// K p, known after the first pass.
    means: Vec<f64>,
}

impl<'a> Operator<'a> {
    pub fn new(passes: Passes<'a>, frame: &'a Frame) -> Self {
        Operator {
            passes,
            frame,
            means: Vec::new(),
        }
    }

    /// Applies the operator to vectors, which stand one after another.
    pub fn apply(&mut self, vectors: &[f64], count: usize, stop: Stop) -> Polled<Vec<f64>> {
        let length = self.passes.len();
        let mut inner = memory::with_capacity(vectors.len() + length, MATRIX)?;
        inner.extend_from_slice(vectors);
        for vector in inner.chunks_mut(length) {
            self.frame.enter(vector);
        }
        // The means cost nothing beside the values of a pass.
        let first = usize::from(self.means.is_empty());
        if first == 1 {
            inner.extend_from_slice(&self.frame.shares);
        }
        let rows = self.passes.multiply(&inner, count + first, stop)?;
        let mut images = transposed(&rows, count + first);
        if first == 1 {
            self.means = images.split_off(vectors.len());
        }
        for image in images.chunks_mut(length) {
            self.frame.leave(image);
        }
        Ok(images)
    }

    /// Returns K p, the mean of the kernel values of each row.
    pub fn into_means(self) -> Vec<f64> {
        self.means
    }
}

/// Returns the operator as a matrix, row after row, and K p.
pub(super) fn centred(
    matrix: &KernelMatrix,
    frame: &Frame,
    stop: Stop,
) -> Polled<(Vec<f64>, Vec<f64>)> {
    let length = matrix.len();
    let mut values = write(matrix, stop)?;
    let means: Vec<f64> = values.chunks(length).map(|row| frame.mean(row)).collect();
    let mean = frame.mean(&means);
    let rows: Vec<_> = values.chunks_mut(length).zip(&means).collect();
    let parts: Vec<_> = rows.into_iter().zip(&frame.roots).collect();
    parallel::try_for_each(
        parts,
        length * length,
        stop,
        |_: &mut (), ((row, own), root)| {
            for ((value, other), factor) in row.iter_mut().zip(&means).zip(&frame.roots) {
                *value = root * factor * (*value - own - other + mean);
            }
            Ok(())
        },
    )?;
    Ok((values, means))
}

/// Returns all kernel values.
pub(super) fn write(matrix: &KernelMatrix, stop: Stop) -> Polled<Vec<f64>> {
    let size = matrix.len().saturating_mul(matrix.len());
    let mut values = memory::zeros(size, MATRIX)?;
    matrix.write(&mut values, stop)?;
    Ok(values)
}
