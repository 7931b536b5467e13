//! Lets others watch a fit and stop it.

/// Someone who watches a fit. All hooks are empty by default; restarts may call them side by side.
///
/// The order in each restart: `pass_started(t)`, `evaluated(t)`, then unless the fit ends there
/// `updated(t + 1)`; at last `ended`.
pub trait Observer: Sync {
    /// A pass under the model after round `round` begins.
    fn pass_started(&self, _restart: u64, _round: u64) {}

    /// The log-likelihood (a mean, in nats) of the model after round `round` is known.
    fn evaluated(&self, _restart: u64, _round: u64, _mean_ln_likelihood: f64) {}

    /// Round `round` is done, with so many repairs and clippings.
    fn updated(&self, _restart: u64, _round: u64, _n_repairs: u64) {}

    /// A restart has come to its end, and is not heard of again.
    fn ended(&self, _restart: u64) {}

    /// Whether the fit should end. Looked at once a round and before each restart; an engine that is to end in
    /// the middle of a pass must be told as well ([`Threads::with_stop`](crate::sweep::Threads::with_stop)).
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Observer for Quiet {}
