//! All machines behind one face: what holds for each of them is tested for all.

use mercer::formulation::{self, Intercept, Loss};
use mercer::model::{OneClassModel, SvddModel, SvrModel};
use mercer::qp::{DualProblem, Monitor, Report, Smo};
use mercer::{Kernel, NuSvc, NuSvr, OneClassSvm, Result, Samples, Svc, SvcModel, Svdd, Svr};

/// The cost of an error where there is one.
pub const C: f64 = 2.0;
/// Half the width of the tube where it is given.
pub const EPSILON: f64 = 0.1;
/// Nu of every machine that has one.
pub const NU: f64 = 0.3;

/// A machine in all its variants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Machine {
    Svc(Loss, Intercept),
    NuSvc,
    Svr(Loss, Intercept),
    NuSvr,
    OneClass(Loss),
    Svdd(Loss),
}

/// Every machine with every loss and bias.
pub fn all() -> Vec<Machine> {
    let mut all = vec![Machine::NuSvc, Machine::NuSvr];
    for loss in [Loss::Linear, Loss::Squared] {
        for intercept in [Intercept::Free, Intercept::None, Intercept::Penalized] {
            all.push(Machine::Svc(loss, intercept));
            all.push(Machine::Svr(loss, intercept));
        }
        all.push(Machine::OneClass(loss));
        all.push(Machine::Svdd(loss));
    }
    all
}

/// What a machine is given: a number per row, whose sign is the class of classifiers, and a weight.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub y: &'a [f64],
    pub weight: &'a [f64],
}

impl Machine {
    pub fn fit<X>(
        self,
        kernel: &Kernel,
        smo: Smo,
        x: X,
        given: Given,
        monitor: &dyn Monitor,
    ) -> Result<Model>
    where
        X: TryInto<Samples>,
        mercer::Error: From<X::Error>,
    {
        let (kernel, Given { y, weight }) = (kernel.clone(), given);
        let labels: Vec<bool> = y.iter().map(|y| *y > 0.0).collect();
        Ok(match self {
            Machine::Svc(loss, intercept) => {
                let svc = Svc::new(kernel)
                    .c(C)
                    .loss(loss)
                    .intercept(intercept)
                    .solver(smo);
                Model::Classifier(svc.fit_weighted(x, &labels, weight, monitor)?)
            }
            Machine::NuSvc => {
                let svc = NuSvc::new(kernel).nu(NU).solver(smo);
                Model::Classifier(svc.fit_weighted(x, &labels, weight, monitor)?)
            }
            Machine::Svr(loss, intercept) => {
                let svr = Svr::new(kernel).c(C).epsilon(EPSILON).loss(loss);
                let svr = svr.intercept(intercept).solver(smo);
                Model::Regressor(svr.fit_weighted(x, y, weight, monitor)?)
            }
            Machine::NuSvr => {
                let svr = NuSvr::new(kernel).c(C).nu(NU).solver(smo);
                Model::Regressor(svr.fit_weighted(x, y, weight, monitor)?)
            }
            Machine::OneClass(loss) => {
                let svm = OneClassSvm::new(kernel).nu(NU).loss(loss).solver(smo);
                Model::Plane(svm.fit_weighted(x, weight, monitor)?)
            }
            Machine::Svdd(loss) => {
                let svdd = Svdd::new(kernel).nu(NU).loss(loss).solver(smo);
                Model::Sphere(svdd.fit_weighted(x, weight, monitor)?)
            }
        })
    }

    /// The programme it solves; `diagonal` holds k(x, x).
    pub fn dual(self, given: Given, diagonal: &[f64]) -> DualProblem {
        let Given { y, weight } = given;
        let cost: Vec<f64> = weight.iter().map(|weight| C * weight).collect();
        let positive: Vec<bool> = y.iter().map(|y| *y <= 0.0).collect();
        match self {
            Machine::Svc(loss, intercept) => formulation::svc(&positive, &cost, loss, intercept),
            Machine::NuSvc => formulation::nu_svc(&positive, weight, NU).expect("feasible"),
            Machine::Svr(loss, intercept) => formulation::svr(y, &cost, EPSILON, loss, intercept),
            Machine::NuSvr => formulation::nu_svr(y, &cost, NU).expect("feasible"),
            Machine::OneClass(loss) => formulation::one_class(weight, NU, loss).expect("feasible"),
            Machine::Svdd(loss) => formulation::svdd(diagonal, weight, NU, loss).expect("feasible"),
        }
    }
}

/// A trained machine.
pub enum Model {
    Classifier(SvcModel<bool>),
    Regressor(SvrModel),
    Plane(OneClassModel),
    Sphere(SvddModel),
}

impl Model {
    /// Decision values, or what regression predicts.
    pub fn decide<X>(&self, x: X) -> Result<Vec<f64>>
    where
        X: TryInto<Samples>,
        mercer::Error: From<X::Error>,
    {
        Ok(match self {
            Model::Classifier(model) => model.decision_function(x)?.into_iter().collect(),
            Model::Regressor(model) => model.predict(x)?,
            Model::Plane(model) => model.decision_function(x)?,
            Model::Sphere(model) => model.decision_function(x)?,
        })
    }

    pub fn report(&self) -> &Report {
        match self {
            Model::Classifier(model) => &model.reports()[0],
            Model::Regressor(model) => model.report(),
            Model::Plane(model) => model.report(),
            Model::Sphere(model) => model.report(),
        }
    }

    /// The support vectors and their coefficients.
    pub fn coefficients(&self) -> Vec<(usize, f64)> {
        let (support, beta) = match self {
            Model::Classifier(model) => {
                let machines = model.machines();
                (&machines.support, machines.dual_coef.row(0).to_vec())
            }
            Model::Regressor(model) => {
                (&model.machine().support, model.machine().dual_coef.clone())
            }
            Model::Plane(model) => (&model.machine().support, model.machine().dual_coef.clone()),
            Model::Sphere(model) => (&model.machine().support, model.machine().dual_coef.clone()),
        };
        support.iter().copied().zip(beta).collect()
    }
}
