//! Fisher's discriminant in feature space.
//!
//! ```text
//! S = sum_i w_i (phi_i - m_c(i)) (phi_i - m_c(i))' / W + reg 1      within the classes, regularised
//! B = sum_k pi_k (m_k - m) (m_k - m)'                               between them
//! B v = lambda S v,   v' S v = 1                                    the discriminants
//! score_k(z) = y.y_k - y_k.y_k / 2 + log pi_k                       y = V'(phi(z) - m), y_k = V'(m_k - m)
//! ```
//!
//! Mika, Rätsch, Weston, Scholkopf and Müller, Fisher discriminant analysis with kernels (1999), with the
//! regularisation on the norm of v; in the plane it is linear discriminant analysis. By Woodbury,
//!
//! ```text
//! reg S^-1 = 1 - Phi' Q' (Q K Q' + W reg)^-1 Q Phi       Q = sqrt(w) (1 - class means)
//! ```
//!
//! so one Cholesky factor of the order of the rows gives S^-1 (m_k - m), and what is left is an eigenproblem
//! of the order of the classes.
//!
//! With landmarks (`low_rank`), the features of the rows are explicit, and S is a matrix of the order of the
//! landmarks: linear discriminants of these features.
//!
//! A discriminant is also the regression on the indicators of the classes, with W reg as the ridge (Hastie,
//! Buja and Tibshirani, Penalized discriminant analysis, 1995). Leaving out one row changes its fitted
//! value in closed form, (f_i - h_ii y_i) / (1 - h_ii), and one decomposition of the centred matrix serves
//! every ridge: that is how `reg` is chosen.

use super::dense::{add_product, cross};
use super::eigen::{Eigen, decompose};
use super::low_rank::LowRank;
use super::operator::{Frame, centred, write};
use super::pca::check_weights;
use crate::data::Samples;
use crate::error::{Error, Polled, Result, Stop, poll, unless_stopped};
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::simd::{Isa, cholesky, inner_product, memory, parallel};
use ndarray::Array2;

/// What an error calls explicit features.
const FEATURES: &str = "features of the rows";
/// Discriminants whose eigenvalue is below this share of the largest are none.
const NONE: f64 = 1e-12;
/// What `reg` is chosen from, as shares of the mean squared distance from the mean: powers of ten from
/// the first to the last, so many for each power.
const SHARES: (i32, i32, i32) = (-8, 1, 2);

/// Of all whose error is at most so many times the least, the largest `reg` is chosen: errors hardly
/// differ where little is regularised, and rounding would choose among them.
const AS_GOOD: f64 = 1.01;

/// How the scatter within the classes is regularised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Regularisation {
    /// What is added to its diagonal.
    Fixed(f64),
    /// That with the least squared error of rows left out one by one.
    LeaveOneOut,
}

/// Kernel Fisher discriminants to be fitted.
///
/// ```
/// use mercer::{Kernel, Samples, spectral::{KernelFisher, Regularisation}};
/// let x = Samples::try_from(ndarray::array![[0.0], [1.0], [5.0], [6.0]].view())?;
/// let fisher = KernelFisher::new(Kernel::linear(), Regularisation::Fixed(0.0625));
/// let found = fisher.fit(&x, &[0, 0, 1, 1], &[1.0; 4], None, &|| false)?.expect("not stopped");
/// // The means are 0.5 and 5.5, the regularised variance is 0.25 + 0.0625.
/// let apart = (found.means[[1, 0]] - found.means[[0, 0]]).abs();
/// assert!((apart - 5.0 / 0.3125f64.sqrt()).abs() < 1e-9);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelFisher {
    kernel: Kernel,
    reg: Regularisation,
    landmarks: Option<usize>,
}

/// Fitted discriminants.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Discriminants {
    /// Coefficients of the training rows, or of the landmarks, one row for each discriminant.
    pub coefficients: Array2<f64>,
    /// The rows that stand for all, if not all do.
    pub landmarks: Option<Vec<usize>>,
    /// Constants of the discriminants: the mean of all rows is at zero.
    pub intercept: Vec<f64>,
    /// The projected means of the classes, shape (classes, discriminants).
    pub means: Array2<f64>,
    /// The ratio of the variance between the classes to that within, of each discriminant.
    pub eigenvalues: Vec<f64>,
    /// What was added to the diagonal.
    pub reg: f64,
    /// Values that were tried, each with its mean squared error of rows left out.
    pub tried: Vec<(f64, f64)>,
}

