//! The Bayes point: the centre of mass of all classifiers that make no errors, approximately.
//!
//! Perceptrons trained on the samples in different orders are such classifiers. Their mean, each made
//! of length one in feature space, is near the centre: Herbrich, Graepel, Campbell: Bayes point
//! machines (2001), section 3.2. Noise is allowed for by a ridge, which makes all samples separable:
//!
//! ```text
//! K + ridge I,   w = sum_i alpha_i phi(x_i),   mean of w / |w| over the orders
//! ```

use crate::error::{Error, Halt, Polled, Result, Stop, poll};
use crate::simd::random::Random;
use crate::simd::{Isa, add_multiple, memory};
use ndarray::{Array1, ArrayView2};

/// How perceptrons are trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Perceptrons {
    /// How many orders of the samples.
    pub count: usize,
    /// Added to the diagonal of the kernel matrix.
    pub ridge: f64,
    /// Most passes over the samples for each.
    pub max_iter: usize,
    /// Of the orders.
    pub seed: u64,
}

impl Default for Perceptrons {
    fn default() -> Self {
        Perceptrons {
            count: 100,
            ridge: 1.0,
            max_iter: 1000,
            seed: 0,
        }
    }
}

/// The mean of perceptrons.
#[derive(Clone, Debug)]
pub struct BayesPoint {
    /// The coefficients of the samples.
    pub coefficients: Array1<f64>,
    /// Passes over the samples, of all perceptrons together.
    pub iterations: usize,
    /// How many perceptrons made no error in their last pass.
    pub converged: usize,
}

impl Perceptrons {
    /// Trains on a kernel matrix and signs.
    ///
    /// ```
    /// use mercer::bayes::Perceptrons;
    /// let kernel = ndarray::array![[1.0, -0.5], [-0.5, 1.0]];
    /// let point = Perceptrons::default().fit(kernel.view(), &[1.0, -1.0])?;
    /// assert!(point.coefficients[0] > 0.0 && point.coefficients[1] < 0.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not fit, a setting is out of range, or there is no memory.
    pub fn fit(&self, kernel: ArrayView2<f64>, signs: &[f64]) -> Result<BayesPoint> {
        self.fit_until(kernel, signs, &|| false)
            .map_err(|halt| match halt {
                Halt::Failed(error) => error,
                Halt::Stopped => Error::Exhausted,
            })
    }

    pub(crate) fn fit_until(
        &self,
        kernel: ArrayView2<f64>,
        signs: &[f64],
        stop: Stop,
    ) -> Polled<BayesPoint> {
        self.check(kernel, signs)?;
        let n = signs.len();
        let mut mean = Array1::zeros(n);
        let mut random = Random::new(self.seed);
        let mut order: Vec<usize> = (0..n).collect();
        let (mut iterations, mut converged) = (0, 0);
        for _ in 0..self.count {
            random.shuffle(&mut order);
            let one = self.perceptron(kernel, signs, &order, stop)?;
            iterations += one.1;
            converged += usize::from(one.2);
            mean += &one.0;
        }
        Ok(BayesPoint {
            coefficients: mean / self.count as f64,
            iterations,
            converged,
        })
    }

    fn check(&self, kernel: ArrayView2<f64>, signs: &[f64]) -> Result<()> {
        if kernel.dim() != (signs.len(), signs.len()) || signs.is_empty() {
            let got = format!("{} x {}", kernel.nrows(), kernel.ncols());
            return Err(Error::shape(
                "the kernel matrix",
                "a row and a column for each sign",
                got,
            ));
        }
        if self.count == 0 || self.max_iter == 0 {
            return Err(Error::parameter(
                "n_perceptrons and max_iter",
                "at least 1",
                0,
            ));
        }
        if !(self.ridge >= 0.0 && self.ridge.is_finite()) {
            return Err(Error::parameter(
                "ridge",
                "finite and not negative",
                self.ridge,
            ));
        }
        Ok(())
    }

    /// Trains one: its coefficients for length one, passes, and whether the last made no error.
    fn perceptron(
        &self,
        kernel: ArrayView2<f64>,
        signs: &[f64],
        order: &[usize],
        stop: Stop,
    ) -> Polled<(Array1<f64>, usize, bool)> {
        let (n, isa) = (signs.len(), Isa::detect());
        let mut alpha: Vec<f64> = memory::zeros(n, "the coefficients of a perceptron")?;
        let mut scores: Vec<f64> = memory::zeros(n, "the scores of a perceptron")?;
        let (mut passes, mut errors) = (0, 1);
        while errors > 0 && passes < self.max_iter {
            poll(stop)?;
            passes += 1;
            errors = 0;
            for &i in order {
                if signs[i] * (scores[i] + self.ridge * alpha[i]) > 0.0 {
                    continue;
                }
                errors += 1;
                alpha[i] += signs[i];
                let row = kernel.row(i);
                match row.as_slice() {
                    Some(row) => add_multiple(isa, signs[i], row, &mut scores),
                    None => scores
                        .iter_mut()
                        .zip(row)
                        .for_each(|(s, k)| *s += signs[i] * k),
                }
            }
        }
        let square: f64 = (alpha.iter().zip(&scores))
            .map(|(alpha, score)| alpha * (score + self.ridge * alpha))
            .sum();
        let length = if square > 0.0 { square.sqrt() } else { 1.0 };
        Ok((Array1::from(alpha) / length, passes, errors == 0))
    }
}
