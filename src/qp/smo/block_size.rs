//! How many variables a block has, and how that grows.
//!
//! Easy problems bring in their support vectors with a few steps each, and want small blocks. When a
//! block takes many steps its variables depend on each other, and more of them should move together.

/// Variables of the first block: a guess that is far off costs little.
const FIRST: usize = 64;
/// Variables of the blocks of easy problems: a sixteenth of all, within these limits; of very many, a
/// thirty-second up to the last. Where rows are long, larger blocks spare more of them than they cost.
const EASY: (usize, usize) = (128, 1024);
const EASY_OF_MANY: usize = 2048;
/// Variables up to which a problem is solved as one block: its matrix fits the second cache.
const ONE_BLOCK: usize = 512;
/// Variables of the blocks of problems for which pair steps are slow, while too many are at the wrong
/// bounds for a face: they want few, large blocks, because each costs a pass over all its rows.
const SLOW: usize = 2048;
/// Variables of a block that is solved by faces, at the least and at the most.
const FACES: (usize, usize) = (512, 6000);
/// Variables of a block where all rows are at hand, at the least and, while pair steps will do, at the
/// most; in between, a quarter more than want to move.
const AT_HAND: (usize, usize) = (128, 512);
/// The same of one of several problems over the same samples: a smaller block needs a smaller share of
/// the rows (with 512, all pairs of digits together took half as long again).
const ONE_OF_SEVERAL: usize = 256;
/// Variables of a block when the kernel may be indefinite. Such a problem has many local minima,
/// and which one is found depends on the path, down to the rounding of the rows. A block that holds
/// all variables, with rows first rounded as LIBSVM's, takes LIBSVM's path, so that users find what
/// they found there; the true gap is reached from its end.
const INDEFINITE: usize = 6000;
/// A block that takes more steps than this for each of its variables shows that pair steps are slow.
const SLOW_STEPS: u64 = 8;

/// How a block is solved.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Inner {
    /// By pair steps in f32.
    Single,
    /// By pair steps in f64.
    Double,
    /// By pair steps and faces: these want f64, for rounding to f32 leaves them no minimum.
    Faces,
}

/// The size of the next block, and how it is solved.
pub(super) struct BlockSize {
    size: usize,
    /// The size of the blocks of easy problems.
    easy: usize,
    indefinite: bool,
    /// Whether all rows are at hand: an update of the gradient costs little then, and what moves is
    /// better found out at once.
    at_hand: bool,
    slow: bool,
    faces: bool,
}

impl BlockSize {
    /// `several` tells whether other problems are over the same samples, `at_hand` whether all rows
    /// are computed already.
    pub fn new(variables: usize, indefinite: bool, several: bool, at_hand: bool) -> Self {
        let one_block = if several { ONE_OF_SEVERAL } else { ONE_BLOCK };
        BlockSize {
            size: match variables {
                _ if indefinite => INDEFINITE,
                _ if variables <= one_block => one_block,
                _ => FIRST,
            },
            easy: (variables / 16)
                .clamp(EASY.0, EASY.1)
                .max((variables / 32).min(EASY_OF_MANY)),
            indefinite,
            at_hand,
            slow: false,
            faces: false,
        }
    }

    /// Chooses the size of the next block, where so many variables are free or want to leave their
    /// bounds: if pair steps are slow and all of them fit, it is solved by faces.
    pub fn choose(&mut self, moving: impl FnOnce() -> usize) -> usize {
        self.faces = false;
        if self.slow {
            let least = if self.at_hand { AT_HAND.0 } else { FACES.0 };
            let wanted = moving() / 4 * 5 + least;
            self.faces = wanted <= FACES.1;
            if self.faces {
                return wanted;
            }
        } else if self.at_hand {
            self.size = (moving() / 4 * 5).clamp(AT_HAND.0, AT_HAND.1);
        }
        self.size
    }

    /// Returns how the next block is solved, in f32 if that will do.
    pub fn inner(&self, single: bool) -> Inner {
        match (self.faces, single) {
            (true, _) => Inner::Faces,
            (false, true) => Inner::Single,
            (false, false) => Inner::Double,
        }
    }

    /// Returns how many steps the block may take.
    pub fn cap(&self) -> u64 {
        match self.faces || self.indefinite {
            true => u64::MAX,
            false => SLOW_STEPS * self.size as u64,
        }
    }

    /// Forgets that pair steps were slow: of variables that have just joined they have to find out first
    /// which ones are free, or a face would be of all of them.
    pub fn forget(&mut self) {
        self.slow = false;
    }

    /// Grows after a block that took so many steps.
    pub fn grow(&mut self, steps: u64) {
        self.slow |= steps >= self.cap();
        let enough = if self.slow { SLOW } else { self.easy };
        self.size = (2 * self.size).min(enough).max(self.size);
    }
}
