//! Secant: the search for the intercept at which the sum is what it has to be.
//!
//! At the maximum for a given intercept b the excess of the sum, omega(b), does not grow with b. The
//! rule of the paper takes a new intercept after every epoch: where the line through the last two
//! points (b, omega) crosses zero. The first two are on either side of the intercept of the start.
//! Two points say little as long as an epoch has not brought the coefficients near the maximum, so
//! the slope of the line is guarded: it may fall to half of what it was at the most, is kept where
//! the points would make it negative, and at least doubled after an epoch that overshot.
//!
//! With `mu` the rule is that of the paper: the first two intercepts are mu and -mu, and the slope is not
//! guarded, but kept where it would be negative or not a number, which is the error trap that the paper
//! asks for.
//!
//! Where omega is a jump, as for kernels of low rank, no slope is steep enough, and intercept and sum
//! would chase each other for ever. When they do not come closer for long, the square of the excess
//! is charged as well, which leaves the maximum where it is: the method of multipliers, slower but
//! safe.

/// Epochs in which the error has to halve, or the square of the excess is charged: far more than a
/// search that works needs.
const PATIENCE: u64 = 100;
/// The factor of half that square, as a share of the mean curvature: the smaller, the slower, but a
/// large one lets the sum alone decide the steps.
const CHARGE: f64 = 0.25;

/// The intercepts of the epochs.
pub(super) struct Secant {
    intercept: f64,
    /// The second intercept.
    second: f64,
    /// The intercept before, and the excess it left.
    last: Option<(f64, f64)>,
    slope: f64,
    curvature: f64,
    eta: f64,
    /// The last excess.
    excess: f64,
    /// The error to halve, the epochs it has been given, and how often the excess changed sign.
    error: f64,
    waited: u64,
    turns: u64,
    charge: f64,
    /// Whether the slope is that of the last two points alone.
    plain: bool,
    /// How much of the excess the intercept takes over after an epoch in which it was charged.
    gain: f64,
}

impl Secant {
    /// Begins on either side of `start`. The slope is at first that of variables which do not
    /// depend on each other, each with the mean `curvature`.
    pub fn new(start: f64, distance: f64, curvature: f64, eta: f64) -> Self {
        Secant {
            intercept: start + distance,
            second: start - distance,
            last: None,
            slope: 1.0 / curvature,
            curvature,
            eta,
            excess: 0.0,
            error: f64::INFINITY,
            waited: 0,
            turns: 0,
            charge: 0.0,
            plain: false,
            gain: 0.0,
        }
    }

    /// Begins as published.
    pub fn published(mu: f64, curvature: f64, eta: f64) -> Self {
        Secant {
            plain: true,
            ..Secant::new(0.0, mu, curvature, eta)
        }
    }

    /// Returns the intercept of the next epoch.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    /// Returns the factor of half the square of the excess in the next epoch.
    pub fn charge(&self) -> f64 {
        self.charge
    }

    /// Takes the excess and the gap that the epoch has left.
    pub fn observe(&mut self, excess: f64, gap: f64) {
        let error = gap + self.curvature * excess.abs();
        self.waited += 1;
        self.turns += u64::from(excess * self.excess < 0.0);
        self.excess = excess;
        if error <= 0.5 * self.error || self.waited > PATIENCE {
            if self.waited > PATIENCE {
                self.lose_patience();
            }
            (self.error, self.waited, self.turns) = (error, 0, 0);
        }
        if self.charge > 0.0 {
            self.intercept += self.gain * excess;
            return;
        }
        let Some((intercept, before)) = self.last.replace((self.intercept, excess)) else {
            self.intercept = self.second;
            return;
        };
        let slope = (before - excess) / (self.intercept - intercept);
        let overshot = before * excess < 0.0 && excess.abs() > 0.5 * before.abs();
        if overshot && !self.plain {
            self.slope *= 2.0;
        }
        if slope > 0.0 && slope.is_finite() {
            let least = match (self.plain, overshot) {
                (true, _) => 0.0,
                (false, true) => self.slope,
                (false, false) => 0.5 * self.slope,
            };
            self.slope = slope.max(least);
        }
        self.intercept += excess / self.slope;
    }

    /// Charges the excess, or else finds out how much of that the intercept can take over at a time.
    fn lose_patience(&mut self) {
        if self.charge == 0.0 {
            self.charge = CHARGE * self.curvature;
            // Epochs that overshoot leave less of the excess to be believed.
            self.gain = self.charge * (1.0 - 0.5 * self.eta);
        } else if self.turns > PATIENCE / 8 {
            self.gain *= 0.5;
        } else {
            self.gain = (2.0 * self.gain).min(self.charge);
        }
    }
}
