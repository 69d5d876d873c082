//! How many variables a block has, and how that grows.
//!
//! Easy problems bring in their support vectors with a few steps each, and want small blocks. When a
//! block takes many steps its variables depend on each other, and more of them should move together.

/// Variables of the first block: a guess that is far off costs little.
const FIRST: usize = 64;
/// Variables of the blocks of easy problems: a sixteenth of all, within these limits.
const EASY: (usize, usize) = (128, 1024);
/// Variables up to which a problem is solved as one block: its matrix fits the second cache.
const ONE_BLOCK: usize = 512;
/// The same of one of several problems over the same samples: a smaller block needs a smaller share of
/// the rows (with 512, all pairs of digits together took half as long again).
const ONE_OF_SEVERAL: usize = 256;
/// Variables of the blocks of hard problems: they want few, large blocks, because each costs a pass
/// over all its rows.
const HARD: usize = 2048;
/// Variables of the largest block, for problems in which so many are free.
const LARGEST: usize = 4096;
/// Variables of a block when the kernel may be indefinite. Such a problem has many local minima,
/// and which one is found depends on the path, down to the rounding of the rows. A block that holds
/// all variables, with rows first rounded as LIBSVM's, takes LIBSVM's path, so that users find what
/// they found there; the true gap is reached from its end.
const INDEFINITE: usize = 6000;
/// A block that takes more steps than this for each of its variables is hard: the next is larger.
const HARD_STEPS: u64 = 2;

/// The size of the next block.
pub(super) struct BlockSize {
    size: usize,
    /// The size of the blocks of easy problems.
    easy: usize,
    largest: usize,
}

impl BlockSize {
    /// `several` tells whether other problems are over the same samples.
    pub fn new(variables: usize, indefinite: bool, several: bool) -> Self {
        let one_block = if several { ONE_OF_SEVERAL } else { ONE_BLOCK };
        let (size, largest) = match indefinite {
            true => (INDEFINITE, INDEFINITE),
            false if variables <= one_block => (one_block, LARGEST),
            false => (FIRST, LARGEST),
        };
        BlockSize {
            size,
            easy: (variables / 16).clamp(EASY.0, EASY.1),
            largest,
        }
    }

    pub fn get(&self) -> usize {
        self.size
    }

    /// Grows after a block that took so many steps and of which so many variables are `free`.
    pub fn grow(&mut self, steps: u64, free: impl FnOnce() -> usize) {
        if self.size < self.easy || steps > HARD_STEPS * self.size as u64 {
            let enough = match 3 * free() > 2 * self.size {
                true => self.largest,
                false => HARD,
            };
            self.size = (2 * self.size).min(enough).max(self.size);
        }
    }
}
