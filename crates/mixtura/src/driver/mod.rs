//! Drives a fit: restarts, rounds, convergence; the one loop is [`Run::go`].

mod average;
mod event;
mod guard;
mod leap;
mod observer;
mod online;
mod options;
mod origin;
mod run;
mod stage;
mod termination;
mod update;

pub use event::{Event, EventKind};
pub use observer::{Observer, Quiet};
pub use online::{Gains, Online};
pub use options::{Algorithm, Options, SemResult};
pub use run::{Run, State};
pub use termination::Termination;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::guard::{Attempt, guarded};
use crate::family::{Family, Floor};
use crate::pass::{Engine, Threads};
use crate::{Error, FullGaussian, Mixture, Rows, Start};

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

/// Fits a mixture of full-covariance Gaussians to rows in memory, on all threads.
///
/// Cost a round: O(N K D²). Memory: the rows and a few chunks. See [`fit`] for other families,
/// engines and observers.
pub fn fit_rows(
    rows: &Rows<'_>,
    n_components: usize,
    start: &Start<FullGaussian>,
    options: &Options,
) -> Result<Fit<FullGaussian>, Error> {
    fit(&Threads::new(rows)?, n_components, start, options, &Quiet)
}

/// Fits a mixture with an engine: starts, runs to the end, and keeps the best of all restarts.
///
/// A fit that is stopped returns the best model evaluated so far; [`Error::Interrupted`] if there is none yet.
pub fn fit<F: Family, E: Engine<F> + Sync>(
    engine: &E,
    n_components: usize,
    start: &Start<F>,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Fit<F>, Error> {
    options.check()?;
    check_components(engine, n_components, start)?;
    let floor = Floor::new(engine.summary(), options.regularization, options.ridge);
    let origin = origin::origin(engine.summary());
    let attempt = |restart: u64| -> Result<Attempt<F>, Error> {
        if observer.is_stopped() {
            return Err(Error::Interrupted);
        }
        engine.check_stopped()?;
        let model = start.first_model(engine, n_components, (options.seed, restart), &floor)?;
        let moved = origin.as_ref().and_then(|origin| Some((origin::moved(&model, origin)?, origin)));
        let (model, state) = match moved {
            None => (model.clone(), State::new(model, restart, floor.clone())),
            Some((model, origin)) => {
                (model.clone(), State::about(Some(origin.clone()), model, restart, floor.about(origin)))
            }
        };
        let mut run = Run::new(state);
        run.go(engine, options, observer)?;
        let mut attempt = Attempt { run, observed: restart };
        if options.guard {
            attempt = guarded(attempt, model, engine, options, observer)?;
        }
        observer.ended(restart);
        Ok(attempt)
    };
    // A restart that was stopped before it had evaluated a model is none.
    let restart = |number: u64| match attempt(number) {
        Ok(attempt) => Ok(Some(attempt)),
        Err(Error::Interrupted) => Ok(None),
        Err(error) => Err(error),
    };
    // Few chunks leave threads idle within a round; then restarts share them.
    let side_by_side = engine.n_chunks() < 2 * rayon::current_num_threads();
    let attempts: Vec<Option<Attempt<F>>> = if side_by_side {
        (0..options.restarts).into_par_iter().map(restart).collect::<Result<_, _>>()?
    } else {
        (0..options.restarts).map(restart).collect::<Result<_, _>>()?
    };
    let attempts: Vec<Attempt<F>> = attempts.into_iter().flatten().collect();
    if attempts.is_empty() { Err(Error::Interrupted) } else { best_of(&attempts, engine, options) }
}

/// Refuses a number of components that the rows, or the initial model, do not have.
pub fn check_components<F: Family>(
    engine: &impl Engine<F>,
    n_components: usize,
    start: &Start<F>,
) -> Result<(), Error> {
    if n_components == 0 {
        return Err(Error::Option { option: "the number of components", expected: "at least 1", value: "0".into() });
    }
    if let Start::Model(model) = start
        && model.n_components() != n_components
    {
        return Err(Error::Option {
            option: "the number of components",
            expected: "that of the initial model",
            value: n_components.to_string(),
        });
    }
    F::check_size(n_components, engine.summary().mean.len())?;
    let n_distinct = engine.distinct(n_components)?.len();
    if n_distinct < n_components {
        return Err(Error::TooFewDistinctRows { n_components, n_distinct });
    }
    Ok(())
}

fn best_of<F: Family>(attempts: &[Attempt<F>], engine: &impl Engine<F>, options: &Options) -> Result<Fit<F>, Error> {
    let mut restarts: Vec<f64> = attempts.iter().map(|attempt| attempt.run.result().1).collect();
    let mut winner = 0;
    for (number, likelihood) in restarts.iter().enumerate() {
        if *likelihood > restarts[winner] {
            winner = number;
        }
    }
    let Attempt { run, observed } = &attempts[winner];
    let mut events = run.state().events.clone();
    if *observed != run.state().restart {
        event::record(&mut events, EventKind::GuardWon, None, 0);
    }
    if run.termination() == Termination::RoundLimit && options.tolerance > 0.0 {
        event::record(&mut events, EventKind::RoundLimit, None, run.state().round);
    }
    let is_sampled = !matches!(options.algorithm, Algorithm::Em | Algorithm::Cem);
    if is_sampled && engine.is_weighted() && !engine.summary().whole_weights {
        event::record(&mut events, EventKind::FractionalWeights, None, 0);
    }
    record_meaningless(&mut events, run, engine);
    let has_ended = |attempt: &&Attempt<F>| attempt.run.termination() != Termination::Interrupted;
    let restarts_ended = attempts.iter().filter(has_ended).count() as u64;
    let all_ended = restarts_ended == options.restarts;
    let least = restarts.iter().copied().fold(f64::INFINITY, f64::min);
    if restarts[winner] - least > options.tolerance.max(noise(run.state(), options)) {
        event::record(&mut events, EventKind::RestartsDisagree, None, 0);
    }
    let (model, mean_ln_likelihood) = origin::moved_back(run, engine)?;
    restarts[winner] = mean_ln_likelihood;
    Ok(Fit {
        model,
        mean_ln_likelihood,
        rounds: run.state().round,
        termination: if all_ended { run.termination() } else { Termination::Interrupted },
        restarts,
        restarts_asked: options.restarts,
        restarts_ended,
        winner,
        observed: *observed,
        events,
    })
}

/// Records what makes the likelihood of an answer meaningless: components at the floor, or of too few rows.
fn record_meaningless<F: Family>(events: &mut Vec<Event>, run: &Run<F>, engine: &impl Engine<F>) {
    let (model, summary, round) = (run.result().0, engine.summary(), run.state().round);
    // A constant column is at the floor by definition, in all components alike.
    let columns: Vec<usize> = (0..summary.minimum.len()).filter(|&d| summary.minimum[d] < summary.maximum[d]).collect();
    let is_on_floor = model.components.is_on_floor(&run.state().floor, &columns);
    let least_rows = model.components.least_rows();
    for (k, is_on_floor) in is_on_floor.into_iter().enumerate() {
        if is_on_floor {
            event::record(events, EventKind::OnFloor, Some(k), round);
        }
        // Half a row of slack: shares are rounded, and a row may be torn between two components.
        if model.weights[k] * (summary.n_rows as f64) < least_rows - 0.5 {
            event::record(events, EventKind::FewRows, Some(k), round);
        }
    }
}

/// How far likelihoods of one and the same answer may lie apart: rounding, and for SEM and SAEM the
/// range of its last rounds.
fn noise<F: Family>(state: &State<F>, options: &Options) -> f64 {
    const ROUNDING: f64 = 1e-9;
    if !matches!(options.algorithm, Algorithm::Sem | Algorithm::Saem) {
        return ROUNDING;
    }
    let last = state.likelihoods.iter().rev().take(20);
    let (low, high) = last.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &l| (low.min(l), high.max(l)));
    (high - low).max(ROUNDING)
}
