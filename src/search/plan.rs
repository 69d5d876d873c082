//! Plan: which fits share what, and in which order they are done.
//!
//! Fits with the same kernel share its matrix. Those on the same rows, and with the same tube, make a chain,
//! from low costs to high: each starts from the solution of the last, and the first from that of another
//! fold. Chains are done side by side, each on one thread; where there are fewer chains than threads, one
//! after another on all of them.

use super::chain::Chain;
use super::fit::{Fit, Fitted, Formulation};
use super::stage::Stage;
use crate::data::Samples;
use crate::error::{Error, Halt, Result};
use crate::matrix::{BYTES_WITH_PAIRS, fair_share};
use crate::model::Margin;
use crate::qp::{Monitor, Unwatched};
use crate::simd::threads;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Bytes of matrices that are held at a time, if one alone does not take more: several keep all threads
/// busy until the last chain of a kernel is done, but memory used for the first time costs more than
/// the values in it.
const AT_A_TIME: usize = 1 << 28;

/// Many fits on the same samples.
///
/// ```
/// use mercer::formulation::{Intercept, Loss};
/// use mercer::search::{Fit, Formulation, Plan};
/// use mercer::{Kernel, Samples, model::{Margin, Multiclass}, qp::Solver};
/// let x = ndarray::array![[0.0], [1.0], [5.0], [6.0]];
/// let samples = Samples::try_from(x.view())?;
/// let margin = Margin::Soft { loss: Loss::Linear.into(), intercept: Intercept::Free };
/// let fit = |cost: f64, out: usize| Fit {
///     formulation: Formulation::Classifier { margin, multiclass: Multiclass::OneVsOne },
///     kernel: Kernel::linear(),
///     labels: vec![0, 0, 1, 1],
///     target: vec![],
///     cost: (0..4).map(|row| if row == out { 0.0 } else { cost }).collect(),
///     asked: vec![out],
///     solver: Solver::default(),
/// };
/// let fits: Vec<Fit> = (0..8).map(|i| fit(if i < 4 { 1.0 } else { 10.0 }, i % 4)).collect();
/// let fitted = Plan::new(&samples).run(&fits);
/// let held_out = fitted[4].as_ref().unwrap().values[[0, 0]];
/// assert!((held_out + 1.5).abs() < 1e-9); // between 1 and 5, the row at 0 has the value -1.5
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    samples: &'a Samples,
    bytes: Option<usize>,
    monitor: &'a dyn Monitor,
    done: &'a (dyn Fn(usize, &Result<Fitted>) + Sync),
}

impl std::fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("samples", self.samples)
            .finish_non_exhaustive()
    }
}

