//! Kernel functions and their evaluation in tiles.
//!
//! ```text
//! linear                 x.z
//! polynomial             (gamma x.z + coef0)^degree
//! RBF                    exp(-gamma |x - z|^2)          papers write gamma = 1 / (2 sigma^2)
//! sigmoid                tanh(gamma x.z + coef0)        not positive semi-definite in general
//! Laplacian              exp(-gamma |x - z|_1)
//! inverse multiquadric   1 / sqrt(|x - z|^2 + c^2)
//! ```
//!
//! and their sums, products and multiples, a matrix computed beforehand, and the user's own.

mod epilogue;
pub(crate) mod exp;
mod primal;
mod source;
mod sums;
#[cfg(test)]
mod tests;
mod tile;
mod weights;

use crate::data::Samples;
use crate::error::{Error, Result};
pub(crate) use primal::{add_products, weight_vector};
pub(crate) use source::{Prepared, Source};
use std::fmt;
use std::sync::{Arc, OnceLock};
pub(crate) use sums::add_multiples;
pub(crate) use tile::{Bounds, Columns, PANEL};
pub(crate) use weights::{Weights, inner_product};

/// Diagonal values asked from a user kernel in one call (it computes the whole square).
pub(crate) const USER_DIAGONAL: usize = 32;

/// A kernel of the user's own, evaluated on blocks of rows on demand.
///
/// ```
/// use mercer::{Kernel, Samples, Svc, UserKernel};
///
/// #[derive(Debug)]
/// struct Overlap; // the histogram intersection kernel
///
/// impl UserKernel for Overlap {
///     fn block(
///         &self, a: &Samples, rows: &[usize], b: &Samples, columns: &[usize], out: &mut [f64],
///     ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///         let (mut x, mut z) = (vec![0.0; a.columns()], vec![0.0; b.columns()]);
///         for (&i, values) in rows.iter().zip(out.chunks_mut(columns.len())) {
///             a.copy_row(i, &mut x);
///             for (&j, value) in columns.iter().zip(values) {
///                 b.copy_row(j, &mut z);
///                 *value = x.iter().zip(&z).map(|(x, z)| x.min(*z)).sum();
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let x = ndarray::array![[1.0, 0.0], [0.8, 0.2], [0.1, 0.9], [0.0, 1.0]];
/// let model = Svc::new(Kernel::user(Overlap)).fit(x.view(), &["a", "a", "b", "b"])?;
/// assert_eq!(model.predict(x.view())?, ["a", "a", "b", "b"]);
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait UserKernel: fmt::Debug + Send + Sync {
    /// Writes k(a_i, b_j) for i in `rows` and j in `columns` into `out`, row after row.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, UserKernel};
    /// #[derive(Debug)]
    /// struct Constant(f64);
    ///
    /// impl UserKernel for Constant {
    ///     fn block(
    ///         &self, _: &Samples, rows: &[usize], _: &Samples, columns: &[usize], out: &mut [f64],
    ///     ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    ///         assert_eq!(out.len(), rows.len() * columns.len());
    ///         out.fill(self.0);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let x = ndarray::array![[1.0], [2.0]].view().try_into()?;
    /// assert_eq!(Kernel::user(Constant(3.0)).matrix(&x, &x)?[[0, 1]], 3.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// Whatever the kernel cannot do; it ends the fit as [`Error::UserKernel`].
    fn block(
        &self,
        a: &Samples,
        rows: &[usize],
        b: &Samples,
        columns: &[usize],
        out: &mut [f64],
    ) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// A kernel function.
///
/// ```
/// use mercer::Kernel;
/// let kernel = Kernel::rbf(0.5) + 0.1 * Kernel::linear();
/// let x = ndarray::array![[0.0, 1.0], [2.0, 1.0]];
/// let k = kernel.matrix(&x.view().try_into()?, &x.view().try_into()?)?;
/// assert!((k[[0, 0]] - 1.1).abs() < 1e-15);
/// assert!((k[[0, 1]] - ((-2.0f64).exp() + 0.1)).abs() < 1e-15);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Kernel {
    /// x.z
    Linear,
    /// (gamma x.z + coef0)^degree
    Polynomial {
        /// Factor of the inner product.
        gamma: f64,
        /// Added to the inner product.
        coef0: f64,
        /// The power.
        degree: u32,
    },
    /// exp(-gamma |x - z|^2)
    Rbf {
        /// 1 / (2 sigma^2)
        gamma: f64,
    },
    /// tanh(gamma x.z + coef0)
    Sigmoid {
        /// Factor of the inner product.
        gamma: f64,
        /// Added to the inner product.
        coef0: f64,
    },
    /// exp(-gamma |x - z|_1)
    Laplacian {
        /// Inverse width.
        gamma: f64,
    },
    /// 1 / sqrt(|x - z|^2 + c^2)
    InverseMultiquadric {
        /// Keeps the kernel finite; its width.
        c: f64,
    },
    /// The sum of kernels.
    Sum(Vec<Kernel>),
    /// The product of kernels.
    Product(Vec<Kernel>),
    /// A multiple of a kernel.
    Scaled(f64, Box<Kernel>),
    /// The samples are themselves the kernel matrix: row i holds k(x_i, ·).
    Precomputed,
    /// The user's own.
    User(Arc<dyn UserKernel>),
}

