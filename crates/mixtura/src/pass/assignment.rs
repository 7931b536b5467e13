//! Says how a posterior becomes weights: the only thing that tells the algorithms apart.

use serde::{Deserialize, Serialize};

use crate::random::Address;

/// How log-densities are computed where only a draw depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Precision {
    /// In single precision where its draw is certainly that of double precision, else in double.
    /// Labels and statistics are bit for bit the same; the likelihood of a round may err, by at most
    /// a quarter of a bit a row.
    #[default]
    Certified,
    /// In double precision throughout.
    Double,
}

/// What a pass does with the posterior of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Assignment {
    /// A row belongs to every component by its posterior: EM.
    Soft,
    /// A row belongs to one component, drawn from its posterior: SEM. A row that counts for
    /// several (whole-number weights) is split by as many draws.
    Sampled(Address),
    /// A row belongs to its most probable component: CEM.
    Hard,
    /// A row belongs to the component its label names; no density is evaluated.
    Given,
    /// No statistics, only likelihoods.
    Evaluate,
}
