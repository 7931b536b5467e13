//! Times EM against SEM for many numbers of columns and components.

use mixtura::generate::Artificial;
use mixtura::{Error, Rows, Start};
use serde::Serialize;

use super::Scale;
use crate::comparison::{Comparer, Operations, Plan, Timing, Watcher};

/// A shape to time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SpeedupPlan {
    /// D.
    pub n_columns: usize,
    /// K.
    pub n_components: usize,
    /// N.
    pub n_rows: usize,
}

/// The times of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Speedup {
    /// The shape.
    pub plan: SpeedupPlan,
    /// Rounds timed in turn.
    pub timing: Timing,
}

impl Speedup {
    /// EM's operations divided by SEM's, as the kernels do them.
    pub fn operations(&self) -> f64 {
        let SpeedupPlan { n_columns, n_components, n_rows } = self.plan;
        Operations::em(n_rows, n_columns, n_components).total()
            / Operations::sem(n_rows, n_columns, n_components).total()
    }
}

/// The shapes to time: every number of columns with every number of components, and about as much work for each.
pub fn speedup_plans(scale: Scale) -> Vec<SpeedupPlan> {
    let (columns, components, work): (&[usize], &[usize], usize) = match scale {
        Scale::Quick => (&[2, 5, 10, 20, 50], &[3, 10, 30], 3_000_000),
        Scale::Full => (&[2, 5, 10, 20, 50, 100], &[3, 10, 30, 100], 20_000_000),
    };
    let plan = |n_columns: usize, n_components: usize| {
        let n_rows = (work / (n_components * n_columns)).clamp(5_000, 1_000_000);
        SpeedupPlan { n_columns, n_components, n_rows }
    };
    components.iter().flat_map(|&k| columns.iter().map(move |&d| plan(d, k))).collect()
}

/// Times rounds of both algorithms on rows of an artificial mixture. `None` if stopped.
pub fn speedup(plan: &SpeedupPlan, watcher: &dyn Watcher) -> Result<Option<Speedup>, Error> {
    const ROUNDS: u64 = 15;
    let SpeedupPlan { n_columns, n_components, n_rows } = *plan;
    let truth = Artificial { n_columns, n_components, ..Artificial::default() }.mixture(1)?;
    let rows = Rows::from_vec(truth.sample(0..n_rows, 1)?.0, n_columns)?;
    let timed = Plan { n_components, bound_runs: 0, rounds: ROUNDS, start: Start::KmeansPlusPlus, ..Plan::default() };
    let comparer = Comparer::new(&rows, &timed, watcher)?;
    match comparer.first_start().and_then(|first| comparer.timing(&first)) {
        Err(Error::Interrupted) => Ok(None),
        timing => Ok(Some(Speedup { plan: *plan, timing: timing? })),
    }
}
