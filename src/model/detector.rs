//! Detector: what the machines without targets share.

use crate::data::Samples;
use crate::error::Result;

/// A trained machine that tells inside from outside by a score.
pub(super) trait Detector {
    /// Returns how much each row is like those trained on.
    fn scores(&self, samples: &Samples) -> Result<Vec<f64>>;

    /// Returns the score on the boundary.
    fn boundary(&self) -> f64;

    /// Returns how far inside each row is, negative outside.
    fn depths(&self, samples: &Samples) -> Result<Vec<f64>> {
        let mut values = self.scores(samples)?;
        values
            .iter_mut()
            .for_each(|value| *value -= self.boundary());
        Ok(values)
    }

    /// Tells for each row whether it is inside or on the boundary.
    fn insides(&self, samples: &Samples) -> Result<Vec<bool>> {
        let depths = self.depths(samples)?;
        Ok(depths.iter().map(|&depth| depth >= 0.0).collect())
    }
}
