//! Features: the rows of G where K = G G' with few columns.

use super::description::Description;
use super::kernel_matrix::KernelMatrix;
use crate::kernel::Centred;

/// The most columns that are worth a factor: its products with itself take the square.
const MOST_COLUMNS: usize = 2048;

/// A row of numbers for each variable, whose inner products are the kernel values.
pub(crate) struct Features<'a> {
    rows: Centred<'a>,
    /// The sample behind each variable.
    index: &'a [usize],
}

impl Features<'_> {
    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.rows.samples.columns()
    }

    /// Writes the row of a variable.
    pub fn copy(&self, variable: usize, row: &mut [f64]) {
        self.rows.samples.copy_row(self.index[variable], row);
        for (value, origin) in row.iter_mut().zip(self.rows.origin().unwrap_or_default()) {
            *value -= origin;
        }
    }
}

impl KernelMatrix<'_> {
    /// Returns explicit features, if the kernel has them and they are few.
    pub(crate) fn features(&self) -> Option<Features<'_>> {
        let description: &Description = self.description();
        let columns = description.samples.columns();
        let few = (1..=MOST_COLUMNS).contains(&columns);
        (description.kernel.is_linear() && few).then(|| Features {
            rows: description.centred(),
            index: &description.index,
        })
    }
}
