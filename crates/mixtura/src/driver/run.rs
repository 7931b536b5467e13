//! The main loop: model → pass → statistics → model, from an initial model until a rule ends it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::origin::moved_back;
use super::procedure::{Procedure, Steps};
use super::thrift::Thrift;
use super::{Observer, Options, Problem, Seen, Termination};
use crate::family::{Family, Floor};
use crate::pass::{Assignment, Precision, Tally};
use crate::random::{Address, Purpose};
use crate::sweep::Engine;
use crate::{Error, Mixture};

/// A model and its likelihood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Evaluated<F: Family> {
    /// The model.
    pub model: Mixture<F>,
    /// Its mean log-likelihood per unit of weight, in nats.
    pub mean_ln_likelihood: f64,
}

/// What all algorithms keep between two rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct State<F: Family> {
    /// Number of the restart, from 0.
    pub restart: u64,
    /// Rounds done.
    pub round: u64,
    /// The vector subtracted from all rows, if they are far from 0. Models refer to the shifted rows.
    pub origin: Option<Vec<f64>>,
    /// The current model.
    pub model: Mixture<F>,
    /// How narrow components may become.
    pub floor: Floor,
    /// Mean log-likelihoods of all models evaluated so far, starting with the initial model.
    pub likelihoods: Vec<f64>,
    /// The best model evaluated so far.
    pub best: Option<Evaluated<F>>,
    /// How often each component was moved to a new place.
    pub reseeds: Vec<u32>,
    /// Last round with a repair. Stopping rules only consider later rounds.
    pub repaired: Option<u64>,
    /// What happened so far.
    pub events: Vec<Event>,
    /// Whether draws use single precision.
    #[serde(default)]
    pub(super) thrift: Thrift,
    /// Set while the model is on trial.
    pub(super) trial: Option<Trial<F>>,
}

/// What to do if the next pass shows that the model is not good enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Trial<F: Family> {
    /// The model to use instead.
    pub(super) instead: Mixture<F>,
    /// The mean log-likelihood that the model on trial must reach.
    pub(super) target: f64,
}

impl<F: Family> State<F> {
    fn new(origin: Option<Vec<f64>>, model: Mixture<F>, restart: u64, floor: Floor) -> Self {
        let reseeds = vec![0; model.n_components()];
        Self {
            restart,
            round: 0,
            origin,
            model,
            floor,
            likelihoods: Vec::new(),
            best: None,
            reseeds,
            repaired: None,
            events: Vec::new(),
            thrift: Thrift::default(),
            trial: None,
        }
    }

    /// Number of components and of columns.
    fn shape(&self) -> (usize, usize) {
        (self.model.n_components(), self.model.components.n_columns())
    }

    /// Mean log-likelihood of the last evaluated model; NaN if there is none.
    pub(super) fn last_likelihood(&self) -> f64 {
        self.likelihoods.last().copied().unwrap_or(f64::NAN)
    }

    /// The current model as the last pass evaluated it.
    pub(super) fn last(&self) -> Evaluated<F> {
        Evaluated { model: self.model.clone(), mean_ln_likelihood: self.last_likelihood() }
    }

    /// The best model evaluated so far, or the current one if there is none.
    pub(super) fn best_or_last(&self) -> Evaluated<F> {
        self.best.clone().unwrap_or_else(|| self.last())
    }

    fn note(&mut self, likelihood: f64) {
        // A run that continues after an interruption evaluates its last model again.
        self.likelihoods.truncate(self.round as usize);
        self.likelihoods.push(likelihood);
        // If models differ only by rounding, the later one is closer to convergence; if the same model is evaluated
        // twice, the later evaluation may have used higher precision.
        let rounding = 4.0 * f64::EPSILON * likelihood.abs();
        let is_best =
            |best: &Evaluated<F>| likelihood >= best.mean_ln_likelihood - rounding || best.model == self.model;
        if self.best.as_ref().is_none_or(is_best) {
            self.best = Some(self.last());
        }
    }
}

/// One restart in progress. Saved between rounds and loaded again, it gives the same bits, if the format keeps the bits
/// of every number: JSON does with serde_json's feature `float_roundtrip`.
///
/// Deserializing checks that all parts have as many components and columns as the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "", try_from = "Unchecked<F>")]
pub struct Run<F: Family> {
    state: State<F>,
    procedure: Procedure<F>,
    end: Option<End<F>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
struct End<F: Family> {
    termination: Termination,
    answer: Evaluated<F>,
}

/// A run as deserialized.
#[derive(Deserialize)]
#[serde(bound = "", rename = "Run")]
struct Unchecked<F: Family> {
    state: State<F>,
    procedure: Procedure<F>,
    end: Option<End<F>>,
}

impl<F: Family> TryFrom<Unchecked<F>> for Run<F> {
    type Error = Error;

