//! How much memory a cache may take: a fair share of what is really free.

use crate::simd::process::Recent;
use crate::simd::system_memory;
use std::time::Duration;

/// The share of the free memory a cache may take.
const SHARE: f64 = 0.25;

/// How long an answer of the system holds: asking takes longer than a small fit.
const HOLDS: Duration = Duration::from_millis(500);

/// Returns the bytes a cache may take: a quarter of the memory that is free for this process.
pub(crate) fn fair_share() -> usize {
    static FREE: Recent = Recent::new(HOLDS);
    (FREE.get(system_memory::free) as f64 * SHARE) as usize
}
