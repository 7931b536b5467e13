//! Reports progress (a bar on a terminal, occasional lines elsewhere), records the trace and handles Ctrl-C.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use mixtura::Algorithm;
use mixtura::driver::{Observer, Standing};
use mixtura_paper::comparison::{Progress, Watcher};

use crate::table::counted;
use crate::{interrupt, talk};

/// Interval between progress lines when there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Characters before the message: the spinner, the bar, and one that is left free at the end.
const BAR_WIDTH: usize = 22;

/// One row of the trace: the model after a round.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TraceRow {
    /// Log-likelihood per unit of row weight, in the units of the data.
    pub mean_ln_likelihood: f64,
    /// Wall time of the round that produced the model.
    pub seconds: f64,
    /// Number of repairs and clipped variances in that round.
    pub n_repairs: u64,
}

/// Displays progress as a bar or as occasional lines.
struct Display {
    bar: ProgressBar,
    began: Instant,
    last_line: Mutex<Instant>,
}

impl Display {
    /// Number of steps of the bar.
    const LENGTH: u64 = 1000;

    fn new() -> Self {
        let bar = if talk::is_lively() && !talk::is_quiet() {
            let bar = ProgressBar::new(Self::LENGTH);
            let style = ProgressStyle::with_template("{spinner} [{bar:16}] {wide_msg}")
                .expect("invariant: the template is valid");
            bar.set_style(style.progress_chars("=> "));
            bar
        } else {
            ProgressBar::hidden()
        };
        Self { bar, began: Instant::now(), last_line: Mutex::new(Instant::now()) }
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Shows the share of the work done and a message, which is built only if it is displayed.
    fn show(&self, share: f64, message: impl FnOnce() -> String) {
        if !self.bar.is_hidden() {
            self.bar.set_position((share * Self::LENGTH as f64) as u64);
            self.bar.set_message(message());
            return;
        }
        let mut last = self.last_line.lock().expect("invariant: no observer panics");
        if !talk::is_quiet() && last.elapsed() >= BETWEEN_LINES {
            *last = Instant::now();
            talk::notice(&message());
        }
    }

    /// As many parts of a message as fit, the most important first.
    fn line(&self, parts: Vec<String>) -> String {
        let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let most = if self.bar.is_hidden() { usize::MAX } else { width.saturating_sub(BAR_WIDTH) };
        first_parts(parts, most)
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The first parts of a message that fit into a number of characters; always at least one.
fn first_parts(parts: Vec<String>, most: usize) -> String {
    let mut line = String::new();
    for part in parts {
        if !line.is_empty() {
            if line.chars().count() + 2 + part.chars().count() > most {
                break;
            }
            line.push_str("  ");
        }
        line.push_str(&part);
    }
    line
}

/// A spinner with a message, for work of unknown length; only on a terminal.
pub(crate) fn spinner(message: &str) -> ProgressBar {
    if talk::is_quiet() || !talk::is_lively() {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(talk::printable(message).into_owned());
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

/// Progress of work of known length, with the time left.
pub(crate) struct Countdown {
    display: Display,
    what: String,
}

impl Countdown {
    pub(crate) fn new(what: &str) -> Self {
        Self { display: Display::new(), what: what.into() }
    }

    /// Removes the bar from the terminal.
    pub(crate) fn finish(&self) {
        self.display.finish();
    }
}

impl Watcher for Countdown {
    fn progressed(&self, progress: &Progress) {
        self.display.show(progress.share(), || {
            let elapsed = self.display.elapsed().as_secs_f64();
            let mut parts = vec![self.what.clone(), format!("{:.0} %", 100.0 * progress.share())];
            if elapsed >= 1.0 {
                let left = progress.seconds_left().map_or(String::new(), |left| format!(", {} left", duration(left)));
                parts.push(format!("{}{left}", duration(elapsed)));
            }
            self.display.line(parts)
        });
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_wanted()
    }
}

/// A duration in readable form.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Observes all restarts of a fit.
pub(crate) struct Watch {
    display: Display,
    plan: Plan,
    restarts: Mutex<BTreeMap<u64, Restart>>,
    /// Of a race: the number of rows of the level, and the best likelihood there.
    race: Mutex<Option<(u64, f64)>>,
}

/// Settings of the fit that progress messages refer to.
pub(crate) struct Plan {
    /// The algorithm's name.
    pub algorithm: Algorithm,
    /// Maximum number of rounds per restart.
    pub n_rounds: u64,
    /// Number of restarts.
    pub n_restarts: u64,
    /// Whether the starts race.
    pub races: bool,
    /// Logarithm of the volume factor of the normalization.
    pub ln_volume: f64,
}

#[derive(Default)]
struct Restart {
    started: Option<Instant>,
    rows: Vec<TraceRow>,
    pending: (f64, u64),
    has_ended: bool,
}

impl Watch {
    pub(crate) fn new(plan: Plan) -> Self {
        Self { display: Display::new(), plan, restarts: Mutex::default(), race: Mutex::default() }
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
                .expect("invariant: writing to a string cannot fail");
        }
        text
    }

    /// Removes the bar from the terminal.
    pub(crate) fn finish(&self) {
        self.display.finish();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Restart>> {
        self.restarts.lock().expect("invariant: no observer panics")
    }

    fn show(&self, restart: u64, round: u64, restarts: &BTreeMap<u64, Restart>) {
        let Plan { algorithm, n_rounds, n_restarts, races, .. } = self.plan;
        // After a race, one or two starts are left.
        let n_restarts = if races { restarts.len() as u64 } else { n_restarts };
        let n_ended = restarts.values().filter(|restart| restart.has_ended).count();
        // An unfinished run counts by its rounds, although it may converge long before the last.
        let of_rounds = |n_models: usize| n_models.saturating_sub(1) as f64 / n_rounds.max(1) as f64;
        let done = |restart: &Restart| if restart.has_ended { 1.0 } else { of_rounds(restart.rows.len()) };
        let done: f64 = restarts.values().map(done).sum();
        self.display.show(done / n_restarts.max(1) as f64, || {
            let rows = restarts.get(&restart).map_or(&[][..], |restart| &restart.rows);
            let last = rows.last().map_or(f64::NAN, |row| row.mean_ln_likelihood);
            let mut parts = vec![if n_restarts > 1 && !races {
                // The guard's run counts as the restart that it guards.
                format!("{algorithm} restart {}/{n_restarts} round {round}/{n_rounds}", restart % n_restarts + 1)
            } else {
                format!("{algorithm} round {round}/{n_rounds}")
            }];
            let elapsed = self.display.elapsed().as_secs_f64();
            let left = if n_ended > 0 {
                let left = elapsed * (n_restarts as f64 - n_ended as f64).max(0.0) / n_ended as f64;
                format!(", about {} left", duration(left))
            } else if round >= 5 {
                format!(", at most {} left", duration(elapsed * (n_restarts as f64 / done - 1.0)))
            } else {
                String::new()
            };
            if elapsed >= 1.0 {
                parts.push(duration(elapsed) + &left);
            }
            parts.push(format!("log-likelihood {last:.6}"));
            let ended = restarts.values().filter(|restart| restart.has_ended);
            let best = ended.filter_map(|restart| restart.rows.last()).map(|row| row.mean_ln_likelihood);
            let best = best.fold(f64::NEG_INFINITY, f64::max);
            if best.is_finite() {
                parts.push(format!("best {best:.6}"));
            }
            if let [.., before, last] = rows {
                let change = last.mean_ln_likelihood - before.mean_ln_likelihood;
                parts.push(format!("change {change:+.1e}"));
            }
            self.display.line(parts)
        });
    }
}

impl Observer for Watch {
    fn raced(&self, standing: &Standing) {
        let mut race = self.race.lock().expect("invariant: no observer panics");
        let before = race.filter(|&(n_rows, _)| n_rows == standing.n_rows).map_or(f64::NEG_INFINITY, |(_, best)| best);
        let best = before.max(standing.mean_ln_likelihood + self.plan.ln_volume);
        *race = Some((standing.n_rows, best));
        self.display.show(0.0, || {
            let starts = counted(standing.n_starts, "start");
            let rows = counted(standing.n_rows as usize, "row");
            let mut parts = vec![format!("race: {starts} on {rows}, round {}", standing.round)];
            let elapsed = self.display.elapsed().as_secs_f64();
            if elapsed >= 1.0 {
                parts.push(duration(elapsed));
            }
            parts.push(format!("best {best:.6}"));
            self.display.line(parts)
        });
    }

    fn pass_started(&self, restart: u64, _round: u64) {
        self.lock().entry(restart).or_default().started = Some(Instant::now());
    }

    fn evaluated(&self, restart: u64, round: u64, mean_ln_likelihood: f64) {
        let mean_ln_likelihood = mean_ln_likelihood + self.plan.ln_volume;
        let mut restarts = self.lock();
        let entry = restarts.entry(restart).or_default();
        let (seconds, n_repairs) = std::mem::take(&mut entry.pending);
        entry.rows.push(TraceRow { mean_ln_likelihood, seconds, n_repairs });
        self.show(restart, round, &restarts);
    }

    fn updated(&self, restart: u64, _round: u64, n_repairs: u64) {
        let mut restarts = self.lock();
        let entry = restarts.entry(restart).or_default();
        let seconds = entry.started.map_or(0.0, |started| started.elapsed().as_secs_f64());
        entry.pending = (seconds, n_repairs);
    }

    fn ended(&self, restart: u64) {
        self.lock().entry(restart).or_default().has_ended = true;
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_wanted()
    }
}

#[cfg(test)]
mod tests {
    use super::first_parts;

    #[test]
    fn a_part_that_does_not_fit_is_left_out_not_cut() {
        let parts = || vec!["EM round 7/1000".to_string(), "12 s".into(), "log-likelihood -7.328785".into()];
        assert_eq!(first_parts(parts(), 47), "EM round 7/1000  12 s  log-likelihood -7.328785");
        assert_eq!(first_parts(parts(), 46), "EM round 7/1000  12 s");
        assert_eq!(first_parts(parts(), 3), "EM round 7/1000");
    }
}
