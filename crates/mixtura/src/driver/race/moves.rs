//! Moves components of the leader from where the likelihood misses them least to where one is missed most.
//!
//! Many maxima differ from better ones in a single component: two share a cluster, while another covers two clusters. No
//! step of EM repairs that. A move removes a component and splits another in two, as in split-and-merge EM (Ueda,
//! Nakano, Ghahramani and Hinton 2000), and stays if a few rounds of EM show that it is better.

use std::ops::Range;

use super::rules::{self, Rules};
use super::{Contender, Race, Watch};
use crate::driver::{Observer, Problem};
use crate::family::Family;
use crate::random::{Address, Purpose};
use crate::start::{halves, of_labelled};
use crate::sweep::Engine;
use crate::{Error, Mixture, Rows};

/// Moves are tried on so many levels: where rows are few they are cheap, and with more rows they can be told apart.
const LEVELS: usize = 2;
/// So many moves are tried in turn before the leader is left as it is.
const TRIES: usize = 3;
/// So many may fail on a level.
const MOST_FAILURES: usize = 6;
/// The leader is compared with a move after these rounds.
const RUNGS: [u64; 4] = [4, 8, 16, 32];
/// What a move may hope for at the first rung, where it has just left the start, in units of what it gained so far.
const EARLY_HOPE: f64 = 3.0;
/// A component is split if it has so many times the fewest rows that one needs.
const ROWS_TO_SPLIT: f64 = 4.0;
/// Rows evaluated at a time.
const ROWS_AT_A_TIME: usize = 1 << 12;

/// A component to remove and one to split.
#[derive(Debug, Clone, Copy)]
struct Move {
    removed: usize,
    split: usize,
    /// Estimated change of the mean log-likelihood before EM adapts the other components.
    gain: f64,
}

impl<F: Family> Race<F> {
    /// Moves components of the leader as long as that raises its likelihood on the rows of the level; returns false if
    /// it was stopped. A fit that continues tries the moves of the level again from the first.
    pub(super) fn improve<E: Engine>(
        &mut self,
        level: &Problem<'_, F, E>,
        rows: &Rows<'_>,
        rules: &Rules,
        observer: &dyn Observer,
    ) -> Result<bool, Error> {
        let n_before = self.record.levels.iter().filter(|level| level.n_rows < self.n_rows).count();
        if level.n_components() < 3 || n_before >= LEVELS {
            return Ok(true);
        }
        let watch = Watch { observer, n_rows: self.n_rows, n_starts: 1 };
        let goal = rules.goal(self.n_rows);
        let (mut leader, mut n_moves, mut n_failures) = (self.contenders[0].clone(), 0, 0);
        'leader: while n_failures < MOST_FAILURES && n_moves < 2 * level.n_components() as u64 {
            let survey = match Survey::of(&leader, n_moves, rows, level) {
                Err(Error::Interrupted) => return Ok(false),
                survey => survey?,
            };
            for which in survey.moves(TRIES) {
                let moved = match survey.moved(which, rows, level) {
                    Err(Error::Interrupted) => return Ok(false),
                    moved => moved?,
                };
                let Some(mut trial) = moved.map(|model| leader.from(model)) else { continue };
                if !trial.challenge(level, leader.last_likelihood(), goal, &watch)? {
                    return Ok(false);
                }
                if trial.last_likelihood() > leader.last_likelihood() + goal {
                    leader = trial;
                    n_moves += 1;
                    continue 'leader;
                }
                n_failures += 1;
            }
            break;
        }
        if n_moves > 0 {
            self.record.n_moves += n_moves;
            self.contenders[0] = leader;
        }
        Ok(true)
    }
}

impl<F: Family> Contender<F> {
    /// The same start with another model, before its first round.
    fn from(&self, model: Mixture<F>) -> Self {
        Self { start: self.start, model: Some(model), n_agreed: 1, run: None, has_left: false }
    }

