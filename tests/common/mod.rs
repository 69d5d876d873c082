//! What several test files and benches need: deterministic data, a monitor that stops.
// Each of them uses another part of it.
#![allow(dead_code)]

pub mod machines;
pub mod naive;
pub mod oracle;
pub mod pairs;
pub mod problems;
pub mod qp;
pub mod qps;
pub mod random_qp;

use mercer::Samples;
use mercer::qp::Monitor;
use ndarray::{Array2, ArrayView2};
use std::sync::atomic::{AtomicUsize, Ordering};

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same numbers everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.uniform() * end as f64) as usize
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Normal rows around one centre per class, `distance` standard deviations apart along the axes;
/// row i is of class i % classes.
pub fn clouds(
    rows: usize,
    columns: usize,
    classes: usize,
    distance: f64,
    seed: u64,
) -> (Array2<f64>, Vec<usize>) {
    let mut random = Random::new(seed);
    let x = Array2::from_shape_fn((rows, columns), |(i, j)| {
        let class = i % classes;
        let center = if j == class % columns {
            distance * (1 + class / columns) as f64
        } else {
            0.0
        };
        center + random.normal()
    });
    (x, (0..rows).map(|i| i % classes).collect())
}

/// The same rows in compressed storage.
pub fn sparse(x: ArrayView2<f64>) -> Samples {
    let (mut data, mut indices, mut starts) = (Vec::new(), Vec::new(), vec![0i32]);
    for row in x.rows() {
        for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            data.push(value);
            indices.push(j as i32);
        }
        starts.push(data.len() as i32);
    }
    Samples::csr(data, &indices, &starts, x.ncols()).expect("valid")
}

/// Stops when asked for the n-th time.
pub struct StopAfter {
    asked: AtomicUsize,
    limit: usize,
}

impl StopAfter {
    pub fn new(limit: usize) -> Self {
        let asked = AtomicUsize::new(0);
        StopAfter { asked, limit }
    }

    /// How often it was asked.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Monitor for StopAfter {
    fn stop(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) >= self.limit
    }
}
