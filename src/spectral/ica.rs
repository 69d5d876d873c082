//! Independent components in feature space: kTDSEP.
//!
//! Rows are samples of mixtures in the order of time. Kernel PCA finds a basis in feature space, the
//! signals along it are made white, and a rotation makes their covariances with themselves some time
//! later as diagonal as can be. Of the signals that come out most are functions of the sources; those
//! that are kept have large autocorrelations and are not polynomials in those kept before.
//!
//! Harmeling, Ziehe, Kawanabe, Müller: Kernel-based nonlinear blind source separation, Neural
//! Computation 15 (2003).

use super::pca::KernelPca;
use super::projection::Projection;
use super::tdsep::joint_diagonalizer;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};

/// Axes of the basis whose variance is below this share of the largest have no signal but rounding.
const ROUNDING: f64 = 1e-12;
/// Degree of the polynomials that tell whether a component is a function of others.
const DEGREE: usize = 5;

/// The sources among white signals.
///
/// ```
/// use mercer::spectral::Sources;
/// // A slow and a fast wave, mixed by a rotation.
/// let wave = |t: usize, speed: f64| (speed * t as f64).sin() * 2f64.sqrt();
/// let signals = ndarray::Array2::from_shape_fn((500, 2), |(t, k)| {
///     let (slow, fast) = (wave(t, 0.1), wave(t, 1.3));
///     if k == 0 { 0.6 * slow + 0.8 * fast } else { 0.8 * slow - 0.6 * fast }
/// });
/// let sources = Sources::of(signals.view(), 2, 5)?;
/// let found = signals.dot(&sources.rotation);
/// let error = (0..500).map(|t| (found[[t, 0]].abs() - wave(t, 0.1).abs()).abs()).fold(0.0, f64::max);
/// assert!(error < 0.05);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sources {
    /// What makes the sources of the signals, a column for each.
    pub rotation: Array2<f64>,
    /// Their autocorrelations, a row for each source and a column for each delay.
    pub autocorrelations: Array2<f64>,
}

impl Sources {
    /// Finds sources among signals, columns of variance one, by so many delays. The largest value of
    /// each in size is positive.
    ///
    /// ```
    /// # use mercer::spectral::Sources;
    /// let one = ndarray::array![[1.0], [-1.0], [1.0], [-1.0]];
    /// assert_eq!(Sources::of(one.view(), 1, 1)?.autocorrelations[[0, 0]], -1.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are fewer than three samples, a number is not finite, or nothing is asked for.
    pub fn of(signals: ArrayView2<f64>, components: usize, lags: usize) -> Result<Self> {
        for (name, count) in [("n_components", components), ("n_lags", lags)] {
            if count == 0 {
                return Err(Error::parameter(name, "at least 1", 0));
            }
        }
        let (rows, width) = signals.dim();
        if rows < 3 || width == 0 {
            let expected = "at least 3 rows and a column".to_string();
            return Err(Error::shape(
                "signals",
                expected,
                format!("{rows} x {width}"),
            ));
        }
        let lags = lags.min(rows - 2);
        let delayed: Vec<Array2<f64>> = (1..=lags).map(|lag| covariance(signals, lag)).collect();
        let views: Vec<ArrayView2<f64>> = delayed.iter().map(|matrix| matrix.view()).collect();
        let rotation = joint_diagonalizer(&views)?;
        let turned = signals.dot(&rotation);
        let mut correlations = Array2::zeros((width, lags));
        for (mut column, matrix) in correlations.columns_mut().into_iter().zip(&delayed) {
            let product = matrix.dot(&rotation);
            for (value, (a, b)) in column
                .iter_mut()
                .zip(rotation.columns().into_iter().zip(product.columns()))
            {
                *value = a.dot(&b);
            }
        }
        let scores = correlations.map_axis(Axis(1), |row| row.dot(&row));
        let chosen = choose(&turned, &scores, components.min(width));
        let mut rotation = rotation.select(Axis(1), &chosen);
        for (mut column, &signal) in rotation.columns_mut().into_iter().zip(&chosen) {
            column *= sign_of_peak(turned.column(signal));
        }
        Ok(Sources {
            rotation,
            autocorrelations: correlations.select(Axis(0), &chosen),
        })
    }
}

/// Returns the symmetric part of the covariance of signals with themselves some time later.
fn covariance(signals: ArrayView2<f64>, lag: usize) -> Array2<f64> {
    let rows = signals.nrows() - lag;
    let product = signals
        .slice(s![..rows, ..])
        .t()
        .dot(&signals.slice(s![lag.., ..]));
    (&product + &product.t()) * (0.5 / rows as f64)
}

