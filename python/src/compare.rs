//! Compares EM and SEM from the same starts.

use mixtura::driver::Observer;
use mixtura::rows::Normalization;
use mixtura_paper::comparison::{Files, Plan, Progress, Publication, Summary, Watcher, compare as compare_rows};
use pyo3::prelude::*;

use crate::arguments::start_named;
use crate::data::Matrix;
use crate::failure::refused;
use crate::watch::{Watch, supervised};

/// The options of a comparison: a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PlanItems {
    n_components: usize,
    starts: u64,
    runs: u64,
    bound_runs: u64,
    rounds: u64,
    start: String,
    seed: u64,
    confidence: f64,
    equal_within: f64,
    regularization: f64,
    normalize: bool,
    command: String,
    n_threads: Option<usize>,
}

impl PlanItems {
    fn plan(&self) -> PyResult<Plan> {
        Ok(Plan {
            n_components: self.n_components,
            starts: self.starts,
            runs: self.runs,
            bound_runs: self.bound_runs,
            bound_starts: self.starts,
            rounds: self.rounds,
            start: start_named(&self.start)?,
            seed: self.seed,
            regularization: self.regularization,
            confidence: self.confidence,
            equal_within: self.equal_within,
            auto: false,
        })
    }
}

impl Watcher for Watch<'_> {
    fn progressed(&self, progress: &Progress) {
        self.tell(0, 0, progress.share());
    }

    fn is_stopped(&self) -> bool {
        Observer::is_stopped(self)
    }
}

/// The summary as JSON, and the name and text of each file that goes with it.
type Published = (String, Vec<(String, String)>);

/// Runs both algorithms; the listener is called with the completed share.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    data: Matrix<'_>,
    items: PlanItems,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Published> {
    let (data, plan) = (data.data(None)?, items.plan()?);
    plan.check().map_err(refused)?;
    let items = &items;
    let work = |watch: &Watch<'_>| {
        let mut rows = data.rows()?;
        if items.normalize {
            rows = rows.normalized()?;
        }
        let mut files = Files::new(rows.normalization().map_or(0.0, Normalization::ln_volume));
        let comparison = compare_rows(&rows, &plan, watch, |number, start| files.add(number, start))?;
        if comparison.starts.is_empty() {
            // Stopped by an exception, which is raised.
            return Ok((String::new(), Vec::new()));
        }
        let summary = Summary::of(&comparison);
        let publication = Publication {
            comparison: &comparison,
            summary: &summary,
            data: "an array".into(),
            normalized: items.normalize,
            command: items.command.clone(),
        };
        Ok((publication.to_json().to_string(), publication.documents(&files)))
    };
    supervised(py, items.n_threads, listener.as_ref(), work)?.map_err(refused)
}
