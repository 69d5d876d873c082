//! Rows computed in tiles from columns that are packed in the order of positions.

use super::source::{PRODUCTS, RowSource, Term, Terms};
use crate::error::{Polled, Result, Stop};
use crate::kernel::{Columns, Weights};
use crate::matrix::description::Description;
use crate::matrix::order::Order;
use crate::simd::{Real, memory};
use std::ops::Range;

pub(super) struct Tiled<'a, T> {
    matrix: &'a Description<'a>,
    /// The columns in order, packed when they are first needed.
    columns: Option<Columns<T>>,
}

impl<'a, T: Real> Tiled<'a, T> {
    pub fn new(matrix: &'a Description<'a>) -> Self {
        Tiled {
            matrix,
            columns: None,
        }
    }

    fn columns(&mut self, order: &Order) -> Result<&Columns<T>> {
        let matrix = self.matrix;
        let packed = match self.columns.take() {
            Some(packed) => packed,
            None => {
                let index = matrix.samples_of(order.variables());
                Columns::new(&matrix.kernel, matrix.centred(), &index)?
            }
        };
        Ok(self.columns.insert(packed))
    }
}

impl<T: Real> RowSource<T> for Tiled<'_, T> {
    fn fill(
        &mut self,
        order: &Order,
        variables: &[u32],
        positions: Range<usize>,
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Polled<()> {
        let matrix = self.matrix;
        matrix.count(variables.len() * positions.len());
        let columns = self.columns(order)?;
        let rows = columns.pack_rows(matrix.samples, &matrix.samples_of(variables))?;
        columns.fill(&rows, positions, out, stop)
    }

    fn block(&mut self, variables: &[u32], out: &mut [T], stride: usize, stop: Stop) -> Polled<()> {
        let matrix = self.matrix;
        let index = matrix.samples_of(variables);
        let columns = Columns::<T>::new(&matrix.kernel, matrix.centred(), &index)?;
        let rows = columns.pack_rows(matrix.samples, &index)?;
        let lines = out.chunks_mut(stride).take(index.len());
        let mut lines: Vec<&mut [T]> = lines.map(|line| &mut line[..index.len()]).collect();
        matrix.count(columns.fill_symmetric(&rows, &mut lines, stop)?);
        Ok(())
    }

    fn add(
        &mut self,
        order: &Order,
        terms: &Terms,
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        let missing = |(&variable, &factor)| Term {
            variable,
            factor,
            row: None,
        };
        let terms: Vec<Term<T>> = terms
            .variables
            .iter()
            .zip(&terms.factors)
            .map(missing)
            .collect();
        self.add_beside(order, &terms, start, sums, stop)
    }

    fn add_beside(
        &mut self,
        order: &Order,
        terms: &[Term<T>],
        start: usize,
        sums: &mut [f64],
        stop: Stop,
    ) -> Polled<()> {
        let matrix = self.matrix;
        let missing = terms.iter().filter(|term| term.row.is_none());
        let missing: Vec<u32> = missing.map(|term| term.variable).collect();
        matrix.count(missing.len() * sums.len());
        let columns = self.columns(order)?;
        let rows = columns.pack_rows(matrix.samples, &matrix.samples_of(&missing))?;
        let terms: Vec<_> = terms.iter().map(|term| (term.factor, term.row)).collect();
        columns.add_rows(&rows, &terms, start, sums, stop)
    }

    fn product(&mut self, beta: &[f64], at: &[u32], stop: Stop) -> Polled<Vec<f64>> {
        let matrix = self.matrix;
        let support = Terms::from_iter((0..).zip(beta.iter().copied()).filter(|t| t.1 != 0.0));
        let mut products = vec![0.0; at.len()];
        if support.variables.is_empty() {
            return Ok(products);
        }
        let index = matrix.samples_of(&support.variables);
        let columns = Columns::<T>::new(&matrix.kernel, matrix.centred(), &index)?;
        let weights = Weights::single(&support.factors)?;
        matrix.count(at.len() * index.len());
        let copy = |_, sums: &[f64], out: &mut [f64]| out.copy_from_slice(sums);
        let rows = matrix.samples_of(at);
        columns.sums(matrix.samples, &rows, &weights, &mut products, copy, stop)?;
        Ok(products)
    }

    fn products(&mut self, vectors: &[f64], count: usize, stop: Stop) -> Polled<Vec<f64>> {
        let matrix = self.matrix;
        let mut products = memory::zeros(vectors.len(), PRODUCTS)?;
        let columns = Columns::<T>::new(&matrix.kernel, matrix.centred(), &matrix.index)?;
        let all = std::iter::once(0..columns.len()).collect();
        let weights = Weights::new(vectors, count, all)?;
        matrix.count(columns.len() * columns.len());
        let copy = |_, sums: &[f64], out: &mut [f64]| out.copy_from_slice(sums);
        columns.sums(
            matrix.samples,
            &matrix.index,
            &weights,
            &mut products,
            copy,
            stop,
        )?;
        Ok(products)
    }

    fn reordered(&mut self) {
        self.columns = None;
    }
}
