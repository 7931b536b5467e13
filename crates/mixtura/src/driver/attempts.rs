//! All restarts of a fit and their guard runs. They can be paused after any round, saved, and continued.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::race::Race;
use super::{Algorithm, Observer, Options, Problem, Run, Termination};
use crate::family::Family;
use crate::sweep::Engine;
use crate::{Error, Mixture};

/// A fit in progress: every restart begun so far, with everything needed to continue.
///
/// Save it while a fit is paused (by its observer or by its engine), and load it to continue. The result has the same
/// bits as without the pause, if the format keeps the bits of every number: JSON does with serde_json's feature
/// `float_roundtrip`, without which some numbers are read one unit in the last place off. Only the limit on rounds and
/// the tolerance may be changed in between; restarts that ended at a limit that was raised since go on.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use mixtura::driver::{Attempts, Observer, Problem, Quiet};
/// use mixtura::{FullGaussian, Options, Rows, Source, Start};
///
/// /// Stops a fit after five rounds, counting those of all restarts.
/// #[derive(Default)]
/// struct Pause(AtomicU64);
///
/// impl Observer for Pause {
///     fn updated(&self, _restart: u64, _round: u64, _n_repairs: u64) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
///
///     fn is_stopped(&self) -> bool {
///         self.0.load(Ordering::Relaxed) >= 5
///     }
/// }
///
/// let rows = Rows::from_slice(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// let source = Source::of(&rows)?;
/// let options = Options::default().restarts(3).race(false);
/// let problem = Problem::<FullGaussian, _>::new(&source, 2, Start::Random, options)?;
/// let mut attempts = Attempts::new(&problem);
/// problem.go(&mut attempts, &Pause::default())?;
/// assert!(!attempts.has_ended());
/// let saved = serde_json::to_string(&attempts).unwrap();
///
/// // Later, perhaps in another process:
/// let mut loaded: Attempts<FullGaussian> = serde_json::from_str(&saved).unwrap();
/// problem.go(&mut loaded, &Quiet)?;
/// assert!(loaded.has_ended());
/// assert_eq!(problem.answer(&loaded)?, problem.fit(&Quiet)?);
/// # Ok::<(), mixtura::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Attempts<F: Family> {
    problem: Outline,
    /// If the starts race.
    pub(super) race: Option<Race<F>>,
    /// All starts or, after a race, those that go on to all rows.
    pub(super) attempts: Vec<Attempt<F>>,
}

/// What a saved fit and the problem that continues it must have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Outline {
    n_rows: usize,
    n_columns: usize,
    n_components: usize,
    n_restarts: u64,
    options: Options,
}

impl Outline {
    fn of<F: Family, E: Engine>(problem: &Problem<'_, F, E>) -> Self {
        Self {
            n_rows: problem.source().summary().n_rows,
            n_columns: problem.source().n_columns(),
            n_components: problem.n_components(),
            n_restarts: problem.n_restarts(),
            options: problem.options().clone(),
        }
    }

    /// Refuses a problem that differs from the saved one.
    fn check(&self, saved: &Self) -> Result<(), Error> {
        let numbers = [
            ("the number of rows", self.n_rows as u64, saved.n_rows as u64),
            ("the number of columns", self.n_columns as u64, saved.n_columns as u64),
            ("the number of components", self.n_components as u64, saved.n_components as u64),
            ("restarts", self.n_restarts, saved.n_restarts),
        ];
        for (what, given, expected) in numbers {
            if given != expected {
                let (expected, given) = (expected.to_string(), given.to_string());
                return Err(Error::Differs { what, expected, of: "saved fit", given });
            }
        }
        self.options.check_against(&saved.options)
    }
}

/// One restart and, if it is guarded, EM from the same model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Attempt<F: Family> {
    restart: u64,
    /// The model that a race led to.
    first: Option<Mixture<F>>,
    /// `None` until it has begun.
    main: Option<Run<F>>,
    /// EM from the same model.
    guard: Option<Run<F>>,
}

impl<F: Family> Attempts<F> {
    /// No restart has begun.
    pub fn new<E: Engine>(problem: &Problem<'_, F, E>) -> Self {
        let race = problem.races().then(|| Race::new(problem));
        let n_attempts = if race.is_some() { 0 } else { problem.n_restarts() };
        let attempts = (0..n_attempts).map(|restart| Attempt::new(restart, None)).collect();
        Self { problem: Outline::of(problem), race, attempts }
    }

    /// Whether all restarts have come to their own end: there is nothing left to do.
    pub fn has_ended(&self) -> bool {
        self.race.as_ref().is_none_or(|race| race.finalists().is_some()) && self.attempts.iter().all(Attempt::has_ended)
    }

    /// Number of completed rounds, summed over all restarts. Of the rounds of a race, only those on its current level
    /// count.
    pub fn n_rounds(&self) -> u64 {
        let runs = self.attempts.iter().flat_map(|attempt| attempt.main.iter().chain(&attempt.guard));
        let of_race = self.race.as_ref().filter(|race| race.finalists().is_none()).map_or(0, Race::n_rounds);
        of_race + runs.map(|run| run.state().round).sum::<u64>()
    }
}

impl<F: Family> Attempt<F> {
    fn new(restart: u64, first: Option<Mixture<F>>) -> Self {
        Self { restart, first, main: None, guard: None }
    }

