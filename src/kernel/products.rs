//! Measures of sparse rows with sparse columns: inner products and distances.
//!
//! A group of samples is scattered, `[feature][SPARSE_GROUP]`, and each entry of the others meets all of
//! the group at once. Columns are scattered, so that the values of a row lie side by side where they are
//! written; of few rows the rows themselves, which is less to scatter. Where a term vanishes if one of its
//! numbers does, a value is the same either way: features come in ascending order, and terms are
//! symmetric. Other sums depend on which is which to the last bit, so there it is always the rows.

use super::sparse::{SPARSE_GROUP, Sparse};
use crate::simd::interactions::Polynomials;
use crate::simd::measure::{Measure, Term, with_term};
use crate::simd::{Isa, Real, dispatch};

/// Rows of a tile from which columns are scattered.
const MANY_ROWS: usize = SPARSE_GROUP;

/// The values of a group with one sample.
type Values<T> = [T; SPARSE_GROUP];

/// Some neighbouring samples.
#[derive(Clone, Copy)]
pub(super) struct Run<'a, T> {
    pub samples: &'a Sparse<T>,
    pub first: usize,
    pub count: usize,
}

impl<'a, T: Real> Run<'a, T> {
    fn row(&self, i: usize) -> &'a [(u32, T)] {
        self.samples.row(self.first + i)
    }

    /// Returns the entries of all of them, numbered.
    fn rows(&self) -> impl Iterator<Item = (usize, &'a [(u32, T)])> {
        let (samples, first) = (self.samples, self.first);
        (0..self.count).map(move |i| (i, samples.row(first + i)))
    }

    /// Returns `count` of them from `start` on.
    fn part(&self, start: usize, count: usize) -> Self {
        Run {
            first: self.first + start,
            count,
            ..*self
        }
    }
}

/// Where the values of a group go.
struct Out<'a, 'b, T> {
    /// A line for each row of the tile.
    lines: &'a mut [&'b mut [T]],
    /// The place of the group among columns, or among rows if these are scattered.
    start: usize,
    count: usize,
    columns_are_scattered: bool,
}

impl<T: Real> Out<'_, '_, T> {
    /// Writes the values of the group with another sample.
    #[inline(always)]
    fn write(&mut self, other: usize, values: &Values<T>) {
        if !self.columns_are_scattered {
            let lines = self.lines[self.start..].iter_mut().take(self.count);
            for (line, &value) in lines.zip(values) {
                line[other] = value;
            }
            return;
        }
        let line = &mut self.lines[other][self.start..];
        // Of a length the compiler knows, or it calls a function to copy.
        match line.first_chunk_mut() {
            Some(place) if self.count == SPARSE_GROUP => *place = *values,
            _ => line[..self.count].copy_from_slice(&values[..self.count]),
        }
    }
}

/// A group of samples, scattered: what is read for every entry of the others.
#[derive(Default)]
pub(super) struct Scattered<T> {
    /// `[feature][SPARSE_GROUP]`, zero where a sample has no entry.
    values: Vec<T>,
    /// Where they are needed: the features of which some sample has an entry, and for each feature whether
    /// it is one.
    features: Vec<u32>,
    is_one: Vec<bool>,
    /// Another sample, scattered too while it is compared by differences.
    other: Vec<T>,
}

impl<T: Real> Scattered<T> {
    /// Takes a group, and notes its features if that is asked for.
    fn take(&mut self, group: Run<T>, dim: usize, noting: bool) {
        self.values.resize(dim * SPARSE_GROUP, T::ZERO);
        let (values, _) = self.values.as_chunks_mut::<SPARSE_GROUP>();
        for (lane, entries) in group.rows() {
            for &(feature, value) in entries {
                values[feature as usize][lane] = value;
            }
        }
        if !noting {
            return;
        }
        self.is_one.resize(dim, false);
        self.other.resize(dim, T::ZERO);
        for (_, entries) in group.rows() {
            for &(feature, _) in entries {
                if !std::mem::replace(&mut self.is_one[feature as usize], true) {
                    self.features.push(feature);
                }
            }
        }
    }

    /// Makes all values of the group zero again.
    fn clear(&mut self, group: Run<T>) {
        let (values, _) = self.values.as_chunks_mut::<SPARSE_GROUP>();
        for (lane, entries) in group.rows() {
            for &(feature, _) in entries {
                values[feature as usize][lane] = T::ZERO;
            }
        }
        for feature in self.features.drain(..) {
            self.is_one[feature as usize] = false;
        }
    }

