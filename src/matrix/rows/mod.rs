//! RowSource: where the rows of a kernel matrix come from.
//!
//! | file | rows |
//! |---|---|
//! | `tiled` | computed in tiles |
//! | `linear` | the same; sums of rows through one weight vector |
//! | `stored` | read from a precomputed matrix |
//! | `given` | asked from the user's kernel |
//! | `shared` | computed once for several matrices over the same samples |
//! | `rounded` | any of these, rounded to f32 |
//!
//! [`source_of`] is the one place that asks which kind a kernel is.

mod given;
mod linear;
mod rounded;
pub(super) mod shared;
mod source;
mod stored;
mod tiled;

use super::description::Description;
use crate::kernel::Kernel;
use given::Given;
use linear::Linear;
use rounded::Rounded;
use shared::{Shareable, SharedRows, Union};
pub(super) use source::{RowSource, Terms};
use stored::Stored;
use tiled::Tiled;

/// Returns where the rows of a matrix come from, whose samples may be a union of shared sets.
pub(super) fn source_of<'a, T: Shareable>(
    matrix: &'a Description<'a>,
    union: Option<&'a Union<'a>>,
) -> Box<dyn RowSource<T> + 'a> {
    let own: Box<dyn RowSource<T> + 'a> = match &matrix.kernel {
        Kernel::Linear => Box::new(Linear::new(matrix)),
        Kernel::Precomputed => Box::new(Stored::new(matrix)),
        Kernel::User(user) => Box::new(Given::new(matrix, &**user)),
        _ => Box::new(Tiled::new(matrix)),
    };
    match union {
        Some(union) => Box::new(SharedRows::new(matrix, union, own)),
        None => own,
    }
}

/// Returns the same rows with every value rounded to f32, as LIBSVM's are.
pub(super) fn rounded<'a, T: Shareable>(
    source: Box<dyn RowSource<T> + 'a>,
) -> Box<dyn RowSource<T> + 'a> {
    Box::new(Rounded(source))
}
