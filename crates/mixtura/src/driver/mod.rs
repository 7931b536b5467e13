//! Drives a fit: restarts, rounds, stopping rules. The one loop is [`Run::go`]; each algorithm has a file of its own.

mod accelerate;
mod attempts;
mod auto;
mod average;
mod cem;
mod em;
mod event;
mod observer;
mod online;
mod options;
mod origin;
mod problem;
mod procedure;
mod rule;
mod run;
mod saem;
mod sem;
mod short;
mod termination;
mod update;

pub use attempts::Attempts;
pub use event::{Event, EventKind};
pub use observer::{Observer, Quiet};
pub use online::{Gains, Online};
pub use options::{Algorithm, Options, SemResult};
pub use problem::Problem;
pub use rule::{Lagged, Rule, Seen, Settled};
pub use run::{Evaluated, Run, State};
pub use termination::Termination;

use serde::{Deserialize, Serialize};

use self::attempts::Attempt;
use crate::family::Family;
use crate::sweep::{Engine, Source, Summary};
use crate::{Error, Mixture, Start};

/// What a fit found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Fit<F: Family> {
    /// The model.
    pub model: Mixture<F>,
    /// Its log-likelihood for each unit of weight, in nats.
    pub mean_ln_likelihood: f64,
    /// Rounds of the restart that won.
    pub rounds: u64,
    /// Why that restart ended; `Interrupted` if any restart that was asked for did not end by itself.
    pub termination: Termination,
    /// Log-likelihood that each restart ended with, in their order. After an interruption there are only those
    /// that had evaluated a model: the others were not begun, or not for long enough.
    pub restarts: Vec<f64>,
    /// How many restarts were asked for.
    pub restarts_asked: u64,
    /// How many of them ended by themselves; as many as were asked for unless the fit was interrupted.
    pub restarts_ended: u64,
    /// Which entry of `restarts` won, from 0.
    pub winner: usize,
    /// Under which number observers saw it: its own or, if the guard's EM won, that plus the number
    /// of restarts.
    pub observed: u64,
    /// What happened on the way of the restart that won.
    pub events: Vec<Event>,
}

/// Fits a mixture to rows behind any engine: starts, runs to the end, and keeps the best of all restarts.
///
/// A fit that is stopped returns the best model evaluated so far; [`Error::Interrupted`] if there is none yet. See
/// [`Gmm`](crate::Gmm) for a shorter way, and [`Problem`] for the parts that this puts together.
pub fn fit<F: Family, E: Engine>(
    source: &Source<E>,
    n_components: usize,
    start: &Start<F>,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Fit<F>, Error> {
    Problem::new(source, n_components, start.clone(), options.clone())?.fit(observer)
}

impl<F: Family, E: Engine> Problem<'_, F, E> {
    /// Runs all restarts to their end, and keeps the best.
    pub fn fit(&self, observer: &dyn Observer) -> Result<Fit<F>, Error> {
        let mut attempts = Attempts::new(self);
        self.go(&mut attempts, observer)?;
        self.answer(&attempts)
    }

    /// The best of all restarts so far; [`Error::Interrupted`] if none has evaluated a model.
    pub fn answer(&self, attempts: &Attempts<F>) -> Result<Fit<F>, Error> {
        let (options, summary) = (self.options(), self.source().summary());
        let answered: Vec<(&Attempt<F>, &Run<F>)> =
            attempts.attempts.iter().filter_map(|attempt| Some((attempt, attempt.winner()?))).collect();
        let likelihood = |run: &Run<F>| run.answer().map_or(f64::NAN, |answer| answer.mean_ln_likelihood);
        let mut restarts: Vec<f64> = answered.iter().map(|(_, run)| likelihood(run)).collect();
        // Of equals the first one wins.
        let better = |best: usize, number: usize| if restarts[number] > restarts[best] { number } else { best };
        let winner = (0..restarts.len()).reduce(better).ok_or(Error::Interrupted)?;
        let (attempt, run) = answered[winner];
        let state = run.state();
        let n_ended = attempts.attempts.iter().filter(|attempt| attempt.has_ended()).count() as u64;
        let termination = match run.termination() {
            Some(termination) if n_ended == options.restarts => termination,
            _ => Termination::Interrupted,
        };
        let mut events = state.events.clone();
        if attempt.is_guard_better() {
            event::record(&mut events, EventKind::GuardWon, None, 0);
        }
        if run.termination() == Some(Termination::RoundLimit) && options.tolerance > 0.0 {
            event::record(&mut events, EventKind::RoundLimit, None, state.round);
        }
        if self.samples() && summary.weighted && !summary.whole_weights {
            event::record(&mut events, EventKind::FractionalWeights, None, 0);
        }
        record_meaningless(&mut events, run, summary);
        let lowest = restarts.iter().copied().fold(f64::INFINITY, f64::min);
        if restarts[winner] - lowest > options.tolerance.max(run.noise()) {
            event::record(&mut events, EventKind::RestartsDisagree, None, 0);
        }
        let Evaluated { model, mean_ln_likelihood } = self.moved_back(run)?;
        restarts[winner] = mean_ln_likelihood;
        Ok(Fit {
            model,
            mean_ln_likelihood,
            rounds: state.round,
            termination,
            restarts,
            restarts_asked: options.restarts,
            restarts_ended: n_ended,
            winner,
            observed: state.restart + if attempt.is_guard_better() { options.restarts } else { 0 },
            events,
        })
    }

    /// The answer of a run in the data's own coordinates, evaluated there if it was moved. If that cannot be done any
    /// more, the likelihood is that before rounding.
    fn moved_back(&self, run: &Run<F>) -> Result<Evaluated<F>, Error> {
        let moved = self.in_data_coordinates(run).ok_or(Error::Interrupted)?;
        if run.state().origin.is_none() {
            return Ok(moved);
        }
        match self.evaluated_about(None, moved.model.clone()) {
            Err(Error::Interrupted) => Ok(moved),
            other => other,
        }
    }
}

/// Records what makes the likelihood of an answer meaningless: components at the floor, or of too few rows.
fn record_meaningless<F: Family>(events: &mut Vec<Event>, run: &Run<F>, summary: &Summary) {
    let Some(Evaluated { model, .. }) = run.answer() else { return };
    let State { round, floor, .. } = run.state();
    // A constant column is at the floor by definition, in all components alike.
    let columns: Vec<usize> = (0..summary.minimum.len()).filter(|&d| summary.minimum[d] < summary.maximum[d]).collect();
    let is_on_floor = model.components.is_on_floor(floor, &columns);
    let fewest_rows = model.components.least_rows();
    for (k, is_on_floor) in is_on_floor.into_iter().enumerate() {
        if is_on_floor {
            event::record(events, EventKind::OnFloor, Some(k), *round);
        }
        // Half a row of slack: shares are rounded, and a row may be torn between two components.
        if model.weights[k] * (summary.n_rows as f64) < fewest_rows - 0.5 {
            event::record(events, EventKind::FewRows, Some(k), *round);
        }
    }
}
