//! Explicit: the features of kernels that have few.
//!
//! ```text
//! x.z                        the row itself
//! (gamma x.z + coef0)^p      the monomials of degree p in u = (sqrt(gamma) x, sqrt(coef0)),
//!                            each times sqrt(p! / (a_1! a_2! ...)), a the powers in it
//! factor k                   sqrt(factor) times the features of k
//! k + l                      the features of both
//! k l                        their products, one by one
//! ```
//!
//! Monomials of degree q + 1 are those of degree q times one more variable, none before the last one in
//! them; so each takes one multiplication.

use super::function::Kernel;

/// A map from rows to features whose inner products are the values of a kernel.
#[derive(Clone, Debug)]
pub(crate) enum Explicit {
    /// The row itself.
    Row(usize),
    Monomials(Monomials),
    Scaled(f64, Box<Explicit>),
    Sum(Vec<Explicit>),
    Product(Box<Explicit>, Box<Explicit>),
}

/// Weighted monomials of one degree.
#[derive(Clone, Debug)]
pub(crate) struct Monomials {
    /// Factors of the variables: sqrt(gamma) of those of a row, and a constant one.
    root: f64,
    constant: f64,
    /// Each monomial of a degree as one of the degree before and a variable, degree after degree.
    steps: Vec<Vec<(u32, u32)>>,
    /// The factors of the last.
    factors: Vec<f64>,
}

impl Kernel {
    /// Returns the features of rows of so many numbers, if the kernel has them and they are at most `most`.
    pub(crate) fn explicit(&self, columns: usize, most: usize) -> Option<Explicit> {
        let map = match self {
            Kernel::Linear => Explicit::Row(columns),
            Kernel::Polynomial {
                gamma,
                coef0,
                degree,
            } if *gamma > 0.0 && *coef0 >= 0.0 => {
                Explicit::Monomials(Monomials::new(*gamma, *coef0, *degree, columns, most)?)
            }
            Kernel::Scaled(factor, kernel) if *factor >= 0.0 => {
                let map = kernel.explicit(columns, most)?;
                Explicit::Scaled(factor.sqrt(), Box::new(map))
            }
            Kernel::Sum(kernels) => {
                let maps = kernels.iter().map(|kernel| kernel.explicit(columns, most));
                Explicit::Sum(maps.collect::<Option<_>>()?)
            }
            Kernel::Product(kernels) => {
                let mut maps = kernels.iter().map(|kernel| kernel.explicit(columns, most));
                let mut product = maps.next()??;
                for map in maps {
                    product = Explicit::Product(Box::new(product), Box::new(map?));
                    if product.columns() > most {
                        return None;
                    }
                }
                product
            }
            _ => return None,
        };
        (1..=most).contains(&map.columns()).then_some(map)
    }
}

impl Explicit {
    /// Returns the number of features.
    pub fn columns(&self) -> usize {
        match self {
            Explicit::Row(columns) => *columns,
            Explicit::Monomials(monomials) => monomials.factors.len(),
            Explicit::Scaled(_, map) => map.columns(),
            Explicit::Sum(maps) => maps.iter().map(Explicit::columns).sum(),
            Explicit::Product(a, b) => a.columns().saturating_mul(b.columns()),
        }
    }

    /// Writes the features of a row.
    pub fn write(&self, row: &[f64], features: &mut [f64], scratch: &mut Vec<f64>) {
        match self {
            Explicit::Row(_) => features.copy_from_slice(row),
            Explicit::Monomials(monomials) => monomials.write(row, features, scratch),
            Explicit::Scaled(factor, map) => {
                map.write(row, features, scratch);
                features.iter_mut().for_each(|feature| *feature *= factor);
            }
            Explicit::Sum(maps) => {
                let mut rest = features;
                for map in maps {
                    let (part, others) = rest.split_at_mut(map.columns());
                    map.write(row, part, scratch);
                    rest = others;
                }
            }
            Explicit::Product(a, b) => {
                let mut left = vec![0.0; a.columns()];
                let mut right = vec![0.0; b.columns()];
                a.write(row, &mut left, scratch);
                b.write(row, &mut right, scratch);
                for (part, left) in features.chunks_mut(right.len()).zip(left) {
                    for (feature, right) in part.iter_mut().zip(&right) {
                        *feature = left * right;
                    }
                }
            }
        }
    }
}

