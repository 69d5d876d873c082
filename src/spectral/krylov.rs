//! The largest eigenvalues of a symmetric operator, known only by its products with vectors.
//!
//! ```text
//! A V = V T + Q B E'        V' V = 1,  T = V' A V,  E: the last block of columns
//! T y = theta y   =>   |A V y - theta V y| = |B E' y|
//! ```
//!
//! Block Lanczos with full orthogonalisation and thick restarts: the space grows by the image of its
//! last block, and when it is full, the best Ritz vectors take its place (Wu and Simon, Thick-restart
//! Lanczos method for large symmetric eigenvalue problems, 2000). A block is as many products as one
//! pass over the kernel values can serve. With a fixed number of passes and a block of all wanted
//! vectors and some more, this is randomised block Krylov iteration (Musco and Musco, 2015).

use super::dense::{add_product, cross, transposed};
use super::eigen::{Eigen, decompose};
use crate::error::{Polled, Result, Stop, poll};
use crate::simd::random::Random;
use crate::simd::{Isa, add_multiple, inner_product, memory};

/// What an error calls the vectors that are kept.
const SPACE: &str = "the vectors of an iterative eigen-solver";
/// Residuals below this share of the largest eigenvalue are rounding.
const ROUNDING: f64 = 1e-14;
/// A vector of which only this share is left after the others are taken from it is one of them.
const DEPENDENT: f64 = 1e-13;
/// Passes between two looks whether it has converged, each of which decomposes the projection.
const LOOKS: usize = 4;
/// Passes after which it ends although it has not converged.
const MOST_PASSES: usize = 3000;

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub count: usize,
    /// Vectors multiplied in one pass.
    pub block: usize,
    /// The residual, as a share of its eigenvalue, that is good enough.
    pub tolerance: f64,
    /// Passes it may take; with `fixed` it takes them.
    pub passes: Option<usize>,
    pub fixed: bool,
    pub seed: u64,
}

/// What is found.
#[derive(Debug)]
pub(super) struct Found {
    /// The largest eigenvalues, the largest first, and their vectors.
    pub eigen: Eigen,
    pub converged: bool,
}

/// Multiplies vectors, which stand one after another, with the operator.
pub(super) type Apply<'a> = dyn FnMut(&[f64], usize) -> Polled<Vec<f64>> + 'a;

/// Finds the largest eigenvalues of an operator on vectors of `order` numbers.
pub(super) fn largest(
    order: usize,
    wanted: &Wanted,
    apply: &mut Apply,
    stop: Stop,
) -> Polled<Found> {
    let mut space = Space::new(order, wanted)?;
    let mut next = random(order * space.block, wanted.seed)?;
    space.orthonormalise(&mut next);
    let most = wanted.passes.unwrap_or(MOST_PASSES);
    let mut closed = None;
    for pass in 1_usize.. {
        poll(stop)?;
        let count = next.len() / order;
        let mut image = apply(&next, count)?;
        let products = space.extend(&next, &image);
        space.subtract(&mut image, &products);
        let coupling = space.next_block(&mut image, space.scale());
        let ends = image.is_empty();
        let looks = !wanted.fixed && space.len() >= wanted.count && pass.is_multiple_of(LOOKS);
        if !(looks || ends || pass >= most || space.is_full(&image)) {
            next = image;
            continue;
        }
        let ritz = decompose(&space.projected(), space.len())?;
        if ends && space.len() < order && !is_repeated(&mut closed, &ritz, wanted.count) {
            image = space.fresh_block(wanted.seed + pass as u64)?;
        }
        let full = image.is_empty();
        let converged = full || !ends && space.residuals_are_small(&ritz, &coupling, count, wanted);
        if (converged && !wanted.fixed) || full || pass >= most {
            return Ok(Found {
                eigen: space.vectors(&ritz, wanted.count.min(space.len()))?,
                converged: converged || wanted.fixed,
            });
        }
        if space.is_full(&image) {
            space.restart(&ritz, wanted.count)?;
        }
        next = image;
    }
    unreachable!("the number of passes is limited")
}

