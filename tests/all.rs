//! The integration tests in one program: what they share, an interior-point solver above all, is compiled
//! once. Those with an allocator or a process of their own are programs of their own; tests/layers.rs
//! checks that every file is part of one.

mod common;

mod adatron;
mod cache;
mod data;
mod early;
mod hostile_bytes;
mod interior;
mod leave_one_out;
mod linear;
mod losses;
mod machines;
mod machines_classification;
mod machines_large;
mod machines_novelty;
mod machines_regression;
mod multiclass;
#[cfg(feature = "serde")]
mod parameters;
#[cfg(feature = "persist")]
mod persist;
mod public_programmes;
mod qp_properties;
mod scales;
mod search;
mod semantics;
mod smo;
mod smo_large;
mod smo_oracle;
mod svc;
