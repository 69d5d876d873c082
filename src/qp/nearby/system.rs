//! The system of a face that differs from a known one by a few variables.
//!
//! With P the inverse of K_FF for the free variables F of the known face, the minimum over another face
//! is where
//!
//! ```text
//! [ K_FF  U ] [ x ]   [ r ]
//! [ U'    D ] [ z ] = [ s ],      z = S^-1 (s - U' P r),   x = P r - P U z,   S = D - U' P U
//! ```
//!
//! with a border, a column of U, for each difference: K_Fa for a variable a that has become free, e_j
//! for one that is fixed, and a column of ones for each sum, whose multiplier is the intercept. P itself
//! is never changed, so that many faces near the known one share it. Columns of P U are kept: that of a
//! fixed variable is a column of P.
//!
//! Gill, Murray, Saunders, Wright: A Schur-complement method for sparse quadratic programming (1990).

use crate::simd::buffer::Buffer;
use crate::simd::{Isa, add_multiple, inner_product};

/// A pivot of S below this share of the largest entry of its column shows a singular system.
const SINGULAR: f64 = 1e-14;

/// The inverse of the matrix of the free variables, and the columns of the sums.
pub(super) struct Known {
    pub isa: Isa,
    /// The number of free variables.
    pub n: usize,
    /// The whole inverse.
    pub inverse: Buffer<f64>,
    /// For each sum the free variables in it, and P times that.
    pub sums: Vec<(Vec<f64>, Vec<f64>)>,
    /// What is added to every diagonal entry.
    pub ridge: f64,
    /// What an intercept costs, if half its square is charged: then there is one sum.
    pub curvature: f64,
}

impl Known {
    pub fn column(&self, j: usize) -> &[f64] {
        &self.inverse[j * self.n..][..self.n]
    }

    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.inverse.chunks(self.n.max(1));
        rows.map(|row| inner_product(self.isa, row, x)).collect()
    }
}

/// What a border stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A sum that is kept, by number.
    Sum(usize),
    /// A free variable beside those of the known face, and the number of its group.
    Entered { variable: usize, group: usize },
    /// A variable of the known face that is fixed, by its place there.
    Fixed(usize),
}

struct Border {
    kind: Kind,
    /// The column of U where it is not of a simple form.
    column: Vec<f64>,
    /// P times the column.
    product: Vec<f64>,
    /// The row of S, as far as the borders before and this one.
    schur: Vec<f64>,
}

/// The borders of one face.
pub(super) struct System<'a> {
    known: &'a Known,
    borders: Vec<Border>,
}

/// A solution of the system: steps of the known variables, and one number for each border.
pub(super) struct Step {
    pub known: Vec<f64>,
    pub borders: Vec<f64>,
}

impl<'a> System<'a> {
    /// Begins without borders.
    pub fn new(known: &'a Known) -> Self {
        System {
            known,
            borders: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.borders.len()
    }

    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.borders.iter().map(|border| border.kind)
    }

    /// Keeps a sum.
    pub fn keep(&mut self, number: usize) {
        let (column, product) = self.known.sums[number].clone();
        let corner = |other: Kind| match other {
            Kind::Entered { group, .. } => f64::from(u8::from(number == group)),
            _ => 0.0,
        };
        let own = -self.known.curvature;
        self.push(Kind::Sum(number), column, product, corner, own);
    }

    /// Fixes a variable of the known face.
    pub fn fix(&mut self, place: usize) {
        let product = self.known.column(place).to_vec();
        self.push(Kind::Fixed(place), Vec::new(), product, |_| 0.0, 0.0);
    }

    /// Lets a variable in: `row` is its row of the matrix, `free` tells the variable at each known
    /// place, and `diagonal` is its own entry.
    pub fn enter(&mut self, kind: Kind, row: &[f64], free: &[usize], diagonal: f64) {
        let Kind::Entered { group, .. } = kind else {
            return;
        };
        let column: Vec<f64> = free.iter().map(|&variable| row[variable]).collect();
        let product = self.known.times(&column);
        let corner = |other: Kind| match other {
            Kind::Sum(number) => f64::from(u8::from(number == group)),
            Kind::Entered { variable, .. } => row[variable],
            Kind::Fixed(_) => 0.0,
        };
        self.push(kind, column, product, corner, diagonal);
    }

