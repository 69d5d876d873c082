//! What the methods are asked for, and what they find.

use super::certificate::Certificate;
use crate::qp::Algorithm;

/// When a method may stop.
#[derive(Clone, Copy)]
pub(crate) struct Goal<'a> {
    /// The gap to be reached.
    pub tolerance: f64,
    /// A smaller one that is worth some rounds more.
    pub aim: f64,
    /// The most steps.
    pub most: u64,
    /// Who is told of steps and gaps.
    pub tell: &'a (dyn Fn(u64, f64) + Sync),
}

/// What a method has found.
pub(crate) struct Found {
    pub beta: Vec<f64>,
    /// The sum of beta times rows.
    pub weights: Vec<f64>,
    pub certificate: Certificate,
    pub steps: u64,
    pub method: Algorithm,
}

impl Found {
    /// Tells whether there is nothing left to do: the gap is small enough, or steps have run out.
    pub fn ends(&self, goal: &Goal) -> bool {
        self.gap() <= goal.tolerance || self.steps >= goal.most
    }

    pub fn gap(&self) -> f64 {
        self.certificate.gap
    }
}
