//! Stochastic EM: assigns each row to a component drawn from its posterior (Celeux and Diebolt 1985; the paper).

use serde::{Deserialize, Serialize};

use super::average::Tail;
use super::procedure::{Steps, range_of_last};
use super::run::{Evaluated, State};
use super::termination::{BATCH, SHORT_BATCH, is_flat};
use super::update::{Counting, update};
use super::{Options, Problem, SemResult, Termination};
use crate::Error;
use crate::family::Family;
use crate::pass::{Assignment, Tally};
use crate::random::Address;
use crate::sweep::Engine;

/// Stochastic EM. Stops when the likelihood is flat; the result is the average, best or last model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Sem<F: Family> {
    /// Statistics of the flat tail, for the average.
    pub(super) tail: Tail<F>,
    /// Number of rounds per batch of the stopping rule.
    batch: usize,
}

impl<F: Family> Sem<F> {
    pub(super) fn new() -> Self {
        Self { tail: Tail::new(), batch: BATCH }
    }

    /// SEM as the first phase of `auto`, where a rough result is enough.
    pub(super) fn for_auto() -> Self {
        Self { batch: SHORT_BATCH, ..Self::new() }
    }
}

impl<F: Family> Steps<F> for Sem<F> {
    fn assignment(&self, at: Address) -> Assignment {
        Assignment::Sampled(at)
    }

    fn samples(&self) -> bool {
        true
    }

    fn keep(&mut self, state: &State<F>, tally: &Tally<F::Moments>, options: &Options) {
        if options.result == SemResult::Average {
            self.tail.add(&state.model.components, tally, &state.likelihoods, self.batch, &state.floor);
        }
    }

    fn next<E: Engine>(
        &mut self,
        problem: &Problem<'_, F, E>,
        state: &mut State<F>,
        tally: Tally<F::Moments>,
    ) -> Result<u64, Error> {
        let n_repairs = update(problem, state, &tally, Counting::Rows)?;
        if state.repaired == Some(state.round + 1) {
            self.tail.clear();
        }
        Ok(n_repairs)
    }

    fn settled(&self, state: &State<F>, _options: &Options) -> Option<Termination> {
        is_flat(&state.likelihoods, self.batch).then_some(Termination::Flat)
    }

    fn answer<E: Engine>(&self, problem: &Problem<'_, F, E>, state: &State<F>) -> Result<Evaluated<F>, Error> {
        let in_double = |found: Evaluated<F>| {
            if Steps::<F>::is_exact(self, problem.options()) {
                Ok(found)
            } else {
                problem.evaluated(state, found.model)
            }
        };
        match problem.options().result {
            SemResult::Last => in_double(state.last()),
            SemResult::Best => in_double(state.best_or_last()),
            SemResult::Average => {
                let best = in_double(state.best_or_last())?;
                let Some((average, _)) = self.tail.model(&state.model.components, &state.floor) else {
                    return Ok(best);
                };
                let average = problem.evaluated(state, average)?;
                Ok(if average.mean_ln_likelihood >= best.mean_ln_likelihood { average } else { best })
            }
        }
    }

    fn noise(&self, state: &State<F>) -> f64 {
        range_of_last(&state.likelihoods)
    }

    fn n_averaged(&self) -> u64 {
        self.tail.n_rounds()
    }
}
