//! Records what happened during a fit: repairs, clippings, limits. Nothing is silent.

use serde::{Deserialize, Serialize};

/// Something the user should know about, collected over rounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The component, from 0; `None` if it concerns the whole fit.
    pub component: Option<usize>,
    /// First round in which it happened.
    pub first: u64,
    /// Last round in which it happened.
    pub last: u64,
    /// Number of rounds in which it happened.
    pub count: u64,
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EventKind {
    /// An empty component was moved to a row drawn from the data.
    Reseeded,
    /// A component with too few rows: its covariance was blended with the previous one.
    Blended,
    /// The estimated covariance of a component was singular; the previous one was kept.
    CovarianceKept,
    /// The estimated covariance of a component was singular to working precision, for example because of one row far
    /// from all others. Its variances were estimated without correlations.
    CorrelationsDropped,
    /// An empty component kept its last valid parameters: it became empty again after five reseeds, in EM's last round,
    /// or in a batch of rows.
    ParametersKept,
    /// A component far from the centre of the rows became much narrower than before. Its covariance is computed
    /// relative to its own mean from now on.
    Recentred,
    /// The floor raised the smallest variances of a component.
    Clipped,
    /// In the result, a component is at the floor in some direction of non-constant columns. Its density there, and
    /// therefore the likelihood, depends on the floor.
    OnFloor,
    /// In the result, a component has fewer rows than are needed to estimate it.
    FewRows,
    /// The fit reached the limit on rounds.
    RoundLimit,
    /// Restarts ended with likelihoods that differ by more than the tolerance.
    RestartsDisagree,
    /// EM from the same start reached a higher likelihood than `auto`, and its model was kept.
    GuardWon,
    /// Row weights are not whole numbers, so each row's label carried its full weight.
    FractionalWeights,
}

impl EventKind {
    /// Whether the update was not the plain maximum, so that the likelihood may have decreased.
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

/// Records an event, or another occurrence of it.
pub(crate) fn record(events: &mut Vec<Event>, kind: EventKind, component: Option<usize>, round: u64) {
    if let Some(event) = events.iter_mut().find(|event| event.kind == kind && event.component == component) {
        event.last = round;
        event.count += 1;
    } else {
        events.push(Event { kind, component, first: round, last: round, count: 1 });
    }
}
