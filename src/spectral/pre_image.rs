//! Pre-images: points whose images are nearest to given points of feature space.
//!
//! ```text
//! P = sum_i g_i phi(x_i)                g_i = sum_k y_k a_ki + p_i        for coordinates y
//! minimise |phi(z) - P|^2 = const - 2 F(z),   F(z) = sum_i g_i k(x_i, z)            (k(z, z) = 1)
//! z <- sum_i g_i k(x_i, z) x_i / sum_i g_i k(x_i, z)
//! ```
//!
//! The fixed-point iteration for the Gaussian kernel (Mika, Scholkopf, Smola, Müller, Scholz and
//! Rätsch, Kernel PCA and de-noising in feature spaces, 1999). Where F is positive the step goes uphill
//! on F, if no g_i is negative; where some are it may not, or divide by nearly nothing. A step is
//! therefore taken only if F does not fall: it is halved until that holds, and the iteration ends where
//! no length does. It begins at the best of a few candidates, so the result is never worse than these.

use crate::data::Samples;
use crate::error::{Error, Polled, Stop, poll};
use crate::kernel::{Centred, Columns, Kernel, check_columns};
use crate::simd::{Isa, add_multiple, inner_product, memory};
use ndarray::{Array2, ArrayView2, s};

/// Points whose coefficients are held at a time.
const POINTS: usize = 256;
/// Halvings of a step before it is given up.
const HALVINGS: usize = 6;
/// What an error calls what is computed here.
const POINTS_BACK: &str = "pre-images";

/// What pre-images are made of.
pub(crate) struct PreImages<'a> {
    pub kernel: &'a Kernel,
    pub rows: &'a Samples,
    /// a: shape (components, rows).
    pub coefficients: ArrayView2<'a, f64>,
    /// p: the share of each row in the mean.
    pub shares: &'a [f64],
    pub iterations: usize,
    pub tolerance: f64,
}

impl PreImages<'_> {
    /// Finds the pre-images of coordinates. `starts` are points to begin at: for each point as many rows,
    /// one after another.
    ///
    /// # Errors
    /// If the kernel is not Gaussian or the shapes do not fit together.
    pub fn find(
        &self,
        coordinates: ArrayView2<f64>,
        starts: ArrayView2<f64>,
        stop: Stop,
    ) -> Polled<Array2<f64>> {
        if !matches!(self.kernel, Kernel::Rbf { .. }) {
            let allowed = "'rbf' for pre-images by fixed points (pre_image='ridge' takes others)";
            return Err(Error::parameter("kernel", allowed, format!("{:?}", self.kernel)).into());
        }
        let (points, components) = coordinates.dim();
        let expected = (self.coefficients.nrows(), self.rows.columns());
        let per_point = starts.nrows() / points.max(1);
        if (components, starts.ncols()) != expected || per_point * points != starts.nrows() {
            let expected = format!("{} columns, and starts of {}", expected.0, expected.1);
            let got = format!("{components} and {}", starts.ncols());
            return Err(Error::shape("X", expected, got).into());
        }
        let all: Vec<usize> = (0..self.rows.rows()).collect();
        let columns = Columns::<f64>::new(self.kernel, Centred::not(self.rows), &all)?;
        let mut found = memory::zero_matrix((points, self.rows.columns()), POINTS_BACK)?;
        for first in (0..points).step_by(POINTS) {
            poll(stop)?;
            let last = points.min(first + POINTS);
            let mut search = Search {
                columns: &columns,
                rows: self.rows,
                factors: self.factors(coordinates.slice(s![first..last, ..])),
                isa: Isa::detect(),
            };
            let starts = starts.slice(s![first * per_point..last * per_point, ..]);
            let best = search.best_starts(starts, stop)?;
            let back = search.climb(best, self.iterations, self.tolerance, stop)?;
            found.slice_mut(s![first..last, ..]).assign(&back);
        }
        Ok(found)
    }

    /// Returns g of some points, a row for each.
    fn factors(&self, coordinates: ArrayView2<f64>) -> Array2<f64> {
        let mut factors = coordinates.dot(&self.coefficients);
        for mut row in factors.rows_mut() {
            row += &ndarray::ArrayView1::from(self.shares);
        }
        factors
    }
}

/// The search for the pre-images of some points.
struct Search<'a> {
    columns: &'a Columns<f64>,
    rows: &'a Samples,
    factors: Array2<f64>,
    isa: Isa,
}

