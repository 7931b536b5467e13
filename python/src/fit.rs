//! Fits models: whole fits as the command line has them, and single ones with the rules that Python's world
//! expects.

use mixtura::driver::{Event, EventKind, Observer, Quiet, Run, SemResult, State, check_components};
use mixtura::family::{Family, Floor, Outcome};
use mixtura::pass::{Source, Threads};
use mixtura::start::maximum_of_labels;
use mixtura::{Algorithm, AnyMixture, Error, Fit, Kind, Mixture, Options, Start, with_family};
use mixtura_io::{FitRecord, ModelFile};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::value::{Error as NameError, StrDeserializer};

use crate::data::{Data, Matrix, Weights};
use crate::failure::{Collapsed, refused};
use crate::model::Model;
use crate::watch::{Watch, supervised};

/// What Python chooses about a fit: a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    algorithm: String,
    result: String,
    accelerate: bool,
    rounds: u64,
    tolerance: f64,
    restarts: u64,
    regularization: f64,
    ridge: f64,
    seed: u64,
    pub(crate) n_threads: Option<usize>,
}

impl Settings {
    pub(crate) fn options(&self) -> PyResult<Options> {
        Ok(Options {
            algorithm: named::<Algorithm>(&self.algorithm)?,
            result: named::<SemResult>(&self.result)?,
            accelerate: self.accelerate,
            rounds: self.rounds,
            tolerance: self.tolerance,
            restarts: self.restarts,
            regularization: self.regularization,
            ridge: self.ridge,
            seed: self.seed,
            ..Options::default()
        })
    }
}

/// A choice by the name that files have for it.
fn named<'a, T: Deserialize<'a>>(name: &'a str) -> PyResult<T> {
    let read = T::deserialize(StrDeserializer::<NameError>::new(name));
    read.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A family by the names that model files have: its own, and its covariance structure.
pub(crate) fn kind(family: &str, structure: &str) -> PyResult<Kind> {
    let unknown = || PyValueError::new_err(format!("there is no family {family:?} with covariance {structure:?}"));
    Kind::named(family, structure).ok_or_else(unknown)
}

/// Where a fit starts: a model, or the name of a way to find one.
#[derive(FromPyObject)]
pub(crate) enum StartArgument<'py> {
    #[pyo3(transparent)]
    Model(Bound<'py, Model>),
    #[pyo3(transparent)]
    Name(String),
}

impl StartArgument<'_> {
    /// The start for a family; a model of another family is refused.
    pub(crate) fn start<F: Family>(&self) -> PyResult<Start<F>>
    where
        Mixture<F>: TryFrom<AnyMixture>,
    {
        match self {
            Self::Model(model) => {
                let model = model.get().file.model.clone();
                let other = format!("the first model is {}", model.kind());
                Ok(Start::Model(model.try_into().map_err(|_| PyValueError::new_err(other))?))
            }
            Self::Name(name) => start_named(name),
        }
    }
}

/// A way to find a first model, by the name it has in Python.
pub(crate) fn start_named<F: Family>(name: &str) -> PyResult<Start<F>> {
    match name {
        "fast-kmeans" => Ok(Start::KmeansPlusPlus),
        "paper" => Ok(Start::Random),
        "short-em" => Ok(Start::ShortEm),
        _ => Err(PyValueError::new_err(format!("there is no start {name:?}"))),
    }
}

