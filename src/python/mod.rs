//! The Python binding `mercer._core`: unpack, release the GIL, call, repack.
//!
//! A call that may take long can be interrupted ([`run::interruptible`]). The types are described in
//! `python/mercer/_core.pyi`.
//!
//! | file | what |
//! |---|---|
//! | `arrays` | vectors from and to numpy |
//! | `samples` | rows, shared with numpy where that is possible |
//! | `kernel`, `user_kernel` | kernel functions, Python callables among them |
//! | `settings` | how a fit is done |
//! | `formulation` | what is fitted |
//! | `dual` | dual problems as such, and their parts |
//! | `linear` | linear machines |
//! | `mercer` | Mercer's condition and features |
//! | `bayes` | Bayesian machines |
//! | `leave_one_out` | leaving rows out, one after another |
//! | `fit`, `past` | what a fit gives back, and leaves for the next |
//! | `expansion` | predictions, and how values become classes |
//! | `search` | many fits at once |
//! | `sequences` | sequences and their kernels |
//! | `spectral` | what lives in feature space: components, discriminants, clusters, neighbours |
//! | `persist` | model files |
//! | `run` | thread pools, signals, progress |
//! | `reserve` | memory held back for calls that run out of it |

mod arrays;
mod bayes;
mod dual;
mod expansion;
mod fit;
mod formulation;
mod kernel;
mod leave_one_out;
mod linear;
mod mercer;
mod past;
mod persist;
mod reserve;
mod run;
mod samples;
mod search;
mod sequences;
mod settings;
mod spectral;
mod user_kernel;

use crate::error::Error;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

/// The one place where errors become exceptions.
impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        match error {
            Error::UserKernel(source) => match source.downcast::<PyErr>() {
                Ok(raised) => *raised,
                Err(source) => PyValueError::new_err(format!("kernel: {source}")),
            },
            // FileNotFoundError and the like, by the kind of the error.
            Error::File { path, source } => {
                std::io::Error::new(source.kind(), format!("{path}: {source}")).into()
            }
            Error::Memory { .. } | Error::Exhausted | Error::System { .. } => {
                PyMemoryError::new_err(error.to_string())
            }
            _ => PyValueError::new_err(error.to_string()),
        }
    }
}

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::bayes::{PyRelevance, bayes_point};
    #[pymodule_export]
    use super::dual::PyDualProblem;
    #[pymodule_export]
    use super::expansion::{PyExpansion, coefficients_by_machine};
    #[pymodule_export]
    use super::fit::{PyFit, PyReport};
    #[pymodule_export]
    use super::formulation::{PyFormulation, feasible_nu};
    #[pymodule_export]
    use super::kernel::PyKernel;
    #[pymodule_export]
    use super::leave_one_out::{PyLeftOut, confidences, leave_one_out, spans};
    #[pymodule_export]
    use super::linear::{PyLinearFit, PyLinearFormulation};
    #[pymodule_export]
    use super::mercer::{mercer_condition, mercer_features};
    #[pymodule_export]
    use super::past::PyPast;
    #[pymodule_export]
    use super::persist::{read_model, saved_attributes, write_model};
    #[pymodule_export]
    use super::run::{PyProgress, available_threads};
    #[pymodule_export]
    use super::samples::{PySamples, is_finite};
    #[pymodule_export]
    use super::search::{PySearchFit, calibrate, held_out, probabilities, search, winners};
    #[pymodule_export]
    use super::sequences::{PySequenceKernel, PySequences};
    #[pymodule_export]
    use super::settings::PySettings;
    #[pymodule_export]
    use super::spectral::{
        PyClusterSettings, PyClusters, PyComponentSettings, PyComponents, PyDiscriminantSettings,
        PyDiscriminants, PyPreImages, PyProjection, joint_diagonalizer, nearest,
        nearest_from_kernel, sources,
    };
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &Bound<PyModule>) -> PyResult<()> {
        super::arrays::prepare(module.py())
    }
}
