//! Kernel values against the formulas, with error bounds that follow from them.

use super::*;
use crate::data::Samples;
use crate::error::Error;
use crate::simd::{Isa, Real};
use proptest::prelude::*;

/// A pseudo-random number in [-1, 1) for a place in a table (SplitMix64).
fn noise(seed: usize, i: usize, j: usize) -> f64 {
    let mut z = (seed as u64) << 40 | (i as u64) << 20 | j as u64;
    for _ in 0..2 {
        z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
    }
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// A table of numbers and the same as samples, dense and sparse.
struct Data {
    rows: Vec<Vec<f64>>,
    dense: Samples,
    sparse: Samples,
}

impl Data {
    /// About half of the entries are zero; numbers fit f32, so that rounding to it loses nothing.
    fn new(rows: usize, columns: usize, seed: usize) -> Self {
        Self::from_fn(rows, columns, |i, j| {
            let value = 1.5 * noise(seed, i, j);
            if noise(seed + 1, i, j) > 0.0 {
                0.0
            } else {
                f64::from(value as f32)
            }
        })
    }

    fn from_fn(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let array = ndarray::Array2::from_shape_fn((rows, columns), |(i, j)| value(i, j));
        let (mut data, mut indices, mut starts) = (Vec::new(), Vec::new(), vec![0i64]);
        for row in array.rows() {
            for (j, &value) in row.iter().enumerate() {
                if value != 0.0 {
                    data.push(value);
                    indices.push(j as i64);
                }
            }
            starts.push(data.len() as i64);
        }
        Data {
            rows: array.rows().into_iter().map(|row| row.to_vec()).collect(),
            dense: Samples::try_from(array.view()).expect("finite"),
            sparse: Samples::csr(data, &indices, &starts, columns).expect("a valid structure"),
        }
    }

    /// The same without signs, for kernels of histograms.
    fn absolute(&self) -> Self {
        let columns = self.dense.columns();
        Self::from_fn(self.rows.len(), columns, |i, j| self.rows[i][j].abs())
    }

    /// What the kernel is defined for.
    fn suited_to(self, kernel: &Kernel) -> Self {
        match is_of_histograms(kernel) {
            true => self.absolute(),
            false => self,
        }
    }

    fn all(&self) -> Vec<usize> {
        (0..self.rows.len()).collect()
    }

    fn mean(&self) -> Vec<f64> {
        self.dense.mean(&self.all())
    }
}

fn is_of_histograms(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::ChiSquared { .. } | Kernel::HistogramIntersection => true,
        Kernel::Sum(parts) | Kernel::Product(parts) => parts.iter().any(is_of_histograms),
        Kernel::Scaled(_, kernel) | Kernel::Normalized(kernel) => is_of_histograms(kernel),
        _ => false,
    }
}

/// Kernels of sums over features, Matern's and normalised ones.
fn further_kernels() -> Vec<Kernel> {
    let (overlap, chi) = (Kernel::histogram_intersection(), Kernel::chi_squared(0.4));
    let anova = Kernel::anova(0.5, 2);
    vec![
        Kernel::matern(1.5, 0.8),
        Kernel::matern(2.5, 1.3),
        Kernel::periodic(0.9, 1.5),
        chi.clone(),
        overlap.clone(),
        Kernel::anova(0.3, 1),
        anova.clone(),
        Kernel::anova(0.2, 5),
        Kernel::linear().normalized(),
        Kernel::polynomial(0.6, 0.8, 3).normalized(),
        overlap.clone().normalized(),
        anova.clone().normalized() + 0.5 * Kernel::matern(2.5, 0.7),
        (chi * Kernel::linear().normalized() + overlap).normalized(),
        Kernel::periodic(2.0, 0.7) * Kernel::rbf(0.1) + Kernel::periodic(3.0, 1.0),
    ]
}

fn kernels() -> Vec<Kernel> {
    let sigmoid = |coef0| Kernel::Sigmoid { gamma: 0.4, coef0 };
    let laplacian = Kernel::Laplacian { gamma: 0.3 };
    let multiquadric = Kernel::InverseMultiquadric { c: 0.7 };
    let mut kernels = vec![
        Kernel::linear(),
        Kernel::rbf(0.35),
        Kernel::rbf(0.0),
        Kernel::rbf(40.0),
        sigmoid(-0.5),
        sigmoid(0.25),
        laplacian.clone(),
        multiquadric.clone(),
    ];
    kernels.extend([0, 1, 2, 3, 5].map(|degree| Kernel::polynomial(0.6, 0.8, degree)));
    kernels.push(Kernel::polynomial(0.6, -0.8, 3));
    // Nests with and without inner products, with and without distances, three levels deep.
    kernels.push(Kernel::rbf(0.2) + 0.1 * Kernel::linear());
    kernels.push(laplacian.clone() * Kernel::rbf(0.1));
    kernels.push(2.5 * (laplacian.clone() + laplacian.clone() * laplacian.clone()));
    kernels.push(0.0 * Kernel::linear());
    kernels.push(Kernel::Sum(vec![multiquadric.clone()]));
    kernels.push(
        (Kernel::polynomial(0.3, 1.0, 2) + 0.5 * (sigmoid(0.1) * multiquadric))
            * Kernel::Sum(vec![Kernel::linear(), laplacian, 3.0 * Kernel::rbf(0.5)]),
    );
    kernels.extend(further_kernels());
    kernels
}

/// The ANOVA kernel by its definition, over all subsets of features from `from` on.
fn subsets(values: &[f64], size: u32) -> f64 {
    match (size, values.split_first()) {
        (0, _) => 1.0,
        (_, None) => 0.0,
        (_, Some((first, rest))) => first * subsets(rest, size - 1) + subsets(rest, size),
    }
}

/// The same by the recursion, where there are too many of them.
fn recursion(values: &[f64], size: u32) -> f64 {
    let mut sums = vec![0.0; size as usize + 1];
    sums[0] = 1.0;
    for value in values {
        for s in (1..sums.len()).rev() {
            sums[s] += value * sums[s - 1];
        }
    }
    sums[size as usize]
}

