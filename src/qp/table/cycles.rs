//! Cycles: where a table may move if the sums of its rows and of its columns are fixed.
//!
//! In one row a column u may grow and another v shrink by as much: an edge from u to v. The slope of
//! that, steepest of all rows, is the weight of the edge,
//!
//! ```text
//! D_uv = max over rows i where u may grow and v may shrink of   -g_iu - (-g_iv)
//! ```
//!
//! A move that keeps the sums of the columns as well is a cycle of edges, of which each may be in
//! another row. With b_u the multipliers of these sums, a table is optimal to `gap` if
//!
//! ```text
//! D_uv - (b_u - b_v) <= gap   for all edges
//! ```
//!
//! The smallest gap that some b allows is the largest mean weight of a cycle, found by Karp's dynamic
//! programme; such b are lengths of longest paths. Two columns have one cycle, and all this is
//! Keerthi's m - M. Whatever b is, the largest D_uv - (b_u - b_v) bounds the gap from above: rounding
//! in the search for the cycle makes no promise wrong.
//!
//! Karp: A characterization of the minimum cycle mean in a digraph, Discrete Mathematics 23 (1978).

/// The steepest edges between columns.
pub(super) struct Edges {
    columns: usize,
    /// D_uv at u * columns + v.
    slopes: Vec<f64>,
    /// The row of each.
    rows: Vec<u32>,
    growing: Vec<usize>,
    shrinking: Vec<usize>,
}

/// A cycle of columns, each growing at the cost of the next, the last at that of the first.
pub(super) struct Cycle {
    pub columns: Vec<usize>,
    pub mean: f64,
}

impl Edges {
    pub fn new(columns: usize) -> Self {
        Edges {
            columns,
            slopes: vec![f64::NEG_INFINITY; columns * columns],
            rows: vec![0; columns * columns],
            growing: Vec::with_capacity(columns),
            shrinking: Vec::with_capacity(columns),
        }
    }

    pub fn clear(&mut self) {
        self.slopes.fill(f64::NEG_INFINITY);
    }

    /// Includes the edges of a row: how fast the objective falls where each column grows, minus
    /// infinity if it may not, and how fast it rises where it shrinks, infinity if it may not.
    pub fn include(&mut self, row: u32, up: &[f64], down: &[f64]) {
        self.growing.clear();
        self.shrinking.clear();
        for column in 0..self.columns {
            if up[column] != f64::NEG_INFINITY {
                self.growing.push(column);
            }
            if down[column] != f64::INFINITY {
                self.shrinking.push(column);
            }
        }
        for &u in &self.growing {
            for &v in self.shrinking.iter().filter(|&&v| v != u) {
                let (at, slope) = (u * self.columns + v, up[u] - down[v]);
                if slope > self.slopes[at] {
                    (self.slopes[at], self.rows[at]) = (slope, row);
                }
            }
        }
    }

    /// Returns the weight of the edge from u to v.
    pub fn slope(&self, u: usize, v: usize) -> f64 {
        self.slopes[u * self.columns + v]
    }

    /// Returns the row of the edge from u to v.
    pub fn row(&self, u: usize, v: usize) -> u32 {
        self.rows[u * self.columns + v]
    }

    /// Returns the best cycle of two columns.
    pub fn best_pair(&self) -> Option<Cycle> {
        let mut best = Cycle {
            columns: Vec::new(),
            mean: f64::NEG_INFINITY,
        };
        for u in 0..self.columns {
            for v in u + 1..self.columns {
                let mean = 0.5 * (self.slope(u, v) + self.slope(v, u));
                if mean > best.mean {
                    best.mean = mean;
                    best.columns = vec![u, v];
                }
            }
        }
        (!best.columns.is_empty()).then_some(best)
    }

    /// Returns the cycle of the largest mean, as far as rounding allows; None if there is none.
    pub fn best(&self) -> Option<Cycle> {
        let k = self.columns;
        // The largest weight of a walk of so many edges to each column, and where its last one begins.
        let mut weights = vec![0.0; (k + 1) * k];
        let mut parents = vec![0usize; (k + 1) * k];
        for edges in 1..=k {
            for v in 0..k {
                let from = |u: usize| weights[(edges - 1) * k + u] + self.slope(u, v);
                let last = (0..k).max_by(|&a, &b| from(a).total_cmp(&from(b)))?;
                parents[edges * k + v] = last;
                weights[edges * k + v] = from(last);
            }
        }
        let mean = |v: usize| {
            let shorter = (0..k).filter(|edges| weights[edges * k + v] != f64::NEG_INFINITY);
            let means = shorter
                .map(|edges| (weights[k * k + v] - weights[edges * k + v]) / (k - edges) as f64);
            means.fold(f64::INFINITY, f64::min)
        };
        let ends = (0..k).filter(|v| weights[k * k + v] != f64::NEG_INFINITY);
        let end = ends.max_by(|&a, &b| mean(a).total_cmp(&mean(b)))?;
        let mut walk = vec![end];
        for edges in (1..=k).rev() {
            walk.push(parents[edges * k + walk[walk.len() - 1]]);
        }
        walk.reverse();
        self.best_on(&walk)
    }

