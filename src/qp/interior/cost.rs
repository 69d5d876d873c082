//! When the interior-point method takes over from pair steps.

use crate::matrix::KernelMatrix;

/// When the interior-point method takes over from pair steps, where the kernel allows it.
///
/// ```
/// use mercer::qp::{Interior, Smo};
/// assert_eq!(Smo::new().interior, Interior::Auto);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Interior {
    /// After as many pair steps as take as long as it would.
    #[default]
    Auto,
    /// At once.
    Always,
    /// Never.
    Never,
}

/// Pair steps that take as long as a million multiplications of the method.
const STEPS_PER_MILLION: f64 = 15.0;
/// Pair steps that are always allowed: small problems need no more, and they take a few milliseconds.
const LEAST_STEPS: u64 = 4096;
/// Iterations that the method takes.
const ITERATIONS: f64 = 25.0;
/// Multiplications that take as long as the part of an iteration that does not depend on features, for a
/// variable; and for a variable and a feature.
const WORK_OF_VARIABLE: f64 = 500.0;
const WORK_OF_FEATURE: f64 = 20.0;

impl Interior {
    /// Returns the pair steps after which to begin; None for never.
    pub(in crate::qp) fn patience(self, matrix: &KernelMatrix) -> Option<u64> {
        let columns = matrix.features()?.columns() as f64;
        match self {
            Interior::Never => None,
            Interior::Always => Some(0),
            Interior::Auto => {
                let work = columns * columns + WORK_OF_FEATURE * columns + WORK_OF_VARIABLE;
                let work = ITERATIONS * matrix.len() as f64 * work;
                Some(((STEPS_PER_MILLION * 1e-6 * work) as u64).max(LEAST_STEPS))
            }
        }
    }
}
