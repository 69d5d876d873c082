//! Trained machines: expansions in support vectors, and classifiers of many classes made of them.

mod expansion;
mod one_vs_one;
mod svc;

pub use expansion::Expansion;
pub use one_vs_one::{OneVsOne, vote};
pub use svc::{Svc, SvcModel};
