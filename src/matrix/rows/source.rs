//! What a source of rows does.

use crate::error::{Polled, Stop};
use crate::matrix::order::Order;
use crate::simd::{Isa, Real, add_multiples, memory, parallel};
use std::ops::Range;

/// What an error calls the products of a matrix with several vectors.
pub(super) const PRODUCTS: &str = "products with a kernel matrix";
/// Columns of the gradient a thread updates at a time.
const UPDATE_COLUMNS: usize = 4096;
/// Multiplications that take as long as adding one value of a row to the gradient.
const WORK_PER_UPDATE: usize = 2;

/// Rows of a kernel matrix in precision T, computed on demand.
///
/// Rows are named by variable, their entries by position in an [`Order`]. Whatever is stopped
/// leaves its output incomplete. Another thread may go on with them.
pub(crate) trait RowSource<T>: Send {
    /// Writes the entries at `positions` of the rows of variables; `positions.start` is a multiple
    /// of [`PANEL`](crate::kernel::PANEL).
    fn fill(
        &mut self,
        order: &Order,
        variables: &[u32],
        positions: Range<usize>,
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<()>;

    /// Writes the small matrix of variables with each other into rows `stride` apart.
    fn block(&mut self, variables: &[u32], out: &mut [T], stride: usize, stop: Stop) -> Polled<()>;

    /// Adds multiples of rows to `sums`, which belong to the positions from `start` on, without
    /// keeping the rows.
    fn add(
        &mut self,
        order: &Order,
        terms: &Terms,
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()>;

    /// Adds multiples of rows of which some are held: these first, unless [`is_repeatable`] promises
    /// more.
    ///
    /// [`is_repeatable`]: Self::is_repeatable
    fn add_beside(
        &mut self,
        order: &Order,
        terms: &[Term<T>],
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()>
    where
        T: Real,
    {
        let (mut factors, mut rows, mut missing) = (Vec::new(), Vec::new(), Terms::default());
        for term in terms {
            match term.row {
                Some(row) => {
                    factors.push(term.factor);
                    rows.push(row);
                }
                None => missing.push(term.variable, term.factor),
            }
        }
        add_in_parallel(&factors, &rows, sums);
        self.add(order, &missing, start, sums, stop)
    }

    /// Returns (K beta)_i for the variables `at`, added up in f64.
    fn product(&mut self, beta: &[f64], at: &[u32], stop: Stop) -> Polled<Vec<f64>>;

    /// Returns K times several vectors, which stand one after another: for each variable one sum with
    /// each vector, added up in f64. Whoever can computes a kernel value once for all of them.
    fn products(&mut self, vectors: &[f64], count: usize, stop: Stop) -> Polled<Vec<f64>> {
        let length = vectors.len() / count.max(1);
        let all: Vec<u32> = (0..length as u32).collect();
        let mut products = memory::zeros(vectors.len(), PRODUCTS)?;
        for (number, vector) in vectors.chunks(length.max(1)).enumerate() {
            let column = self.product(vector, &all, stop)?;
            for (row, value) in products.chunks_mut(count).zip(column) {
                row[number] = value;
            }
        }
        Ok(products)
    }

    /// Told when positions have changed.
    fn reordered(&mut self) {}

    /// Tells whether a row that was computed should be kept whatever becomes of its variable.
    fn is_precious(&self) -> bool {
        false
    }

    /// Tells whether rows are read from memory, so that a row alone costs no more than one of many.
    fn is_stored(&self) -> bool {
        false
    }

    /// Tells whether whole rows lie in memory, in the natural order, once they are provided.
    fn lends(&self) -> bool {
        false
    }

    /// Sees to it that the rows of variables can be lent, if any can.
    fn provide(&mut self, _variables: &[u32], _stop: Stop) -> Polled<()> {
        Ok(())
    }

    /// Returns the row of a variable in the natural order, if it lies in memory.
    fn lend(&self, _variable: u32) -> Option<&[T]> {
        None
    }

    /// Tells whether its rows serve other matrices too, as long as the order is natural.
    fn is_shared(&self) -> bool {
        false
    }

    /// Tells whether a value is the same whenever it is computed, by whatever way, and rows are added
    /// in the order of the terms: sums do not depend then on which rows are held.
    fn is_repeatable(&self) -> bool {
        true
    }

    /// Tells whether [`add`](Self::add) is better than adding up rows of which so many are missing
    /// and so many are held.
    fn prefers_add(&self, _missing: usize, _held: usize) -> bool {
        false
    }
}

/// A multiple of the row of a variable. If the row is held, here are its entries that are wanted.
pub(crate) struct Term<'r, T> {
    pub variable: u32,
    pub factor: f64,
    pub row: Option<&'r [T]>,
}

/// Variables and the multiples of their rows.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    pub variables: Vec<u32>,
    pub factors: Vec<f64>,
}

impl Terms {
    fn push(&mut self, variable: u32, factor: f64) {
        self.variables.push(variable);
        self.factors.push(factor);
    }
}

impl FromIterator<(u32, f64)> for Terms {
    fn from_iter<I: IntoIterator<Item = (u32, f64)>>(terms: I) -> Self {
        let (variables, factors) = terms.into_iter().unzip();
        Terms { variables, factors }
    }
}

/// Adds multiples of rows for a source that has no better way than computing the rows.
pub(super) fn add_row_by_row<T: Real>(
    source: &mut dyn RowSource<T>,
    order: &Order,
    terms: &Terms,
    start: usize,
    sums: &mut [f64],
    stop: Stop,
) -> Polled<()> {
    let end = start + sums.len();
    let mut row = vec![T::ZERO; end];
    for (&variable, &factor) in terms.variables.iter().zip(&terms.factors) {
        source.fill(order, &[variable], 0..end, &mut [&mut row], stop)?;
        add_multiples(Isa::detect(), &[factor], &[&row[start..]], sums);
    }
    Ok(())
}

/// Adds multiples of rows to the gradient, in parallel over columns.
pub(crate) fn add_in_parallel<T: Real>(factors: &[f64], rows: &[&[T]], gradient: &mut [f64]) {
    let isa = Isa::detect();
    let work = factors.len() * gradient.len() * WORK_PER_UPDATE;
    let parts: Vec<_> = gradient.chunks_mut(UPDATE_COLUMNS).enumerate().collect();
    parallel::for_each(parts, work, |_: &mut (), (chunk, gradient)| {
        let start = chunk * UPDATE_COLUMNS;
        let rows: Vec<&[T]> = rows
            .iter()
            .map(|row| &row[start..start + gradient.len()])
            .collect();
        add_multiples(isa, factors, &rows, gradient);
    });
}