impl KernelFisher {
    /// Begins with a kernel and a regularisation.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::{KernelFisher, Regularisation}};
    /// let fisher = KernelFisher::new(Kernel::rbf(1.0), Regularisation::LeaveOneOut);
    /// ```
    pub fn new(kernel: Kernel, reg: Regularisation) -> Self {
        KernelFisher {
            kernel,
            reg,
            landmarks: None,
        }
    }

    /// Sets how many rows may stand for all: time and memory then grow linearly with the number of rows,
    /// and the discriminants are those of the projections on these rows in feature space.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::{KernelFisher, Regularisation}};
    /// let fisher = KernelFisher::new(Kernel::rbf(1.0), Regularisation::LeaveOneOut).landmarks(200);
    /// ```
    pub fn landmarks(mut self, count: usize) -> Self {
        self.landmarks = Some(count);
        self
    }

    /// Fits to rows of numbered classes with positive weights; `None` if `stop` said so. `priors` are the
    /// shares of the classes, by default those of their weights.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, spectral::{KernelFisher, Regularisation}};
    /// let x = Samples::try_from(ndarray::array![[0.0], [1.0], [2.0]].view())?;
    /// let fisher = KernelFisher::new(Kernel::rbf(1.0), Regularisation::Fixed(0.1));
    /// assert!(fisher.fit(&x, &[0, 0, 0], &[1.0; 3], None, &|| false).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are fewer than two classes, a parameter is out of range or there is no memory.
    pub fn fit(
        &self,
        samples: &Samples,
        labels: &[usize],
        weights: &[f64],
        priors: Option<&[f64]>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Discriminants>> {
        let rows = check_weights(samples, weights)?;
        if labels.len() != rows {
            let (expected, got) = (format!("{rows} labels"), labels.len().to_string());
            return Err(Error::shape("y", expected, got));
        }
        let classes = Classes::new(labels, weights, priors)?;
        unless_stopped(self.fit_until(samples, &classes, stop))
    }

    fn fit_until(&self, samples: &Samples, classes: &Classes, stop: Stop) -> Polled<Discriminants> {
        let rows: Vec<usize> = (0..samples.rows()).collect();
        let matrix = KernelMatrix::new(&self.kernel, samples, rows)?;
        let frame = Frame::new(&classes.shares);
        let Some(count) = self.landmarks else {
            let (reg, tried) = self.regularisation(|| {
                let (values, _) = centred(&matrix, &frame, stop)?;
                let eigen = decompose(&values, matrix.len())?;
                choose(&eigen, classes, &frame, stop)
            })?;
            let found = solve(&matrix, classes, reg, stop)?;
            return Ok(Discriminants { tried, ..found });
        };
        if count == 0 {
            return Err(Error::parameter("n_landmarks", "at least 1", 0).into());
        }
        let low_rank = LowRank::new(&matrix, count, stop)?;
        let (reg, tried) = self.regularisation(|| {
            let eigen = decompose_low_rank(&low_rank, &frame)?;
            choose(&eigen, classes, &frame, stop)
        })?;
        let found = solve_low_rank(low_rank, classes, reg, stop)?;
        Ok(Discriminants { tried, ..found })
    }

    /// Returns the regularisation, and what was tried to choose it.
    fn regularisation(&self, choose: impl FnOnce() -> Polled<Chosen>) -> Polled<Chosen> {
        match self.reg {
            Regularisation::Fixed(reg) if reg > 0.0 && reg.is_finite() => Ok((reg, Vec::new())),
            Regularisation::Fixed(reg) => {
                Err(Error::parameter("reg", "positive and finite", reg).into())
            }
            Regularisation::LeaveOneOut => choose(),
        }
    }
}

/// A regularisation, and all that were tried with their errors.
type Chosen = (f64, Vec<(f64, f64)>);

/// Who belongs to which class.
struct Classes {
    labels: Vec<usize>,
    /// Weights such that those of a class add up to its prior.
    shares: Vec<f64>,
    priors: Vec<f64>,
    /// How many times a row is there: leaving one out leaves the others.
    copies: Vec<f64>,
}

impl Classes {
    fn new(labels: &[usize], weights: &[f64], priors: Option<&[f64]>) -> Result<Self> {
        let count = labels.iter().max().map_or(0, |&last| last + 1);
        let mut totals = vec![0.0; count];
        for (&label, weight) in labels.iter().zip(weights) {
            totals[label] += weight;
        }
        if count < 2 || totals.contains(&0.0) {
            let classes = totals.iter().filter(|&&total| total > 0.0).count();
            return Err(Error::TooFewClasses { classes });
        }
        let all: f64 = totals.iter().sum();
        let own: Vec<f64> = totals.iter().map(|total| total / all).collect();
        let priors = priors.unwrap_or(&own);
        let sum: f64 = priors.iter().sum();
        if priors.len() != count || !priors.iter().all(|&p| p > 0.0 && p.is_finite()) {
            let allowed = format!("{count} positive numbers, one for each class");
            return Err(Error::parameter("priors", allowed, format!("{priors:?}")));
        }
        let priors: Vec<f64> = priors.iter().map(|prior| prior / sum).collect();
        let rows = labels.iter().zip(weights);
        Ok(Classes {
            shares: rows
                .map(|(&label, weight)| weight * priors[label] / totals[label])
                .collect(),
            labels: labels.to_vec(),
            copies: weights.iter().map(|weight| weight.max(1.0)).collect(),
            priors,
        })
    }

