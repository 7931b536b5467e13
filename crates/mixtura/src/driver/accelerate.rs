//! Accelerates EM by extrapolating its statistics; steps that lower the likelihood are rejected.
//!
//! Squared extrapolation (SQUAREM; Varadhan and Roland 2008, scheme S3) in the space of statistics, which is linear and
//! the same for every family. From three successive statistics s₀, s₁, s₂ of EM, the trial statistics are s₀ − 2αr +
//! α²v with r = s₁ − s₀, v = s₂ − 2s₁ + s₀ and α = −|r|/|v|. The cost is negligible compared with a pass, except that a
//! rejected trial costs its pass.
//!
//! Far from a maximum, extrapolated steps may lead to another one, even if they raise the likelihood. So there are none
//! until little is left to gain: if the gains of EM shrink by a factor q from round to round, gq/(1 − q) is left after a
//! gain g.

use serde::{Deserialize, Serialize};

use super::em::Em;
use super::procedure::Steps;
use super::run::{State, Trial};
use super::update::EMPTY_SHARE;
use super::{Options, Problem, Termination};
use crate::family::{Family, Fate, Floor, Moments, Outcome};
use crate::pass::{Assignment, Tally};
use crate::random::Address;
use crate::sweep::Engine;
use crate::{Error, Mixture};

/// Steps are extrapolated if less than this is left to gain, in nats per row. From 120 starts on artificial sets of 5,000
/// rows, 1 fit ended more than 5e-4 nats per row lower than EM and 5 higher, after half of its rounds.
const NEAR: f64 = 1e-3;
/// Factor by which the maximum step length grows and shrinks.
const GROWTH: f64 = 4.0;

/// EM with extrapolated steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Accelerated<F: Family> {
    pub(super) em: Em,
    /// At most two steps since the last extrapolation.
    steps: Vec<Step<F::Moments>>,
    /// Whether an extrapolated model is on trial.
    is_pending: bool,
    /// Maximum step length currently allowed.
    longest: f64,
    /// The last round whose model was extrapolated.
    leapt: Option<u64>,
}

/// Statistics, and the location of the model estimated from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Step<M> {
    moments: M,
    place: Vec<f64>,
}

impl<F: Family> Accelerated<F> {
    pub(super) fn new(em: Em) -> Self {
        Self { em, steps: Vec::new(), is_pending: false, longest: 1.0, leapt: None }
    }

    /// Called after EM's update from `tally`: if three steps are available and the extrapolated model is sound, puts it
    /// on trial instead of EM's model.
    fn leap(&mut self, state: &mut State<F>, tally: Tally<F::Moments>) {
        let place = place(&state.model, &state.floor.scale);
        self.steps.push(Step { moments: tally.moments, place });
        let [first, second, third] = self.steps.as_slice() else { return };
        if !is_near(&state.likelihoods) {
            self.steps.drain(..2);
            return;
        }
        let length = step_length(&first.place, &second.place, &third.place).min(self.longest);
        let found = (length > 1.0).then(|| {
            let mut moments = third.moments.clone();
            moments.scale(length * length);
            moments.add_scaled(&second.moments, 2.0 * length * (1.0 - length));
            moments.add_scaled(&first.moments, (1.0 - length) * (1.0 - length));
            sound_model(&state.model.components, &moments, &state.floor)
        });
        if length == self.longest {
            self.longest *= GROWTH;
        }
        self.steps.drain(..2);
        if found.as_ref().is_some_and(Option::is_none) {
            // Components at the floor are likely to stay there: the next steps are not tried.
            self.longest = 1.0;
        }
        if let Some(model) = found.flatten() {
            self.is_pending = true;
            let target = state.likelihoods.last().copied().unwrap_or(f64::NEG_INFINITY);
            let instead = std::mem::replace(&mut state.model, model);
            state.trial = Some(Trial { instead, target });
        }
    }
}

impl<F: Family> Steps<F> for Accelerated<F> {
    fn assignment(&self, at: Address) -> Assignment {
        Steps::<F>::assignment(&self.em, at)
    }

    fn next<E: Engine>(
        &mut self,
        problem: &Problem<'_, F, E>,
        state: &mut State<F>,
        tally: Tally<F::Moments>,
    ) -> Result<u64, Error> {
        let n_repairs = self.em.next(problem, state, tally.clone())?;
        if state.repaired == Some(state.round + 1) {
            // The steps so far lead to a different model.
            *self = Self { leapt: self.leapt, ..Self::new(self.em.clone()) };
        } else {
            self.leap(state, tally);
        }
        Ok(n_repairs)
    }

