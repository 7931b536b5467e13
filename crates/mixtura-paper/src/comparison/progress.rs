//! Tracks the progress of a comparison and estimates the time left.

use std::cell::RefCell;

use super::Plan;

/// Observes a comparison and may stop it.
pub trait Watcher: Sync {
    /// Called after each unit of work.
    fn progressed(&self, progress: &Progress);

    /// Whether to stop as soon as possible; called from all threads, also in the middle of passes.
    fn is_stopped(&self) -> bool;
}

/// Kinds of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A round of EM.
    Em,
    /// A round of SEM.
    Sem,
    /// A measurement of the theorems' quantities for one model.
    Bounds,
}

/// Expected time of each kind of work, in rounds of EM, until it has been measured.
const EXPECTED: [f64; 3] = [1.0, 0.5, 3.0];

/// The progress of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Number of finished EM rounds, SEM rounds and measurements of bounds.
    done: [u64; 3],
    /// Total number of each.
    total: [u64; 3],
    /// Seconds spent on the finished ones.
    seconds: [f64; 3],
}

impl Progress {
    /// Seconds per unit of work: measured, or estimated from another kind of work.
    fn pace(&self, kind: usize) -> Option<f64> {
        if self.done[kind] > 0 {
            return Some(self.seconds[kind] / self.done[kind] as f64);
        }
        let seen = (0..3).find(|&other| self.done[other] > 0)?;
        Some(self.seconds[seen] / self.done[seen] as f64 / EXPECTED[seen] * EXPECTED[kind])
    }

    /// Estimated time left; `None` before any work is done.
    pub fn seconds_left(&self) -> Option<f64> {
        (0..3).map(|kind| Some((self.total[kind] - self.done[kind]) as f64 * self.pace(kind)?)).sum()
    }

    /// Share of the total time that has passed, from 0 to 1.
    pub fn share(&self) -> f64 {
        let over: f64 = self.seconds.iter().sum();
        self.seconds_left().map_or(0.0, |left| if over + left > 0.0 { over / (over + left) } else { 1.0 })
    }
}

/// Counts work for a watcher.
pub(super) struct Meter<'a> {
    progress: RefCell<Progress>,
    watcher: &'a dyn Watcher,
}

impl<'a> Meter<'a> {
    pub(super) fn new(plan: &Plan, watcher: &'a dyn Watcher) -> Self {
        let em = plan.starts * plan.rounds;
        let progress = Progress {
            done: [0; 3],
            total: [em, em * plan.runs, plan.bound_starts.min(plan.starts) * plan.rounds * plan.bound_runs],
            seconds: [0.0; 3],
        };
        Self { progress: RefCell::new(progress), watcher }
    }

    pub(super) fn did(&self, work: Work, seconds: f64) {
        let mut progress = self.progress.borrow_mut();
        // The evaluation of a run's last model comes on top of its rounds.
        progress.done[work as usize] = (progress.done[work as usize] + 1).min(progress.total[work as usize]);
        progress.seconds[work as usize] += seconds;
        self.watcher.progressed(&progress);
    }

    /// Marks a start as already done.
    pub(super) fn skip_start(&self, plan: &Plan, start: u64) {
        let mut progress = self.progress.borrow_mut();
        let bounds = if start < plan.bound_starts { plan.bound_runs } else { 0 };
        for (total, runs) in progress.total.iter_mut().zip([1, plan.runs, bounds]) {
            *total -= runs * plan.rounds;
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.watcher.is_stopped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_what_the_rest_takes_at_the_pace_so_far() {
        let mut progress = Progress { done: [0; 3], total: [10, 20, 10], seconds: [0.0; 3] };
        assert_eq!((progress.seconds_left(), progress.share()), (None, 0.0));
        progress.done[0] = 5;
        progress.seconds[0] = 10.0;
        // 5 rounds of EM at 2 s, 20 of SEM at an expected 1 s, 10 bounds at an expected 6 s.
        assert_eq!(progress.seconds_left(), Some(10.0 + 20.0 + 60.0));
        progress = Progress { done: [10, 10, 0], seconds: [20.0, 8.0, 0.0], ..progress };
        assert_eq!(progress.seconds_left(), Some(8.0 + 60.0));
        progress = Progress { done: [10, 20, 10], seconds: [20.0, 16.0, 64.0], ..progress };
        assert_eq!((progress.seconds_left(), progress.share()), (Some(0.0), 1.0));
    }
}
