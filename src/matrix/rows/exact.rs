//! Rows of a whole matrix in `f64`, each computed when a product first needs it.
//!
//! Every fit of a search confirms its gap in `f64`, with the rows of its support vectors. These are the
//! same for many fits, and where there are many features a row takes longer to compute than to read.

use super::source::{RowSource, Terms};
use crate::error::{Polled, Stop, poll};
use crate::kernel::Columns;
use crate::matrix::description::Description;
use crate::matrix::order::Order;
use crate::simd::memory;
use std::ops::Range;
use std::sync::OnceLock;

/// What an error calls the rows.
const ROWS: &str = "rows of the kernel matrix";
/// Rows that are added between two questions whether to go on.
const AT_A_TIME: usize = 64;

/// Rows that many problems have in common.
#[derive(Debug)]
pub(super) struct Exact {
    columns: OnceLock<Columns<f64>>,
    rows: Vec<OnceLock<Vec<f64>>>,
}

impl Exact {
    pub fn new(size: usize) -> Self {
        Exact {
            columns: OnceLock::new(),
            rows: (0..size).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Computes those of the rows of variables that are missing.
    fn provide(&self, all: &Description, variables: &[usize], stop: Stop) -> Polled<()> {
        let is_missing = |&row: &usize| self.rows[row].get().is_none();
        let mut missing: Vec<usize> = variables.iter().copied().filter(is_missing).collect();
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
            made.push(memory::zeros::<f64>(all.len(), ROWS)?);
        }
        let mut lines: Vec<&mut [f64]> = made.iter_mut().map(Vec::as_mut_slice).collect();
        columns.fill(&packed, 0..all.len(), &mut lines, stop)?;
        all.count(missing.len() * all.len());
        for (row, values) in missing.into_iter().zip(made) {
            let _ = self.rows[row].set(values);
        }
        Ok(())
    }
}

/// The rows of a part of a whole matrix, of which products read what there is.
pub(super) struct ExactRows<'a> {
    pub exact: &'a Exact,
    /// What the whole matrix is made of.
    pub all: &'a Description<'a>,
    /// The numbers of the part's variables in it.
    pub variables: &'a [usize],
    /// What rows would come from if there were no whole matrix.
    pub own: Box<dyn RowSource<f64> + 'a>,
}

impl RowSource<f64> for ExactRows<'_> {
    fn fill(
        &mut self,
        order: &Order,
        variables: &[u32],
        positions: Range<usize>,
        out: &mut [&mut [f64]],
        stop: Stop,
    ) -> Polled<()> {
        self.own.fill(order, variables, positions, out, stop)
    }

    fn block(
        &mut self,
        variables: &[u32],
        out: &mut [f64],
        stride: usize,
        stop: Stop,
    ) -> Polled<()> {
        self.own.block(variables, out, stride, stop)
    }

    fn add(
        &mut self,
        order: &Order,
        terms: &Terms,
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        self.own.add(order, terms, start, sums, stop)
    }

    fn product(&mut self, beta: &[f64], at: &[u32], stop: Stop) -> Polled<Vec<f64>> {
        let variables = self.variables;
        let support = variables.iter().zip(beta).filter(|(_, beta)| **beta != 0.0);
        let (rows, factors): (Vec<usize>, Vec<f64>) = support.unzip();
        self.exact.provide(self.all, &rows, stop)?;
        let columns: Vec<usize> = at.iter().map(|&i| variables[i as usize]).collect();
        let mut products = vec![0.0; at.len()];
        for (rows, factors) in rows.chunks(AT_A_TIME).zip(factors.chunks(AT_A_TIME)) {
            poll(stop)?;
            for (&row, factor) in rows.iter().zip(factors) {
                let row = self.exact.rows[row].get().expect("provided above");
                for (product, &column) in products.iter_mut().zip(&columns) {
                    *product += factor * row[column];
                }
            }
        }
        Ok(products)
    }

    fn reordered(&mut self) {
        self.own.reordered();
    }
}
