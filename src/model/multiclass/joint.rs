//! Weston and Watkins, Crammer and Singer: the machines of all classes, trained as one.

use super::Multiclass;
use super::machines::Machines;
use super::one_vs_one::OneVsOne;
use super::one_vs_rest::assemble;
use super::training::{Margin, Training};
use crate::error::{Error, Result};
use crate::formulation::{Intercept, Loss, SvcLoss, crammer_singer, weston_watkins};
use crate::matrix::KernelMatrix;
use crate::model::checks::take;
use crate::qp::{Smo, Solver};

/// Trains the machines, on the threads of the current rayon pool, or of one of its own if there is
/// none. Two classes have one machine, that of [`OneVsOne`], which solves the same problem.
///
/// # Errors
/// As [`OneVsOne::fit`], and unless the loss is linear, there is no start, and the solver is SMO.
pub(super) fn fit(multiclass: &Multiclass, training: &Training) -> Result<Machines> {
    let (intercept, smo) = checked(multiclass, training)?;
    if training.classes == 2 {
        // Differences of two values are twice as large where only one of them is asked for.
        let factor = 2.0 / multiclass.lead().unwrap_or(2.0);
        let cost: Vec<f64> = training.cost.iter().map(|cost| factor * cost).collect();
        let doubled = Training {
            cost: &cost,
            ..*training
        };
        return OneVsOne::fit(&doubled);
    }
    training.call(|| {
        let (members, monitor) = (training.members()?, training.monitor);
        let rows = members.concat();
        let labels: Vec<usize> = rows.iter().map(|&row| training.labels[row]).collect();
        let cost = take(training.cost, &rows);
        let problem = match multiclass {
            Multiclass::CrammerSinger => crammer_singer,
            _ => weston_watkins,
        };
        let problem = problem(&labels, &cost, training.classes, intercept);
        monitor.machine(0, 1);
        let matrix = KernelMatrix::new(training.kernel, training.samples, rows)?;
        Ok(assemble(
            &members,
            smo.solve_table(&problem, &matrix, monitor)?,
        ))
    })
}

/// Returns the intercept and the solver.
fn checked(multiclass: &Multiclass, training: &Training) -> Result<(Intercept, Smo)> {
    let refuse = |name, allowed, got: String| Err(Error::parameter(name, allowed, got));
    let Margin::Soft { loss, intercept } = training.margin else {
        let allowed = "'ovo', 'ovr', 'dag' or a tree for a machine with nu";
        return refuse("multiclass", allowed, format!("{multiclass:?}"));
    };
    if loss != SvcLoss::Margin(Loss::Linear) {
        let allowed = "'hinge' where the machines of all classes are trained as one";
        return refuse("loss", allowed, format!("{loss:?}"));
    }
    if training.start.is_some() && training.classes != 2 {
        let got = format!("{} classes", training.classes);
        return refuse("start", "for two classes", got);
    }
    match training.solver {
        Solver::Smo(smo) => Ok((intercept, smo)),
        _ => {
            let allowed = "'smo' where the machines of all classes are trained as one";
            refuse("solver", allowed, "another one".into())
        }
    }
}
