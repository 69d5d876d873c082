//! Incremental: a machine that goes on learning.
//!
//! It keeps its rows and where its solver stood. So rows can be learnt and unlearnt, and parameters
//! changed, at the cost of what that changes; the model is that of a fit from nothing, to the tolerance.
//!
//! Cauwenberghs, Poggio: Incremental and decremental support vector machine learning, NIPS 13 (2000).

use super::checks::check_lengths;
use super::nu_svc::NuSvc;
use super::nu_svr::NuSvr;
use super::one_class::{OneClassModel, OneClassSvm};
use super::session::{Past, Session};
use super::svc::{Svc, SvcModel};
use super::svdd::{Svdd, SvddModel};
use super::svr::{Svr, SvrModel};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::qp::{Monitor, Unwatched};

/// What [`Incremental`] needs of a machine that learns targets of the type `T`.
pub trait Train<T> {
    /// The trained machine.
    type Model;

    /// Returns the kernel.
    fn kernel(&self) -> &Kernel;

    /// Trains on samples, their targets and weights.
    ///
    /// # Errors
    /// As `fit` of the machine.
    fn train(
        &self,
        samples: &Samples,
        targets: &[T],
        weights: &[f64],
        session: &Session,
    ) -> Result<Self::Model>;
}

macro_rules! trains_with_targets {
    ($machine:ident, $target:ty, $model:ty $(, $label:ident)?) => {
        impl$(<$label: Ord + Clone>)? Train<$target> for $machine {
            type Model = $model;

            fn kernel(&self) -> &Kernel {
                self.own_kernel()
            }

            fn train(
                &self,
                samples: &Samples,
                targets: &[$target],
                weights: &[f64],
                session: &Session,
            ) -> Result<$model> {
                self.fit_samples(samples, targets, weights, session)
            }
        }
    };
}

trains_with_targets!(Svc, L, SvcModel<L>, L);
trains_with_targets!(NuSvc, L, SvcModel<L>, L);
trains_with_targets!(Svr, f64, SvrModel);
trains_with_targets!(NuSvr, f64, SvrModel);

macro_rules! trains_alone {
    ($machine:ident, $model:ty) => {
        impl Train<()> for $machine {
            type Model = $model;

            fn kernel(&self) -> &Kernel {
                self.own_kernel()
            }

            fn train(
                &self,
                samples: &Samples,
                _: &[()],
                weights: &[f64],
                session: &Session,
            ) -> Result<$model> {
                self.fit_samples(samples, weights, session)
            }
        }
    };
}

trains_alone!(OneClassSvm, OneClassModel);
trains_alone!(Svdd, SvddModel);

/// A machine that goes on learning: [`Svc`] or [`NuSvc`] with labels, [`Svr`] or [`NuSvr`] with values,
/// [`OneClassSvm`] or [`Svdd`] with `()` for each row.
///
/// ```
/// use mercer::{Kernel, Svc, model::Incremental};
/// let x = ndarray::array![[0.0], [1.0], [5.0], [6.0]];
/// let mut machine = Incremental::fit(Svc::new(Kernel::linear()), x.view(), &["a", "a", "b", "b"])?;
/// machine.add(ndarray::array![[3.0]].view(), &["a"])?;
/// assert_eq!(machine.model().predict(ndarray::array![[3.5]].view())?, ["a"]);
/// machine.remove(&[4])?; // which unlearns the last row
/// assert_eq!(machine.model().predict(ndarray::array![[3.5]].view())?, ["b"]);
/// machine.change(Svc::new(Kernel::linear()).c(10.0))?;
/// assert_eq!(machine.rows(), 4);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct Incremental<M: Train<T>, T> {
    machine: M,
    samples: Samples,
    targets: Vec<T>,
    weights: Vec<f64>,
    past: Past,
    model: M::Model,
}