impl Kernel {
    /// Returns the linear kernel.
    ///
    /// ```
    /// assert!(matches!(mercer::Kernel::linear(), mercer::Kernel::Linear));
    /// ```
    pub fn linear() -> Self {
        Kernel::Linear
    }

    /// Returns the RBF (Gaussian) kernel.
    ///
    /// ```
    /// assert!(matches!(mercer::Kernel::rbf(0.5), mercer::Kernel::Rbf { gamma: 0.5 }));
    /// ```
    pub fn rbf(gamma: f64) -> Self {
        Kernel::Rbf { gamma }
    }

    /// Returns the polynomial kernel.
    ///
    /// ```
    /// let kernel = mercer::Kernel::polynomial(1.0, 0.0, 2);
    /// let x = ndarray::array![[3.0]].view().try_into()?;
    /// assert_eq!(kernel.matrix(&x, &x)?[[0, 0]], 81.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn polynomial(gamma: f64, coef0: f64, degree: u32) -> Self {
        Kernel::Polynomial {
            gamma,
            coef0,
            degree,
        }
    }

    /// Wraps a kernel of the user's own; [`UserKernel`] has a whole one.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, UserKernel};
    /// # #[derive(Debug)]
    /// # struct Constant(f64);
    /// # impl UserKernel for Constant {
    /// #     fn block(
    /// #         &self, _: &Samples, _: &[usize], _: &Samples, _: &[usize], out: &mut [f64],
    /// #     ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// #         out.fill(self.0);
    /// #         Ok(())
    /// #     }
    /// # }
    /// let kernel = Kernel::user(Constant(3.0));
    /// assert!(matches!(kernel, Kernel::User(_)));
    /// ```
    pub fn user(kernel: impl UserKernel + 'static) -> Self {
        Kernel::User(Arc::new(kernel))
    }

    /// Wraps a function of two rows.
    ///
    /// ```
    /// use mercer::{Kernel, Svc};
    /// let kernel = Kernel::from_fn(|x, z| x.iter().zip(z).map(|(x, z)| x * z).sum());
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// assert_eq!(Svc::new(kernel).fit(x.view(), &[0, 1])?.predict(x.view())?, [0, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn from_fn(function: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static) -> Self {
        Kernel::user(RowFunction(function))
    }

    /// Computes all values k(a_i, b_j) in `f64`, in parallel.
    ///
    /// ```
    /// # use mercer::Kernel;
    /// let x = ndarray::array![[1.0, 2.0]].view().try_into()?;
    /// assert_eq!(Kernel::linear().matrix(&x, &x)?[[0, 0]], 5.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the kernel is precomputed, a parameter is out of range or the rows differ in length.
    pub fn matrix(&self, a: &Samples, b: &Samples) -> Result<ndarray::Array2<f64>> {
        let shape = (a.rows(), b.rows());
        let mut values = vec![0.0; shape.0 * shape.1];
        if values.is_empty() {
            return Ok(ndarray::Array2::zeros(shape));
        }
        self.check()?;
        check_columns(a, b.columns())?;
        let all_a: Vec<usize> = (0..a.rows()).collect();
        let all_b: Vec<usize> = (0..b.rows()).collect();
        match self {
            Kernel::Precomputed => {
                return Err(Error::parameter(
                    "kernel",
                    "a function of two rows",
                    "precomputed",
                ));
            }
            Kernel::User(kernel) => user_block(&**kernel, a, &all_a, b, &all_b, &mut values)?,
            _ => {
                let columns = Columns::<f64>::new(self, Source::of(b), &all_b);
                let rows = columns.pack_rows(Source::of(a), &all_a);
                let mut out: Vec<&mut [f64]> = values.chunks_mut(shape.1).collect();
                columns.fill(&rows, 0..shape.1, &mut out, &|| false);
            }
        }
        ndarray::Array2::from_shape_vec(shape, values).map_err(|source| Error::System {
            what: "a kernel matrix",
            source: source.into(),
        })
    }

    /// Computes k(x, x) of every row.
    ///
    /// ```
    /// # use mercer::Kernel;
    /// let x = ndarray::array![[1.0, 2.0], [0.0, 3.0]].view().try_into()?;
    /// assert_eq!(Kernel::linear().diagonal(&x)?, [5.0, 9.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the kernel is precomputed, a parameter is out of range or the user's kernel fails.
    pub fn diagonal(&self, samples: &Samples) -> Result<Vec<f64>> {
        self.check()?;
        let all: Vec<usize> = (0..samples.rows()).collect();
        if let Kernel::User(kernel) = self {
            return user_diagonal(&**kernel, samples, &all);
        }
        let value = |row: usize| {
            let mut norm = 0.0;
            samples.for_each(row, |_, value| norm += value * value);
            self.on_diagonal(norm)
        };
        let values: Option<Vec<f64>> = all.into_iter().map(value).collect();
        values.ok_or_else(|| Error::parameter("kernel", "a function of two rows", "precomputed"))
    }

    /// Checks that every parameter is in its range.
    pub(crate) fn check(&self) -> Result<()> {
        let finite = |name, value: f64| {
            if value.is_finite() {
                Ok(())
            } else {
                Err(Error::parameter(name, "finite", value))
            }
        };
        let not_negative = |name, value: f64| {
            if value.is_finite() && value >= 0.0 {
                Ok(())
            } else {
                Err(Error::parameter(name, "finite and not negative", value))
            }
        };
        match self {
            Kernel::Linear | Kernel::Precomputed | Kernel::User(_) => Ok(()),
            Kernel::Rbf { gamma } | Kernel::Laplacian { gamma } => not_negative("gamma", *gamma),
            Kernel::Polynomial { gamma, coef0, .. } | Kernel::Sigmoid { gamma, coef0 } => {
                not_negative("gamma", *gamma)?;
                finite("coef0", *coef0)
            }
            Kernel::InverseMultiquadric { c } => {
                if c.is_finite() && *c > 0.0 {
                    Ok(())
                } else {
                    Err(Error::parameter("c", "positive and finite", c))
                }
            }
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                if parts.is_empty() {
                    return Err(Error::parameter(
                        "kernel",
                        "made of at least one part",
                        "none",
                    ));
                }
                parts.iter().try_for_each(Kernel::check_part)
            }
            Kernel::Scaled(factor, kernel) => {
                not_negative("the factor of a kernel", *factor)?;
                kernel.check_part()
            }
        }
    }

    fn check_part(&self) -> Result<()> {
        match self {
            Kernel::Precomputed | Kernel::User(_) => Err(Error::parameter(
                "kernel",
                "made of built-in kernels",
                format!("{self:?} as a part"),
            )),
            _ => self.check(),
        }
    }

    /// Tells whether only differences x - z enter, so that the data may be centred.
    pub(crate) fn is_translation_invariant(&self) -> bool {
        match self {
            Kernel::Rbf { .. } | Kernel::Laplacian { .. } | Kernel::InverseMultiquadric { .. } => {
                true
            }
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                parts.iter().all(Kernel::is_translation_invariant)
            }
            Kernel::Scaled(_, kernel) => kernel.is_translation_invariant(),
            _ => false,
        }
    }

    /// Tells whether its values are computed here, in tiles.
    pub(crate) fn is_tiled(&self) -> bool {
        !matches!(self, Kernel::Precomputed | Kernel::User(_))
    }

    /// Tells whether the kernel is one that need not be positive semi-definite.
    pub(crate) fn may_be_indefinite(&self) -> bool {
        match self {
            Kernel::Sigmoid { .. } => true,
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                parts.iter().any(Kernel::may_be_indefinite)
            }
            Kernel::Scaled(_, kernel) => kernel.may_be_indefinite(),
            _ => false,
        }
    }

    /// Returns k(x, x) for a row with the given squared norm; None where that is not enough.
    pub(crate) fn on_diagonal(&self, squared_norm: f64) -> Option<f64> {
        Some(match self {
            Kernel::Linear => squared_norm,
            Kernel::Polynomial {
                gamma,
                coef0,
                degree,
            } => (gamma * squared_norm + coef0).powi(*degree as i32),
            Kernel::Rbf { .. } | Kernel::Laplacian { .. } => 1.0,
            Kernel::Sigmoid { gamma, coef0 } => (gamma * squared_norm + coef0).tanh(),
            Kernel::InverseMultiquadric { c } => 1.0 / c,
            Kernel::Sum(parts) => {
                let values: Option<Vec<f64>> =
                    parts.iter().map(|k| k.on_diagonal(squared_norm)).collect();
                values?.iter().sum()
            }
            Kernel::Product(parts) => {
                let values: Option<Vec<f64>> =
                    parts.iter().map(|k| k.on_diagonal(squared_norm)).collect();
                values?.iter().product()
            }
            Kernel::Scaled(factor, kernel) => factor * kernel.on_diagonal(squared_norm)?,
            Kernel::Precomputed | Kernel::User(_) => return None,
        })
    }

    /// Estimates how many roundings of the arithmetic a kernel value carries, given the largest
    /// squared norm of the (centred) rows. Relative to the largest value of the kernel.
    pub(crate) fn roundings(&self, squared_norm: f64) -> f64 {
        match self {
            Kernel::Rbf { gamma } => 1.0 + gamma * squared_norm,
            Kernel::InverseMultiquadric { c } => 1.0 + squared_norm / (c * c),
            Kernel::Polynomial { degree, .. } => f64::from(*degree) + 1.0,
            Kernel::Sigmoid { gamma, .. } => 1.0 + gamma * squared_norm,
            Kernel::Laplacian { .. } => 4.0,
            Kernel::Sum(parts) | Kernel::Product(parts) => {
                parts.iter().map(|k| k.roundings(squared_norm)).sum()
            }
            Kernel::Scaled(_, kernel) => kernel.roundings(squared_norm),
            Kernel::Linear | Kernel::Precomputed | Kernel::User(_) => 1.0,
        }
    }
}

