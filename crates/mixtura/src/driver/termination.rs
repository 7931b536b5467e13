//! Names the reasons for which a fit ends.

use serde::{Deserialize, Serialize};

/// Why a fit ended. Not converging is an outcome, not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Termination {
    /// The likelihood changed by less than the tolerance.
    Converged,
    /// SEM's likelihood no longer rises: two batches of rounds agree within their errors.
    Flat,
    /// The limit on rounds was reached.
    RoundLimit,
    /// Someone asked for it.
    Interrupted,
}

impl Termination {
    /// Whether the algorithm's own stopping rule held.
    pub fn has_converged(self) -> bool {
        matches!(self, Self::Converged | Self::Flat)
    }

    /// The reason as model files have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::Flat => "flat",
            Self::RoundLimit => "round-limit",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Rounds in a batch of SEM's stopping rule.
pub(crate) const BATCH: usize = 10;

/// Whether the last two batches of likelihoods differ by less than two standard errors; asked only
/// where a batch ends, so that one small change never stops a fit.
pub(crate) fn is_flat(likelihoods: &[f64]) -> bool {
    let n = likelihoods.len();
    if n < 2 * BATCH || !n.is_multiple_of(BATCH) {
        return false;
    }
    let moments = |batch: &[f64]| {
        let mean = batch.iter().sum::<f64>() / BATCH as f64;
        let variance = batch.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (BATCH - 1) as f64;
        (mean, variance)
    };
    let (before, variance_before) = moments(&likelihoods[n - 2 * BATCH..n - BATCH]);
    let (after, variance_after) = moments(&likelihoods[n - BATCH..]);
    let error = ((variance_before + variance_after) / BATCH as f64).sqrt();
    (after - before).abs() < 2.0 * error || error == 0.0 && after == before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_likelihood_is_not_flat_and_noise_is() {
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        assert!(!is_flat(&rising));
        let noise: Vec<f64> = (0..20).map(|i| f64::from(i * 7 % 5)).collect();
        assert!(is_flat(&noise));
        assert!(!is_flat(&noise[..19]));
        assert!(is_flat(&[1.0; 20]));
    }
}
