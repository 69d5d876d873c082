//! Description: what a kernel matrix is made of.

use crate::data::Samples;
use crate::error::Result;
use crate::kernel::{Centred, Kernel, Profile};
use std::sync::atomic::{AtomicU64, Ordering};

/// A kernel, samples, and which sample stands behind each variable.
#[derive(Debug)]
pub(crate) struct Description<'a> {
    pub kernel: Kernel,
    pub samples: &'a Samples,
    /// The sample behind each variable.
    pub index: Vec<usize>,
    pub profile: Profile,
    /// Kernel values computed so far.
    evaluations: AtomicU64,
    /// The largest of those that were given, as bits: in order for numbers that are not negative.
    largest: AtomicU64,
}

impl<'a> Description<'a> {
    pub fn new(kernel: &Kernel, samples: &'a Samples, index: Vec<usize>) -> Result<Self> {
        let profile = kernel.profile(samples, &index)?;
        Ok(Description::with(kernel, samples, index, profile))
    }

    pub fn with(
        kernel: &Kernel,
        samples: &'a Samples,
        index: Vec<usize>,
        profile: Profile,
    ) -> Self {
        Description {
            kernel: kernel.clone(),
            samples,
            evaluations: AtomicU64::new(profile.evaluations as u64),
            largest: AtomicU64::new(0),
            index,
            profile,
        }
    }

    /// Returns the description of the matrix of some variables.
    pub fn part(&self, variables: &[usize]) -> Self {
        let index = variables.iter().map(|&i| self.index[i]).collect();
        let profile = Profile {
            evaluations: 0,
            ..self.profile.select(variables)
        };
        Description::with(&self.kernel, self.samples, index, profile)
    }

    /// Returns the number of variables.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns the samples behind variables.
    pub fn samples_of(&self, variables: &[u32]) -> Vec<usize> {
        let variables = variables.iter();
        variables.map(|&i| self.index[i as usize]).collect()
    }

    /// Returns the samples in their frame.
    pub fn centred(&self) -> Centred<'_> {
        Centred {
            samples: self.samples,
            frame: Some(&self.profile.frame),
        }
    }

    /// Counts kernel values.
    pub fn count(&self, values: usize) {
        self.evaluations.fetch_add(values as u64, Ordering::Relaxed);
    }

    /// Notes the size of a value that was given.
    pub fn note(&self, size: f64) {
        self.largest.fetch_max(size.to_bits(), Ordering::Relaxed);
    }

    /// Returns the largest size of a value that was given so far.
    pub fn largest(&self) -> f64 {
        f64::from_bits(self.largest.load(Ordering::Relaxed))
    }

    /// Returns how many kernel values have been computed.
    pub fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }
}
