//! SEM until its noise hides its progress, then EM (ADR 4).

use serde::{Deserialize, Serialize};

use super::accelerate::Accelerated;
use super::em::Em;
use super::event::{EventKind, record};
use super::procedure::{Steps, delegate_steps};
use super::run::{Evaluated, State, Trial};
use super::sem::Sem;
use super::termination::{has_levelled, has_slowed};
use super::update::{Counting, update};
use super::{Options, Problem, SemResult, Termination};
use crate::Error;
use crate::family::{Family, Outcome};
use crate::pass::{Assignment, Tally};
use crate::random::Address;
use crate::sweep::Engine;

/// SEM for at most half of the rounds, then EM from its result. Stops like EM. The result is EM's last model, or the
/// best model that SEM visited if that is better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Auto<F: Family> {
    phase: Phase<F>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
enum Phase<F: Family> {
    Sem(Sem<F>),
    Em(Em),
    Accelerated(Accelerated<F>),
}

delegate_steps!(Phase: Sem Em Accelerated);

impl<F: Family> Phase<F> {
    fn em(since: u64, options: &Options) -> Self {
        let em = Em { since };
        if options.accelerate { Self::Accelerated(Accelerated::new(em)) } else { Self::Em(em) }
    }
}

impl<F: Family> Auto<F> {
    pub(super) fn new(options: &Options) -> Self {
        Self { phase: if options.half() > 0 { Phase::Sem(Sem::for_auto()) } else { Phase::em(0, options) } }
    }
}

impl<F: Family> Steps<F> for Auto<F> {
    fn assignment(&self, at: Address) -> Assignment {
        self.phase.assignment(at)
    }

    fn samples(&self) -> bool {
        true
    }

    fn is_exact(&self, options: &Options) -> bool {
        self.phase.is_exact(options)
    }

    fn keep(&mut self, state: &State<F>, tally: &Tally<F::Moments>, options: &Options) {
        self.phase.keep(state, tally, options);
    }

    fn next<E: Engine>(
        &mut self,
        problem: &Problem<'_, F, E>,
        state: &mut State<F>,
        tally: Tally<F::Moments>,
    ) -> Result<u64, Error> {
        let options = problem.options();
        match &self.phase {
            Phase::Sem(sem) if hands_over(state, options) => {
                let n_repairs = hand_over(sem, problem, state, &tally)?;
                self.phase = Phase::em(state.round + 1, options);
                Ok(n_repairs)
            }
            _ => self.phase.next(problem, state, tally),
        }
    }

    fn tried(&mut self, round: u64, is_accepted: bool) {
        self.phase.tried(round, is_accepted);
    }

    fn settled(&self, state: &State<F>, options: &Options) -> Option<Termination> {
        match &self.phase {
            Phase::Sem(_) => None,
            em => em.settled(state, options),
        }
    }

    fn answer<E: Engine>(&self, problem: &Problem<'_, F, E>, state: &State<F>) -> Result<Evaluated<F>, Error> {
        let answer = self.phase.answer(problem, state)?;
        let best = state.best_or_last();
        // EM may end below SEM's best model if it started below it or needed repairs.
        if best.mean_ln_likelihood <= answer.mean_ln_likelihood {
            return Ok(answer);
        }
        let best = problem.evaluated(state, best.model)?;
        Ok(if best.mean_ln_likelihood > answer.mean_ln_likelihood { best } else { answer })
    }

    fn noise(&self, state: &State<F>) -> f64 {
        self.phase.noise(state)
    }

    fn n_averaged(&self) -> u64 {
        self.phase.n_averaged()
    }

    fn em_since(&self) -> Option<u64> {
        match &self.phase {
            Phase::Sem(_) => None,
            Phase::Em(em) => Some(em.since),
            Phase::Accelerated(accelerated) => Some(accelerated.em.since),
        }
    }
}

/// Whether the next round is SEM's last.
fn hands_over<F: Family>(state: &State<F>, options: &Options) -> bool {
    let has_slowed = options.accelerate && has_slowed(&state.likelihoods);
    has_levelled(&state.likelihoods) || has_slowed || state.round + 1 >= options.half()
}

/// Makes SEM's result the model that EM starts from; returns the number of repairs and clippings.
///
/// An average is on trial: its likelihood is known only after the next pass. If it is lower than that of the best
/// model, the best model is used instead.
fn hand_over<F: Family, E: Engine>(
    sem: &Sem<F>,
    problem: &Problem<'_, F, E>,
    state: &mut State<F>,
    tally: &Tally<F::Moments>,
) -> Result<u64, Error> {
    let round = state.round + 1;
    let Some(best) = state.best.clone() else { return update(problem, state, tally, Counting::Rows) };
    match problem.options().result {
        SemResult::Last => update(problem, state, tally, Counting::Rows),
        SemResult::Best => {
            state.model = best.model;
            Ok(0)
        }
        SemResult::Average => {
            let Some((average, outcomes)) = sem.tail.model(&state.model.components, &state.floor) else {
                state.model = best.model;
                return Ok(0);
            };
            let clipped = (0..).zip(&outcomes).filter(|(_, outcome)| **outcome == Outcome::Clipped);
            let clipped: Vec<usize> = clipped.map(|(k, _)| k).collect();
            clipped.iter().for_each(|&k| record(&mut state.events, EventKind::Clipped, Some(k), round));
            state.model = average;
            state.trial = Some(Trial { instead: best.model, target: best.mean_ln_likelihood });
            Ok(clipped.len() as u64)
        }
    }
}
