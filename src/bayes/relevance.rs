//! Relevance vector machines: weights of basis functions, each with a precision of its own.
//!
//! ```text
//! w_m ~ N(0, 1 / alpha_m),   maximise over alpha   log P(t | alpha) = log of the integral over w
//! ```
//!
//! Most alpha become infinite, and their basis functions leave the model. Tipping: Sparse Bayesian
//! learning and the relevance vector machine (2001); Tipping and Faul: Fast marginal likelihood
//! maximisation for sparse Bayesian models (2003), which this follows. With C_m the covariance of the
//! targets without basis function m, s_m = phi_m' C_m^-1 phi_m and q_m = phi_m' C_m^-1 t,
//!
//! ```text
//! alpha_m = s_m^2 / (q_m^2 - s_m) if q_m^2 > s_m, else infinite
//! ```
//!
//! maximises over alpha_m alone. Each step takes the one that gains most; the likelihood rises until
//! none gains more than `tol`.

use super::likelihood::{Noise, Posterior, State};
use crate::error::{Error, Polled, Result, Stop, poll};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

/// How a sparse model is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelevanceSettings {
    /// The gain in log marginal likelihood, and the change of log precisions, at which to stop.
    pub tol: f64,
    /// Most steps.
    pub max_iter: usize,
}

impl Default for RelevanceSettings {
    fn default() -> Self {
        RelevanceSettings {
            tol: 1e-6,
            max_iter: 10_000,
        }
    }
}

/// A sparse Bayesian model.
///
/// ```
/// use mercer::bayes::{Noise, Relevance, RelevanceSettings};
/// // A line through the origin, and a column that has nothing to say.
/// let phi = ndarray::array![[1.0, 0.3], [2.0, 0.3], [3.0, -0.2], [4.0, -0.2], [5.0, 0.1]];
/// let t = ndarray::array![2.1, 3.9, 6.1, 7.9, 10.0];
/// let settings = RelevanceSettings::default();
/// let model = Relevance::fit(phi.view(), t.view(), Noise::Gaussian, settings)?;
/// assert_eq!(model.columns, [0]);
/// assert!((model.mean[0] - 2.0).abs() < 0.02 && model.converged);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Relevance {
    /// The columns of the design that are in the model, in rising order.
    pub columns: Vec<usize>,
    /// Their precisions.
    pub alpha: Vec<f64>,
    /// The mean of the posterior of their weights.
    pub mean: Array1<f64>,
    /// Its covariance.
    pub covariance: Array2<f64>,
    /// The precision of Gaussian noise; 1 of Bernoulli noise.
    pub beta: f64,
    /// The log marginal likelihood; Laplace's approximation for Bernoulli noise.
    pub evidence: f64,
    /// Steps taken.
    pub iterations: usize,
    /// Whether no step gains more than the tolerance.
    pub converged: bool,
}

