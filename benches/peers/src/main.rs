//! The crates for support vector machines beside each other: two overlapping normal classes in 20 columns,
//! an RBF kernel with gamma = 1/20, C = 1, tolerance 1e-3. smartcore's solver is an approximate one with two
//! passes over the rows, linfa-svm's keeps the whole matrix.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml [rows ...]`

use linfa::prelude::{DatasetBase, Fit, Predict};
use linfa_svm::Svm;
use mercer::{Kernel, Svc};
use ndarray::{Array1, Array2};
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::svm::Kernels;
use smartcore::svm::svc::{SVC, SVCParameters};
use std::time::Instant;

const COLUMNS: usize = 20;
const GAMMA: f64 = 1.0 / COLUMNS as f64;

/// Rows, and whether each is of the second class.
struct Data {
    x: Vec<Vec<f64>>,
    y: Vec<bool>,
}

/// How long a fit took, and the share of right predictions of other rows.
struct Outcome {
    seconds: f64,
    accuracy: f64,
}

/// Draws rows whose classes are 1.5 apart.
fn clouds(rows: usize, mut seed: u64) -> Data {
    let mut uniform = || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal =
        || (-2.0 * (1.0 - uniform()).ln()).sqrt() * (6.283185307179586 * uniform()).cos();
    let shift = |second: bool| {
        if second {
            1.5 / (COLUMNS as f64).sqrt()
        } else {
            0.0
        }
    };
    let y: Vec<bool> = (0..rows).map(|row| row % 2 == 1).collect();
    let x = y
        .iter()
        .map(|&second| (0..COLUMNS).map(|_| normal() + shift(second)).collect());
    Data { x: x.collect(), y }
}

fn accuracy(predicted: impl Iterator<Item = bool>, data: &Data) -> f64 {
    let right = predicted
        .zip(&data.y)
        .filter(|(predicted, y)| predicted == *y);
    right.count() as f64 / data.y.len() as f64
}

fn mercer(train: &Data, test: &Data) -> Outcome {
    let started = Instant::now();
    let model = Svc::new(Kernel::rbf(GAMMA))
        .fit(&train.x, &train.y)
        .expect("a model");
    let seconds = started.elapsed().as_secs_f64();
    let predicted = model.predict(&test.x).expect("predictions");
    let accuracy = accuracy(predicted.into_iter(), test);
    Outcome { seconds, accuracy }
}

fn linfa(train: &Data, test: &Data) -> Outcome {
    let array = |data: &Data| {
        let shape = (data.x.len(), COLUMNS);
        Array2::from_shape_vec(shape, data.x.concat()).expect("a rectangle")
    };
    let set = DatasetBase::new(array(train), Array1::from_vec(train.y.clone()));
    let started = Instant::now();
    let machine = Svm::<f64, bool>::params()
        .eps(1e-3)
        .pos_neg_weights(1.0, 1.0);
    let model = machine
        .gaussian_kernel(1.0 / GAMMA)
        .fit(&set)
        .expect("a model");
    let seconds = started.elapsed().as_secs_f64();
    let predicted = model.predict(array(test));
    let accuracy = accuracy(predicted.targets().iter().copied(), test);
    Outcome { seconds, accuracy }
}

fn smartcore(train: &Data, test: &Data) -> Outcome {
    let matrix = |data: &Data| DenseMatrix::from_2d_vec(&data.x).expect("a rectangle");
    let (x, y) = (
        matrix(train),
        train
            .y
            .iter()
            .map(|&y| if y { 1 } else { -1 })
            .collect::<Vec<i32>>(),
    );
    let started = Instant::now();
    let kernel = Kernels::rbf().with_gamma(GAMMA);
    let settings = SVCParameters::default()
        .with_c(1.0)
        .with_tol(1e-3)
        .with_kernel(kernel);
    let model = SVC::fit(&x, &y, &settings).expect("a model");
    let seconds = started.elapsed().as_secs_f64();
    let matrix = matrix(test);
    let predicted: Vec<f64> = model.predict(&matrix).expect("predictions");
    let accuracy = accuracy(predicted.into_iter().map(|value| value > 0.0), test);
    Outcome { seconds, accuracy }
}

fn main() {
    let asked: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok())
        .collect();
    let sizes = if asked.is_empty() {
        vec![2000, 4000]
    } else {
        asked
    };
    let libraries: [(&str, fn(&Data, &Data) -> Outcome); 3] = [
        ("mercer", mercer),
        ("linfa-svm", linfa),
        ("smartcore", smartcore),
    ];
    println!(
        "{:>8}  {:<10} {:>9} {:>9}",
        "rows", "crate", "seconds", "accuracy"
    );
    for rows in sizes {
        let (train, test) = (clouds(rows, 1), clouds(2000, 2));
        for (name, run) in libraries {
            let Outcome { seconds, accuracy } = run(&train, &test);
            println!("{rows:>8}  {name:<10} {seconds:>9.3} {accuracy:>9.3}");
        }
    }
}