/// What a fit found: a dictionary.
#[derive(IntoPyObject)]
pub(crate) struct Found {
    model: Model,
    /// Mean log-likelihood that the fit ends with.
    likelihood: f64,
    /// The same of the models on the way; empty for several restarts.
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

/// Events as Python has them.
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

/// Fits a mixture as the command line does: all restarts, the best of them.
#[pyfunction]
#[pyo3(signature = (data, weights, columns, start, n_components, family, structure, settings, listener))]
#[expect(clippy::too_many_arguments, reason = "the other side of a call that is written once, in Python")]
pub(crate) fn fit(
    py: Python<'_>,
    data: Matrix<'_>,
    weights: Weights<'_>,
    columns: Vec<String>,
    start: StartArgument<'_>,
    n_components: usize,
    family: &str,
    structure: &str,
    settings: Settings,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Found> {
    let (data, options) = (data.data(weights.as_ref())?, settings.options()?);
    with_family!(kind(family, structure)?, F => {
        let start = start.start::<F>()?;
        let work = |watch: &Watch<'_>| {
            let rows = data.rows()?;
            mixtura::fit(&Threads::<F>::new(&rows)?, n_components, &start, &options, watch)
        };
        let fit: Fit<F> = supervised(py, settings.n_threads, listener.as_ref(), work)?.map_err(refused)?;
        let record = FitRecord::new(&fit, &options, 0.0);
        Ok(Found {
            likelihood: fit.mean_ln_likelihood,
            likelihoods: Vec::new(),
            rounds: fit.rounds,
            reason: fit.termination.name(),
            has_converged: fit.termination.has_converged(),
            events: items(&fit.events),
            model: Model { file: ModelFile { model: fit.model.into(), columns, fit: Some(record) } },
        })
    })
}

/// How a fit ends if the likelihood of a model is not waited for: a round's change is that of the models before
/// its update, and the last update is kept.
#[derive(FromPyObject, Clone, Copy)]
#[pyo3(from_item_all)]
pub(crate) struct Lag {
    /// The likelihood that the first one is compared with.
    previous: f64,
    /// What the weights of the first model lacked to 1, as a logarithm.
    ln_weight: f64,
}

/// Fits once, from one start. Without a lag as the library does, whose answer has a likelihood of its own.
#[pyfunction]
#[pyo3(signature = (data, weights, columns, start, n_components, family, structure, settings, restart, lag, listener))]
#[expect(clippy::too_many_arguments, reason = "the other side of a call that is written once, in Python")]
pub(crate) fn fit_once(
    py: Python<'_>,
    data: Matrix<'_>,
    weights: Weights<'_>,
    columns: Vec<String>,
    start: StartArgument<'_>,
    n_components: usize,
    family: &str,
    structure: &str,
    settings: Settings,
    restart: u64,
    lag: Option<Lag>,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<Found> {
    let (data, options) = (data.data(weights.as_ref())?, settings.options()?);
    options.check().map_err(refused)?;
    with_family!(kind(family, structure)?, F => {
        let start = start.start::<F>()?;
        let work = |watch: &Watch<'_>| once(data, &start, n_components, &options, restart, lag, watch);
        let ended = supervised(py, settings.n_threads, listener.as_ref(), work)?.map_err(refused)?;
        if ended.reason == COLLAPSED {
            return Err(Collapsed::new_err("a component has collapsed"));
        }
        let (model, likelihood) = ended.answer;
        let record = FitRecord {
            algorithm: options.algorithm,
            seed: options.seed,
            rounds: ended.rounds,
            converged: ended.has_converged,
            reason: ended.reason.into(),
            mean_log_likelihood: lag.is_none().then_some(likelihood),
            lower_bound: lag.filter(|_| ended.rounds > 0).map(|_| likelihood),
            restarts: lag.is_none().then_some(likelihood).into_iter().collect(),
            events: ended.events.clone(),
        };
        Ok(Found {
            likelihood,
            likelihoods: ended.likelihoods,
            rounds: ended.rounds,
            reason: ended.reason,
            has_converged: ended.has_converged,
            events: items(&ended.events),
            model: Model { file: ModelFile { model: model.into(), columns, fit: Some(record) } },
        })
    })
}

/// The reason of a fit that came to a singular component and was not to repair it.
const COLLAPSED: &str = "collapsed";

/// How one run ended.
struct Ended<F: Family> {
    answer: (Mixture<F>, f64),
    likelihoods: Vec<f64>,
    rounds: u64,
    reason: &'static str,
    has_converged: bool,
    events: Vec<Event>,
}

fn once<F: Family>(
    data: Data<'_>,
    start: &Start<F>,
    n_components: usize,
    options: &Options,
    restart: u64,
    lag: Option<Lag>,
    watch: &Watch<'_>,
) -> Result<Ended<F>, Error> {
    let rows = data.rows()?;
    let engine = Threads::<F>::new(&rows)?;
    F::check_size(n_components, rows.n_columns())?;
    if !matches!(start, Start::Model(_)) {
        check_components(&engine, n_components, start)?;
    }
    let floor = Floor::new(engine.summary(), options.regularization, options.ridge);
    let first = start.first_model(&engine, n_components, (options.seed, restart), &floor)?;
    let mut run = Run::new(State::new(first, restart, floor));
    if let Some(lag) = lag {
        return go_lagged(run, &engine, options, lag, watch);
    }
    run.go(&engine, options, watch)?;
    let (model, likelihood) = run.result();
    Ok(Ended {
        answer: (model.clone(), likelihood),
        likelihoods: run.state().likelihoods.clone(),
        rounds: run.state().round,
        reason: run.termination().name(),
        has_converged: run.termination().has_converged(),
        events: run.state().events.clone(),
    })
}

/// The one loop with the lagged rule.
fn go_lagged<F: Family>(
    mut run: Run<F>,
    engine: &Threads<'_, F>,
    options: &Options,
    lag: Lag,
    watch: &Watch<'_>,
) -> Result<Ended<F>, Error> {
    let endless = Options { tolerance: 0.0, ..options.clone() };
    let (mut likelihoods, mut previous) = (Vec::new(), lag.previous);
    let (mut reason, mut has_converged) = ("round-limit", false);
    for round in 1..=options.rounds {
        run.step(engine, &endless, &Quiet)?;
        if is_collapse(&run.state().events, options) {
            reason = COLLAPSED;
            break;
        }
        // A component that was just moved has to be fitted before it can be part of an answer.
        let is_moved = |event: &Event| event.kind == EventKind::Reseeded && event.last == round;
        let is_reseeded = run.state().events.iter().any(is_moved);
        let ln_weight = if round == 1 { lag.ln_weight } else { 0.0 };
        let likelihood = run.state().likelihoods.last().copied().unwrap_or(f64::NAN) + ln_weight;
        likelihoods.push(likelihood);
        watch.tell(run.state().restart, round, likelihood);
        let change = likelihood - std::mem::replace(&mut previous, likelihood);
        if change.abs() < options.tolerance && !is_reseeded {
            (reason, has_converged) = ("converged", true);
            break;
        }
        if watch.is_stopped() {
            reason = "interrupted";
            break;
        }
    }
    let State { model, round, events, .. } = run.state();
    let (answer, rounds, events) = ((model.clone(), previous), *round, events.clone());
    Ok(Ended { answer, likelihoods, rounds, reason, has_converged, events })
}

/// Whether a component is lost: nothing keeps a singular covariance from being so but a floor, and nothing keeps a
/// component from its last row but a floor or a ridge.
fn is_collapse(events: &[Event], options: &Options) -> bool {
    let is_lost = |kind| match kind {
        EventKind::CovarianceKept => options.regularization == 0.0,
        EventKind::ParametersKept | EventKind::Reseeded => options.regularization == 0.0 && options.ridge == 0.0,
        _ => false,
    };
    events.iter().any(|event| is_lost(event.kind))
}

/// The components of labelled rows, and their shares of the weight; every label below K needs a row.
#[pyfunction]
#[pyo3(signature = (data, weights, labels, n_components, family, structure, ridge, n_threads))]
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
    n_threads: Option<usize>,
) -> PyResult<Model> {
    let (data, labels) = (data.data(weights.as_ref())?, labels.as_slice()?);
    with_family!(kind(family, structure)?, F => {
        let work = |_: &Watch<'_>| labelled::<F>(data, labels, n_components, ridge);
        let model = supervised(py, n_threads, None, work)?.map_err(refused)?;
        let model = model.ok_or_else(|| Collapsed::new_err("a component has collapsed"))?;
        Ok(Model { file: ModelFile { model: model.into(), columns: Vec::new(), fit: None } })
    })
}

/// None if the rows of a label have a singular covariance.
fn labelled<F: Family>(
    data: Data<'_>,
    labels: &[u32],
    n_components: usize,
    ridge: f64,
) -> Result<Option<Mixture<F>>, Error> {
    let rows = data.rows()?.with_labels(labels)?;
    let engine = Threads::<F>::new(&rows)?;
    let floor = Floor::new(engine.summary(), 0.0, ridge);
    let (model, outcomes) = maximum_of_labels(&engine, n_components, &floor)?;
    Ok((!outcomes.contains(&Outcome::Kept)).then_some(model))
}