impl Relevance {
    /// Finds the model for the columns of `phi` and targets.
    ///
    /// # Errors
    /// If the shapes do not fit, a number is not finite, or targets of Bernoulli noise are not 0 or 1.
    ///
    /// ```
    /// # use mercer::bayes::{Noise, Relevance, RelevanceSettings};
    /// let phi = ndarray::array![[-2.0], [-1.0], [1.0], [2.0]];
    /// let t = ndarray::array![0.0, 1.0, 0.0, 1.0];
    /// let settings = RelevanceSettings::default();
    /// let model = Relevance::fit(phi.view(), t.view(), Noise::Bernoulli, settings)?;
    /// assert!(model.mean.iter().all(|weight| weight.is_finite()));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn fit(
        phi: ArrayView2<f64>,
        targets: ArrayView1<f64>,
        noise: Noise,
        settings: RelevanceSettings,
    ) -> Result<Self> {
        match Self::fit_until(phi, targets, noise, settings, &|| false) {
            Ok(model) => Ok(model),
            Err(crate::error::Halt::Failed(error)) => Err(error),
            Err(crate::error::Halt::Stopped) => Err(Error::Exhausted),
        }
    }

    /// Finds the model, unless `stop` says so.
    pub(crate) fn fit_until(
        phi: ArrayView2<f64>,
        targets: ArrayView1<f64>,
        noise: Noise,
        settings: RelevanceSettings,
        stop: Stop,
    ) -> Polled<Self> {
        check(phi, targets, noise)?;
        let mut search = Search::new(phi, targets, noise)?;
        let mut iterations = 0;
        let mut converged = false;
        while iterations < settings.max_iter && !converged {
            poll(stop)?;
            iterations += 1;
            converged = search.step(settings.tol)?;
        }
        let mut order: Vec<usize> = (0..search.active.len()).collect();
        order.sort_by_key(|&k| search.active[k]);
        let posterior = &search.posterior;
        Ok(Relevance {
            columns: order.iter().map(|&k| search.active[k]).collect(),
            alpha: order.iter().map(|&k| search.alpha[k]).collect(),
            mean: posterior.mean.select(Axis(0), &order),
            covariance: posterior
                .covariance
                .select(Axis(0), &order)
                .select(Axis(1), &order),
            beta: if noise == Noise::Gaussian {
                search.state.beta
            } else {
                1.0
            },
            evidence: posterior.evidence,
            iterations,
            converged,
        })
    }
}

fn check(phi: ArrayView2<f64>, targets: ArrayView1<f64>, noise: Noise) -> Result<()> {
    if phi.nrows() != targets.len() || phi.is_empty() {
        let got = format!(
            "{} x {} for {} targets",
            phi.nrows(),
            phi.ncols(),
            targets.len()
        );
        return Err(Error::shape(
            "phi",
            "one row for each target, and a column",
            got,
        ));
    }
    if !phi.iter().chain(targets).all(|value| value.is_finite()) {
        return Err(Error::parameter("X and y", "finite", "NaN or infinity"));
    }
    let binary = targets.iter().all(|&t| t == 0.0 || t == 1.0);
    if noise == Noise::Bernoulli && !binary {
        return Err(Error::parameter("y", "0 or 1", "other targets"));
    }
    Ok(())
}

/// What a step does to a column.
#[derive(Clone, Copy)]
enum Change {
    Add(usize, f64),
    Set(usize, f64),
    Remove(usize),
}

struct Search<'a> {
    phi: ArrayView2<'a, f64>,
    targets: ArrayView1<'a, f64>,
    state: State,
    /// The columns in the model, and their precisions.
    active: Vec<usize>,
    alpha: Vec<f64>,
    posterior: Posterior,
}

impl<'a> Search<'a> {
    /// Begins with the column that explains most.
    fn new(phi: ArrayView2<'a, f64>, targets: ArrayView1<'a, f64>, noise: Noise) -> Polled<Self> {
        let mut state = State::new(noise, targets, phi.ncols());
        let working = match noise {
            Noise::Gaussian => targets.to_owned(),
            Noise::Bernoulli => targets.mapv(|t| 4.0 * (t - 0.5)),
        };
        let share = |column: ArrayView1<f64>| {
            let square = column.dot(&column);
            if square > 0.0 {
                column.dot(&working).powi(2) / square
            } else {
                0.0
            }
        };
        let shares: Vec<f64> = phi.columns().into_iter().map(share).collect();
        let best = (0..shares.len()).fold(0, |a, b| if shares[b] > shares[a] { b } else { a });
        let square = phi.column(best).dot(&phi.column(best));
        let excess = shares[best] - state.beta.recip();
        let alpha = match excess > 0.0 && square > 0.0 {
            true => vec![square / excess],
            false => vec![square.max(1.0) * state.beta],
        };
        let active = vec![best];
        let chosen = phi.select(Axis(1), &active);
        let posterior = state.posterior(chosen.view(), targets, &active, &alpha)?;
        Ok(Search {
            phi,
            targets,
            state,
            active,
            alpha,
            posterior,
        })
    }

