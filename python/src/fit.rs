//! Fits models: complete fits as on the command line, and single ones with scikit-learn's stopping rules.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mixtura::driver::{Evaluated, Event, EventKind, Observer, Problem, Termination};
use mixtura::family::{Family, Floor, Outcome};
use mixtura::start::maximum_of_labels;
use mixtura::sweep::Threads;
use mixtura::{AnyMixture, Error, Fit, Mixture, Options, Source, Start, with_family};
use mixtura_io::{FitRecord, ModelFile};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::arguments::{Task, kind};
use crate::data::{Data, Matrix, Weights};
use crate::failure::{Collapsed, refused};
use crate::lagged::{Lag, Telling};
use crate::model::Model;
use crate::pool::for_rows;
use crate::summary::Summary;
use crate::watch::{Watch, supervised};

/// Why the components of a normalised fit can be mapped to the units of the data.
const CAN_BE_MAPPED: &str = "invariant: families that cannot be mapped were refused";

/// The result of a fit: a dictionary.
#[derive(IntoPyObject)]
pub(crate) struct Found {
    model: Model,
    /// Mean log-likelihood at the end of the fit.
    likelihood: f64,
    /// Mean log-likelihoods of all rounds of the best restart.
    likelihoods: Vec<f64>,
    rounds: u64,
    /// Why it ended.
    reason: &'static str,
    has_converged: bool,
    events: Vec<EventItem>,
}

#[derive(IntoPyObject)]
pub(crate) struct EventItem {
    kind: String,
    component: Option<usize>,
    first: u64,
    last: u64,
    count: u64,
}

/// Converts events for Python.
pub(crate) fn items(events: &[Event]) -> Vec<EventItem> {
    let name = |kind: EventKind| serde_json::to_value(kind).ok()?.as_str().map(str::to_owned);
    let item = |event: &Event| EventItem {
        kind: name(event.kind).unwrap_or_default(),
        component: event.component,
        first: event.first,
        last: event.last,
        count: event.count,
    };
    events.iter().map(item).collect()
}

/// Options of `mixtura fit` that are not options of the fit itself: a dictionary.
#[derive(FromPyObject, Clone, Copy)]
#[pyo3(from_item_all)]
pub(crate) struct FitOptions {
    /// Map each column to [0, 1] for the fit; the model stays in the data's units.
    normalize: bool,
    /// Whether to sort the components by weight, heaviest first.
    sort: bool,
}

/// Fits a mixture as the command line does: runs all restarts and returns the best.
#[pyfunction]
#[pyo3(signature = (task, fit_options, listener))]
pub(crate) fn fit(
    py: Python<'_>,
    task: Task<'_>,
    fit_options: FitOptions,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Found> {
    let (data, options, n_components) = (task.data()?, task.settings.options()?, task.n_components);
    with_family!(task.kind()?, F => {
        let start = task.start::<F>()?;
        let wanted = WholeFit { n_components, options: &options, fit_options };
        let work = |watch: &Watch<'_>| whole(data, start, wanted, watch);
        let (fit, likelihoods, mut file) = supervised(py, for_rows(data.n_rows(), task.settings.n_threads), listener.as_ref(), work)?.map_err(refused)?;
        file.columns.clone_from(&task.columns);
        let record = file.fit.as_ref();
        Ok(Found {
            likelihood: record.and_then(|record| record.mean_log_likelihood).unwrap_or(fit.mean_ln_likelihood),
            likelihoods,
            rounds: fit.rounds,
            reason: fit.termination.name(),
            has_converged: fit.termination.has_converged(),
            events: items(record.map_or(&[], |record| &record.events)),
            model: Model { file },
        })
    })
}

/// The arguments of a complete fit.
#[derive(Clone, Copy)]
struct WholeFit<'a> {
    n_components: usize,
    options: &'a Options,
    fit_options: FitOptions,
}

/// Notes the likelihoods of all rounds while Python watches.
struct Notes<'a> {
    watch: &'a Watch<'a>,
    /// By the number of the restart.
    likelihoods: Mutex<BTreeMap<u64, Vec<f64>>>,
}

