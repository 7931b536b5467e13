//! All restarts of a fit, with the guard's runs beside them: can be paused after any round, saved, and continued.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Algorithm, Observer, Options, Problem, Run, Termination};
use crate::Error;
use crate::family::Family;
use crate::sweep::Engine;

/// A fit under way: every restart that was begun, with all it needs to go on.
///
/// Save it while a fit is paused (by its observer, or by its engine's request to stop), and load it to go on: the
/// answer has the same bits as if the fit had never stopped.
///
/// ```
/// use mixtura::driver::{Attempts, Problem, Quiet};
/// use mixtura::{FullGaussian, Options, Rows, Source, Start};
///
/// let rows = Rows::from_slice(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// let source = Source::of(&rows)?;
/// let options = Options::default().restarts(3);
/// let problem = Problem::<FullGaussian, _>::new(&source, 2, Start::Random, options)?;
/// let mut attempts = Attempts::new(&problem);
/// problem.go(&mut attempts, &Quiet)?;
/// let saved = serde_json::to_string(&attempts).unwrap();
/// let mut loaded: Attempts<FullGaussian> = serde_json::from_str(&saved).unwrap();
/// problem.go(&mut loaded, &Quiet)?; // Everything has ended: nothing is left to do.
/// assert_eq!(problem.answer(&loaded)?, problem.fit(&Quiet)?);
/// # Ok::<(), mixtura::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Attempts<F: Family> {
    pub(super) attempts: Vec<Attempt<F>>,
}

/// One restart, and EM beside it if it is guarded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Attempt<F: Family> {
    restart: u64,
    /// None before it is begun.
    main: Option<Run<F>>,
    /// EM from the same model.
    guard: Option<Run<F>>,
}

impl<F: Family> Attempts<F> {
    /// Before the first restart.
    pub fn new<E: Engine>(problem: &Problem<'_, F, E>) -> Self {
        let attempt = |restart| Attempt { restart, main: None, guard: None };
        Self { attempts: (0..problem.options().restarts).map(attempt).collect() }
    }

    /// Rounds done so far, by all restarts.
    pub fn n_rounds(&self) -> u64 {
        let runs = self.attempts.iter().flat_map(|attempt| attempt.main.iter().chain(&attempt.guard));
        runs.map(|run| run.state().round).sum()
    }
}

impl<F: Family> Attempt<F> {
    /// The better of the restart and its guard, if either has an answer.
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

    /// Whether it came to its end without being stopped.
    pub(super) fn has_ended(&self) -> bool {
        let has_ended = |run: &Run<F>| run.termination().is_some_and(|reason| reason != Termination::Interrupted);
        self.main.as_ref().is_some_and(has_ended) && self.guard.as_ref().is_none_or(has_ended)
    }

    /// Goes on to the end, or until it is stopped.
    fn go<E: Engine>(&mut self, problem: &Problem<'_, F, E>, observer: &dyn Observer) -> Result<(), Error> {
        if self.has_ended() {
            return Ok(());
        }
        if self.main.is_none() {
            if problem.is_stopped(observer) {
                return Err(Error::Interrupted);
            }
            let first = problem.first_model(self.restart)?;
            if problem.options().guard {
                self.guard = Some(problem.run_with(&of_guard(problem.options()), first.clone(), self.restart));
            }
            self.main = Some(problem.run_from(first, self.restart));
        }
        let main = self.main.as_mut().expect("invariant: just begun");
        main.go(problem, observer)?;
        if main.termination() == Some(Termination::Interrupted) {
            return Ok(());
        }
        if let Some(guard) = &mut self.guard {
            let aside = Aside { observer, offset: problem.options().restarts };
            match guard.go(&problem.with_options(of_guard(problem.options())), &aside) {
                // Stopped before EM had a model of its own.
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
    /// Goes on with all restarts that have not ended, until they have or are stopped.
    pub fn go(&self, attempts: &mut Attempts<F>, observer: &dyn Observer) -> Result<(), Error> {
        let go = |attempt: &mut Attempt<F>| match attempt.go(self, observer) {
            // A restart that was stopped before it had evaluated a model has no answer.
            Err(Error::Interrupted) => Ok(()),
            other => other,
        };
        if self.is_small() {
            attempts.attempts.par_iter_mut().try_for_each(go)
        } else {
            attempts.attempts.iter_mut().try_for_each(go)
        }
    }
}

/// Shows a run under another number.
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
