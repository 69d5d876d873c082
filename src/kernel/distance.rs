//! Distances in feature space.
//!
//! ```text
//! |phi(a) - phi(b)|^2 = k(a, a) - 2 k(a, b) + k(b, b)
//! ```
//!
//! For rows near to each other this difference is mostly rounding. Such squares are computed from the
//! differences of the rows, where the kernel is a function of these, and are zero where the rows are equal.

use super::centred::Centred;
use super::columns::Columns;
use super::evaluate::{ROWS, check_columns};
use super::function::Kernel;
use super::user::user_block;
use crate::data::Samples;
use crate::error::{Error, Polled, Result, Stop, poll, unless_stopped};
use crate::simd::memory;
use ndarray::Array2;
use std::cell::OnceCell;

/// Squares below this share of k(a, a) + k(b, b) are computed from differences: those above have lost at
/// most three digits.
const CLOSE: f64 = 1e-3;

/// The stored entries of a row, by column.
type Entries = Vec<(usize, f64)>;

impl Kernel {
    /// Computes all distances |phi(a_i) - phi(b_j)| in feature space, in parallel. Equal rows have the
    /// distance zero.
    ///
    /// ```
    /// # use mercer::Kernel;
    /// let x = ndarray::array![[1.0, 2.0], [4.0, 6.0]].view().try_into()?;
    /// assert_eq!(Kernel::linear().distance(&x, &x)?, ndarray::array![[0.0, 5.0], [5.0, 0.0]]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub fn distance(&self, a: &Samples, b: &Samples) -> Result<Array2<f64>> {
        // None only if stopped, and nothing stops it here.
        Ok(self.distance_until(a, b, &|| false)?.unwrap_or_default())
    }

    /// Computes all distances; `None` if `stop` said so.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub(crate) fn distance_until(
        &self,
        a: &Samples,
        b: &Samples,
        stop: Stop,
    ) -> Result<Option<Array2<f64>>> {
        let shape = (a.rows(), b.rows());
        if shape.0 == 0 || shape.1 == 0 {
            self.check()?;
            return Ok(Some(Array2::zeros(shape)));
        }
        let squares = Squares::new(self, a, b)?;
        let size = shape.0.saturating_mul(shape.1);
        let mut out = memory::zeros(size, "the distances")?;
        if unless_stopped(squares.fill_distances(&mut out, stop))?.is_none() {
            return Ok(None);
        }
        let matrix = Array2::from_shape_vec(shape, out);
        matrix.map(Some).map_err(|source| Error::System {
            what: "a matrix of distances",
            source: source.into(),
        })
    }
}

/// Squared distances between two sets of rows.
pub(crate) struct Squares<'a> {
    kernel: &'a Kernel,
    a: &'a Samples,
    b: &'a Samples,
    /// k(a, a) and k(b, b).
    own_a: Vec<f64>,
    own_b: Vec<f64>,
}

impl<'a> Squares<'a> {
    /// Prepares for the distances of the rows of `a` from those of `b`.
    ///
    /// # Errors
    /// If the kernel is precomputed or not defined for a row, or the rows differ in length.
    pub fn new(kernel: &'a Kernel, a: &'a Samples, b: &'a Samples) -> Result<Self> {
        check_columns(a, b.columns())?;
        Ok(Squares {
            kernel,
            a,
            b,
            own_a: kernel.diagonal(a)?,
            own_b: kernel.diagonal(b)?,
        })
    }

    /// Computes the kernel values of all rows of `a` with all of `b`. `f(row, out)` writes what is made of
    /// the squares of a row.
    ///
    /// # Errors
    /// If the kernel is the user's, there is no memory, or if halted.
    pub fn for_each_row<O: Send>(
        &self,
        out: &mut [O],
        f: impl Fn(&RowSquares, &mut [O]) + Send + Sync,
        stop: Stop,
    ) -> Polled<()> {
        let all: Vec<usize> = (0..self.b.rows()).collect();
        let rows: Vec<usize> = (0..self.a.rows()).collect();
        let columns = Columns::<f64>::new(self.kernel, Centred::not(self.b), &all)?;
        let row = |row: usize, values: &[f64], out: &mut [O]| f(&self.row(row, values), out);
        columns.values(self.a, &rows, out, row, stop)
    }

