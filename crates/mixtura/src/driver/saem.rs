//! Stochastic approximation EM: SEM, then averaged statistics (Delyon, Lavielle and Moulines 1999).

use serde::{Deserialize, Serialize};

use super::average::Sum;
use super::procedure::{Steps, range_of_last};
use super::run::State;
use super::termination::are_small;
use super::update::{Counting, estimate, fates};
use super::{Options, Problem, Termination};
use crate::Error;
use crate::family::{Family, Fate};
use crate::pass::{Assignment, Tally};
use crate::random::Address;
use crate::sweep::Engine;

/// SEM for the first half of the rounds; then s ← (1 − γ)s + γ·new on statistics, with gains γ = 1, 1/2, 1/3, …, so
/// that all rounds of the second half have equal weight. Stops in that half when the likelihood changes by less than
/// the tolerance three times in a row; the result is the last model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Saem<F: Family> {
    /// The averaged statistics.
    average: Option<Sum<F::Moments>>,
}

impl<F: Family> Saem<F> {
    pub(super) fn new() -> Self {
        Self { average: None }
    }
}

impl<F: Family> Steps<F> for Saem<F> {
    fn assignment(&self, at: Address) -> Assignment {
        Assignment::Sampled(at)
    }

    fn samples(&self) -> bool {
        true
    }

    fn next<E: Engine>(
        &mut self,
        problem: &Problem<'_, F, E>,
        state: &mut State<F>,
        tally: Tally<F::Moments>,
    ) -> Result<u64, Error> {
        let fates = fates(problem, state, &tally, Counting::Rows)?;
        let is_averaged = state.round >= problem.options().half() && fates.iter().all(|fate| *fate == Fate::Estimate);
        self.average = is_averaged.then(|| match self.average.take() {
            None => Sum::of(&tally),
            Some(mut sum) => {
                sum.add(&tally);
                sum
            }
        });
        let plain = (&tally.moments, tally.weight);
        let (moments, weight) = self.average.as_ref().map_or(plain, |sum| (&sum.moments, sum.weight));
        let n_repairs = estimate(state, moments, weight, &fates);
        if state.repaired == Some(state.round + 1) {
            self.average = None;
        }
        Ok(n_repairs)
    }

    fn settled(&self, state: &State<F>, options: &Options) -> Option<Termination> {
        are_small(&state.likelihoods, 3, options.half(), options.tolerance).then_some(Termination::Converged)
    }

    fn noise(&self, state: &State<F>) -> f64 {
        range_of_last(&state.likelihoods)
    }
}