/// The value of a kernel by its formula, and how far it moves when every number that enters is
/// off by one part and every intermediate result too: the condition of the computation, with the
/// norms of x and z relative to `center` where the kernel allows to centre.
fn formula(kernel: &Kernel, x: &[f64], z: &[f64], center: &[f64]) -> (f64, f64) {
    let pairs = || x.iter().zip(z);
    let dot: f64 = pairs().map(|(x, z)| x * z).sum();
    let size: f64 = pairs().map(|(x, z)| (x * z).abs()).sum();
    let squared: f64 = pairs().map(|(x, z)| (x - z) * (x - z)).sum();
    let around = |power: i32| -> f64 {
        let norm = |x: &[f64]| -> f64 {
            let centred = x.iter().zip(center).map(|(x, c)| (x - c).abs());
            centred.map(|value| value.powi(power)).sum()
        };
        norm(x) + norm(z)
    };
    match kernel {
        Kernel::Linear => (dot, size),
        Kernel::Polynomial {
            gamma,
            coef0,
            degree,
        } => {
            let base: f64 = gamma * size + coef0.abs();
            let value = (gamma * dot + coef0).powi(*degree as i32);
            (value, 2.0 * f64::from(*degree) * base.powi(*degree as i32))
        }
        // 2 |x.z| <= |x|^2 + |z|^2, so the terms of the squared distance are twice the norms.
        Kernel::Rbf { gamma } => {
            let value = (-gamma * squared).exp();
            (value, value * (1.0 + 2.0 * gamma * around(2)))
        }
        Kernel::Laplacian { gamma } => {
            let distance: f64 = pairs().map(|(x, z)| (x - z).abs()).sum();
            let value = (-gamma * distance).exp();
            (value, value * (1.0 + 2.0 * gamma * around(1)))
        }
        Kernel::InverseMultiquadric { c } => {
            let value = 1.0 / (squared + c * c).sqrt();
            (value, value + value.powi(3) * (around(2) + c * c))
        }
        Kernel::Sigmoid { gamma, coef0 } => {
            let value = (gamma * dot + coef0).tanh();
            (value, 1.0 + gamma * size + coef0.abs())
        }
        Kernel::Matern { nu, length_scale } => {
            let r = (2.0 * nu * squared).sqrt() / length_scale;
            let square = if *nu == 1.5 { 0.0 } else { r * r / 3.0 };
            let value = (1.0 + r + square) * (-r).exp();
            // The slope in the squared distance, and in r for its own roundings.
            let slope = nu / (length_scale * length_scale) * (1.0 + r) * (-r).exp();
            (value, value * (1.0 + r) + 2.0 * slope * around(2))
        }
        Kernel::Periodic {
            period,
            length_scale,
        } => {
            let factor = 2.0 / (length_scale * length_scale);
            let angle = |(x, z): (&f64, &f64)| std::f64::consts::PI * (x - z) / period;
            let sum: f64 = pairs().map(|pair| angle(pair).sin().powi(2)).sum();
            let value = (-factor * sum).exp();
            let slope = 4.0 * std::f64::consts::PI / period;
            (value, value * (1.0 + factor * (sum + slope * around(1))))
        }
        Kernel::ChiSquared { gamma } => {
            let term = |(x, z): (&f64, &f64)| match x + z {
                0.0 => 0.0,
                total => (x - z) * (x - z) / total,
            };
            let value = (-gamma * pairs().map(term).sum::<f64>()).exp();
            (value, value * (1.0 + 4.0 * gamma * around(1)))
        }
        Kernel::HistogramIntersection => {
            let value = pairs().map(|(x, z)| x.min(*z)).sum();
            (value, value)
        }
        Kernel::Anova { gamma, degree } => {
            let term = |(x, z): (&f64, &f64)| (-gamma * (x - z) * (x - z)).exp();
            let values: Vec<f64> = pairs().map(term).collect();
            let ones = vec![1.0; values.len()];
            let few = values.len() <= 10;
            let of = |values: &[f64]| match few {
                true => subsets(values, *degree),
                false => recursion(values, *degree),
            };
            let slope = 1.0 + 2.0 * gamma.sqrt() * around(1);
            (of(&values), f64::from(*degree) * of(&ones) * slope)
        }
        Kernel::Normalized(kernel) => {
            let (own, other) = (formula(kernel, x, x, center), formula(kernel, z, z, center));
            if own.0 == 0.0 || other.0 == 0.0 {
                return (0.0, 0.0);
            }
            let (value, error) = formula(kernel, x, z, center);
            let root = (own.0 * other.0).sqrt();
            let relative = own.1 / own.0 + other.1 / other.0 + 3.0;
            (value / root, error / root + relative * (value / root).abs())
        }
        Kernel::Sum(parts) => parts.iter().fold((0.0, 0.0), |(sum, error), kernel| {
            let (value, other) = formula(kernel, x, z, center);
            (sum + value, error + other + value.abs())
        }),
        Kernel::Product(parts) => parts.iter().fold((1.0, 0.0), |(product, error), kernel| {
            let (value, other) = formula(kernel, x, z, center);
            let error = error * value.abs() + product * other.abs() + (product * value).abs();
            (product * value, error.abs())
        }),
        Kernel::Scaled(factor, kernel) => {
            let (value, error) = formula(kernel, x, z, center);
            (factor * value, factor * (error + 2.0 * value.abs()))
        }
        Kernel::Precomputed | Kernel::User(_) => unreachable!("no formula"),
    }
}

/// How far a value in T may be from the formula: the roundings of a sum over the features and of
/// a dozen operations, each with the condition of the whole, and exponentials below the smallest, which
/// are 0, times the factors of a kernel: up to 1700 there, the polynomial of Matern's.
fn allowed<T: Real>(condition: f64, dim: usize) -> f64 {
    let smallest = if size_of::<T>() == 4 {
        1e-30
    } else {
        f64::MIN_POSITIVE
    };
    (dim as f64 + 12.0) * T::ROUNDOFF * condition + 2000.0 * smallest
}

/// Calls [`Columns::fill`] for all rows of `left`.
fn fill<T: Real>(columns: &Columns<T>, left: &Samples, range: std::ops::Range<usize>) -> Vec<T> {
    let index: Vec<usize> = (0..left.rows()).collect();
    fill_rows(columns, left, &index, range)
}

fn fill_rows<T: Real>(
    columns: &Columns<T>,
    left: &Samples,
    index: &[usize],
    range: std::ops::Range<usize>,
) -> Vec<T> {
    let rows = columns.pack_rows(left, index).unwrap();
    // What is not written stays NaN and fails every comparison.
    let mut values = vec![T::from_f64(f64::NAN); index.len() * range.len()];
    let mut out: Vec<&mut [T]> = values.chunks_mut(range.len()).collect();
    assert!(columns.fill(&rows, range, &mut out, &|| false).is_ok());
    values
}

fn new_columns<T: Real>(kernel: &Kernel, right: &Samples, isa: Isa) -> Columns<T> {
    let index: Vec<usize> = (0..right.rows()).collect();
    Columns::for_isa(isa, kernel, Centred::not(right), &index).unwrap()
}

