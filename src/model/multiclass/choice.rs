//! Choice: a class found from inexact values.

/// A class, and whether errors of the values could have led to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub class: usize,
    pub doubtful: bool,
}

impl Default for Choice {
    /// No class has been found.
    fn default() -> Self {
        Choice {
            class: 0,
            doubtful: true,
        }
    }
}

/// Tells whether a value has the sign that it seems to have. One that is not a number has none.
pub(crate) fn is_sure(value: f64, error: f64) -> bool {
    value.abs() > error
}

/// Chooses between two classes by the value of their machine, which has an error of up to `error`:
/// the first class if it is negative, else the second.
pub(crate) fn by_sign(value: f64, error: f64) -> Choice {
    Choice {
        class: usize::from(value >= 0.0),
        doubtful: !is_sure(value, error),
    }
}
