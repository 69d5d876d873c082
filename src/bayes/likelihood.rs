//! The two kinds of noise, each with the weights that are most probable for given precisions.
//!
//! ```text
//! Gaussian    t = Phi w + e,  e ~ N(0, 1 / beta)
//! Bernoulli   P(t = 1) = 1 / (1 + exp(-Phi w)), approximated by a Gaussian at the mode (Laplace)
//! ```

use crate::error::{Error, Polled, Result};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

/// Newton steps to the most probable weights: it takes about ten.
const NEWTON: usize = 100;
/// Halvings of a Newton step before it is given up: nothing is left to gain.
const HALVINGS: usize = 40;
/// The noise is at least this share of the variance of the targets.
const LEAST_NOISE: f64 = 1e-8;

/// What targets are made of, given the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Real targets with noise of a variance that is learned.
    Gaussian,
    /// Targets 0 or 1.
    Bernoulli,
}

/// The posterior of the weights of some columns of Phi.
pub(super) struct Posterior {
    pub mean: Array1<f64>,
    pub covariance: Array2<f64>,
    /// The log marginal likelihood.
    pub evidence: f64,
    /// Phi w.
    pub fitted: Array1<f64>,
    /// The precision of each target: beta, or that of the Gaussian at the mode.
    pub precision: Array1<f64>,
    /// precision * (working target - fitted): what the columns are compared with.
    pub residual: Array1<f64>,
}

/// A symmetric positive definite matrix, inverted; and the logarithm of its determinant.
fn inverse(mut matrix: Array2<f64>) -> Result<(Array2<f64>, f64)> {
    let order = matrix.nrows();
    // Scaled to a diagonal of ones: precisions differ by many orders of magnitude.
    let scale: Vec<f64> = matrix
        .diag()
        .iter()
        .map(|value| value.sqrt().recip())
        .collect();
    for ((i, j), value) in matrix.indexed_iter_mut() {
        *value *= scale[i] * scale[j];
    }
    let mut log = 0.0;
    for j in 0..order {
        let pivot = matrix[[j, j]] - (0..j).map(|k| matrix[[j, k]].powi(2)).sum::<f64>();
        if pivot.is_nan() || pivot <= 0.0 {
            let allowed = "such that basis functions differ by more than rounding";
            return Err(Error::parameter("the kernel", allowed, "a singular system"));
        }
        let root = pivot.sqrt();
        matrix[[j, j]] = root;
        log += 2.0 * (root / scale[j]).ln();
        for i in j + 1..order {
            let inner: f64 = (0..j).map(|k| matrix[[i, k]] * matrix[[j, k]]).sum();
            matrix[[i, j]] = (matrix[[i, j]] - inner) / root;
        }
    }
    let mut half = Array2::<f64>::zeros((order, order));
    for column in 0..order {
        for i in column..order {
            let right = f64::from(u8::from(i == column));
            let inner: f64 = (column..i)
                .map(|k| matrix[[i, k]] * half[[k, column]])
                .sum();
            half[[i, column]] = (right - inner) / matrix[[i, i]];
        }
    }
    let mut inverse = half.t().dot(&half);
    for ((i, j), value) in inverse.indexed_iter_mut() {
        *value *= scale[i] * scale[j];
    }
    Ok((inverse, log))
}

/// Returns Phi' diag(precision) Phi + diag(alpha).
fn system(phi: ArrayView2<f64>, precision: &Array1<f64>, alpha: &[f64]) -> Array2<f64> {
    let weighted = &phi * &precision.view().insert_axis(Axis(1));
    let mut system = phi.t().dot(&weighted);
    for (value, alpha) in system.diag_mut().iter_mut().zip(alpha) {
        *value += alpha;
    }
    system
}

/// Noise as it is learned.
pub(super) struct State {
    pub noise: Noise,
    /// The precision of Gaussian noise.
    pub beta: f64,
    largest_beta: f64,
    /// Weights to start from, by column.
    start: Vec<f64>,
}

impl State {
    pub fn new(noise: Noise, targets: ArrayView1<f64>, columns: usize) -> Self {
        let mean = targets.mean().unwrap_or_default();
        let variance = targets
            .mapv(|t| (t - mean).powi(2))
            .mean()
            .unwrap_or_default();
        let variance = if variance > 0.0 { variance } else { 1.0 };
        State {
            noise,
            // A tenth of the variance is noise, to begin with: Tipping and Faul.
            beta: 10.0 / variance,
            largest_beta: 1.0 / (LEAST_NOISE * variance),
            start: vec![0.0; columns],
        }
    }