/// Returns what a lock holds, and makes it first if there is nothing. Unlike `get_or_init` it does
/// not block: `make` runs on several threads, and a thread that waits for a part of it may be given
/// other work that wants the same lock. Two threads may make the same; one is kept.
pub(crate) fn get_or_make<T>(lock: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match lock.get() {
        Some(value) => value,
        None => {
            let value = make();
            lock.get_or_init(|| value)
        }
    }
}

/// Checks that samples have as many columns as what they are compared with.
pub(crate) fn check_columns(samples: &Samples, columns: usize) -> Result<()> {
    if samples.columns() == columns {
        return Ok(());
    }
    Err(Error::shape(
        "X",
        format!("{columns} columns"),
        format!("{}", samples.columns()),
    ))
}

/// Evaluates a user kernel and checks what it returned.
pub(crate) fn user_block(
    kernel: &dyn UserKernel,
    a: &Samples,
    rows: &[usize],
    b: &Samples,
    columns: &[usize],
    out: &mut [f64],
) -> Result<()> {
    kernel
        .block(a, rows, b, columns, out)
        .map_err(Error::UserKernel)?;
    match out.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::NotFinite {
            name: "kernel",
            row: rows[at / columns.len()],
            value: out[at],
        }),
    }
}

/// The diagonal of a user kernel, which is asked for small squares.
pub(crate) fn user_diagonal(
    kernel: &dyn UserKernel,
    samples: &Samples,
    rows: &[usize],
) -> Result<Vec<f64>> {
    let mut diagonal = Vec::with_capacity(rows.len());
    for rows in rows.chunks(USER_DIAGONAL) {
        let mut block = vec![0.0; rows.len() * rows.len()];
        user_block(kernel, samples, rows, samples, rows, &mut block)?;
        diagonal.extend(block.iter().step_by(rows.len() + 1));
    }
    Ok(diagonal)
}

