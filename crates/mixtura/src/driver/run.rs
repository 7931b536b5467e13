//! Runs one restart from its first model to its end; its state can be saved and continued.

use serde::{Deserialize, Serialize};

use super::average::{Sum, Tail};
use super::event::Event;
use super::termination::is_flat;
use super::update::update;
use super::{Algorithm, Observer, Options, SemResult, Termination};
use crate::family::{Family, Floor};
use crate::pass::{Assignment, Engine, Pass, Precision, Tally};
use crate::random::{Address, Purpose};
use crate::{Error, Mixture};

/// Everything that a restart needs to go on: save it between rounds, continue with the same bits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct State<F: Family> {
    /// Number of the restart, from 0.
    pub restart: u64,
    /// Rounds done.
    pub round: u64,
    /// The model after them.
    pub model: Mixture<F>,
    /// Least spread of components.
    pub floor: Floor,
    /// Mean log-likelihoods of all models evaluated so far, the initial one first.
    pub likelihoods: Vec<f64>,
    /// The best model evaluated so far.
    pub best: Option<(Mixture<F>, f64)>,
    /// How often each component was moved to a new place.
    pub reseeds: Vec<u32>,
    /// Last round with a repair: stopping rules look only at what came after.
    pub repaired: Option<u64>,
    /// What happened so far.
    pub events: Vec<Event>,
    /// Statistics for SEM's average.
    pub(crate) tail: Tail<F>,
    /// SAEM's averaged statistics.
    pub(crate) average: Option<Sum<F::Moments>>,
}

impl<F: Family> State<F> {
    /// Before the first round.
    pub fn new(model: Mixture<F>, restart: u64, floor: Floor) -> Self {
        let reseeds = vec![0; model.n_components()];
        Self {
            restart,
            round: 0,
            model,
            floor,
            likelihoods: Vec::new(),
            best: None,
            reseeds,
            repaired: None,
            events: Vec::new(),
            tail: Tail::new(),
            average: None,
        }
    }

    /// Over how many rounds SEM's statistics are averaged so far; 0 while its likelihood is not flat.
    pub fn n_averaged(&self) -> u64 {
        self.tail.n_rounds()
    }
}

/// One restart under way.
#[derive(Debug)]
pub struct Run<F: Family> {
    state: State<F>,
    termination: Termination,
    answer: (Mixture<F>, f64),
}

impl<F: Family> Run<F> {
    /// A run from a state, fresh or saved.
    pub fn new(state: State<F>) -> Self {
        let answer = (state.model.clone(), f64::NAN);
        Self { state, termination: Termination::RoundLimit, answer }
    }

    /// The state, to look at or to save.
    pub fn state(&self) -> &State<F> {
        &self.state
    }

    /// Why the run ended.
    pub fn termination(&self) -> Termination {
        self.termination
    }

    /// The one loop: model → pass → statistics → model, until a stopping rule holds.
    ///
    /// The likelihood of a model falls out of the pass that makes the next one, so the last model
    /// costs one pass more.
    pub fn go<E: Engine<F>>(&mut self, engine: &E, options: &Options, observer: &dyn Observer) -> Result<(), Error> {
        let centre = &engine.summary().centre;
        loop {
            let (restart, round) = (self.state.restart, self.state.round);
            observer.pass_started(restart, round);
            let assignment = self.assignment(options);
            let pass = Pass {
                model: self.state.model.clone(),
                centre: centre.clone(),
                assignment,
                precision: options.precision,
            };
            let tally = engine.run(&pass)?;
            let likelihood = tally.mean_ln_likelihood();
            self.note(likelihood);
            observer.evaluated(restart, round, likelihood);
            self.remember(options, assignment, &tally);
            if let Some(termination) = self.verdict(options, observer) {
                self.termination = termination;
                self.answer = self.answer(engine, options)?;
                return Ok(());
            }
            let n_repairs = update(engine, options, &mut self.state, &tally)?;
            self.state.round += 1;
            observer.updated(restart, self.state.round, n_repairs);
        }
    }

    /// The answer of a run that has ended, and its mean log-likelihood.
    pub fn result(&self) -> (&Mixture<F>, f64) {
        (&self.answer.0, self.answer.1)
    }