impl<M: Train<T>, T: Clone> Incremental<M, T> {
    /// Trains a machine on the rows of `x` with one target each.
    ///
    /// ```
    /// # use mercer::{Kernel, Svdd, model::Incremental};
    /// let x = ndarray::array![[1.0], [3.0]];
    /// let machine = Incremental::fit(Svdd::new(Kernel::linear()), x.view(), &[(), ()])?;
    /// assert!((machine.model().radius() - 1.0).abs() < 1e-6);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As `fit` of the machine.
    pub fn fit<X>(machine: M, x: X, targets: &[T]) -> Result<Self>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let samples = x.try_into()?;
        check_lengths(&samples, &[("y", targets.len())])?;
        let weights = vec![1.0; samples.rows()];
        let past = Past::default();
        let session = Session::from(&Unwatched, &past);
        let model = machine.train(&samples, targets, &weights, &session)?;
        Ok(Incremental {
            past: session.into_past().unwrap_or_default(),
            machine,
            samples,
            targets: targets.to_vec(),
            weights,
            model,
        })
    }

    /// Learns more rows, which are counted on from the last. Nothing has changed if that fails.
    ///
    /// ```
    /// # use mercer::{Kernel, Svr, model::Incremental};
    /// let svr = Svr::new(Kernel::linear()).c(100.0).epsilon(0.0);
    /// let mut machine = Incremental::fit(svr, ndarray::array![[0.0], [1.0]].view(), &[0.0, 1.0])?;
    /// let model = machine.add(ndarray::array![[2.0], [3.0]].view(), &[2.0, 3.0])?;
    /// assert!((model.predict(ndarray::array![[9.0]].view())?[0] - 9.0).abs() < 1e-2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As `fit` of the machine; if the rows are not as long as those before; and with a precomputed
    /// kernel, which does not know more rows.
    pub fn add<X>(&mut self, x: X, targets: &[T]) -> Result<&M::Model>
    where
        X: TryInto<Samples>,
        Error: From<X::Error>,
    {
        let new = x.try_into()?;
        check_lengths(&new, &[("y", targets.len())])?;
        if matches!(self.machine.kernel(), Kernel::Precomputed) {
            let allowed = "a function of rows: a precomputed matrix does not know more of them";
            return Err(Error::parameter("kernel", allowed, "precomputed"));
        }
        let samples = self.samples.followed_by(&new)?;
        let targets = [self.targets.as_slice(), targets].concat();
        let weights = [self.weights.as_slice(), &vec![1.0; new.rows()]].concat();
        let session = Session::from(&Unwatched, &self.past);
        let model = self.machine.train(&samples, &targets, &weights, &session)?;
        self.past = session.into_past().unwrap_or_default();
        (self.samples, self.targets, self.weights) = (samples, targets, weights);
        self.model = model;
        Ok(&self.model)
    }

    /// Unlearns rows: the model is that of a fit without them, and the other rows move up. Nothing has
    /// changed if that fails.
    ///
    /// ```
    /// # use mercer::{Kernel, OneClassSvm, model::Incremental};
    /// let x = ndarray::array![[1.0], [2.0], [3.0], [9.0]];
    /// let machine = OneClassSvm::new(Kernel::linear());
    /// let mut machine = Incremental::fit(machine, x.view(), &[(); 4])?;
    /// assert_eq!(machine.remove(&[3])?.machine().dual_coef, [1.0, 0.5]);
    /// assert!(machine.remove(&[3]).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a number is not that of a row, or as `fit` of the machine without the rows.
    pub fn remove(&mut self, rows: &[usize]) -> Result<&M::Model> {
        let n = self.samples.rows();
        if let Some(row) = rows.iter().find(|&&row| row >= n) {
            return Err(Error::parameter("rows", format!("below {n}"), row));
        }
        let mut number: Vec<Option<usize>> = vec![Some(0); n];
        rows.iter().for_each(|&row| number[row] = None);
        let left: Vec<usize> = (0..n).filter(|&row| number[row].is_some()).collect();
        left.iter()
            .enumerate()
            .for_each(|(at, &row)| number[row] = Some(at));
        let mut weights = self.weights.clone();
        rows.iter().for_each(|&row| weights[row] = 0.0);
        // With the rows still there, whose kernel values are needed to take them away.
        let session = Session::from(&Unwatched, &self.past);
        self.machine
            .train(&self.samples, &self.targets, &weights, &session)?;
        let mut past = session.into_past().unwrap_or_default();
        past.renumber(&|row| number[row]);
        let samples = match self.machine.kernel() {
            Kernel::Precomputed => self.samples.select(&left)?.select_columns(&left)?,
            _ => self.samples.select(&left)?,
        };
        let targets: Vec<T> = left.iter().map(|&row| self.targets[row].clone()).collect();
        let weights: Vec<f64> = left.iter().map(|&row| self.weights[row]).collect();
        // Nothing is left to do but to number the support vectors anew.
        let session = Session::from(&Unwatched, &past);
        let model = self.machine.train(&samples, &targets, &weights, &session)?;
        self.past = session.into_past().unwrap_or_default();
        (self.samples, self.targets, self.weights) = (samples, targets, weights);
        self.model = model;
        Ok(&self.model)
    }

    /// Goes on with other parameters. Nothing has changed if that fails.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, model::Incremental};
    /// let x = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
    /// let svc = Svc::new(Kernel::rbf(1.0));
    /// let mut machine = Incremental::fit(svc.clone(), x.view(), &[0, 1, 0, 1])?;
    /// let model = machine.change(svc.c(100.0).tolerance(1e-6))?;
    /// assert_eq!(model.predict(x.view())?, [0, 1, 0, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As `fit` of the machine.
    pub fn change(&mut self, machine: M) -> Result<&M::Model> {
        if !same(machine.kernel(), self.machine.kernel()) {
            self.past.doubt_images();
        }
        self.train(machine, &Unwatched)
    }

    /// Goes on with the same parameters, as after a limit of time or iterations, watched by a
    /// [`Monitor`].
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, model::Incremental, qp::{Status, Unwatched}};
    /// let x = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
    /// let svc = Svc::new(Kernel::rbf(1.0)).max_iterations(1);
    /// let mut machine = Incremental::fit(svc, x.view(), &[0, 1, 0, 1])?;
    /// while machine.model().reports()[0].status != Status::Converged {
    ///     machine.go_on(&Unwatched)?;
    /// }
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As `fit` of the machine.
    pub fn go_on(&mut self, monitor: &dyn Monitor) -> Result<&M::Model>
    where
        M: Clone,
    {
        let machine = self.machine.clone();
        self.train(machine, monitor)
    }

    fn train(&mut self, machine: M, monitor: &dyn Monitor) -> Result<&M::Model> {
        let session = Session::from(monitor, &self.past);
        let model = machine.train(&self.samples, &self.targets, &self.weights, &session)?;
        self.past = session.into_past().unwrap_or_default();
        (self.machine, self.model) = (machine, model);
        Ok(&self.model)
    }

    /// Returns the trained machine.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, model::Incremental};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let machine = Incremental::fit(Svc::new(Kernel::linear()), x.view(), &[0, 1])?;
    /// assert_eq!(machine.model().predict(x.view())?, [0, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn model(&self) -> &M::Model {
        &self.model
    }

    /// Returns the trained machine, and forgets the rows.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, model::Incremental};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// let machine = Incremental::fit(Svc::new(Kernel::linear()), x.view(), &[0, 1])?;
    /// assert_eq!(machine.into_model().classes(), [0, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn into_model(self) -> M::Model {
        self.model
    }

    /// Returns how many rows it has learnt.
    ///
    /// ```
    /// # use mercer::{Kernel, Svc, model::Incremental};
    /// let x = ndarray::array![[-1.0], [1.0]];
    /// assert_eq!(Incremental::fit(Svc::new(Kernel::linear()), x.view(), &[0, 1])?.rows(), 2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.samples.rows()
    }
}

/// Tells whether two kernels are known to have the same values.
fn same(kernel: &Kernel, other: &Kernel) -> bool {
    kernel.is_tiled() && format!("{kernel:?}") == format!("{other:?}")
}
