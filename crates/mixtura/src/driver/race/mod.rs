//! Lets the starts of a fit race: they compete on growing samples of the rows, and only the best go on to all rows.
//!
//! A likelihood has many maxima, and which one a fit ends at is decided by its start. Most starts can be told apart on
//! few rows and after few rounds. So all of them begin on a small sample, run by EM; the better ones go on with four
//! times as many rows, and so on; one or two finish on all rows, with the algorithm and to the tolerance that were
//! asked for. The result is a maximum of the likelihood of all rows, as without a race. Sizes and the rule by which a
//! level ends are derived in docs/race.md and implemented in `rules.rs`.
//!
//! Samples are nested and belong to rows and seed ([`Source::share`](crate::Source::share)), so every engine and any
//! number of threads run the same race.

mod judge;
mod moves;
mod record;
mod rules;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use self::record::{Entry, Level, Place, RaceRecord, RunnerUp, Standing};
use self::rules::Rules;
use super::{Algorithm, Observer, Options, Problem, Run, Settled};
use crate::family::Family;
use crate::sweep::{Engine, Source, Threads};
use crate::{Error, Mixture, Rows};

/// A race in progress. Saved and loaded again, it gives the same bits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Race<F: Family> {
    /// Those still in the race, the best first after a level.
    contenders: Vec<Contender<F>>,
    /// The share of the rows that they run on.
    share: f64,
    /// Number of rows in that share; 0 before the level has begun.
    n_rows: u64,
    /// Contenders are compared when all have done this many rounds of the level.
    rung: u64,
    record: RaceRecord,
    has_ended: bool,
}

/// A start that is still in the race.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Contender<F: Family> {
    /// Number of the start.
    pub(super) start: u64,
    /// Its model after the last level; `None` at the first level.
    pub(super) model: Option<Mixture<F>>,
    /// Number of starts that led to this maximum.
    n_agreed: u64,
    /// EM on the rows of the current level.
    run: Option<Run<F>>,
    /// Whether more rounds on this level would not tell more about all rows.
    has_left: bool,
}

impl<F: Family> Race<F> {
    /// Before the first level.
    pub(super) fn new<E: Engine>(problem: &Problem<'_, F, E>) -> Self {
        let contender = |start| Contender { start, model: None, n_agreed: 1, run: None, has_left: false };
        Self {
            contenders: (0..problem.n_restarts()).map(contender).collect(),
            share: Rules::of(problem).first_share(),
            n_rows: 0,
            rung: rules::FIRST_RUNG,
            record: RaceRecord::default(),
            has_ended: false,
        }
    }

    /// The finalists, the best first, if the race has ended.
    pub(super) fn finalists(&self) -> Option<&[Contender<F>]> {
        self.has_ended.then_some(&self.contenders[..])
    }

    /// The levels so far, and how the starts compare.
    pub(super) fn record(&self) -> &RaceRecord {
        &self.record
    }

    /// Number of completed rounds of the current level, summed over all contenders.
    pub(super) fn n_rounds(&self) -> u64 {
        self.contenders.iter().filter_map(|contender| contender.run.as_ref()).map(|run| run.state().round).sum()
    }

    /// The best model so far with its likelihood on the rows of its level, and the number of these rows; `None` if no
    /// model has been evaluated.
    pub(super) fn best(&self) -> Option<(&Run<F>, u64)> {
        let runs = self.contenders.iter().filter_map(|contender| contender.run.as_ref());
        let evaluated = runs.filter(|run| run.state().best.is_some());
        let best = evaluated.max_by(|a, b| a.state().last_likelihood().total_cmp(&b.state().last_likelihood()));
        best.map(|run| (run, self.n_rows))
    }

    /// Continues until one or two finalists are left, or until it is stopped; returns whether it has ended.
    pub(super) fn go<E: Engine>(
        &mut self,
        problem: &Problem<'_, F, E>,
        observer: &dyn Observer,
    ) -> Result<bool, Error> {
        let rules = Rules::of(problem);
        while !self.has_ended {
            let has_ended = if self.share < 1.0 || rules.fits_in_memory(problem.source().n_columns()) {
                let rows = problem.source().share(self.share, problem.options().seed)?;
                let Some(has_ended) = self.level_on(&rows, problem, &rules, observer)? else {
                    self.share = rules.share_after(self.share, 0.0);
                    continue;
                };
                has_ended
            } else {
                self.n_rows = problem.source().summary().n_rows as u64;
                let level = problem.with_options(of_level(problem.options())).with_rule(Settled);
                self.level(&level, &rules, problem.is_small(), observer)?
            };
            if !has_ended {
                return Ok(false);
            }
            self.judge(problem, &rules)?;
        }
        Ok(true)
    }

