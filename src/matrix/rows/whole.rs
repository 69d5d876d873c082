//! The whole matrix, computed once for many problems over parts of the same samples.
//!
//! A grid search asks for the same rows again and again: for every cost, fold and pair of classes.
//! So all values are computed once and kept in `f32`; of large matrices those of the rows that are
//! needed. Where that is cheap they are computed in `f64` and rounded: the bounds of their errors are so
//! much narrower that little has to be computed again to confirm a gap. A problem over all samples reads
//! them where they lie; one over some of them copies the entries it needs, which lie together where the
//! samples are in a good order. Values in `f64`, which only products need, are computed as for any other
//! matrix, or kept as well where they are costly (see `exact`).

use super::exact::{ExactRows, runs_of};
use super::on_demand::OnDemand;
use super::source::{RowSource, Terms, add_row_by_row};
use crate::data::Samples;
use crate::error::{Polled, Stop};
use crate::kernel::{Columns, Kernel};
use crate::matrix::cache::RowCache;
use crate::matrix::description::Description;
use crate::matrix::order::Order;
use crate::simd::pieces::{Piece, Pieces};
use std::ops::Range;
use std::sync::Arc;

/// Multiplications behind a kernel value from which it is cheaper to pick the values of a block from
/// its rows, a cache line each, than to compute them; and from which it is cheaper to mirror half of a
/// matrix, line by line, than to compute all of it.
const COSTLY: usize = 48;

/// Bytes of a matrix from which rows are computed when they are first needed. Problems with so many
/// variables have few support vectors among them, and memory for rows that nobody reads costs more than
/// the symmetric half of the others.
const LARGE: usize = 1 << 26;

/// Bytes of a value: in `f32`, in `f64`, and in the matrices of all pairs of classes, which hold each value
/// about twice.
pub(crate) const BYTES_WITH_PAIRS: usize = 4 + 8 + 8;

/// Why a row is there.
const PROVIDED: &str = "the row has been provided";

/// Rows of a whole matrix.
#[derive(Debug)]
enum Rows {
    All(RowCache<f32>),
    OnDemand(OnDemand<f32>),
}

/// All kernel values of some samples, for kernels evaluated in tiles.
#[derive(Debug)]
pub(crate) struct Whole<'a> {
    all: Description<'a>,
    rows: Rows,
    costly: bool,
    /// Rows in `f64`, where they are worth their memory and there is enough of it.
    exact: Option<OnDemand<f64>>,
    /// Whether parts are to be gathered.
    pub gathers: bool,
    /// Where the memory of parts comes from.
    pieces: Pieces,
}

impl<'a> Whole<'a> {
    /// Computes the matrix of rows `index` of `samples`; None if `f32` is of no use for it, if the kernel
    /// is not evaluated in tiles, or if it takes more than so many bytes. `gathers` tells that problems
    /// over few of the variables will be many.
    pub fn new(
        kernel: &Kernel,
        samples: &'a Samples,
        index: Vec<usize>,
        (bytes, gathers): (usize, bool),
        stop: Stop,
    ) -> Polled<Option<Self>> {
        let size = index.len();
        let fits = |each: usize| size.saturating_mul(size + 16).saturating_mul(each) <= bytes;
        if !kernel.is_tiled() || kernel.may_be_indefinite() || !fits(4) {
            return Ok(None);
        }
        let mut all = Description::new(kernel, samples, index)?;
        if all.profile.single_noise.is_infinite() {
            return Ok(None);
        }
        let costly = samples.work_of_matrix(size) / (size * size).max(1) > COSTLY;
        let on_demand = !gathers && size * size * 4 > LARGE;
        if on_demand || !costly {
            all.profile = all.profile.rounded();
        }
        let rows = match on_demand {
            true => Rows::OnDemand(OnDemand::new(size)),
            false => match all_rows(&all, costly, stop)? {
                Some(rows) => Rows::All(rows),
                None => return Ok(None), // the system refused some of the memory
            },
        };
        let gathers = gathers && fits(BYTES_WITH_PAIRS);
        let exact = (gathers || costly && fits(4 + 8)).then(|| OnDemand::new(size));
        Ok(Some(Whole {
            all,
            rows,
            costly,
            exact,
            gathers,
            pieces: Pieces::default(),
        }))
    }

