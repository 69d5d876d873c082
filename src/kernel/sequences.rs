//! Kernels of sequences of symbols: strings, bytes, tokens.
//!
//! ```text
//! spectrum       sum over u of length p of (times u occurs in s) (times u occurs in t)
//! subsequences   sum over u of length p, over i with s[i] = u and j with t[j] = u, of
//!                decay^(l(i) + l(j)),    l(i) = i_p - i_1 + 1, gaps included
//! ```
//!
//! Leslie, Eskin, Noble: The spectrum kernel (2002). Lodhi, Saunders, Shawe-Taylor, Cristianini,
//! Watkins: Text classification using string kernels (2002), whose recursion takes p |s| |t| steps.
//! Several sequences t go through it at once, one in each lane of a vector.

use crate::error::{Error, Polled, Result, Stop, poll, unless_stopped};
use crate::simd::{Isa, Real, dispatch, memory, parallel};
use std::collections::HashMap;

/// Sequences that go through the recursion at once: a vector of AVX-512, two of AVX2.
const LANES: usize = 8;
/// Pads a sequence in its lane; no symbol is this one.
const NONE: u32 = u32::MAX;
/// Symbols of a sequence between two looks at whether to stop.
const POLL: usize = 64;
/// What an error calls the values.
const MATRIX: &str = "the kernel matrix";

/// Sequences of symbols, which are numbers: bytes, code points, or what tokens are numbered by.
///
/// ```
/// let sequences = mercer::kernel::Sequences::from(&["ab", "abc"][..]);
/// assert_eq!((sequences.len(), sequences.get(1).len()), (2, 3));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sequences {
    symbols: Vec<u32>,
    starts: Vec<usize>,
}

impl Sequences {
    /// Takes the symbols of all sequences, one after another; sequence i begins at `starts[i]`, and the
    /// last of `starts` is the number of symbols.
    ///
    /// ```
    /// let sequences = mercer::kernel::Sequences::new(vec![7, 7, 1], vec![0, 2, 3])?;
    /// assert_eq!(sequences.get(0), [7, 7]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the places do not rise from 0 to the number of symbols, or a symbol is `u32::MAX`.
    pub fn new(symbols: Vec<u32>, starts: Vec<usize>) -> Result<Self> {
        let whole = starts.first() == Some(&0) && starts.last() == Some(&symbols.len());
        if !whole || !starts.is_sorted() {
            let allowed = "places that rise from 0 to the number of symbols";
            return Err(Error::parameter("starts", allowed, "other places"));
        }
        if symbols.contains(&NONE) {
            let allowed = format!("symbols below {NONE}");
            return Err(Error::parameter("X", allowed, NONE));
        }
        Ok(Sequences { symbols, starts })
    }

    /// Returns the number of sequences.
    ///
    /// ```
    /// assert_eq!(mercer::kernel::Sequences::from(&["ab"][..]).len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Tells whether there are none.
    ///
    /// ```
    /// assert!(mercer::kernel::Sequences::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a sequence.
    ///
    /// ```
    /// assert_eq!(mercer::kernel::Sequences::from(&["a"][..]).get(0), [97]);
    /// ```
    ///
    /// # Panics
    /// If there is none of this number.
    pub fn get(&self, i: usize) -> &[u32] {
        &self.symbols[self.starts[i]..self.starts[i + 1]]
    }

    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|i| self.get(i))
    }
}

impl From<&[&str]> for Sequences {
    fn from(texts: &[&str]) -> Self {
        let (mut symbols, mut starts) = (Vec::new(), vec![0]);
        for text in texts {
            symbols.extend(text.chars().map(u32::from));
            starts.push(symbols.len());
        }
        Sequences { symbols, starts }
    }
}

