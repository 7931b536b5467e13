//! scikit-learn's stopping rule: the likelihood before an update decides, and the update is kept.

use std::sync::Mutex;

use mixtura::Options;
use mixtura::driver::{Lagged, Observer};
use pyo3::prelude::*;

use crate::watch::Watch;

/// What Python says about the rule: a dictionary.
#[derive(FromPyObject, Clone, Copy)]
#[pyo3(from_item_all)]
pub(crate) struct Lag {
    /// The likelihood that the first one is compared with.
    previous: f64,
    /// Logarithm of the sum of the first model's weights, which may not be 1.
    ln_weight: f64,
}

impl Lag {
    /// The rule. Only a floor keeps a covariance from becoming singular; only a floor or a ridge keeps a component
    /// from losing its last row.
    pub(crate) fn rule(self, options: &Options) -> Lagged {
        Lagged {
            tolerance: options.tolerance,
            previous: self.previous,
            first_excess: self.ln_weight,
            refuses_singular: options.regularization == 0.0,
            refuses_empty: options.regularization == 0.0 && options.ridge == 0.0,
        }
    }

    /// The likelihood that the first one is compared with.
    pub(crate) fn previous(self) -> f64 {
        self.previous
    }

    /// Likelihoods as scikit-learn has them.
    pub(crate) fn likelihoods(self, likelihoods: &[f64]) -> Vec<f64> {
        let excess = |round| if round == 0 { self.ln_weight } else { 0.0 };
        likelihoods.iter().enumerate().map(|(round, likelihood)| likelihood + excess(round)).collect()
    }
}

/// Tells Python of a round after its update, with the likelihood from before it.
pub(crate) struct Telling<'a> {
    watch: &'a Watch<'a>,
    lag: Lag,
    likelihood: Mutex<f64>,
}

impl<'a> Telling<'a> {
    pub(crate) fn new(watch: &'a Watch<'a>, lag: Lag) -> Self {
        Self { watch, lag, likelihood: Mutex::new(f64::NAN) }
    }
}

impl Observer for Telling<'_> {
    fn evaluated(&self, _restart: u64, round: u64, mean_ln_likelihood: f64) {
        let excess = if round == 0 { self.lag.ln_weight } else { 0.0 };
        *self.likelihood.lock().expect("invariant: one thread observes") = mean_ln_likelihood + excess;
    }

    fn updated(&self, restart: u64, round: u64, _n_repairs: u64) {
        let likelihood = *self.likelihood.lock().expect("invariant: one thread observes");
        self.watch.tell(restart, round, likelihood);
    }

    fn is_stopped(&self) -> bool {
        self.watch.is_stopped()
    }
}