    /// Writes a measure of rows with columns, a line of `out` for each row; sums over both from
    /// differences if that is asked for.
    pub fn measure(
        &mut self,
        isa: Isa,
        (rows, columns): (Run<T>, Run<T>),
        dim: usize,
        out: &mut [&mut [T]],
        how: (Measure, bool),
    ) {
        let columns_are_scattered = how.0.vanishes_with_either() && rows.count >= MANY_ROWS;
        let (scattered, others) = match columns_are_scattered {
            true => (columns, rows),
            false => (rows, columns),
        };
        for start in (0..scattered.count).step_by(SPARSE_GROUP) {
            let count = SPARSE_GROUP.min(scattered.count - start);
            let mut out = Out {
                lines: &mut *out,
                start,
                count,
                columns_are_scattered,
            };
            let group = scattered.part(start, count);
            self.take(group, dim, needs_features(how));
            self.measure_group(isa, (group, others), &mut out, how);
            self.clear(group);
        }
    }

    /// Writes a measure of the group with others.
    fn measure_group(
        &mut self,
        isa: Isa,
        (group, others): (Run<T>, Run<T>),
        out: &mut Out<T>,
        (measure, differences): (Measure, bool),
    ) {
        match measure {
            _ if measure.vanishes_with_either() => {
                products(isa, &self.values, others, out, measure);
            }
            Measure::Interactions { gamma, degree } => {
                self.interactions(others, out, gamma, degree);
            }
            _ if !needs_features((measure, differences)) => {
                let alone = alone(isa, group, measure);
                distances(isa, &self.values, &alone, others, out, measure);
            }
            _ => {
                for at in 0..others.count {
                    let sums = self.differences(isa, others.row(at), measure);
                    out.write(at, &sums);
                }
            }
        }
    }

    /// Adds up the terms with another sample over the features of either.
    fn differences(&mut self, isa: Isa, entries: &[(u32, T)], measure: Measure) -> Values<T> {
        for &(feature, value) in entries {
            self.other[feature as usize] = value;
        }
        let (values, other) = (&self.values, &self.other);
        let mut sums = differences(isa, values, &self.features, other, measure);
        let rest = rest(isa, entries, &self.is_one, measure);
        for &(feature, _) in entries {
            self.other[feature as usize] = T::ZERO;
        }
        sums.iter_mut().for_each(|sum| *sum += rest);
        sums
    }

    /// Writes the interactions of the group with others. Features of neither are equal, and only their
    /// number matters. In f64, where sums of ones are exact: other groups share other features.
    fn interactions(&mut self, others: Run<T>, out: &mut Out<T>, gamma: f64, degree: u32) {
        let dim = self.other.len();
        for at in 0..others.count {
            let entries = others.row(at);
            let only = |&&(feature, _): &&(u32, T)| !self.is_one[feature as usize];
            let rest: Vec<u32> = entries.iter().filter(only).map(|entry| entry.0).collect();
            for &(feature, value) in entries {
                self.other[feature as usize] = value;
            }
            let mut sums = Polynomials::<f64, SPARSE_GROUP>::new(degree as usize);
            for &feature in self.features.iter().chain(&rest) {
                let feature = feature as usize;
                let group = &self.values[feature * SPARSE_GROUP..][..SPARSE_GROUP];
                let x = std::array::from_fn(|lane| group[lane].to_f64());
                let z = [self.other[feature].to_f64(); SPARSE_GROUP];
                sums.extend::<false>(&x, &z, -gamma);
            }
            let values = sums.highest_with_ones(dim - self.features.len() - rest.len());
            out.write(at, &values.map(T::from_f64));
            for &(feature, _) in entries {
                self.other[feature as usize] = T::ZERO;
            }
        }
    }
}

/// Tells whether a measure, from differences or not, is one over the features of either sample.
fn needs_features((measure, differences): (Measure, bool)) -> bool {
    match measure {
        Measure::Interactions { .. } | Measure::Square => true,
        _ => differences && !measure.vanishes_with_either(),
    }
}

dispatch! {
    /// Writes a measure of a scattered group with others whose terms vanish where these do.
    fn products<T: Real>(scattered: &[T], others: Run<T>, out: &mut Out<T>, measure: Measure) = products_body
}

#[inline(always)]
fn products_body<T: Real, const FMA: bool>(
    scattered: &[T],
    others: Run<T>,
    out: &mut Out<T>,
    measure: Measure,
) {
    let (scattered, _) = scattered.as_chunks::<SPARSE_GROUP>();
    with_term!(measure, term => two_at_a_time(scattered, others, out, term));
}

/// Additions to one sum wait for each other, so two of the others are taken at a time.
#[inline(always)]
fn two_at_a_time<T: Real>(
    scattered: &[Values<T>],
    others: Run<T>,
    out: &mut Out<T>,
    term: impl Term<T>,
) {
    let pairs = others.count / 2;
    for at in (0..pairs).map(|pair| 2 * pair) {
        let (one, two) = (others.row(at), others.row(at + 1));
        let (mut first, mut second) = ([T::ZERO; SPARSE_GROUP], [T::ZERO; SPARSE_GROUP]);
        let both = one.len().min(two.len());
        for (x, y) in one[..both].iter().zip(&two[..both]) {
            first = with_terms(first, &scattered[x.0 as usize], x.1, term);
            second = with_terms(second, &scattered[y.0 as usize], y.1, term);
        }
        out.write(at, &with_all(first, scattered, &one[both..], term));
        out.write(at + 1, &with_all(second, scattered, &two[both..], term));
    }
    if others.count % 2 == 1 {
        let at = others.count - 1;
        let sums = with_all([T::ZERO; SPARSE_GROUP], scattered, others.row(at), term);
        out.write(at, &sums);
    }
}