    /// For SEM as the options say, else the last model; the best if interrupted. A likelihood that
    /// came from a pass in single precision is evaluated anew.
    fn answer<E: Engine<F>>(&self, engine: &E, options: &Options) -> Result<(Mixture<F>, f64), Error> {
        let state = &self.state;
        let is_sem = options.algorithm == Algorithm::Sem;
        let is_interrupted = self.termination == Termination::Interrupted;
        let wants_last = !is_interrupted && (!is_sem || options.result == SemResult::Last);
        let last = (state.model.clone(), state.likelihoods.last().copied().unwrap_or(f64::NAN));
        let (model, likelihood) = state.best.clone().filter(|_| !wants_last).unwrap_or(last);
        let is_sampled = matches!(options.algorithm, Algorithm::Sem | Algorithm::Saem);
        let found = if is_sampled && options.precision == Precision::Certified {
            evaluated(engine, model)?
        } else {
            (model, likelihood)
        };
        if is_sem
            && !is_interrupted
            && options.result == SemResult::Average
            && let Some((average, _)) = state.tail.model(&state.model.components, &state.floor)
        {
            let average = evaluated(engine, average)?;
            return Ok(if average.1 >= found.1 { average } else { found });
        }
        Ok(found)
    }

    /// Keeps statistics that a later answer may be made of.
    fn remember(&mut self, options: &Options, assignment: Assignment, tally: &Tally<F::Moments>) {
        let is_sem = options.algorithm == Algorithm::Sem;
        if is_sem && options.result == SemResult::Average && matches!(assignment, Assignment::Sampled(_)) {
            let State { model, likelihoods, floor, tail, .. } = &mut self.state;
            tail.add(&model.components, tally, likelihoods, floor);
        }
    }

    fn assignment(&self, options: &Options) -> Assignment {
        if self.state.round >= options.rounds {
            return Assignment::Evaluate;
        }
        match options.algorithm {
            Algorithm::Em => Assignment::Soft,
            Algorithm::Cem => Assignment::Hard,
            Algorithm::Sem | Algorithm::Saem => Assignment::Sampled(Address {
                seed: options.seed,
                restart: self.state.restart,
                round: self.state.round,
                purpose: Purpose::Label,
            }),
        }
    }

    fn note(&mut self, likelihood: f64) {
        // A run that was interrupted and goes on evaluates its last model again.
        self.state.likelihoods.truncate(self.state.round as usize);
        self.state.likelihoods.push(likelihood);
        // Of models that differ by rounding alone the later one has settled further.
        let rounding = 4.0 * f64::EPSILON * likelihood.abs();
        if self.state.best.as_ref().is_none_or(|(_, best)| likelihood >= *best - rounding) {
            self.state.best = Some((self.state.model.clone(), likelihood));
        }
    }

    fn verdict(&self, options: &Options, observer: &dyn Observer) -> Option<Termination> {
        if observer.is_stopped() {
            return Some(Termination::Interrupted);
        }
        let likelihoods = &self.state.likelihoods;
        // Models from the last repaired or rough one on: earlier ones were another start.
        let since = self.state.repaired.map_or(0, |round| round as usize);
        let change = |pair: &[f64]| (pair[1] - pair[0]).abs();
        let settled = |last: &[f64]| last.windows(2).all(|pair| change(pair) < options.tolerance);
        if options.tolerance > 0.0 {
            match options.algorithm {
                Algorithm::Em | Algorithm::Cem => {
                    let n = likelihoods.len();
                    // Repairs in every round may still lead nowhere: three small changes end that.
                    if n >= since + 2 && settled(&likelihoods[n - 2..]) || n >= 4 && settled(&likelihoods[n - 4..]) {
                        return Some(Termination::Converged);
                    }
                }
                Algorithm::Saem => {
                    let (n, averaged) = (likelihoods.len(), (options.rounds / 2) as usize);
                    if n >= averaged + 4 && settled(&likelihoods[n - 4..]) {
                        return Some(Termination::Converged);
                    }
                }
                Algorithm::Sem if is_flat(likelihoods) => return Some(Termination::Flat),
                Algorithm::Sem => {}
            }
        }
        (self.state.round >= options.rounds).then_some(Termination::RoundLimit)
    }
}

/// A model and its mean log-likelihood in double precision.
fn evaluated<F: Family, E: Engine<F>>(engine: &E, model: Mixture<F>) -> Result<(Mixture<F>, f64), Error> {
    let centre = engine.summary().centre.clone();
    let pass = Pass { model, centre, assignment: Assignment::Evaluate, precision: Precision::Double };
    let tally = engine.run(&pass)?;
    Ok((pass.model, tally.mean_ln_likelihood()))
}
