//! Stopping rules: they end a run before its limit on rounds.

use super::{Event, EventKind, Termination};

/// Decides when a run ends, in addition to the limit on rounds and requests to stop.
///
/// A closure is a rule:
///
/// ```
/// use mixtura::driver::{Seen, Termination};
/// use mixtura::{Gmm, Rows};
///
/// let rows = Rows::from_slice(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// let three_rounds = |seen: &Seen<'_>| (seen.round == 3).then_some(Termination::Converged);
/// assert_eq!(Gmm::new(2).rule(three_rounds).fit(&rows)?.rounds, 3);
/// # Ok::<(), mixtura::Error>(())
/// ```
pub trait Rule: Send + Sync {
    /// The reason to end the run now, if there is one.
    fn verdict(&self, seen: &Seen<'_>) -> Option<Termination>;

    /// Whether the rule is applied after the update of a round instead of before it. The last update is then the
    /// result, and is not evaluated.
    fn lags(&self) -> bool {
        false
    }
}

/// What a rule can base its decision on.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Rounds done.
    pub round: u64,
    /// Mean log-likelihoods of all models evaluated so far, starting with the initial model.
    pub likelihoods: &'a [f64],
    /// What happened so far.
    pub events: &'a [Event],
    /// The verdict of the algorithm's own rule with the tolerance from the options.
    pub settled: Option<Termination>,
}

impl<T: Fn(&Seen<'_>) -> Option<Termination> + Send + Sync> Rule for T {
    fn verdict(&self, seen: &Seen<'_>) -> Option<Termination> {
        self(seen)
    }
}

impl Rule for std::sync::Arc<dyn Rule> {
    fn verdict(&self, seen: &Seen<'_>) -> Option<Termination> {
        (**self).verdict(seen)
    }

    fn lags(&self) -> bool {
        (**self).lags()
    }
}

/// The algorithm's own rule, with the tolerance from the options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settled;

impl Rule for Settled {
    fn verdict(&self, seen: &Seen<'_>) -> Option<Termination> {
        seen.settled
    }
}

/// scikit-learn's rule: compares the models before the update of each round, and keeps the last update.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lagged {
    /// The run ends when the mean log-likelihood changes by less than this; with 0, only at the limit on rounds.
    pub tolerance: f64,
    /// The value that the initial model's likelihood is compared with.
    pub previous: f64,
    /// Added to the likelihood of the initial model, whose weights may not have summed to 1.
    pub first_excess: f64,
    /// Whether a singular covariance ends the run.
    pub refuses_singular: bool,
    /// Whether a component without rows ends the run.
    pub refuses_empty: bool,
}

impl Lagged {
    /// The likelihood of the model `before_last` models before the last one, as the rule sees it; `previous` before the
    /// first.
    fn likelihood(&self, likelihoods: &[f64], before_last: usize) -> f64 {
        match likelihoods.len().checked_sub(1 + before_last) {
            None => self.previous,
            Some(0) => likelihoods[0] + self.first_excess,
            Some(number) => likelihoods[number],
        }
    }

    fn is_collapse(&self, kind: EventKind) -> bool {
        match kind {
            EventKind::CovarianceKept | EventKind::CorrelationsDropped => self.refuses_singular,
            EventKind::ParametersKept | EventKind::Reseeded => self.refuses_empty,
            _ => false,
        }
    }
}

impl Rule for Lagged {
    fn lags(&self) -> bool {
        true
    }

    fn verdict(&self, seen: &Seen<'_>) -> Option<Termination> {
        if seen.events.iter().any(|event| self.is_collapse(event.kind)) {
            return Some(Termination::Collapsed);
        }
        // A component that was just moved must be fitted before it can be part of the result.
        let is_moved = |event: &Event| event.kind == EventKind::Reseeded && event.last == seen.round;
        let change = self.likelihood(seen.likelihoods, 0) - self.likelihood(seen.likelihoods, 1);
        (change.abs() < self.tolerance && !seen.events.iter().any(is_moved)).then_some(Termination::Converged)
    }
}
