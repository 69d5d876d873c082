//! Features: the rows of G where K = G G' with few columns.

use super::description::Description;
use super::kernel_matrix::KernelMatrix;
use crate::kernel::{Centred, Explicit};

/// The most columns that are worth a factor: its products with itself take the square.
const MOST_COLUMNS: usize = 2048;

/// A row of numbers for each variable, whose inner products are the kernel values.
pub(crate) struct Features<'a> {
    rows: Centred<'a>,
    /// The sample behind each variable.
    index: &'a [usize],
    map: Explicit,
}

/// What a thread needs to write features.
#[derive(Default)]
pub(crate) struct Scratch {
    row: Vec<f64>,
    terms: Vec<f64>,
}

impl Features<'_> {
    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.map.columns()
    }

    /// Writes the row of a variable.
    pub fn copy(&self, variable: usize, row: &mut [f64], scratch: &mut Scratch) {
        let sample = self.index[variable];
        if let Explicit::Row(_) = self.map {
            self.rows.samples.copy_row(sample, row);
            for (value, origin) in row.iter_mut().zip(self.rows.origin().unwrap_or_default()) {
                *value -= origin;
            }
            return;
        }
        scratch.row.resize(self.rows.samples.columns(), 0.0);
        self.rows.samples.copy_row(sample, &mut scratch.row);
        self.map.write(&scratch.row, row, &mut scratch.terms);
    }
}

impl KernelMatrix<'_> {
    /// Returns explicit features, if the kernel has them and they are few.
    pub(crate) fn features(&self) -> Option<Features<'_>> {
        let description: &Description = self.description();
        let columns = description.samples.columns();
        let map = description.kernel.explicit(columns, MOST_COLUMNS)?;
        let rows = description.centred();
        // Only inner products are those of centred rows; and more features than rows are of no use.
        let plain = matches!(map, Explicit::Row(_));
        let fits = plain || (rows.origin().is_none() && map.columns() <= description.len());
        fits.then_some(Features {
            rows,
            index: &description.index,
            map,
        })
    }
}
