//! RowCache beside a naive list: whatever is done, both hold the same rows in the same order.

use mercer::matrix::RowCache;
use mercer::simd::Real;
use proptest::prelude::*;

/// A row as the model keeps it: its key and its valid entries.
type Row = (u32, Vec<f64>);

/// The naive list, the least recently used row first.
struct Model {
    rows: Vec<Row>,
    capacity: usize,
    hits: u64,
    misses: u64,
}

impl Model {
    fn find(&self, key: u32) -> Option<usize> {
        self.rows.iter().position(|row| row.0 == key)
    }

    fn touch(&mut self, at: usize) {
        let row = self.rows.remove(at);
        self.rows.push(row);
    }

    fn get(&mut self, key: u32, length: usize) -> bool {
        match self.find(key) {
            Some(at) if self.rows[at].1.len() >= length => {
                self.touch(at);
                self.hits += 1;
                true
            }
            _ => {
                self.misses += 1;
                false
            }
        }
    }

    fn insert(&mut self, key: u32) {
        match self.find(key) {
            Some(at) => self.touch(at),
            None => {
                if self.rows.len() == self.capacity {
                    self.rows.remove(0);
                }
                self.rows.push((key, Vec::new()));
            }
        }
    }

    fn fill(&mut self, key: u32, values: Vec<f64>) {
        let at = self.find(key).expect("only held rows are filled");
        let row = &mut self.rows[at].1;
        let kept = row.len().min(values.len());
        row.splice(..kept, values);
    }

    fn remove(&mut self, key: u32) {
        self.rows.retain(|row| row.0 != key);
    }