    fn try_from(Unchecked { state, procedure, end }: Unchecked<F>) -> Result<Self, Error> {
        let (n_components, n_columns) = state.shape();
        let best = state.best.as_ref().map(|best| &best.model);
        let instead = state.trial.as_ref().map(|trial| &trial.instead);
        let answer = end.as_ref().map(|end| &end.answer.model);
        for model in [best, instead, answer].into_iter().flatten() {
            check_length("components", model.n_components(), n_components, "components of the model")?;
            check_length("columns", model.components.n_columns(), n_columns, "columns of the model")?;
        }
        let n_origin = state.origin.as_ref().map_or(n_columns, Vec::len);
        check_length("origins", n_origin, n_columns, "columns")?;
        check_length("scales", state.floor.scale.len(), n_columns, "columns")?;
        check_length("reseeds", state.reseeds.len(), n_components, "components")?;
        Ok(Self { state, procedure, end })
    }
}

fn check_length(what: &'static str, n_found: usize, n_expected: usize, of: &'static str) -> Result<(), Error> {
    if n_found == n_expected { Ok(()) } else { Err(Error::Length { what, n_found, n_expected, of }) }
}

impl<F: Family> Run<F> {
    /// A run before its first round. The model and the floor refer to rows from which `origin` was subtracted.
    pub(super) fn new(
        options: &Options,
        restart: u64,
        origin: Option<Vec<f64>>,
        model: Mixture<F>,
        floor: Floor,
    ) -> Self {
        Self { state: State::new(origin, model, restart, floor), procedure: Procedure::new(options), end: None }
    }

    /// The state shared by all algorithms.
    pub fn state(&self) -> &State<F> {
        &self.state
    }

    /// The state shared by all algorithms, which may be changed between rounds.
    #[doc(hidden)]
    pub fn state_mut(&mut self) -> &mut State<F> {
        &mut self.state
    }

    /// The current model, in the data's own coordinates.
    pub fn model(&self) -> Cow<'_, Mixture<F>> {
        let moved = moved_back(&self.state.model, self.state.origin.as_deref());
        moved.map_or(Cow::Borrowed(&self.state.model), Cow::Owned)
    }

    /// Why the run ended; `None` while it is in progress.
    pub fn termination(&self) -> Option<Termination> {
        self.end.as_ref().map(|end| end.termination)
    }

    /// Whether it has come to its own end. A run that was interrupted continues, and so does one that ended at a limit
    /// on rounds that was raised since.
    pub(super) fn has_ended(&self, options: &Options) -> bool {
        self.termination().is_some_and(|termination| match termination {
            Termination::Interrupted => false,
            Termination::RoundLimit => self.state.round >= options.rounds,
            _ => true,
        })
    }

    /// The result of a run that has ended. If it was interrupted, this is the best model so far.
    pub fn answer(&self) -> Option<&Evaluated<F>> {
        self.end.as_ref().map(|end| &end.answer)
    }

    /// Number of rounds over which SEM's statistics are averaged so far; 0 while its likelihood is not flat.
    pub fn n_averaged(&self) -> u64 {
        self.procedure.n_averaged()
    }

    /// The round after which `auto` switched to EM; `None` before that and for other algorithms.
    pub fn em_since(&self) -> Option<u64> {
        self.procedure.em_since()
    }

    /// How far likelihoods of the same result may differ.
    pub(super) fn noise(&self) -> f64 {
        self.procedure.noise(&self.state)
    }

    /// Runs until a rule ends it. A run that was interrupted continues, and so does one that ended at a limit on rounds
    /// that was raised since; a run that has ended otherwise stays as it is.
    pub fn go<E: Engine>(&mut self, problem: &Problem<'_, F, E>, observer: &dyn Observer) -> Result<(), Error> {
        while !self.step(problem, observer)? {}
        Ok(())
    }