/// Tells whether the wanted eigenvalues are those that were found when the space closed before.
///
/// A space that its images do not leave has at most a block of each eigenvalue's vectors. Others may be
/// outside, so the search goes on with random vectors until these bring nothing.
fn is_repeated(closed: &mut Option<Vec<f64>>, ritz: &Eigen, count: usize) -> bool {
    let values: Vec<f64> = ritz.values.iter().copied().take(count).collect();
    let rounding = ROUNDING.sqrt() * ritz.values[0].abs();
    let agree = |before: &Vec<f64>| {
        before.len() == count
            && before
                .iter()
                .zip(&values)
                .all(|(a, b)| (a - b).abs() <= rounding)
    };
    let repeated = closed.as_ref().is_some_and(agree);
    *closed = Some(values);
    repeated
}

/// An orthonormal basis and the projection of the operator on it.
struct Space {
    order: usize,
    block: usize,
    /// The most vectors it holds.
    most: usize,
    basis: Vec<f64>,
    /// T, with room for `most` rows and columns.
    projection: Vec<f64>,
    isa: Isa,
}

impl Space {
    fn new(order: usize, wanted: &Wanted) -> Result<Self> {
        let block = wanted.block.clamp(1, order);
        let most = match wanted.fixed {
            true => wanted.passes.unwrap_or(1).min(12) * block,
            false => 2 * wanted.count + 8 * block,
        };
        // A restart keeps up to a block more than is wanted, and one more block has to fit.
        let most = most.max(wanted.count + 3 * block).min(order + block);
        Ok(Space {
            order,
            block,
            most,
            basis: memory::with_capacity(most * order, SPACE)?,
            projection: memory::zeros(most * most, SPACE)?,
            isa: Isa::detect(),
        })
    }

    fn len(&self) -> usize {
        self.basis.len() / self.order
    }

    /// Tells whether there is no room for a block.
    fn is_full(&self, block: &[f64]) -> bool {
        self.len() + block.len() / self.order > self.most
    }

    /// Takes a block into the basis, and its image into the projection. Returns the products of the basis
    /// with the image.
    fn extend(&mut self, block: &[f64], image: &[f64]) -> Vec<f64> {
        let (before, count) = (self.len(), block.len() / self.order);
        self.basis.extend_from_slice(block);
        let products = cross(&self.basis, image, self.order);
        for (i, products) in products.chunks(count).enumerate() {
            for (j, &product) in (before..).zip(products) {
                self.projection[i * self.most + j] = product;
                self.projection[j * self.most + i] = product;
            }
        }
        products
    }

    /// Returns the size of the operator, as far as it is known: the longest row of the projection.
    fn scale(&self) -> f64 {
        let rows = self.projection.chunks(self.most).take(self.len());
        let squares = rows.map(|row| inner_product(self.isa, row, row));
        squares.fold(0.0, f64::max).sqrt()
    }

    /// Returns the projection of the operator.
    fn projected(&self) -> Vec<f64> {
        let rows = self.projection.chunks(self.most).take(self.len());
        rows.flat_map(|row| row[..self.len()].iter().copied())
            .collect()
    }

    /// Takes from vectors what lies in the space.
    fn remove(&self, vectors: &mut [f64]) {
        let products = cross(&self.basis, vectors, self.order);
        self.subtract(vectors, &products);
    }

    /// Takes from vectors what lies in the space, given its products with them.
    fn subtract(&self, vectors: &mut [f64], products: &[f64]) {
        let products = transposed(products, vectors.len() / self.order);
        add_product(vectors, &products, &self.basis, self.len(), -1.0);
    }