    fn reorder(&mut self, order: &[u32]) {
        self.rows.retain(|row| row.1.len() >= order.len());
        for (_, row) in &mut self.rows {
            let old = row.clone();
            for (entry, &from) in row.iter_mut().zip(order) {
                *entry = old[from as usize];
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Get(u32, usize),
    Insert(u32),
    /// Inserts the keys, as many as fit, and fills their rows together.
    Fill(Vec<u32>, usize),
    Remove(u32),
    /// Shuffles that many leading entries; the keys of the sort make the permutation.
    Reorder(Vec<u32>),
}

fn steps(keys: u32, length: usize) -> impl Strategy<Value = Vec<Step>> {
    let key = 0..keys;
    let step = prop_oneof![
        4 => (key.clone(), 0..=length).prop_map(|(key, length)| Step::Get(key, length)),
        2 => key.clone().prop_map(Step::Insert),
        4 => (prop::collection::vec(key.clone(), 1..6), 0..=length)
            .prop_map(|(keys, length)| Step::Fill(keys, length)),
        1 => key.prop_map(Step::Remove),
        1 => prop::collection::vec(any::<u32>(), 0..=length).prop_map(Step::Reorder),
    ];
    prop::collection::vec(step, 1..120)
}

fn permutation(keys: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by_key(|&at| (keys[at as usize], at));
    order
}

/// Everything that can be seen of the cache is what the model says.
fn same<T: Real>(cache: &RowCache<T>, model: &Model, keys: u32) {
    assert_eq!(cache.len(), model.rows.len());
    assert_eq!(cache.is_empty(), model.rows.is_empty());
    assert_eq!((cache.hits(), cache.misses()), (model.hits, model.misses));
    for key in 0..keys {
        let slot = cache.peek(key);
        let row = model.find(key).map(|at| &model.rows[at].1);
        assert_eq!(slot.is_some(), row.is_some(), "key {key}");
        if let (Some(slot), Some(row)) = (slot, row) {
            assert_eq!(cache.length(slot), row.len());
            let held: Vec<f64> = cache.row(slot).iter().map(|value| value.to_f64()).collect();
            assert_eq!(&held, row, "key {key}");
        }
    }
}

fn run<T: Real>(keys: u32, length: usize, rows: usize, steps: &[Step]) {
    // Rows start on cache lines of 64 bytes; that is part of the budget.
    let stride = (length * size_of::<T>()).next_multiple_of(64).max(64);
    let mut cache = RowCache::<T>::new(keys as usize, length, rows * stride).expect("small");
    let mut model = Model {
        rows: Vec::new(),
        capacity: rows.clamp(2, (keys as usize).max(2)),
        hits: 0,
        misses: 0,
    };
    assert_eq!(cache.capacity(), model.capacity);
    let mut written = 0.0; // every value that is written is another
    for step in steps {
        match step {
            Step::Get(key, length) => {
                let slot = cache.get(*key, *length);
                assert_eq!(slot.is_some(), model.get(*key, *length));
                assert!(slot.is_none() || slot == cache.peek(*key));
            }
            Step::Insert(key) => {
                let slot = cache.insert(*key).expect("memory");
                model.insert(*key);
                assert_eq!(cache.peek(*key), Some(slot));
            }
            Step::Fill(keys, length) => {
                let mut keys = keys.clone();
                keys.sort_unstable();
                keys.dedup();
                keys.truncate(model.capacity);
                keys.reverse();
                let slots: Vec<u32> = keys
                    .iter()
                    .map(|&key| {
                        model.insert(key);
                        cache.insert(key).expect("memory")
                    })
                    .collect();
                let told = cache.fill(&slots, *length, |rows| {
                    assert_eq!(rows.len(), keys.len());
                    for (row, &key) in rows.iter_mut().zip(&keys) {
                        assert_eq!(row.len(), *length);
                        let mut values = Vec::new();
                        for entry in row.iter_mut() {
                            written += 1.0;
                            values.push(written);
                            *entry = T::from_f64(written);
                        }
                        model.fill(key, values);
                    }
                    "told"
                });
                assert_eq!(told, "told");
            }
            Step::Remove(key) => {
                cache.remove(*key);
                model.remove(*key);
            }
            Step::Reorder(keys) => {
                let order = permutation(keys);
                cache.reorder(&order);
                model.reorder(&order);
            }
        }
        same(&cache, &model, keys);
    }
    // What is evicted, and in which order, shows when new keys push the old ones out.
    let held: Vec<u32> = model.rows.iter().map(|row| row.0).collect();
    let others: Vec<u32> = (0..keys).filter(|key| !held.contains(key)).collect();
    for key in others {
        cache.insert(key).expect("memory");
        model.insert(key);
        same(&cache, &model, keys);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn holds_what_a_list_would_hold(
        length in prop_oneof![0usize..20, 100usize..130],
        rows in 0usize..12,
        steps in steps(14, 20),
    ) {
        // Lengths of steps are up to 20: cut them to the row.
        let steps: Vec<Step> = steps
            .into_iter()
            .map(|step| match step {
                Step::Get(key, l) => Step::Get(key, l.min(length)),
                Step::Fill(keys, l) => Step::Fill(keys, l.min(length)),
                Step::Reorder(mut keys) => {
                    keys.truncate(length);
                    Step::Reorder(keys)
                }
                step => step,
            })
            .collect();
        run::<f32>(14, length, rows, &steps);
        run::<f64>(14, length, rows, &steps);
    }
}

/// Rows of 5 MB: six to a slab of 32 MB, so that several slabs are in play.
#[test]
fn rows_in_several_slabs_do_not_mix() {
    let length = 640 * 1024 + 1;
    let mut cache = RowCache::<f64>::new(40, length, 14 * 8 * (length + 7)).expect("a cache");
    assert_eq!(cache.capacity(), 14);
    for key in 0..20u32 {
        let slot = cache.insert(key).expect("memory");
        cache.fill(&[slot], length, |rows| {
            // Touching the ends is enough, and cheap.
            rows[0][0] = f64::from(key);
            rows[0][length - 1] = -f64::from(key);
        });
    }
    for key in 0..20u32 {
        let slot = cache.get(key, length);
        assert_eq!(slot.is_some(), key >= 6, "the last 14 are held");
        if let Some(slot) = slot {
            let row = cache.row(slot);
            assert_eq!((row[0], row[length - 1]), (f64::from(key), -f64::from(key)));
        }
    }
    // All rows at once, in an order across the slabs.
    let keys: Vec<u32> = (6..20).rev().step_by(3).collect();
    let slots: Vec<u32> = keys
        .iter()
        .map(|&key| cache.peek(key).expect("held"))
        .collect();
    cache.fill(&slots, 1, |rows| {
        for (row, &key) in rows.iter_mut().zip(&keys) {
            assert_eq!(row[0], f64::from(key));
            row[0] += 0.5;
        }
    });
    for key in 6..20 {
        let changed = if keys.contains(&key) { 0.5 } else { 0.0 };
        let slot = cache.peek(key).expect("held");
        assert_eq!(cache.row(slot)[0], f64::from(key) + changed);
        assert_eq!(cache.length(slot), length);
    }
}

#[test]
fn capacity_is_what_fits_at_least_two_and_at_most_the_keys() {
    let capacity = |keys, length, bytes| {
        RowCache::<f32>::new(keys, length, bytes)
            .expect("small")
            .capacity()
    };
    assert_eq!(capacity(100, 16, 0), 2);
    assert_eq!(capacity(100, 16, 64 * 5), 5);
    assert_eq!(capacity(100, 16, 64 * 5 + 63), 5);
    assert_eq!(capacity(100, 17, 64 * 5), 2, "a row of 17 takes two lines");
    assert_eq!(capacity(100, 16, usize::MAX), 100);
    assert_eq!(capacity(1, 16, usize::MAX), 2);
    assert_eq!(capacity(0, 0, 0), 2);
}

#[test]
#[should_panic(expected = "distinct")]
fn a_slot_filled_twice_at_once_is_refused() {
    let mut cache = RowCache::<f32>::new(4, 4, 1000).expect("small");
    let slot = cache.insert(1).expect("memory");
    cache.fill(&[slot, slot], 1, |_| ());
}

#[test]
#[should_panic(expected = "entries")]
fn more_than_a_row_is_refused() {
    let mut cache = RowCache::<f32>::new(4, 4, 1000).expect("small");
    let slot = cache.insert(1).expect("memory");
    cache.fill(&[slot], 4096, |_| ());
}
