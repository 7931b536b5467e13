//! The result of a pass: statistics and likelihoods that can be added up.

use serde::{Deserialize, Serialize};

use crate::family::Moments;
use crate::sweep::Merge;

/// The result of a pass over some rows; merging gives the result over all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tally<M> {
    /// Number of rows, including those of weight 0.
    pub n_rows: u64,
    /// Number of rows drawn in double precision because single precision was uncertain.
    #[serde(default)]
    pub n_unsure: u64,
    /// Sum of row weights.
    pub weight: f64,
    /// Σ w ln p(x): log-likelihood of the model of the pass.
    pub ln_likelihood: f64,
    /// Σ w ln max_k p(k | x): how certain the best labels are; only for passes that evaluate.
    pub ln_best_posterior: f64,
    /// For each component, Σ w² of the rows labelled with it.
    pub squared_weights: Vec<f64>,
    /// Statistics for the next model.
    pub moments: M,
}

impl<M: Moments> Tally<M> {
    /// The result over no rows.
    pub fn new(n_components: usize, moments: M) -> Self {
        let squared_weights = vec![0.0; n_components];
        Self {
            n_rows: 0,
            n_unsure: 0,
            weight: 0.0,
            ln_likelihood: 0.0,
            ln_best_posterior: 0.0,
            squared_weights,
            moments,
        }
    }

    /// Sets all sums except the moments to 0.
    pub(super) fn clear(&mut self) {
        (self.n_rows, self.n_unsure) = (0, 0);
        (self.weight, self.ln_likelihood, self.ln_best_posterior) = (0.0, 0.0, 0.0);
        self.squared_weights.fill(0.0);
    }

    /// Number of equally weighted rows with the same information about a component: (Σw)²/Σw². Only for labelled rows.
    pub fn effective_rows(&self, component: usize) -> f64 {
        let weight = self.moments.weight(component);
        if weight > 0.0 { weight * weight / self.squared_weights[component] } else { 0.0 }
    }

    /// Mean log-likelihood per unit of weight.
    pub fn mean_ln_likelihood(&self) -> f64 {
        self.ln_likelihood / self.weight
    }
}

impl<M: Moments> Merge for Tally<M> {
    fn merge(&mut self, later: &Self) {
        self.n_rows += later.n_rows;
        self.n_unsure += later.n_unsure;
        self.weight += later.weight;
        self.ln_likelihood += later.ln_likelihood;
        self.ln_best_posterior += later.ln_best_posterior;
        self.squared_weights.iter_mut().zip(&later.squared_weights).for_each(|(a, b)| *a += b);
        self.moments.merge(&later.moments);
    }
}
