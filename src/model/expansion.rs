//! Expansion: decision functions f(x) = sum_i beta_i k(x_i, x) + b, that of one machine or those of
//! a one-vs-one classifier.
//!
//! The support vectors of a classifier are sorted by class. Coefficients have LIBSVM's layout: row r of column i
//! belongs, for a support vector of class c, to the machine of c and the r-th other class. Kernel
//! values are computed once per sample and support vector, whatever the number of classes. With a
//! linear kernel the support vectors of a machine add up to one vector, and that is all that is kept.

use super::multiclass::{Multiclass, pair, walk};
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::kernel::{
    Bounds, Columns, Kernel, Source, Weights, check_columns, get_or_make, user_block, weight_vector,
};
use ndarray::{Array2, ArrayView2};
use std::ops::Range;
use std::sync::OnceLock;

/// Rows whose values are held at a time when only classes are wanted.
const ROWS: usize = 4096;
/// The largest error of a decision value for which f32 is worth a try: not too many rows are then so
/// close to a boundary that they have to be computed again.
const COARSE: f64 = 0.1;
/// The rows after which f32 is given up if more than half of them had to be computed again.
const TRIAL: usize = 512;
/// Values asked from a user kernel in one call.
const USER_VALUES: usize = 1 << 22;

/// The decision functions of a one-vs-one classifier, or that of a machine without classes.
///
/// ```
/// use mercer::{Kernel, Samples, model::Expansion};
/// // f(x) = 1/2 * x - 1/2 * (-x) = x for the support vectors 1 (class 0) and -1 (class 1).
/// let support = Samples::try_from(ndarray::array![[1.0], [-1.0]].view())?;
/// let coefficients = ndarray::array![[0.5, -0.5]];
/// let f = Expansion::new(Kernel::linear(), Some(support), &[1, 1], coefficients.view(), &[0.0])?;
/// let x = Samples::try_from(ndarray::array![[3.0]].view())?;
/// assert_eq!(f.decision(&x, &|| false)?, Some(ndarray::array![[3.0]]));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct Expansion {
    kernel: Kernel,
    support: Option<Samples>,
    /// The support vectors packed in f64, when first needed: labels seldom need them.
    columns: OnceLock<Columns<f64>>,
    weights: Weights<f64>,
    /// The weight vectors of the machines, where the kernel is linear and they are less to multiply
    /// with than the support vectors.
    primal: Option<Columns<f64>>,
    /// The same in f32, for labels; None where that is too coarse to be of use.
    coarse: Option<(Columns<f32>, Weights<f32>)>,
    intercept: Vec<f64>,
    /// How much errors weigh in each machine.
    sizes: Vec<Size>,
    classes: usize,
    multiclass: Multiclass,
}

impl Expansion {
    /// Makes the decision functions. `n_support` has an entry per class, `dual_coef` the shape
    /// (classes - 1, support vectors), `intercept` an entry per pair of classes; a machine without
    /// classes counts as a single class, with one row of coefficients and one intercept. `support`
    /// may be None if only [`decision_from_kernel`](Self::decision_from_kernel) is used.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::Expansion};
    /// // Three classes with one support vector each: two rows, three machines.
    /// let support = Samples::try_from(ndarray::array![[0.0], [1.0], [2.0]].view())?;
    /// let coefficients = ndarray::array![[1.0, -1.0, -1.0], [1.0, 1.0, -1.0]];
    /// let intercept = [0.5, 1.0, 1.5];
    /// Expansion::new(
    ///     Kernel::linear(), Some(support), &[1, 1, 1], coefficients.view(), &intercept,
    /// )?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not fit together.
    pub fn new(
        kernel: Kernel,
        support: Option<Samples>,
        n_support: &[usize],
        dual_coef: ArrayView2<f64>,
        intercept: &[f64],
    ) -> Result<Self> {
        let multiclass = Multiclass::OneVsOne;
        Self::with_multiclass(kernel, support, n_support, dual_coef, intercept, multiclass)
    }