    /// Runs until it is clear whether it exceeds a likelihood, and if it does, until it leaves the level; returns false
    /// if it was stopped.
    fn challenge<E: Engine>(
        &mut self,
        level: &Problem<'_, F, E>,
        likelihood: f64,
        goal: f64,
        watch: &Watch<'_>,
    ) -> Result<bool, Error> {
        for rung in RUNGS {
            match self.go(level, rung, goal, watch) {
                Err(Error::Interrupted) => return Ok(false),
                other => other?,
            }
            if !self.is_at(rung) {
                return Ok(false);
            }
            let factor = if rung == RUNGS[0] { EARLY_HOPE } else { 1.0 };
            let is_hopeless = self.last_likelihood() + factor * rules::hope(self.likelihoods()) < likelihood;
            if self.has_left || is_hopeless {
                break;
            }
        }
        Ok(true)
    }
}

/// Where components of a model are missed, and where not.
struct Survey {
    /// A label for each row, drawn from its posterior.
    labels: Vec<u32>,
    /// What the row's label is without the component it has.
    others: Vec<u32>,
    /// Whether the row is in the second half of its component.
    is_second: Vec<bool>,
    /// What removing each component costs, in nats per row.
    cost: Vec<f64>,
    /// What splitting each component gains, in nats per row; −∞ if it cannot be split.
    gain: Vec<f64>,
}

impl Survey {
    fn of<F: Family, E: Engine>(
        leader: &Contender<F>,
        n_moves: u64,
        rows: &Rows<'_>,
        level: &Problem<'_, F, E>,
    ) -> Result<Self, Error> {
        let run = leader.run.as_ref().expect("invariant: it has run on this level");
        let model = run.model();
        let address = Address {
            seed: level.options().seed,
            restart: leader.start,
            round: n_moves << 32 | rows.n_rows() as u64,
            purpose: Purpose::Move,
        };
        let n_components = model.n_components();
        let none = Self {
            labels: Vec::with_capacity(rows.n_rows()),
            others: Vec::with_capacity(rows.n_rows()),
            is_second: vec![false; rows.n_rows()],
            cost: vec![0.0; n_components],
            gain: vec![f64::NEG_INFINITY; n_components],
        };
        let mut survey = none;
        survey.draw(&model, rows, address)?;
        survey.split(&model, rows, address, level)?;
        Ok(survey)
    }

    /// Draws labels, and finds what removing each component costs: without component k, a row has the density
    /// f·(1 − p_k)/(1 − w_k).
    fn draw<F: Family>(&mut self, model: &Mixture<F>, rows: &Rows<'_>, address: Address) -> Result<(), Error> {
        let evaluator = model.evaluator()?;
        let mut uniforms = vec![0.0; 2 * rows.n_rows()];
        address.uniforms_into(0, &mut uniforms);
        let mut total = 0.0;
        for range in ranges(rows) {
            let posteriors = evaluator.posteriors_in(rows, range.clone())?;
            for (row, posterior) in range.zip(posteriors.chunks_exact(model.n_components())) {
                let weight = rows.weight(row);
                total += weight;
                for (cost, p) in self.cost.iter_mut().zip(posterior) {
                    *cost -= weight * (1.0 - p).max(f64::EPSILON).ln();
                }
                let label = drawn(posterior, uniforms[2 * row], None);
                self.labels.push(label);
                self.others.push(drawn(posterior, uniforms[2 * row + 1], Some(label)));
            }
        }
        for (cost, weight) in self.cost.iter_mut().zip(&model.weights) {
            *cost = *cost / total + (1.0 - weight).max(f64::EPSILON).ln();
        }
        Ok(())
    }

