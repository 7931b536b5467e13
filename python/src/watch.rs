//! Runs work on other threads while the calling one looks after Python: callbacks, Ctrl-C, exceptions.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use mixtura::Error;
use mixtura::driver::Observer;
use pyo3::prelude::*;

use crate::pool::Lease;

/// How long Ctrl-C waits for an answer, at most, beside the round or the piece under way.
const PATIENCE: Duration = Duration::from_millis(50);

/// Multiply-adds that each thread does between two looks at whether to stop: a few tenths of a second.
const WORK_BETWEEN_LOOKS: usize = 1 << 28;
/// Rows that one thread takes at a time: fewer would leave threads idle.
const ROWS_OF_A_THREAD: usize = 1024;

/// Tells Python of rounds, and the work when to stop.
pub(crate) struct Watch<'a> {
    /// To whom rounds are told; nobody if nobody asked.
    listener: Option<&'a SyncSender<Message>>,
    stop: &'a AtomicBool,
}

struct Message {
    restart: u64,
    round: u64,
    likelihood: f64,
    /// Dropped when the round has been told.
    told: SyncSender<()>,
}

impl Watch<'_> {
    /// Tells of a round, and waits until Python has heard of it.
    pub(crate) fn tell(&self, restart: u64, round: u64, likelihood: f64) {
        let Some(listener) = self.listener else { return };
        let (told, answer) = sync_channel(0);
        if listener.send(Message { restart, round, likelihood, told }).is_ok() {
            // An error is the answer: nothing is ever sent.
            let _ = answer.recv();
        }
    }
}

impl Watch<'_> {
    /// Goes through rows in pieces, each of which costs so much a row, and looks between them whether to stop; what is
    /// missing then is never seen, because what stopped it is raised. The pieces change no bit of the result.
    pub(crate) fn in_pieces<T>(
        &self,
        n_rows: usize,
        cost_of_row: usize,
        mut work: impl FnMut(Range<usize>) -> Result<Vec<T>, Error>,
    ) -> Result<Vec<T>, Error> {
        let piece = (WORK_BETWEEN_LOOKS / cost_of_row.max(1)).max(ROWS_OF_A_THREAD) / ROWS_OF_A_THREAD;
        let piece = piece * ROWS_OF_A_THREAD * rayon::current_num_threads();
        let mut out = work(0..n_rows.min(piece))?;
        let width = out.len() / n_rows.clamp(1, piece);
        out.reserve_exact((n_rows * width).saturating_sub(out.len()));
        for first in (piece..n_rows).step_by(piece) {
            if Observer::is_stopped(self) {
                break;
            }
            out.append(&mut work(first..n_rows.min(first + piece))?);
        }
        Ok(out)
    }
}

impl Observer for Watch<'_> {
    fn evaluated(&self, restart: u64, round: u64, mean_ln_likelihood: f64) {
        self.tell(restart, round, mean_ln_likelihood);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs work on a pool of threads, without the interpreter. `listener(restart, round, likelihood)` is called on
/// this thread, and stops the work if it returns something true; so do its exceptions and Ctrl-C, which are
/// raised when the round under way has ended.
pub(crate) fn supervised<T: Send>(
    py: Python<'_>,
    n_threads: Option<usize>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch<'_>) -> T + Send,
) -> PyResult<T> {
    let pool = Lease::new(n_threads)?;
    let stop = AtomicBool::new(false);
    let (sender, messages) = sync_channel(0);
    let (messages, is_listened_to) = (Mutex::new(messages), listener.is_some());
    std::thread::scope(|scope| {
        let stop = &stop;
        let worker = scope.spawn(move || {
            // Dropping the sender says that the work is done.
            let sender = sender;
            pool.install(|| work(&Watch { listener: is_listened_to.then_some(&sender), stop }))
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
                stop.fetch_or(*outcome.as_ref().unwrap_or(&true), Ordering::Relaxed);
                failure = outcome.err();
            }
            // Only now does the work go on, and sees whether it should.
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
