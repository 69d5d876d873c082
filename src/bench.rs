//! Parts of the library that the benches time and no interface shows. Not for others: what is here
//! changes without notice.

use crate::data::Samples;
use crate::kernel::{Columns, Kernel, Source};
use crate::matrix::add_in_parallel;
use crate::simd::Real;

/// Samples packed as the columns and the rows of kernel tiles.
pub struct Tiles<T: Real> {
    columns: Columns<T>,
    samples: Samples,
}

impl<T: Real> Tiles<T> {
    /// Packs the columns.
    pub fn new(kernel: &Kernel, samples: Samples) -> Self {
        let all: Vec<usize> = (0..samples.rows()).collect();
        Tiles {
            columns: Columns::new(kernel, Source::of(&samples), &all),
            samples,
        }
    }

    /// Packs the rows and writes the kernel matrix, row after row.
    pub fn fill(&self, out: &mut [T]) {
        let size = self.samples.rows();
        let all: Vec<usize> = (0..size).collect();
        let rows = self.columns.pack_rows(Source::of(&self.samples), &all);
        let mut out: Vec<&mut [T]> = out.chunks_mut(size).collect();
        self.columns.fill(&rows, 0..size, &mut out, &|| false);
    }
}

/// Adds multiples of kernel rows to a gradient.
pub fn update_gradient<T: Real>(factors: &[f64], rows: &[&[T]], gradient: &mut [f64]) {
    add_in_parallel(factors, rows, gradient);
}