    fn fill_distances(&self, out: &mut [f64], stop: Stop) -> Polled<()> {
        let Kernel::User(user) = self.kernel else {
            return self.for_each_row(out, |squares, out| squares.roots(out), stop);
        };
        let (width, all): (usize, Vec<usize>) = (self.b.rows(), (0..self.b.rows()).collect());
        let mut values = memory::zeros(ROWS.min(self.a.rows()) * width, "kernel values")?;
        for (start, out) in (0..).step_by(ROWS).zip(out.chunks_mut(ROWS * width)) {
            poll(stop)?;
            let rows: Vec<usize> = (start..start + out.len() / width).collect();
            user_block(
                &**user,
                self.a,
                &rows,
                self.b,
                &all,
                &mut values[..out.len()],
            )?;
            let lines = values.chunks(width).zip(out.chunks_mut(width));
            for (row, (values, out)) in rows.into_iter().zip(lines) {
                self.row(row, values).roots(out);
            }
        }
        Ok(())
    }

    fn row<'b>(&'b self, row: usize, values: &'b [f64]) -> RowSquares<'b> {
        RowSquares {
            squares: self,
            row,
            values,
            entries: OnceCell::new(),
        }
    }
}

/// The squared distances of one row.
pub(crate) struct RowSquares<'a> {
    squares: &'a Squares<'a>,
    row: usize,
    /// Kernel values with all rows of `b`.
    values: &'a [f64],
    /// The row itself, once it is needed.
    entries: OnceCell<Entries>,
}

impl RowSquares<'_> {
    /// Returns the squared distances from all rows of `b`, in order.
    pub fn iter(&self) -> impl Iterator<Item = f64> {
        (0..self.values.len()).map(|other| self.square(other))
    }

    fn roots(&self, out: &mut [f64]) {
        for (out, square) in out.iter_mut().zip(self.iter()) {
            *out = square.max(0.0).sqrt();
        }
    }

    fn square(&self, other: usize) -> f64 {
        let squares = self.squares;
        let (own, others) = (squares.own_a[self.row], squares.own_b[other]);
        let square = own - 2.0 * self.values[other] + others;
        // What the rows of a user's kernel are is not known here.
        let close = square <= CLOSE * (own.abs() + others.abs());
        if !close || matches!(squares.kernel, Kernel::User(_)) {
            return square;
        }
        let entries = self.entries.get_or_init(|| entries_of(squares.a, self.row));
        let apart = Apart::of(entries, &entries_of(squares.b, other));
        match apart.absolutes {
            0.0 => 0.0,
            _ => squares.kernel.square_of(&apart).unwrap_or(square),
        }
    }
}

fn entries_of(samples: &Samples, row: usize) -> Entries {
    let mut entries = Vec::with_capacity(samples.entries(row));
    samples.for_each(row, |column, value| entries.push((column, value)));
    entries
}

/// How far two rows are from each other.
struct Apart {
    /// The sum of squared differences.
    squares: f64,
    /// The sum of absolute differences.
    absolutes: f64,
}

impl Apart {
    fn of(a: &[(usize, f64)], b: &[(usize, f64)]) -> Self {
        let mut apart = Apart {
            squares: 0.0,
            absolutes: 0.0,
        };
        let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
        loop {
            let difference = match (a.peek(), b.peek()) {
                (None, None) => return apart,
                (Some(&&(left, x)), Some(&&(right, z))) if left == right => {
                    a.next();
                    b.next();
                    x - z
                }
                (Some(&&(left, x)), Some(&&(right, _))) if left < right => {
                    a.next();
                    x
                }
                (Some(&&(_, x)), None) => {
                    a.next();
                    x
                }
                (_, Some(&&(_, z))) => {
                    b.next();
                    z
                }
            };
            apart.squares += difference * difference;
            apart.absolutes += difference.abs();
        }
    }
}

