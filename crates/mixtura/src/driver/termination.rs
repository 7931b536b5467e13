//! The reasons for which a fit ends, and the tests on likelihoods behind them.

use serde::{Deserialize, Serialize};

/// Why a fit ended. Not converging is an outcome, not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Termination {
    /// The likelihood changed by less than the tolerance.
    Converged,
    /// SEM's likelihood no longer rises: two batches of rounds agree within their standard errors.
    Flat,
    /// The limit on rounds was reached.
    RoundLimit,
    /// The observer or the engine requested a stop, and some restart did not end on its own.
    Interrupted,
    /// A component became singular, and the stopping rule does not allow repairs.
    Collapsed,
}

impl Termination {
    /// Whether the algorithm's own stopping rule held.
    pub fn has_converged(self) -> bool {
        matches!(self, Self::Converged | Self::Flat)
    }

    /// The name of the reason in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::Flat => "flat",
            Self::RoundLimit => "round-limit",
            Self::Interrupted => "interrupted",
            Self::Collapsed => "collapsed",
        }
    }
}

/// Whether the last `n_changes` changes of the likelihood were small, considering models from number `since` on.
pub(super) fn are_small(likelihoods: &[f64], n_changes: usize, since: u64, tolerance: f64) -> bool {
    let n = likelihoods.len();
    let last = &likelihoods[n.saturating_sub(n_changes + 1)..];
    n > since as usize + n_changes && last.windows(2).all(|pair| (pair[1] - pair[0]).abs() < tolerance)
}

/// Whether the likelihood has settled: one small change since the last repair. Repairs in every round may lead nowhere,
/// so three small changes also count.
pub(super) fn has_settled(likelihoods: &[f64], since: u64, repaired: Option<u64>, tolerance: f64) -> bool {
    are_small(likelihoods, 1, since.max(repaired.unwrap_or(0)), tolerance)
        || are_small(likelihoods, 3, since, tolerance)
}

/// Rounds per batch of SEM's stopping rule.
pub(super) const BATCH: usize = 10;

/// Rounds per batch of SEM in `auto`. EM takes over when drift is no larger than noise, so a rough result is enough.
pub(super) const SHORT_BATCH: usize = 5;

/// Whether the last two batches of likelihoods differ by less than two standard errors. Only tested at the end of a
/// batch, so a single small change never stops a fit.
pub(super) fn is_flat(likelihoods: &[f64], batch: usize) -> bool {
    let n = likelihoods.len();
    if n < 2 * batch || !n.is_multiple_of(batch) {
        return false;
    }
    let n_rounds = batch as f64;
    let moments = |batch: &[f64]| {
        let mean = batch.iter().sum::<f64>() / n_rounds;
        let variance = batch.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n_rounds - 1.0);
        (mean, variance)
    };
    let (before, variance_before) = moments(&likelihoods[n - 2 * batch..n - batch]);
    let (after, variance_after) = moments(&likelihoods[n - batch..]);
    let error = ((variance_before + variance_after) / n_rounds).sqrt();
    (after - before).abs() < 2.0 * error || error == 0.0 && after == before
}

/// Whether SEM in `auto` has reached the point where its noise hides its progress: two short batches are flat or, after
/// as many rounds, a round has lowered the likelihood. From there on, EM's steps are worth their cost.
pub(super) fn has_levelled(likelihoods: &[f64]) -> bool {
    let has_fallen = || matches!(likelihoods, [.., before, last] if last <= before);
    is_flat(likelihoods, SHORT_BATCH) || likelihoods.len() >= 2 * SHORT_BATCH && has_fallen()
}

/// Whether SEM in `auto` progresses slowly and steadily, where EM's extrapolated steps are faster: its last short batch
/// gained more than half as much as the one before.
pub(super) fn has_slowed(likelihoods: &[f64]) -> bool {
    let n = likelihoods.len();
    if n <= 2 * SHORT_BATCH || !(n - 1).is_multiple_of(SHORT_BATCH) {
        return false;
    }
    let rise = |from: usize| likelihoods[from + SHORT_BATCH] - likelihoods[from];
    2.0 * rise(n - 1 - SHORT_BATCH) > rise(n - 1 - 2 * SHORT_BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_steps_are_slow_and_shrinking_ones_are_not() {
        let approach = |factor: f64| -> Vec<f64> { (0..11).map(|n| -factor.powi(n)).collect() };
        // 0.9⁵ = 0.59, 0.8⁵ = 0.33.
        assert!(has_slowed(&approach(0.9)) && !has_slowed(&approach(0.8)));
        assert!(!has_slowed(&approach(0.9)[..10]));
    }

    #[test]
    fn a_decrease_after_ten_rounds_counts_as_level() {
        let mut likelihoods: Vec<f64> = (0..12).map(f64::from).collect();
        assert!(!has_levelled(&likelihoods));
        likelihoods.push(10.5);
        assert!(has_levelled(&likelihoods));
        assert!(!has_levelled(&[1.0, 2.0, 3.0, 2.0]));
    }

    #[test]
    fn a_rising_likelihood_is_not_flat_and_noise_is() {
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        assert!(!is_flat(&rising, BATCH));
        let noise: Vec<f64> = (0..20).map(|i| f64::from(i * 7 % 5)).collect();
        assert!(is_flat(&noise, BATCH));
        assert!(!is_flat(&noise[..19], BATCH));
        assert!(is_flat(&[1.0; 20], BATCH));
    }
}