    fn tried(&mut self, round: u64, is_accepted: bool) {
        if !std::mem::take(&mut self.is_pending) {
            return;
        }
        if is_accepted {
            // The pass under the model counts as an ordinary step, the first of the next three. Starting from the
            // extrapolated statistics instead would accumulate errors from one extrapolation to the next.
            self.steps.clear();
            self.leapt = Some(round);
        } else {
            self.longest = (self.longest / GROWTH).max(1.0);
        }
    }

    fn settled(&self, state: &State<F>, options: &Options) -> Option<Termination> {
        // An extrapolated model says nothing about the size of EM's steps.
        if self.leapt == Some(state.round) { None } else { self.em.settled(state, options) }
    }
}

/// Whether little is left to gain according to the last three likelihoods, which are those of EM's steps.
fn is_near(likelihoods: &[f64]) -> bool {
    let [.., first, second, third] = likelihoods else { return false };
    let (before, now) = (second - first, third - second);
    // now · q/(1 − q) with q = now/before.
    now < before && now * now <= NEAR * (before - now)
}

/// −α = |r|/|v|, at least 1. Without curvature there is nothing to extrapolate.
fn step_length(first: &[f64], second: &[f64], third: &[f64]) -> f64 {
    let (mut r, mut v) = (0.0, 0.0);
    for ((a, b), c) in first.iter().zip(second).zip(third) {
        r += (b - a) * (b - a);
        v += (c - 2.0 * b + a) * (c - 2.0 * b + a);
    }
    if v > 0.0 { (r / v).sqrt().max(1.0) } else { 1.0 }
}

/// The model of extrapolated statistics if these are valid: all weights positive, no component in need of repair or at
/// the floor.
fn sound_model<F: Family>(previous: &F, moments: &F::Moments, floor: &Floor) -> Option<Mixture<F>> {
    // They sum to the weight of the rows up to rounding errors, which extrapolation magnifies.
    let total: f64 = (0..previous.n_components()).map(|k| moments.weight(k)).sum();
    let weights: Vec<f64> = (0..previous.n_components()).map(|k| moments.weight(k) / total).collect();
    if !weights.iter().all(|&weight| weight > EMPTY_SHARE) {
        return None;
    }
    let (components, outcomes) = previous.maximize(moments, &vec![Fate::Estimate; weights.len()], floor);
    outcomes.iter().all(|outcome| *outcome == Outcome::Done).then_some(Mixture { weights, components })
}

/// The location of a model, without units: weights, and centres and spreads in units of the column scales.
fn place<F: Family>(model: &Mixture<F>, scale: &[f64]) -> Vec<f64> {
    let (centres, spreads) = (model.components.centres(), model.components.spreads());
    let scaled = centres.iter().chain(&spreads).enumerate().map(|(at, x)| x / scale[at % scale.len()]);
    model.weights.iter().copied().chain(scaled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sequence that converges with factor 0.9: α = −1/(1 − 0.9) leads to the limit.
    #[test]
    fn a_geometric_sequence_is_extrapolated_to_its_limit() {
        let at = |n: i32| [3.0 - 0.9f64.powi(n), 5.0 + 2.0 * 0.9f64.powi(n)];
        let length = step_length(&at(0), &at(1), &at(2));
        assert!((length - 10.0).abs() < 1e-10);
        for d in 0..2 {
            let (a, b, c) = (at(0)[d], at(1)[d], at(2)[d]);
            let to = a + 2.0 * length * (b - a) + length * length * (c - 2.0 * b + a);
            assert!((to - [3.0, 5.0][d]).abs() < 1e-10);
        }
        // Gains of 0.1, 0.09, …: what is left after the second is 0.09 · 0.9/0.1, and after the twentieth a tenth of it.
        let gained = |n: i32| 1.0 - 0.9f64.powi(n);
        let scaled = |n: i32, unit: f64| [unit * gained(n - 2), unit * gained(n - 1), unit * gained(n)];
        assert!(!is_near(&scaled(2, 2.0 * NEAR)) && is_near(&scaled(20, 2.0 * NEAR)));
        // Gains that grow, or too few.
        assert!(!is_near(&[0.0, 1e-9, 3e-9]) && !is_near(&[0.0, 1e-9]));
        assert_eq!(step_length(&[1.0], &[1.0], &[1.0]), 1.0);
        assert_eq!(step_length(&[0.0], &[1.0], &[-3.0]), 1.0);
    }
}
