//! The floor: numbers, instruction sets, and the few loops that every layer above is built from.
//!
//! Hot loops are written once as `#[inline(always)]` bodies over plain slices, generic in the
//! number type and in `const FMA: bool`, and compiled for each instruction set ([`Isa`]) by
//! `dispatch!`. The constant keeps `mul_add` out of code for processors that lack the instruction,
//! where it would be a function call.

pub(crate) mod buffer;
pub(crate) mod cholesky;
mod dot;
mod exp;
mod finite;
pub(crate) mod gram;
pub(crate) mod interactions;
pub(crate) mod inverse;
mod isa;
pub(crate) mod measure;
pub(crate) mod memory;
pub(crate) mod once;
pub(crate) mod parallel;
pub(crate) mod pieces;
pub(crate) mod process;
pub(crate) mod product;
pub(crate) mod random;
mod rank_update;
mod real;
pub(crate) mod slab;
pub(crate) mod system_memory;
// Only the binding waits for a pool and does its errands.
#[cfg_attr(not(feature = "python"), allow(dead_code, unused_imports))]
pub(crate) mod threads;

pub(crate) use dot::{
    WIDE, add_multiple, add_multiples, added_up, four_dots, inner_product, value_dots,
};
pub(crate) use exp::SMALLEST_EXPONENTIAL;
pub(crate) use finite::all_finite;
pub use isa::Isa;
#[cfg(target_arch = "x86_64")]
pub(crate) use isa::Level;
pub(crate) use isa::dispatch;
pub use real::Real;
