//! Design: the columns H = [G A'] and the products with them that an iteration takes.
//!
//! G has the features, so that K = G G'; the rows of A are the sums that are fixed, or the one that is
//! penalised. With D a diagonal, the equations of an iteration,
//!
//! ```text
//! (G G' + D^-1) step + A' dy = rho,   A step = excess,   q = G' step
//! ```
//!
//! become by elimination of the step those of the normal matrix,
//!
//! ```text
//! (H' D H + P) [q; dy] = H' D rho - [0; excess],   step = D (rho - H [q; dy])
//! ```
//!
//! with P = 1 for features (and for the sum that is penalised, whose column is one more feature) and 0
//! for the sums that are fixed. It takes n r^2 multiplications. Parts of the rows are added up one after
//! another, so that results do not depend on the number of threads.

use crate::error::{Polled, Stop};
use crate::matrix::{FeatureScratch as Scratch, Features};
use crate::qp::problem::Constraint;
use crate::simd::gram::{self, TILE};
use crate::simd::{Isa, add_multiple, cholesky, inner_product, memory, parallel};

/// Rows a thread takes at a time where there is little to do for each of them.
const ROWS: usize = 1024;
/// Bytes that the Gram matrices of parts may take, and the most parts there are.
const PART_BYTES: usize = 1 << 28;
const MOST_PARTS: usize = 64;
/// Multiplications that take as long as reading one value of a row.
const WORK_PER_VALUE: usize = 2;
/// What is added to a diagonal that rounding has made indefinite, as a share of its largest value.
const LIFT: f64 = 1e-14;

/// What an error calls the memory of an iteration.
pub(super) const WHAT: &str = "the interior-point method";

pub(super) struct Design<'a> {
    features: Features<'a>,
    constraint: &'a Constraint,
    variables: usize,
    isa: Isa,
}

impl<'a> Design<'a> {
    pub fn new(features: Features<'a>, constraint: &'a Constraint, variables: usize) -> Self {
        Design {
            features,
            constraint,
            variables,
            isa: Isa::detect(),
        }
    }

    /// Returns the number of features.
    pub fn features(&self) -> usize {
        self.features.columns()
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        let sums = match self.constraint {
            Constraint::None => 0,
            _ => self.constraint.groups(),
        };
        self.features() + sums
    }

    /// Returns what the normal matrix has on its diagonal beside the Gram matrix.
    pub fn prior(&self, column: usize) -> f64 {
        let penalized = *self.constraint == Constraint::Penalized;
        f64::from(column < self.features() || penalized)
    }

    /// Writes the row of a variable.
    fn copy(&self, variable: usize, row: &mut [f64], scratch: &mut Scratch) {
        let (features, sums) = row.split_at_mut(self.features());
        self.features.copy(variable, features, scratch);
        sums.fill(0.0);
        if let Some(sum) = sums.get_mut(self.constraint.group(variable)) {
            *sum = 1.0;
        }
    }

