//! EM: shares each row among the components by its posterior (Dempster, Laird and Rubin 1977).

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

/// EM. Stops when the likelihood changes by less than the tolerance; the result is the last model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Em {
    /// The round it began in: 0, or the round in which `auto` switched to EM.
    pub(super) since: u64,
}

impl<F: Family> Steps<F> for Em {
    fn assignment(&self, _at: Address) -> Assignment {
        Assignment::Soft
    }

    fn next<E: Engine>(
        &mut self,
        problem: &Problem<'_, F, E>,
        state: &mut State<F>,
        tally: Tally<F::Moments>,
    ) -> Result<u64, Error> {
        update(problem, state, &tally, Counting::Shares)
    }

    fn settled(&self, state: &State<F>, options: &Options) -> Option<Termination> {
        has_settled(&state.likelihoods, self.since, state.repaired, options.tolerance).then_some(Termination::Converged)
    }
}
