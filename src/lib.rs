//! Kernel methods: support vector machines trained exactly and fast, on every core.
//!
//! Every machine is one quadratic programme in signed coefficients beta,
//!
//! ```text
//! minimise    1/2 beta' (K + diag(ridge)) beta + linear' beta + sum_i absolute_i |beta_i|
//! subject to  lower <= beta <= upper,   [sum of beta fixed, or the sums of two groups]
//! f(z) = sum_i beta_i k(x_i, z) + b
//! ```
//!
//! solved by SMO in blocks: rows of the kernel matrix are computed as tiles of a matrix product,
//! kept in a cache, and a small dense problem is solved at a time ([`qp::Smo`]); or by the
//! Kernel-Adatron, one coefficient at a time ([`qp::Adatron`]).
//!
//! ```
//! use mercer::{Kernel, Svc};
//! use ndarray::array;
//!
//! let x = array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
//! let labels = ["same", "same", "differ", "differ"];
//! let model = Svc::new(Kernel::rbf(1.0)).c(10.0).fit(x.view(), &labels)?;
//! assert_eq!(model.predict(x.view())?, labels);
//! assert_eq!(model.machines().support.len(), 4);
//! assert!(model.reports()[0].gap <= 1e-3);
//! # Ok::<(), mercer::Error>(())
//! ```
//!
//! The [`guide`] goes on from here: regression, novelty, sparse rows, kernels of your own, threads,
//! cancelling, saving and serving.
//!
//! Whatever may take long runs on the threads of the rayon pool it is called from
//! (`ThreadPool::install`); called from outside of any pool, on a pool that it has for itself while
//! it runs, with a thread per processor or as many as `RAYON_NUM_THREADS` says. Rayon's global pool
//! is never used, and a forked child makes its own threads. Memory that grows with the number of
//! values is asked for politely: a refusal is [`Error::Memory`].
//!
//! The layers, each knowing only those above it:
//!
//! | module | what it is |
//! |---|---|
//! | [`error`] | [`Error`], [`Result`] |
//! | `simd` | the floor: instruction sets, vectorised loops, threads |
//! | [`data`] | [`Samples`]: rows, dense or CSR, `f32` or `f64`, owned or shared |
//! | [`kernel`] | [`Kernel`] functions, evaluated in tiles |
//! | [`matrix`] | the kernel matrix on demand, and its row cache |
//! | [`qp`] | the quadratic programme and its solvers |
//! | `linear` | linear machines with squared losses, by Newton's method |
//! | [`formulation`] | machines as quadratic programmes |
//! | [`model`] | trained machines, classification into many classes |
//! | [`search`] | many fits on one kernel: grids, folds, leaving one out, probabilities |
//! | [`spectral`] | what lives in feature space: components, discriminants, clusters, neighbours |
//! | [`bayes`] | relevance vectors and Bayes points |
//! | `persist` | models as files, with the feature `persist` |

pub mod error;
#[doc(hidden)]
pub mod simd;

pub mod data;
pub mod kernel;

pub mod matrix;
pub mod qp;

mod linear;

pub mod formulation;
pub mod model;
pub mod search;
pub mod spectral;

pub mod bayes;

#[cfg(feature = "serde")]
mod infinite;

#[cfg(feature = "persist")]
pub mod persist;

/// How to use it, step by step.
#[doc = include_str!("guide.md")]
pub mod guide {}

#[doc(hidden)]
pub mod bench;
#[cfg(feature = "python")]
mod python;

pub use data::Samples;
pub use error::{Error, Result};
pub use formulation::{Intercept, Loss, SvcLoss, SvrLoss};
pub use kernel::{Gamma, Kernel, UserKernel};
pub use model::{
    ClassWeights, Incremental, LinearSvc, LinearSvcModel, LinearSvr, LinearSvrModel, Multiclass,
    NuSvc, NuSvr, OneClassModel, OneClassSvm, Svc, SvcModel, Svdd, SvddModel, Svr, SvrColumns,
    SvrModel, balanced_weights,
};
pub use qp::{Monitor, Progress, Report, Status, Unwatched};

/// The example in the README, tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