struct RowFunction<F>(F);

impl<F> fmt::Debug for RowFunction<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowFunction")
    }
}

impl<F: Fn(&[f64], &[f64]) -> f64 + Send + Sync> UserKernel for RowFunction<F> {
    fn block(
        &self,
        a: &Samples,
        rows: &[usize],
        b: &Samples,
        columns: &[usize],
        out: &mut [f64],
    ) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
        use rayon::prelude::*;
        let width = b.columns();
        let mut right = vec![0.0; columns.len() * width];
        for (k, &j) in columns.iter().enumerate() {
            b.copy_row(j, &mut right[k * width..][..width]);
        }
        let right = &right;
        out.par_chunks_mut(columns.len())
            .zip(rows)
            .for_each(|(values, &i)| {
                let mut x = vec![0.0; a.columns()];
                a.copy_row(i, &mut x);
                // Rows may have no entries, so they are not the chunks of anything.
                for (k, value) in values.iter_mut().enumerate() {
                    *value = (self.0)(&x, &right[k * width..][..width]);
                }
            });
        Ok(())
    }
}

impl std::ops::Add for Kernel {
    type Output = Kernel;
    fn add(self, other: Kernel) -> Kernel {
        Kernel::Sum(vec![self, other])
    }
}

impl std::ops::Mul for Kernel {
    type Output = Kernel;
    fn mul(self, other: Kernel) -> Kernel {
        Kernel::Product(vec![self, other])
    }
}

impl std::ops::Mul<Kernel> for f64 {
    type Output = Kernel;
    fn mul(self, kernel: Kernel) -> Kernel {
        Kernel::Scaled(self, Box::new(kernel))
    }
}
