//! Makes the next model from statistics, and repairs components that have become degenerate.

use super::average::Sum;
use super::event::{EventKind, record};
use super::run::State;
use super::stage::half;
use super::{Algorithm, Options};
use crate::family::{Family, Fate, Moments, Outcome};
use crate::pass::{Engine, Tally};
use crate::random::{Address, Purpose};
use crate::{Error, Mixture};

/// Reseeds after which an empty component is left alone.
const MOST_RESEEDS: u32 = 5;
/// EM counts a component as empty below this share of the total weight.
pub(crate) const EMPTY_SHARE: f64 = 1e-10;

/// Replaces the state's model by the next one; returns how many repairs and clippings it took.
pub(crate) fn update<F: Family, E: Engine<F>>(
    engine: &E,
    options: &Options,
    state: &mut State<F>,
    tally: &Tally<F::Moments>,
) -> Result<u64, Error> {
    let fates = fates(engine, options, state, tally)?;
    state.average = averaged(options, state, tally, &fates);
    let plain = (&tally.moments, tally.weight);
    let (moments, weight) = state.average.as_ref().map_or(plain, |sum| (&sum.moments, sum.weight));
    let (components, outcomes) = state.model.components.maximize(moments, &fates, &state.floor);
    let weights = mixing_weights(moments, weight, &fates);
    let round = state.round + 1;
    let mut n_repairs = 0;
    for (k, (fate, outcome)) in fates.iter().zip(&outcomes).enumerate() {
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
    if state.repaired == Some(round) {
        state.tail.restart();
        state.average = None;
    }
    Ok(n_repairs)
}

/// What there is to record of a component's update.
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

/// SAEM's statistics, s ← (1 − γ)s + γ·new, as a multiple: gains γ = 1/j weigh all rounds of the
/// second half alike. None where the gain is 1 throughout, or a component needs repair.
fn averaged<F: Family>(
    options: &Options,
    state: &mut State<F>,
    tally: &Tally<F::Moments>,
    fates: &[Fate],
) -> Option<Sum<F::Moments>> {
    let is_averaged = options.algorithm == Algorithm::Saem && state.round >= half(options);
    if !is_averaged || fates.iter().any(|fate| *fate != Fate::Estimate) {
        return None;
    }
    let Some(mut sum) = state.average.take() else { return Some(Sum::of(tally)) };
    sum.add(tally);
    Some(sum)
}

/// Decides what is to become of each component.
fn fates<F: Family, E: Engine<F>>(
    engine: &E,
    options: &Options,
    state: &mut State<F>,
    tally: &Tally<F::Moments>,
) -> Result<Vec<Fate>, Error> {
    let least = state.model.components.least_rows();
    let mut fates = Vec::with_capacity(state.model.n_components());
    for k in 0..state.model.n_components() {
        let is_empty = tally.moments.weight(k) <= EMPTY_SHARE * tally.weight;
        let n_rows = match state.stage(options) {
            Algorithm::Em | Algorithm::Auto => None,
            Algorithm::Sem | Algorithm::Cem | Algorithm::Saem => Some(tally.effective_rows(k)),
        };
        fates.push(match n_rows {
            _ if is_empty && state.reseeds[k] >= MOST_RESEEDS => Fate::Keep,
            // EM has no round left to fit it where it would be moved to.
            None if is_empty && state.round + 1 == options.rounds => Fate::Keep,
            _ if is_empty => {
                state.reseeds[k] += 1;
                Fate::Reseed(drawn_row(engine, options, state, k)?)
            }
            Some(n_rows) if n_rows < least => Fate::Blend { n_rows },
            _ => Fate::Estimate,
        });
    }
    Ok(fates)
}

fn drawn_row<F: Family, E: Engine<F>>(
    engine: &E,
    options: &Options,
    state: &State<F>,
    component: usize,
) -> Result<Vec<f64>, Error> {
    let address = Address { seed: options.seed, restart: state.restart, round: state.round, purpose: Purpose::Reseed };
    let row = engine.sample(1, &mut address.item(component as u64))?.row(0);
    Ok(super::origin::less(&row, state.origin.as_deref()))
}

/// Shares of the total weight; 1/K for a reseeded component, and the others scaled to what is left. A kept one has
/// next to none.
pub(super) fn mixing_weights<M: Moments>(moments: &M, weight: f64, fates: &[Fate]) -> Vec<f64> {
    let n_components = fates.len();
    let fixed = |k: usize| match fates[k] {
        Fate::Reseed(_) => Some(1.0 / n_components as f64),
        // Not 0, of which there is no logarithm.
        Fate::Keep => Some((moments.weight(k) / weight).max(f64::MIN_POSITIVE)),
        Fate::Estimate | Fate::Blend { .. } => None,
    };
    let fixed_sum: f64 = (0..n_components).filter_map(fixed).sum();
    let free_sum: f64 = (0..n_components).filter(|&k| fixed(k).is_none()).map(|k| moments.weight(k)).sum();
    if fixed_sum == 0.0 {
        return (0..n_components).map(|k| moments.weight(k) / weight).collect();
    }
    // Components that have rows keep at least one share, however many others are fixed.
    let left = if free_sum > 0.0 { (1.0 - fixed_sum).max(1.0 / n_components as f64) } else { 0.0 };
    let whole = fixed_sum + left;
    (0..n_components).map(|k| fixed(k).unwrap_or_else(|| left * moments.weight(k) / free_sum) / whole).collect()
}
