//! Nearby: solutions of problems that differ little from one that is solved.
//!
//! Leaving a sample out fixes one coefficient at zero. What the others do then is a matter of the free
//! variables and of a few that meet their bounds or leave them. So the matrix of the free variables is
//! inverted once, for all such problems, and each of them is an active-set method with borders
//! (`system`):
//!
//! 1. go to the minimum over the face, fixing what meets its bound on the way, sums that are wrong
//!    being put right by the same step;
//! 2. update the gradient with the rows of what moved, in f64;
//! 3. let in what gains most by leaving its bound; end if the gap is below the tolerance.
//!
//! The gap is that of a gradient in f64 of the whole problem, so a solution is as good as any other.
//! Where this does not end soon, there is no solution and a solver has to be asked.
//!
//! Cauwenberghs, Poggio: Incremental and decremental support vector machine learning, NIPS 13 (2000),
//! which follows the path event by event; here the end is all that matters.

mod solved;
mod system;
mod walk;

pub(crate) use solved::{Solved, Start};
pub(crate) use walk::near;