    /// The better of the restart and its guard, if either has a result.
    pub(super) fn winner(&self) -> Option<&Run<F>> {
        let likelihood = |run: &Run<F>| run.answer().map(|answer| answer.mean_ln_likelihood);
        let main = self.main.as_ref().filter(|run| run.answer().is_some())?;
        let guard = self.guard.as_ref().filter(|guard| likelihood(guard) > likelihood(main));
        Some(guard.unwrap_or(main))
    }

    /// Whether the guard's EM is better.
    pub(super) fn is_guard_better(&self) -> bool {
        self.winner().zip(self.guard.as_ref()).is_some_and(|(winner, guard)| std::ptr::eq(winner, guard))
    }

    /// Whether it ended without being stopped.
    pub(super) fn has_ended(&self) -> bool {
        let has_ended = |run: &Run<F>| run.termination().is_some_and(|reason| reason != Termination::Interrupted);
        self.main.as_ref().is_some_and(has_ended) && self.guard.as_ref().is_none_or(has_ended)
    }

    /// Continues until it ends or is stopped.
    fn go<E: Engine>(&mut self, problem: &Problem<'_, F, E>, observer: &dyn Observer) -> Result<(), Error> {
        let has_ended = |run: &Run<F>| run.has_ended(problem.options());
        if self.main.as_ref().is_some_and(has_ended) && self.guard.as_ref().is_none_or(has_ended) {
            return Ok(());
        }
        if self.main.is_none() {
            if problem.is_stopped(observer) {
                return Err(Error::Interrupted);
            }
            let first = self.first.clone().map_or_else(|| problem.first_model(self.restart), Ok)?;
            if problem.options().guard {
                self.guard = Some(problem.run_with(&of_guard(problem.options()), first.clone(), self.restart));
            }
            self.main = Some(problem.run_from(first, self.restart)?);
        }
        let main = self.main.as_mut().expect("invariant: just begun");
        main.go(problem, observer)?;
        if main.termination() == Some(Termination::Interrupted) {
            return Ok(());
        }
        if let Some(guard) = &mut self.guard {
            let aside = Aside { observer, offset: problem.n_restarts() };
            match guard.go(&problem.with_options(of_guard(problem.options())), &aside) {
                // Stopped before EM had a model.
                Err(Error::Interrupted) => return Ok(()),
                other => other?,
            }
            if guard.termination() == Some(Termination::Interrupted) {
                return Ok(());
            }
        }
        observer.ended(self.restart);
        Ok(())
    }
}

/// The options of the run that guards `auto` against a worse local maximum.
fn of_guard(options: &Options) -> Options {
    Options { algorithm: Algorithm::Em, guard: false, accelerate: false, ..options.clone() }
}

impl<F: Family, E: Engine> Problem<'_, F, E> {
    /// Refuses a fit in progress that belongs to another problem.
    pub(super) fn check_saved(&self, attempts: &Attempts<F>) -> Result<(), Error> {
        Outline::of(self).check(&attempts.problem)?;
        let (n_found, n_expected) = (attempts.attempts.len(), self.n_restarts() as usize);
        if n_found == n_expected || self.races() && attempts.race.is_some() {
            return Ok(());
        }
        Err(Error::Length { what: "saved restarts", n_found, n_expected, of: "restarts" })
    }

    /// Continues all restarts that have not ended, until they end or are stopped.
    pub fn go(&self, attempts: &mut Attempts<F>, observer: &dyn Observer) -> Result<(), Error> {
        self.check_saved(attempts)?;
        let Attempts { race, attempts, .. } = attempts;
        let after_race;
        let mut problem = self;
        if let Some(race) = race {
            if !race.go(self, observer)? {
                return Ok(());
            }
            if attempts.is_empty() {
                let finalists = race.finalists().unwrap_or_default();
                attempts.extend(finalists.iter().map(|one| Attempt::new(one.start, one.model.clone())));
            }
            let options = self.options().clone();
            // After the race, `auto` is accelerated EM, and has nothing to guard against.
            let algorithm = self.algorithm_on_all_rows();
            let is_auto = options.algorithm == Algorithm::Auto;
            let (guard, accelerate) = (
                options.guard && algorithm == Algorithm::Auto,
                options.accelerate || is_auto && algorithm == Algorithm::Em,
            );
            after_race = self.with_options(Options { algorithm, guard, accelerate, ..options });
            problem = &after_race;
        }
        let go = |attempt: &mut Attempt<F>| match attempt.go(problem, observer) {
            // A restart that was stopped before it evaluated a model has no result.
            Err(Error::Interrupted) => Ok(()),
            other => other,
        };
        if self.is_small() { attempts.par_iter_mut().try_for_each(go) } else { attempts.iter_mut().try_for_each(go) }
    }
}

/// Reports a run to the observer under a different restart number.
struct Aside<'a> {
    observer: &'a dyn Observer,
    offset: u64,
}

impl Observer for Aside<'_> {
    fn pass_started(&self, restart: u64, round: u64) {
        self.observer.pass_started(self.offset + restart, round);
    }

    fn evaluated(&self, restart: u64, round: u64, mean_ln_likelihood: f64) {
        self.observer.evaluated(self.offset + restart, round, mean_ln_likelihood);
    }

    fn updated(&self, restart: u64, round: u64, n_repairs: u64) {
        self.observer.updated(self.offset + restart, round, n_repairs);
    }

    fn is_stopped(&self) -> bool {
        self.observer.is_stopped()
    }
}