impl<'a> Plan<'a> {
    /// Plans fits on these samples.
    ///
    /// ```
    /// # use mercer::{Samples, search::Plan};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// assert!(Plan::new(&samples).run(&[]).is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn new(samples: &'a Samples) -> Self {
        Plan {
            samples,
            bytes: None,
            monitor: &Unwatched,
            done: &|_, _| {},
        }
    }

    /// Sets the bytes for kernel values; None for a fair share of the free memory.
    ///
    /// ```
    /// # use mercer::{Samples, search::Plan};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// assert!(Plan::new(&samples).bytes(1 << 20).run(&[]).is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn bytes(mut self, bytes: impl Into<Option<usize>>) -> Self {
        self.bytes = bytes.into();
        self
    }

    /// Sets who watches; what stops one fit stops all.
    ///
    /// ```
    /// # use mercer::{Samples, qp::Unwatched, search::Plan};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// assert!(Plan::new(&samples).monitor(&Unwatched).run(&[]).is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn monitor(mut self, monitor: &'a dyn Monitor) -> Self {
        self.monitor = monitor;
        self
    }

    /// Sets what is told the number of each fit that is done and what it found, from any thread.
    ///
    /// ```
    /// # use mercer::{Samples, search::{Fitted, Plan}};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// let told = |fit: usize, _: &mercer::Result<Fitted>| println!("{fit} is done");
    /// assert!(Plan::new(&samples).done(&told).run(&[]).is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn done(mut self, done: &'a (dyn Fn(usize, &Result<Fitted>) + Sync)) -> Self {
        self.done = done;
        self
    }

    /// Does all fits, on the threads of the current rayon pool, or of one of its own if there is none.
    /// A fit that is not possible has an error; the others do not mind.
    ///
    /// ```
    /// # use mercer::{Samples, search::Plan};
    /// let samples = Samples::try_from(ndarray::array![[1.0]].view())?;
    /// assert!(Plan::new(&samples).run(&[]).is_empty());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn run(&self, fits: &[Fit]) -> Vec<Result<Fitted>> {
        let mut results: Vec<Option<Result<Fitted>>> = fits.iter().map(|_| None).collect();
        let kernels: Vec<Vec<usize>> = grouped(fits.iter().map(|fit| format!("{:?}", fit.kernel)));
        let work = self.samples.work_of_matrix(self.samples.rows());
        let found = threads::call(work.saturating_mul(fits.len()), || {
            let pairs = fits.iter().any(|fit| !fit.has_one_machine());
            let each = if pairs { BYTES_WITH_PAIRS } else { 4 };
            let size = self.samples.rows().saturating_pow(2).saturating_mul(each);
            let batch = (AT_A_TIME / size.max(1)).max(1);
            let batches = kernels.chunks(batch);
            batches
                .flat_map(|kernels| self.batch(fits, kernels))
                .collect::<Vec<_>>()
        });
        for (fit, result) in found {
            results[fit] = Some(result);
        }
        let result = |result: Option<_>| result.expect("every fit is in one chain");
        results.into_iter().map(result).collect()
    }

    pub(super) fn samples(&self) -> &'a Samples {
        self.samples
    }

    /// Returns who watches.
    pub(super) fn watcher(&self) -> &'a dyn Monitor {
        self.monitor
    }

    /// Returns the bytes for kernel values.
    pub(super) fn budget(&self) -> usize {
        self.bytes.unwrap_or_else(fair_share)
    }

    /// Does the fits of some kernels.
    fn batch(&self, fits: &[Fit], kernels: &[Vec<usize>]) -> Vec<(usize, Result<Fitted>)> {
        let bytes = self.budget();
        let stage = |group: &Vec<usize>| {
            let kernel = &fits[group[0]].kernel;
            let pairs = group.iter().any(|&fit| !fits[fit].has_one_machine());
            let bytes = bytes / kernels.len();
            Stage::new(kernel, self.samples, bytes, pairs, &|| self.monitor.stop())
        };
        let stages: Vec<_> = kernels.iter().map(stage).collect();
        let mut chains: Vec<(usize, Vec<usize>)> = Vec::new();
        for (at, group) in kernels.iter().enumerate() {
            let apart = have_several_costs(group.iter().map(|&fit| &fits[fit]));
            let key = |&fit: &usize| (rows_of(&fits[fit]), apart.then(|| tube_of(&fits[fit])));
            let same = grouped(group.iter().map(key));
            chains.extend(same.into_iter().map(|chain| {
                let mut chain: Vec<usize> = chain.into_iter().map(|i| group[i]).collect();
                chain.sort_by(|&a, &b| rank(&fits[a]).total_cmp(&rank(&fits[b])));
                (at, chain)
            }));
        }
        let width = threads::width().min(chains.len());
        let each = bytes / width.max(1);
        let mut found = Vec::with_capacity(fits.len());
        let mut begun: Vec<(Vec<usize>, Chain)> = Vec::with_capacity(chains.len());
        for (at, chain) in chains {
            match &stages[at] {
                Ok(stage) => begun.push((chain, Chain::new(stage, each, self.monitor))),
                Err(halt) => found.extend(chain.iter().map(|&fit| (fit, Err(failure(halt))))),
            }
        }
        self.head(fits, kernels, &mut begun, &mut found);
        let run = |(chain, links)| self.chain(fits, chain, links);
        found.extend(side_by_side(begun, run).into_iter().flatten());
        // The values of a matrix count for the first fit that has it.
        for (number, fitted) in &mut found {
            let first = kernels.iter().position(|group| group[0] == *number);
            if let (Some(at), Ok(fitted)) = (first, fitted)
                && let Ok(stage) = &stages[at]
            {
                fitted.machines.reports[0].kernel_evaluations += stage.evaluations();
            }
        }
        found
    }

    /// Does the first fit of each chain, from the solution of the chain before that has the same kernel:
    /// folds have most of their rows in common. One chain is waiting for the other, so that is worth it
    /// only if there are kernels for all threads.
    fn head<'b>(
        &self,
        fits: &[Fit],
        kernels: &[Vec<usize>],
        begun: &mut Vec<(Vec<usize>, Chain<'b>)>,
        found: &mut Vec<(usize, Result<Fitted>)>,
    ) {
        let one_machine = |chain: &Vec<usize>| fits[chain[0]].has_one_machine();
        if kernels.len() < threads::width() || !begun.iter().all(|(chain, _)| one_machine(chain)) {
            return;
        }
        let mut groups: Vec<Vec<(Vec<usize>, Chain<'b>)>> =
            kernels.iter().map(|_| vec![]).collect();
        for (chain, links) in std::mem::take(begun) {
            let of = |kernel: &Vec<usize>| kernel.contains(&chain[0]);
            let at = kernels.iter().position(of).expect("a chain has a kernel");
            groups[at].push((chain, links));
        }
        type Headed<'b> = (Vec<(Vec<usize>, Chain<'b>)>, Vec<(usize, Result<Fitted>)>);
        let heads = |group: Vec<(Vec<usize>, Chain<'b>)>| -> Headed<'b> {
            let (mut chains, mut firsts) = (Vec::new(), Vec::new());
            let mut last: Option<Chain> = None;
            for (mut chain, links) in group {
                let mut links = last.as_ref().map_or(links, Chain::branch);
                let rest = chain.split_off(1);
                firsts.push(self.one(fits, chain[0], &mut links));
                last = Some(links.branch());
                chains.push((rest, links));
            }
            (chains, firsts)
        };
        for (chains, firsts) in side_by_side(groups, heads) {
            begun.extend(chains);
            found.extend(firsts);
        }
    }

    /// Does the fits of a chain.
    fn chain(
        &self,
        fits: &[Fit],
        chain: Vec<usize>,
        mut links: Chain,
    ) -> Vec<(usize, Result<Fitted>)> {
        let one = |number| self.one(fits, number, &mut links);
        chain.into_iter().map(one).collect()
    }

    fn one(&self, fits: &[Fit], number: usize, links: &mut Chain) -> (usize, Result<Fitted>) {
        let fitted = links.fit(&fits[number]);
        (self.done)(number, &fitted);
        (number, fitted)
    }
}