impl Kernel {
    /// Returns the squared distance in feature space if it is a function of the distances of the rows.
    fn square_of(&self, apart: &Apart) -> Option<f64> {
        Some(match self {
            Kernel::Linear => apart.squares,
            Kernel::Rbf { gamma } => -2.0 * (-gamma * apart.squares).exp_m1(),
            Kernel::Laplacian { gamma } => -2.0 * (-gamma * apart.absolutes).exp_m1(),
            Kernel::InverseMultiquadric { c } => {
                let root = (apart.squares + c * c).sqrt();
                2.0 * apart.squares / (c * root * (c + root))
            }
            Kernel::Scaled(factor, kernel) => factor * kernel.square_of(apart)?,
            Kernel::Sum(parts) => {
                let squares = parts.iter().map(|kernel| kernel.square_of(apart));
                squares.sum::<Option<f64>>()?
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn near_rows_keep_their_digits() {
        let near = 1e-7;
        let x: Samples = array![[3.0, -1.0], [1e3, 2e3]].view().try_into().unwrap();
        let z: Samples = array![[3.0 + near, -1.0], [1e3, 2e3 + near]]
            .view()
            .try_into()
            .unwrap();
        // The differences as they are stored.
        let apart = [3.0 + near - 3.0, 2e3 + near - 2e3];
        type Expected = fn(f64) -> f64;
        let kernels: [(Kernel, Expected); 5] = [
            (Kernel::linear(), |d| d),
            (Kernel::rbf(0.5), |d| {
                (-2.0 * (-0.5 * d * d).exp_m1()).sqrt()
            }),
            (Kernel::laplacian(2.0), |d| {
                (-2.0 * (-2.0 * d).exp_m1()).sqrt()
            }),
            // 2 / c (1 - 1 / sqrt(1 + d^2 / c^2)) is d^2 / c^3 to the last digit.
            (Kernel::inverse_multiquadric(2.0), |d| d / 8.0f64.sqrt()),
            (
                Kernel::Sum(vec![
                    Kernel::Scaled(4.0, Box::new(Kernel::Linear)),
                    Kernel::Linear,
                ]),
                |d| d * 5.0f64.sqrt(),
            ),
        ];
        for (kernel, expected) in kernels {
            let found = kernel.distance(&x, &z).unwrap();
            for (row, apart) in apart.into_iter().enumerate() {
                let expected = expected(apart);
                assert!(
                    (found[[row, row]] - expected).abs() < 1e-13 * expected,
                    "{kernel:?}"
                );
            }
        }
    }

    #[test]
    fn equal_rows_are_at_the_same_place() {
        let values =
            Array2::from_shape_fn((30, 7), |(i, j)| ((i * 7 + j) as f64 * 1.7).sin().abs());
        let dense: Samples = values.view().try_into().unwrap();
        let kernels = [
            Kernel::linear(),
            Kernel::polynomial(0.3, 1.0, 3),
            Kernel::rbf(0.7),
            Kernel::sigmoid(0.1, 0.2),
            Kernel::matern(1.5, 0.5),
            Kernel::periodic(0.9, 1.1),
            Kernel::chi_squared(0.4),
            Kernel::histogram_intersection(),
            Kernel::anova(0.5, 2),
            Kernel::polynomial(0.3, 1.0, 3).normalized(),
            Kernel::Product(vec![Kernel::rbf(0.1), Kernel::Linear]),
            Kernel::from_fn(|x, z| x.iter().zip(z).map(|(x, z)| x * z).sum()),
        ];
        for kernel in kernels {
            let distances = kernel.distance(&dense, &dense).unwrap();
            let matrix = kernel.matrix(&dense, &dense).unwrap();
            for ((i, j), &found) in distances.indexed_iter() {
                if i == j {
                    assert_eq!(found, 0.0, "{kernel:?}");
                } else {
                    let square = matrix[[i, i]] - 2.0 * matrix[[i, j]] + matrix[[j, j]];
                    let size = matrix[[i, i]].abs() + matrix[[j, j]].abs();
                    assert!(
                        (found * found - square.max(0.0)).abs() < 1e-13 * size,
                        "{kernel:?}"
                    );
                }
            }
        }
    }
}