    /// Takes a border away.
    pub fn remove(&mut self, kind: Kind) {
        if let Some(at) = self.borders.iter().position(|border| border.kind == kind) {
            self.borders.remove(at);
            for border in &mut self.borders[at..] {
                border.schur.remove(at);
            }
        }
    }

    fn push(
        &mut self,
        kind: Kind,
        column: Vec<f64>,
        product: Vec<f64>,
        corner: impl Fn(Kind) -> f64,
        own: f64,
    ) {
        let mut schur: Vec<f64> = (self.borders.iter())
            .map(|other| corner(other.kind) - self.along(other, &product))
            .collect();
        let mut border = Border {
            kind,
            column,
            product,
            schur: Vec::new(),
        };
        schur.push(own - self.along(&border, &border.product));
        border.schur = schur;
        self.borders.push(border);
    }

    /// Returns the product of a border's column with a vector.
    fn along(&self, border: &Border, vector: &[f64]) -> f64 {
        match border.kind {
            Kind::Fixed(place) => vector[place],
            _ => inner_product(self.known.isa, &border.column, vector),
        }
    }

    /// Solves the system, given P r and s. Returns None if it is singular to rounding.
    pub fn solve(&self, first: &[f64], s: impl Iterator<Item = f64>) -> Option<Step> {
        let width = self.borders.len() + 1;
        let mut rows: Vec<f64> = Vec::with_capacity(width * (width - 1));
        for (i, (border, s)) in self.borders.iter().zip(s).enumerate() {
            rows.extend_from_slice(&border.schur);
            rows.extend(self.borders[i + 1..].iter().map(|later| later.schur[i]));
            rows.push(s - self.along(border, first));
        }
        let borders = eliminated(&mut rows, width)?;
        let mut known = first.to_vec();
        for (border, &z) in self.borders.iter().zip(&borders) {
            add_multiple(self.known.isa, -z, &border.product, &mut known);
        }
        // What is fixed does not move, not even by rounding.
        for border in &self.borders {
            if let Kind::Fixed(place) = border.kind {
                known[place] = 0.0;
            }
        }
        let finite = known.iter().chain(&borders).all(|value| value.is_finite());
        finite.then_some(Step { known, borders })
    }
}

/// Solves equations given in rows of this width, which end in the right side. Returns None if they are
/// singular to rounding.
fn eliminated(rows: &mut [f64], width: usize) -> Option<Vec<f64>> {
    let k = width - 1;
    // Borders differ in scale by many orders: rows and columns are brought to the same.
    let scale: Vec<f64> = (0..k)
        .map(|i| match rows[i * width + i].abs() {
            0.0 => 1.0,
            own => 1.0 / own.sqrt(),
        })
        .collect();
    for (row, own) in rows.chunks_mut(width).zip(&scale) {
        for (value, other) in row.iter_mut().zip(&scale) {
            *value *= own * other;
        }
        row[k] *= own;
    }
    for at in 0..k {
        let size = |i: &usize| rows[i * width + at].abs();
        let best = (at..k).max_by(|i, j| size(i).total_cmp(&size(j)))?;
        let enough = size(&best) > SINGULAR;
        if !enough {
            return None;
        }
        if best != at {
            let (above, below) = rows.split_at_mut(best * width);
            above[at * width..][..width].swap_with_slice(&mut below[..width]);
        }
        let (above, below) = rows.split_at_mut((at + 1) * width);
        let pivot = &above[at * width..];
        for row in below.chunks_mut(width) {
            let factor = row[at] / pivot[at];
            if factor != 0.0 {
                for (value, &other) in row[at..].iter_mut().zip(&pivot[at..]) {
                    *value -= factor * other;
                }
            }
        }
    }
    let mut z = vec![0.0; k];
    for at in (0..k).rev() {
        let row = &rows[at * width..][..width];
        let known: f64 = (at + 1..k).map(|j| row[j] * z[j]).sum();
        z[at] = (row[k] - known) / row[at];
    }
    z.iter_mut().zip(scale).for_each(|(z, scale)| *z *= scale);
    Some(z)
}