    /// Makes the decision functions of a classifier of another kind: for one-vs-rest with more than
    /// two classes there is a row of coefficients and an intercept per class.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::{Expansion, Multiclass}};
    /// let support = Samples::try_from(ndarray::array![[0.0], [1.0], [2.0]].view())?;
    /// let coefficients = ndarray::Array2::<f64>::eye(3);
    /// let f = Expansion::with_multiclass(
    ///     Kernel::rbf(1.0), Some(support), &[1, 1, 1], coefficients.view(), &[0.0; 3],
    ///     Multiclass::OneVsRest,
    /// )?;
    /// let x = Samples::try_from(ndarray::array![[0.9]].view())?;
    /// assert_eq!(f.predict(&x, &|| false)?, Some(vec![1]));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not fit together.
    pub fn with_multiclass(
        kernel: Kernel,
        support: Option<Samples>,
        n_support: &[usize],
        dual_coef: ArrayView2<f64>,
        intercept: &[f64],
        multiclass: Multiclass,
    ) -> Result<Self> {
        kernel.check()?;
        let classes = n_support.len();
        let total: usize = n_support.iter().sum();
        if classes == 0 {
            return Err(Error::TooFewClasses { classes });
        }
        // Two classes are the same machine whatever the strategy.
        let multiclass = match multiclass {
            Multiclass::OneVsRest if classes <= 2 => Multiclass::OneVsOne,
            multiclass => multiclass,
        };
        let by_class = multiclass == Multiclass::OneVsRest;
        let height = if by_class {
            classes
        } else {
            (classes - 1).max(1)
        };
        let expected = (height, total);
        if dual_coef.dim() != expected {
            return Err(Error::shape(
                "dual_coef",
                format!("shape {expected:?}"),
                format!("{:?}", dual_coef.dim()),
            ));
        }
        let machines = multiclass.machines(classes);
        if intercept.len() != machines {
            return Err(Error::shape(
                "intercept",
                format!("{machines} entries"),
                intercept.len().to_string(),
            ));
        }
        if let Some(support) = &support
            && support.rows() != total
        {
            return Err(Error::shape(
                "support_vectors",
                format!("{total} rows"),
                support.rows().to_string(),
            ));
        }
        let mut start = 0;
        let segments: Vec<Range<usize>> = if by_class {
            std::iter::once(0..total).collect()
        } else {
            let counts = n_support.iter();
            let segment = |&count: &usize| {
                start += count;
                start - count..start
            };
            counts.map(segment).collect()
        };
        let coefficients: Vec<f64> = dual_coef.iter().copied().collect();
        let sizes = sizes(&coefficients, &segments, classes, multiclass);
        let vectors = support.as_ref().filter(|support| {
            let entries = support.mean_entries() * total as f64;
            matches!(kernel, Kernel::Linear) && (machines * support.columns()) as f64 <= entries
        });
        let primal = vectors.and_then(|support| {
            let machine = |class: usize, row: usize| match multiclass {
                _ if classes == 1 || by_class => row,
                _ if row < class => pair(classes, row, class),
                _ => pair(classes, class, row + 1),
            };
            primal(support, dual_coef, &segments, machines, machine)
        });
        let mut coarse = None;
        if let (true, None, Some(support)) = (kernel.is_tiled(), &primal, &support) {
            let all: Vec<usize> = (0..total).collect();
            let packed = Columns::<f32>::new(&kernel, Source::of(support), &all);
            let error = |bounds: Bounds| {
                let errors = sizes.iter().map(|size| size.error(bounds));
                errors.fold(0.0, f64::max)
            };
            if total > 0 && error(packed.bounds(support, 0)) < COARSE {
                // A walk wants some of the sums.
                let weights = match multiclass {
                    Multiclass::Dag => Weights::by_rows,
                    _ => Weights::new,
                };
                coarse = Some((packed, weights(&coefficients, height, segments.clone())));
            }
        }
        let weights = Weights::new(&coefficients, height, segments);
        Ok(Expansion {
            support,
            columns: OnceLock::new(),
            primal,
            coarse,
            kernel,
            weights,
            intercept: intercept.to_vec(),
            sizes,
            classes,
            multiclass,
        })
    }