    /// Makes an orthonormal block, orthogonal to the space, of what an image has left; vectors of which
    /// nothing is left drop out. What lies in the space is taken from the block once more, since once
    /// leaves rounding errors. Returns B, by which the block becomes what it was made of.
    fn next_block(&self, image: &mut Vec<f64>, scale: f64) -> Vec<f64> {
        let count = image.len() / self.order;
        let first = self.orthonormalise_above(image, DEPENDENT * scale);
        self.remove(image);
        let second = self.orthonormalise_above(image, 0.5);
        // What was made orthonormal twice: B = B_2 B_1.
        let inner = first.len() / count.max(1);
        let mut coupling = vec![0.0; second.len() / inner.max(1) * count];
        add_product(&mut coupling, &second, &first, inner, 1.0);
        coupling
    }

    /// Returns a random orthonormal block, orthogonal to the space.
    fn fresh_block(&self, seed: u64) -> Result<Vec<f64>> {
        let count = self.block.min(self.order - self.len());
        let mut vectors = random(count * self.order, seed)?;
        self.remove(&mut vectors);
        self.next_block(&mut vectors, 1.0);
        Ok(vectors)
    }

    /// Makes vectors orthonormal.
    fn orthonormalise(&self, vectors: &mut Vec<f64>) {
        self.orthonormalise_above(vectors, 0.0);
        self.orthonormalise_above(vectors, 0.0);
    }

    /// Makes vectors orthonormal, by modified Gram-Schmidt; those of which no more than `least` is left
    /// drop out. Returns the coefficients: row after row, those of a vector that is left.
    fn orthonormalise_above(&self, vectors: &mut Vec<f64>, least: f64) -> Vec<f64> {
        let (order, isa) = (self.order, self.isa);
        let count = vectors.len() / order;
        let mut coefficients: Vec<f64> = Vec::new();
        let mut kept = 0;
        for column in 0..count {
            vectors.copy_within(column * order..(column + 1) * order, kept * order);
            let (before, rest) = vectors.split_at_mut(kept * order);
            let vector = &mut rest[..order];
            for (row, other) in before.chunks(order).enumerate() {
                let product = inner_product(isa, other, vector);
                coefficients[row * count + column] = product;
                add_multiple(isa, -product, other, vector);
            }
            let norm = inner_product(isa, vector, vector).sqrt();
            if norm > least {
                vector.iter_mut().for_each(|value| *value /= norm);
                coefficients.resize((kept + 1) * count, 0.0);
                coefficients[kept * count + column] = norm;
                kept += 1;
            }
        }
        vectors.truncate(kept * order);
        coefficients
    }

    /// Tells whether the residuals of the wanted Ritz vectors are small.
    fn residuals_are_small(
        &self,
        ritz: &Eigen,
        coupling: &[f64],
        last: usize,
        wanted: &Wanted,
    ) -> bool {
        let size = self.len();
        let rounding = ROUNDING * ritz.values[0].abs();
        size >= wanted.count
            && (0..wanted.count).all(|k| {
                let tail = &ritz.vector(k)[size - last..];
                let rows = coupling.chunks(last);
                let squares = rows.map(|row| inner_product(self.isa, row, tail).powi(2));
                let residual = squares.sum::<f64>().sqrt();
                residual <= rounding.max(wanted.tolerance * ritz.values[k].abs())
            })
    }

    /// Returns the first Ritz vectors as vectors of the operator.
    fn vectors(&self, ritz: &Eigen, count: usize) -> Result<Eigen> {
        let mut vectors = memory::zeros(count * self.order, SPACE)?;
        let size = self.len();
        add_product(
            &mut vectors,
            &ritz.vectors[..count * size],
            &self.basis,
            size,
            1.0,
        );
        Ok(Eigen {
            values: ritz.values[..count].to_vec(),
            vectors,
        })
    }

