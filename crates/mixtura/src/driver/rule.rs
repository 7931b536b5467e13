//! Rules that end a run before its limit on rounds.

use super::{Event, EventKind, Termination};

/// When a run ends, beside the limit on rounds and a request to stop.
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
    /// Why the run ends now, if it does.
    fn verdict(&self, seen: &Seen<'_>) -> Option<Termination>;

    /// Whether the rule is asked after the update of a round, not before it. The last update is then the answer, and is
    /// not evaluated.
    fn lags(&self) -> bool {
        false
    }
}

/// What a rule may look at.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Rounds done.
    pub round: u64,
    /// Mean log-likelihoods of all models evaluated so far, the first model's first.
    pub likelihoods: &'a [f64],
    /// What happened so far.
    pub events: &'a [Event],
    /// What the algorithm's own rule says for the tolerance in the options.
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

/// The algorithm's own rule, for the tolerance in the options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settled;

impl Rule for Settled {
    fn verdict(&self, seen: &Seen<'_>) -> Option<Termination> {
        seen.settled
    }
}

/// scikit-learn's rule: a round's change is that of the models before its update, and the last update is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lagged {
    /// The run ends when the mean log-likelihood changes by less; with 0, only at the limit on rounds.
    pub tolerance: f64,
    /// The likelihood that the first model's is compared with.
    pub previous: f64,
    /// Added to the first model's likelihood, whose weights may not have summed to 1.
    pub first_excess: f64,
    /// Whether a singular covariance ends the run.
    pub refuses_singular: bool,
    /// Whether a component without rows ends the run.
    pub refuses_empty: bool,
}

impl Lagged {
    /// The likelihood of model `number` as the rule sees it; number −1 is what the first is compared with.
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
        // A component that was just moved has to be fitted before it can be part of an answer.
        let is_moved = |event: &Event| event.kind == EventKind::Reseeded && event.last == seen.round;
        let change = self.likelihood(seen.likelihoods, 0) - self.likelihood(seen.likelihoods, 1);
        (change.abs() < self.tolerance && !seen.events.iter().any(is_moved)).then_some(Termination::Converged)
    }
}