    /// Returns H' v.
    pub fn transposed(&self, vector: &[f64], stop: Stop) -> Polled<Vec<f64>> {
        let width = self.columns();
        let rows = self.part_rows(width);
        let mut sums: Vec<f64> = memory::zeros(vector.len().div_ceil(rows) * width, WHAT)?;
        let chunks = vector.chunks(rows).zip(sums.chunks_mut(width)).enumerate();
        let work = vector.len() * width * WORK_PER_VALUE;
        parallel::try_for_each(
            chunks.collect(),
            work,
            stop,
            |(row, scratch): &mut (Vec<f64>, Scratch), (part, (vector, sums))| {
                row.resize(width, 0.0);
                for (i, &factor) in vector.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                    self.copy(part * rows + i, row, scratch);
                    add_multiple(self.isa, factor, row, sums);
                }
                Ok(())
            },
        )?;
        Ok(added(&sums, width))
    }

    /// Writes H q.
    pub fn times(&self, vector: &[f64], out: &mut [f64], stop: Stop) -> Polled<()> {
        let width = self.columns();
        let work = out.len() * width * WORK_PER_VALUE;
        let chunks = out.chunks_mut(ROWS).enumerate().collect();
        type Buffers = (Vec<f64>, Scratch);
        parallel::try_for_each(
            chunks,
            work,
            stop,
            |(row, scratch): &mut Buffers, (part, out)| {
                row.resize(width, 0.0);
                for (i, out) in out.iter_mut().enumerate() {
                    self.copy(part * ROWS + i, row, scratch);
                    *out = inner_product(self.isa, row, vector);
                }
                Ok(())
            },
        )
    }

    /// Returns the factor of the normal matrix at the diagonal D, and H' D rho; None if rounding has made
    /// it indefinite.
    pub fn normal(
        &self,
        diagonal: &[f64],
        rho: &[f64],
        stop: Stop,
    ) -> Polled<Option<(Normal, Vec<f64>)>> {
        // One more column: the right side comes with the matrix.
        let (columns, width) = (self.columns(), self.columns() + 1);
        let gram = self.gram(diagonal, rho, stop)?;
        let right = gram[columns * width..][..columns].to_vec();
        let mut matrix: Vec<f64> = memory::zeros(columns * columns, WHAT)?;
        for lift in [0.0, LIFT, 1e3 * LIFT] {
            let rows = matrix.chunks_mut(columns).zip(gram.chunks(width));
            let mut largest = 0.0f64;
            for (at, (row, gram)) in rows.enumerate() {
                row.copy_from_slice(&gram[..columns]);
                row[at] += self.prior(at);
                largest = largest.max(row[at]);
            }
            for at in 0..columns {
                matrix[at * columns + at] += lift * largest;
            }
            if cholesky::factor(self.isa, &mut matrix, columns, stop)? {
                let normal = Normal {
                    isa: self.isa,
                    factor: matrix,
                };
                return Ok(Some((normal, right)));
            }
        }
        Ok(None)
    }

    /// Returns the lower half of [H rho]' D [H rho].
    fn gram(&self, diagonal: &[f64], rho: &[f64], stop: Stop) -> Polled<Vec<f64>> {
        let width = self.columns() + 1;
        let rows = self.part_rows(width * width);
        let parts = self.variables.div_ceil(rows);
        let mut grams: Vec<f64> = memory::zeros(parts * width * width, WHAT)?;
        let chunks = grams.chunks_mut(width * width).enumerate().collect();
        let work = self.variables * width * width;
        type Buffers = (Vec<f64>, Vec<f64>, gram::Scratch, Scratch);
        parallel::try_for_each(
            chunks,
            work,
            stop,
            |(tile, weights, scratch, terms): &mut Buffers, (part, gram)| {
                let end = self.variables.min((part + 1) * rows);
                let mut variables = (part * rows..end).filter(|&i| diagonal[i] > 0.0).peekable();
                memory::resize(tile, TILE * width, WHAT)?;
                while variables.peek().is_some() {
                    crate::error::poll(stop)?;
                    weights.clear();
                    for i in variables.by_ref().take(TILE) {
                        let row = &mut tile[weights.len() * width..][..width];
                        self.copy(i, &mut row[..width - 1], terms);
                        row[width - 1] = rho[i];
                        weights.push(diagonal[i]);
                    }
                    let tile = &tile[..weights.len() * width];
                    gram::add_tile(self.isa, tile, weights, scratch, gram)?;
                }
                Ok(())
            },
        )?;
        Ok(added(&grams, width * width))
    }

    /// Returns the rows of a part whose result is so many numbers.
    fn part_rows(&self, size: usize) -> usize {
        let parts = (PART_BYTES / (8 * size)).clamp(1, MOST_PARTS);
        self.variables.div_ceil(parts).max(ROWS)
    }
}

/// Adds up vectors that are stored one after another.
fn added(vectors: &[f64], width: usize) -> Vec<f64> {
    let mut sum = vec![0.0; width];
    for vector in vectors.chunks(width.max(1)) {
        sum.iter_mut().zip(vector).for_each(|(s, v)| *s += v);
    }
    sum
}

/// The factor of the normal matrix.
pub(super) struct Normal {
    isa: Isa,
    factor: Vec<f64>,
}

impl Normal {
    /// Solves with a right side, in place.
    pub fn solve(&self, right: &mut [f64]) {
        cholesky::solve(self.isa, &self.factor, right);
    }
}