/// Chooses signals with large scores that are not functions of each other, one after another.
fn choose(signals: &Array2<f64>, scores: &Array1<f64>, count: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let mut basis: Vec<Array1<f64>> = Vec::new();
    let mut left = scores.clone();
    while chosen.len() < count {
        let free = (0..left.len()).filter(|signal| !chosen.contains(signal));
        let Some(best) = free.reduce(|a, b| if left[b] > left[a] { b } else { a }) else {
            break;
        };
        chosen.push(best);
        for power in powers(signals.column(best)) {
            extend(&mut basis, power);
        }
        for (signal, left) in left.iter_mut().enumerate() {
            let column = signals.column(signal);
            let explained: f64 = basis.iter().map(|axis| axis.dot(&column).powi(2)).sum();
            let share = (explained / signals.nrows() as f64).min(1.0);
            *left = scores[signal] * (1.0 - share);
        }
    }
    chosen
}

/// Returns Legendre's polynomials of a signal, the constant aside, without their means. They are near to
/// orthogonal, since the signal is scaled to their range.
fn powers(signal: ArrayView1<f64>) -> Vec<Array1<f64>> {
    let largest = signal.iter().fold(f64::MIN_POSITIVE, |a, b| a.max(b.abs()));
    let x = signal.mapv(|value| value / largest);
    let mut powers = vec![Array1::ones(x.len()), x.clone()];
    for k in 1..DEGREE {
        let (a, b) = (&powers[k] * &x, &powers[k - 1]);
        powers.push((a * (2 * k + 1) as f64 - b * k as f64) / (k + 1) as f64);
    }
    let centred = powers.into_iter().skip(1);
    centred
        .map(|power| &power - power.mean().unwrap_or(0.0))
        .collect()
}

/// Adds what is new in a vector to an orthonormal basis.
fn extend(basis: &mut Vec<Array1<f64>>, mut vector: Array1<f64>) {
    let before = vector.dot(&vector).sqrt();
    // Twice is enough.
    for _ in 0..2 {
        for axis in basis.iter() {
            let along = axis.dot(&vector);
            vector.scaled_add(-along, axis);
        }
    }
    let norm = vector.dot(&vector).sqrt();
    if norm > 1e-10 * before {
        basis.push(vector / norm);
    }
}

/// Returns the sign of the largest value in size.
fn sign_of_peak(signal: ArrayView1<f64>) -> f64 {
    let largest = |a: f64, b: f64| if b.abs() > a.abs() { b } else { a };
    let peak = signal.iter().copied().fold(0.0, largest);
    if peak < 0.0 { -1.0 } else { 1.0 }
}

/// Independent components in feature space, found by kTDSEP.
///
/// ```
/// use mercer::{Kernel, spectral::KernelIca};
/// let x = ndarray::Array2::from_shape_fn((300, 2), |(t, k)| {
///     let (a, b) = ((0.1 * t as f64).sin(), (0.73 * t as f64).cos());
///     if k == 0 { a + b } else { a - 0.5 * b }
/// });
/// let model = KernelIca::new(Kernel::linear()).fit(x.view())?;
/// assert_eq!(model.transform(x.view())?.dim(), (300, 2));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelIca {
    kernel: Kernel,
    components: usize,
    basis: usize,
    lags: usize,
}

impl KernelIca {
    /// Makes an analysis that looks for two sources, in a basis of 20 dimensions and by 20 delays.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelIca};
    /// let constant = ndarray::array![[1.0], [1.0], [1.0]];
    /// assert!(KernelIca::new(Kernel::linear()).fit(constant.view()).is_err());
    /// ```
    pub fn new(kernel: Kernel) -> Self {
        KernelIca {
            kernel,
            components: 2,
            basis: 20,
            lags: 20,
        }
    }