impl Search<'_> {
    /// Returns F, and where the iteration goes from there, for points each with the number of its
    /// factors: a row of both.
    fn look(&self, points: &Array2<f64>, of: &[usize], stop: Stop) -> Polled<Array2<f64>> {
        let samples = Samples::try_from(points.view())?;
        check_columns(&samples, self.rows.columns())?;
        let numbers: Vec<usize> = (0..of.len()).collect();
        let width = self.rows.columns() + 1;
        let mut found = memory::zero_matrix((of.len(), width), POINTS_BACK)?;
        let out = found.as_slice_mut().unwrap_or_default();
        let value = |at: usize, values: &[f64], out: &mut [f64]| {
            let factors = self.factors.row(of[at]);
            let factors = factors.as_slice().unwrap_or_default();
            out[0] = inner_product(self.isa, factors, values);
            let mut row = vec![0.0; width - 1];
            for (i, (factor, value)) in factors.iter().zip(values).enumerate() {
                let share = factor * value / out[0];
                // Rows far away would change nothing.
                if share.abs() > 1e-17 {
                    self.rows.copy_row(i, &mut row);
                    add_multiple(self.isa, share, &row, &mut out[1..]);
                }
            }
        };
        self.columns.values(&samples, &numbers, out, value, stop)?;
        Ok(found)
    }

    /// Returns for each point the start with the largest F.
    fn best_starts(&self, starts: ArrayView2<f64>, stop: Stop) -> Polled<Array2<f64>> {
        let points = self.factors.nrows();
        let per_point = starts.nrows() / points;
        let of: Vec<usize> = (0..starts.nrows()).map(|at| at / per_point).collect();
        let found = self.look(&starts.to_owned(), &of, stop)?;
        let best = |point: usize| {
            let mut candidates = point * per_point..(point + 1) * per_point;
            let first = candidates.next().unwrap_or_default();
            candidates.fold(first, |best, at| {
                if found[[at, 0]] > found[[best, 0]] {
                    at
                } else {
                    best
                }
            })
        };
        let chosen: Vec<usize> = (0..points).map(best).collect();
        Ok(starts.select(ndarray::Axis(0), &chosen))
    }

    /// Iterates from points, each for itself, until none moves.
    fn climb(
        &mut self,
        mut points: Array2<f64>,
        iterations: usize,
        tolerance: f64,
        stop: Stop,
    ) -> Polled<Array2<f64>> {
        let mut active: Vec<usize> = (0..points.nrows()).collect();
        let mut seen = self.look(&points, &active, stop)?;
        for _ in 0..iterations {
            if active.is_empty() {
                break;
            }
            let (moved, next) = self.step(&points, &active, &seen, stop)?;
            let mut still = Vec::new();
            let mut kept = Vec::new();
            for (at, &point) in active.iter().enumerate() {
                let Some((position, row)) = &moved[at] else {
                    continue;
                };
                let (mut change, mut size) = (0.0, 0.0);
                for (old, new) in points.row_mut(point).iter_mut().zip(position) {
                    change += (*old - new).powi(2);
                    size += new * new;
                    *old = *new;
                }
                if change > tolerance * tolerance * size {
                    still.push(point);
                    kept.push(*row);
                }
            }
            active = still;
            seen = next.select(ndarray::Axis(0), &kept);
        }
        Ok(points)
    }

    /// Takes one step from each active point, as long as it can be. Returns where it leads and which row of
    /// what was seen belongs to it; `None` where no step goes uphill.
    #[allow(clippy::type_complexity)]
    fn step(
        &self,
        points: &Array2<f64>,
        active: &[usize],
        seen: &Array2<f64>,
        stop: Stop,
    ) -> Polled<(Vec<Option<(Vec<f64>, usize)>>, Array2<f64>)> {
        let width = points.ncols();
        let mut moved: Vec<Option<(Vec<f64>, usize)>> = vec![None; active.len()];
        let mut next = memory::zero_matrix((active.len(), width + 1), POINTS_BACK)?;
        let mut waiting: Vec<usize> = (0..active.len())
            .filter(|&at| seen.row(at).iter().all(|value| value.is_finite()))
            .collect();
        let mut length = 1.0;
        for _ in 0..HALVINGS {
            if waiting.is_empty() {
                break;
            }
            let mut trial = memory::zero_matrix((waiting.len(), width), POINTS_BACK)?;
            for (mut trial, &at) in trial.rows_mut().into_iter().zip(&waiting) {
                let (from, to) = (points.row(active[at]), seen.row(at));
                for (column, value) in trial.iter_mut().enumerate() {
                    *value = from[column] + length * (to[column + 1] - from[column]);
                }
            }
            let of: Vec<usize> = waiting.iter().map(|&at| active[at]).collect();
            let values = self.look(&trial, &of, stop)?;
            let mut left = Vec::new();
            for (row, &at) in waiting.iter().enumerate() {
                if values[[row, 0]] >= seen[[at, 0]] {
                    moved[at] = Some((trial.row(row).to_vec(), at));
                    next.row_mut(at).assign(&values.row(row));
                } else {
                    left.push(at);
                }
            }
            waiting = left;
            length *= 0.5;
        }
        Ok((moved, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::spectral::KernelPca;

    #[test]
    fn the_image_of_a_training_row_comes_back() -> Result<()> {
        let x = Array2::from_shape_fn((12, 2), |(i, j)| ((i * 7 + j * 3) as f64).sin());
        let kernel = Kernel::rbf(0.7);
        let samples = Samples::try_from(x.view())?;
        let model = KernelPca::new(kernel.clone()).fit(x.view())?;
        let coordinates = model.transform(x.view())?;
        let images = PreImages {
            kernel: &kernel,
            rows: &samples,
            coefficients: model.coefficients().view(),
            shares: &[1.0 / 12.0; 12],
            iterations: 200,
            tolerance: 1e-12,
        };
        // From a little away, and from a row far away beside it: the better start is taken.
        let near = x.mapv(|value| value + 0.05);
        let mut starts = Array2::zeros((24, 2));
        for i in 0..12 {
            starts.row_mut(2 * i).assign(&x.row((i + 5) % 12));
            starts.row_mut(2 * i + 1).assign(&near.row(i));
        }
        let back = images.find(coordinates.view(), starts.view(), &|| false);
        let back = crate::error::unless_stopped(back)?.expect("not stopped");
        assert!((&back - &x).iter().all(|error| error.abs() < 1e-6));
        Ok(())
    }

    #[test]
    fn other_kernels_are_refused() -> Result<()> {
        let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
        let one = ndarray::array![[1.0]];
        let images = PreImages {
            kernel: &Kernel::linear(),
            rows: &samples,
            coefficients: one.view(),
            shares: &[1.0],
            iterations: 1,
            tolerance: 0.0,
        };
        assert!(images.find(one.view(), one.view(), &|| false).is_err());
        Ok(())
    }
}
