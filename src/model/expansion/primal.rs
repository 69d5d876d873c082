//! Weight vectors: with a linear kernel the support vectors of a machine add up to one.

use super::layout::Coefficients;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::kernel::{Centred, Columns, Kernel, weight_vector};
use crate::simd::memory;
use ndarray::ArrayView1;

/// Packs the weight vectors of all machines, if they are less to multiply with than the support
/// vectors; `None` also if one of them is not finite.
///
/// # Errors
/// If there is no memory for them.
pub(super) fn weight_vectors(
    kernel: &Kernel,
    support: &Samples,
    coefficients: &Coefficients,
) -> Result<Option<Columns<f64>>> {
    let machines = coefficients.machines();
    let entries = support.mean_entries() * support.rows() as f64;
    if !matches!(kernel, Kernel::Linear) || (machines * support.columns()) as f64 > entries {
        return Ok(None);
    }
    let shape = (machines, support.columns());
    let mut vectors = memory::zero_matrix(shape, "the weight vectors")?;
    for part in coefficients.parts() {
        let row = coefficients.dual_coef.row(part.row);
        let terms = part.columns.map(|column| (column, row[column]));
        let terms = terms.filter(|&(_, factor)| factor != 0.0);
        let sum = weight_vector(Centred::not(support), terms);
        let mut vector = vectors.row_mut(part.machine);
        vector += &ArrayView1::from(&sum);
    }
    let all: Vec<usize> = (0..machines).collect();
    let vectors = match Samples::try_from(vectors.view()) {
        Err(Error::NotFinite { .. }) => return Ok(None),
        vectors => vectors?,
    };
    Columns::new(&Kernel::Linear, Centred::not(&vectors), &all).map(Some)
}
