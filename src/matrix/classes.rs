//! What the machines for pairs of classes have in common.
//!
//! A sample takes part in as many machines as there are other classes. So the samples are prepared
//! and packed once, and kernel values within a class, which all machines of the class need, are
//! computed once and kept, unless two threads want the same row at the same moment. Values between two
//! classes are needed by one machine only.

use super::{KernelMatrix, Precision, Stop};
use crate::data::Samples;
use crate::error::Result;
use crate::kernel::{Columns, Kernel, Prepared, Source, get_or_make};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The samples of several classes, for kernels evaluated in tiles.
#[derive(Debug)]
pub(crate) struct Classes<'a> {
    /// The matrix of all samples.
    matrix: KernelMatrix<'a>,
    /// Where the rows of each class begin in it, and where the last one ends.
    starts: Vec<usize>,
    pub(super) single: Common<f32>,
    pub(super) double: Common<f64>,
    /// Bytes of rows that may still be kept.
    left: AtomicUsize,
}

/// What is computed once, in precision T.
#[derive(Debug)]
pub(crate) struct Common<T> {
    prepared: OnceLock<Prepared<T>>,
    columns: Vec<OnceLock<Columns<T>>>,
    /// The kernel values of a sample with all of its class.
    rows: Vec<OnceLock<Box<[T]>>>,
}

impl<T> Common<T> {
    fn new(classes: usize, rows: usize) -> Self {
        Common {
            prepared: OnceLock::new(),
            columns: (0..classes).map(|_| OnceLock::new()).collect(),
            rows: (0..rows).map(|_| OnceLock::new()).collect(),
        }
    }
}

impl<'a> Classes<'a> {
    /// Describes classes by their rows; None if the kernel is not evaluated in tiles. `bytes` are
    /// for rows within classes.
    pub fn new(
        kernel: &Kernel,
        samples: &'a Samples,
        members: &[Vec<usize>],
        bytes: usize,
    ) -> Result<Option<Self>> {
        if !kernel.is_tiled() {
            return Ok(None);
        }
        let mut starts = vec![0];
        starts.extend(members.iter().scan(0, |end, rows| {
            *end += rows.len();
            Some(*end)
        }));
        let matrix = KernelMatrix::new(kernel, samples, members.concat())?;
        Ok(Some(Classes {
            single: Common::new(members.len(), matrix.len()),
            double: Common::new(members.len(), matrix.len()),
            left: AtomicUsize::new(bytes),
            matrix,
            starts,
        }))
    }

    /// Describes the matrix over the rows of two classes, those of the first first.
    pub fn pair(&'a self, first: usize, second: usize) -> KernelMatrix<'a> {
        let all = &self.matrix;
        let ranges = [first, second].map(|class| self.starts[class]..self.starts[class + 1]);
        let pick = |values: &[f64]| ranges.clone().map(|range| &values[range]).concat();
        KernelMatrix {
            kernel: all.kernel.clone(),
            samples: all.samples,
            index: ranges.clone().map(|range| &all.index[range]).concat(),
            diagonal: pick(&all.diagonal),
            center: all.center.clone(),
            single_noise: all.single_noise,
            evaluations: AtomicU64::new(0),
            pair: Some(Pair {
                classes: self,
                first,
                second,
            }),
        }
    }

    /// The samples in precision T, if they are packed as dense ones.
    pub(super) fn prepared<T: Precision>(&self) -> Option<&Prepared<T>> {
        let (samples, center) = (self.matrix.samples, self.matrix.center.as_deref());
        let prepare = || Prepared::new(samples, center);
        samples
            .is_packed_dense()
            .then(|| get_or_make(&T::common(self).prepared, prepare))
    }

    fn source<T: Precision>(&self) -> Source<'_, T> {
        Source {
            prepared: self.prepared(),
            ..self.matrix.source()
        }
    }

    fn columns<T: Precision>(&self, class: usize) -> &Columns<T> {
        get_or_make(&T::common(self).columns[class], || {
            let index = &self.matrix.index[self.starts[class]..self.starts[class + 1]];
            Columns::new(&self.matrix.kernel, self.source(), index)
        })
    }

    fn size(&self, class: usize) -> usize {
        self.starts[class + 1] - self.starts[class]
    }

    /// Takes bytes from what is left; false if that is too little.
    fn reserve(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        let order = Ordering::Relaxed;
        self.left.fetch_update(order, order, take).is_ok()
    }
}

/// Two of the classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a> {
    pub classes: &'a Classes<'a>,
    first: usize,
    second: usize,
}

impl Pair<'_> {
    /// Writes the rows of variables. Returns how many values were computed, None if stopped.
    pub fn fill<T: Precision>(
        self,
        variables: &[u32],
        out: &mut [&mut [T]],
        stop: Stop,
    ) -> Option<usize> {
        let split = self.classes.size(self.first);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (&variable, row) in variables.iter().zip(out) {
            let (left, right) = row.split_at_mut(split);
            match (variable as usize).checked_sub(split) {
                None => first.push((variable as usize, left, right)),
                Some(member) => second.push((member, right, left)),
            }
        }
        let of_first = self.fill_class(self.first, self.second, first, stop)?;
        let of_second = self.fill_class(self.second, self.first, second, stop)?;
        Some(of_first + of_second)
    }

    /// Writes rows of members of a class: their values within it, and those with another.
    fn fill_class<T: Precision>(
        self,
        class: usize,
        other: usize,
        rows: Vec<(usize, &mut [T], &mut [T])>,
        stop: Stop,
    ) -> Option<usize> {
        let classes = self.classes;
        let start = classes.starts[class];
        let kept = &T::common(classes).rows[start..];
        let all: Vec<usize> = rows.iter().map(|&(member, ..)| member).collect();
        let (mut missing, mut within, mut across) = (Vec::new(), Vec::new(), Vec::new());
        for (member, inside, outside) in rows {
            match kept[member].get() {
                Some(row) => inside.copy_from_slice(row),
                None => {
                    missing.push(member);
                    within.push(inside);
                }
            }
            across.push(outside);
        }
        let compute = |members: &[usize], class: usize, out: &mut [&mut [T]]| {
            let columns = classes.columns(class);
            let index = &classes.matrix.index[start..];
            let rows: Vec<usize> = members.iter().map(|&member| index[member]).collect();
            let packed = columns.pack_rows(classes.source(), &rows);
            columns.fill(&packed, 0..columns.len(), out, stop)
        };
        if !compute(&missing, class, &mut within) || !compute(&all, other, &mut across) {
            return None;
        }
        for (&member, row) in missing.iter().zip(within) {
            if classes.reserve(size_of_val(row)) {
                // Another thread may have been faster with the same row.
                let _ = kept[member].set((*row).into());
            }
        }
        Some(missing.len() * classes.size(class) + all.len() * classes.size(other))
    }
}