    fn count(&self) -> usize {
        self.priors.len()
    }

    /// Returns the mean of values in each class.
    fn means(&self, values: &[f64]) -> Vec<f64> {
        let mut means = vec![0.0; self.count()];
        for ((&label, share), value) in self.labels.iter().zip(&self.shares).zip(values) {
            means[label] += share * value / self.priors[label];
        }
        means
    }

    /// Applies sqrt(w) (1 - class means).
    fn within(&self, values: &mut [f64]) {
        let means = self.means(values);
        for ((value, &label), share) in values.iter_mut().zip(&self.labels).zip(&self.shares) {
            *value = share.sqrt() * (*value - means[label]);
        }
    }

    /// Applies its transpose.
    fn within_transposed(&self, values: &mut [f64]) {
        let mut sums = vec![0.0; self.count()];
        for ((value, &label), share) in values.iter_mut().zip(&self.labels).zip(&self.shares) {
            *value *= share.sqrt();
            sums[label] += *value;
        }
        for ((value, &label), share) in values.iter_mut().zip(&self.labels).zip(&self.shares) {
            *value -= share * sums[label] / self.priors[label];
        }
    }

    /// Returns the coefficients of m_k - m.
    fn direction(&self, class: usize) -> Vec<f64> {
        let rows = self.labels.iter().zip(&self.shares);
        rows.map(|(&label, share)| match label == class {
            true => share / self.priors[class] - share,
            false => -share,
        })
        .collect()
    }
}

/// Finds the discriminants for a regularisation.
fn solve(matrix: &KernelMatrix, classes: &Classes, reg: f64, stop: Stop) -> Polled<Discriminants> {
    let (length, count) = (matrix.len(), classes.count());
    let isa = Isa::detect();
    let mut values = write(matrix, stop)?;
    let frame = Frame::new(&classes.shares);
    let overall: Vec<f64> = values.chunks(length).map(|row| frame.mean(row)).collect();
    let directions: Vec<Vec<f64>> = (0..count).map(|class| classes.direction(class)).collect();
    let images: Vec<Vec<f64>> = (directions.iter())
        .map(|direction| {
            let rows = values.chunks(length);
            rows.map(|row| inner_product(isa, row, direction)).collect()
        })
        .collect();
    centre_within(&mut values, classes, stop)?;
    for row in 0..length {
        values[row * length + row] += reg;
    }
    if !cholesky::factor(isa, &mut values, length, stop)? {
        return Err(not_definite(reg).into());
    }
    let mut inverse: Vec<Vec<f64>> = Vec::with_capacity(count);
    for (direction, image) in directions.iter().zip(&images) {
        poll(stop)?;
        let mut part = image.clone();
        classes.within(&mut part);
        cholesky::solve(isa, &values, &mut part);
        classes.within_transposed(&mut part);
        let terms = direction.iter().zip(&part);
        inverse.push(terms.map(|(own, part)| (own - part) / reg).collect());
    }
    drop(values);
    Ok(discriminants(classes, &images, &inverse, &overall, reg)?)
}

/// Solves the eigenproblem of the order of the classes.
fn discriminants(
    classes: &Classes,
    images: &[Vec<f64>],
    inverse: &[Vec<f64>],
    overall: &[f64],
    reg: f64,
) -> Result<Discriminants> {
    let (isa, count, length) = (Isa::detect(), classes.count(), overall.len());
    let mut between = vec![0.0; count * count];
    for k in 0..count {
        for l in k..count {
            let product = inner_product(isa, &images[k], &inverse[l]);
            let value = (classes.priors[k] * classes.priors[l]).sqrt() * product;
            (between[k * count + l], between[l * count + k]) = (value, value);
        }
    }
    let eigen = decompose(&between, count)?;
    let largest = eigen.values[0].max(0.0);
    let kept = (eigen.values.iter().take(count - 1))
        .take_while(|&&value| value > NONE * largest && value > 0.0)
        .count();
    let mut found = Discriminants {
        coefficients: Array2::zeros((kept, length)),
        intercept: vec![0.0; kept],
        means: Array2::zeros((count, kept)),
        eigenvalues: eigen.values[..kept].to_vec(),
        landmarks: None,
        reg,
        tried: Vec::new(),
    };
    for j in 0..kept {
        let mut row = found.coefficients.row_mut(j);
        for ((inverse, prior), entry) in inverse.iter().zip(&classes.priors).zip(eigen.vector(j)) {
            let factor = (prior / eigen.values[j]).sqrt() * entry;
            row.scaled_add(factor, &ndarray::ArrayView1::from(inverse));
        }
        let means: Vec<f64> = (images.iter())
            .map(|image| row.dot(&ndarray::ArrayView1::from(image)))
            .collect();
        // The class farthest from the mean is on the positive side.
        let farthest = means
            .iter()
            .copied()
            .reduce(|a, b| if b.abs() > a.abs() { b } else { a });
        let sign = farthest.unwrap_or(1.0).signum();
        row *= sign;
        found.intercept[j] = -row.dot(&ndarray::ArrayView1::from(overall));
        for (k, mean) in means.into_iter().enumerate() {
            found.means[[k, j]] = sign * mean;
        }
    }
    Ok(found)
}

/// Finds the discriminants of explicit features.
fn solve_low_rank(
    low_rank: LowRank,
    classes: &Classes,
    reg: f64,
    stop: Stop,
) -> Polled<Discriminants> {
    let (isa, rank, count) = (Isa::detect(), low_rank.rank(), classes.count());
    let columns = low_rank.columns.chunks(low_rank.length);
    let means: Vec<Vec<f64>> = columns.map(|column| classes.means(column)).collect();
    let overall: Vec<f64> = (means.iter())
        .map(|means| means.iter().zip(&classes.priors).map(|(m, p)| m * p).sum())
        .collect();
    let directions: Vec<Vec<f64>> = (0..count)
        .map(|class| {
            let pairs = means.iter().zip(&overall);
            pairs
                .map(|(means, overall)| means[class] - overall)
                .collect()
        })
        .collect();
    let mut within = memory::collected(low_rank.columns.iter().copied(), FEATURES)?;
    for column in within.chunks_mut(low_rank.length) {
        classes.within(column);
    }
    let mut scatter = cross(&within, &within, low_rank.length);
    drop(within);
    for entry in scatter.iter_mut().step_by(rank + 1) {
        *entry += reg;
    }
    if !cholesky::factor(isa, &mut scatter, rank, stop)? {
        return Err(not_definite(reg).into());
    }
    let mut inverse = directions.clone();
    for direction in &mut inverse {
        cholesky::solve(isa, &scatter, direction);
    }
    let mut found = discriminants(classes, &directions, &inverse, &overall, reg)?;
    for mut row in found.coefficients.rows_mut() {
        low_rank.to_landmarks(row.as_slice_mut().unwrap_or_default());
    }
    found.landmarks = Some(low_rank.landmarks);
    Ok(found)
}

/// Decomposes the centred and weighted matrix of explicit features.
fn decompose_low_rank(low_rank: &LowRank, frame: &Frame) -> Result<Eigen> {
    let (length, rank) = (low_rank.length, low_rank.rank());
    let mut features = memory::collected(low_rank.columns.iter().copied(), FEATURES)?;
    for column in features.chunks_mut(length) {
        frame.leave(column);
    }
    let inner = decompose(&cross(&features, &features, length), rank)?;
    let mut vectors = memory::zeros(length * rank, FEATURES)?;
    add_product(&mut vectors, &inner.vectors, &features, rank, 1.0);
    let rounding = inner.values.first().map_or(0.0, |largest| NONE * largest);
    let kept = inner.values.partition_point(|&value| value > rounding);
    vectors.truncate(kept * length);
    for (vector, value) in vectors.chunks_mut(length).zip(&inner.values) {
        vector.iter_mut().for_each(|entry| *entry /= value.sqrt());
    }
    let values = inner.values[..kept].to_vec();
    Ok(Eigen { values, vectors })
}

fn not_definite(reg: f64) -> Error {
    let allowed = "larger: the regularised scatter within the classes is not positive definite";
    Error::parameter("reg", allowed, reg)
}

/// Makes Q K Q' of K in place.
fn centre_within(values: &mut [f64], classes: &Classes, stop: Stop) -> Polled<()> {
    let length = classes.labels.len();
    let by_class: Vec<Vec<f64>> = values
        .chunks(length)
        .map(|row| classes.means(row))
        .collect();
    let columns: Vec<Vec<f64>> = (0..classes.count())
        .map(|class| by_class.iter().map(|means| means[class]).collect())
        .collect();
    let both: Vec<Vec<f64>> = columns.iter().map(|column| classes.means(column)).collect();
    let parts: Vec<_> = values.chunks_mut(length).enumerate().collect();
    parallel::try_for_each(parts, length * length * 4, stop, |_: &mut (), (i, row)| {
        let (class, root) = (classes.labels[i], classes.shares[i].sqrt());
        for (j, value) in row.iter_mut().enumerate() {
            let other = classes.labels[j];
            // The mean over the class of i of column j, and the other way round.
            let centred = *value - by_class[j][class] - by_class[i][other] + both[class][other];
            *value = root * classes.shares[j].sqrt() * centred;
        }
        Ok(())
    })
}

/// Chooses the regularisation by the squared errors of rows left out one by one, given the decomposition
/// of the centred matrix.
fn choose(eigen: &Eigen, classes: &Classes, frame: &Frame, stop: Stop) -> Polled<Chosen> {
    let length = frame.roots.len();
    let trace: f64 = eigen.values.iter().sum();
    // sqrt(w) times the centred indicators, and their coordinates.
    let targets: Vec<Vec<f64>> = (0..classes.count())
        .map(|class| {
            let rows = classes.labels.iter().zip(&frame.roots);
            rows.map(|(&label, root)| {
                root * (f64::from(u8::from(label == class)) - classes.priors[class])
            })
            .collect()
        })
        .collect();
    let isa = Isa::detect();
    let coordinates: Vec<Vec<f64>> = (targets.iter())
        .map(|target| {
            let vectors = eigen.vectors.chunks(length);
            vectors
                .map(|vector| inner_product(isa, vector, target))
                .collect()
        })
        .collect();
    let indicators = Indicators {
        targets,
        coordinates,
        copies: &classes.copies,
    };
    let (first, last, steps) = SHARES;
    let mut tried = Vec::new();
    for step in first * steps..=last * steps {
        poll(stop)?;
        let reg = trace * 10f64.powf(f64::from(step) / f64::from(steps));
        if reg <= 0.0 {
            continue;
        }
        let shrunk: Vec<f64> = (eigen.values.iter())
            .map(|value| value.max(0.0) / (value.max(0.0) + reg))
            .collect();
        tried.push((reg, left_out(&eigen.vectors, &shrunk, &indicators, frame)));
    }
    let errors = tried.iter().map(|&(_, error)| error);
    let least = errors.fold(f64::INFINITY, f64::min);
    let best = tried.iter().rfind(|(_, error)| *error <= AS_GOOD * least);
    match best {
        Some(&(reg, _)) => Ok((reg, tried)),
        None => {
            let allowed = "a kernel that tells rows apart, to choose reg";
            Err(Error::parameter("kernel", allowed, "one with no variance").into())
        }
    }
}

/// What the regression on the classes is to fit.
struct Indicators<'a> {
    /// sqrt(w) times the centred indicators of the classes, and the coordinates of these.
    targets: Vec<Vec<f64>>,
    coordinates: Vec<Vec<f64>>,
    copies: &'a [f64],
}

