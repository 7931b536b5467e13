//! How a posterior becomes weights: the only difference between the algorithms within a pass.

use serde::{Deserialize, Serialize};

use crate::random::Address;

/// Precision of log-densities that are only used for draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Precision {
    /// Single precision where the draw is certain to be the same as in double precision, otherwise double. Labels and
    /// statistics are identical to the last bit; the likelihood of a round may be off by at most a quarter of a bit per
    /// row.
    #[default]
    Certified,
    /// Double precision throughout.
    Double,
}

/// What a pass does with the posterior of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Assignment {
    /// Shares the row among all components by its posterior: EM.
    Soft,
    /// Assigns the row to one component drawn from its posterior: SEM. With whole-number weights, a row of weight n is
    /// split by n draws.
    Sampled(Address),
    /// Assigns the row to its most probable component: CEM.
    Hard,
    /// Assigns the row to the component given by its label; no density is evaluated.
    Given,
    /// Computes likelihoods only, no statistics.
    Evaluate,
}
