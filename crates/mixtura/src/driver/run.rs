//! Runs one restart from its first model to its end; its state can be saved and continued.

use serde::{Deserialize, Serialize};

use super::average::{Sum, Tail};
use super::event::Event;
use super::leap::{Leaps, Trial, leap};
use super::stage::{batch, half, hand_over};
use super::termination::{BATCH, is_flat};
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
    /// What is subtracted from all rows, if they lie far from 0: models are those of such rows.
    #[serde(default)]
    pub origin: Option<Vec<f64>>,
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
    /// Rounds after which `auto`'s SEM handed over to EM.
    pub em_since: Option<u64>,
    /// Set while the model has to prove itself.
    pub(crate) trial: Option<Trial<F>>,
    /// EM's last steps, to extrapolate from.
    pub(crate) leaps: Leaps<F>,
}

impl<F: Family> State<F> {
    /// Before the first round.
    pub fn new(model: Mixture<F>, restart: u64, floor: Floor) -> Self {
        let reseeds = vec![0; model.n_components()];
        Self {
            restart,
            round: 0,
            origin: None,
            model,
            floor,
            likelihoods: Vec::new(),
            best: None,
            reseeds,
            repaired: None,
            events: Vec::new(),
            tail: Tail::new(),
            average: None,
            em_since: None,
            trial: None,
            leaps: Leaps::new(),
        }
    }

    /// Before the first round, with model and floor of rows from which `origin` is subtracted.
    pub(crate) fn about(origin: Option<Vec<f64>>, model: Mixture<F>, restart: u64, floor: Floor) -> Self {
        Self { origin, ..Self::new(model, restart, floor) }
    }

