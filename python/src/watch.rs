//! Runs work while the calling thread serves Python: callbacks, Ctrl-C, exceptions. A single thread does both by turns.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mixtura::Error;
use mixtura::driver::Observer;
use pyo3::prelude::*;

use crate::pool::{Lease, here, n_threads};

/// How often signals are checked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Multiply-adds of each thread between two checks whether to stop: a few tenths of a second.
const WORK_BETWEEN_LOOKS: usize = 1 << 28;
/// Fewest rows per thread in a piece: with fewer, threads would be idle.
const ROWS_OF_A_THREAD: usize = 1024;

/// Reports rounds to Python, and tells the work when to stop.
pub(crate) struct Watch<'a> {
    caller: Caller<'a>,
    stop: &'a Stop,
}

/// Where Python is, as seen from the work.
enum Caller<'a> {
    /// On another thread, which receives the rounds if anybody listens.
    Elsewhere(Option<&'a SyncSender<Message>>),
    /// On this thread.
    Here(Here),
}

/// What the work needs to serve Python itself.
struct Here {
    listener: Option<Py<PyAny>>,
    /// When signals were checked for last.
    checked: Mutex<Instant>,
    failure: Mutex<Option<PyErr>>,
}

/// Why work should end.
#[derive(Default)]
struct Stop {
    /// The listener asked for it: the result so far is wanted.
    is_requested: AtomicBool,
    /// An exception is pending, such as Ctrl-C's: the result is never seen.
    is_abandoned: AtomicBool,
}

struct Message {
    restart: u64,
    round: u64,
    likelihood: f64,
    /// Dropped once the listener has been called.
    told: SyncSender<()>,
}

impl Watch<'_> {
    /// Reports a round, and waits until the listener has been called.
    pub(crate) fn tell(&self, restart: u64, round: u64, likelihood: f64) {
        let listener = match &self.caller {
            Caller::Here(here) => return here.tell((restart, round, likelihood), self.stop),
            Caller::Elsewhere(listener) => listener,
        };
        let Some(listener) = listener else { return };
        let (told, answer) = sync_channel(0);
        if listener.send(Message { restart, round, likelihood, told }).is_ok() {
            // Nothing is ever sent back: the error says that the sender was dropped.
            let _ = answer.recv();
        }
    }

    /// Whether an exception is pending, so that nobody will see the result. Engines stop in the middle of a pass then;
    /// a listener that asks for an end gets it after the round.
    pub(crate) fn is_abandoned(&self) -> bool {
        if let Caller::Here(here) = &self.caller {
            here.check_signals(self.stop);
        }
        self.stop.is_abandoned.load(Ordering::Relaxed)
    }

    /// Splits rows into pieces of a few tenths of a second each, given the multiply-adds per row, and stops between
    /// two of them if the result is no longer wanted.
    pub(crate) fn pieces(&self, n_rows: usize, cost_of_row: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let piece = (WORK_BETWEEN_LOOKS / cost_of_row.max(1)).max(ROWS_OF_A_THREAD) / ROWS_OF_A_THREAD;
        let piece = piece * ROWS_OF_A_THREAD * rayon::current_num_threads();
        let ranges = (0..n_rows).step_by(piece).map(move |first| first..n_rows.min(first + piece));
        ranges.take_while(|_| !self.is_abandoned())
    }

    /// Evaluates rows piece by piece; an abandoned result is incomplete. The pieces change no bit of the result.
    pub(crate) fn in_pieces<T>(
        &self,
        n_rows: usize,
        cost_of_row: usize,
        mut work: impl FnMut(Range<usize>) -> Result<Vec<T>, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut out = Vec::new();
        for range in self.pieces(n_rows, cost_of_row) {
            let n_in_piece = range.len();
            let mut piece = work(range)?;
            if out.is_empty() {
                let width = piece.len() / n_in_piece;
                piece.reserve_exact((n_rows * width).saturating_sub(piece.len()));
                out = piece;
            } else {
                out.append(&mut piece);
            }
        }
        Ok(out)
    }
}

