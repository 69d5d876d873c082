//! Rows of a matrix, each computed when it is first needed, and kept for all that follow.

use crate::error::{Polled, Stop};
use crate::kernel::{Columns, Groups};
use crate::matrix::description::Description;
use crate::simd::pieces::{Piece, Pieces};
use crate::simd::process::locked;
use crate::simd::{Real, threads};
use std::sync::{Mutex, OnceLock};

/// What an error calls the rows.
const ROWS: &str = "rows of the kernel matrix";

/// The precisions that rows are kept in.
pub(super) trait Kept: Real {
    /// Writes rows of values that are computed in `f64`.
    fn fill(
        columns: &Columns<f64>,
        rows: &Groups<f64>,
        out: &mut [&mut [Self]],
        stop: Stop,
    ) -> Polled<()>;
}

impl Kept for f32 {
    fn fill(
        columns: &Columns<f64>,
        rows: &Groups<f64>,
        out: &mut [&mut [f32]],
        stop: Stop,
    ) -> Polled<()> {
        columns.fill_rounded(rows, 0..columns.len(), out, stop)
    }
}

impl Kept for f64 {
    fn fill(
        columns: &Columns<f64>,
        rows: &Groups<f64>,
        out: &mut [&mut [f64]],
        stop: Stop,
    ) -> Polled<()> {
        columns.fill(rows, 0..columns.len(), out, stop)
    }
}

/// Rows that many problems have in common, in precision T, computed in `f64`.
#[derive(Debug)]
pub(super) struct OnDemand<T> {
    columns: OnceLock<Columns<f64>>,
    rows: Vec<OnceLock<Piece<T>>>,
    pieces: Pieces,
    /// Held by the thread that computes rows.
    turn: Mutex<()>,
}

impl<T: Kept> OnDemand<T> {
    pub fn new(size: usize) -> Self {
        OnDemand {
            columns: OnceLock::new(),
            rows: (0..size).map(|_| OnceLock::new()).collect(),
            pieces: Pieces::default(),
            turn: Mutex::default(),
        }
    }

    /// Returns a row that has been provided.
    pub fn row(&self, row: usize) -> Option<&[T]> {
        self.rows[row].get().map(Piece::values)
    }

    /// Computes those of the rows of variables that are missing.
    pub fn provide(&self, all: &Description, variables: &[usize], stop: Stop) -> Polled<()> {
        let is_missing = |row: &usize| self.rows[*row].get().is_none();
        let mut missing: Vec<usize> = variables.iter().copied().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        // Folds that are fitted side by side need much the same rows: one waits for the other's. It must
        // not be given other work meanwhile, which might wait for itself.
        let _turn = (threads::width() == 1).then(|| locked(&self.turn));
        missing.retain(is_missing);
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        if self.columns.get().is_none() {
            // Several threads may come here at once: one of them is taken, they are all the same.
            let _ = (self.columns).set(Columns::new(&all.kernel, all.centred(), &all.index)?);
        }
        let columns = self.columns.get().expect("set above");
        let samples: Vec<usize> = missing.iter().map(|&row| all.index[row]).collect();
        let packed = columns.pack_rows(all.samples, &samples)?;
        let mut made = Vec::with_capacity(missing.len());
        for _ in &missing {
            made.push(self.pieces.take::<T>(all.len(), ROWS)?);
        }
        let mut lines: Vec<&mut [T]> = made.iter_mut().map(Piece::values_mut).collect();
        T::fill(columns, &packed, &mut lines, stop)?;
        all.count(missing.len() * all.len());
        for (row, values) in missing.into_iter().zip(made) {
            let _ = self.rows[row].set(values);
        }
        Ok(())
    }
}
