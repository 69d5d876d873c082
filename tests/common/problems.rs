//! Random problems for every machine: rows, fresh rows, targets, classes, weights and a kernel.

use super::Random;
use mercer::Kernel;
use ndarray::{Array2, Axis};

pub struct Problem {
    pub name: String,
    pub kernel: Kernel,
    pub x: Array2<f64>,
    /// Rows not trained on.
    pub fresh: Array2<f64>,
    /// A real number per row.
    pub target: Vec<f64>,
    /// A class per row; every class has two rows or more, of positive weight.
    pub class: Vec<usize>,
    /// Some are zero.
    pub weight: Vec<f64>,
    /// For the parameters of the machine.
    pub random: Random,
}

impl Problem {
    /// The problem of a seed: 12 to 50 rows of 1 to 4 columns, and one of seven kernels.
    pub fn new(seed: u64, classes: usize) -> Self {
        let mut random = Random::new(0x5EED ^ (seed << 8));
        let (rows, columns) = (12 * classes / 2 + random.below(40), 1 + random.below(4));
        let kernel = match seed % 7 {
            0 => Kernel::linear(),
            1 => Kernel::polynomial(0.5, 1.0, 2),
            2 => Kernel::rbf(0.5),
            3 => Kernel::Laplacian { gamma: 0.7 },
            4 => Kernel::polynomial(0.3, 0.5, 3),
            5 => Kernel::rbf(2.0),
            _ => Kernel::rbf(0.3) + 0.1 * Kernel::linear(),
        };
        // Classes lie around different centres and overlap; targets bend, and are noisy.
        let distance = 1.0 + random.uniform();
        let class: Vec<usize> = (0..rows).map(|i| i % classes).collect();
        let x = Array2::from_shape_fn((rows, columns), |(i, j)| {
            let turn = std::f64::consts::TAU * class[i] as f64 / classes as f64;
            let center = [turn.cos(), turn.sin(), 0.0, 0.0][j];
            distance * center + random.normal()
        });
        let fresh = Array2::from_shape_fn((20, columns), |_| 1.5 * random.normal());
        let size = [1.0, 5.0][random.below(2)];
        let target = x
            .rows()
            .into_iter()
            .map(|x| size * ((2.0 * x[0]).sin() + 0.3 * x.sum() + 0.2 * random.normal() + 0.5))
            .collect();
        let kind = random.below(4);
        let weight = (0..rows)
            .map(|i| match kind {
                0 => 1.0,
                // The first rows of each class stay.
                _ if i >= 2 * classes && random.uniform() < 0.15 => 0.0,
                1 => (1 + random.below(3)) as f64,
                2 => 10f64.powf(random.uniform() - 0.5),
                // Mistakes of one class are dearer.
                _ => [3.0, 0.5, 1.0][class[i]],
            })
            .collect();
        Problem {
            name: format!("seed {seed}, {kernel:?}, {rows} x {columns}"),
            kernel,
            x,
            fresh,
            target,
            class,
            weight,
            random,
        }
    }

    /// The rows that count.
    pub fn kept(&self) -> Vec<usize> {
        (0..self.weight.len())
            .filter(|&i| self.weight[i] > 0.0)
            .collect()
    }

    pub fn rows(&self, rows: &[usize]) -> Array2<f64> {
        self.x.select(Axis(0), rows)
    }
}

/// The sum of the weights of these rows.
pub fn total(weight: &[f64], rows: &[usize]) -> f64 {
    rows.iter().map(|&i| weight[i]).sum()
}