/// A kernel of two sequences.
///
/// ```
/// use mercer::kernel::{SequenceKernel, Sequences};
/// let words = Sequences::from(&["cat", "car"][..]);
/// let kernel = SequenceKernel::Subsequence { length: 2, decay: 0.5 };
/// // "ca" in both, without a gap: 0.5^(2 + 2).
/// assert_eq!(kernel.matrix(&words, None)?[[0, 1]], 0.0625);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SequenceKernel {
    /// Counts common words of `length` symbols without gaps.
    Spectrum {
        /// Symbols of a word.
        length: usize,
    },
    /// Weighs common subsequences of `length` symbols by their gaps.
    Subsequence {
        /// Symbols of a subsequence.
        length: usize,
        /// Weight of each symbol of its span, above 0 and at most 1.
        decay: f64,
    },
}

impl SequenceKernel {
    /// Checks that every parameter is in its range.
    pub(crate) fn check(&self) -> Result<()> {
        let (SequenceKernel::Spectrum { length } | SequenceKernel::Subsequence { length, .. }) =
            *self;
        if length == 0 {
            return Err(Error::parameter("length", "at least 1", length));
        }
        match *self {
            SequenceKernel::Subsequence { decay, .. } if !(decay > 0.0 && decay <= 1.0) => {
                let allowed = "above 0 and at most 1";
                Err(Error::parameter("decay", allowed, decay))
            }
            _ => Ok(()),
        }
    }

    /// Computes all values k(a_i, b_j), in parallel; without `b` those of `a` with itself.
    ///
    /// ```
    /// use mercer::kernel::{SequenceKernel, Sequences};
    /// let words = Sequences::from(&["abab", "ab"][..]);
    /// let k = SequenceKernel::Spectrum { length: 2 }.matrix(&words, None)?;
    /// assert_eq!(k, ndarray::array![[5.0, 2.0], [2.0, 1.0]]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range, or there is no memory for the matrix.
    pub fn matrix(&self, a: &Sequences, b: Option<&Sequences>) -> Result<ndarray::Array2<f64>> {
        Ok(self.matrix_until(a, b, &|| false)?.unwrap_or_default())
    }

    /// Computes all values; `None` if `stop` said so.
    ///
    /// # Errors
    /// As [`matrix`](Self::matrix).
    pub(crate) fn matrix_until(
        &self,
        a: &Sequences,
        b: Option<&Sequences>,
        stop: Stop,
    ) -> Result<Option<ndarray::Array2<f64>>> {
        self.check()?;
        let shape = (a.len(), b.unwrap_or(a).len());
        let size = shape.0.saturating_mul(shape.1);
        let mut values = memory::zeros(size, MATRIX)?;
        if size > 0 {
            let filled = match *self {
                SequenceKernel::Spectrum { length } => spectrum(length, a, b, &mut values, stop),
                SequenceKernel::Subsequence { length, decay } => {
                    subsequences((length, decay), a, b, &mut values, stop)
                }
            };
            if unless_stopped(filled)?.is_none() {
                return Ok(None);
            }
        }
        if b.is_none() {
            // Only what is on and above the diagonal is computed.
            for i in 0..shape.0 {
                for j in 0..i {
                    values[i * shape.0 + j] = values[j * shape.0 + i];
                }
            }
        }
        let matrix = ndarray::Array2::from_shape_vec(shape, values);
        matrix.map(Some).map_err(|source| Error::System {
            what: "a kernel matrix",
            source: source.into(),
        })
    }

