//! k-means in feature space.
//!
//! ```text
//! |phi(x) - m_c|^2 = k(x, x) - 2 sum_i h_ci k(x_i, x) + h_c' K h_c      h_ci = w_i / (sum of w in c)
//! ```
//!
//! Scholkopf, Smola and Müller (1998); seeds by k-means++ (Arthur and Vassilvitskii, 2007) with distances in
//! feature space, the best of a few candidates at a time as scikit-learn does. Lloyd's iterations end when
//! no row changes its cluster. A cluster that loses all its rows takes the row that is farthest from its
//! own centre.

use super::operator::Passes;
use super::pca::check_weights;
use crate::data::Samples;
use crate::error::{Error, Polled, Result, Stop, poll, unless_stopped};
use crate::kernel::Kernel;
use crate::matrix::KernelMatrix;
use crate::simd::random::Random;
use ndarray::Array2;

/// Kernel k-means to be fitted.
///
/// ```
/// use mercer::{Kernel, Samples, spectral::KernelKMeans};
/// let x = Samples::try_from(ndarray::array![[0.0], [0.2], [5.0], [5.4]].view())?;
/// let found = KernelKMeans::new(Kernel::linear(), 2).fit(&x, &[1.0; 4], &|| false)?;
/// let found = found.expect("not stopped");
/// assert_eq!(found.labels[0], found.labels[1]);
/// assert!((found.inertia - (2.0 * 0.01 + 2.0 * 0.04)).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelKMeans {
    kernel: Kernel,
    clusters: usize,
    starts: usize,
    seeds: Option<Vec<usize>>,
    max_iterations: usize,
    seed: u64,
}

/// Clusters in feature space.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Clusters {
    /// The cluster of each row.
    pub labels: Vec<usize>,
    /// h: the coefficients of the centres, one row for each.
    pub coefficients: Array2<f64>,
    /// The squared norms of the centres.
    pub norms: Vec<f64>,
    /// The weighted sum of squared distances of the rows from their centres.
    pub inertia: f64,
    /// Iterations of the best start.
    pub iterations: usize,
    /// Whether it ended before the limit of iterations.
    pub converged: bool,
}

impl KernelKMeans {
    /// Begins with ten starts of up to 300 iterations.
    ///
    /// ```
    /// let means = mercer::spectral::KernelKMeans::new(mercer::Kernel::rbf(1.0), 3);
    /// ```
    pub fn new(kernel: Kernel, clusters: usize) -> Self {
        KernelKMeans {
            kernel,
            clusters,
            starts: 10,
            seeds: None,
            max_iterations: 300,
            seed: 0,
        }
    }

    /// Sets how many starts are tried.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelKMeans};
    /// let means = KernelKMeans::new(Kernel::rbf(1.0), 3).starts(1);
    /// ```
    pub fn starts(mut self, starts: usize) -> Self {
        self.starts = starts;
        self
    }

    /// Sets the rows whose images are the first centres, instead of drawing them.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelKMeans};
    /// let means = KernelKMeans::new(Kernel::rbf(1.0), 2).seeds(vec![0, 7]);
    /// ```
    pub fn seeds(mut self, rows: Vec<usize>) -> Self {
        self.seeds = Some(rows);
        self
    }

    /// Sets the most iterations of a start.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelKMeans};
    /// let means = KernelKMeans::new(Kernel::rbf(1.0), 2).max_iterations(10);
    /// ```
    pub fn max_iterations(mut self, most: usize) -> Self {
        self.max_iterations = most;
        self
    }

    /// Sets the seed of the random starts.
    ///
    /// ```
    /// # use mercer::{Kernel, spectral::KernelKMeans};
    /// let means = KernelKMeans::new(Kernel::rbf(1.0), 2).seed(7);
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Fits to rows with positive weights; `None` if `stop` said so.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, spectral::KernelKMeans};
    /// let x = Samples::try_from(ndarray::array![[0.0]].view())?;
    /// assert!(KernelKMeans::new(Kernel::linear(), 2).fit(&x, &[1.0], &|| false).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are fewer rows than clusters, a parameter is out of range or there is no memory.
    pub fn fit(
        &self,
        samples: &Samples,
        weights: &[f64],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Clusters>> {
        let rows = check_weights(samples, weights)?;
        if self.clusters == 0 || self.clusters > rows {
            let allowed = format!("from 1 to {rows}, the number of rows of X");
            return Err(Error::parameter("n_clusters", allowed, self.clusters));
        }
        if let Some(seeds) = &self.seeds
            && (seeds.len() != self.clusters || seeds.iter().any(|&row| row >= rows))
        {
            let allowed = format!("{} row numbers below {rows}", self.clusters);
            return Err(Error::parameter("init", allowed, format!("{seeds:?}")));
        }
        unless_stopped(self.fit_until(samples, weights, stop))
    }

    fn fit_until(&self, samples: &Samples, weights: &[f64], stop: Stop) -> Polled<Clusters> {
        let matrix = KernelMatrix::new(&self.kernel, samples, (0..samples.rows()).collect())?;
        let lloyd = Lloyd {
            diagonal: matrix.diagonal(),
            passes: Passes::new(&matrix, None, stop)?,
            weights,
            clusters: self.clusters,
        };
        let starts = if self.seeds.is_some() { 1 } else { self.starts };
        let mut best: Option<Clusters> = None;
        for start in 0..starts.max(1) {
            let mut random = Random::new(self.seed.wrapping_add(start as u64 * 7919));
            let seeds = match &self.seeds {
                Some(seeds) => seeds.clone(),
                None => lloyd.draw(&mut random, stop)?,
            };
            let found = lloyd.run(&seeds, self.max_iterations, stop)?;
            if best
                .as_ref()
                .is_none_or(|best| found.inertia < best.inertia)
            {
                best = Some(found);
            }
        }
        best.ok_or_else(|| Error::parameter("n_init", "at least 1", starts).into())
    }
}