/// Compares every value with its formula. Sparse columns are not centred, unless packed as dense.
fn compare<T: Real>(kernel: &Kernel, left: &Data, right: &Data, sparse: bool, values: &[T]) {
    let dim = right.dense.columns();
    let center = match sparse && !right.sparse.is_packed_dense() {
        true => vec![0.0; dim],
        false => right.mean(),
    };
    for (x, values) in left.rows.iter().zip(values.chunks(right.rows.len())) {
        for (z, &value) in right.rows.iter().zip(values) {
            let (exact, condition) = formula(kernel, x, z, &center);
            let error = (value.to_f64() - exact).abs();
            assert!(
                error <= allowed::<T>(condition, dim),
                "{kernel:?} in {} bytes, sparse {sparse}, {} features: {value:?} not {exact}, \
                 {:.1} of the allowed error",
                size_of::<T>(),
                dim,
                error / allowed::<T>(condition, dim),
            );
        }
    }
}

const SHAPES: [(usize, usize, usize); 9] = [
    (1, 1, 0),
    (7, 17, 0),
    (1, 17, 1),
    (6, 16, 15),
    (7, 33, 16),
    (13, 50, 17),
    (2, 200, 600),  // narrow tiles
    (97, 800, 2),   // a second tile both ways
    (200, 1601, 1), // three tiles both ways
];

fn all_paths<T: Real>() {
    for (shape, &(rows, columns, dim)) in SHAPES.iter().enumerate() {
        for kernel in kernels() {
            let left = Data::new(rows, dim, 10 * shape).suited_to(&kernel);
            let right = Data::new(columns, dim, 10 * shape + 5).suited_to(&kernel);
            for isa in Isa::available() {
                let dense = new_columns::<T>(&kernel, &right.dense, isa);
                let sparse = new_columns::<T>(&kernel, &right.sparse, isa);
                // Rows in either storage against columns in either.
                for samples in [&left.dense, &left.sparse] {
                    let values = fill(&dense, samples, 0..columns);
                    compare(&kernel, &left, &right, false, &values);
                    let values = fill(&sparse, samples, 0..columns);
                    compare(&kernel, &left, &right, true, &values);
                }
            }
        }
    }
}

#[test]
fn single_precision_follows_the_formulas_on_every_path() {
    all_paths::<f32>();
}

#[test]
fn double_precision_follows_the_formulas_on_every_path() {
    all_paths::<f64>();
}

#[test]
fn a_range_of_columns_is_that_part_of_the_whole() {
    for kernel in kernels() {
        let left = Data::new(9, 5, 1).suited_to(&kernel);
        let right = Data::new(900, 5, 2).suited_to(&kernel);
        for samples in [&right.dense, &right.sparse] {
            let columns = new_columns::<f32>(&kernel, samples, Isa::detect());
            let whole = fill(&columns, &left.dense, 0..900);
            for range in [32..900, 64..65, 768..815, 0..17] {
                let part = fill(&columns, &left.dense, range.clone());
                for (part, whole) in part.chunks(range.len()).zip(whole.chunks(900)) {
                    assert_eq!(part, &whole[range.clone()], "{kernel:?} {range:?}");
                }
            }
        }
    }
}

/// Columns are scattered for many rows, and rows where there are few.
#[test]
fn sparse_values_do_not_depend_on_how_many_rows_are_asked_for() {
    for kernel in kernels() {
        let thin = |rows, seed| {
            let value = |i, j| (noise(seed, i, j) as f32).max(0.8) - 0.8;
            Data::from_fn(rows, 50, |i, j| f64::from(value(i, j))).suited_to(&kernel)
        };
        let (left, right) = (thin(75, 1), thin(101, 2));
        assert!(!right.sparse.is_packed_dense());
        let columns = new_columns::<f32>(&kernel, &right.sparse, Isa::detect());
        let whole = fill(&columns, &left.sparse, 0..101);
        for some in [vec![0], vec![40, 3], (10..41).collect(), (30..75).collect()] {
            let part = fill_rows(&columns, &left.sparse, &some, 0..101);
            for (&row, values) in some.iter().zip(part.chunks(101)) {
                assert_eq!(values, &whole[row * 101..][..101], "{kernel:?} row {row}");
            }
        }
    }
}

/// 1e6 from the origin, squared norms are 1e12 times the squared distances: without centring no
/// digit of an f32 value would be right, and four of an f64 value.
#[test]
fn far_from_the_origin_values_are_as_good_as_near_it() {
    let offset = 1e6;
    let near = |seed, i, j| (noise(seed, i, j) * 1024.0).round() / 1024.0; // exact after the shift
    let left = Data::from_fn(20, 7, |i, j| offset + near(1, i, j));
    let right = Data::from_fn(40, 7, |i, j| offset + near(2, i, j));
    for kernel in kernels().iter().filter(|k| k.is_translation_invariant()) {
        let values = fill(
            &new_columns::<f32>(kernel, &right.dense, Isa::detect()),
            &left.dense,
            0..40,
        );
        compare(kernel, &left, &right, false, &values);
        let values = fill(
            &new_columns::<f64>(kernel, &right.dense, Isa::detect()),
            &left.dense,
            0..40,
        );
        compare(kernel, &left, &right, false, &values);
    }
}

#[test]
fn a_given_center_is_used() {
    let data = Data::from_fn(30, 4, |i, j| 1e5 + noise(3, i, j));
    let center = vec![1e5 + 0.5; 4];
    let all = data.all();
    let frame = Frame {
        center: Some(center.clone()),
        differences: false,
    };
    let rows = Centred {
        samples: &data.dense,
        frame: Some(&frame),
    };
    let columns = Columns::<f32>::new(&Kernel::rbf(1.0), rows, &all).unwrap();
    let values = fill(&columns, &data.dense, 0..30);
    for (x, values) in data.rows.iter().zip(values.chunks(30)) {
        for (z, &value) in data.rows.iter().zip(values) {
            let (exact, condition) = formula(&Kernel::rbf(1.0), x, z, &center);
            // Rounding the centred data to f32 adds two roundings to each of four features.
            let bound = 2.0 * allowed::<f32>(condition, 4);
            assert!((f64::from(value) - exact).abs() <= bound);
        }
    }
}

#[test]
fn kernels_are_symmetric_and_right_on_the_diagonal() {
    for kernel in kernels() {
        let data = Data::new(40, 6, 4).suited_to(&kernel);
        for (samples, center) in [(&data.dense, data.mean()), (&data.sparse, vec![0.0; 6])] {
            let columns = new_columns::<f64>(&kernel, samples, Isa::detect());
            let values = fill(&columns, samples, 0..40);
            for i in 0..40 {
                for j in 0..i {
                    let (_, condition) = formula(&kernel, &data.rows[i], &data.rows[j], &center);
                    let difference = (values[40 * i + j] - values[40 * j + i]).abs();
                    assert!(
                        difference <= 2.0 * allowed::<f64>(condition, 6),
                        "{kernel:?}"
                    );
                }
                let (exact, condition) = formula(&kernel, &data.rows[i], &data.rows[i], &center);
                let row = rounding::Row::of(samples, i, None);
                let diagonal = kernel.on_diagonal(&row).expect("a built-in kernel");
                assert!((diagonal - exact).abs() <= allowed::<f64>(condition, 6));
            }
        }
    }
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool of threads")
}

