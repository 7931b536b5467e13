//! Guards `auto` against a worse local maximum: runs EM from the same start and keeps the better.

use super::{Algorithm, Observer, Options, Run, State, Termination};
use crate::family::Family;
use crate::pass::Engine;
use crate::{Error, Mixture};

/// A restart that has ended, and the number under which observers saw it.
pub(crate) struct Attempt<F: Family> {
    pub(crate) run: Run<F>,
    pub(crate) observed: u64,
}

/// The better of an attempt by `auto` and one by EM from the same model.
pub(crate) fn guarded<F: Family, E: Engine<F>>(
    attempt: Attempt<F>,
    model: Mixture<F>,
    engine: &E,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Attempt<F>, Error> {
    if attempt.run.termination() == Termination::Interrupted {
        return Ok(attempt);
    }
    let Attempt { run: mut auto, observed } = attempt;
    let options_of_em = Options { algorithm: Algorithm::Em, guard: false, accelerate: false, ..options.clone() };
    let aside = Aside { observer, offset: options.restarts };
    let State { origin, restart, floor, .. } = auto.state();
    let mut em = Run::new(State::about(origin.clone(), model, *restart, floor.clone()));
    match em.go(engine, &options_of_em, &aside) {
        // Stopped before EM had a model of its own.
        Err(Error::Interrupted) => {
            auto.interrupt();
            return Ok(Attempt { run: auto, observed });
        }
        other => other?,
    }
    if em.result().1 > auto.result().1 {
        return Ok(Attempt { run: em, observed: observed + options.restarts });
    }
    if em.termination() == Termination::Interrupted {
        auto.interrupt();
    }
    Ok(Attempt { run: auto, observed })
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
