//! Gamma: rules that find the width of a kernel for given rows.

use crate::data::Samples;
use crate::error::{Error, Result};

/// Rows whose distances tell their median.
const ROWS: usize = 500;

/// A rule that finds gamma of a kernel for given rows.
///
/// ```
/// use mercer::{Gamma, Kernel, Samples, Svc};
/// let x = ndarray::array![[0.0, 2.0], [2.0, 0.0]];
/// let samples = Samples::try_from(&x)?;
/// assert_eq!(Gamma::Auto.of(&samples)?, 0.5); // 1 / features
/// assert_eq!(Gamma::Scale.of(&samples)?, 0.5); // 1 / (features * variance)
/// assert_eq!(Gamma::Median.of(&samples)?, 1.0 / 8.0); // 1 / squared distance
/// let model = Svc::new(Kernel::rbf(Gamma::Scale.of(&samples)?)).fit(&x, &[0, 1])?;
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Gamma {
    /// 1 / (features * variance of all entries), scikit-learn's default.
    Scale,
    /// 1 / features.
    Auto,
    /// 1 / (the median squared distance between rows, of a sample of them).
    Median,
}

impl Gamma {
    /// Returns gamma for these rows; 1 where all rows are the same.
    ///
    /// ```
    /// # use mercer::{Gamma, Samples};
    /// let same = Samples::try_from(vec![vec![3.0], vec![3.0]])?;
    /// assert_eq!(Gamma::Scale.of(&same)?, 1.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the variance overflows.
    pub fn of(self, samples: &Samples) -> Result<f64> {
        let columns = samples.columns().max(1) as f64;
        match self {
            Gamma::Auto => Ok(1.0 / columns),
            Gamma::Median => Ok(inverse(median(samples))),
            Gamma::Scale => {
                let spread = variance(samples);
                if !spread.is_finite() {
                    let allowed = "of entries whose variance does not overflow";
                    return Err(Error::parameter("X", allowed, spread));
                }
                Ok(inverse(columns * spread))
            }
        }
    }
}

fn inverse(value: f64) -> f64 {
    if value > 0.0 { 1.0 / value } else { 1.0 }
}

/// Returns the variance of all entries, zeros of sparse rows among them.
fn variance(samples: &Samples) -> f64 {
    let count = (samples.rows() * samples.columns()).max(1) as f64;
    let (mut sum, mut stored) = (0.0, 0usize);
    for row in 0..samples.rows() {
        samples.for_each(row, |_, value| sum += value);
        stored += samples.entries(row);
    }
    let mean = sum / count;
    let mut squares = (count - stored as f64) * mean * mean;
    for row in 0..samples.rows() {
        samples.for_each(row, |_, value| squares += (value - mean) * (value - mean));
    }
    squares / count
}

/// Returns the median of the squared distances between some rows, copies and overflow left out.
fn median(samples: &Samples) -> f64 {
    let step = samples.rows().div_ceil(ROWS).max(1);
    let rows: Vec<Vec<f64>> = (0..samples.rows())
        .step_by(step)
        .map(|row| {
            let mut copy = vec![0.0; samples.columns()];
            samples.copy_row(row, &mut copy);
            copy
        })
        .collect();
    let mut squares = Vec::with_capacity(rows.len() * rows.len() / 2);
    for (i, x) in rows.iter().enumerate() {
        for z in &rows[..i] {
            let square: f64 = x.iter().zip(z).map(|(x, z)| (x - z) * (x - z)).sum();
            if square > 0.0 && square.is_finite() {
                squares.push(square);
            }
        }
    }
    squares.sort_by(f64::total_cmp);
    match squares.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => squares[odd / 2],
        even => (squares[even / 2 - 1] + squares[even / 2]) / 2.0,
    }
}
