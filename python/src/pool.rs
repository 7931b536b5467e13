//! Lends thread pools, each to one task at a time; forked processes get new ones.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Up to this many threads are always allowed; more only on machines with as many cores.
const MANY_THREADS: usize = 64;
/// Number of idle pools that are kept for later.
const MOST_IDLE: usize = 4;

/// Up to this many rows are left to the calling thread: others would take longer to wake up than to help.
const FEW_ROWS: usize = 1000;

/// Pools that are not in use.
static IDLE: Mutex<Vec<Pool>> = Mutex::new(Vec::new());

struct Pool {
    process: u32,
    n_threads: usize,
    threads: ThreadPool,
}

/// A pool in use. It belongs to one task: if it were shared, a task whose callback starts another would wait for the
/// thread that it occupies.
pub(crate) struct Lease(Option<Pool>);

impl Lease {
    /// Takes an idle pool of this size, or creates one.
    pub(crate) fn new(n_threads: Option<usize>) -> PyResult<Self> {
        let (process, n_threads) = (std::process::id(), self::n_threads(n_threads));
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        // A forked process has the pools of its parent, but not their threads, so these can neither run nor be joined.
        idle.extract_if(.., |pool| pool.process != process).for_each(std::mem::forget);
        if let Some(at) = idle.iter().rposition(|pool| pool.n_threads == n_threads) {
            return Ok(Self(Some(idle.swap_remove(at))));
        }
        drop(idle);
        let built = ThreadPoolBuilder::new().num_threads(n_threads).thread_name(|n| format!("mixtura-{n}")).build();
        let threads = built.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(Self(Some(Pool { process, n_threads, threads })))
    }
}

impl Deref for Lease {
    type Target = ThreadPool;

    fn deref(&self) -> &ThreadPool {
        &self.0.as_ref().expect("invariant: there until it is dropped").threads
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(pool) = self.0.take() else { return };
        if pool.process != std::process::id() {
            std::mem::forget(pool);
            return;
        }
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(pool);
        let surplus = (idle.len() > MOST_IDLE).then(|| idle.remove(0));
        drop(idle);
        drop(surplus);
    }
}

thread_local! {
    /// A pool that consists of the thread itself. rayon never forgets such a thread, so there is one for each.
    static ALONE: Option<ThreadPool> = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok();
}

/// Makes this thread run by itself what would otherwise run on a pool; false if it cannot.
pub(crate) fn here() -> bool {
    ALONE.with(Option::is_some)
}

/// Number of threads for work on some rows: few rows need only one.
pub(crate) fn for_rows(n_rows: usize, wanted: Option<usize>) -> Option<usize> {
    if n_rows <= FEW_ROWS { Some(1) } else { wanted }
}

/// Number of threads to use: as requested, or as the environment allows (RAYON_NUM_THREADS, or OMP_NUM_THREADS, which
/// joblib sets in its workers), or all that are available to this process.
#[pyfunction]
#[pyo3(signature = (wanted = None))]
pub(crate) fn n_threads(wanted: Option<usize>) -> usize {
    // OpenMP allows a list for nested levels; the first number is for the outermost.
    let first = |text: String| text.split(',').next().and_then(|word| word.trim().parse::<usize>().ok());
    let allowed = |name| std::env::var(name).ok().and_then(first);
    let given = |n: &usize| *n > 0;
    let wanted = wanted.filter(given);
    if let Some(n @ 1..=MANY_THREADS) = wanted {
        return n;
    }
    let available = available_parallelism().map_or(1, usize::from);
    wanted
        .or_else(|| allowed("RAYON_NUM_THREADS").filter(given))
        .or_else(|| allowed("OMP_NUM_THREADS").filter(given))
        .map_or(available, |n| n.min(available.max(MANY_THREADS)))
}
