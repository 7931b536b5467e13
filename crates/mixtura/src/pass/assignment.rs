//! Says how a posterior becomes weights: the only thing that tells the algorithms apart.

use serde::{Deserialize, Serialize};

use crate::random::Address;

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
