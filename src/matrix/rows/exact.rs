//! Rows of a whole matrix in `f64`, each computed when a product first needs it.
//!
//! Every fit of a search confirms its gap in `f64`, with the rows of its support vectors. These are the
//! same for many fits, and where there are many features a row takes longer to compute than to read.

use super::on_demand::OnDemand;
use super::source::{RowSource, Terms};
use crate::error::{Polled, Stop, poll};
use crate::matrix::description::Description;
use crate::matrix::order::Order;
use crate::simd::{Isa, add_multiples};
use std::ops::Range;

/// Rows that are added between two questions whether to go on.
const AT_A_TIME: usize = 64;
/// Columns that are so near are read with all between them: these are in the same cache lines.
const NEAR: usize = 8;
/// Columns in a run, on average, from which runs are read as such.
const FEW: usize = 8;

/// The rows of a part of a whole matrix, of which products read what there is.
pub(super) struct ExactRows<'a> {
    pub exact: &'a OnDemand<f64>,
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
        let mut asked: Vec<(usize, usize)> = (at.iter().enumerate())
            .map(|(place, &i)| (variables[i as usize], place))
            .collect();
        asked.sort_unstable();
        let columns: Vec<usize> = asked.iter().map(|&(column, _)| column).collect();
        let runs = runs_of(&columns, NEAR);
        let scattered = runs.len() * FEW > columns.len();
        let length = match scattered {
            true => columns.len(),
            false => runs.iter().map(Range::len).sum(),
        };
        let mut products = vec![0.0; length];
        let row = |row: &usize| self.exact.row(*row).expect("provided above");
        for (rows, factors) in rows.chunks(AT_A_TIME).zip(factors.chunks(AT_A_TIME)) {
            poll(stop)?;
            let rows: Vec<&[f64]> = rows.iter().map(row).collect();
            match scattered {
                true => add_scattered(&rows, factors, &columns, &mut products),
                false => add_runs(&rows, factors, &runs, &mut products),
            }
        }
        if !scattered {
            pick(&mut products, &runs, &columns);
        }
        let mut answers = vec![0.0; at.len()];
        for (&(_, place), product) in asked.iter().zip(products) {
            answers[place] = product;
        }
        Ok(answers)
    }

    fn reordered(&mut self) {
        self.own.reordered();
    }
}

/// Returns numbers as runs, in which each is followed by one that is at most so much larger.
pub(super) fn runs_of(numbers: &[usize], near: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some(run) if (run.end..run.end + near).contains(&number) => run.end = number + 1,
            _ => runs.push(number..number + 1),
        }
    }
    runs
}

/// Leaves the products of some columns, in order, of those of all columns in runs.
fn pick(products: &mut Vec<f64>, runs: &[Range<usize>], columns: &[usize]) {
    let (mut left, mut run, mut before) = (runs.iter(), 0..0, 0);
    for (i, column) in columns.iter().enumerate() {
        while !run.contains(column) {
            before += run.len();
            run = left.next().expect("every column is in a run").clone();
        }
        products[i] = products[before + (column - run.start)];
    }
    products.truncate(columns.len());
}

/// Adds multiples of rows in runs of columns.
fn add_runs(rows: &[&[f64]], factors: &[f64], runs: &[Range<usize>], products: &mut [f64]) {
    let isa = Isa::detect();
    let mut rest = products;
    for run in runs {
        let (here, after) = rest.split_at_mut(run.len());
        let rows: Vec<&[f64]> = rows.iter().map(|row| &row[run.clone()]).collect();
        add_multiples(isa, factors, &rows, here);
        rest = after;
    }
}

/// Adds multiples of rows in columns here and there, four rows in one pass.
fn add_scattered(rows: &[&[f64]], factors: &[f64], columns: &[usize], products: &mut [f64]) {
    let (four_rows, rest) = rows.as_chunks::<4>();
    let (four_factors, rest_factors) = factors.as_chunks::<4>();
    for ([a, b, c, d], factors) in four_rows.iter().zip(four_factors) {
        for (product, &at) in products.iter_mut().zip(columns) {
            let first = factors[0] * a[at] + factors[1] * b[at];
            *product += first + (factors[2] * c[at] + factors[3] * d[at]);
        }
    }
    for (row, factor) in rest.iter().zip(rest_factors) {
        for (product, &at) in products.iter_mut().zip(columns) {
            *product += factor * row[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_in_runs_and_one_by_one() {
        let row = |at: usize| (0..60).map(|i| ((7 * i + 13 * at) % 11) as f64).collect();
        let rows: Vec<Vec<f64>> = (0..7).map(row).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let factors = [1.0, -2.0, 0.5, 3.0, -1.5, 0.25, 4.0];
        let columns = [0, 1, 2, 9, 10, 30, 31, 33, 59];
        let expected: Vec<f64> = (columns.iter())
            .map(|&at| rows.iter().zip(factors).map(|(row, f)| f * row[at]).sum())
            .collect();
        let mut one_by_one = vec![0.0; columns.len()];
        add_scattered(&rows, &factors, &columns, &mut one_by_one);
        assert_eq!(one_by_one, expected);
        let runs = runs_of(&columns, NEAR);
        assert_eq!(runs, [0..11, 30..34, 59..60]);
        let mut in_runs = vec![0.0; 16];
        add_runs(&rows, &factors, &runs, &mut in_runs);
        pick(&mut in_runs, &runs, &columns);
        assert_eq!(in_runs, expected);
    }
}