impl Observer for Notes<'_> {
    fn evaluated(&self, restart: u64, round: u64, mean_ln_likelihood: f64) {
        let mut likelihoods = self.likelihoods.lock().unwrap_or_else(PoisonError::into_inner);
        likelihoods.entry(restart).or_default().push(mean_ln_likelihood);
        // The listener may take its time.
        drop(likelihoods);
        self.watch.evaluated(restart, round, mean_ln_likelihood);
    }

    fn is_stopped(&self) -> bool {
        self.watch.is_stopped()
    }
}

impl Notes<'_> {
    /// The likelihoods of one restart.
    fn of(self, restart: u64) -> Vec<f64> {
        let likelihoods = self.likelihoods.into_inner().unwrap_or_else(PoisonError::into_inner);
        likelihoods.into_iter().find_map(|(number, of)| (number == restart).then_some(of)).unwrap_or_default()
    }
}

/// Runs a complete fit; returns it with the likelihoods of its rounds and its model file, in the units of the data.
fn whole<F: Family>(
    data: Data<'_>,
    start: Start<F>,
    wanted: WholeFit<'_>,
    watch: &Watch<'_>,
) -> Result<(Fit<F>, Vec<f64>, ModelFile), Error>
where
    AnyMixture: From<Mixture<F>>,
{
    let WholeFit { n_components, options, fit_options } = wanted;
    let mut rows = data.rows()?;
    if fit_options.normalize {
        rows = rows.normalized()?;
    }
    let map = rows.normalization();
    let start = match (start, map) {
        (Start::Model(mut model), Some(map)) => {
            model.components = model.components.mapped(map.offset(), map.scale()).expect(CAN_BE_MAPPED);
            Start::Model(model)
        }
        (start, _) => start,
    };
    let source = Source::new(Threads::new(&rows).with_stop(|| watch.is_stopped()))?;
    let notes = Notes { watch, likelihoods: Mutex::default() };
    let fit = mixtura::fit(&source, n_components, &start, options, &notes)?;
    let file = ModelFile::of_fit(&fit, options, &rows, source.summary())?;
    let likelihoods = notes.of(fit.observed);
    Ok((fit, likelihoods, if fit_options.sort { file.sorted_by_weight() } else { file }))
}

/// Runs one fit from one start, with scikit-learn's stopping rule if there is a lag, otherwise with the library's.
#[pyfunction]
#[pyo3(signature = (task, restart, lag, listener))]
pub(crate) fn fit_once(
    py: Python<'_>,
    task: Task<'_>,
    restart: u64,
    lag: Option<Lag>,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Found> {
    let (data, options, n_components) = (task.data()?, task.settings.options()?, task.n_components);
    options.check().map_err(refused)?;
    with_family!(task.kind()?, F => {
        let start = task.start::<F>()?;
        let job = Job { start, n_components, options: &options, restart, lag };
        let summary = task.summary.as_ref().map(Bound::get);
        let work = |watch: &Watch<'_>| job.once(data, summary, watch);
        let ended = supervised(py, for_rows(data.n_rows(), task.settings.n_threads), listener.as_ref(), work)?.map_err(refused)?;
        if ended.termination == Termination::Collapsed {
            return Err(Collapsed::new_err("a component has collapsed"));
        }
        let Ended { model, likelihood, .. } = ended;
        let (reason, has_converged) = (ended.termination.name(), ended.termination.has_converged());
        let record = FitRecord {
            algorithm: options.algorithm,
            seed: options.seed,
            rounds: ended.rounds,
            converged: has_converged,
            reason: reason.into(),
            mean_log_likelihood: lag.is_none().then_some(likelihood),
            lower_bound: lag.filter(|_| ended.rounds > 0).map(|_| likelihood),
            rows: None,
            total_weight: None,
            free_parameters: None,
            aic: None,
            bic: None,
            restarts: lag.is_none().then_some(likelihood).into_iter().collect(),
            restarts_asked: None,
            race: None,
            events: ended.events.clone(),
        };
        Ok(Found {
            likelihood,
            likelihoods: ended.likelihoods,
            rounds: ended.rounds,
            reason,
            has_converged,
            events: items(&ended.events),
            model: Model { file: ModelFile { model: model.into(), columns: task.columns.clone(), fit: Some(record) } },
        })
    })
}

/// What is wanted of one run.
struct Job<'a, F: Family> {
    start: Start<F>,
    n_components: usize,
    options: &'a Options,
    restart: u64,
    lag: Option<Lag>,
}

