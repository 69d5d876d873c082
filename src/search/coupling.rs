//! Coupling: the probabilities of classes from those of pairs of classes.
//!
//! r_ij estimates the probability of class i given that it is i or j. The p that fit all of them best,
//!
//! ```text
//! minimise  1/2 p' Q p,   Q_ii = sum_{j != i} r_ji^2,   Q_ij = -r_ji r_ij,      sum of p = 1
//! ```
//!
//! solve Q p = (p' Q p) 1, which is found by going over the classes in turn.
//!
//! Wu, Lin, Weng: Probability estimates for multi-class classification by pairwise coupling, Journal
//! of Machine Learning Research 5 (2004), the second of their methods.

use crate::model::pairs;

/// Rounds at the most, for each class.
const ROUNDS: usize = 100;
/// The violation at which to stop, for each class.
const SMALL: f64 = 0.005;
/// Probabilities of pairs are kept so far from 0 and 1.
const LEAST: f64 = 1e-7;

/// Writes the probabilities of classes from those of the first class of each pair.
pub(super) fn couple(of_pairs: &[f64], out: &mut [f64]) {
    let classes = out.len();
    let mut r = vec![0.0; classes * classes];
    for (machine, (i, j)) in pairs(classes).enumerate() {
        let first = of_pairs[machine].clamp(LEAST, 1.0 - LEAST);
        (r[i * classes + j], r[j * classes + i]) = (first, 1.0 - first);
    }
    let at = |i: usize, j: usize| r[i * classes + j];
    let mut q = vec![0.0; classes * classes];
    for i in 0..classes {
        for j in (0..classes).filter(|&j| j != i) {
            q[i * classes + i] += at(j, i) * at(j, i);
            q[i * classes + j] = -at(j, i) * at(i, j);
        }
    }
    out.fill(1.0 / classes as f64);
    let mut image = vec![0.0; classes];
    for _ in 0..ROUNDS.max(classes) {
        for (i, image) in image.iter_mut().enumerate() {
            *image = (0..classes).map(|j| q[i * classes + j] * out[j]).sum();
        }
        let mut value: f64 = out.iter().zip(&image).map(|(p, image)| p * image).sum();
        let worst = image
            .iter()
            .fold(0.0f64, |worst, image| worst.max((image - value).abs()));
        if worst < SMALL / classes as f64 {
            break;
        }
        for t in 0..classes {
            let diagonal = q[t * classes + t];
            let step = (value - image[t]) / diagonal;
            out[t] += step;
            let norm = 1.0 + step;
            value = (value + step * (step * diagonal + 2.0 * image[t])) / norm / norm;
            for j in 0..classes {
                image[j] = (image[j] + step * q[t * classes + j]) / norm;
                out[j] /= norm;
            }
        }
    }
}

/// Changes probabilities as little as makes class `winner` the most probable: of all q that do, the
/// relative entropy sum_c p_c log(p_c / q_c) is least where the winner and those above it share their
/// mean. The winner is made the largest by a rounding, so that whoever looks for the largest finds it.
pub(super) fn agree(p: &mut [f64], winner: usize) {
    let mut above: Vec<usize> = (0..p.len()).filter(|&class| p[class] > p[winner]).collect();
    above.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
    let (mut sum, mut pooled) = (p[winner], vec![winner]);
    for class in above {
        if p[class] * pooled.len() as f64 <= sum {
            break;
        }
        sum += p[class];
        pooled.push(class);
    }
    let mean = sum / pooled.len() as f64;
    if pooled.len() > 1 {
        pooled.iter().for_each(|&class| p[class] = mean);
    }
    let others = (0..p.len()).filter(|&class| class != winner);
    let largest = others.fold(0.0f64, |largest, class| largest.max(p[class]));
    if p[winner] <= largest {
        p[winner] = largest * (1.0 + 4.0 * f64::EPSILON);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_agree_are_recovered() {
        let p = [0.5, 0.3, 0.15, 0.05];
        let of_pairs: Vec<f64> = pairs(4).map(|(i, j)| p[i] / (p[i] + p[j])).collect();
        let mut found = [0.0; 4];
        couple(&of_pairs, &mut found);
        assert!(
            found.iter().zip(p).all(|(a, b)| (a - b).abs() < 2e-3),
            "{found:?}"
        );
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_winner_becomes_the_most_probable_at_the_least_cost() {
        let mut p = [0.5, 0.1, 0.3, 0.1];
        agree(&mut p, 1);
        assert!((p[0] - 0.3).abs() < 1e-12 && (p[1] - 0.3).abs() < 1e-12 && p[1] > p[0].max(p[2]));
        let mut same = [0.2, 0.5, 0.3];
        agree(&mut same, 1);
        assert_eq!(same, [0.2, 0.5, 0.3]);
        // Against a search over the simplex.
        let reference = [0.45, 0.35, 0.2];
        let mut found = reference;
        agree(&mut found, 2);
        let entropy =
            |q: &[f64; 3]| -> f64 { reference.iter().zip(q).map(|(p, q)| p * (p / q).ln()).sum() };
        for i in 1..200 {
            for j in 1..200 - i {
                let q = [
                    f64::from(i) / 200.0,
                    f64::from(j) / 200.0,
                    f64::from(200 - i - j) / 200.0,
                ];
                assert!(q[2] < q[0].max(q[1]) || entropy(&q) >= entropy(&found) - 1e-12);
            }
        }
    }
}
