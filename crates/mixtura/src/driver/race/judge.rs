//! Decides which contenders go on.

use super::record::{Entry, Level, Place, RunnerUp};
use super::rules::{self, Rules};
use super::{Contender, Race};
use crate::driver::Problem;
use crate::family::Family;
use crate::sweep::Engine;
use crate::{Error, Mixture, Rows};

/// At most this many rows are used to compare the models of contenders.
const ROWS_TO_COMPARE: f64 = 65_536.0;
/// Rows evaluated at a time.
const ROWS_AT_A_TIME: usize = 1 << 14;
/// One in so many contenders goes on to the next level.
const ONE_IN: usize = 3;
/// So many may go on to all rows.
const MOST_FINALISTS: usize = 2;
/// A contender is behind if its likelihood is lower by so many standard errors: at most levels, and at the last one,
/// where another finalist would cost a run on all rows.
const STANDARD_ERRORS: f64 = 4.0;
const STANDARD_ERRORS_AT_LAST: f64 = 2.0;
/// Two models are at the same maximum if the mean square of their difference in log-density is below this many p/n.
/// Models of independent samples of n rows differ by about 2p/n.
const SAME: f64 = 0.5;

impl<F: Family> Race<F> {
    /// Between two rungs: sorts the contenders, the best first, and drops those that can hardly win.
    pub(super) fn drop_hopeless(&mut self, rules: &Rules) {
        self.contenders.sort_by(|a, b| b.last_likelihood().total_cmp(&a.last_likelihood()).then(a.start.cmp(&b.start)));
        let best = self.contenders[0].last_likelihood();
        let most = rules.most_after(self.n_rows, self.contenders.len());
        let has_hope = |one: &Contender<F>| one.last_likelihood() + rules::hope(one.likelihoods()) >= best;
        let (stay, behind): (Vec<_>, Vec<_>) = std::mem::take(&mut self.contenders)
            .into_iter()
            .enumerate()
            .partition(|(at, one)| *at == 0 || *at < most && has_hope(one));
        self.contenders = stay.into_iter().map(|(_, one)| one).collect();
        self.enter(best, behind.iter().map(|(_, one)| entry(one, Place::Behind)).collect());
    }

    /// After a level: chooses who goes on to the next one, or to all rows.
    pub(super) fn judge<E: Engine>(&mut self, problem: &Problem<'_, F, E>, rules: &Rules) -> Result<(), Error> {
        let share = self.share.min(ROWS_TO_COMPARE / problem.source().summary().n_rows as f64);
        let rows = problem.source().share(share, problem.options().seed)?;
        let is_last = self.share >= 1.0 || rules.share_after(self.share, 1.0) >= 1.0;
        let most = if is_last { MOST_FINALISTS } else { self.contenders.len().div_ceil(ONE_IN).max(MOST_FINALISTS) };
        let most_errors = if is_last { STANDARD_ERRORS_AT_LAST } else { STANDARD_ERRORS };
        let best = self.contenders[0].last_likelihood();
        let mut entries = Vec::new();
        let mut on: Vec<Contender<F>> = Vec::new();
        for mut contender in std::mem::take(&mut self.contenders) {
            let run = contender.run.as_ref().expect("invariant: it has run on this level");
            let model = run.model().into_owned();
            let mut place = if on.len() < most { Place::On } else { Place::Behind };
            for other in &mut on {
                let leader = other.model.as_ref().expect("invariant: it was set when it was chosen");
                let difference = Difference::between(leader, &model, &rows)?;
                if difference.square < SAME * rules.n_free() / self.n_rows as f64 {
                    place = Place::Same;
                    other.n_agreed += contender.n_agreed;
                    break;
                }
                if difference.mean > most_errors * difference.error {
                    place = Place::Behind;
                }
            }
            entries.push(entry(&contender, place));
            if place == Place::On {
                contender.model = Some(model);
                on.push(contender);
            }
        }
        self.contenders = on;
        self.enter(best, entries);
        self.record.n_agreed = self.contenders[0].n_agreed;
        self.has_ended = is_last;
        if !is_last {
            let weights = self.contenders.iter().filter_map(|one| one.model.as_ref()).flat_map(|model| &model.weights);
            self.share = rules.share_after(self.share, weights.copied().fold(1.0, f64::min));
            self.rung = rules::FIRST_RUNG;
            self.contenders.iter_mut().for_each(|one| (one.run, one.has_left) = (None, false));
        }
        Ok(())
    }

    /// Adds contenders that were placed to the record of the level, the best first.
    fn enter(&mut self, best: f64, mut entries: Vec<Entry>) {
        let n_rows = self.n_rows;
        for entry in entries.iter().filter(|entry| entry.place == Place::Behind) {
            let gap = best - entry.mean_ln_likelihood;
            // What was compared on more rows is known better.
            if self.record.runner_up.is_none_or(|known| n_rows > known.n_rows || gap < known.gap) {
                self.record.runner_up = Some(RunnerUp { gap, n_rows });
            }
        }
        match self.record.levels.last_mut() {
            Some(level) if level.n_rows == n_rows => {
                entries.append(&mut level.entries);
                level.entries = entries;
            }
            _ if entries.is_empty() => {}
            _ => self.record.levels.push(Level { n_rows, entries }),
        }
    }
}

fn entry<F: Family>(contender: &Contender<F>, place: Place) -> Entry {
    let rounds = contender.run.as_ref().map_or(0, |run| run.state().round);
    Entry { start: contender.start, rounds, mean_ln_likelihood: contender.last_likelihood(), place }
}

/// How the log-densities of two models differ over rows.
struct Difference {
    mean: f64,
    /// Mean of the squares.
    square: f64,
    /// Standard error of the mean.
    error: f64,
}

impl Difference {
    fn between<F: Family>(a: &Mixture<F>, b: &Mixture<F>, rows: &Rows<'_>) -> Result<Self, Error> {
        let (a, b) = (a.evaluator()?, b.evaluator()?);
        let (mut sum, mut squares, mut weight, mut weights_squared) = (0.0, 0.0, 0.0, 0.0);
        for first in (0..rows.n_rows()).step_by(ROWS_AT_A_TIME) {
            let range = first..(first + ROWS_AT_A_TIME).min(rows.n_rows());
            let of_a = a.ln_densities_in(rows, range.clone())?;
            let of_b = b.ln_densities_in(rows, range.clone())?;
            for (row, (a, b)) in range.zip(of_a.into_iter().zip(of_b)) {
                let (difference, w) = (a - b, rows.weight(row));
                sum += w * difference;
                squares += w * difference * difference;
                weight += w;
                weights_squared += w * w;
            }
        }
        let (mean, square) = (sum / weight, squares / weight);
        let n_effective = weight * weight / weights_squared;
        Ok(Self { mean, square, error: ((square - mean * mean).max(0.0) / n_effective).sqrt() })
    }
}