    /// Makes the change that gains most and learns the noise. Returns whether neither matters.
    fn step(&mut self, tol: f64) -> Polled<bool> {
        let (change, gain, moved) = self.best();
        if let Some(change) = change.filter(|_| gain > 0.0) {
            match change {
                Change::Add(column, alpha) => {
                    self.active.push(column);
                    self.alpha.push(alpha);
                }
                Change::Set(k, alpha) => self.alpha[k] = alpha,
                Change::Remove(k) => {
                    self.active.swap_remove(k);
                    self.alpha.swap_remove(k);
                }
            }
            self.update()?;
        }
        let learned = self.state.learn(&self.posterior, self.targets, &self.alpha);
        if learned > 0.0 {
            self.update()?;
        }
        Ok(gain <= tol && moved <= tol.sqrt() && learned <= tol)
    }

    fn update(&mut self) -> Polled<()> {
        let chosen = self.phi.select(Axis(1), &self.active);
        let (active, alpha) = (&self.active, &self.alpha);
        self.posterior = self
            .state
            .posterior(chosen.view(), self.targets, active, alpha)?;
        Ok(())
    }

    /// Returns the change that gains most, what it gains, and the change of a log precision in it.
    fn best(&self) -> (Option<Change>, f64, f64) {
        let posterior = &self.posterior;
        let chosen = self.phi.select(Axis(1), &self.active);
        let weighted = &chosen * &posterior.precision.view().insert_axis(Axis(1));
        let cross = self.phi.t().dot(&weighted);
        let shrunk = cross.dot(&posterior.covariance);
        let correlation = self.phi.t().dot(&posterior.residual);
        let place = |column| self.active.iter().position(|&other| other == column);
        let mut best = (None, 0.0, 0.0);
        for column in 0..self.phi.ncols() {
            let phi = self.phi.column(column);
            let own: f64 = (phi.iter().zip(&posterior.precision))
                .map(|(phi, precision)| phi * phi * precision)
                .sum();
            let large = own - shrunk.row(column).dot(&cross.row(column));
            // What is left of a column that the model holds already is rounding.
            if large <= 1e-12 * own {
                continue;
            }
            let of = (large, correlation[column]);
            let found = match place(column) {
                None => addition(of).map(|(alpha, gain)| (Change::Add(column, alpha), gain, 1.0)),
                Some(k) => {
                    revision(of, self.alpha[k], self.active.len() == 1).map(|(alpha, gain)| {
                        match alpha {
                            Some(alpha) => {
                                let moved = (alpha / self.alpha[k]).ln().abs();
                                (Change::Set(k, alpha), gain, moved)
                            }
                            None => (Change::Remove(k), gain, 1.0),
                        }
                    })
                }
            };
            if let Some((change, gain, moved)) = found.filter(|found| found.1 > best.1) {
                best = (Some(change), gain, moved);
            }
        }
        best
    }
}

/// Returns the precision of a column that is new to the model, and the gain; (S, Q) are its.
fn addition((s, q): (f64, f64)) -> Option<(f64, f64)> {
    let excess = q * q - s;
    (excess > 0.0).then(|| (s * s / excess, 0.5 * (excess / s - (q * q / s).ln())))
}

/// Returns the new precision of a column, None where it leaves the model, and the gain.
fn revision(
    (large, correlation): (f64, f64),
    alpha: f64,
    only: bool,
) -> Option<(Option<f64>, f64)> {
    let without = alpha - large;
    if without <= 0.0 {
        return None;
    }
    let (s, q) = (alpha * large / without, alpha * correlation / without);
    let excess = q * q - s;
    if excess > 0.0 {
        let next = s * s / excess;
        let difference = next.recip() - alpha.recip();
        if difference == 0.0 {
            return None;
        }
        let gain =
            correlation * correlation / (large + difference.recip()) - (large * difference).ln_1p();
        return Some((Some(next), 0.5 * gain));
    }
    let gain = correlation * correlation / (large - alpha) - (-large / alpha).ln_1p();
    (!only).then_some((None, 0.5 * gain))
}
