//! Runs a fit: restarts, rounds, stopping rules. The main loop is [`Run::go`]; each algorithm has its own file.

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
mod race;
mod rule;
mod run;
mod saem;
mod sem;
mod short;
mod termination;
mod thrift;
mod update;

pub use attempts::Attempts;
pub use event::{Event, EventKind};
pub use observer::{Observer, Quiet};
pub use online::{Gains, Online};
pub use options::{Algorithm, Options, SemResult};
pub(crate) use options::{accepted, each_option};
pub use problem::Problem;
pub use race::{Entry, Level, Place, RaceRecord, RunnerUp, Standing};
pub use rule::{Lagged, Rule, Seen, Settled};
pub use run::{Evaluated, Run, State};
pub use termination::Termination;

use serde::{Deserialize, Serialize};

use self::attempts::Attempt;
use self::race::Race;
use crate::family::Family;
use crate::sweep::{Engine, Source, Summary};
use crate::{Error, Mixture, Start};

/// The result of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Fit<F: Family> {
    /// The model.
    pub model: Mixture<F>,
    /// Mean log-likelihood per unit of weight, in nats.
    pub mean_ln_likelihood: f64,
    /// Rounds of the winning restart.
    pub rounds: u64,
    /// Why the winning restart ended; `Interrupted` if any of the requested restarts was stopped.
    pub termination: Termination,
    /// Final mean log-likelihood of each restart, in order. After an interruption, only restarts that had evaluated a
    /// model are included.
    pub restarts: Vec<f64>,
    /// Number of restarts requested.
    pub restarts_asked: u64,
    /// Number of restarts that ended without being stopped; all of them unless the fit was interrupted.
    pub restarts_ended: u64,
    /// Index of the winner in `restarts`.
    pub winner: usize,
    /// The restart number under which observers saw the winner: its own or, if the guard's EM won, its own plus the
    /// number of restarts.
    pub observed: u64,
    /// What happened during the winning restart.
    pub events: Vec<Event>,
    /// If the starts raced: how. Only those that went on to all rows are among the `restarts` then.
    pub race: Option<RaceRecord>,
}

/// Fits a mixture to the rows of any engine: runs all restarts and keeps the best.
///
/// A fit that is stopped returns the best model evaluated so far, or [`Error::Interrupted`] if there is none yet.
/// [`Gmm`](crate::Gmm) is a shorter way to call this; [`Problem`] gives access to the parts.
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
    /// Runs all restarts and keeps the best.
    pub fn fit(&self, observer: &dyn Observer) -> Result<Fit<F>, Error> {
        let mut attempts = Attempts::new(self);
        self.go(&mut attempts, observer)?;
        self.answer(&attempts)
    }

    /// The best of all restarts so far; [`Error::Interrupted`] if none has evaluated a model.
    pub fn answer(&self, attempts: &Attempts<F>) -> Result<Fit<F>, Error> {
        self.check_saved(attempts)?;
        let (options, summary) = (self.options(), self.source().summary());
        let race = attempts.race.as_ref().map(|race| race.record().clone());
        if let Some(race) = &attempts.race
            && race.finalists().is_none()
        {
            return self.answer_of_race(race);
        }
        let answered: Vec<(&Attempt<F>, &Run<F>)> =
            attempts.attempts.iter().filter_map(|attempt| Some((attempt, attempt.winner()?))).collect();
        let likelihood = |run: &Run<F>| run.answer().map_or(f64::NAN, |answer| answer.mean_ln_likelihood);
        let mut restarts: Vec<f64> = answered.iter().map(|(_, run)| likelihood(run)).collect();
        // The first of equals wins.
        let better = |best: usize, number: usize| if restarts[number] > restarts[best] { number } else { best };
        let winner = (0..restarts.len()).reduce(better).ok_or(Error::Interrupted)?;
        let (attempt, run) = answered[winner];
        let state = run.state();
        let n_ended = attempts.attempts.iter().filter(|attempt| attempt.has_ended()).count() as u64;
        let termination = match run.termination() {
            Some(termination) if n_ended == attempts.attempts.len() as u64 => termination,
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
        if race.is_none() && restarts[winner] - lowest > options.tolerance.max(run.noise()) {
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
            restarts_asked: self.n_restarts(),
            restarts_ended: n_ended,
            winner,
            observed: state.restart + if attempt.is_guard_better() { self.n_restarts() } else { 0 },
            events,
            race,
        })
    }

    /// The best model of a race that was stopped, with its likelihood on the rows of its level.
    fn answer_of_race(&self, race: &Race<F>) -> Result<Fit<F>, Error> {
        let (run, n_rows) = race.best().ok_or(Error::Interrupted)?;
        let best = run.state().best_or_last();
        let model = origin::moved_back(&best.model, run.state().origin.as_deref()).unwrap_or(best.model);
        let n_starts = self.n_restarts();
        Ok(Fit {
            model,
            mean_ln_likelihood: best.mean_ln_likelihood,
            rounds: 0,
            termination: Termination::Interrupted,
            restarts: vec![best.mean_ln_likelihood],
            restarts_asked: n_starts,
            restarts_ended: 0,
            winner: 0,
            observed: run.state().restart,
            events: run.state().events.clone(),
            race: Some(RaceRecord { interrupted_on: Some(n_rows), ..race.record().clone() }),
        })
    }

    /// The result of a run in the data's own coordinates, evaluated there if it was shifted. If the engine has been
    /// stopped, the likelihood is the one before the shift.
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

/// Records what makes the likelihood of a result meaningless: components at the floor or with too few rows.
fn record_meaningless<F: Family>(events: &mut Vec<Event>, run: &Run<F>, summary: &Summary) {
    let Some(Evaluated { model, .. }) = run.answer() else { return };
    let State { round, floor, .. } = run.state();
    // A constant column is always at the floor, in all components.
    let columns: Vec<usize> = (0..summary.minimum.len()).filter(|&d| summary.minimum[d] < summary.maximum[d]).collect();
    let is_on_floor = model.components.is_on_floor(floor, &columns);
    let fewest_rows = model.components.fewest_rows();
    for (k, is_on_floor) in is_on_floor.into_iter().enumerate() {
        if is_on_floor {
            event::record(events, EventKind::OnFloor, Some(k), *round);
        }
        // Half a row of slack: shares are rounded, and a row may be divided between two components.
        if model.weights[k] * (summary.n_rows as f64) < fewest_rows - 0.5 {
            event::record(events, EventKind::FewRows, Some(k), *round);
        }
    }
}
