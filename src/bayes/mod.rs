//! Bayesian machines: relevance vectors, and the Bayes point.
//!
//! | file | what |
//! |---|---|
//! | `relevance` | the sparse basis that maximises the marginal likelihood |
//! | `likelihood` | Gaussian and Bernoulli noise |
//! | `point` | the Bayes point as an average of perceptrons |

mod likelihood;
mod point;
mod relevance;

pub use likelihood::Noise;
pub use point::{BayesPoint, Perceptrons};
pub use relevance::{Relevance, RelevanceSettings};