    /// Describes the matrix of some of the variables.
    pub(in crate::matrix) fn describe(
        &'a self,
        variables: &[usize],
    ) -> (Description<'a>, Part<'a>) {
        let complete = variables.len() == self.all.len() && variables.iter().is_sorted();
        let part = Part {
            whole: self,
            variables: variables.to_vec(),
            runs: runs_of(variables, 1),
            complete,
            gathered: None,
        };
        (self.all.part(variables), part)
    }

    /// Copies the rows of some of the variables.
    pub fn gather(&self, variables: &[usize]) -> crate::error::Result<Gathered> {
        let size = variables.len();
        let mut values = (self.pieces).take::<f32>(size * size, "the kernel matrix of a pair")?;
        let runs = runs_of(variables, 1);
        let lines = values.values_mut().chunks_mut(size.max(1));
        for (line, &variable) in lines.zip(variables) {
            copy_runs(self.row(variable).expect(PROVIDED), &runs, line);
        }
        Ok(Gathered { values, size })
    }

    /// Returns how many kernel values have been computed.
    pub fn evaluations(&self) -> u64 {
        self.all.evaluations()
    }

    /// Computes those of the rows of variables that are missing.
    fn provide(&self, variables: &[usize], stop: Stop) -> Polled<()> {
        match &self.rows {
            Rows::All(_) => Ok(()),
            Rows::OnDemand(rows) => rows.provide(&self.all, variables, stop),
        }
    }

    /// Returns a row, if it has been computed.
    fn row(&self, variable: usize) -> Option<&[f32]> {
        match &self.rows {
            Rows::All(rows) => Some(rows.row(variable as u32)),
            Rows::OnDemand(rows) => rows.row(variable),
        }
    }

    fn is_complete(&self) -> bool {
        matches!(self.rows, Rows::All(_))
    }
}

/// Computes all rows; None if the system refused some of the memory.
fn all_rows(all: &Description, costly: bool, stop: Stop) -> Polled<Option<RowCache<f32>>> {
    let size = all.len();
    let mut rows = RowCache::<f32>::new(size, size, usize::MAX)?;
    let slots = (0..size as u32).map(|row| rows.insert(row));
    let slots = slots.collect::<crate::error::Result<Vec<u32>>>()?;
    if rows.len() < size {
        return Ok(None);
    }
    let computed = rows.try_fill(&slots, size, |lines| match costly {
        true => {
            let columns = Columns::<f32>::new(&all.kernel, all.centred(), &all.index)?;
            let packed = columns.pack_rows(all.samples, &all.index)?;
            columns.fill_symmetric(&packed, lines, stop)
        }
        false => {
            let columns = Columns::<f64>::new(&all.kernel, all.centred(), &all.index)?;
            let packed = columns.pack_rows(all.samples, &all.index)?;
            let filled = columns.fill_rounded(&packed, 0..size, lines, stop);
            filled.map(|()| size * size)
        }
    })?;
    all.count(computed);
    Ok(Some(rows))
}

/// Copies runs of entries, one after another.
fn copy_runs(row: &[f32], runs: &[Range<usize>], mut out: &mut [f32]) {
    for run in runs {
        let (here, after) = out.split_at_mut(run.len());
        here.copy_from_slice(&row[run.clone()]);
        out = after;
    }
}

/// The matrix of some of the variables, copied so that its rows are read where they lie.
#[derive(Debug)]
pub(crate) struct Gathered {
    values: Piece<f32>,
    size: usize,
}

impl Gathered {
    fn row(&self, variable: u32) -> &[f32] {
        &self.values.values()[variable as usize * self.size..][..self.size]
    }
}

/// Some of the variables of a whole matrix.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    whole: &'a Whole<'a>,
    variables: Vec<usize>,
    /// The same, as runs of neighbours.
    runs: Vec<Range<usize>>,
    /// Whether these are all of them, in order.
    complete: bool,
    gathered: Option<Arc<Gathered>>,
}

impl<'a> Part<'a> {
    /// Returns the same with rows that have been gathered.
    pub(in crate::matrix) fn with(mut self, gathered: Option<Arc<Gathered>>) -> Self {
        self.gathered = gathered;
        self
    }

