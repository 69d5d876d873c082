//! RowSource: where the rows of a kernel matrix come from.
//!
//! | file | rows |
//! |---|---|
//! | `tiled` | computed in tiles |
//! | `linear` | the same; sums of rows through one weight vector |
//! | `stored` | read from a precomputed matrix |
//! | `given` | asked from the user's kernel |
//! | `shared` | computed once for several matrices over the same samples |
//! | `whole` | all computed beforehand, for many problems over parts of them |
//! | `exact` | the same in `f64`, as products ask for them |
//! | `rounded` | any of these, rounded to f32 |
//!
//! [`source_of`] is the one place that asks which kind a kernel is.

mod exact;
mod given;
mod linear;
mod on_demand;
mod rounded;
pub(super) mod shared;
mod source;
mod stored;
mod tiled;
pub(super) mod whole;

use super::description::Description;
use crate::kernel::Kernel;
use given::Given;
use linear::Linear;
use rounded::Rounded;
use shared::{Shareable, SharedRows, Union};
pub(crate) use source::add_in_parallel;
pub(super) use source::{RowSource, Term, Terms};
use stored::Stored;
use tiled::Tiled;
use whole::Part;

/// What the rows of a matrix have in common with those of others.
#[derive(Debug)]
pub(super) enum Common<'a> {
    /// Its samples are a union of shared sets.
    Union(Union<'a>),
    /// It is part of a matrix that lies in memory.
    Part(Part<'a>),
}

/// Returns where the rows of a matrix come from.
pub(super) fn source_of<'a, T: Shareable>(
    matrix: &'a Description<'a>,
    common: Option<&'a Common<'a>>,
) -> Box<dyn RowSource<T> + 'a> {
    let own: Box<dyn RowSource<T> + 'a> = match &matrix.kernel {
        Kernel::Linear => Box::new(Linear::new(matrix)),
        Kernel::Precomputed => Box::new(Stored::new(matrix)),
        Kernel::User(user) => Box::new(Given::new(matrix, &**user)),
        _ => Box::new(Tiled::new(matrix)),
    };
    match common {
        Some(Common::Union(union)) => Box::new(SharedRows::new(matrix, union, own)),
        Some(Common::Part(part)) => T::of_part(part, own),
        None => own,
    }
}

/// Returns the same rows with every value rounded to f32, as LIBSVM's are.
pub(super) fn rounded<'a, T: Shareable>(
    source: Box<dyn RowSource<T> + 'a>,
) -> Box<dyn RowSource<T> + 'a> {
    Box::new(Rounded(source))
}
