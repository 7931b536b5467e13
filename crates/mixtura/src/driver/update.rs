//! Computes the next model from statistics, and repairs degenerate components.

use super::Problem;
use super::event::{EventKind, record};
use super::run::State;
use crate::family::{Family, Fate, Moments, Outcome};
use crate::pass::Tally;
use crate::sweep::Engine;
use crate::{Error, Mixture};

/// Number of reseeds after which an empty component is left alone.
const MOST_RESEEDS: u32 = 5;
/// EM considers a component empty below this share of the total weight.
pub(super) const EMPTY_SHARE: f64 = 1e-10;

/// What the weight of a component consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    /// Shares of all rows: a component never has too few rows, it can only be empty.
    Shares,
    /// Whole rows: a component may have too few of them.
    Rows,
}

/// Replaces the state's model by the next one; returns the number of repairs and clippings.
pub(super) fn update<F: Family, E: Engine>(
    problem: &Problem<'_, F, E>,
    state: &mut State<F>,
    tally: &Tally<F::Moments>,
    counting: Counting,
) -> Result<u64, Error> {
    let fates = fates(problem, state, tally, counting)?;
    Ok(estimate(state, &tally.moments, tally.weight, &fates))
}

/// Replaces the state's model by the maximum-likelihood model of statistics with the given total weight, as far as the
/// fates allow; returns the number of repairs and clippings.
pub(super) fn estimate<F: Family>(state: &mut State<F>, moments: &F::Moments, weight: f64, fates: &[Fate]) -> u64 {
    let (components, outcomes) = state.model.components.maximize(moments, fates, &state.floor);
    let weights = mixing_weights(moments, weight, fates);
    let round = state.round + 1;
    let mut n_repairs = 0;
    for (k, (fate, outcome)) in fates.iter().zip(&outcomes).enumerate() {
        state.reseeds[k] += u32::from(matches!(fate, Fate::Reseed(_)));
        if *outcome == Outcome::Rough {
            state.repaired = Some(round);
        }
        for kind in kinds_of(fate, *outcome) {
            n_repairs += 1;
            record(&mut state.events, kind, Some(k), round);
            if kind.is_repair() {
                state.repaired = Some(round);
            }
        }
    }
    state.model = Mixture { weights, components };
    n_repairs
}

/// The events to record for a component's update.
pub(super) fn kinds_of(fate: &Fate, outcome: Outcome) -> impl Iterator<Item = EventKind> {
    let of_fate = match fate {
        Fate::Estimate => None,
        Fate::Blend { .. } => Some(EventKind::Blended),
        Fate::Reseed(_) => Some(EventKind::Reseeded),
        Fate::Keep => Some(EventKind::ParametersKept),
    };
    let of_outcome = match outcome {
        Outcome::Done | Outcome::Rough => None,
        Outcome::Clipped => Some(EventKind::Clipped),
        Outcome::Kept => Some(EventKind::CovarianceKept),
        Outcome::Uncorrelated => Some(EventKind::CorrelationsDropped),
        Outcome::Recentred => Some(EventKind::Recentred),
    };
    of_fate.into_iter().chain(of_outcome)
}

/// Decides how each component is updated.
pub(super) fn fates<F: Family, E: Engine>(
    problem: &Problem<'_, F, E>,
    state: &State<F>,
    tally: &Tally<F::Moments>,
    counting: Counting,
) -> Result<Vec<Fate>, Error> {
    let fewest_rows = state.model.components.fewest_rows();
    let mut fates = Vec::with_capacity(state.model.n_components());
    for k in 0..state.model.n_components() {
        let is_empty = tally.moments.weight(k) <= EMPTY_SHARE * tally.weight;
        let n_rows = if counting == Counting::Rows { tally.effective_rows(k) } else { f64::INFINITY };
        // EM would have no round left to fit it at its new place.
        let is_too_late = counting == Counting::Shares && state.round + 1 == problem.options().rounds;
        fates.push(if is_empty && (state.reseeds[k] >= MOST_RESEEDS || is_too_late) {
            Fate::Keep
        } else if is_empty {
            Fate::Reseed(problem.drawn_row(state, k)?)
        } else if n_rows < fewest_rows {
            Fate::Blend { n_rows }
        } else {
            Fate::Estimate
        });
    }
    Ok(fates)
}

/// Shares of the total weight; 1/K for a reseeded component, with the others scaled to the remainder. A kept component
/// has almost none.
pub(super) fn mixing_weights<M: Moments>(moments: &M, weight: f64, fates: &[Fate]) -> Vec<f64> {
    let n_components = fates.len();
    let fixed = |k: usize| match fates[k] {
        Fate::Reseed(_) => Some(1.0 / n_components as f64),
        // Not 0, whose logarithm is infinite.
        Fate::Keep => Some((moments.weight(k) / weight).max(f64::MIN_POSITIVE)),
        Fate::Estimate | Fate::Blend { .. } => None,
    };
    let fixed_sum: f64 = (0..n_components).filter_map(fixed).sum();
    let free_sum: f64 = (0..n_components).filter(|&k| fixed(k).is_none()).map(|k| moments.weight(k)).sum();
    if fixed_sum == 0.0 {
        return (0..n_components).map(|k| moments.weight(k) / weight).collect();
    }
    // Components with rows keep at least one share, however many others are fixed.
    let left = if free_sum > 0.0 { (1.0 - fixed_sum).max(1.0 / n_components as f64) } else { 0.0 };
    let whole = fixed_sum + left;
    (0..n_components).map(|k| fixed(k).unwrap_or_else(|| left * moments.weight(k) / free_sum) / whole).collect()
}
