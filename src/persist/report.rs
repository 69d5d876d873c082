//! What solvers did, as files have it.

use super::value::{any_number, count, damaged, object, of_number, text};
use crate::error::Result;
use crate::qp::{Algorithm, Phases, Report, Status};
use serde_json::{Value, json};

/// Reads the reports of all machines.
///
/// # Errors
/// If something is missing or of another kind.
pub(super) fn read(value: &Value) -> Result<Vec<Report>> {
    times(value.get("seconds"))?;
    match value.get("machines") {
        Some(Value::Array(machines)) if !machines.is_empty() => machines.iter().map(one).collect(),
        _ => Err(damaged("report_ must have machines")),
    }
}

fn one(value: &Value) -> Result<Report> {
    let of = object("a report", Some(value))?;
    let whole = |name: &str| count(name, of.get(name));
    let real = |name: &str| any_number(name, of.get(name));
    let [seconds, selection, kernel, inner, update] = times(of.get("seconds"))?;
    Ok(Report {
        status: status(text("status", of.get("status"))?)?,
        method: method(text("method", of.get("method"))?)?,
        iterations: whole("iterations")?,
        gap: real("gap")?,
        objective: real("objective")?,
        primal_objective: real("primal_objective")?,
        duality_gap: real("duality_gap")?,
        squared_norm: real("squared_norm")?,
        kernel_evaluations: whole("kernel_evaluations")?,
        cache_hits: whole("cache_hits")?,
        cache_misses: whole("cache_misses")?,
        cache_bypasses: whole("cache_bypasses")?,
        seconds,
        phases: Phases {
            selection,
            kernel,
            inner,
            update,
        },
    })
}

fn times(value: Option<&Value>) -> Result<[f64; 5]> {
    let wrong = || damaged("the seconds of a report must be five numbers");
    let times = value.and_then(Value::as_array).ok_or_else(wrong)?;
    let times: Result<Vec<f64>> = times
        .iter()
        .map(|t| any_number("seconds", Some(t)))
        .collect();
    times?.try_into().map_err(|_| wrong())
}

fn status(name: &str) -> Result<Status> {
    let all = [
        Status::Converged,
        Status::Settled,
        Status::MaxIterations,
        Status::TimeLimit,
        Status::Interrupted,
        Status::Diverged,
        Status::Precision,
    ];
    let found = all.into_iter().find(|status| status.to_string() == name);
    found.ok_or_else(|| damaged(format!("there is no status {name:?} of a solver")))
}

fn method(name: &str) -> Result<Algorithm> {
    let all = [
        Algorithm::Smo,
        Algorithm::Adatron,
        Algorithm::Newton,
        Algorithm::Descent,
        Algorithm::Interior,
        Algorithm::Npa,
        Algorithm::Chunking,
        Algorithm::Perceptron,
        Algorithm::MinOver,
    ];
    let found = all.into_iter().find(|method| method.to_string() == name);
    found.ok_or_else(|| damaged(format!("there is no solver {name:?}")))
}

pub(super) fn write(reports: &[Report]) -> Value {
    let phases = |report: &Report| {
        let of = report.phases;
        [of.selection, of.kernel, of.inner, of.update]
    };
    let mut total = [0.0; 5];
    for report in reports {
        total[0] += report.seconds;
        for (sum, part) in total[1..].iter_mut().zip(phases(report)) {
            *sum += part;
        }
    }
    let machine = |report: &Report| {
        let mut seconds = vec![of_number(report.seconds)];
        seconds.extend(phases(report).map(of_number));
        json!({
            "status": report.status.to_string(),
            "method": report.method.to_string(),
            "iterations": report.iterations,
            "gap": of_number(report.gap),
            "objective": of_number(report.objective),
            "primal_objective": of_number(report.primal_objective),
            "duality_gap": of_number(report.duality_gap),
            "squared_norm": of_number(report.squared_norm),
            "kernel_evaluations": report.kernel_evaluations,
            "cache_hits": report.cache_hits,
            "cache_misses": report.cache_misses,
            "cache_bypasses": report.cache_bypasses,
            "seconds": seconds,
        })
    };
    json!({
        "machines": reports.iter().map(machine).collect::<Vec<_>>(),
        "seconds": total.map(of_number),
    })
}