#[test]
fn threads_change_no_bit() {
    let (left, right) = (Data::new(250, 9, 5), Data::new(1700, 9, 6));
    let coefficients: Vec<f64> = (0..2 * 1700).map(|k| noise(7, k, 0)).collect();
    let weights = Weights::new(&coefficients, 2, vec![0..700, 700..1700]).unwrap();
    for kernel in [
        Kernel::rbf(0.2),
        Kernel::rbf(0.2) + Kernel::Laplacian { gamma: 0.1 },
    ] {
        for samples in [&right.dense, &right.sparse] {
            let compute = |threads| {
                pool(threads).install(|| {
                    let single = new_columns::<f32>(&kernel, samples, Isa::detect());
                    let double = new_columns::<f64>(&kernel, samples, Isa::detect());
                    let sums = sums(&double, &left.dense, &left.all(), &weights);
                    let single = fill(&single, &left.dense, 0..1700);
                    (single, fill(&double, &left.dense, 0..1700), sums)
                })
            };
            let one = compute(1);
            for threads in [2, 3] {
                assert!(compute(threads) == one, "{kernel:?} on {threads} threads");
            }
        }
    }
}

/// Calls [`Columns::sums`].
fn sums<T: Real>(
    columns: &Columns<T>,
    samples: &Samples,
    rows: &[usize],
    weights: &Weights<T>,
) -> Vec<f64> {
    let mut out = vec![f64::NAN; rows.len() * weights.sums()];
    let copy = |_, sums: &[f64], out: &mut [f64]| out.copy_from_slice(sums);
    assert!(
        columns
            .sums(samples, rows, weights, &mut out, copy, &|| false)
            .is_ok()
    );
    out
}

/// Few sums are inner products, many a product of matrices.
#[test]
fn sums_follow_the_formulas() {
    for height in [1, 3, 4, 8, 19] {
        sums_follow::<f64>(height);
        sums_follow::<f32>(height);
    }
}

