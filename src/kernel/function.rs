//! Kernel: the functions, and their sums, products and multiples.

use super::user::{RowFunction, UserKernel};
use std::sync::Arc;

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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// exp(-s r) (1 + s r) for nu = 3/2, exp(-s r) (1 + s r + (s r)^2 / 3) for nu = 5/2, with
    /// s = sqrt(2 nu) / length_scale and r = |x - z|
    Matern {
        /// Smoothness: 1.5 or 2.5.
        nu: f64,
        /// Width.
        length_scale: f64,
    },
    /// exp(-2 sum_i sin^2(pi (x_i - z_i) / period) / length_scale^2)
    Periodic {
        /// The distance at which values repeat.
        period: f64,
        /// Width, as a share of a period.
        length_scale: f64,
    },
    /// exp(-gamma sum_i (x_i - z_i)^2 / (x_i + z_i)), of numbers that are not negative
    ChiSquared {
        /// Inverse width.
        gamma: f64,
    },
    /// sum_i min(x_i, z_i), of numbers that are not negative
    HistogramIntersection,
    /// sum over i_1 < ... < i_degree of the products of exp(-gamma (x_i - z_i)^2)
    Anova {
        /// Factor of the squared differences.
        gamma: f64,
        /// How many features interact.
        degree: u32,
    },
    /// k(x, z) / sqrt(k(x, x) k(z, z)); 0 where k(x, x) or k(z, z) is
    Normalized(Box<Kernel>),
    /// The sum of kernels.
    Sum(Vec<Kernel>),
    /// The product of kernels.
    Product(Vec<Kernel>),
    /// A multiple of a kernel.
    Scaled(f64, Box<Kernel>),
    /// The samples are themselves the kernel matrix: row i holds k(x_i, ·).
    Precomputed,
    /// The user's own.
    #[cfg_attr(feature = "serde", serde(skip))]
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

    /// Returns the sigmoid kernel, which is not positive semi-definite in general.
    ///
    /// ```
    /// let kernel = mercer::Kernel::sigmoid(0.5, 1.0);
    /// let x = ndarray::array![[2.0]].view().try_into()?;
    /// assert!((kernel.matrix(&x, &x)?[[0, 0]] - 3.0f64.tanh()).abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn sigmoid(gamma: f64, coef0: f64) -> Self {
        Kernel::Sigmoid { gamma, coef0 }
    }

    /// Returns the Laplacian kernel.
    ///
    /// ```
    /// let kernel = mercer::Kernel::laplacian(0.5);
    /// let x = ndarray::array![[0.0, 0.0], [1.0, 3.0]].view().try_into()?;
    /// assert!((kernel.matrix(&x, &x)?[[0, 1]] - (-2.0f64).exp()).abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn laplacian(gamma: f64) -> Self {
        Kernel::Laplacian { gamma }
    }

    /// Returns the inverse multiquadric kernel.
    ///
    /// ```
    /// let kernel = mercer::Kernel::inverse_multiquadric(3.0);
    /// let x = ndarray::array![[0.0], [4.0]].view().try_into()?;
    /// assert!((kernel.matrix(&x, &x)?[[0, 1]] - 0.2).abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn inverse_multiquadric(c: f64) -> Self {
        Kernel::InverseMultiquadric { c }
    }

    /// Returns the Matérn kernel of smoothness `nu`, 1.5 or 2.5.
    ///
    /// ```
    /// let kernel = mercer::Kernel::matern(1.5, 1.0);
    /// let x = ndarray::array![[0.0], [1.0]].view().try_into()?;
    /// let s = 3.0f64.sqrt();
    /// assert!((kernel.matrix(&x, &x)?[[0, 1]] - (1.0 + s) * (-s).exp()).abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn matern(nu: f64, length_scale: f64) -> Self {
        Kernel::Matern { nu, length_scale }
    }

    /// Returns the periodic kernel.
    ///
    /// ```
    /// let kernel = mercer::Kernel::periodic(0.5, 1.0);
    /// let x = ndarray::array![[0.0], [1.0]].view().try_into()?;
    /// assert_eq!(kernel.matrix(&x, &x)?[[0, 1]], 1.0); // two periods apart
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn periodic(period: f64, length_scale: f64) -> Self {
        Kernel::Periodic {
            period,
            length_scale,
        }
    }

    /// Returns the chi-squared kernel, of histograms.
    ///
    /// ```
    /// let kernel = mercer::Kernel::chi_squared(1.0);
    /// let x = ndarray::array![[1.0, 0.0], [0.0, 1.0]].view().try_into()?;
    /// assert!((kernel.matrix(&x, &x)?[[0, 1]] - (-2.0f64).exp()).abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn chi_squared(gamma: f64) -> Self {
        Kernel::ChiSquared { gamma }
    }

    /// Returns the histogram intersection kernel.
    ///
    /// ```
    /// let kernel = mercer::Kernel::histogram_intersection();
    /// let x = ndarray::array![[3.0, 1.0], [2.0, 5.0]].view().try_into()?;
    /// assert_eq!(kernel.matrix(&x, &x)?[[0, 1]], 3.0);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn histogram_intersection() -> Self {
        Kernel::HistogramIntersection
    }

    /// Returns the ANOVA kernel of interactions of `degree` features.
    ///
    /// ```
    /// let kernel = mercer::Kernel::anova(1.0, 2);
    /// let x = ndarray::array![[1.0, 2.0, 3.0]].view().try_into()?;
    /// assert_eq!(kernel.matrix(&x, &x)?[[0, 0]], 3.0); // of three pairs of features
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn anova(gamma: f64, degree: u32) -> Self {
        Kernel::Anova { gamma, degree }
    }

    /// Returns this kernel divided by the lengths of both rows in feature space.
    ///
    /// A row of length zero has the value 0 with every row, also with itself.
    ///
    /// ```
    /// let cosine = mercer::Kernel::linear().normalized();
    /// let x = ndarray::array![[3.0, 4.0], [30.0, 40.0], [0.0, 0.0]].view().try_into()?;
    /// let k = cosine.matrix(&x, &x)?;
    /// assert_eq!((k[[0, 0]], k[[0, 2]], k[[2, 2]]), (1.0, 0.0, 0.0));
    /// assert!((k[[0, 1]] - 1.0).abs() < 1e-15);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    #[must_use]
    pub fn normalized(self) -> Self {
        Kernel::Normalized(Box::new(self))
    }

    /// Returns the kernel of samples that are themselves a kernel matrix.
    ///
    /// ```
    /// use mercer::{Kernel, Svc};
    /// let k = ndarray::array![[1.0, -1.0], [-1.0, 1.0]]; // of the points 1 and -1 on a line
    /// let model = Svc::new(Kernel::precomputed()).fit(k.view(), &["right", "left"])?;
    /// assert_eq!(model.predict(ndarray::array![[3.0, -3.0]].view())?, ["right"]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn precomputed() -> Self {
        Kernel::Precomputed
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
