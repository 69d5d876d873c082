//! What the machine can do, to judge the parts by: the rate of multiply-adds, and figures in units
//! that compare with it.

use criterion::Bencher;
use mercer::data::Real;
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Instant;

/// A loop to be compiled for the instruction set that the library chooses.
pub trait Body {
    type Output;
    /// Must be `#[inline(always)]`.
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// The instruction sets that the library has code for, as far as this processor has them.
#[derive(Clone, Copy)]
enum Set {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Set {
    /// Asks the processor; the best comes last.
    fn available() -> Vec<Self> {
        let mut sets = vec![Set::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") {
                sets.push(Set::Avx2);
                let wide = has!("avx512f") && has!("avx512bw") && has!("avx512dq");
                if wide && has!("avx512vl") {
                    sets.push(Set::Avx512);
                }
            }
        }
        sets
    }
}

/// Runs a loop with the instructions that the library would use.
pub fn on_this_cpu<B: Body>(body: B) -> B::Output {
    let best = Set::available().pop().unwrap_or(Set::Portable);
    run_on(best, body)
}

fn run_on<B: Body>(set: Set, body: B) -> B::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        fn avx512<B: Body>(body: B) -> B::Output {
            body.run::<true>()
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<B: Body>(body: B) -> B::Output {
            body.run::<true>()
        }
        match set {
            // SAFETY: `Set::available` has asked the processor.
            Set::Avx512 => return unsafe { avx512(body) },
            // SAFETY: the same.
            Set::Avx2 => return unsafe { avx2(body) },
            Set::Portable => {}
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let Set::Portable = set;
    body.run::<{ cfg!(target_arch = "aarch64") }>()
}

/// Rows and their bytes, as in the library's tiles: 12 of 16 vector registers of AVX2.
const ROWS: usize = 6;
const ROW_BYTES: usize = 64;
/// Multiply-adds of each number: about a millisecond.
const ROUNDS: usize = 1 << 18;
const REPEATS: usize = 20;

type Rows<T, const LANES: usize> = [[T; LANES]; ROWS];

/// Independent chains of multiply-adds on numbers that stay in registers. That they come from memory
/// and go there makes the compiler see vectors.
struct Chains<'a, T, const LANES: usize> {
    start: &'a Rows<T, LANES>,
    half: &'a [T; LANES],
    end: &'a mut Rows<T, LANES>,
}

impl<T: Real, const LANES: usize> Body for Chains<'_, T, LANES> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (mut rows, half) = (*self.start, *self.half);
        for _ in 0..ROUNDS {
            for row in &mut rows {
                for (x, half) in row.iter_mut().zip(half) {
                    // Stays 1: neither overflow nor subnormal numbers.
                    *x = x.multiply_add::<FMA>(half, half);
                }
            }
        }
        *self.end = rows;
    }
}

/// Floating-point operations per second of all threads together, in `T`, without memory: the best
/// of several tries with each instruction set.
fn peak<T: Real, const LANES: usize>() -> f64 {
    let threads = rayon::current_num_threads();
    let operations = (2 * threads * ROUNDS * ROWS * LANES) as f64;
    let (start, half) = ([[T::ONE; LANES]; ROWS], [T::from_f64(0.5); LANES]);
    let tries = Set::available().into_iter();
    let seconds = tries.flat_map(|set| [set; REPEATS]).map(|set| {
        let begun = Instant::now();
        (0..threads).into_par_iter().for_each(|_| {
            let mut end = start;
            let chains = Chains {
                start: black_box(&start),
                half: black_box(&half),
                end: &mut end,
            };
            run_on(set, chains);
            black_box(end);
        });
        begun.elapsed().as_secs_f64()
    });
    operations / seconds.fold(f64::INFINITY, f64::min)
}

/// The peak in f32.
pub fn peak_single() -> f64 {
    peak::<f32, { ROW_BYTES / size_of::<f32>() }>()
}

/// The peak in f64.
pub fn peak_double() -> f64 {
    peak::<f64, { ROW_BYTES / size_of::<f64>() }>()
}

/// The shortest time of one call that a benchmark has seen.
pub struct Best(f64);

impl Best {
    pub fn new() -> Self {
        Best(f64::INFINITY)
    }

    /// Times `routine` as `Bencher::iter` does, and remembers.
    pub fn iter<O>(&mut self, bencher: &mut Bencher, mut routine: impl FnMut() -> O) {
        bencher.iter_custom(|calls| {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(routine());
            }
            let elapsed = start.elapsed();
            self.0 = self.0.min(elapsed.as_secs_f64() / calls as f64);
            elapsed
        });
    }

    /// The seconds, unless the benchmark was left out.
    pub fn seconds(&self) -> Option<f64> {
        self.0.is_finite().then_some(self.0)
    }

    /// Prints how many operations per second this is, and the share of the peak.
    pub fn print_rate(&self, operations: f64, peak: f64) {
        if let Some(seconds) = self.seconds() {
            let rate = operations / seconds;
            let (share, rate, peak) = (100.0 * rate / peak, rate / 1e9, peak / 1e9);
            println!("    best {rate:.1} GFLOP/s, {share:.0}% of this machine's {peak:.1}\n");
        }
    }

    /// Prints how many bytes per second this is.
    pub fn print_bandwidth(&self, bytes: f64) {
        if let Some(seconds) = self.seconds() {
            println!("    best {:.1} GB/s\n", bytes / seconds / 1e9);
        }
    }

    /// Prints the time of one of `number` equal parts.
    pub fn print_share(&self, number: f64, part: &str) {
        if let Some(seconds) = self.seconds() {
            println!("    best {:.2} ns per {part}\n", seconds / number * 1e9);
        }
    }
}
