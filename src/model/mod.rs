//! Trained machines: expansions in support vectors, and classifiers of many classes made of them.

#[macro_use]
mod settings;
#[macro_use]
mod access;
mod checks;
mod class_weights;
mod coded;
mod detector;
pub(crate) mod expansion;
mod incremental;
mod linear;
mod machine;
mod multiclass;
mod nu_svc;
mod nu_svr;
mod one_class;
mod score;
mod session;
mod svc;
mod svdd;
mod svr;

pub use class_weights::{ClassWeights, balanced_weights};
pub use expansion::{Expansion, coefficients_by_machine};
pub use incremental::Incremental;
#[cfg(feature = "persist")]
pub(crate) use linear::LinearMachine;
#[cfg(feature = "python")]
pub(crate) use linear::LinearTraining;
pub use linear::{LinearSvc, LinearSvcModel, LinearSvr, LinearSvrModel};
pub use machine::Machine;
pub use multiclass::{
    Branch, Dag, Machines, Margin, Multiclass, OneVsOne, OneVsRest, Training, Tree,
};
pub(crate) use multiclass::{Posed, pairs};
pub use nu_svc::NuSvc;
pub use nu_svr::NuSvr;
pub use one_class::{OneClassModel, OneClassSvm};
#[cfg(feature = "python")]
pub(crate) use session::{Past, Place, Session, Strategy};
pub use svc::{Svc, SvcModel};
#[cfg(feature = "persist")]
pub(crate) use svdd::Sphere;
pub use svdd::{Svdd, SvddModel};
pub use svr::{Svr, SvrColumns, SvrModel};