    /// Sets the number of sources.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelIca};
    /// let x = ndarray::array![[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.5]];
    /// let model = KernelIca::new(Kernel::linear()).components(1).fit(x.view())?;
    /// assert_eq!(model.transform(x.view())?.ncols(), 1);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn components(mut self, components: usize) -> Self {
        self.components = components;
        self
    }

    /// Sets the dimensions of the basis in feature space. More can undo more, but also fit noise.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelIca};
    /// let x = ndarray::array![[0.0], [1.0], [0.5], [-1.0]];
    /// let model = KernelIca::new(Kernel::rbf(1.0)).components(1).basis(3).fit(x.view())?;
    /// assert_eq!(model.basis(), 3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn basis(mut self, basis: usize) -> Self {
        self.basis = basis;
        self
    }

    /// Sets the number of delays, which should reach over the time in which the sources differ.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelIca};
    /// let x = ndarray::array![[0.0], [1.0], [0.5], [-1.0]];
    /// let model = KernelIca::new(Kernel::linear()).components(1).lags(2).fit(x.view())?;
    /// assert_eq!(model.autocorrelations().dim(), (1, 2));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn lags(mut self, lags: usize) -> Self {
        self.lags = lags;
        self
    }

    /// Finds the sources of rows in the order of time.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelIca};
    /// let x = ndarray::array![[0.0], [1.0]];
    /// let refused = KernelIca::new(Kernel::linear()).fit(x.view()).unwrap_err();
    /// assert!(refused.to_string().contains("at least 3"));
    /// ```
    ///
    /// # Errors
    /// If there are fewer than three rows, all are the same, or a parameter is out of range; and as
    /// [`KernelPca::fit`].
    pub fn fit<X>(&self, x: X) -> Result<KernelIcaModel>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let samples = x.try_into()?;
        let rows = samples.rows();
        if rows < 3 {
            let expected = "at least 3 rows in the order of time".to_string();
            return Err(Error::shape("X", expected, rows.to_string()));
        }
        let count = self.basis.max(self.components).min(rows);
        let pca = KernelPca::new(self.kernel.clone()).components(count);
        let weights = vec![1.0; rows];
        let fitted = pca.fit_weighted(&samples, &weights, &|| false)?;
        let basis = fitted.ok_or(Error::Exhausted)?;
        let largest = basis.eigenvalues().first().copied().unwrap_or(0.0);
        if largest <= 0.0 {
            return Err(Error::parameter("X", "rows that differ", "none that do"));
        }
        let is_kept = |value: &&f64| **value > ROUNDING * largest;
        let kept = basis.eigenvalues().iter().take_while(is_kept).count();
        let total = rows as f64;
        let white = basis
            .eigenvectors()
            .slice(s![.., ..kept])
            .mapv(|v| total.sqrt() * v);
        let sources = Sources::of(white.view(), self.components, self.lags)?;
        let mut functions = sources.rotation;
        for (mut row, value) in functions.rows_mut().into_iter().zip(basis.eigenvalues()) {
            row *= (total / value).sqrt();
        }
        let coefficients = functions
            .t()
            .dot(&basis.coefficients().slice(s![..kept, ..]));
        let constants = ArrayView1::from(&basis.intercept()[..kept]);
        let intercept = functions.t().dot(&constants).to_vec();
        let held = (!matches!(self.kernel, Kernel::Precomputed)).then_some(samples);
        Ok(KernelIcaModel {
            projection: Projection::new(
                self.kernel.clone(),
                held,
                coefficients.view(),
                &intercept,
            )?,
            autocorrelations: sources.autocorrelations,
            basis: kept,
        })
    }
}

/// A fitted [`KernelIca`].
///
/// ```
/// use mercer::{Kernel, spectral::KernelIca};
/// let x = ndarray::array![[0.0], [1.0], [0.5], [-1.0]];
/// let model = KernelIca::new(Kernel::linear()).components(1).fit(x.view())?;
/// let source = model.transform(x.view())?;
/// assert!((source.iter().map(|value| value * value).sum::<f64>() / 4.0 - 1.0).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct KernelIcaModel {
    projection: Projection,
    autocorrelations: Array2<f64>,
    basis: usize,
}

impl KernelIcaModel {
    /// Returns how many dimensions the basis has.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelIca};
    /// let x = ndarray::array![[0.0], [1.0], [0.5], [-1.0]];
    /// let model = KernelIca::new(Kernel::linear()).components(1).fit(x.view())?;
    /// assert_eq!(model.basis(), 1); // of a line
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn basis(&self) -> usize {
        self.basis
    }

    /// Returns the autocorrelations of the sources, a column for each delay.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelIca};
    /// let x = ndarray::array![[0.0], [1.0], [0.0], [1.0]];
    /// let model = KernelIca::new(Kernel::linear()).components(1).lags(1).fit(x.view())?;
    /// assert!((model.autocorrelations()[[0, 0]] + 1.0).abs() < 1e-12);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn autocorrelations(&self) -> &Array2<f64> {
        &self.autocorrelations
    }

    /// Returns the sources of rows. With a precomputed kernel, row i of `x` holds the kernel values with
    /// all training rows.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelIca};
    /// let x = ndarray::array![[0.0], [1.0], [0.5], [-1.0]];
    /// let model = KernelIca::new(Kernel::linear()).components(1).fit(x.view())?;
    /// assert_eq!(model.transform(ndarray::array![[7.0]].view())?.dim(), (1, 1));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rows are not as long as those fitted to, or an entry is not finite.
    pub fn transform<X>(&self, x: X) -> Result<Array2<f64>>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let projected = self.projection.project(&x.try_into()?, &|| false)?;
        Ok(projected.unwrap_or_default())
    }
}