    /// Returns the packed support vectors, if the kernel is one to be computed here.
    fn columns(&self) -> Option<&Columns<f64>> {
        let support = self.support.as_ref().filter(|_| self.kernel.is_tiled())?;
        Some(get_or_make(&self.columns, || {
            let all: Vec<usize> = (0..support.rows()).collect();
            Columns::new(&self.kernel, Source::of(support), &all)
        }))
    }

    /// Returns the multiplications a decision costs, roughly.
    #[cfg(feature = "python")]
    pub(crate) fn work(&self, samples: &Samples) -> usize {
        let vectors = match &self.primal {
            Some(primal) => primal.len(),
            None => self.weights.columns(),
        };
        let values = samples.rows() * vectors;
        values.saturating_mul(samples.columns() + 8 + self.height())
    }

    /// Returns how many sums a support vector takes part in.
    fn height(&self) -> usize {
        match self.multiclass {
            Multiclass::OneVsRest => self.classes,
            _ => (self.classes - 1).max(1),
        }
    }

    /// Returns the values of all machines, shape (rows, machines); machine (i, j), i < j, of a
    /// classifier is positive for class i. None if `stop` said so.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::Expansion};
    /// # let support = Samples::try_from(ndarray::array![[1.0], [-1.0]].view())?;
    /// # let coefficients = ndarray::array![[0.5, -0.5]];
    /// # let f = Expansion::new(
    /// #     Kernel::linear(), Some(support), &[1, 1], coefficients.view(), &[0.0],
    /// # )?;
    /// let x = Samples::try_from(ndarray::array![[3.0], [-2.0]].view())?;
    /// assert_eq!(f.decision(&x, &|| false)?, Some(ndarray::array![[3.0], [-2.0]]));
    /// assert_eq!(f.decision(&x, &|| true)?, None);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rows are not as long as the support vectors, the user's kernel fails, or the kernel
    /// cannot be evaluated here.
    pub fn decision(
        &self,
        samples: &Samples,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Array2<f64>>> {
        let all: Vec<usize> = (0..samples.rows()).collect();
        self.decision_of(samples, &all, stop)
    }

    /// Returns the values of all machines for some rows.
    fn decision_of(
        &self,
        samples: &Samples,
        rows: &[usize],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Array2<f64>>> {
        let mut decision = Array2::zeros((rows.len(), self.intercept.len()));
        if let Some(columns) = &self.primal {
            check_columns(samples, columns.dim())?;
            let out = decision.as_slice_mut().expect("new arrays are contiguous");
            let shift = |_, values: &[f64], out: &mut [f64]| self.shift(values, out);
            let done = columns.values(samples, rows, out, shift, stop);
            return Ok(done.then_some(decision));
        }
        if let Some(columns) = self.columns() {
            check_columns(samples, columns.dim())?;
            let out = decision.as_slice_mut().expect("new arrays are contiguous");
            let pairs = |_, sums: &[f64], out: &mut [f64]| self.pairs(sums, out);
            let done = columns.sums(samples, rows, &self.weights, out, pairs, stop);
            return Ok(done.then_some(decision));
        }
        let (Kernel::User(user), Some(support)) = (&self.kernel, &self.support) else {
            return Err(Error::parameter(
                "kernel",
                "one the core can evaluate",
                format!("{:?}", self.kernel),
            ));
        };
        check_columns(samples, support.columns())?;
        let all: Vec<usize> = (0..support.rows()).collect();
        let batch = (USER_VALUES / all.len().max(1)).max(1);
        for (rows, mut out) in rows
            .chunks(batch)
            .zip(decision.axis_chunks_iter_mut(ndarray::Axis(0), batch))
        {
            if stop() {
                return Ok(None);
            }
            let mut values = vec![0.0; rows.len() * all.len()];
            if !all.is_empty() {
                user_block(&**user, samples, rows, support, &all, &mut values)?;
            }
            out.assign(&self.combine(values, rows.len()));
        }
        Ok(Some(decision))
    }

    /// Returns the class of each row by the votes of the machines, 0 if there are no classes; None
    /// if `stop` said so.
    ///
    /// The labels are those of [`decision`](Self::decision). Values are computed in f32 first, and
    /// again in f64 for the rows in which a value lies within the bound of its rounding error.
    ///
    /// ```
    /// # use mercer::{Kernel, Samples, model::Expansion};
    /// let support = Samples::try_from(ndarray::array![[1.0], [-1.0]].view())?;
    /// let coefficients = ndarray::array![[0.5, -0.5]];
    /// let f = Expansion::new(Kernel::linear(), Some(support), &[1, 1], coefficients.view(), &[0.0])?;
    /// let x = Samples::try_from(ndarray::array![[3.0], [-1e-300]].view())?;
    /// assert_eq!(f.predict(&x, &|| false)?, Some(vec![0, 1]));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decision`](Self::decision).
    pub fn predict(
        &self,
        samples: &Samples,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<usize>>> {
        let Some((columns, weights)) = &self.coarse else {
            let all: Vec<usize> = (0..samples.rows()).collect();
            return self.exact_classes(samples, &all, stop);
        };
        check_columns(samples, columns.dim())?;
        let all: Vec<usize> = (0..samples.rows()).collect();
        let mut guesses = vec![Guess::default(); all.len()];
        let trial = all.len().min(TRIAL);
        for part in [0..trial, trial..all.len()] {
            let (rows, out) = (&all[part.clone()], &mut guesses[part]);
            let done = match self.multiclass {
                Multiclass::Dag => {
                    let walk = |row, values: &[f32], out: &mut [Guess]| {
                        out[0] = self.walk(values, columns.bounds(samples, row));
                    };
                    columns.values(samples, rows, out, walk, stop)
                }
                _ => {
                    let vote = |row, sums: &[f64], out: &mut [Guess]| {
                        out[0] = self.vote(sums, columns.bounds(samples, row));
                    };
                    columns.sums(samples, rows, weights, out, vote, stop)
                }
            };
            if !done {
                return Ok(None);
            }
            if 2 * out.iter().filter(|guess| guess.doubtful).count() > out.len() {
                break;
            }
        }
        let doubtful: Vec<usize> = (all.into_iter())
            .filter(|&row| guesses[row].doubtful)
            .collect();
        let mut classes: Vec<usize> = guesses.into_iter().map(|guess| guess.class).collect();
        if !doubtful.is_empty() {
            let Some(exact) = self.exact_classes(samples, &doubtful, stop)? else {
                return Ok(None);
            };
            for (&row, class) in doubtful.iter().zip(exact) {
                classes[row] = class;
            }
        }
        Ok(Some(classes))
    }

    /// Returns the classes of some rows from values in f64, of which a few thousand rows are held at
    /// a time; None if stopped.
    fn exact_classes(
        &self,
        samples: &Samples,
        rows: &[usize],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<usize>>> {
        let mut classes = Vec::with_capacity(rows.len());
        for rows in rows.chunks(ROWS) {
            let Some(decision) = self.decision_of(samples, rows, stop)? else {
                return Ok(None);
            };
            classes.extend(self.multiclass.winners(decision.view(), self.classes));
        }
        Ok(Some(classes))
    }

    /// Finds a class from sums in f32.
    fn vote(&self, sums: &[f64], bounds: Bounds) -> Guess {
        let mut decision = vec![0.0; self.intercept.len()];
        self.pairs(sums, &mut decision);
        Guess {
            class: self.multiclass.winner(&decision, self.classes),
            doubtful: self.is_doubtful(&decision, bounds),
        }
    }

    /// Walks the graph with kernel values in f32. Of all pairs of classes only those on the way are
    /// evaluated.
    fn walk(&self, values: &[f32], bounds: Bounds) -> Guess {
        let Some((columns, weights)) = &self.coarse else {
            return Guess::default();
        };
        let isa = columns.isa();
        let mut doubtful = false;
        let class = walk(self.classes, |i, j| {
            let machine = pair(self.classes, i, j);
            let both = weights.sum(isa, i, j - 1, values) + weights.sum(isa, j, i, values);
            let value = both + self.intercept[machine];
            doubtful |= value.abs() <= self.sizes[machine].error(bounds);
            value
        });
        Guess { class, doubtful }
    }

    /// Returns the decision values from kernel values against the support vectors, shape
    /// (rows, vectors).
    ///
    /// ```
    /// # use mercer::{Kernel, model::Expansion};
    /// let coefficients = ndarray::array![[0.5, -0.5]];
    /// let f = Expansion::new(Kernel::Precomputed, None, &[1, 1], coefficients.view(), &[1.0])?;
    /// assert_eq!(f.decision_from_kernel(ndarray::array![[3.0, -3.0]].view())?, ndarray::array![[4.0]]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of columns is not that of the support vectors.
    pub fn decision_from_kernel(&self, values: ArrayView2<f64>) -> Result<Array2<f64>> {
        let (rows, columns) = values.dim();
        let total = self.weights.columns();
        if columns != total {
            return Err(Error::shape(
                "kernel values",
                format!("{total} columns"),
                columns.to_string(),
            ));
        }
        Ok(self.combine(values.iter().copied().collect(), rows))
    }

    fn combine(&self, values: Vec<f64>, rows: usize) -> Array2<f64> {
        let mut values = values;
        let mut sums = self.weights.apply(&mut values, self.weights.columns());
        sums.resize(rows * self.weights.sums(), 0.0);
        let mut decision = Array2::zeros((rows, self.intercept.len()));
        let out = decision.as_slice_mut().expect("new arrays are contiguous");
        let outs = out.chunks_mut(self.intercept.len());
        for (sums, out) in sums.chunks(self.weights.sums()).zip(outs) {
            self.pairs(sums, out);
        }
        decision
    }

    /// Tells whether errors within these bounds could change the class.
    fn is_doubtful(&self, values: &[f64], bounds: Bounds) -> bool {
        let error = |machine: usize| self.sizes[machine].error(bounds);
        match self.multiclass {
            Multiclass::OneVsOne | Multiclass::Dag => {
                // Votes that are sure, and those that could be had at best.
                let (mut sure, mut best) = (vec![0; self.classes], vec![0; self.classes]);
                for i in 0..self.classes {
                    for j in i + 1..self.classes {
                        let machine = pair(self.classes, i, j);
                        if values[machine].abs() <= error(machine) {
                            best[i] += 1;
                            best[j] += 1;
                        } else {
                            let winner = if values[machine] > 0.0 { i } else { j };
                            sure[winner] += 1;
                            best[winner] += 1;
                        }
                    }
                }
                // Ties go to the lowest class.
                let beats = |a: usize, b: usize| (sure[a], b) > (best[b], a);
                let certain = |a: usize| (0..self.classes).all(|b| a == b || beats(a, b));
                !(0..self.classes).any(certain)
            }
            Multiclass::OneVsRest => {
                let highest = |m: usize| values[m] + error(m);
                let lowest = |m: usize| values[m] - error(m);
                let sure =
                    |best: usize| (0..values.len()).all(|m| m == best || highest(m) < lowest(best));
                !(0..values.len()).any(sure)
            }
        }
    }

    /// Adds its intercept to the value of every machine.
    fn shift(&self, values: &[f64], out: &mut [f64]) {
        for ((out, value), intercept) in out.iter_mut().zip(values).zip(&self.intercept) {
            *out = value + intercept;
        }
    }

    /// Adds up what the support vectors contribute to every machine.
    fn pairs(&self, sums: &[f64], out: &mut [f64]) {
        let height = self.height();
        if self.classes == 1 || self.multiclass == Multiclass::OneVsRest {
            return self.shift(sums, out);
        }
        for i in 0..self.classes {
            for j in i + 1..self.classes {
                let machine = pair(self.classes, i, j);
                let both = sums[i * height + j - 1] + sums[j * height + i];
                out[machine] = both + self.intercept[machine];
            }
        }
    }
}

/// Packs the weight vectors of machines with a linear kernel; `machine(segment, row)` is the one that
/// a row of the coefficients belongs to in a segment of the support vectors. None if one is not finite.
fn primal(
    support: &Samples,
    dual_coef: ArrayView2<f64>,
    segments: &[Range<usize>],
    machines: usize,
    machine: impl Fn(usize, usize) -> usize,
) -> Option<Columns<f64>> {
    let mut vectors = Array2::zeros((machines, support.columns()));
    for (number, segment) in segments.iter().enumerate() {
        for (row, coefficients) in dual_coef.rows().into_iter().enumerate() {
            let terms = segment.clone().map(|i| (i, coefficients[i]));
            let part = weight_vector(support, terms.filter(|&(_, factor)| factor != 0.0));
            let mut vector = vectors.row_mut(machine(number, row));
            vector += &ndarray::ArrayView1::from(&part);
        }
    }
    let all: Vec<usize> = (0..machines).collect();
    let vectors = Samples::try_from(vectors.view()).ok()?;
    let source = Source::of(&vectors);
    Some(Columns::new(&Kernel::Linear, source, &all))
}

/// A class found in f32, and whether errors could change it.
#[derive(Clone, Copy, Debug)]
struct Guess {
    class: usize,
    doubtful: bool,
}

impl Default for Guess {
    /// No class has been found.
    fn default() -> Self {
        Guess {
            class: 0,
            doubtful: true,
        }
    }
}

/// How much errors weigh in a machine.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// That of independent errors, those of kernel values: their sum grows with the square root of
    /// the sum of squares, here with eight standard deviations, and never beyond the next.
    independent: f64,
    /// The sum of the absolute coefficients.
    absolute: f64,
}

impl Size {
    fn new((absolute, squares): (f64, f64)) -> Self {
        Size {
            independent: (8.0 * squares.sqrt()).min(absolute),
            absolute,
        }
    }

    /// Bounds the error of the machine's value in f32.
    fn error(&self, bounds: Bounds) -> f64 {
        bounds.error * self.independent + Weights::<f32>::rounding() * bounds.value * self.absolute
    }
}

fn sizes(
    coefficients: &[f64],
    segments: &[Range<usize>],
    classes: usize,
    multiclass: Multiclass,
) -> Vec<Size> {
    let total = segments.last().map_or(0, |last| last.end);
    let sums = |segment: usize, row: usize| {
        let coefficients = &coefficients[row * total..(row + 1) * total];
        coefficients[segments[segment].clone()]
            .iter()
            .fold((0.0, 0.0), |(a, s), c| (a + c.abs(), s + c * c))
    };
    if classes == 1 || multiclass == Multiclass::OneVsRest {
        return (0..multiclass.machines(classes))
            .map(|row| Size::new(sums(0, row)))
            .collect();
    }
    (0..classes)
        .flat_map(|i| (i + 1..classes).map(move |j| (i, j)))
        .map(|(i, j)| {
            let (a, b) = (sums(i, j - 1), sums(j, i));
            Size::new((a.0 + b.0, a.1 + b.1))
        })
        .collect()
}
