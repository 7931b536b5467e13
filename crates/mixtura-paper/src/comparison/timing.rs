//! Times rounds of both algorithms, one after the other in turn.

use mixtura::{Algorithm, Error, FullGaussian, Mixture};
use serde::{Deserialize, Serialize};

use super::Comparer;
use super::run::Runner;
use crate::Quantiles;

/// Rounds before the first that is timed: caches fill, and SEM chooses its precision.
const WARM_UP: usize = 3;

/// Times of rounds that took turns, so that whatever else the machine does slows both algorithms alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Median seconds per EM round.
    pub em_seconds: f64,
    /// Median seconds per SEM round.
    pub sem_seconds: f64,
    /// Time of a round of EM divided by that of the SEM round after it, over all pairs of rounds.
    pub speedup: Quantiles,
    /// Number of pairs.
    pub rounds: usize,
}

impl Comparer<'_> {
    /// Times the planned rounds of both algorithms from a model.
    pub fn timing(&self, initial: &Mixture<FullGaussian>) -> Result<Timing, Error> {
        let runner = Runner { source: &self.source, plan: self.plan, meter: &self.meter, start: 0 };
        let (mut em, mut sem) = (runner.course(Algorithm::Em, initial, 0)?, runner.course(Algorithm::Sem, initial, 0)?);
        while !(em.step(&runner, None)? | sem.step(&runner, None)?) {}
        let skipped = WARM_UP.min(em.seconds.len().saturating_sub(1));
        let (em, sem) = (&em.seconds[skipped..], &sem.seconds[skipped..]);
        let median = |seconds: &[f64]| Quantiles::of(seconds.iter().copied()).median;
        Ok(Timing {
            em_seconds: median(em),
            sem_seconds: median(sem),
            speedup: Quantiles::of(em.iter().zip(sem).map(|(em, sem)| em / sem)),
            rounds: em.len(),
        })
    }

    /// The model that start 1 begins with.
    pub fn first_start(&self) -> Result<Mixture<FullGaussian>, Error> {
        self.plan.initial(&self.source, 0)
    }
}