    /// One iteration of the loop: a pass under the model and, unless a rule ends the run, the next model. Returns
    /// whether the run has ended.
    ///
    /// A pass that is stopped ends the run with the best model evaluated so far, or with [`Error::Interrupted`] if
    /// there is none. The state is the one before the pass, and can be saved and continued.
    pub fn step<E: Engine>(&mut self, problem: &Problem<'_, F, E>, observer: &dyn Observer) -> Result<bool, Error> {
        let (n_components, n_columns) = self.state.shape();
        problem.source().check_width(n_columns)?;
        if n_components != problem.n_components() {
            let (expected, given) = (n_components.to_string(), problem.n_components().to_string());
            return Err(Error::Differs { what: "the number of components", expected, of: "saved fit", given });
        }
        if self.has_ended(problem.options()) {
            return Ok(true);
        }
        let found = match self.turn(problem, observer) {
            Err(Error::Interrupted) if self.state.best.is_some() => Some(Termination::Interrupted),
            other => other?,
        };
        self.end = None;
        if let Some(termination) = found {
            self.end = Some(match self.answer_after(problem, termination) {
                // Stopped while the answer was evaluated: what is known, and a run that can go on.
                Err(Error::Interrupted) => {
                    End { termination: Termination::Interrupted, answer: self.state.best_or_last() }
                }
                answer => End { termination, answer: answer? },
            });
        }
        Ok(self.end.is_some())
    }

    fn turn<E: Engine>(
        &mut self,
        problem: &Problem<'_, F, E>,
        observer: &dyn Observer,
    ) -> Result<Option<Termination>, Error> {
        let (restart, round) = (self.state.restart, self.state.round);
        let lags = problem.rule().lags();
        if lags && round >= problem.options().rounds {
            return Ok(Some(Termination::RoundLimit));
        }
        observer.pass_started(restart, round);
        let tally = self.pass(problem)?;
        self.state.note(tally.mean_ln_likelihood());
        observer.evaluated(restart, round, tally.mean_ln_likelihood());
        if round < problem.options().rounds {
            self.procedure.keep(&self.state, &tally, problem.options());
        }
        if !lags && let Some(termination) = self.verdict(problem, observer) {
            return Ok(Some(termination));
        }
        let (n_unsure, n_rows) = (tally.n_unsure, tally.n_rows);
        let n_repairs = self.procedure.next(problem, &mut self.state, tally)?;
        self.state.thrift.learn(n_unsure, n_rows);
        self.state.round += 1;
        observer.updated(restart, self.state.round, n_repairs);
        Ok(if lags { self.verdict(problem, observer) } else { None })
    }

    /// One pass under the model. If the model was on trial and is not good enough, another pass under its replacement.
    fn pass<E: Engine>(&mut self, problem: &Problem<'_, F, E>) -> Result<Tally<F::Moments>, Error> {
        let tally = problem.pass(&self.state, self.assignment(problem.options()))?;
        let Some(trial) = self.state.trial.take() else { return Ok(tally) };
        let is_accepted = tally.mean_ln_likelihood() >= trial.target;
        self.procedure.tried(self.state.round, is_accepted);
        if is_accepted {
            return Ok(tally);
        }
        self.state.model = trial.instead;
        problem.pass(&self.state, self.assignment(problem.options()))
    }

    fn assignment(&self, options: &Options) -> Assignment {
        let State { restart, round, .. } = self.state;
        if round >= options.rounds {
            return Assignment::Evaluate;
        }
        self.procedure.assignment(Address { seed: options.seed, restart, round, purpose: Purpose::Label })
    }

    fn verdict<E: Engine>(&self, problem: &Problem<'_, F, E>, observer: &dyn Observer) -> Option<Termination> {
        let (state, options) = (&self.state, problem.options());
        let is_stopped = || observer.is_stopped() || problem.source().is_stopped();
        let lags = problem.rule().lags();
        if !lags && is_stopped() {
            return Some(Termination::Interrupted);
        }
        let settled = if options.tolerance > 0.0 { self.procedure.settled(state, options) } else { None };
        let seen = Seen { round: state.round, likelihoods: &state.likelihoods, events: &state.events, settled };
        let found = problem.rule().verdict(&seen);
        if lags {
            return found.or_else(|| is_stopped().then_some(Termination::Interrupted));
        }
        found.or_else(|| (state.round >= options.rounds).then_some(Termination::RoundLimit))
    }

    /// The algorithm's result, or the best model if the run was stopped. A likelihood from a single-precision pass is
    /// evaluated again.
    fn answer_after<E: Engine>(
        &self,
        problem: &Problem<'_, F, E>,
        termination: Termination,
    ) -> Result<Evaluated<F>, Error> {
        let state = &self.state;
        if problem.rule().lags() {
            return Ok(state.last());
        }
        if termination != Termination::Interrupted {
            return self.procedure.answer(problem, state);
        }
        let best = state.best_or_last();
        // The best model may be one of `auto`'s SEM, even if it goes on with EM by now.
        let is_exact = !self.procedure.samples() || problem.options().precision == Precision::Double;
        if is_exact { Ok(best) } else { problem.evaluated(state, best.model) }
    }
}
