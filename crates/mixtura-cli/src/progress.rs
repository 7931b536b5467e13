//! Watches a fit: a line of progress on a terminal, the trace, Ctrl-C.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use mixtura::driver::Observer;
use mixtura_paper::comparison::{Progress, Watcher};

use crate::interrupt;

/// What is known of the model after a round.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TraceRow {
    /// Log-likelihood for each unit of weight, in the data's units.
    pub mean_ln_likelihood: f64,
    /// Wall time of the round that made the model.
    pub seconds: f64,
    /// Repairs and clippings in that round.
    pub n_repairs: u64,
}

/// Watches all restarts of a fit.
pub(crate) struct Watch {
    bar: ProgressBar,
    what: String,
    rounds: u64,
    ln_volume: f64,
    restarts: Mutex<BTreeMap<u64, Restart>>,
}

#[derive(Default)]
struct Restart {
    started: Option<Instant>,
    rows: Vec<TraceRow>,
    pending: (f64, u64),
}

/// A bar of that length on a terminal; hidden elsewhere or if asked to be quiet.
pub(crate) fn bar(length: u64, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    let style = ProgressStyle::with_template("{spinner} [{bar:24}] {msg}").expect("invariant: the template is valid");
    bar.set_style(style.progress_chars("=> "));
    bar
}

/// A spinner with a message on a terminal, for work of unknown length.
pub(crate) fn spinner(message: String, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(message);
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

/// A bar with the time left, for work of known length.
pub(crate) struct Countdown {
    bar: ProgressBar,
    what: String,
}

impl Countdown {
    /// Steps of the bar.
    const LENGTH: u64 = 1000;

    /// A bar on a terminal; hidden elsewhere or if asked to be quiet.
    pub(crate) fn new(what: &str, quiet: bool) -> Self {
        Self { bar: bar(Self::LENGTH, quiet), what: what.into() }
    }

    /// Takes the bar off the terminal.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watcher for Countdown {
    fn progressed(&self, progress: &Progress) {
        if self.bar.is_hidden() {
            return;
        }
        let left = progress.seconds_left().map_or(String::new(), |left| format!("  {} left", duration(left)));
        self.bar.set_position((progress.share() * Self::LENGTH as f64) as u64);
        self.bar.set_message(format!("{}  {:.0} %{left}", self.what, 100.0 * progress.share()));
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_wanted()
    }
}

/// A time as one would say it.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

impl Watch {
    /// Watches a fit of at most so many rounds, whose rows were mapped with this volume factor.
    pub(crate) fn new(what: &str, rounds: u64, ln_volume: f64, quiet: bool) -> Self {
        Self { bar: bar(rounds, quiet), what: what.into(), rounds, ln_volume, restarts: Mutex::default() }
    }

    /// The rows of a restart's trace.
    pub(crate) fn trace(&self, restart: u64) -> Vec<TraceRow> {
        self.lock().get(&restart).map(|restart| restart.rows.clone()).unwrap_or_default()
    }

    /// A restart's trace as CSV.
    pub(crate) fn trace_csv(&self, restart: u64) -> String {
        let mut text = String::from("round,mean_log_likelihood,seconds,repairs\n");
        for (round, row) in self.trace(restart).iter().enumerate() {
            writeln!(text, "{round},{},{},{}", row.mean_ln_likelihood, row.seconds, row.n_repairs)
                .expect("invariant: text can be written to");
        }
        text
    }

    /// Takes the bar off the terminal.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Restart>> {
        self.restarts.lock().expect("invariant: no observer panics")
    }
}

impl Observer for Watch {
    fn pass_started(&self, restart: u64, _round: u64) {
        self.lock().entry(restart).or_default().started = Some(Instant::now());
    }

    fn evaluated(&self, restart: u64, round: u64, mean_ln_likelihood: f64) {
        let mean_ln_likelihood = mean_ln_likelihood + self.ln_volume;
        let mut restarts = self.lock();
        let entry = restarts.entry(restart).or_default();
        let (seconds, n_repairs) = std::mem::take(&mut entry.pending);
        let change = entry.rows.last().map(|row| mean_ln_likelihood - row.mean_ln_likelihood);
        entry.rows.push(TraceRow { mean_ln_likelihood, seconds, n_repairs });
        if self.bar.is_hidden() {
            return;
        }
        let change = change.map_or(String::new(), |change| format!("  change {change:+.1e}"));
        let restart = if restart > 0 { format!("  restart {}", restart + 1) } else { String::new() };
        self.bar.set_position(round);
        self.bar.set_message(format!(
            "{} round {round}/{}  log-likelihood {mean_ln_likelihood:.6} a row{change}{restart}",
            self.what, self.rounds
        ));
    }

    fn updated(&self, restart: u64, _round: u64, n_repairs: u64) {
        let mut restarts = self.lock();
        let entry = restarts.entry(restart).or_default();
        let seconds = entry.started.map_or(0.0, |started| started.elapsed().as_secs_f64());
        entry.pending = (seconds, n_repairs);
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_wanted()
    }
}