struct Lloyd<'a> {
    passes: Passes<'a>,
    diagonal: &'a [f64],
    weights: &'a [f64],
    clusters: usize,
}

impl Lloyd<'_> {
    /// Returns the squared distances of all rows from the image of a row.
    fn distances(&self, row: usize, stop: Stop) -> Polled<Vec<f64>> {
        let values = self.passes.row(row, stop)?;
        let own = self.diagonal[row];
        let pairs = values.iter().zip(self.diagonal);
        Ok(pairs
            .map(|(value, diagonal)| (diagonal - 2.0 * value + own).max(0.0))
            .collect())
    }

    /// Draws rows far from each other.
    fn draw(&self, random: &mut Random, stop: Stop) -> Polled<Vec<usize>> {
        let trials = 2 + (self.clusters as f64).ln() as usize;
        let mut seeds = vec![random.place(self.weights)];
        let mut nearest = self.distances(seeds[0], stop)?;
        while seeds.len() < self.clusters {
            poll(stop)?;
            let chances: Vec<f64> = nearest
                .iter()
                .zip(self.weights)
                .map(|(d, w)| d * w)
                .collect();
            let mut best: Option<(f64, usize, Vec<f64>)> = None;
            for _ in 0..trials {
                let row = random.place(&chances);
                let mut distances = self.distances(row, stop)?;
                for (distance, nearest) in distances.iter_mut().zip(&nearest) {
                    *distance = distance.min(*nearest);
                }
                let left = distances.iter().zip(self.weights).map(|(d, w)| d * w).sum();
                if best.as_ref().is_none_or(|best| left < best.0) {
                    best = Some((left, row, distances));
                }
            }
            if let Some((_, row, distances)) = best {
                seeds.push(row);
                nearest = distances;
            }
        }
        Ok(seeds)
    }

    /// Iterates from rows as the first centres.
    fn run(&self, seeds: &[usize], most: usize, stop: Stop) -> Polled<Clusters> {
        let length = self.passes.len();
        let mut centres = vec![0.0; self.clusters * length];
        for (centre, &row) in centres.chunks_mut(length).zip(seeds) {
            centre[row] = 1.0;
        }
        let mut labels = vec![usize::MAX; length];
        for iterations in 0.. {
            poll(stop)?;
            let products = self.passes.multiply(&centres, self.clusters, stop)?;
            let norms = self.norms(&centres, &products);
            let (mut next, distances) = self.assign(&products, &norms);
            if next == labels || iterations >= most {
                let shape = (self.clusters, length);
                return Ok(Clusters {
                    converged: next == labels,
                    labels: next,
                    coefficients: Array2::from_shape_vec(shape, centres).unwrap_or_default(),
                    norms,
                    inertia: distances.iter().zip(self.weights).map(|(d, w)| d * w).sum(),
                    iterations,
                });
            }
            self.fill_empty(&mut next, distances);
            labels = next;
            centres = self.means(&labels);
        }
        unreachable!("the number of iterations is limited")
    }

    /// Returns the squared norms of the centres.
    fn norms(&self, centres: &[f64], products: &[f64]) -> Vec<f64> {
        let norm = |(cluster, centre): (usize, &[f64])| {
            let terms = centre.iter().zip(products.chunks(self.clusters));
            terms.map(|(factor, row)| factor * row[cluster]).sum()
        };
        let centres = centres.chunks(self.passes.len());
        centres.enumerate().map(norm).collect()
    }

    /// Returns the nearest centre of each row, and the squared distance.
    fn assign(&self, products: &[f64], norms: &[f64]) -> (Vec<usize>, Vec<f64>) {
        let nearest = |(row, own): (&[f64], &f64)| {
            let mut best = (0, f64::INFINITY);
            for (cluster, (product, norm)) in row.iter().zip(norms).enumerate() {
                let distance = own - 2.0 * product + norm;
                if distance < best.1 {
                    best = (cluster, distance);
                }
            }
            (best.0, best.1.max(0.0))
        };
        products
            .chunks(self.clusters)
            .zip(self.diagonal)
            .map(nearest)
            .unzip()
    }

    /// Gives a row to each cluster that has none.
    fn fill_empty(&self, labels: &mut [usize], mut distances: Vec<f64>) {
        let mut counts = vec![0usize; self.clusters];
        labels.iter().for_each(|&label| counts[label] += 1);
        for cluster in 0..self.clusters {
            if counts[cluster] > 0 {
                continue;
            }
            let far = (0..labels.len())
                .filter(|&row| counts[labels[row]] > 1)
                .max_by(|&a, &b| distances[a].total_cmp(&distances[b]));
            if let Some(row) = far {
                counts[labels[row]] -= 1;
                counts[cluster] = 1;
                labels[row] = cluster;
                distances[row] = 0.0;
            }
        }
    }

    /// Returns the coefficients of the means of clusters.
    fn means(&self, labels: &[usize]) -> Vec<f64> {
        let mut totals = vec![0.0; self.clusters];
        for (&label, weight) in labels.iter().zip(self.weights) {
            totals[label] += weight;
        }
        let mut centres = vec![0.0; self.clusters * labels.len()];
        for (row, (&label, weight)) in labels.iter().zip(self.weights).enumerate() {
            centres[label * labels.len() + row] = weight / totals[label];
        }
        centres
    }
}
