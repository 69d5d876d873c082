//! The equations of a Newton step.

use super::matrix::{WHAT, dot};
use super::rows::Rows;
use crate::error::{Polled, Stop};
use crate::simd::{Isa, cholesky, memory};

/// Features up to which the equations are factored.
pub(super) const FACTORED: usize = 1024;
/// The share of the gradient that conjugate gradients leave, and their most steps.
const LEFT: f64 = 0.1;
const MOST_PRODUCTS: usize = 1000;

/// X' C X of the rows of a band, kept from step to step.
#[derive(Default)]
pub(super) struct Equations {
    gram: Vec<f64>,
    /// The factors of the rows that are in it.
    held: Vec<f64>,
}

impl Equations {
    /// Solves (I + scale X' diag(band) X) step = -gradient.
    pub fn solve(
        &mut self,
        rows: &Rows,
        band: &[f64],
        scale: f64,
        gradient: &[f64],
        stop: Stop,
    ) -> Polled<Vec<f64>> {
        let n = gradient.len();
        if n > FACTORED {
            return conjugate(rows, band, scale, gradient, stop);
        }
        if !rows.are_short() {
            self.change(rows, band, stop)?;
        }
        let mut matrix: Vec<f64> =
            memory::collected(self.gram.iter().map(|value| scale * value), WHAT)?;
        for at in 0..n {
            matrix[at * n + at] += 1.0;
        }
        let isa = Isa::detect();
        let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
        match cholesky::factor(isa, &mut matrix, n, stop)? {
            true => {
                cholesky::solve(isa, &matrix, &mut step);
                Ok(step)
            }
            // Beyond the digits of f64.
            false => conjugate(rows, band, scale, gradient, stop),
        }
    }

    /// Takes the Gram matrix of a band.
    pub fn hold(&mut self, gram: Vec<f64>) {
        self.gram = gram;
    }

    /// Makes the Gram matrix that of a band: by the rows that it lacks and those that it has too many, if
    /// they are fewer.
    fn change(&mut self, rows: &Rows, band: &[f64], stop: Stop) -> Polled<()> {
        let used = band.iter().filter(|factor| **factor != 0.0).count();
        let changes = || band.iter().zip(&self.held);
        let changed = changes().filter(|(new, old)| new != old).count();
        if self.held.is_empty() || changed >= used {
            self.held.clear();
            self.gram = rows.gram(band, stop)?;
        } else if changed > 0 {
            let factors = memory::collected(changes().map(|(new, old)| new - old), WHAT)?;
            let change = rows.gram(&factors, stop)?;
            for (entry, change) in self.gram.iter_mut().zip(change) {
                *entry += change;
            }
        }
        self.held.clear();
        self.held.extend_from_slice(band);
        Ok(())
    }
}

/// Solves the equations by conjugate gradients.
fn conjugate(
    rows: &Rows,
    band: &[f64],
    scale: f64,
    gradient: &[f64],
    stop: Stop,
) -> Polled<Vec<f64>> {
    let mut step = vec![0.0; gradient.len()];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut direction = residual.clone();
    let mut square = dot(&residual, &residual);
    let enough = LEFT * LEFT * square;
    for _ in 0..MOST_PRODUCTS {
        let mut product = rows.squared(band, &direction, stop)?;
        for (product, direction) in product.iter_mut().zip(&direction) {
            *product = direction + scale * *product;
        }
        let length = square / dot(&direction, &product);
        for at in 0..step.len() {
            step[at] += length * direction[at];
            residual[at] -= length * product[at];
        }
        let next = dot(&residual, &residual);
        if next <= enough || !next.is_finite() {
            break;
        }
        for (direction, residual) in direction.iter_mut().zip(&residual) {
            *direction = residual + next / square * *direction;
        }
        square = next;
    }
    Ok(step)
}