    /// Returns the best of the cycles that a walk consists of, paths between them aside.
    fn best_on(&self, walk: &[usize]) -> Option<Cycle> {
        let (mut best, mut path): (Option<Cycle>, Vec<usize>) = (None, Vec::new());
        for &column in walk {
            if let Some(start) = path.iter().position(|&other| other == column) {
                let cycle = path.split_off(start);
                let next = cycle.iter().cycle().skip(1);
                let slopes = cycle.iter().zip(next).map(|(&u, &v)| self.slope(u, v));
                let mean = slopes.sum::<f64>() / cycle.len() as f64;
                if best.as_ref().is_none_or(|best| mean > best.mean) {
                    best = Some(Cycle {
                        columns: cycle,
                        mean,
                    });
                }
            }
            path.push(column);
        }
        best
    }

    /// Returns multipliers b with which no edge is much above `mean`, the largest of a cycle: midway
    /// between the highest and the lowest of those that longest paths give, and adding up to zero.
    pub fn multipliers(&self, mean: f64) -> Vec<f64> {
        let k = self.columns;
        let (mut high, mut low) = (vec![0.0f64; k], vec![0.0f64; k]);
        for _ in 0..k {
            let mut settled = true;
            for u in 0..k {
                for v in (0..k).filter(|&v| v != u) {
                    let length = self.slope(u, v) - mean;
                    if high[v] + length > high[u] {
                        high[u] = high[v] + length;
                        settled = false;
                    }
                    if low[u] - length < low[v] {
                        low[v] = low[u] - length;
                        settled = false;
                    }
                }
            }
            if settled {
                break;
            }
        }
        let middle = high.iter().zip(&low).map(|(high, low)| 0.5 * (high + low));
        let middle: Vec<f64> = middle.collect();
        let center = middle.iter().sum::<f64>() / k as f64;
        middle.into_iter().map(|b| b - center).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::random::Random;

    /// The largest mean of a simple cycle, by trying all.
    fn plain(edges: &Edges, path: &mut Vec<usize>, sum: f64) -> f64 {
        let (first, last) = (path[0], path[path.len() - 1]);
        let mut best = (sum + edges.slope(last, first)) / path.len() as f64;
        if path.len() == 1 {
            best = f64::NEG_INFINITY;
        }
        for next in first + 1..edges.columns {
            if !path.contains(&next) {
                path.push(next);
                best = best.max(plain(edges, path, sum + edges.slope(last, next)));
                path.pop();
            }
        }
        best
    }

    #[test]
    fn the_best_cycle_is_found_and_its_multipliers_prove_it() {
        let mut random = Random::new(7);
        let mut uniform = || (random.bits() % 1000) as f64 / 500.0 - 1.0;
        for round in 0..300 {
            let columns = 2 + round % 5;
            let mut edges = Edges::new(columns);
            for row in 0..columns as u32 {
                let mut may = |value: f64, never: f64| if uniform() < 0.3 { never } else { value };
                let up: Vec<f64> = (0..columns).map(|_| may(0.0, f64::NEG_INFINITY)).collect();
                let down: Vec<f64> = (0..columns).map(|_| may(0.0, f64::INFINITY)).collect();
                let up: Vec<f64> = up.into_iter().map(|up| up + uniform()).collect();
                let down: Vec<f64> = down.into_iter().map(|down| down + uniform()).collect();
                edges.include(row, &up, &down);
            }
            let firsts = 0..columns;
            let means = firsts.map(|first| plain(&edges, &mut vec![first], 0.0));
            let mean = means.fold(f64::NEG_INFINITY, f64::max);
            let Some(best) = edges.best() else {
                assert_eq!(mean, f64::NEG_INFINITY);
                continue;
            };
            assert!((best.mean - mean).abs() < 1e-12, "{} not {mean}", best.mean);
            let multipliers = edges.multipliers(best.mean);
            let pairs = (0..columns).flat_map(|u| (0..columns).map(move |v| (u, v)));
            let excess =
                |(u, v): (usize, usize)| edges.slope(u, v) - (multipliers[u] - multipliers[v]);
            let gap = pairs.map(excess).fold(f64::NEG_INFINITY, f64::max);
            assert!((gap - mean).abs() < 1e-12, "{gap} not {mean}");
            assert!(multipliers.iter().sum::<f64>().abs() < 1e-12);
        }
    }
}
