//! Classification EM: assigns each row to its most probable component (Celeux and Govaert 1992).

use serde::{Deserialize, Serialize};

use super::procedure::Steps;
use super::run::State;
use super::termination::has_settled;
use super::update::{Counting, update};
use super::{Options, Problem, Termination};
use crate::Error;
use crate::family::Family;
use crate::pass::{Assignment, Tally};
use crate::random::Address;
use crate::sweep::Engine;

/// Classification EM. Stops when the likelihood changes by less than the tolerance; the result is the last model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Cem {}

impl<F: Family> Steps<F> for Cem {
    fn assignment(&self, _at: Address) -> Assignment {
        Assignment::Hard
    }

    fn next<E: Engine>(
        &mut self,
        problem: &Problem<'_, F, E>,
        state: &mut State<F>,
        tally: Tally<F::Moments>,
    ) -> Result<u64, Error> {
        update(problem, state, &tally, Counting::Rows)
    }

    fn settled(&self, state: &State<F>, options: &Options) -> Option<Termination> {
        has_settled(&state.likelihoods, 0, state.repaired, options.tolerance).then_some(Termination::Converged)
    }
}
