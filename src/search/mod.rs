//! Many fits on one kernel: grids of parameters, folds, leaving one out, probabilities.
//!
//! Labels and costs live in the problem, so the rows of K serve every cost, fold and pair of classes.
//! What fits have in common is done once:
//!
//! | file | what is shared |
//! |---|---|
//! | `fit` | a fit: which machine, on which rows, and whose decision values are wanted |
//! | `stage` | the whole kernel matrix; held-out rows are variables fixed at zero, whose decision value is (K beta)_i + b, so that nothing is left to predict |
//! | `chain` | fits on the same rows one after another, from low costs to high, each from the solution of the last |
//! | `plan` | chains side by side, kernel after kernel |
//! | `score` | how well a fit does on held-out rows, as soon as it is done |
//! | `held_out` | the solution for all rows, and the rows of K it needed, for all folds |
//! | `span` | the face of the full solution, for how far support vectors are from the span of the others |
//! | `leave_one_out` | the face of the full solution, for all problems that lack one row |
//!
//! And what is made of held-out values: `sigmoid`, `coupling` and `calibration` make probabilities.

mod calibration;
mod chain;
mod coupling;
mod fit;
mod held_out;
mod leave_one_out;
mod plan;
mod score;
mod sigmoid;
mod span;
mod stage;

pub use calibration::Calibration;
pub use fit::{Fit, Fitted, Formulation};
pub use held_out::HeldOut;
pub use leave_one_out::{LeaveOneOut, LeftOut, Sphere};
pub use plan::Plan;
pub use sigmoid::Sigmoid;
pub use span::Spans;