/// Returns sums with the terms of entries and a group. Sums go by value: behind a reference they are
/// written to memory for each entry.
#[inline(always)]
fn with_all<T: Real>(
    mut sums: Values<T>,
    scattered: &[Values<T>],
    entries: &[(u32, T)],
    term: impl Term<T>,
) -> Values<T> {
    for &(feature, value) in entries {
        sums = with_terms(sums, &scattered[feature as usize], value, term);
    }
    sums
}

/// Returns sums with the terms of a value and a group.
#[inline(always)]
fn with_terms<T: Real>(
    mut sums: Values<T>,
    group: &Values<T>,
    value: T,
    term: impl Term<T>,
) -> Values<T> {
    for lane in 0..SPARSE_GROUP {
        sums[lane] = term.add(group[lane], value, sums[lane]);
    }
    sums
}

dispatch! {
    /// Returns the measures of a group with a sample that is zero.
    fn alone<T: Real>(group: Run<T>, measure: Measure) -> Values<T> = alone_body
}

#[inline(always)]
fn alone_body<T: Real, const FMA: bool>(group: Run<T>, measure: Measure) -> Values<T> {
    let mut sums = [T::ZERO; SPARSE_GROUP];
    with_term!(measure, term => for (lane, sum) in sums.iter_mut().take(group.count).enumerate() {
        for &(_, value) in group.row(lane) {
            *sum = term.add(value, T::ZERO, *sum);
        }
    });
    sums
}

dispatch! {
    /// Writes a measure of a scattered group with others, whose terms do not vanish where these do.
    fn distances<T: Real>(
        scattered: &[T], alone: &Values<T>, others: Run<T>, out: &mut Out<T>, measure: Measure
    ) = distances_body
}

#[inline(always)]
fn distances_body<T: Real, const FMA: bool>(
    scattered: &[T],
    alone: &Values<T>,
    others: Run<T>,
    out: &mut Out<T>,
    measure: Measure,
) {
    // |x - z|_1 = sum over the entries of z of |x_k - z_k|, and |x|_1 less what it has there. The two
    // are added up alike, so that nothing is left of them where x = z.
    let (scattered, _) = scattered.as_chunks::<SPARSE_GROUP>();
    with_term!(measure, term => for at in 0..others.count {
        let (mut apart, mut there) = ([T::ZERO; SPARSE_GROUP], [T::ZERO; SPARSE_GROUP]);
        for &(feature, value) in others.row(at) {
            let group = &scattered[feature as usize];
            for lane in 0..SPARSE_GROUP {
                apart[lane] = term.add(group[lane], value, apart[lane]);
                there[lane] = term.add(group[lane], T::ZERO, there[lane]);
            }
        }
        for lane in 0..SPARSE_GROUP {
            apart[lane] += (alone[lane] - there[lane]).larger(T::ZERO);
        }
        out.write(at, &apart);
    });
}

dispatch! {
    /// Adds up the terms of a scattered group with another sample over the features of the group.
    fn differences<T: Real>(
        scattered: &[T], features: &[u32], other: &[T], measure: Measure
    ) -> Values<T> = differences_body
}

#[inline(always)]
fn differences_body<T: Real, const FMA: bool>(
    scattered: &[T],
    features: &[u32],
    other: &[T],
    measure: Measure,
) -> Values<T> {
    let (scattered, _) = scattered.as_chunks::<SPARSE_GROUP>();
    let mut sums = [T::ZERO; SPARSE_GROUP];
    with_term!(measure, term => for &feature in features {
        let (group, value) = (&scattered[feature as usize], other[feature as usize]);
        sums = with_terms(sums, group, value, term);
    });
    sums
}

dispatch! {
    /// Adds up the terms of a sample with zeros, over its features that are not marked.
    fn rest<T: Real>(entries: &[(u32, T)], marked: &[bool], measure: Measure) -> T = rest_body
}

#[inline(always)]
fn rest_body<T: Real, const FMA: bool>(
    entries: &[(u32, T)],
    marked: &[bool],
    measure: Measure,
) -> T {
    let mut sum = T::ZERO;
    with_term!(measure, term => for &(feature, value) in entries {
        if !marked[feature as usize] {
            sum = term.add(T::ZERO, value, sum);
        }
    });
    sum
}