impl Observer for Watch<'_> {
    fn evaluated(&self, restart: u64, round: u64, mean_ln_likelihood: f64) {
        self.tell(restart, round, mean_ln_likelihood);
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_requested.load(Ordering::Relaxed) || self.is_abandoned()
    }
}

impl Here {
    fn tell(&self, round: (u64, u64, f64), stop: &Stop) {
        if self.listener.is_some() && !stop.is_abandoned.load(Ordering::Relaxed) {
            let listener = self.listener.as_ref();
            self.note(Python::attach(|py| tell(py, listener.map(|listener| listener.bind(py)), round)), stop);
        }
    }

    /// Checks for signals now and then.
    fn check_signals(&self, stop: &Stop) {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.elapsed() > PATIENCE && !stop.is_abandoned.load(Ordering::Relaxed) {
            self.note(Python::attach(|py| py.check_signals().map(|()| false)), stop);
            *checked = Instant::now();
        }
    }

    fn note(&self, outcome: PyResult<bool>, stop: &Stop) {
        stop.note(&outcome);
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = outcome.err();
    }
}

impl Stop {
    /// Takes note of a listener's wish to stop, or of an exception.
    fn note(&self, outcome: &PyResult<bool>) {
        self.is_requested.fetch_or(*outcome.as_ref().unwrap_or(&false), Ordering::Relaxed);
        self.is_abandoned.store(outcome.is_err(), Ordering::Relaxed);
    }
}

/// Runs work with the interpreter's lock released: on a pool of threads, or on this thread if one is enough. `listener(restart,
/// round, likelihood)` is called on this thread, and ends the work after the round if it returns something true. Its
/// exceptions and Ctrl-C end the work as soon as it looks at [`Watch::is_abandoned`], and are raised then.
pub(crate) fn supervised<T: Send>(
    py: Python<'_>,
    n_threads: Option<usize>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch<'_>) -> T + Send,
) -> PyResult<T> {
    let stop = Stop::default();
    if self::n_threads(n_threads) == 1 && here() {
        let checked = Mutex::new(Instant::now());
        let here = Here { listener: listener.map(|it| it.clone().unbind()), checked, failure: Mutex::default() };
        let watch = Watch { caller: Caller::Here(here), stop: &stop };
        let result = py.detach(|| work(&watch));
        let Caller::Here(here) = watch.caller else { unreachable!("made above") };
        let failure = here.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        // A signal since the last check must not strike between this call and the next line of Python.
        return failure.map_or_else(|| py.check_signals(), Err).map(|()| result);
    }
    let pool = Lease::new(n_threads)?;
    let (sender, messages) = sync_channel(0);
    let (messages, is_listened_to) = (Mutex::new(messages), listener.is_some());
    std::thread::scope(|scope| {
        let stop = &stop;
        let worker = scope.spawn(move || {
            // Dropping the sender signals that the work is done.
            let sender = sender;
            pool.install(|| work(&Watch { caller: Caller::Elsewhere(is_listened_to.then_some(&sender)), stop }))
        });
        let mut failure = None;
        loop {
            let heard = py.detach(|| receive(&messages));
            let (outcome, told) = match heard {
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => (py.check_signals().map(|()| false), None),
                Ok(Message { restart, round, likelihood, told }) => {
                    (tell(py, listener, (restart, round, likelihood)), Some(told))
                }
            };
            if failure.is_none() {
                stop.note(&outcome);
                failure = outcome.err();
            }
            // Only now does the work continue and check whether it should stop.
            drop(told);
        }
        let result = py.detach(|| worker.join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        failure.map_or(Ok(result), Err)
    })
}

fn receive(messages: &Mutex<Receiver<Message>>) -> Result<Message, RecvTimeoutError> {
    messages.lock().expect("invariant: only one thread listens").recv_timeout(PATIENCE)
}

/// Whether the listener wants the work to stop.
fn tell(py: Python<'_>, listener: Option<&Bound<'_, PyAny>>, round: (u64, u64, f64)) -> PyResult<bool> {
    py.check_signals()?;
    match listener {
        Some(listener) => listener.call1(round)?.is_truthy(),
        None => Ok(false),
    }
}