/// How one run ended.
struct Ended<F: Family> {
    model: Mixture<F>,
    likelihood: f64,
    likelihoods: Vec<f64>,
    rounds: u64,
    termination: Termination,
    events: Vec<Event>,
}

impl<F: Family> Job<'_, F> {
    fn once(self, data: Data<'_>, summary: Option<&Summary>, watch: &Watch<'_>) -> Result<Ended<F>, Error> {
        let rows = data.rows()?;
        let source = Summary::source(summary, Threads::new(&rows).with_stop(|| watch.is_abandoned()))?;
        let mut problem = Problem::new(&source, self.n_components, self.start, self.options.clone())?;
        let telling = self.lag.map(|lag| Telling::new(watch, lag));
        if let Some(lag) = self.lag {
            problem = problem.with_rule(lag.rule(self.options));
        }
        let mut run = problem.run(self.restart)?;
        run.go(&problem, telling.as_ref().map_or(watch as &dyn Observer, |telling| telling))?;
        let Evaluated { model, mean_ln_likelihood } =
            problem.in_data_coordinates(&run).expect("invariant: the run has ended");
        let likelihoods =
            self.lag.map_or_else(|| run.state().likelihoods.clone(), |lag| lag.likelihoods(&run.state().likelihoods));
        let likelihood = match self.lag {
            None => mean_ln_likelihood,
            Some(lag) => likelihoods.last().copied().unwrap_or(lag.previous()),
        };
        Ok(Ended {
            model,
            likelihood,
            likelihoods,
            rounds: run.state().round,
            termination: run.termination().expect("invariant: the run has ended"),
            events: run.state().events.clone(),
        })
    }
}

/// Estimates the components of labelled rows and their weights; every label below K needs a row.
#[pyfunction]
#[pyo3(signature = (data, weights, labels, n_components, family, structure, ridge, summary, n_threads))]
#[expect(clippy::too_many_arguments, reason = "the other side of a call that is written once, in Python")]
pub(crate) fn of_labels(
    py: Python<'_>,
    data: Matrix<'_>,
    weights: Weights<'_>,
    labels: PyReadonlyArray1<'_, u32>,
    n_components: usize,
    family: &str,
    structure: &str,
    ridge: f64,
    summary: Option<Bound<'_, Summary>>,
    n_threads: Option<usize>,
) -> PyResult<Model> {
    let (data, labels) = (data.data(weights.as_ref())?, labels.as_slice()?);
    let summary = summary.as_ref().map(Bound::get);
    with_family!(kind(family, structure)?, F => {
        let work = |watch: &Watch<'_>| labelled::<F>(data.with_labels(Some(labels)), (n_components, ridge), summary, watch);
        let model = supervised(py, for_rows(data.n_rows(), n_threads), None, work)?.map_err(refused)?;
        let model = model.ok_or_else(|| Collapsed::new_err("a component has collapsed"))?;
        Ok(Model { file: ModelFile { model: model.into(), columns: Vec::new(), fit: None } })
    })
}

/// Returns None if the rows of a label have a singular covariance.
fn labelled<F: Family>(
    data: Data<'_>,
    (n_components, ridge): (usize, f64),
    summary: Option<&Summary>,
    watch: &Watch<'_>,
) -> Result<Option<Mixture<F>>, Error> {
    let rows = data.rows()?;
    let source = Summary::source(summary, Threads::new(&rows).with_stop(|| watch.is_abandoned()))?;
    let floor = Floor::of::<F>(source.summary(), 0.0, ridge);
    let (model, outcomes) = maximum_of_labels(&source, n_components, &floor)?;
    let is_singular = |outcome: &Outcome| matches!(outcome, Outcome::Kept | Outcome::Uncorrelated);
    Ok((!outcomes.iter().any(is_singular)).then_some(model))
}