    /// Computes k(a_i, a_i), in parallel.
    ///
    /// ```
    /// use mercer::kernel::{SequenceKernel, Sequences};
    /// let words = Sequences::from(&["abab", "ab"][..]);
    /// assert_eq!(SequenceKernel::Spectrum { length: 2 }.diagonal(&words)?, [5.0, 1.0]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn diagonal(&self, a: &Sequences) -> Result<Vec<f64>> {
        Ok(self.diagonal_until(a, &|| false)?.unwrap_or_default())
    }

    /// Computes k(a_i, a_i); `None` if `stop` said so.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub(crate) fn diagonal_until(&self, a: &Sequences, stop: Stop) -> Result<Option<Vec<f64>>> {
        self.check()?;
        let mut values = memory::zeros(a.len(), MATRIX)?;
        let parts: Vec<_> = a.iter().zip(values.chunks_mut(1)).collect();
        let done = parallel::try_for_each(parts, self.work(a, a), stop, |_: &mut (), part| {
            let (sequence, value) = part;
            let one = Sequences {
                symbols: sequence.to_vec(),
                starts: vec![0, sequence.len()],
            };
            match *self {
                SequenceKernel::Spectrum { length } => spectrum(length, &one, None, value, stop),
                SequenceKernel::Subsequence { length, decay } => {
                    subsequences((length, decay), &one, None, value, stop)
                }
            }
        });
        Ok(unless_stopped(done)?.map(|()| values))
    }

    /// Returns the multiplications behind all values, roughly.
    pub(crate) fn work(&self, a: &Sequences, b: &Sequences) -> usize {
        let (symbols, count) = (a.symbols.len(), b.len());
        match self {
            SequenceKernel::Spectrum { .. } => symbols.saturating_mul(count + 8),
            SequenceKernel::Subsequence { length, .. } => {
                symbols.saturating_mul(b.symbols.len().saturating_mul(*length))
            }
        }
    }
}

/// How often words occur, by their number.
type Counts = Vec<(u32, f64)>;

/// Counts the words of sequences; words get numbers as they are met.
fn count<'a>(
    length: usize,
    all: &'a Sequences,
    numbers: &mut HashMap<&'a [u32], u32>,
) -> Vec<Counts> {
    let mut counted = Vec::with_capacity(all.len());
    for sequence in all.iter() {
        let mut words: Vec<u32> = Vec::with_capacity(sequence.len());
        for word in sequence.windows(length) {
            let next = numbers.len() as u32;
            words.push(*numbers.entry(word).or_insert(next));
        }
        words.sort_unstable();
        let runs = words.chunk_by(|a, b| a == b);
        counted.push(runs.map(|run| (run[0], run.len() as f64)).collect());
    }
    counted
}

fn spectrum(
    length: usize,
    a: &Sequences,
    b: Option<&Sequences>,
    out: &mut [f64],
    stop: Stop,
) -> Polled<()> {
    let mut numbers = HashMap::new();
    let rows = count(length, a, &mut numbers);
    let others = b.map(|b| count(length, b, &mut numbers));
    let columns = others.as_ref().unwrap_or(&rows);
    let kernel = SequenceKernel::Spectrum { length };
    let work = kernel.work(a, b.unwrap_or(a));
    let parts: Vec<_> = out.chunks_mut(columns.len()).enumerate().collect();
    parallel::try_for_each(parts, work, stop, |scattered: &mut Vec<f64>, (i, out)| {
        scattered.resize(numbers.len(), 0.0);
        for &(word, count) in &rows[i] {
            scattered[word as usize] = count;
        }
        let first = if b.is_some() { 0 } else { i };
        for (value, column) in out[first..].iter_mut().zip(&columns[first..]) {
            let terms = column.iter();
            *value = terms
                .map(|&(word, count)| count * scattered[word as usize])
                .sum();
        }
        for &(word, _) in &rows[i] {
            scattered[word as usize] = 0.0;
        }
        Ok(())
    })
}

/// Buffers a thread reuses.
#[derive(Default)]
struct Buffers {
    /// `[symbol][LANES]`
    lanes: Vec<[u32; LANES]>,
    /// K'_i of the sequences so far, `[i][symbol][LANES]`.
    prefixes: Vec<[f64; LANES]>,
}

