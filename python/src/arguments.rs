//! Converts the arguments of a fit from Python: data, start, family, options.

use mixtura::driver::SemResult;
use mixtura::family::Family;
use mixtura::pass::Precision;
use mixtura::{Algorithm, AnyMixture, Kind, Mixture, Options, Start};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::value::{Error as NameError, StrDeserializer};

use crate::data::{Data, Matrix, Weights};
use crate::model::Model;
use crate::summary::Summary;

/// The arguments of a fit: a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Task<'py> {
    data: Matrix<'py>,
    weights: Weights<'py>,
    /// Groups to start from, numbered from 0.
    labels: Option<PyReadonlyArray1<'py, u32>>,
    pub(crate) columns: Vec<String>,
    start: StartArgument<'py>,
    pub(crate) n_components: usize,
    pub(crate) family: String,
    pub(crate) structure: String,
    pub(crate) settings: Settings,
    /// The summary of the columns, if it is known already.
    pub(crate) summary: Option<Bound<'py, Summary>>,
}

impl Task<'_> {
    pub(crate) fn data(&self) -> PyResult<Data<'_>> {
        let labels = self.labels.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        Ok(self.data.data(self.weights.as_ref())?.with_labels(labels))
    }

    /// The start: the labels, if there are any.
    pub(crate) fn start<F: Family>(&self) -> PyResult<Start<F>>
    where
        Mixture<F>: TryFrom<AnyMixture>,
    {
        if self.labels.is_some() { Ok(Start::Labels) } else { self.start.start() }
    }

    pub(crate) fn kind(&self) -> PyResult<Kind> {
        kind(&self.family, &self.structure)
    }
}

/// The options of a fit: a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    algorithm: String,
    result: String,
    precision: String,
    guard: bool,
    accelerate: bool,
    rounds: u64,
    tolerance: f64,
    /// Number of starts; `None` for the library's default.
    restarts: Option<u64>,
    race: bool,
    regularization: f64,
    ridge: f64,
    seed: u64,
    pub(crate) n_threads: Option<usize>,
}

impl Settings {
    pub(crate) fn options(&self) -> PyResult<Options> {
        let options = Options::default()
            .algorithm(named::<Algorithm>(&self.algorithm)?)
            .result(named::<SemResult>(&self.result)?)
            .precision(named::<Precision>(&self.precision)?)
            .guard(self.guard)
            .accelerate(self.accelerate)
            .rounds(self.rounds)
            .tolerance(self.tolerance)
            .race(self.race)
            .regularization(self.regularization)
            .ridge(self.ridge)
            .seed(self.seed);
        Ok(match self.restarts {
            Some(restarts) => options.restarts(restarts),
            None => options,
        })
    }
}

/// Looks up an option by its name in files.
fn named<'a, T: Deserialize<'a>>(name: &'a str) -> PyResult<T> {
    let read = T::deserialize(StrDeserializer::<NameError>::new(name));
    read.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Looks up a family by its name and that of its covariance structure in model files.
pub(crate) fn kind(family: &str, structure: &str) -> PyResult<Kind> {
    let unknown =
        || PyValueError::new_err(format!("unknown family {family:?} with covariance structure {structure:?}"));
    Kind::named(family, structure).ok_or_else(unknown)
}

/// The start of a fit: a model, or the name of a method that finds one.
#[derive(FromPyObject)]
pub(crate) enum StartArgument<'py> {
    #[pyo3(transparent)]
    Model(Bound<'py, Model>),
    #[pyo3(transparent)]
    Name(String),
}

impl StartArgument<'_> {
    /// Returns the start for a family; a model of another family is an error.
    pub(crate) fn start<F: Family>(&self) -> PyResult<Start<F>>
    where
        Mixture<F>: TryFrom<AnyMixture>,
    {
        match self {
            Self::Model(model) => {
                let model = model.get().file.model.clone();
                let other = format!("the fit starts from a model of another family: {}", model.kind());
                Ok(Start::Model(model.try_into().map_err(|_| PyValueError::new_err(other))?))
            }
            Self::Name(name) => start_named(name),
        }
    }
}

/// Looks up a start by its name in Python.
pub(crate) fn start_named<F: Family>(name: &str) -> PyResult<Start<F>> {
    match name {
        "fast-kmeans" => Ok(Start::KmeansPlusPlus),
        "paper" => Ok(Start::Random),
        "short-em" => Ok(Start::ShortEm),
        _ => Err(PyValueError::new_err(format!("unknown start {name:?}"))),
    }
}
