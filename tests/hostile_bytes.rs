//! The bodies of the targets of `fuzz/`, run with bytes from proptest: what cargo-fuzz looks for by
//! coverage and for hours is looked for here in a few seconds.

#[path = "common/bytes.rs"]
mod bytes;

use proptest::prelude::*;
use proptest::strategy::ValueTree;

/// Runs a body on random bytes; tells how many were accepted.
fn accepted(body: fn(&[u8]) -> bool, cases: u32, longest: usize) -> u32 {
    let mut accepted = 0;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..cases {
        let strategy = proptest::collection::vec(any::<u8>(), 0..longest);
        let tree = strategy.new_tree(&mut runner).expect("bytes");
        accepted += u32::from(body(&tree.current()));
    }
    accepted
}

#[test]
fn csr_arrays_of_any_kind_are_read_or_refused() {
    accepted(bytes::csr, 20_000, 120);
}

#[test]
fn csr_arrays_that_fit_are_read() {
    // Sums of counts in the place of indptr, so that most inputs are matrices.
    let body = |random: &[u8]| {
        let (columns, rows) = (1 + random[0] % 15, usize::from(random[1] % 10));
        let counts = &random[2..2 + rows];
        let total: u8 = counts.iter().map(|count| count % 2).sum();
        let mut input = vec![random[2], columns, total];
        let indices = random.iter().cycle().take(usize::from(total));
        input.extend(indices.map(|index| index % columns));
        input.extend([rows as u8 + 1, 0]);
        input.extend(counts.iter().scan(0, |sum, count| {
            *sum += count % 2;
            Some(*sum)
        }));
        input.push(0);
        input.extend(random.iter().map(|byte| byte % 250));
        bytes::csr(&input)
    };
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = proptest::collection::vec(any::<u8>(), 40..60);
    for _ in 0..5_000 {
        let tree = strategy.new_tree(&mut runner).expect("bytes");
        assert!(body(&tree.current()), "{:?}", tree.current());
    }
}

#[test]
fn kernels_of_any_parameters_are_computed_or_refused() {
    assert!(accepted(bytes::kernel, 20_000, 300) > 1_000);
}

#[test]
fn decision_functions_of_any_coefficients_are_made_or_refused() {
    accepted(bytes::expansion, 20_000, 120);
}

#[test]
fn programmes_of_any_numbers_are_solved_or_refused() {
    assert!(accepted(bytes::programme, 5_000, 120) > 50);
}
