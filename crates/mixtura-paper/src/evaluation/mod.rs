//! Repeats the evaluation of the paper: data sets, experiments, figures, findings.

mod findings;
mod projection;
mod report;
mod sets;
mod specimens;

pub use findings::{Finding, findings};
pub use projection::projection;
pub use report::{Evaluated, page};
pub use sets::{Claims, DataSet, Origin, SETS, artificial_mixture, artificial_rows};
pub use specimens::{Specimen, SpecimenPlan, specimen, specimen_plans};

use mixtura::{Rows, Start};
use serde::Serialize;

use crate::comparison::{Comparer, Comparison, Plan, StartDigest, Watcher};

/// The scale of the evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// A few starts and runs; takes minutes.
    Quick,
    /// As in the paper, 30 starts × 100 runs × 50 rounds; takes hours.
    Full,
}

/// Number of rounds of every run, as in the paper.
const ROUNDS: u64 = 50;

impl Scale {
    /// The plan for a data set.
    ///
    /// Log-likelihoods count as equal if they differ by less than what a fitted model explains by chance, p/(2N) for
    /// p free parameters (half of Akaike's penalty), or by less than 0.001 nats per row, the effect of SEM's draws.
    pub fn plan(self, set: &DataSet, n_rows: usize, n_columns: usize) -> Plan {
        let (starts, runs, bound_starts, bound_runs) = match self {
            Self::Quick => (3, 5, 1, 1),
            Self::Full => (30, 100, 3, 10),
        };
        let n_free = (set.n_components * (1 + n_columns + n_columns * (n_columns + 1) / 2) - 1) as f64;
        Plan {
            n_components: set.n_components,
            starts,
            runs,
            bound_runs,
            bound_starts,
            rounds: ROUNDS,
            start: Start::Random,
            seed: set.seed,
            equal_within: (n_free / (2 * n_rows) as f64).max(1e-3),
            ..Plan::default()
        }
    }
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

/// Runs the paper's three experiments on a data set, except for starts that are already stored. `None` if it was
/// stopped before any start was finished.
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
        let digest = StartDigest::of(&result, comparer.ln_volume());
        shelf.put(set, start, &digest)?;
        digests.push(digest);
    }
    Ok((!digests.is_empty()).then(|| comparer.comparison(digests)))
}
