//! HeldRows: rows of a matrix in f64, computed once and read by all threads.

use super::kernel_matrix::KernelMatrix;
use super::order::Order;
use crate::error::{Polled, Stop};
use crate::simd::memory;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows of a matrix that many threads read at once. Each is computed when it is first wanted, and
/// then stays.
pub(crate) struct HeldRows<'a> {
    matrix: &'a KernelMatrix<'a>,
    rows: Vec<OnceLock<Vec<f64>>>,
    /// How many more rows there is room for.
    room: AtomicUsize,
}

impl<'a> HeldRows<'a> {
    /// Begins with none, and room for so many bytes.
    pub fn new(matrix: &'a KernelMatrix<'a>, bytes: usize) -> Self {
        let n = matrix.len();
        HeldRows {
            matrix,
            rows: (0..n).map(|_| OnceLock::new()).collect(),
            room: AtomicUsize::new(bytes / (8 * n.max(1))),
        }
    }

    pub fn matrix(&self) -> &'a KernelMatrix<'a> {
        self.matrix
    }

    /// Computes the rows of some variables that are not held yet. Returns false if there is no room
    /// for them.
    pub fn hold(&self, variables: impl Iterator<Item = usize>, stop: Stop) -> Polled<bool> {
        let missing = variables.filter(|&variable| self.rows[variable].get().is_none());
        let missing: Vec<u32> = missing.map(|variable| variable as u32).collect();
        if missing.is_empty() {
            return Ok(true);
        }
        let take = |room: usize| room.checked_sub(missing.len());
        let order = Ordering::Relaxed;
        if self.room.fetch_update(order, order, take).is_err() {
            return Ok(false);
        }
        let n = self.matrix.len();
        let new = |_: &u32| memory::zeros::<f64>(n, "rows of the kernel matrix");
        let mut rows = missing
            .iter()
            .map(new)
            .collect::<crate::error::Result<Vec<_>>>()?;
        let mut out: Vec<&mut [f64]> = rows.iter_mut().map(Vec::as_mut_slice).collect();
        let order = Order::natural(n);
        let mut source = self.matrix.source::<f64>();
        source.fill(&order, &missing, 0..n, &mut out, stop)?;
        for (variable, row) in missing.into_iter().zip(rows) {
            // If another thread was faster, its row is the same.
            let _ = self.rows[variable as usize].set(row);
        }
        Ok(true)
    }

    /// Returns the row of a variable that is held.
    ///
    /// # Panics
    /// If it is not.
    pub fn row(&self, variable: usize) -> &[f64] {
        self.rows[variable].get().expect("a row that is held")
    }
}
