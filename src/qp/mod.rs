//! The one quadratic programme and the solvers for it.
//!
//! ```text
//! minimise    1/2 beta' (K + diag(ridge)) beta + linear' beta + sum_i absolute_i |beta_i|
//! subject to  lower <= beta <= upper,   sum of beta = sum of start
//! ```
//!
//! in signed coefficients beta: labels live in the bounds, not in the matrix, and the two halves of
//! regression are the two sides of |beta|. With g the one-sided derivatives, Keerthi's two
//! thresholds are
//!
//! ```text
//! m = max of -g over the variables that may grow,   M = min of -g over those that may shrink
//! ```
//!
//! and beta is optimal when gap = m - M <= 0; a solver stops when gap <= tolerance, which is
//! LIBSVM's criterion.
//!
//! A [`Constraint`] may also fix two sums, those of two groups of variables: then there are
//! thresholds for each group, and the larger gap counts. Or it fixes none. That is the same as one
//! more variable without bounds and with kernel values of zero, which absorbs the sum, and whose own
//! -g is the intercept: 0, or the sum of beta if half its square is added to the objective.
//!
//! | file | what it is |
//! |---|---|
//! | `problem` | [`DualProblem`] and its [`Constraint`] |
//! | `coordinates` | coefficients, gradient and bounds, shared by all that follows |
//! | `kkt` | [`Thresholds`], the gap and the intercept |
//! | `part` | [`Part`]: the same for some of the variables |
//! | `control` | [`StopRule`], [`Monitor`] and the clock |
//! | `report`, `phases` | [`Solution`], [`Report`] and where the time went |
//! | `doubt`, `confirm` | how wrong the gradient may be, and the gap that is sure |
//! | `duality` | the objective of the machine itself, and how far that is from the dual one |
//! | `settings`, `divergence`, `update` | what the solvers share |
//! | `driver` | the way from `solve` to a solver: the ladder of precisions |
//! | `face` | the minimum of the free variables, others meeting their bounds on the way |
//! | `seed`, `image`, `footing` | a solution as the start of another problem: how, its product with the matrix, and whose variables are whose |
//! | `nearby` | solutions of problems that differ little from one that is solved |
//! | `smo` | [`Smo`]: sequential minimal optimisation in blocks |
//! | `table` | [`TableProblem`]: the machines of all classes as one problem |
//! | `adatron` | [`Adatron`]: one coefficient at a time, and the rules of perceptrons |
//! | `npa` | [`Npa`]: the nearest points of two hulls |
//! | `chunking` | [`Chunking`]: a working set that grows, to be compared |
//! | `interior` | an interior-point method for kernels of low rank, to which SMO hands over |
//!
//! Keerthi, Shevade, Bhattacharyya, Murthy: Improvements to Platt's SMO algorithm for SVM
//! classifier design, Neural Computation 13 (2001).

mod adatron;
mod chunking;
mod confirm;
mod control;
mod coordinates;
mod divergence;
mod doubt;
mod driver;
mod duality;
mod exact_sum;
mod face;
mod footing;
mod image;
mod interior;
mod kkt;
mod nearby;
mod npa;
mod part;
mod phases;
mod problem;
mod report;
mod seed;
mod settings;
mod smo;
mod solver;
mod table;
mod task;
mod update;

pub use adatron::{Adatron, LearningRule, Order};
pub use chunking::Chunking;
pub use control::{Monitor, Progress, StopRule, Unwatched};
pub(crate) use duality::Charged;
pub(crate) use footing::Footing;
pub(crate) use image::Image;
pub use interior::Interior;
pub use kkt::Thresholds;
pub(crate) use nearby::{Solved, Start, near};
pub use npa::Npa;
pub use part::Part;
pub use phases::Phases;
pub use problem::{Constraint, DualProblem};
pub use report::{Algorithm, Epoch, Report, Solution, Status};
pub(crate) use seed::{Origin, seed};
pub use smo::{Selection, Smo};
pub use solver::Solver;
pub use table::TableProblem;