    /// A level on rows in memory: runs the contenders, and improves the leader. Returns whether it has ended, or was
    /// stopped; `None` if the sample does not have rows enough.
    fn level_on<E: Engine>(
        &mut self,
        rows: &Rows<'_>,
        problem: &Problem<'_, F, E>,
        rules: &Rules,
        observer: &dyn Observer,
    ) -> Result<Option<bool>, Error> {
        // All rows are enough, whatever they weigh.
        let is_sample = self.share < 1.0;
        if is_sample && !rules.is_enough(rows) {
            return Ok(None);
        }
        let threads = Threads::new(rows).with_stop(|| problem.is_stopped(observer));
        let source = match Source::new(threads) {
            Err(Error::Interrupted) => return Ok(Some(false)),
            source => source?,
        };
        let n_components = problem.n_components();
        if is_sample && source.distinct(n_components)?.len() < n_components {
            return Ok(None);
        }
        self.n_rows = rows.n_rows() as u64;
        let level = Problem::new(&source, n_components, problem.start().clone(), of_level(problem.options()))?;
        let level = level.with_floor(problem.floor().clone());
        let has_ended = self.level(&level, rules, true, observer)? && self.improve(&level, rows, rules, observer)?;
        Ok(Some(has_ended))
    }

    /// Runs the contenders on the rows of a level until all have left it; returns false if it was stopped.
    fn level<E: Engine>(
        &mut self,
        level: &Problem<'_, F, E>,
        rules: &Rules,
        side_by_side: bool,
        observer: &dyn Observer,
    ) -> Result<bool, Error> {
        let goal = rules.goal(self.n_rows);
        loop {
            let (rung, watch) = (self.rung, Watch { observer, n_rows: self.n_rows, n_starts: self.contenders.len() });
            let go = |contender: &mut Contender<F>| match contender.go(level, rung, goal, &watch) {
                Err(Error::Interrupted) => Ok(()),
                other => other,
            };
            if side_by_side {
                self.contenders.par_iter_mut().try_for_each(go)?;
            } else {
                self.contenders.iter_mut().try_for_each(go)?;
            }
            if self.contenders.iter().any(|contender| !contender.is_at(rung)) {
                return Ok(false);
            }
            self.drop_hopeless(rules);
            if self.contenders.iter().all(|contender| contender.has_left) || rung >= rules.last_rung(self.n_rows) {
                return Ok(true);
            }
            self.rung = 2 * rung;
        }
    }
}

impl<F: Family> Contender<F> {
    fn is_at(&self, rung: u64) -> bool {
        self.has_left || self.run.as_ref().is_some_and(|run| run.state().round >= rung)
    }

    /// Mean log-likelihoods on the rows of the level so far.
    fn likelihoods(&self) -> &[f64] {
        self.run.as_ref().map_or(&[], |run| &run.state().likelihoods)
    }

    fn last_likelihood(&self) -> f64 {
        self.likelihoods().last().copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// Runs EM on the level until the rung, or until what is left to gain there is below the goal.
    fn go<E: Engine>(
        &mut self,
        level: &Problem<'_, F, E>,
        rung: u64,
        goal: f64,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        while !self.is_at(rung) {
            let run = match &mut self.run {
                Some(run) => run,
                none => {
                    let first = self.model.clone().map_or_else(|| level.first_model(self.start), Ok)?;
                    none.insert(level.run_from(first, self.start)?)
                }
            };
            if run.step(level, watch)? {
                return Ok(());
            }
            let state = run.state();
            self.has_left = rules::is_done(&state.likelihoods, state.repaired, goal);
        }
        Ok(())
    }
}

/// The options of EM on a level.
fn of_level(options: &Options) -> Options {
    Options {
        algorithm: Algorithm::Em,
        guard: false,
        accelerate: false,
        rounds: u64::MAX,
        tolerance: 0.0,
        ..options.clone()
    }
}

/// Reports the runs of a level.
struct Watch<'a> {
    observer: &'a dyn Observer,
    n_rows: u64,
    n_starts: usize,
}

impl Observer for Watch<'_> {
    fn evaluated(&self, restart: u64, round: u64, mean_ln_likelihood: f64) {
        let (n_rows, n_starts) = (self.n_rows, self.n_starts);
        self.observer.raced(&Standing { n_rows, n_starts, start: restart, round, mean_ln_likelihood });
    }

    fn is_stopped(&self) -> bool {
        self.observer.is_stopped()
    }
}
