//! Noise: whether rows can still resolve the gap.

use super::variables::Variables;
use crate::error::Polled;
use crate::matrix::Order;
use crate::qp::confirm::{estimated_noise, measured_noise, sample};
use crate::qp::driver::NOISE_SHARE;
use crate::qp::task::Task;
use crate::simd::Real;

/// What was measured of the rounding noise in the gradient, as a share of the estimate. The estimate
/// takes all kernel values for as large as the diagonal, which is often far too much.
pub(super) struct Noise {
    share: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Noise { share: 1.0 }
    }
}

impl Noise {
    /// Tells whether rows of type T cannot resolve the gap. Where the estimate says so, the errors of a
    /// sample of the active variables are measured.
    pub fn hides<T: Real>(
        &mut self,
        gap: f64,
        task: Task,
        variables: &Variables,
        order: &Order,
    ) -> Polled<bool> {
        let coordinates = &variables.coordinates;
        let estimate = estimated_noise::<T>(task.matrix, &coordinates.beta);
        if self.share * estimate <= NOISE_SHARE * gap {
            return Ok(false);
        }
        let some: Vec<(u32, f64)> = sample(variables.active)
            .map(|at| (order.variable(at), coordinates.gradient[at]))
            .collect();
        let measured = measured_noise(task, &variables.beta_by_variable(order), &some)?;
        // A gradient that was just computed says nothing about the rows.
        if measured > 0.0 {
            self.share = measured / estimate;
        }
        Ok(measured > NOISE_SHARE * gap)
    }
}