fn sums_follow<T: Real>(height: usize) {
    // More than a batch of rows, and columns of several tiles; empty and uneven segments.
    for (rows, columns, dim) in [(1, 1, 1), (5, 40, 3), (50, 1000, 4), (61, 1603, 2)] {
        let (left, right) = (Data::new(rows, dim, 8), Data::new(columns, dim, 9));
        let cut = |share: f64| (share * columns as f64) as usize;
        let cuts = [0, cut(0.1), cut(0.1), cut(0.77), columns];
        let coefficients: Vec<f64> = (0..height * columns).map(|k| noise(10, k, 0)).collect();
        let segments: Vec<_> = cuts.windows(2).map(|w| w[0]..w[1]).collect();
        let weights = Weights::<T>::new(&coefficients, height, segments.clone()).unwrap();
        let by_rows = Weights::<T>::by_rows(&coefficients, height, segments.clone()).unwrap();
        let count = weights.sums();
        assert_eq!((count, weights.columns()), (4 * height, columns));
        for (kernel, sparse) in [
            (Kernel::linear(), false),
            (Kernel::rbf(0.3), false),
            (Kernel::rbf(0.3), true),
            (0.5 * Kernel::Laplacian { gamma: 0.3 }, false),
        ] {
            let (samples, center) = match sparse {
                true => (&right.sparse, vec![0.0; dim]),
                false => (&right.dense, right.mean()),
            };
            for isa in Isa::available() {
                let packed = new_columns::<T>(&kernel, samples, isa);
                // In reverse order, to see that rows are taken as they are named.
                let index: Vec<usize> = (0..rows).rev().collect();
                let found = sums(&packed, &left.dense, &index, &weights);
                let mut one_by_one = vec![f64::NAN; found.len()];
                let each = |_, values: &[T], out: &mut [f64]| {
                    for (at, out) in out.iter_mut().enumerate() {
                        *out = by_rows.sum(isa, at / height, at % height, values);
                    }
                };
                let out = &mut one_by_one;
                assert!(
                    packed
                        .values(&left.dense, &index, out, each, &|| false)
                        .is_ok()
                );
                for (&i, (found, one_by_one)) in index
                    .iter()
                    .zip(found.chunks(count).zip(one_by_one.chunks(count)))
                {
                    for at in 0..count {
                        let (mut exact, mut bound) = (0.0, f64::MIN_POSITIVE);
                        let segment = segments[at / height].clone();
                        for j in segment.clone() {
                            let (x, z) = (&left.rows[i], &right.rows[j]);
                            let (value, condition) = formula(&kernel, x, z, &center);
                            let factor = coefficients[at % height * columns + j];
                            exact += factor * value;
                            // Data are rounded to f32 too.
                            let longest = 2 * dim + segment.len().min(40);
                            bound +=
                                factor.abs() * allowed::<T>(2.0 * condition + value.abs(), longest);
                        }
                        for found in [found[at], one_by_one[at]] {
                            let error = (found - exact).abs();
                            assert!(error <= bound, "{kernel:?}: {error:e} > {bound:e}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn sums_of_given_values_are_weighted_sums() {
    let coefficients = [1.0, 2.0, 3.0, 10.0, 20.0, 30.0];
    let weights = Weights::new(&coefficients, 2, vec![0..1, 1..3]).unwrap();
    let mut values = [1.0, 1.0, 1.0, 2.0, 0.0, -1.0];
    let sums = weights.apply(&mut values, 3).unwrap();
    assert_eq!(sums, [1.0, 10.0, 5.0, 50.0, 2.0, 20.0, -3.0, -30.0]);
    let single = Weights::single(&[2.0, 3.0]).unwrap();
    assert_eq!(single.apply(&mut [1.0, 10.0], 2).unwrap(), [32.0]);
}

#[test]
fn a_stop_is_reported() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (left, right) = (Data::new(200, 3, 11), Data::new(1600, 3, 12));
    let columns = new_columns::<f64>(&Kernel::rbf(1.0), &right.dense, Isa::detect());
    let rows = columns.pack_rows(&left.dense, &left.all()).unwrap();
    let weights = Weights::single(&[1.0; 1600]).unwrap();
    // At once, and after some tiles; serial and parallel.
    for (limit, used) in [(0, 200), (2, 200), (0, 2), (1, 2)] {
        let asked = AtomicUsize::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= limit;
        let mut values = vec![0.0; used * 1600];
        let mut out: Vec<&mut [f64]> = values.chunks_mut(1600).collect();
        assert!(columns.fill(&rows, 0..1600, &mut out, &stop).is_err());
        asked.store(0, Ordering::Relaxed);
        let index: Vec<usize> = (0..used).collect();
        let mut out = vec![(); used];
        let nothing = |_, _: &[f64], _: &mut [()]| {};
        assert!(
            columns
                .sums(&left.dense, &index, &weights, &mut out, nothing, &stop)
                .is_err()
        );
        asked.store(0, Ordering::Relaxed);
        let nothing = |_, _: &[f64], _: &mut [()]| {};
        assert!(
            columns
                .values(&left.dense, &index, &mut out, nothing, &stop)
                .is_err()
        );
    }
}

#[test]
fn parameters_are_checked() {
    let name = |kernel: Kernel| match kernel.check() {
        Err(Error::Parameter { name, .. }) => name,
        other => panic!("{kernel:?} gave {other:?}"),
    };
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(name(Kernel::rbf(bad)), "gamma");
        assert_eq!(name(Kernel::Laplacian { gamma: bad }), "gamma");
        assert_eq!(name(Kernel::polynomial(bad, 0.0, 2)), "gamma");
        let (gamma, coef0) = (bad, 0.0);
        assert_eq!(name(Kernel::Sigmoid { gamma, coef0 }), "gamma");
        assert_eq!(name(Kernel::InverseMultiquadric { c: bad }), "c");
        assert_eq!(name(bad * Kernel::linear()), "the factor of a kernel");
        assert_eq!(name(2.0 * (Kernel::linear() + Kernel::rbf(bad))), "gamma");
    }
    assert_eq!(name(Kernel::InverseMultiquadric { c: 0.0 }), "c");
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200] {
        assert_eq!(name(Kernel::matern(1.5, bad)), "length_scale");
        assert_eq!(name(Kernel::periodic(bad, 1.0)), "period");
        assert_eq!(name(Kernel::periodic(1.0, bad)), "length_scale");
    }
    assert_eq!(name(Kernel::matern(2.0, 1.0)), "nu");
    assert_eq!(name(Kernel::anova(1.0, 0)), "degree");
    assert_eq!(name(Kernel::anova(1.0, 17)), "degree");
    assert_eq!(name(Kernel::chi_squared(-1.0).normalized()), "gamma");
    assert_eq!(name(Kernel::precomputed().normalized()), "kernel");
    for coef0 in [f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(name(Kernel::polynomial(1.0, coef0, 2)), "coef0");
        assert_eq!(name(Kernel::Sigmoid { gamma: 1.0, coef0 }), "coef0");
    }
    for parts in [
        vec![],
        vec![Kernel::linear(), Kernel::Precomputed],
        vec![Kernel::from_fn(|_, _| 1.0)],
    ] {
        assert_eq!(name(Kernel::Sum(parts.clone())), "kernel");
        assert_eq!(name(Kernel::Product(parts)), "kernel");
    }
    for kernel in kernels() {
        assert!(kernel.check().is_ok(), "{kernel:?}");
    }
    // Negative coef0 is allowed, as in LIBSVM.
    assert!(Kernel::polynomial(0.0, -1.0, 0).check().is_ok());
}

#[test]
fn kernels_of_histograms_refuse_negative_numbers() {
    let data = Data::new(20, 4, 13);
    for kernel in [
        Kernel::chi_squared(1.0),
        (Kernel::linear() + 2.0 * Kernel::histogram_intersection()).normalized(),
    ] {
        for samples in [&data.dense, &data.sparse] {
            let name = |result| match result {
                Err(Error::Parameter { name, .. }) => name,
                other => panic!("{kernel:?} gave {other:?}"),
            };
            assert_eq!(name(kernel.matrix(samples, samples).map(drop)), "X");
            assert_eq!(name(kernel.diagonal(samples).map(drop)), "X");
            let profile = kernel.profile(samples, &data.all()).map(drop);
            assert_eq!(name(profile), "X");
        }
    }
}

/// Lengths from 1e-60 to 1e60 in feature space; not one value leaves [-1, 1].
#[test]
fn normalised_rows_have_length_one_or_zero() {
    let data = Data::from_fn(40, 5, |i, j| {
        10f64.powi(2 * (i as i32 % 20) - 20) * noise(3, i, j) * f64::from(i > 0)
    });
    for kernel in [Kernel::linear(), Kernel::polynomial(1.0, 0.0, 3)] {
        for samples in [&data.dense, &data.sparse] {
            let normalized = kernel.clone().normalized();
            let profile = normalized.profile(samples, &data.all()).expect("finite");
            assert!(profile.single_noise.is_infinite()); // it would underflow in f32
            let values = normalized.matrix(samples, samples).expect("values");
            assert!(values.row(0).iter().all(|value| *value == 0.0));
            for i in 1..40 {
                assert_eq!(values[[i, i]], 1.0);
                assert_eq!(profile.diagonal[i], 1.0);
            }
            assert!(values.iter().all(|value| value.abs() <= 1.0 + 1e-14));
        }
    }
    let negative = Kernel::polynomial(1.0, -1.0, 3).normalized();
    let origin = Data::from_fn(1, 1, |_, _| 0.5);
    assert!(negative.matrix(&origin.dense, &origin.dense).is_err());
}

#[test]
fn properties_of_composed_kernels_are_those_of_their_parts() {
    let sigmoid = Kernel::Sigmoid {
        gamma: 1.0,
        coef0: 0.0,
    };
    let laplacian = Kernel::Laplacian { gamma: 1.0 };
    assert!((2.0 * (Kernel::rbf(1.0) + laplacian.clone())).is_translation_invariant());
    assert!(!(Kernel::rbf(1.0) * Kernel::linear()).is_translation_invariant());
    assert!((2.0 * (Kernel::rbf(1.0) * sigmoid)).may_be_indefinite());
    assert!(!(laplacian + Kernel::linear()).may_be_indefinite());
}

#[test]
fn matrix_refuses_what_is_no_function_of_two_rows() {
    let data = Data::new(3, 2, 13);
    let other = Data::new(3, 4, 14);
    let matrix = |kernel: &Kernel, b| kernel.matrix(&data.dense, b);
    assert!(matches!(
        matrix(&Kernel::Precomputed, &data.dense),
        Err(Error::Parameter { name: "kernel", .. })
    ));
    assert!(matches!(
        matrix(&Kernel::linear(), &other.dense),
        Err(Error::Shape { name: "X", .. })
    ));
    assert!(matches!(
        matrix(&Kernel::rbf(-1.0), &data.dense),
        Err(Error::Parameter { name: "gamma", .. })
    ));
    let none = data.dense.select(&[]).unwrap();
    assert_eq!(
        matrix(&Kernel::linear(), &none).expect("empty").dim(),
        (3, 0)
    );
}

#[test]
fn a_function_of_two_rows_is_a_kernel() {
    let (left, right) = (Data::new(5, 3, 15), Data::new(4, 3, 16));
    let kernel = Kernel::from_fn(|x, z| x[0] - 2.0 * z[2]);
    for (a, b) in [(&left.dense, &right.sparse), (&left.sparse, &right.dense)] {
        let values = kernel.matrix(a, b).expect("a matrix");
        for ((i, j), value) in values.indexed_iter() {
            assert_eq!(*value, left.rows[i][0] - 2.0 * right.rows[j][2]);
        }
    }
}

#[test]
fn a_function_of_rows_without_entries_is_called_too() {
    let empty = Data::new(2, 0, 17);
    let values = Kernel::from_fn(|x, z| 1.0 + (x.len() + z.len()) as f64)
        .matrix(&empty.dense, &empty.dense)
        .expect("a matrix");
    assert_eq!(values, ndarray::array![[1.0, 1.0], [1.0, 1.0]]);
}

#[derive(Debug)]
struct Failing;

impl UserKernel for Failing {
    fn block(
        &self,
        _: &Samples,
        _: &[usize],
        _: &Samples,
        _: &[usize],
        _: &mut [f64],
    ) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err("no value for you".into())
    }
}

#[test]
fn errors_of_user_kernels_are_told() {
    let data = Data::from_fn(4, 1, |i, _| i as f64);
    let error = Kernel::user(Failing)
        .matrix(&data.dense, &data.dense)
        .expect_err("it fails");
    assert_eq!(error.to_string(), "kernel: no value for you");
    assert!(matches!(error, Error::UserKernel(_)));
    for bad in [f64::NAN, f64::NEG_INFINITY] {
        let kernel = Kernel::from_fn(move |x, z| if x[0] * z[0] == 6.0 { bad } else { 1.0 });
        match kernel.matrix(&data.dense, &data.dense) {
            Err(Error::NotFinite { name, row, value }) => {
                assert_eq!((name, row), ("kernel", 2));
                assert!(value.to_bits() == bad.to_bits());
            }
            other => panic!("{other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Random shapes and scales, all kernels: dense, sparse and both code paths.
    #[test]
    fn any_shape_and_scale(
        rows in 1usize..30, columns in 1usize..60, dim in 0usize..40,
        exponent in -3i32..4, offset in -4.0f64..4.0, seed in 0usize..1000, which in 0usize..100,
    ) {
        let scale = 2f64.powi(exponent);
        let value = |seed| move |i, j| f64::from(((offset + noise(seed, i, j)) * scale) as f32);
        let kernel = &kernels()[which % kernels().len()];
        let left = Data::from_fn(rows, dim, value(seed)).suited_to(kernel);
        let right = Data::from_fn(columns, dim, value(seed + 1)).suited_to(kernel);
        for isa in Isa::available() {
            for (samples, sparse) in [(&right.dense, false), (&right.sparse, true)] {
                let packed = new_columns::<f64>(kernel, samples, isa);
                compare(kernel, &left, &right, sparse, &fill(&packed, &left.dense, 0..columns));
            }
        }
    }
}

/// What the exponential loses, the polynomial of Matern's kernels multiplies.
#[test]
fn values_around_the_smallest_exponential_are_within_their_bounds() {
    let left = Data::from_fn(1, 1, |_, _| 0.0);
    let right = Data::from_fn(200, 1, |i, _| f64::from(20.0 + 0.25 * i as f32));
    for kernel in [Kernel::matern(1.5, 1.0), Kernel::matern(2.5, 1.0)] {
        for isa in Isa::available() {
            let packed = new_columns::<f32>(&kernel, &right.dense, isa);
            compare(
                &kernel,
                &left,
                &right,
                false,
                &fill(&packed, &left.dense, 0..200),
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Up to 5000 features, read from an array with strides, some rows zero: both precisions, every code
    /// path, part of the columns.
    #[test]
    fn wide_rows_of_any_layout(
        rows in 1usize..8, columns in 1usize..24, digits in 0.0f64..3.7, layout in 0usize..4,
        zero in 1usize..5, seed in 0usize..1000, which in 0usize..100,
    ) {
        let dim = (10f64.powf(digits) as usize).min(5000);
        let value = |seed: usize| move |i: usize, j: usize| match (i + seed) % zero {
            0 if zero > 1 => 0.0,
            _ => f64::from(noise(seed, i, j) as f32),
        };
        let kernel = &kernels()[which % kernels().len()];
        let left = Data::from_fn(rows, dim, value(seed)).suited_to(kernel);
        let right = Data::from_fn(columns, dim, value(seed + 1)).suited_to(kernel);
        let [strided_left, strided_right] = [&left, &right].map(|data| strided(data, layout));
        for isa in Isa::available() {
            let packed = new_columns::<f64>(kernel, &strided_right, isa);
            compare(kernel, &left, &right, false, &fill(&packed, &strided_left, 0..columns));
            let packed = new_columns::<f32>(kernel, &strided_right, isa);
            compare(kernel, &left, &right, false, &fill(&packed, &strided_left, 0..columns));
        }
    }
}

/// The rows of a table, read from an array whose entries lie in another order or apart.
fn strided(data: &Data, layout: usize) -> Samples {
    let (rows, columns) = (data.rows.len(), data.dense.columns());
    let wide = |i: usize, j: usize| match (i % 3, j % 2) {
        (0, 0) => data.rows[i / 3][j / 2],
        _ => f64::NAN,
    };
    let array = |height: usize, width: usize, value: &dyn Fn(usize, usize) -> f64| {
        ndarray::Array2::from_shape_fn((height, width), |(i, j)| value(i, j))
    };
    let samples = match layout {
        0 => return data.dense.clone(),
        1 => Samples::try_from(array(columns, rows, &|j, i| data.rows[i][j]).t()),
        2 => {
            let apart = array(3 * rows, 2 * columns, &wide);
            Samples::try_from(apart.slice(ndarray::s![..;3, ..;2]))
        }
        _ => {
            let mirrored = array(rows, columns, &|i, j| data.rows[i][columns - 1 - j]);
            Samples::try_from(mirrored.slice(ndarray::s![.., ..;-1]))
        }
    };
    samples.expect("finite")
}

// --- Scales: what holds wherever the data lie and however far they spread.

/// Kernels of distances, each of width 1, and made of such.
fn kernels_of_distances() -> Vec<Kernel> {
    let laplacian = Kernel::laplacian(1.0);
    let multiquadric = Kernel::inverse_multiquadric(0.7);
    vec![
        Kernel::rbf(1.0),
        laplacian.clone(),
        multiquadric.clone(),
        Kernel::matern(1.5, 0.8),
        Kernel::matern(2.5, 1.2),
        Kernel::anova(0.7, 1),
        (Kernel::matern(2.5, 1.2) * Kernel::rbf(0.2)).normalized(),
        2.0 * (Kernel::rbf(0.5) + laplacian.clone()),
        laplacian * Kernel::rbf(0.3),
        0.5 * multiquadric,
    ]
}

/// Data that norms and inner products cannot tell apart: far from the origin, spread over many orders
/// of magnitude, in clusters far apart. Every third row is there twice.
fn wild(rows: usize, columns: usize, kind: usize) -> Data {
    let spread = [1e-12, 1e-6, 1.0, 1e6, 1e9, 1e12];
    let value = move |i: usize, j: usize| {
        let noise = noise(kind, i, j);
        match kind {
            0..6 => spread[kind] * noise,
            6 => 1e9 + noise,
            7 => spread[j % 6] * noise,
            8 => [0.0, 1e12, -3e5][i % 3] + noise,
            9 => spread[i % 6] * noise,
            10 if j == 0 => 1e15 * noise.signum(),
            _ => 1e-3 * noise,
        }
    };
    Data::from_fn(rows, columns, move |i, j| {
        let zero = noise(kind + 50, i - usize::from(i % 3 == 2), j) > 0.8;
        match zero {
            true => 0.0,
            false => value(i - usize::from(i % 3 == 2), j),
        }
    })
}
const WILD: usize = 12;

fn equal_rows_have_the_value_of_the_diagonal<T: Real>() {
    for kind in 0..WILD {
        for columns in [1, 3, 40, 100] {
            let data = wild(50, columns, kind);
            for kernel in kernels_of_distances() {
                let own = rounding::Row::of(&data.dense, 0, None);
                let diagonal = T::from_f64(kernel.on_diagonal(&own).expect("built in"));
                for isa in Isa::available() {
                    for samples in [&data.dense, &data.sparse] {
                        let packed = new_columns::<T>(&kernel, samples, isa);
                        let values = fill(&packed, samples, 0..50);
                        for i in 0..50 {
                            assert_eq!(values[51 * i], diagonal, "{kernel:?}, {kind}");
                            if i % 3 == 2 {
                                assert_eq!(values[51 * i - 1], diagonal, "{kernel:?}, {kind}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn equal_rows_are_at_distance_zero_at_every_scale() {
    equal_rows_have_the_value_of_the_diagonal::<f32>();
    equal_rows_have_the_value_of_the_diagonal::<f64>();
}

/// The bound that the documentation states, against sums of squared differences.
#[test]
fn kernels_of_distances_are_right_at_every_scale() {
    let mut differences = 0;
    for kind in 0..WILD {
        for columns in [1, 3, 40, 100] {
            let (left, right) = (wild(20, columns, kind), wild(40, columns, kind));
            for kernel in kernels_of_distances() {
                let own = rounding::Row::of(&left.dense, 0, None);
                let size = kernel.on_diagonal(&own).expect("built in");
                for samples in [&right.dense, &right.sparse] {
                    let packed = new_columns::<f64>(&kernel, samples, Isa::detect());
                    differences += usize::from(packed.has_differences());
                    let values = fill(&packed, &left.dense, 0..40);
                    for (x, values) in left.rows.iter().zip(values.chunks(40)) {
                        for (z, &value) in right.rows.iter().zip(values) {
                            let (exact, _) = formula(&kernel, x, z, x);
                            let error = (value - exact).abs() / size;
                            assert!(error <= 1e-10, "{kernel:?}, {kind}: {value} not {exact}");
                        }
                    }
                }
            }
        }
    }
    assert!(differences > 0, "all distances came from norms");
}

/// Data of an ordinary scale do not pay for this.
#[test]
fn ordinary_data_are_compared_by_norms() {
    for (offset, gamma) in [(0.0, 0.01), (0.0, 10.0), (1e5, 1.0)] {
        let data = Data::from_fn(60, 30, |i, j| offset + 3.0 * noise(1, i, j));
        let kernel = Kernel::rbf(gamma);
        let profile = kernel.profile(&data.dense, &data.all()).expect("finite");
        assert!(!profile.frame.differences && profile.single_noise.is_finite());
        assert!(!new_columns::<f64>(&kernel, &data.dense, Isa::detect()).has_differences());
    }
}

/// Values in f32 are within their bounds, which are not infinite where f32 is used on ordinary data.
#[test]
fn errors_of_single_precision_are_within_their_bounds() {
    let mut finite = 0;
    let scales = [1e-3, 0.3, 1.0, 10.0];
    for (seed, dim) in [1, 2, 7, 31, 33, 100, 700].into_iter().enumerate() {
        for scale in scales {
            let offset = noise(seed, 0, 0);
            let signed = || {
                Data::from_fn(24, dim, |i, j| {
                    let far = if i == 3 { 1e3 } else { 1.0 };
                    let zero = noise(seed + 9, i, j) > 0.9;
                    if zero {
                        0.0
                    } else {
                        scale * far * (offset + noise(seed, i, j))
                    }
                })
            };
            for kernel in kernels() {
                let data = signed().suited_to(&kernel);
                for samples in [&data.dense, &data.sparse] {
                    let profile = kernel.profile(samples, &data.all()).expect("finite");
                    if profile.single_noise.is_infinite() {
                        continue;
                    }
                    let rows = Centred {
                        samples,
                        frame: Some(&profile.frame),
                    };
                    let packed = Columns::<f32>::new(&kernel, rows, &data.all()).unwrap();
                    let values = fill(&packed, samples, 0..24);
                    for j in 0..24 {
                        let mut factors = [0.0; 24];
                        factors[j] = -2.0;
                        let bounds = profile.rounding.errors(&factors, 0.0, f32::ROUNDOFF);
                        let sizes = profile.rounding.sizes(&factors, 0.0);
                        for i in 0..24 {
                            let (exact, condition) =
                                formula(&kernel, &data.rows[i], &data.rows[j], &data.rows[i]);
                            let rounding = 1e-13 * condition;
                            let error = (f64::from(values[24 * i + j]) - exact).abs();
                            assert!(
                                2.0 * error <= bounds[i] + rounding,
                                "{kernel:?} {scale} {dim}: {i} {j}, {error:e} > {:e}, {exact} {:?} {:?}",
                                bounds[i],
                                data.rows[i],
                                data.rows[j]
                            );
                            assert!(2.0 * exact.abs() <= sizes[i] * (1.0 + 1e-12));
                            finite += usize::from(bounds[i].is_finite());
                        }
                    }
                }
            }
        }
    }
    assert!(finite > 100_000, "{finite}");
}

/// Values of f64 that are rounded to f32 are within bounds of their own, which are never wider than those
/// of values computed in f32, and mostly far narrower.
#[test]
fn errors_of_rounded_values_are_within_narrower_bounds() {
    let (mut compared, mut narrower) = (0, 0);
    for (seed, dim) in [1, 2, 7, 40].into_iter().enumerate() {
        for scale in [1e-3, 1.0, 10.0] {
            let signed = || Data::from_fn(70, dim, |i, j| scale * noise(seed, i, j));
            for kernel in kernels() {
                let data = signed().suited_to(&kernel);
                for samples in [&data.dense, &data.sparse] {
                    let single = kernel.profile(samples, &data.all()).expect("finite");
                    if single.single_noise.is_infinite() {
                        continue;
                    }
                    let rounded = single.clone().rounded();
                    assert!(rounded.single_noise <= single.single_noise);
                    let rows = Centred {
                        samples,
                        frame: Some(&rounded.frame),
                    };
                    let packed = Columns::<f64>::new(&kernel, rows, &data.all()).unwrap();
                    let groups = packed.pack_rows(samples, &data.all()).unwrap();
                    let mut values = vec![f32::NAN; 70 * 70];
                    let mut lines: Vec<&mut [f32]> = values.chunks_mut(70).collect();
                    let filled = packed.fill_rounded(&groups, 0..70, &mut lines, &|| false);
                    assert!(filled.is_ok());
                    let factors: Vec<f64> = (0..70).map(|j| noise(seed, j, 99)).collect();
                    let bounds =
                        |profile: &Profile| profile.rounding.errors(&factors, 0.0, f32::ROUNDOFF);
                    let (wide, narrow) = (bounds(&single), bounds(&rounded));
                    for (i, values) in values.chunks(70).enumerate() {
                        let (mut error, mut rounding) = (0.0, 0.0);
                        for (j, (&value, factor)) in values.iter().zip(&factors).enumerate() {
                            let (x, z) = (&data.rows[i], &data.rows[j]);
                            let (exact, condition) = formula(&kernel, x, z, x);
                            error += factor * (f64::from(value) - exact);
                            rounding += 1e-13 * factor.abs() * condition;
                        }
                        assert!(
                            error.abs() <= narrow[i] + rounding,
                            "{kernel:?} {scale} {dim}: {error:e} > {:e}",
                            narrow[i]
                        );
                        compared += 1;
                        narrower += usize::from(narrow[i] < 0.5 * wide[i]);
                    }
                }
            }
        }
    }
    assert!(
        compared > 10_000 && 2 * narrower > compared,
        "{narrower} of {compared}"
    );
}

/// Numbers that f32 cannot hold as normal ones are zero.
#[test]
fn rounded_values_are_normal_numbers_or_zero() {
    let data = Data::from_fn(80, 1, |i, _| i as f64);
    let packed = new_columns::<f64>(&Kernel::rbf(0.05), &data.dense, Isa::detect());
    let groups = packed.pack_rows(&data.dense, &data.all()).unwrap();
    let mut values = vec![f32::NAN; 80 * 80];
    let mut lines: Vec<&mut [f32]> = values.chunks_mut(80).collect();
    assert!(
        packed
            .fill_rounded(&groups, 0..80, &mut lines, &|| false)
            .is_ok()
    );
    let exact = fill(&packed, &data.dense, 0..80);
    let mut tiny = 0;
    for (&value, &exact) in values.iter().zip(&exact) {
        let is_normal = exact >= f64::from(f32::MIN_POSITIVE);
        assert_eq!(value, if is_normal { exact as f32 } else { 0.0 });
        tiny += usize::from(!is_normal);
    }
    assert!(tiny > 1000 && tiny < 5000, "{tiny}");
}

/// Kernels of which a part, or a step on the way, is too small or too large for f32 where the whole is
/// neither.
fn kernels_out_of_range() -> Vec<Kernel> {
    let linear = Kernel::linear;
    let scaled = |factor, kernel| Kernel::Scaled(factor, Box::new(kernel));
    vec![
        linear(),
        Kernel::rbf(1e-40),
        Kernel::rbf(1e40),
        Kernel::laplacian(1e30),
        Kernel::inverse_multiquadric(1e-12),
        Kernel::inverse_multiquadric(1e20),
        Kernel::polynomial(1.0, 0.0, 3),
        Kernel::polynomial(1e30, 1.0, 2),
        Kernel::polynomial(1e-30, 1e-3, 7),
        scaled(1e30, linear()),
        scaled(1e45, linear()),
        scaled(1e-30, Kernel::polynomial(1e20, 1.0, 2)),
        Kernel::Product(vec![linear(), scaled(0.6, linear())]),
        Kernel::Product(vec![linear(), linear(), Kernel::polynomial(0.0, 1e30, 1)]),
        Kernel::Product(vec![
            Kernel::polynomial(0.0, 1e30, 1),
            Kernel::polynomial(0.0, 1e30, 1),
            scaled(1e-30, Kernel::rbf(1.0)),
        ]),
        Kernel::Sum(vec![scaled(1e-35, linear()), scaled(1e35, linear())]),
    ]
}

/// What f32 cannot hold is counted as lost: predictions and rows in f32 know it.
#[test]
fn losses_to_underflow_are_within_their_bounds() {
    let (mut finite, mut lossy) = (0, 0);
    for (seed, exponent) in (-45..=30).step_by(5).enumerate() {
        let scale = 10f64.powi(exponent);
        let data = Data::from_fn(6, 3, |i, j| scale * noise(seed, i, j));
        let zero = [0.0; 3];
        for kernel in kernels_out_of_range() {
            for samples in [&data.dense, &data.sparse] {
                let packed = Columns::<f32>::new(&kernel, Centred::not(samples), &data.all());
                let packed = packed.unwrap();
                let values = fill(&packed, samples, 0..6);
                for (i, j) in (0..6).flat_map(|i| (0..6).map(move |j| (i, j))) {
                    let bounds = packed.bounds(samples, i);
                    if !(bounds.error + bounds.loss).is_finite() {
                        continue;
                    }
                    let (exact, _) = formula(&kernel, &data.rows[i], &data.rows[j], &zero);
                    let error = (f64::from(values[6 * i + j]) - exact).abs();
                    assert!(
                        error <= 8.0 * bounds.error + bounds.loss,
                        "{kernel:?} at {scale:e}: {error:e} off {exact:e}, {bounds:?}"
                    );
                    assert!(exact.abs() <= bounds.value * (1.0 + 1e-12));
                    finite += 1;
                    lossy += usize::from(error > 8.0 * bounds.error);
                }
            }
        }
    }
    assert!(finite > 5_000 && lossy > 200, "{finite} {lossy}");
}
