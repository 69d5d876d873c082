//! Numbers: a vector that is owned, or shared with whoever made it.

use crate::error::Result;
use crate::simd::memory;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Numbers in the precision they came in.
///
/// ```
/// use mercer::data::Values;
/// assert!(matches!(Values::from(vec![1.0f32, 2.0]), Values::Single(_)));
/// assert!(matches!(Values::from(vec![1.0f64, 2.0]), Values::Double(_)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Single precision.
    Single(Numbers<f32>),
    /// Double precision.
    Double(Numbers<f64>),
}

impl Values {
    pub(super) fn len(&self) -> usize {
        match self {
            Values::Single(values) => values.len(),
            Values::Double(values) => values.len(),
        }
    }

    /// Returns the numbers in double precision.
    pub(super) fn double(&self) -> Result<Cow<'_, [f64]>> {
        match self {
            Values::Double(values) => Ok(Cow::Borrowed(values)),
            Values::Single(values) => {
                let wide = values.iter().map(|&value| f64::from(value));
                memory::collected(wide, "a copy of the rows").map(Cow::Owned)
            }
        }
    }
}

/// A slice that is owned, or shared with whoever made it.
///
/// ```
/// use mercer::data::Numbers;
/// let shared = Numbers::shared(std::sync::Arc::<[f64]>::from(vec![1.0, 2.0]));
/// assert_eq!(shared, Numbers::from(vec![1.0, 2.0]));
/// assert_eq!(shared[1], 2.0);
/// ```
#[derive(Clone)]
pub struct Numbers<T>(Storage<T>);

#[derive(Clone)]
enum Storage<T> {
    Owned(Vec<T>),
    Shared(Arc<dyn AsRef<[T]> + Send + Sync>),
}

impl<T> Numbers<T> {
    /// Keeps what holds the numbers alive: an `Arc<[T]>`, a mapped file, an array of another
    /// library.
    ///
    /// ```
    /// use mercer::data::Numbers;
    /// let values: std::sync::Arc<[f32]> = vec![1.0; 3].into();
    /// assert_eq!(Numbers::shared(values.clone()).as_ptr(), values.as_ptr());
    /// ```
    pub fn shared(values: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        Numbers(Storage::Shared(Arc::new(values)))
    }
}

impl<T> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Owned(values) => values,
            Storage::Shared(values) => (**values).as_ref(),
        }
    }
}

impl<T> From<Vec<T>> for Numbers<T> {
    fn from(values: Vec<T>) -> Self {
        Numbers(Storage::Owned(values))
    }
}

impl<T: PartialEq> PartialEq for Numbers<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for Numbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl From<Numbers<f32>> for Values {
    fn from(values: Numbers<f32>) -> Self {
        Values::Single(values)
    }
}

impl From<Numbers<f64>> for Values {
    fn from(values: Numbers<f64>) -> Self {
        Values::Double(values)
    }
}

impl From<Vec<f32>> for Values {
    fn from(values: Vec<f32>) -> Self {
        Values::Single(values.into())
    }
}

impl From<Vec<f64>> for Values {
    fn from(values: Vec<f64>) -> Self {
        Values::Double(values.into())
    }
}