fn subsequences(
    (length, decay): (usize, f64),
    a: &Sequences,
    b: Option<&Sequences>,
    out: &mut [f64],
    stop: Stop,
) -> Polled<()> {
    let columns = b.unwrap_or(a);
    // Sequences of about the same length share a vector.
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|&j| columns.get(j).len());
    let kernel = SequenceKernel::Subsequence { length, decay };
    let (isa, work) = (Isa::detect(), kernel.work(a, columns));
    let parts: Vec<_> = out.chunks_mut(columns.len()).enumerate().collect();
    parallel::try_for_each(parts, work, stop, |buffers: &mut Buffers, (i, out)| {
        let above = |&&j: &&usize| b.is_some() || j >= i;
        let wanted: Vec<usize> = order.iter().filter(above).copied().collect();
        let row = a.get(i);
        for group in wanted.chunks(LANES) {
            let longest = group.iter().map(|&j| columns.get(j).len()).max();
            let width = longest.unwrap_or(0);
            buffers.lanes.clear();
            memory::resize(&mut buffers.lanes, width, MATRIX)?;
            buffers.lanes.fill([NONE; LANES]);
            for (lane, &j) in group.iter().enumerate() {
                for (place, &symbol) in buffers.lanes.iter_mut().zip(columns.get(j)) {
                    place[lane] = symbol;
                }
            }
            let size = (width + 1) * length;
            memory::resize(&mut buffers.prefixes, size, MATRIX)?;
            buffers.prefixes[..=width].fill([1.0; LANES]);
            buffers.prefixes[width + 1..size].fill([0.0; LANES]);
            let mut totals = [0.0; LANES];
            for symbols in row.chunks(POLL) {
                poll(stop)?;
                let prefixes = &mut buffers.prefixes[..size];
                extend(isa, symbols, &buffers.lanes, prefixes, decay, &mut totals);
            }
            for (&j, total) in group.iter().zip(totals) {
                out[j] = total;
            }
        }
        Ok(())
    })
}

dispatch! {
    /// Takes more symbols of s into the recursion. `prefixes` has a block for each length below that of
    /// the subsequences, the first of which is all ones.
    fn extend<T: Real>(
        symbols: &[u32], lanes: &[[u32; LANES]], prefixes: &mut [[T; LANES]], decay: f64,
        totals: &mut [T; LANES]
    ) = extend_body
}

