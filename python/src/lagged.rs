//! Runs fits with scikit-learn's stopping rule: by the likelihood before an update, keeping the last update.

use mixtura::driver::{Event, EventKind, Observer, Quiet, Run, State};
use mixtura::family::Family;
use mixtura::pass::Threads;
use mixtura::{Error, Options};
use pyo3::prelude::*;

use crate::fit::Ended;
use crate::watch::Watch;

/// The reason of a fit that ended with a singular component.
pub(crate) const COLLAPSED: &str = "collapsed";
/// The reason of a fit that was stopped.
const INTERRUPTED: &str = "interrupted";

/// The stopping rule: the change of a round is that of the likelihoods before the updates, and the last update is kept.
#[derive(FromPyObject, Clone, Copy)]
#[pyo3(from_item_all)]
pub(crate) struct Lag {
    /// The likelihood that the first one is compared with.
    previous: f64,
    /// Logarithm of the sum that the weights of the first model had before they were normalised.
    ln_weight: f64,
}

/// Runs the rounds with this rule.
pub(crate) fn go_lagged<F: Family>(
    mut run: Run<F>,
    engine: &Threads<'_, F>,
    options: &Options,
    lag: Lag,
    watch: &Watch<'_>,
) -> Result<Ended<F>, Error> {
    let endless = Options { tolerance: 0.0, ..options.clone() };
    let (mut likelihoods, mut previous) = (Vec::new(), lag.previous);
    let (mut reason, mut has_converged) = ("round-limit", false);
    for round in 1..=options.rounds {
        if run.step(engine, &endless, &Quiet)? {
            reason = INTERRUPTED;
            break;
        }
        if is_collapse(&run.state().events, options) {
            reason = COLLAPSED;
            break;
        }
        // A component that was just moved has to be fitted before the fit may end.
        let is_moved = |event: &Event| event.kind == EventKind::Reseeded && event.last == round;
        let is_reseeded = run.state().events.iter().any(is_moved);
        let ln_weight = if round == 1 { lag.ln_weight } else { 0.0 };
        let likelihood = run.state().likelihoods.last().copied().unwrap_or(f64::NAN) + ln_weight;
        likelihoods.push(likelihood);
        watch.tell(run.state().restart, round, likelihood);
        let change = likelihood - std::mem::replace(&mut previous, likelihood);
        if change.abs() < options.tolerance && !is_reseeded {
            (reason, has_converged) = ("converged", true);
            break;
        }
        if watch.is_stopped() {
            reason = INTERRUPTED;
            break;
        }
    }
    let State { model, round, events, .. } = run.state();
    let (answer, rounds, events) = ((model.clone(), previous), *round, events.clone());
    Ok(Ended { answer, likelihoods, rounds, reason, has_converged, events })
}

/// Whether a component has collapsed: only a floor repairs a singular covariance, and only a floor or a ridge keeps a
/// component with a single row.
fn is_collapse(events: &[Event], options: &Options) -> bool {
    let is_lost = |kind| match kind {
        EventKind::CovarianceKept | EventKind::CorrelationsDropped => options.regularization == 0.0,
        EventKind::ParametersKept | EventKind::Reseeded => options.regularization == 0.0 && options.ridge == 0.0,
        _ => false,
    };
    events.iter().any(|event| is_lost(event.kind))
}
