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

/// Chooses between two classes by the value of their machine, which has an error of up to `error`:
/// the first class if it is negative, else the second.
pub(crate) fn by_sign(value: f64, error: f64) -> Choice {
    Choice {
        class: usize::from(value >= 0.0),
        doubtful: value.abs() <= error,
    }
}