    /// Splits every component in two, and finds what that gains on its rows.
    fn split<F: Family, E: Engine>(
        &mut self,
        model: &Mixture<F>,
        rows: &Rows<'_>,
        address: Address,
        level: &Problem<'_, F, E>,
    ) -> Result<(), Error> {
        let mut members = vec![Vec::new(); model.n_components()];
        self.labels.iter().enumerate().for_each(|(row, &label)| members[label as usize].push(row));
        let fewest_rows = ROWS_TO_SPLIT * model.components.fewest_rows();
        for (component, members) in
            members.iter().enumerate().filter(|(_, members)| members.len() as f64 >= fewest_rows)
        {
            let generator = address.item(component as u64);
            if let Some(halves) = halves(&rows.gather(members), generator, level.floor(), level.source())? {
                self.gain[component] = 0.0;
                members.iter().zip(halves).for_each(|(&row, half)| self.is_second[row] = half == 1);
            }
        }
        // Both halves of every component that has rows, numbered in the order in which they occur.
        let mut numbers = vec![None; 2 * model.n_components()];
        let mut n_halves = 0;
        let mut number = |(&label, &is_second): (&u32, &bool)| {
            *numbers[2 * label as usize + usize::from(is_second)].get_or_insert_with(|| {
                n_halves += 1;
                n_halves - 1
            })
        };
        let labels: Vec<u32> = self.labels.iter().zip(&self.is_second).map(&mut number).collect();
        let labelled = rows.clone().with_labels(labels)?;
        let split: Mixture<F> = of_labelled(&labelled, n_halves as usize, level.floor(), level.source())?;
        let (before, after) = (model.evaluator()?, split.evaluator()?);
        let total: f64 = (0..rows.n_rows()).map(|row| rows.weight(row)).sum();
        for range in ranges(rows) {
            let before = before.ln_densities_in(rows, range.clone())?;
            let after = after.ln_densities_in(rows, range.clone())?;
            for (row, (before, after)) in range.zip(before.into_iter().zip(after)) {
                self.gain[self.labels[row] as usize] += rows.weight(row) * (after - before) / total;
            }
        }
        Ok(())
    }

    /// The most promising moves, the best first.
    fn moves(&self, most: usize) -> Vec<Move> {
        let splits = (0..self.gain.len()).filter(|&split| self.gain[split].is_finite());
        let removals = |split: usize| (0..self.cost.len()).filter(move |&removed| removed != split);
        let moves = splits.flat_map(|split| removals(split).map(move |removed| (removed, split)));
        let gain = |removed: usize, split: usize| self.gain[split] - self.cost[removed];
        let mut moves: Vec<Move> =
            moves.map(|(removed, split)| Move { removed, split, gain: gain(removed, split) }).collect();
        moves.sort_by(|a, b| b.gain.total_cmp(&a.gain).then((a.removed, a.split).cmp(&(b.removed, b.split))));
        moves.truncate(most);
        moves
    }

    /// The model after a move; `None` if a component has no rows left.
    fn moved<F: Family, E: Engine>(
        &self,
        which: Move,
        rows: &Rows<'_>,
        level: &Problem<'_, F, E>,
    ) -> Result<Option<Mixture<F>>, Error> {
        let (removed, split) = (which.removed as u32, which.split as u32);
        let label = |row: usize| match self.labels[row] {
            label if label == removed => self.others[row],
            label if label == split && self.is_second[row] => removed,
            label => label,
        };
        let labels: Vec<u32> = (0..self.labels.len()).map(label).collect();
        match of_labelled(&rows.clone().with_labels(labels)?, self.cost.len(), level.floor(), level.source()) {
            Err(Error::EmptyLabel { .. }) => Ok(None),
            found => found.map(Some),
        }
    }
}

fn ranges(rows: &Rows<'_>) -> impl Iterator<Item = Range<usize>> + use<> {
    let n_rows = rows.n_rows();
    (0..n_rows).step_by(ROWS_AT_A_TIME).map(move |first| first..(first + ROWS_AT_A_TIME).min(n_rows))
}

/// A component drawn from a posterior, other than `but`.
fn drawn(posterior: &[f64], uniform: f64, but: Option<u32>) -> u32 {
    let share = |k: usize| if but == Some(k as u32) { 0.0 } else { posterior[k] };
    let mut rest = uniform * (0..posterior.len()).map(share).sum::<f64>();
    let found = (0..posterior.len()).find(|&k| {
        rest -= share(k);
        rest < 0.0
    });
    // Nothing is left if all other posteriors are 0.
    let any = || usize::from(but == Some(0));
    found.or_else(|| (0..posterior.len()).rfind(|&k| share(k) > 0.0)).unwrap_or_else(any) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_drawn_in_proportion_to_its_posterior_and_never_the_excluded_one() {
        let posterior = [0.2, 0.5, 0.0, 0.3];
        assert_eq!([0.1, 0.3, 0.65, 0.75, 0.999].map(|u| drawn(&posterior, u, None)), [0, 1, 1, 3, 3]);
        // Without component 1, the others have 0.4 and 0.6.
        assert_eq!([0.1, 0.39, 0.41, 0.999].map(|u| drawn(&posterior, u, Some(1))), [0, 0, 3, 3]);
        assert_eq!(drawn(&[1.0, 0.0], 0.5, Some(0)), 1);
    }
}