#[inline(always)]
fn extend_body<T: Real, const FMA: bool>(
    symbols: &[u32],
    lanes: &[[u32; LANES]],
    prefixes: &mut [[T; LANES]],
    decay: f64,
    totals: &mut [T; LANES],
) {
    let (width, lambda) = (lanes.len() + 1, T::from_f64(decay));
    let square = T::from_f64(decay * decay);
    for &symbol in symbols {
        // From the longest on: each needs the next shorter ones without this symbol.
        for start in (0..prefixes.len()).step_by(width).rev() {
            let (shorter, longer) = prefixes.split_at_mut(start + width);
            let shorter = &shorter[start..];
            // K''_i(s, t) up to each symbol of t.
            let mut open = [T::ZERO; LANES];
            let mut next = longer.get_mut(..width);
            for (k, t) in lanes.iter().enumerate() {
                for lane in 0..LANES {
                    let met = if t[lane] == symbol {
                        square * shorter[k][lane]
                    } else {
                        T::ZERO
                    };
                    match &mut next {
                        Some(next) => {
                            open[lane] = open[lane].multiply_add::<FMA>(lambda, met);
                            let value = &mut next[k + 1][lane];
                            *value = value.multiply_add::<FMA>(lambda, open[lane]);
                        }
                        None => totals[lane] += met,
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every subsequence of a sequence with the weight of its span, by its symbols.
    fn spans(sequence: &[u32], length: usize, decay: f64) -> HashMap<Vec<u32>, f64> {
        let mut found = HashMap::new();
        for chosen in 0u32..1 << sequence.len() {
            let places: Vec<usize> = (0..sequence.len())
                .filter(|i| chosen >> i & 1 == 1)
                .collect();
            if places.len() == length {
                let span = places[length - 1] - places[0] + 1;
                let symbols = places.iter().map(|&i| sequence[i]).collect();
                *found.entry(symbols).or_insert(0.0) += decay.powi(span as i32);
            }
        }
        found
    }

    fn naive(kernel: SequenceKernel, s: &[u32], t: &[u32]) -> f64 {
        let (s, t) = match kernel {
            SequenceKernel::Spectrum { length } => {
                let words = |s: &[u32]| {
                    let mut words = HashMap::new();
                    for word in s.windows(length) {
                        *words.entry(word.to_vec()).or_insert(0.0) += 1.0;
                    }
                    words
                };
                (words(s), words(t))
            }
            SequenceKernel::Subsequence { length, decay } => {
                (spans(s, length, decay), spans(t, length, decay))
            }
        };
        s.iter()
            .map(|(u, weight)| weight * t.get(u).unwrap_or(&0.0))
            .sum()
    }

    #[test]
    fn values_are_those_of_the_definition() {
        let texts = [
            "", "a", "ab", "abcab", "bbbbbb", "cabbage", "abababab", "xyz", "gabbacab", "baccab",
            "b",
        ];
        let all = Sequences::from(&texts[..]);
        let some = Sequences::from(&texts[3..8]);
        for length in 1..5 {
            let mut kernels = vec![SequenceKernel::Spectrum { length }];
            let of = |decay| SequenceKernel::Subsequence { length, decay };
            kernels.extend([0.3, 0.7, 1.0].map(of));
            for kernel in kernels {
                let square = kernel.matrix(&all, None).expect("values");
                let oblong = kernel.matrix(&all, Some(&some)).expect("values");
                let diagonal = kernel.diagonal_until(&all, &|| false).expect("values");
                assert_eq!(diagonal.expect("not stopped"), square.diag().to_vec());
                for (i, s) in all.iter().enumerate() {
                    for (j, t) in all.iter().enumerate() {
                        let expected = naive(kernel, s, t);
                        let error = (square[[i, j]] - expected).abs();
                        assert!(error <= 1e-12 * expected, "{kernel:?}: {s:?} {t:?}");
                        if (3..8).contains(&j) {
                            assert!((oblong[[i, j - 3]] - expected).abs() <= 1e-12 * expected);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn instruction_sets_agree() {
        let lanes: Vec<[u32; LANES]> = (0..40u32)
            .map(|k| std::array::from_fn(|lane| (k * k + lane as u32) % 5))
            .collect();
        let symbols: Vec<u32> = (0..50).map(|k| (k * 7 + k / 3) % 5).collect();
        let run = |isa| {
            let mut prefixes = vec![[0.0f64; LANES]; 3 * 41];
            prefixes[..41].fill([1.0; LANES]);
            let mut totals = [0.0; LANES];
            extend(isa, &symbols, &lanes, &mut prefixes, 0.6, &mut totals);
            totals
        };
        let portable = run(Isa::portable());
        for isa in Isa::available() {
            for (value, expected) in run(isa).iter().zip(portable) {
                assert!((value - expected).abs() <= 1e-13 * expected);
            }
        }
    }

    #[test]
    fn parameters_and_places_are_checked() {
        let words = Sequences::from(&["a"][..]);
        for kernel in [
            SequenceKernel::Spectrum { length: 0 },
            SequenceKernel::Subsequence {
                length: 0,
                decay: 0.5,
            },
            SequenceKernel::Subsequence {
                length: 1,
                decay: 0.0,
            },
            SequenceKernel::Subsequence {
                length: 1,
                decay: 1.5,
            },
            SequenceKernel::Subsequence {
                length: 1,
                decay: f64::NAN,
            },
        ] {
            assert!(kernel.matrix(&words, None).is_err(), "{kernel:?}");
        }
        for starts in [vec![], vec![0], vec![1, 2], vec![0, 2, 1, 2], vec![0, 3]] {
            assert!(Sequences::new(vec![1, 2], starts).is_err());
        }
        assert!(Sequences::new(vec![NONE], vec![0, 1]).is_err());
    }

    #[test]
    fn a_stop_is_noticed_within_a_long_sequence() {
        let long = "ab".repeat(5000);
        let texts = Sequences::from(&[long.as_str()][..]);
        let kernel = SequenceKernel::Subsequence {
            length: 3,
            decay: 0.5,
        };
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let stop = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 3;
        assert!(
            kernel
                .matrix_until(&texts, None, &stop)
                .expect("no error")
                .is_none()
        );
    }
}
