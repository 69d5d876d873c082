//! Footing: where a machine stood when it was last solved, for another problem to start from.
//!
//! Variables are known by the numbers of their rows, so the other problem may have more rows, or lack
//! some. Its image is that of the last with the rows of those that are gone taken away,
//!
//! ```text
//! (K beta)_i = image_i - sum over gone j of K_ij beta_j       for rows that were there,
//! (K beta)_i = sum over j of K_ij beta_j                      for new ones,
//! ```
//!
//! in f64: next to nothing where few rows come or go. Where the kernel has changed, the old image is a
//! guide to which variables are at which bound, no more, and the solver computes its own.

use super::doubt::rounding_of_product;
use super::image::Image;
use super::problem::DualProblem;
use super::report::Solution;
use super::seed::{Origin, seed};
#[cfg(feature = "python")]
use crate::error::Error;
use crate::error::{Halt, Polled, Result, Stop, poll};
use crate::matrix::KernelMatrix;
use std::collections::HashMap;

/// Where a machine stood.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Footing {
    /// The row behind each variable. Of two variables of one row, the first stays the first.
    rows: Vec<usize>,
    origin: Origin,
    image: Image,
}

impl Footing {
    /// Notes the solution of a problem over these rows.
    pub fn new(rows: &[usize], problem: &DualProblem, solution: &Solution, image: Image) -> Self {
        Footing {
            rows: rows.to_vec(),
            origin: Origin::of(problem, solution.intercepts),
            image,
        }
    }

    /// Puts one together from what [`parts`](Self::parts) returned.
    ///
    /// # Errors
    /// If the parts are not those of a solution.
    #[cfg(feature = "python")]
    pub fn from_parts(rows: Vec<usize>, columns: [Vec<f64>; 5], rest: [f64; 3]) -> Result<Self> {
        let refuse = |allowed, got: String| Err(Error::parameter("footing", allowed, got));
        if let Some(column) = columns.iter().find(|column| column.len() != rows.len()) {
            let got = format!("{} and {}", rows.len(), column.len());
            return refuse("vectors of one length", got);
        }
        let [lower, upper, beta, values, errors] = columns;
        let within = |i: usize| lower[i] <= beta[i] && beta[i] <= upper[i] && beta[i].is_finite();
        if let Some(i) = (0..rows.len()).find(|&i| !within(i)) {
            return refuse("finite and within its bounds", beta[i].to_string());
        }
        let [size, first, second] = rest;
        if !(size >= 0.0 && size.is_finite()) {
            return refuse("of finite size", size.to_string());
        }
        Ok(Footing {
            rows,
            origin: Origin {
                lower,
                upper,
                size,
                intercepts: [first, second],
            },
            image: Image {
                beta,
                values,
                errors,
            },
        })
    }

    /// Returns the rows; the bounds, the coefficients, their image and the bounds of its errors; and the
    /// size of the coefficients and the intercepts.
    #[cfg(feature = "python")]
    pub fn parts(&self) -> (&[usize], [&[f64]; 5], [f64; 3]) {
        let Footing {
            rows,
            origin,
            image,
        } = self;
        let columns: [&[f64]; 5] = [
            &origin.lower,
            &origin.upper,
            &image.beta,
            &image.values,
            &image.errors,
        ];
        let [first, second] = origin.intercepts;
        (rows, columns, [origin.size, first, second])
    }

    /// Takes the image for a guide from here on: the kernel or the rows behind it have changed.
    pub fn doubt_image(&mut self) {
        self.image.errors.fill(f64::INFINITY);
    }

    /// Gives the rows other numbers; None for rows that are gone, whose coefficients must be zero.
    pub fn renumber(&mut self, number: &dyn Fn(usize) -> Option<usize>) {
        let kept: Vec<usize> = (0..self.rows.len())
            .filter(|&i| number(self.rows[i]).is_some())
            .collect();
        let keep = |values: &mut Vec<f64>| {
            *values = kept.iter().map(|&i| values[i]).collect();
        };
        let Origin { lower, upper, .. } = &mut self.origin;
        let Image {
            beta,
            values,
            errors,
        } = &mut self.image;
        let columns = [lower, upper, beta, values, errors];
        columns.into_iter().for_each(keep);
        self.rows = self.rows.iter().filter_map(|&row| number(row)).collect();
    }

    /// Makes the start of `problem`, over these rows of the samples behind `matrix`. Returns its image,
    /// or one that is not exact, for which the rows of all coefficients have to be fetched; None if there
    /// is no such start.
    ///
    /// # Errors
    /// If kernel values cannot be computed.
    pub fn seed(
        &self,
        problem: &mut DualProblem,
        rows: &[usize],
        matrix: &KernelMatrix,
        stop: Stop,
    ) -> Result<Option<Image>> {
        let (origin, mut image) = match self.rows == rows {
            true => (self.origin.clone(), self.image.clone()),
            false => self.carried(rows, matrix, stop)?,
        };
        let possible = seed(problem, &origin, &mut image);
        Ok(possible.then_some(image))
    }