    /// Puts the best Ritz vectors in place of the basis: those that are wanted, and half as many as
    /// there is room for beside them, which are on their way to become better.
    fn restart(&mut self, ritz: &Eigen, count: usize) -> Result<()> {
        let room = self.most.saturating_sub(count + 2 * self.block);
        let keep = (count + room / 2).min(self.len());
        let Eigen { values, vectors } = self.vectors(ritz, keep)?;
        self.basis.clear();
        self.basis.extend_from_slice(&vectors);
        self.projection.fill(0.0);
        for (k, value) in values.into_iter().enumerate() {
            self.projection[k * self.most + k] = value;
        }
        Ok(())
    }
}

/// Returns numbers between -1 and 1, the same for the same seed.
fn random(count: usize, seed: u64) -> Result<Vec<f64>> {
    let mut random = Random::new(seed);
    memory::collected((0..count).map(|_| 2.0 * random.share() - 1.0), SPACE)
}

#[cfg(test)]
mod tests {
    use super::super::eigen::symmetric_eigen;
    use super::*;
    use ndarray::Array2;

    fn wanted(count: usize, block: usize) -> Wanted {
        Wanted {
            count,
            block,
            tolerance: 0.0,
            passes: None,
            fixed: false,
            seed: 7,
        }
    }

    /// A matrix of a Gaussian kernel over points in the plane, whose eigenvalues fall slowly.
    fn matrix(order: usize, width: f64) -> Array2<f64> {
        let points: Vec<f64> = random(2 * order, 3).expect("memory");
        let value = |(i, j): (usize, usize)| {
            let square: f64 = (0..2)
                .map(|axis| (points[2 * i + axis] - points[2 * j + axis]).powi(2))
                .sum();
            (-square / width).exp()
        };
        Array2::from_shape_fn((order, order), value)
    }

    fn check(matrix: &Array2<f64>, wanted: &Wanted) {
        let order = matrix.nrows();
        let dense = symmetric_eigen(matrix.view()).expect("symmetric");
        let mut apply =
            |block: &[f64], _: usize| Ok(cross(block, matrix.as_slice().expect("rows"), order));
        let found = largest(order, wanted, &mut apply, &|| false).expect("not stopped");
        assert!(found.converged);
        assert_eq!(found.eigen.values.len(), wanted.count.min(order));
        for k in 0..found.eigen.values.len() {
            let (value, vector) = (found.eigen.values[k], found.eigen.vector(k));
            assert!((value - dense.values[k]).abs() < 1e-12 * dense.values[0]);
            let image = cross(vector, matrix.as_slice().expect("rows"), order);
            let residual = image
                .iter()
                .zip(vector)
                .map(|(a, v)| (a - value * v).powi(2));
            assert!(residual.sum::<f64>().sqrt() < 1e-11 * dense.values[0]);
        }
    }

    #[test]
    fn eigenvalues_are_those_of_the_dense_solver() {
        for (order, width, count, block) in [
            (300, 0.01, 10, 4),
            (300, 0.5, 20, 8),
            (300, 1e-4, 12, 8),
            (40, 0.1, 40, 8),
            (40, 0.1, 1, 1),
            (7, 0.1, 3, 8),
        ] {
            check(&matrix(order, width), &wanted(count, block));
        }
    }

    #[test]
    fn a_matrix_of_low_rank_and_several_equal_eigenvalues_are_no_trouble() {
        let mut low = Array2::zeros((60, 60));
        for k in 0..6 {
            low[[k, k]] = 1.0 + (k / 2) as f64;
        }
        check(&low, &wanted(6, 4));
        check(&Array2::eye(50), &wanted(5, 4));
        // More equal eigenvalues than a block holds, above others.
        let steps = Array2::from_diag(&ndarray::Array1::from_shape_fn(40, |k| match k {
            0..7 => 2.0,
            _ => 1.0,
        }));
        check(&steps, &wanted(9, 3));
    }

    #[test]
    fn it_stops_when_it_is_asked_to() {
        let mut apply = |block: &[f64], _: usize| Ok(block.to_vec());
        let stopped = largest(50, &wanted(3, 4), &mut apply, &|| true);
        assert!(stopped.is_err());
    }
}