/// Returns the mean squared error of indicators of rows that are left out, one copy of a row at a time.
fn left_out(vectors: &[f64], shrunk: &[f64], indicators: &Indicators, frame: &Frame) -> f64 {
    let length = frame.roots.len();
    // The mean is fitted, too.
    let mut leverage: Vec<f64> = frame.shares.clone();
    let mut fitted = vec![vec![0.0; length]; indicators.targets.len()];
    for (k, (vector, factor)) in vectors.chunks(length).zip(shrunk).enumerate() {
        if *factor < 1e-16 {
            continue;
        }
        for (leverage, value) in leverage.iter_mut().zip(vector) {
            *leverage += factor * value * value;
        }
        for (fitted, coordinates) in fitted.iter_mut().zip(&indicators.coordinates) {
            let size = factor * coordinates[k];
            for (fitted, value) in fitted.iter_mut().zip(vector) {
                *fitted += size * value;
            }
        }
    }
    let mut error = 0.0;
    for (fitted, target) in fitted.iter().zip(&indicators.targets) {
        let rows = fitted.iter().zip(target).zip(&leverage);
        for (((fitted, target), leverage), copies) in rows.zip(indicators.copies) {
            let rest = (1.0 - leverage / copies).max(f64::EPSILON);
            error += ((target - fitted) / rest).powi(2);
        }
    }
    error
}