    /// Returns the same for the variables of other rows. A variable that was not there is one that was
    /// fixed at zero.
    fn carried(
        &self,
        rows: &[usize],
        matrix: &KernelMatrix,
        stop: Stop,
    ) -> Result<(Origin, Image)> {
        let places = places(&self.rows, rows);
        let carry = |values: &[f64], missing: f64| -> Vec<f64> {
            let value = |place: &Option<usize>| place.map_or(missing, |at| values[at]);
            places.iter().map(value).collect()
        };
        let origin = Origin {
            lower: carry(&self.origin.lower, 0.0),
            upper: carry(&self.origin.upper, 0.0),
            ..self.origin.clone()
        };
        let mut image = Image {
            beta: carry(&self.image.beta, 0.0),
            values: carry(&self.image.values, 0.0),
            errors: carry(&self.image.errors, f64::INFINITY),
        };
        let changed = self
            .without_gone(&mut image, rows, &places, matrix, stop)
            .and_then(|()| with_new(&mut image, &places, matrix, stop));
        match changed {
            Ok(()) => {}
            // Whoever stops it wants the last state, and no more work.
            Err(Halt::Stopped) => image.errors.fill(f64::INFINITY),
            Err(Halt::Failed(error)) => return Err(error),
        }
        Ok((origin, image))
    }

    /// Takes the rows of variables that are gone away from the image of those that were there before.
    fn without_gone(
        &self,
        image: &mut Image,
        rows: &[usize],
        places: &[Option<usize>],
        matrix: &KernelMatrix,
        stop: Stop,
    ) -> Polled<()> {
        let mut is_gone = vec![true; self.rows.len()];
        places.iter().flatten().for_each(|&at| is_gone[at] = false);
        let coefficient = |&at: &usize| is_gone[at] && self.image.beta[at] != 0.0;
        let gone: Vec<usize> = (0..self.rows.len()).filter(coefficient).collect();
        if gone.is_empty() || !self.image.is_exact() {
            return Ok(());
        }
        let samples = matrix.samples();
        if gone.iter().any(|&at| self.rows[at] >= samples.rows()) {
            image.errors.fill(f64::INFINITY);
            return Ok(());
        }
        let all = rows.iter().copied();
        let all: Vec<usize> = all.chain(gone.iter().map(|&at| self.rows[at])).collect();
        let both = KernelMatrix::new(matrix.kernel(), samples, all)?;
        let mut beta = vec![0.0; rows.len()];
        beta.extend(gone.iter().map(|&at| self.image.beta[at]));
        let old: Vec<u32> = variables(places, |place| place.is_some());
        let products = both.product(&beta, &old, stop)?;
        let rounding = rounding_of_product(&both, &beta);
        for (&i, product) in old.iter().zip(products) {
            let (value, i) = (image.values[i as usize] - product, i as usize);
            image.errors[i] += rounding + f64::EPSILON * value.abs();
            image.values[i] = value;
        }
        Ok(())
    }
}

/// Computes the image of variables that were not there before.
fn with_new(
    image: &mut Image,
    places: &[Option<usize>],
    matrix: &KernelMatrix,
    stop: Stop,
) -> Polled<()> {
    poll(stop)?;
    let new = variables(places, |place| place.is_none());
    let products = matrix.product(&image.beta, &new, stop)?;
    let rounding = rounding_of_product(matrix, &image.beta);
    for (&i, product) in new.iter().zip(products) {
        (image.values[i as usize], image.errors[i as usize]) = (product, rounding);
    }
    Ok(())
}

/// Returns the variables whose place is one of those asked for.
fn variables(places: &[Option<usize>], asked: impl Fn(&Option<usize>) -> bool) -> Vec<u32> {
    let variables = (0..).zip(places).filter(|(_, place)| asked(place));
    variables.map(|(variable, _)| variable).collect()
}

/// Returns where the variable of each row was; those of one row are told apart by their order.
fn places(before: &[usize], rows: &[usize]) -> Vec<Option<usize>> {
    let numbered = |rows: &[usize]| -> Vec<(usize, usize)> {
        let mut times: HashMap<usize, usize> = HashMap::with_capacity(rows.len());
        let name = |&row: &usize| {
            let count = times.entry(row).or_insert(0);
            *count += 1;
            (row, *count)
        };
        rows.iter().map(name).collect()
    };
    let known = numbered(before).into_iter().zip(0..);
    let known: HashMap<(usize, usize), usize> = known.collect();
    let names = numbered(rows).into_iter();
    names.map(|name| known.get(&name).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_one_row_are_told_apart_by_their_order() {
        let before = [3, 5, 3, 5];
        assert_eq!(
            places(&before, &[5, 7, 5, 3, 5]),
            [Some(1), None, Some(3), Some(0), None]
        );
    }
}