    /// What rows are taken about, in the coordinates of the model.
    fn centre<E: Engine<F>>(&self, engine: &E) -> Vec<f64> {
        super::origin::less(&engine.summary().centre, self.origin.as_deref())
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

    /// Says that the end was requested, though the run itself had come to one.
    pub(crate) fn interrupt(&mut self) {
        self.termination = Termination::Interrupted;
    }

    /// The one loop: model → pass → statistics → model, until a stopping rule holds.
    ///
    /// The likelihood of a model falls out of the pass that makes the next one, so the last model
    /// costs one pass more.
    pub fn go<E: Engine<F>>(&mut self, engine: &E, options: &Options, observer: &dyn Observer) -> Result<(), Error> {
        while !self.step(engine, options, observer)? {}
        Ok(())
    }

    /// One turn of the loop: a pass under the model and, unless a stopping rule holds, the model of the
    /// next round. Returns whether the run has ended.
    ///
    /// A pass that is stopped half-way ends the run with the best model evaluated so far; only if there is none it
    /// is [`Error::Interrupted`]. The state is that before the pass, and can be saved and continued.
    pub fn step<E: Engine<F>>(
        &mut self,
        engine: &E,
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<bool, Error> {
        match self.turn(engine, options, observer) {
            Err(Error::Interrupted) if self.state.best.is_some() => {
                self.termination = Termination::Interrupted;
                self.answer = self.answer(engine, options)?;
                Ok(true)
            }
            other => other,
        }
    }

    fn turn<E: Engine<F>>(&mut self, engine: &E, options: &Options, observer: &dyn Observer) -> Result<bool, Error> {
        let (restart, round) = (self.state.restart, self.state.round);
        observer.pass_started(restart, round);
        let tally = self.pass(engine, options)?;
        let likelihood = tally.mean_ln_likelihood();
        self.note(likelihood);
        observer.evaluated(restart, round, likelihood);
        self.remember(options, &tally);
        let is_stopped = observer.is_stopped() || engine.is_stopped();
        if let Some(termination) = self.verdict(options, is_stopped) {
            self.termination = termination;
            self.answer = self.answer(engine, options)?;
            return Ok(true);
        }
        let n_repairs = advance(engine, options, &mut self.state, tally)?;
        self.state.round += 1;
        observer.updated(restart, self.state.round, n_repairs);
        Ok(false)
    }

    /// The answer of a run that has ended, and its mean log-likelihood.
    pub fn result(&self) -> (&Mixture<F>, f64) {
        (&self.answer.0, self.answer.1)
    }

    /// One pass under the model; if that was on trial and is not good enough, one more under the
    /// model to take instead.
    fn pass<E: Engine<F>>(&mut self, engine: &E, options: &Options) -> Result<Tally<F::Moments>, Error> {
        let tally = self.pass_once(engine, options)?;
        let Some(trial) = self.state.trial.take() else { return Ok(tally) };
        if tally.mean_ln_likelihood() >= trial.least {
            self.state.leaps.accepted(self.state.round);
            return Ok(tally);
        }
        self.state.leaps.rejected();
        self.state.model = trial.instead;
        self.pass_once(engine, options)
    }

    fn pass_once<E: Engine<F>>(&self, engine: &E, options: &Options) -> Result<Tally<F::Moments>, Error> {
        engine.run(&Pass {
            origin: self.state.origin.clone(),
            model: self.state.model.clone(),
            centre: self.state.centre(engine),
            assignment: self.assignment(options),
            precision: options.precision,
        })
    }

    /// For SEM as the options say, else the last model; the best if interrupted. A likelihood that
    /// came from a pass in single precision is evaluated anew.
    fn answer<E: Engine<F>>(&self, engine: &E, options: &Options) -> Result<(Mixture<F>, f64), Error> {
        let state = &self.state;
        let stage = state.stage(options);
        let last = (state.model.clone(), state.likelihoods.last().copied().unwrap_or(f64::NAN));
        let in_pass = |model: Mixture<F>| evaluated(engine, state.origin.clone(), model);
        let is_double = options.precision == Precision::Double || matches!(stage, Algorithm::Em | Algorithm::Cem);
        let in_double = |found: (Mixture<F>, f64)| if is_double { Ok(found) } else { in_pass(found.0) };
        let best = || state.best.clone().unwrap_or_else(|| last.clone());
        if self.termination == Termination::Interrupted {
            // An engine that was stopped evaluates nothing more: the likelihood as it was seen then.
            return match in_double(best()) {
                Err(Error::Interrupted) => Ok(best()),
                other => other,
            };
        }
        match (stage, options.result) {
            (Algorithm::Sem, SemResult::Best) => in_double(best()),
            (Algorithm::Sem, SemResult::Average) => {
                let best = in_double(best())?;
                let Some((average, _)) = state.tail.model(&state.model.components, &state.floor) else {
                    return Ok(best);
                };
                let average = in_pass(average)?;
                Ok(if average.1 >= best.1 { average } else { best })
            }
            // EM may end below SEM's best model if it began below it, or had to repair.
            (Algorithm::Em, _) if options.algorithm == Algorithm::Auto && best().1 > last.1 => {
                let best = in_pass(best().0)?;
                Ok(if best.1 > last.1 { best } else { last })
            }
            _ => in_double(last),
        }
    }

    /// Keeps statistics that a later answer may be made of.
    fn remember(&mut self, options: &Options, tally: &Tally<F::Moments>) {
        let state = &mut self.state;
        let has_statistics = state.round < options.rounds;
        if state.stage(options) == Algorithm::Sem && options.result == SemResult::Average && has_statistics {
            let State { model, likelihoods, floor, tail, .. } = state;
            tail.add(&model.components, tally, likelihoods, batch(options), floor);
        }
    }

    fn assignment(&self, options: &Options) -> Assignment {
        if self.state.round >= options.rounds {
            return Assignment::Evaluate;
        }
        match self.state.stage(options) {
            Algorithm::Em | Algorithm::Auto => Assignment::Soft,
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
        let state = &mut self.state;
        // A run that was interrupted and goes on evaluates its last model again.
        state.likelihoods.truncate(state.round as usize);
        state.likelihoods.push(likelihood);
        // Of models that differ by rounding alone the later one has settled further; of one model
        // the later evaluation may have been in higher precision.
        let rounding = 4.0 * f64::EPSILON * likelihood.abs();
        let is_best = |(model, best): &(Mixture<F>, f64)| likelihood >= *best - rounding || *model == state.model;
        if state.best.as_ref().is_none_or(is_best) {
            state.best = Some((state.model.clone(), likelihood));
        }
    }

    fn verdict(&self, options: &Options, is_stopped: bool) -> Option<Termination> {
        if is_stopped {
            return Some(Termination::Interrupted);
        }
        if options.tolerance > 0.0
            && let Some(termination) = self.settled(options)
        {
            return Some(termination);
        }
        (self.state.round >= options.rounds).then_some(Termination::RoundLimit)
    }

    /// Whether the algorithm's own stopping rule holds.
    fn settled(&self, options: &Options) -> Option<Termination> {
        let state = &self.state;
        let (likelihoods, n) = (&state.likelihoods, state.likelihoods.len());
        // Whether the last so many changes were small, among models from number `since` on.
        let is_settled = |n_changes: usize, since: u64| {
            let last = &likelihoods[n.saturating_sub(n_changes + 1)..];
            n > since as usize + n_changes && last.windows(2).all(|pair| (pair[1] - pair[0]).abs() < options.tolerance)
        };
        let has_settled = match state.stage(options) {
            Algorithm::Sem => {
                let is_alone = options.algorithm == Algorithm::Sem;
                return (is_alone && is_flat(likelihoods, BATCH)).then_some(Termination::Flat);
            }
            Algorithm::Saem => is_settled(3, half(options)),
            // An extrapolated model says nothing about the size of EM's steps.
            _ if state.leaps.is_leap(state.round) => false,
            // Models from the last repaired or rough one on: earlier ones were another start. But
            // repairs in every round may lead nowhere: three small changes end that.
            _ => {
                let since = state.em_since.unwrap_or(0);
                is_settled(1, since.max(state.repaired.unwrap_or(0))) || is_settled(3, since)
            }
        };
        has_settled.then_some(Termination::Converged)
    }
}

/// Makes the model of the next round; returns how many repairs and clippings it took.
fn advance<F: Family, E: Engine<F>>(
    engine: &E,
    options: &Options,
    state: &mut State<F>,
    tally: Tally<F::Moments>,
) -> Result<u64, Error> {
    if state.hands_over(options) {
        return hand_over(engine, options, state, &tally);
    }
    let n_repairs = update(engine, options, state, &tally)?;
    if options.accelerate && state.stage(options) == Algorithm::Em {
        if state.repaired == Some(state.round + 1) {
            state.leaps.restart();
        } else {
            leap(state, tally);
        }
    }
    Ok(n_repairs)
}

/// A model and its mean log-likelihood in double precision, of rows from which `origin` is subtracted.
pub(super) fn evaluated<F: Family, E: Engine<F>>(
    engine: &E,
    origin: Option<Vec<f64>>,
    model: Mixture<F>,
) -> Result<(Mixture<F>, f64), Error> {
    let centre = super::origin::less(&engine.summary().centre, origin.as_deref());
    let pass = Pass { origin, model, centre, assignment: Assignment::Evaluate, precision: Precision::Double };
    let tally = engine.run(&pass)?;
    Ok((pass.model, tally.mean_ln_likelihood()))
}
