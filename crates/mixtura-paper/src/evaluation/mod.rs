//! Repeats the evaluation of the paper: data sets, experiments, figures, findings.

mod claims;
mod early;
mod projection;
mod report;
mod sets;
mod sheets;
mod specimens;
mod speedups;

pub use claims::{Claim, Verdict, claims};
pub use projection::{Ellipses, projection};
pub use report::{Evaluated, Evaluation, page};
pub use sets::{Claims, DataSet, Origin, SETS, artificial_mixture, artificial_rows};
pub use specimens::{Specimen, SpecimenPlan, specimen, specimen_plans};
pub use speedups::{Speedup, SpeedupPlan, speedup, speedup_plans};

use mixtura::{Rows, Start};
use serde::Serialize;

use crate::comparison::{Comparer, Comparison, Plan, StartDigest, Watcher};

/// The scale of the evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// A few starts and runs; takes minutes.
    #[default]
    Quick,
    /// As in the paper, 30 starts × 100 runs × 50 rounds; takes hours.
    Full,
}

/// Number of rounds of every run, as in the paper.
const ROUNDS: u64 = 50;

impl Scale {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// The plan for a data set.
    pub fn plan(self, set: &DataSet, n_rows: usize, n_columns: usize) -> Plan {
        let (starts, runs, bound_starts, bound_runs) = match self {
            Self::Quick => (3, 5, 3, 1),
            Self::Full => (30, 100, 30, 1),
        };
        Plan {
            n_components: set.n_components,
            starts,
            runs,
            bound_runs,
            bound_starts,
            rounds: ROUNDS,
            start: Start::Random,
            seed: set.seed,
            equal_within: equal_within(n_rows, n_columns, set.n_components),
            auto: true,
            ..Plan::default()
        }
    }
}

/// How far log-likelihoods that count as equal may differ, in nats per row.
///
/// A convention: p/(2N) for p free parameters, which is by how much a fitted model's log-likelihood per row exceeds the
/// true one's on average, but at least 0.001. The claims also count the runs that are within a tenth of it.
fn equal_within(n_rows: usize, n_columns: usize, n_components: usize) -> f64 {
    let n_free = (n_components * (1 + n_columns + n_columns * (n_columns + 1) / 2) - 1) as f64;
    (n_free / (2 * n_rows) as f64).max(1e-3)
}

/// A store of finished starts, so that an interrupted evaluation can continue.
pub trait Shelf {
    /// A start that was finished earlier with the same plan.
    fn take(&self, set: &DataSet, start: u64) -> Option<StartDigest>;

    /// Stores a finished start.
    fn put(
        &self,
        set: &DataSet,
        start: u64,
        digest: &StartDigest,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// Runs the paper's three experiments on a data set, except for starts that are already stored, and times rounds of
/// both algorithms in turn. `None` if it was stopped before any start was finished.
///
/// The time is measured anew every time, so that it can be measured on a quiet machine when the starts, which do not
/// depend on what else runs, are done.
pub fn experiment(
    set: &DataSet,
    rows: &Rows<'_>,
    plan: &Plan,
    shelf: &dyn Shelf,
    watcher: &dyn Watcher,
) -> Result<Option<Comparison>, Box<dyn std::error::Error + Send + Sync>> {
    let comparer = Comparer::new(rows, plan, watcher)?;
    let mut known: Vec<Option<StartDigest>> = (0..plan.starts).map(|start| shelf.take(set, start)).collect();
    (0..).zip(&known).filter(|(_, digest)| digest.is_some()).for_each(|(start, _)| comparer.skip(start));
    let mut digests = Vec::new();
    for start in 0..plan.starts {
        if let Some(digest) = known[start as usize].take() {
            digests.push(digest);
            continue;
        }
        let Some(result) = comparer.start(start)? else { break };
        let digest = comparer.digest(&result);
        shelf.put(set, start, &digest)?;
        digests.push(digest);
    }
    if digests.is_empty() {
        return Ok(None);
    }
    let timing = match comparer.timing(&comparer.first_start()?) {
        Err(mixtura::Error::Interrupted) => None,
        timing => Some(timing?),
    };
    Ok(Some(Comparison { timing, ..comparer.comparison(digests) }))
}
