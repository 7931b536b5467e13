//! Records what happened on the way: repairs, clippings, limits. Nothing is silent.

use serde::{Deserialize, Serialize};

/// Something a user should know of, gathered over rounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// To which component, from 0; none if to the fit as a whole.
    pub component: Option<usize>,
    /// First round it happened in.
    pub first: u64,
    /// Last round it happened in.
    pub last: u64,
    /// In how many rounds.
    pub count: u64,
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EventKind {
    /// An empty component was moved to a row drawn from the data.
    Reseeded,
    /// A component with too few rows had its covariance blended with the previous one.
    Blended,
    /// A component's estimated covariance was singular; the previous one was kept.
    CovarianceKept,
    /// A component's estimated covariance was singular within rounding, as one row far from all others makes it;
    /// its variances were estimated, without correlations.
    CorrelationsDropped,
    /// An empty component kept its last good parameters: it was empty once more after five reseeds, in EM's last
    /// round, or in a batch of rows.
    ParametersKept,
    /// A component far from the centre of its rows was found to be much narrower than before; its
    /// covariance is computed about its own mean from then on.
    Recentred,
    /// The floor raised a component's smallest variances.
    Clipped,
    /// In the answer a component is at the floor in some direction of columns that are not constant: there its
    /// density, and with it the likelihood, is what the floor makes it.
    OnFloor,
    /// In the answer a component has fewer rows than it takes to estimate one.
    FewRows,
    /// The fit ended because of the limit on rounds.
    RoundLimit,
    /// Restarts ended with likelihoods that differ by more than the tolerance.
    RestartsDisagree,
    /// EM from the same start ended with a higher likelihood than `auto`, and was kept.
    GuardWon,
    /// Row weights are not whole numbers, so each row's label carried its whole weight.
    FractionalWeights,
}

impl EventKind {
    /// Whether the update of the round was not the plain maximum: monotony is not promised then.
    pub fn is_repair(self) -> bool {
        matches!(
            self,
            Self::Reseeded
                | Self::Blended
                | Self::CovarianceKept
                | Self::CorrelationsDropped
                | Self::ParametersKept
                | Self::Recentred
        )
    }
}

/// Adds an occurrence to the events.
pub(crate) fn record(events: &mut Vec<Event>, kind: EventKind, component: Option<usize>, round: u64) {
    if let Some(event) = events.iter_mut().find(|event| event.kind == kind && event.component == component) {
        event.last = round;
        event.count += 1;
    } else {
        events.push(Event { kind, component, first: round, last: round, count: 1 });
    }
}
