//! Lets a caller watch a fit and stop it.

use super::race::Standing;

/// Watches a fit. All hooks are empty by default; restarts may call them concurrently.
///
/// Order of calls within a restart: `pass_started(t)`, `evaluated(t)` and, unless the fit ends there, `updated(t + 1)`;
/// finally `ended`.
///
/// An observer that stops a fit after three rounds:
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use mixtura::driver::{Observer, Termination};
/// use mixtura::{Gmm, Rows, Source};
///
/// #[derive(Default)]
/// struct ThreeRounds(AtomicU64);
///
/// impl Observer for ThreeRounds {
///     fn updated(&self, _restart: u64, round: u64, _n_repairs: u64) {
///         self.0.store(round, Ordering::Relaxed);
///     }
///
///     fn is_stopped(&self) -> bool {
///         self.0.load(Ordering::Relaxed) >= 3
///     }
/// }
///
/// let rows = Rows::from_slice(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// let fit = Gmm::new(2).restarts(1).fit_observed(&Source::of(&rows)?, &ThreeRounds::default())?;
/// assert_eq!((fit.rounds, fit.termination), (3, Termination::Interrupted));
/// # Ok::<(), mixtura::Error>(())
/// ```
pub trait Observer: Sync {
    /// A start that takes part in a race has done a round on a sample of the rows. The other hooks follow when the race
    /// is over, for the starts that go on to all rows.
    fn raced(&self, _standing: &Standing) {}

    /// A pass under the model after round `round` begins.
    fn pass_started(&self, _restart: u64, _round: u64) {}

    /// The mean log-likelihood, in nats, of the model after round `round` is known.
    fn evaluated(&self, _restart: u64, _round: u64, _mean_ln_likelihood: f64) {}

    /// Round `round` is complete; it took `n_repairs` repairs and clippings.
    fn updated(&self, _restart: u64, _round: u64, _n_repairs: u64) {}

    /// The restart has ended; no more calls will follow for it.
    fn ended(&self, _restart: u64) {}

    /// Whether the fit should end. Called once per round and before each restart. To end in the middle of a pass, the
    /// engine must be stopped as well ([`Threads::with_stop`](crate::sweep::Threads::with_stop)).
    fn is_stopped(&self) -> bool {
        false
    }
}

/// An observer that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Observer for Quiet {}
