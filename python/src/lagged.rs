//! Ends fits as scikit-learn does: by the likelihood before an update, keeping the last one.

use mixtura::driver::{Event, EventKind, Observer, Quiet, Run, State};
use mixtura::family::Family;
use mixtura::pass::Threads;
use mixtura::{Error, Options};
use pyo3::prelude::*;

use crate::fit::Ended;
use crate::watch::Watch;

/// The reason of a fit that came to a singular component and was not to repair it.
pub(crate) const COLLAPSED: &str = "collapsed";
/// The reason of a fit that was stopped.
const INTERRUPTED: &str = "interrupted";

/// How a fit ends if the likelihood of a model is not waited for: a round's change is that of the models before
/// its update, and the last update is kept.
#[derive(FromPyObject, Clone, Copy)]
#[pyo3(from_item_all)]
pub(crate) struct Lag {
    /// The likelihood that the first one is compared with.
    previous: f64,
    /// What the weights of the first model lacked to 1, as a logarithm.
    ln_weight: f64,
}

/// The one loop with the lagged rule.
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
        // A component that was just moved has to be fitted before it can be part of an answer.
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

/// Whether a component is lost: nothing keeps a singular covariance from being so but a floor, and nothing keeps a
/// component from its last row but a floor or a ridge.
fn is_collapse(events: &[Event], options: &Options) -> bool {
    let is_lost = |kind| match kind {
        EventKind::CovarianceKept | EventKind::CorrelationsDropped => options.regularization == 0.0,
        EventKind::ParametersKept | EventKind::Reseeded => options.regularization == 0.0 && options.ridge == 0.0,
        _ => false,
    };
    events.iter().any(|event| is_lost(event.kind))
}