/// Does work side by side, each piece on one thread; one after another on all of them if there are fewer
/// pieces than threads.
pub(super) fn side_by_side<T: Send, R: Send>(work: Vec<T>, run: impl Fn(T) -> R + Sync) -> Vec<R> {
    if work.len() < threads::width() {
        return work.into_iter().map(run).collect();
    }
    threads::pooled(|| {
        let work = work.into_par_iter().with_max_len(1);
        work.map(|piece| threads::serially(|| run(piece))).collect()
    })
}

/// Returns why something could not be computed.
pub(super) fn failure(halt: &Halt) -> Error {
    match halt {
        Halt::Stopped => Error::Exhausted,
        Halt::Failed(error) => {
            Error::parameter("kernel", "one of which the matrix can be computed", error)
        }
    }
}

/// Returns the positions of equal keys together, in the order in which they first appear.
fn grouped<K: Ord + Clone>(keys: impl Iterator<Item = K>) -> Vec<Vec<usize>> {
    let mut place: BTreeMap<K, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, key) in keys.enumerate() {
        let group = *place.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(at);
    }
    groups
}

/// Returns which rows a fit is trained on, and asked for, as a key.
fn rows_of(fit: &Fit) -> (Vec<bool>, Vec<usize>, u8) {
    let kind = match fit.formulation {
        Formulation::Classifier {
            margin: Margin::Soft { .. },
            ..
        } => 0,
        Formulation::Classifier {
            margin: Margin::Nu(_),
            ..
        } => 1,
        Formulation::Regression { .. } => 2,
        Formulation::NuRegression { .. } => 3,
        Formulation::OneClass { .. } => 4,
    };
    (
        fit.cost.iter().map(|cost| *cost != 0.0).collect(),
        fit.asked.clone(),
        kind,
    )
}

/// Tells whether fits differ in their costs.
fn have_several_costs<'a>(fits: impl Iterator<Item = &'a Fit>) -> bool {
    let mut most = fits.map(|fit| fit.cost.iter().fold(0.0f64, |most, &cost| most.max(cost)));
    let first = most.next();
    most.any(|cost| Some(cost) != first)
}

/// Returns the tube of a regression, as a key: a solution for another cost is a better start than one for
/// another tube, which has other support vectors.
fn tube_of(fit: &Fit) -> u64 {
    match fit.formulation {
        Formulation::Regression { epsilon, .. } => epsilon.to_bits(),
        _ => 0,
    }
}

/// Returns where a fit stands in its chain: low costs come first, then wide tubes.
fn rank(fit: &Fit) -> f64 {
    let cost: f64 = fit.cost.iter().sum();
    match fit.formulation {
        Formulation::Regression { epsilon, .. } => cost / (1.0 + 1e-9 * epsilon),
        Formulation::Classifier {
            margin: Margin::Nu(nu),
            ..
        } => -nu,
        Formulation::NuRegression { nu } => cost * (1.0 - 1e-9 * nu),
        Formulation::OneClass { nu, .. } => -nu,
        Formulation::Classifier { .. } => cost,
    }
}
