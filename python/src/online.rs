//! Updates models with batches of rows.

use mixtura::driver::{Event, Gains, Online as Learning, Problem};
use mixtura::family::Family;
use mixtura::sweep::Threads;
use mixtura::{AnyMixture, Error, Mixture, Options, Source, Start, with_family};
use mixtura_io::ModelFile;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::arguments::{Settings, Task, kind};
use crate::data::{Data, Matrix, Weights};
use crate::failure::refused;
use crate::fit::{EventItem, items};
use crate::model::Model;
use crate::pool::for_rows;
use crate::watch::{Watch, supervised};

/// A mixture that learns from batches; see `mixtura::driver::Online`.
#[pyclass(module = "mixtura._mixtura")]
pub(crate) struct Online {
    family: String,
    structure: String,
    learner: Box<dyn Learner>,
}

/// A mixture of some family that learns.
trait Learner: Send + Sync {
    fn learn(&mut self, data: Data<'_>, options: &Options, gains: &Gains, watch: &Watch<'_>) -> Result<f64, Error>;
    fn model(&self) -> AnyMixture;
    fn n_batches(&self) -> u64;
    fn events(&self) -> &[Event];
    fn to_json(&self) -> String;
    fn copied(&self) -> Box<dyn Learner>;
}

impl<F: Family> Learner for Learning<F>
where
    AnyMixture: From<Mixture<F>>,
{
    fn learn(&mut self, data: Data<'_>, options: &Options, gains: &Gains, watch: &Watch<'_>) -> Result<f64, Error> {
        let rows = data.rows()?;
        let source = Source::new(Threads::new(&rows).with_stop(|| watch.is_abandoned()))?;
        // Nothing changes before the pass is complete, so a batch that is interrupted leaves no trace.
        Learning::learn(self, &source, options, gains)
    }

    fn model(&self) -> AnyMixture {
        Learning::model(self).clone().into()
    }

    fn n_batches(&self) -> u64 {
        Learning::n_batches(self)
    }

    fn events(&self) -> &[Event] {
        Learning::events(self)
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("invariant: statistics are finite numbers")
    }

    fn copied(&self) -> Box<dyn Learner> {
        Box::new(self.clone())
    }
}

/// Step sizes: a dictionary.
#[derive(FromPyObject, Clone, Copy)]
#[pyo3(from_item_all)]
pub(crate) struct Steps {
    decay: f64,
    offset: f64,
    /// Weight of the batch, relative to the usual batch.
    share: f64,
}

impl Steps {
    /// A batch of the usual size has γ = (t + offset)^−decay. One that weighs r times as much has 1 − (1 − γ)^r, as r
    /// usual batches in a row; returned as the decay and offset that give this number for batch t.
    fn of_batch(self, batch: u64) -> Gains {
        let usual = Gains { decay: self.decay, offset: self.offset };
        let gain = -f64::exp_m1(self.share * f64::ln_1p(-usual.gain(batch)));
        if batch < 2 || self.share == 1.0 || !(gain > 0.0 && gain < 1.0) {
            return usual;
        }
        // A decay of at most 1 needs t + offset ≥ 1 / gain.
        let offset = (gain.recip() - batch as f64).max(self.offset);
        Gains { decay: (-gain.ln() / (batch as f64 + offset).ln()).min(1.0), offset }
    }
}

fn begun<F: Family>(
    data: Data<'_>,
    start: &Start<F>,
    n_components: usize,
    options: &Options,
    n_batches: u64,
    watch: &Watch<'_>,
) -> Result<Box<dyn Learner>, Error>
where
    AnyMixture: From<Mixture<F>>,
{
    let rows = data.rows()?;
    let source = Source::new(Threads::new(&rows).with_stop(|| watch.is_abandoned()))?;
    let problem = Problem::new(&source, n_components, start.clone(), options.clone())?;
    let (first, floor) = (problem.first_model(0)?, problem.floor().clone());
    Ok(Box::new(match n_batches {
        0 => Learning::new(first, floor),
        n => Learning::resumed(first, floor, n),
    }))
}

#[pymethods]
impl Online {
    /// Starts before the first batch, whose spread sets the smallest variance; or continues from a model after
    /// `n_batches` batches.
    #[new]
    #[pyo3(signature = (task, n_batches = 0))]
    fn new(py: Python<'_>, task: Task<'_>, n_batches: u64) -> PyResult<Self> {
        let (data, options, n_components) = (task.data()?, task.settings.options()?, task.n_components);
        let learner = with_family!(task.kind()?, F => {
            let start = task.start::<F>()?;
            let work = |watch: &Watch<'_>| begun::<F>(data, &start, n_components, &options, n_batches, watch);
            supervised(py, for_rows(data.n_rows(), task.settings.n_threads), None, work)?.map_err(refused)?
        });
        Ok(Self { family: task.family, structure: task.structure, learner })
    }

    /// Updates the model with a batch; returns the mean log-likelihood of the batch before the update.
    fn learn(
        &mut self,
        py: Python<'_>,
        data: Matrix<'_>,
        weights: Weights<'_>,
        settings: Settings,
        gains: Steps,
    ) -> PyResult<f64> {
        let (data, options) = (data.data(weights.as_ref())?, settings.options()?);
        let gains = gains.of_batch(self.learner.n_batches() + 1);
        // A copy: Ctrl-C may come when the batch is complete, but before that is known here.
        let mut learner = self.learner.copied();
        let work = |watch: &Watch<'_>| learner.learn(data, &options, &gains, watch);
        let likelihood = supervised(py, for_rows(data.n_rows(), settings.n_threads), None, work)?.map_err(refused)?;
        self.learner = learner;
        Ok(likelihood)
    }

    /// The current model.
    #[getter]
    fn model(&self) -> Model {
        Model { file: ModelFile { model: self.learner.model(), columns: Vec::new(), fit: None } }
    }

    /// Number of batches so far.
    #[getter]
    fn n_batches(&self) -> u64 {
        self.learner.n_batches()
    }

    /// Events so far.
    #[getter]
    fn events(&self) -> Vec<EventItem> {
        items(self.learner.events())
    }

    /// Restores a learner from the text of `__reduce__`.
    #[staticmethod]
    fn from_json(family: String, structure: String, text: &str) -> PyResult<Self> {
        let learner: Box<dyn Learner> = with_family!(kind(&family, &structure)?, F => {
            let read = serde_json::from_str::<Learning<F>>(text);
            Box::new(read.map_err(|error| PyValueError::new_err(error.to_string()))?)
        });
        Ok(Self { family, structure, learner })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String, String, String))> {
        let class: Bound<'py, PyType> = py.get_type::<Self>();
        let state = (self.family.clone(), self.structure.clone(), self.learner.to_json());
        Ok((class.getattr("from_json")?, state))
    }
}
