//! Lets a caller watch a fit and stop it.

/// Watches a fit. All hooks are empty by default; restarts may call them concurrently.
///
/// Order of calls within a restart: `pass_started(t)`, `evaluated(t)` and, unless the fit ends there, `updated(t + 1)`;
/// finally `ended`.
pub trait Observer: Sync {
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
