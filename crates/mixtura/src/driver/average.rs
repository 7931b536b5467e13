//! Averages statistics over rounds, for SEM's result and for SAEM.

use serde::{Deserialize, Serialize};

use super::termination::is_flat;
use crate::Mixture;
use crate::family::{Family, Fate, Floor, Moments, Outcome};
use crate::matching::Outline;
use crate::pass::Tally;

/// Summed statistics of several rounds, relative to the centres of the first round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sum<M> {
    pub(super) moments: M,
    /// Sum of the row weights over all rounds.
    pub(super) weight: f64,
    pub(super) n_rounds: u64,
}

impl<M: Moments> Sum<M> {
    pub(super) fn of(tally: &Tally<M>) -> Self {
        Self { moments: tally.moments.clone(), weight: tally.weight, n_rounds: 1 }
    }

    pub(super) fn add(&mut self, tally: &Tally<M>) {
        self.moments.add_scaled(&tally.moments, 1.0);
        self.weight += tally.weight;
        self.n_rounds += 1;
    }

    fn join(&mut self, later: &Self) {
        self.moments.add_scaled(&later.moments, 1.0);
        self.weight += later.weight;
        self.n_rounds += later.n_rounds;
    }
}

/// The statistics of SEM's last rounds, as long as its likelihood is flat.
///
/// Rounds are collected in batches, because flatness is only known at the end of a batch. Memory: two copies of the
/// statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Tail<F: Family> {
    /// The round to be added next. A round that is repeated is not added twice.
    next: u64,
    /// Rounds of the current batch.
    batch: Option<Sum<F::Moments>>,
    /// All flat batches; before two batches were flat, only the last one.
    kept: Option<Sum<F::Moments>>,
    is_flat: bool,
    /// Mean outline of the models since the last `clear`, and their number.
    outline: Option<(Outline, u64)>,
}

impl<F: Family> Tail<F> {
    pub(super) fn new() -> Self {
        Self { next: 0, batch: None, kept: None, is_flat: false, outline: None }
    }

    /// Discards all rounds so far.
    pub(super) fn clear(&mut self) {
        *self = Self { next: self.next, ..Self::new() };
    }

    /// Adds the statistics of a pass under `model`. `likelihoods` end with that model's; they are examined in batches
    /// of `batch` rounds.
    pub(super) fn add(
        &mut self,
        model: &F,
        tally: &Tally<F::Moments>,
        likelihoods: &[f64],
        batch: usize,
        floor: &Floor,
    ) {
        let round = likelihoods.len() as u64;
        if round <= self.next {
            return;
        }
        self.next = round;
        self.follow(model, &floor.scale);
        match &mut self.batch {
            Some(sum) => sum.add(tally),
            None => self.batch = Some(Sum::of(tally)),
        }
        if !likelihoods.len().is_multiple_of(batch) {
            return;
        }
        let whole = self.batch.take().filter(|sum| sum.n_rounds == batch as u64);
        self.is_flat = is_flat(likelihoods, batch) && self.kept.is_some() && whole.is_some();
        match (&mut self.kept, whole) {
            (Some(kept), Some(whole)) if self.is_flat => kept.join(&whole),
            (kept, whole) => *kept = whole,
        }
    }

    /// Starts over if the components no longer correspond to those of the previous rounds (label switching).
    fn follow(&mut self, model: &F, scale: &[f64]) {
        let outline = Outline::of(model);
        if let Some((mean, _)) = &self.outline
            && !outline.matches_by_number(mean, scale)
        {
            self.clear();
        }
        match &mut self.outline {
            Some((mean, n)) => {
                *n += 1;
                mean.approach(&outline, 1.0 / *n as f64);
            }
            None => self.outline = Some((outline, 1)),
        }
    }

    /// Number of rounds in the flat tail; 0 if there is none.
    pub(super) fn n_rounds(&self) -> u64 {
        self.kept.as_ref().filter(|_| self.is_flat).map_or(0, |kept| kept.n_rounds)
    }

    /// The maximum-likelihood model of the averaged statistics, and the outcome for each component; `None` without a
    /// flat tail.
    pub(super) fn model(&self, previous: &F, floor: &Floor) -> Option<(Mixture<F>, Vec<Outcome>)> {
        let kept = self.kept.as_ref().filter(|_| self.is_flat)?;
        let n_components = previous.n_components();
        if (0..n_components).any(|k| kept.moments.weight(k) <= 0.0) {
            return None;
        }
        let fates = vec![Fate::Estimate; n_components];
        let (components, outcomes) = previous.maximize(&kept.moments, &fates, floor);
        let is_makeshift =
            |outcome: &Outcome| matches!(outcome, Outcome::Kept | Outcome::Uncorrelated | Outcome::Recentred);
        if outcomes.iter().any(is_makeshift) {
            return None;
        }
        let weights = (0..n_components).map(|k| kept.moments.weight(k) / kept.weight).collect();
        Some((Mixture { weights, components }, outcomes))
    }
}