    /// Returns the row of a variable where it lies, if it does.
    fn lend(&self, variable: u32) -> Option<&[f32]> {
        match &self.gathered {
            Some(gathered) => Some(gathered.row(variable)),
            None if self.complete => self.whole.row(variable as usize),
            None => None,
        }
    }

    /// Returns its rows in `f64`; `own` is what they would come from if there were no whole matrix.
    pub(super) fn exact_rows<'b>(
        &'b self,
        own: Box<dyn RowSource<f64> + 'b>,
    ) -> Box<dyn RowSource<f64> + 'b> {
        match &self.whole.exact {
            Some(exact) => Box::new(ExactRows {
                exact,
                all: &self.whole.all,
                variables: &self.variables,
                own,
            }),
            None => own,
        }
    }
}

/// The rows of a part.
pub(super) struct PartRows<'a> {
    part: &'a Part<'a>,
    own: Box<dyn RowSource<f32> + 'a>,
}

impl<'a> PartRows<'a> {
    /// `own` is what the rows would come from if there were no whole matrix.
    pub fn new(part: &'a Part<'a>, own: Box<dyn RowSource<f32> + 'a>) -> Self {
        PartRows { part, own }
    }
}

impl RowSource<f32> for PartRows<'_> {
    fn fill(
        &mut self,
        order: &Order,
        variables: &[u32],
        positions: Range<usize>,
        out: &mut [&mut [f32]],
        stop: Stop,
    ) -> Polled<()> {
        let part = self.part;
        self.provide(variables, stop)?;
        for (&variable, out) in variables.iter().zip(out) {
            if let Some(row) = part.lend(variable) {
                let columns = &order.variables()[positions.clone()];
                let entries = out.iter_mut().zip(columns);
                entries.for_each(|(entry, &column)| *entry = row[column as usize]);
                continue;
            }
            let row = part.whole.row(part.variables[variable as usize]);
            let row = row.expect(PROVIDED);
            if order.is_natural() && positions == (0..order.len()) {
                copy_runs(row, &part.runs, out);
                continue;
            }
            for (entry, &column) in out.iter_mut().zip(&order.variables()[positions.clone()]) {
                *entry = row[part.variables[column as usize]];
            }
        }
        Ok(())
    }

    fn block(
        &mut self,
        variables: &[u32],
        out: &mut [f32],
        stride: usize,
        stop: Stop,
    ) -> Polled<()> {
        let Part { whole, .. } = self.part;
        if let Some(gathered) = &self.part.gathered {
            for (out, &row) in out.chunks_mut(stride).zip(variables) {
                let row = gathered.row(row);
                for (entry, &column) in out.iter_mut().zip(variables) {
                    *entry = row[column as usize];
                }
            }
            return Ok(());
        }
        if !whole.costly || !whole.is_complete() {
            return self.own.block(variables, out, stride, stop);
        }
        let index: Vec<usize> = (variables.iter())
            .map(|&variable| self.part.variables[variable as usize])
            .collect();
        for (out, &row) in out.chunks_mut(stride).zip(&index) {
            let row = whole.row(row).expect(PROVIDED);
            for (entry, &column) in out.iter_mut().zip(&index) {
                *entry = row[column];
            }
        }
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
        // Values computed anew would not be those of the rows.
        add_row_by_row(self, order, terms, start, sums, stop)
    }

    fn product(&mut self, beta: &[f64], at: &[u32], stop: Stop) -> Polled<Vec<f64>> {
        self.own.product(beta, at, stop)
    }

    fn reordered(&mut self) {
        self.own.reordered();
    }

    fn is_precious(&self) -> bool {
        true
    }

    fn lends(&self) -> bool {
        self.part.complete || self.part.gathered.is_some()
    }

    fn provide(&mut self, variables: &[u32], stop: Stop) -> Polled<()> {
        let Part { whole, .. } = self.part;
        if self.part.gathered.is_some() || whole.is_complete() {
            return Ok(());
        }
        let index = variables.iter().map(|&i| self.part.variables[i as usize]);
        whole.provide(&index.collect::<Vec<usize>>(), stop)
    }

    fn lend(&self, variable: u32) -> Option<&[f32]> {
        self.part.lend(variable)
    }
}