    /// Returns the posterior of the weights of columns `active`, `phi`, with precisions `alpha`.
    pub fn posterior(
        &mut self,
        phi: ArrayView2<f64>,
        targets: ArrayView1<f64>,
        active: &[usize],
        alpha: &[f64],
    ) -> Polled<Posterior> {
        let posterior = match self.noise {
            Noise::Gaussian => gaussian(phi, targets, alpha, self.beta)?,
            Noise::Bernoulli => {
                let start = active.iter().map(|&column| self.start[column]).collect();
                bernoulli(phi, targets, alpha, start)?
            }
        };
        for (&column, &weight) in active.iter().zip(&posterior.mean) {
            self.start[column] = weight;
        }
        Ok(posterior)
    }

    /// Takes the most probable precision of Gaussian noise; returns by how much its logarithm changed.
    pub fn learn(&mut self, posterior: &Posterior, targets: ArrayView1<f64>, alpha: &[f64]) -> f64 {
        if self.noise == Noise::Bernoulli {
            return 0.0;
        }
        let determined: f64 = alpha
            .iter()
            .zip(posterior.covariance.diag())
            .map(|(alpha, variance)| 1.0 - alpha * variance)
            .sum();
        let errors = (&targets - &posterior.fitted).mapv(|e| e * e).sum();
        let free = (targets.len() as f64 - determined).max(f64::MIN_POSITIVE);
        let beta = (free / errors.max(f64::MIN_POSITIVE)).min(self.largest_beta);
        let change = (beta / self.beta).ln().abs();
        self.beta = beta;
        change
    }
}

fn gaussian(
    phi: ArrayView2<f64>,
    targets: ArrayView1<f64>,
    alpha: &[f64],
    beta: f64,
) -> Result<Posterior> {
    let count = targets.len() as f64;
    let precision = Array1::from_elem(targets.len(), beta);
    let (covariance, log) = inverse(system(phi, &precision, alpha))?;
    let mean = covariance.dot(&phi.t().dot(&targets)) * beta;
    let fitted = phi.dot(&mean);
    let residual = (&targets - &fitted) * beta;
    // log |C| = log |H| - sum log alpha - n log beta, and t' C^-1 t = t' residual.
    let logs: f64 = alpha.iter().map(|alpha| alpha.ln()).sum();
    let determinant = log - logs - count * beta.ln();
    let scale = count * (2.0 * std::f64::consts::PI).ln();
    let evidence = -0.5 * (scale + determinant + targets.dot(&residual));
    Ok(Posterior {
        mean,
        covariance,
        evidence,
        fitted,
        precision,
        residual,
    })
}

/// log P(targets | fitted) - 1/2 w' A w
fn penalised(
    fitted: &Array1<f64>,
    targets: ArrayView1<f64>,
    alpha: &[f64],
    w: &Array1<f64>,
) -> f64 {
    let fit: f64 = fitted
        .iter()
        .zip(targets)
        // log(1 + e^f) without overflow
        .map(|(&f, &t)| t * f - f.max(0.0) - (-f.abs()).exp().ln_1p())
        .sum();
    let penalty: f64 = alpha.iter().zip(w).map(|(alpha, w)| alpha * w * w).sum();
    fit - 0.5 * penalty
}

fn bernoulli(
    phi: ArrayView2<f64>,
    targets: ArrayView1<f64>,
    alpha: &[f64],
    start: Vec<f64>,
) -> Result<Posterior> {
    let mut mean = Array1::from(start);
    let mut fitted = phi.dot(&mean);
    let mut objective = penalised(&fitted, targets, alpha, &mean);
    for _ in 0..NEWTON {
        let (precision, residual) = slopes(&fitted, targets);
        let weighted = Array1::from_iter(alpha.iter().zip(&mean).map(|(alpha, w)| alpha * w));
        let gradient = phi.t().dot(&residual) - weighted;
        let (covariance, _) = inverse(system(phi, &precision, alpha))?;
        let step = covariance.dot(&gradient);
        let mut share = 1.0;
        let mut gain = None;
        for _ in 0..HALVINGS {
            let next = &mean + &(&step * share);
            let values = phi.dot(&next);
            let reached = penalised(&values, targets, alpha, &next);
            if reached > objective {
                gain = Some(reached - objective);
                (mean, fitted, objective) = (next, values, reached);
                break;
            }
            share *= 0.5;
        }
        if gain.is_none_or(|gain| gain <= 1e-14 * (1.0 + objective.abs())) {
            break;
        }
    }
    let (precision, residual) = slopes(&fitted, targets);
    let (covariance, log) = inverse(system(phi, &precision, alpha))?;
    let logs: f64 = alpha.iter().map(|alpha| alpha.ln()).sum();
    Ok(Posterior {
        evidence: objective + 0.5 * (logs - log),
        mean,
        covariance,
        fitted,
        precision,
        residual,
    })
}

/// Returns y (1 - y) and t - y, with y the probability of 1.
fn slopes(fitted: &Array1<f64>, targets: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
    let probability = fitted.mapv(|f| 1.0 / (1.0 + (-f).exp()));
    // Where a probability is 1 to rounding, some curvature is left.
    let precision = probability.mapv(|y| (y * (1.0 - y)).max(1e-300));
    (precision, &targets - &probability)
}