impl Monomials {
    fn new(gamma: f64, coef0: f64, degree: u32, columns: usize, most: usize) -> Option<Self> {
        let variables = (columns + usize::from(coef0 > 0.0)) as u32;
        // Of each monomial: its last variable, how often it has that, and its factor squared.
        let mut last: Vec<(u32, f64, f64)> = vec![(0, 0.0, 1.0)];
        let mut steps = Vec::new();
        for power in 1..=degree {
            let (mut next, mut step) = (Vec::new(), Vec::new());
            for (at, &(variable, times, factor)) in last.iter().enumerate() {
                for new in variable..variables {
                    let times = if new == variable { times + 1.0 } else { 1.0 };
                    next.push((new, times, factor * f64::from(power) / times));
                    step.push((at as u32, new));
                }
                if next.len() > most {
                    return None;
                }
            }
            last = next;
            steps.push(step);
        }
        Some(Monomials {
            root: gamma.sqrt(),
            constant: coef0.sqrt(),
            steps,
            factors: last.iter().map(|monomial| monomial.2.sqrt()).collect(),
        })
    }

    fn write(&self, row: &[f64], features: &mut [f64], scratch: &mut Vec<f64>) {
        let variable = |at: u32| match row.get(at as usize) {
            Some(value) => self.root * value,
            None => self.constant,
        };
        // Degree after degree, each behind the one before.
        scratch.clear();
        scratch.push(1.0);
        let mut begin = 0;
        for step in &self.steps {
            let end = scratch.len();
            for &(before, new) in step {
                let value = scratch[begin + before as usize] * variable(new);
                scratch.push(value);
            }
            begin = end;
        }
        let monomials = scratch[begin..].iter().zip(&self.factors);
        for (feature, (monomial, factor)) in features.iter_mut().zip(monomials) {
            *feature = monomial * factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Samples;

    #[test]
    fn inner_products_of_features_are_kernel_values() {
        let x = ndarray::array![[0.5, -1.0, 2.0], [1.5, 0.3, -0.7], [0.0, 0.0, 0.0]];
        let samples = Samples::try_from(x.view()).expect("samples");
        let poly = |coef0: f64, degree: u32| Kernel::polynomial(0.7, coef0, degree);
        let kernels = [
            Kernel::linear(),
            poly(1.3, 1),
            poly(0.0, 2),
            poly(1.3, 2),
            poly(0.4, 3),
            poly(2.0, 0),
            Kernel::Scaled(2.5, Box::new(poly(1.0, 2))),
            Kernel::Sum(vec![Kernel::linear(), poly(1.0, 3)]),
            Kernel::Product(vec![Kernel::linear(), poly(1.0, 2), Kernel::linear()]),
        ];
        for kernel in kernels {
            let expected = kernel.matrix(&samples, &samples).expect("a matrix");
            let map = kernel.explicit(3, 2048).expect("features");
            let features: Vec<Vec<f64>> = (x.rows().into_iter())
                .map(|row| {
                    let mut features = vec![0.0; map.columns()];
                    map.write(&row.to_vec(), &mut features, &mut Vec::new());
                    features
                })
                .collect();
            for ((i, j), &value) in expected.indexed_iter() {
                let terms = features[i].iter().zip(&features[j]);
                let found: f64 = terms.map(|(a, b)| a * b).sum();
                assert!(
                    (found - value).abs() <= 1e-12 * (1.0 + value.abs()),
                    "{kernel:?}"
                );
            }
        }
    }

    #[test]
    fn only_kernels_with_few_features_have_them() {
        assert!(Kernel::rbf(1.0).explicit(3, 2048).is_none());
        assert!(Kernel::polynomial(1.0, -1.0, 2).explicit(3, 2048).is_none());
        assert!(Kernel::polynomial(1.0, 1.0, 2).explicit(62, 2048).is_some());
        assert!(Kernel::polynomial(1.0, 1.0, 2).explicit(64, 2048).is_none());
        assert!(
            Kernel::polynomial(1.0, 1.0, 60)
                .explicit(500, 2048)
                .is_none()
        );
        let both = Kernel::Sum(vec![Kernel::linear(), Kernel::rbf(1.0)]);
        assert!(both.explicit(3, 2048).is_none());
    }
}
