//! Parts of the library that the benches time and no interface shows. Not for others: what is here
//! changes without notice.

use crate::data::Samples;
use crate::kernel::{Centred, Columns, Kernel};
use crate::matrix::add_in_parallel;
use crate::simd::{Isa, Real};

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
            columns: Columns::new(kernel, Centred::not(&samples), &all).expect("memory"),
            samples,
        }
    }

    /// Packs the rows and writes the kernel matrix, row after row.
    pub fn fill(&self, out: &mut [T]) {
        let size = self.samples.rows();
        let all: Vec<usize> = (0..size).collect();
        let rows = self.columns.pack_rows(&self.samples, &all).expect("memory");
        let mut out: Vec<&mut [T]> = out.chunks_mut(size).collect();
        let filled = self.columns.fill(&rows, 0..size, &mut out, &|| false);
        assert!(filled.is_ok(), "nothing stops it");
    }
}

/// Adds multiples of kernel rows to a gradient.
pub fn update_gradient<T: Real>(factors: &[f64], rows: &[&[T]], gradient: &mut [f64]) {
    add_in_parallel(factors, rows, gradient);
}

/// Factors a positive definite matrix of `n` rows in place.
pub fn factor(matrix: &mut [f64], n: usize) {
    let factored = crate::simd::cholesky::factor(Isa::detect(), matrix, n, &|| false);
    assert!(matches!(factored, Ok(true)), "positive definite");
}
