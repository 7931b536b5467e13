//! Hands over from one algorithm to the next: `auto` is SEM and then EM.

use super::event::{EventKind, record};
use super::leap::Trial;
use super::run::State;
use super::termination::{BATCH, SHORT_BATCH, has_levelled, has_slowed};
use super::update::update;
use super::{Algorithm, Options, SemResult};
use crate::Error;
use crate::family::{Family, Outcome};
use crate::pass::{Engine, Tally};

impl<F: Family> State<F> {
    /// The algorithm of the coming round: of `auto` SEM or, once that has handed over, EM.
    pub fn stage(&self, options: &Options) -> Algorithm {
        match options.algorithm {
            Algorithm::Auto if self.em_since.is_none() && half(options) > 0 => Algorithm::Sem,
            Algorithm::Auto => Algorithm::Em,
            algorithm => algorithm,
        }
    }

    /// Whether the coming round is the last of `auto`'s SEM.
    pub(crate) fn hands_over(&self, options: &Options) -> bool {
        let is_sem = options.algorithm == Algorithm::Auto && self.stage(options) == Algorithm::Sem;
        let has_slowed = options.accelerate && has_slowed(&self.likelihoods);
        is_sem && (has_levelled(&self.likelihoods) || has_slowed || self.round + 1 >= half(options))
    }
}

/// Rounds in a batch of SEM.
pub(crate) fn batch(options: &Options) -> usize {
    if options.algorithm == Algorithm::Auto { SHORT_BATCH } else { BATCH }
}

/// Rounds of SAEM's and `auto`'s first part.
pub(crate) fn half(options: &Options) -> u64 {
    options.rounds / 2
}

/// Makes SEM's result the model that EM starts from; returns how many repairs and clippings it took.
///
/// An average is on trial: its likelihood is known only after the next pass, and if it is lower
/// than the best model's, that one is taken instead.
pub(crate) fn hand_over<F: Family, E: Engine<F>>(
    engine: &E,
    options: &Options,
    state: &mut State<F>,
    tally: &Tally<F::Moments>,
) -> Result<u64, Error> {
    let round = state.round + 1;
    let mut n_repairs = 0;
    match (options.result, state.best.clone()) {
        (SemResult::Average, Some((best, likelihood))) => {
            if let Some((average, outcomes)) = state.tail.model(&state.model.components, &state.floor) {
                for (k, _) in outcomes.iter().enumerate().filter(|(_, outcome)| **outcome == Outcome::Clipped) {
                    record(&mut state.events, EventKind::Clipped, Some(k), round);
                    n_repairs += 1;
                }
                state.model = average;
                state.trial = Some(Trial { instead: best, least: likelihood });
            } else {
                state.model = best;
            }
        }
        (SemResult::Best, Some((best, _))) => state.model = best,
        _ => n_repairs = update(engine, options, state, tally)?,
    }
    state.tail.restart();
    state.em_since = Some(round);
    Ok(n_repairs)
}
