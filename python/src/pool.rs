//! Keeps a pool of threads for each number of threads that was asked for, anew in each process.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// A process, a number of threads and their pool.
static POOLS: Mutex<Vec<(u32, usize, Arc<ThreadPool>)>> = Mutex::new(Vec::new());

/// The pool of so many threads.
pub(crate) fn pool(n_threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let (process, n_threads) = (std::process::id(), self::n_threads(n_threads));
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    // A forked process has its parent's pools, but not their threads: they can neither work nor end.
    pools.extract_if(.., |(owner, ..)| *owner != process).for_each(std::mem::forget);
    if let Some((_, _, pool)) = pools.iter().find(|(_, n, _)| *n == n_threads) {
        return Ok(pool.clone());
    }
    let built = ThreadPoolBuilder::new().num_threads(n_threads).thread_name(|n| format!("mixtura-{n}")).build();
    let pool = Arc::new(built.map_err(|error| PyRuntimeError::new_err(error.to_string()))?);
    pools.push((process, n_threads, pool.clone()));
    Ok(pool)
}

/// How many threads are used: those asked for, else as many as the environment allows (RAYON_NUM_THREADS,
/// OMP_NUM_THREADS, which joblib's workers set), else all that the machine gives this process.
#[pyfunction]
#[pyo3(signature = (wanted = None))]
pub(crate) fn n_threads(wanted: Option<usize>) -> usize {
    let allowed = |name| std::env::var(name).ok()?.trim().parse::<usize>().ok().filter(|&n| n > 0);
    wanted
        .or_else(|| allowed("RAYON_NUM_THREADS"))
        .or_else(|| allowed("OMP_NUM_THREADS"))
        .or_else(|| available_parallelism().ok().map(usize::from))
        .unwrap_or(1)
}
