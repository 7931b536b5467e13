//! The class `Model`, and functions that create or evaluate models.

use std::path::PathBuf;

use mixtura::family::Family;
use mixtura::generate::{Artificial, Balance};
use mixtura::sweep::Threads;
use mixtura::{AnyMixture, Mixture, Source, with_family, with_mixture};
use mixtura_io::{BoundsReport, Certainty, FitRecord, ModelFile};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::arguments::kind;
use crate::data::Matrix;
use crate::failure::{not_read, refused};
use crate::pool::for_rows;
use crate::watch::{Watch, supervised};

/// An immutable mixture of any family, with the names of its columns and a record of how it was fitted.
#[pyclass(frozen, module = "mixtura._mixtura")]
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) file: ModelFile,
}

/// Parameters by their names.
type Named<'py> = Vec<(&'static str, Bound<'py, PyArrayDyn<f64>>)>;
/// Rows, and the component of each.
type Labelled<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<i64>>);

#[pymethods]
impl Model {
    /// Creates a model from its parameters, in the order and shapes of model files.
    ///
    /// Parameters
    /// ----------
    /// family : str
    ///     Its name in model files: "gaussian" or "poisson".
    /// structure : str
    ///     The name of the covariance structure in model files, such as "full" or "diagonal".
    /// weights : array of shape (n_components,)
    ///     Mixing weights, which sum to 1.
    /// parameters : list of arrays
    ///     Means and covariances, or rates.
    /// columns : list of str
    ///     Names of the columns, or an empty list.
    #[staticmethod]
    fn from_parameters(
        family: &str,
        structure: &str,
        weights: PyReadonlyArray1<'_, f64>,
        parameters: Vec<PyReadonlyArrayDyn<'_, f64>>,
        columns: Vec<String>,
    ) -> PyResult<Self> {
        let shapes = with_family!(kind(family, structure)?, F => F::shapes(1, 1));
        if parameters.len() != shapes.len() {
            let text = format!("a {family} mixture has {} parameters, not {}", shapes.len(), parameters.len());
            return Err(PyValueError::new_err(text));
        }
        let n_columns = parameters.first().and_then(|means| means.as_array().shape().get(1).copied()).unwrap_or(0);
        if n_columns == 0 {
            return Err(PyValueError::new_err("the first parameter must be a matrix, a row for each component"));
        }
        let values = parameters.iter().map(|array| array.as_array().iter().copied().collect()).collect();
        let weights = weights.as_array().to_vec();
        let model = with_family!(kind(family, structure)?, F => {
            let components = F::from_parameters(n_columns, values).map_err(refused)?;
            AnyMixture::from(Mixture::new(weights, components).map_err(refused)?)
        });
        Ok(Self { file: ModelFile { model, columns, fit: None } })
    }

    /// Returns the model of a fitted `sklearn.mixture.GaussianMixture` or of an estimator of mixtura.
    ///
    /// Parameters
    /// ----------
    /// fitted : estimator
    ///     The fitted estimator.
    #[staticmethod]
    fn from_sklearn(fitted: &Bound<'_, PyAny>) -> PyResult<Self> {
        let made = fitted.py().import("mixtura._models")?.call_method1("model_of", (fitted,))?;
        Ok(made.cast::<Self>()?.get().clone())
    }

    /// Returns the same model with other names for its columns.
    ///
    /// Parameters
    /// ----------
    /// columns : list of str
    ///     One name for each column, or an empty list.
    fn with_columns(&self, columns: Vec<String>) -> PyResult<Self> {
        if !columns.is_empty() && columns.len() != self.file.model.n_columns() {
            let text = format!("{} names for {} columns", columns.len(), self.file.model.n_columns());
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { file: ModelFile { columns, ..self.file.clone() } })
    }

    /// Reads a model file.
    ///
    /// Parameters
    /// ----------
    /// path : path
    ///     The JSON file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self { file: ModelFile::read(&path).map_err(not_read)? })
    }

    /// Reads the text of a model file.
    ///
    /// Parameters
    /// ----------
    /// text : str
    ///     The JSON text.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self { file: ModelFile::from_json(text, "the model").map_err(not_read)? })
    }

    /// Returns the text of a model file.
    fn to_json(&self) -> String {
        self.file.to_json()
    }

    /// Writes a model file, completely or not at all.
    ///
    /// Parameters
    /// ----------
    /// path : path
    ///     The JSON file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| mixtura_io::write_file(&path, self.to_json().as_bytes())).map_err(not_read)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let class: Bound<'py, PyType> = py.get_type::<Self>();
        Ok((class.getattr("from_json")?, (self.to_json(),)))
    }

    fn __repr__(&self) -> String {
        let model = &self.file.model;
        let n = model.n_components();
        let plural = if n == 1 { "" } else { "s" };
        format!("<Model of {n} component{plural} in {} columns: {}>", model.n_columns(), model.kind())
    }

    /// The name of the family in model files.
    #[getter]
    fn family(&self) -> &'static str {
        self.file.model.kind().family()
    }

    /// The name of the covariance structure in model files, if the family has one.
    #[getter]
    fn structure(&self) -> Option<&'static str> {
        self.file.model.kind().structure()
    }

    /// Names of the columns; empty if they have none.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.file.columns.clone()
    }

    /// How the model was fitted, as JSON; None if it is not known.
    #[getter]
    fn fit_record(&self) -> Option<String> {
        let text = |record: &FitRecord| serde_json::to_string(record).expect("invariant: a record is plain data");
        self.file.fit.as_ref().map(text)
    }

    /// Mixing weights.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.file.model.weights())
    }

    /// Means of the components, of whichever family: an array of shape (K, D).
    #[getter]
    fn centres<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let model = &self.file.model;
        model.centres().into_pyarray(py).reshape([model.n_components(), model.n_columns()])
    }

    /// Names and values of the parameters, as in model files.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Named<'py>> {
        let (k, d) = (self.file.model.n_components(), self.file.model.n_columns());
        with_family!(self.file.model.kind(), F => {
            let values = with_mixture!(&self.file.model, model => model.components.parameters());
            let named = F::shapes(k, d).into_iter().zip(values);
            named.map(|((name, shape), values)| Ok((name, PyArray1::from_slice(py, values).reshape(shape)?))).collect()
        })
    }

    /// Number of free parameters.
    #[getter]
    fn n_parameters(&self) -> usize {
        with_mixture!(&self.file.model, model => model.n_free_parameters())
    }

    /// Returns the most probable component of each row.
    ///
    /// Parameters
    /// ----------
    /// data : array of shape (n_rows, n_columns)
    ///     The rows; float64 and float32 arrays in C order are not copied.
    /// n_threads : int or None
    ///     Number of threads; None for all. The result is the same, bit for bit, for any number.
    #[pyo3(signature = (data, n_threads = None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        data: Matrix<'py>,
        n_threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let data = data.data(None)?;
        let work = |watch: &Watch<'_>| {
            let rows = data.rows()?;
            let evaluator = self.file.model.evaluator()?;
            watch.in_pieces(rows.n_rows(), self.cost_of_row(), |range| evaluator.labels_in(&rows, range))
        };
        let labels = supervised(py, for_rows(data.n_rows(), n_threads), None, work)?.map_err(refused)?;
        Ok(labels.into_iter().map(i64::from).collect::<Vec<_>>().into_pyarray(py))
    }

    /// Returns the posterior probability of every component for each row.
    ///
    /// Parameters
    /// ----------
    /// data : array of shape (n_rows, n_columns)
    ///     The rows; float64 and float32 arrays in C order are not copied.
    /// n_threads : int or None
    ///     Number of threads; None for all. The result is the same, bit for bit, for any number.
    #[pyo3(signature = (data, n_threads = None))]
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        data: Matrix<'py>,
        n_threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let data = data.data(None)?;
        let work = |watch: &Watch<'_>| {
            let rows = data.rows()?;
            let evaluator = self.file.model.evaluator()?;
            let piece = |range| evaluator.posteriors_in(&rows, range);
            Ok((rows.n_rows(), watch.in_pieces(rows.n_rows(), self.cost_of_row(), piece)?))
        };
        let (n_rows, posteriors) = supervised(py, for_rows(data.n_rows(), n_threads), None, work)?.map_err(refused)?;
        posteriors.into_pyarray(py).reshape([n_rows, self.file.model.n_components()])
    }

    /// Returns the log-density of each row, in nats.
    ///
    /// Parameters
    /// ----------
    /// data : array of shape (n_rows, n_columns)
    ///     The rows; float64 and float32 arrays in C order are not copied.
    /// n_threads : int or None
    ///     Number of threads; None for all. The result is the same, bit for bit, for any number.
    #[pyo3(signature = (data, n_threads = None))]
    fn score_samples<'py>(
        &self,
        py: Python<'py>,
        data: Matrix<'py>,
        n_threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let data = data.data(None)?;
        let work = |watch: &Watch<'_>| {
            let rows = data.rows()?;
            let evaluator = self.file.model.evaluator()?;
            watch.in_pieces(rows.n_rows(), self.cost_of_row(), |range| evaluator.ln_densities_in(&rows, range))
        };
        Ok(supervised(py, for_rows(data.n_rows(), n_threads), None, work)?.map_err(refused)?.into_pyarray(py))
    }

    /// Returns mean and total log-likelihood of all rows, AIC, BIC and ICL.
    ///
    /// Parameters
    /// ----------
    /// data : array of shape (n_rows, n_columns)
    ///     The rows; float64 and float32 arrays in C order are not copied.
    /// weights : array of shape (n_rows,), optional
    ///     Weight of each row.
    /// n_threads : int or None
    ///     Number of threads; None for all. The result is the same, bit for bit, for any number.
    #[pyo3(signature = (data, weights = None, n_threads = None))]
    fn score(
        &self,
        py: Python<'_>,
        data: Matrix<'_>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        n_threads: Option<usize>,
    ) -> PyResult<(f64, f64, f64, f64, f64)> {
        let data = data.data(weights.as_ref())?;
        let work = |watch: &Watch<'_>| {
            let rows = data.rows()?;
            with_mixture!(&self.file.model, model => {
                model.score_with(&Threads::new(&rows).with_stop(|| watch.is_abandoned()))
            })
        };
        let score = supervised(py, for_rows(data.n_rows(), n_threads), None, work)?.map_err(refused)?;
        Ok((score.mean_ln_likelihood, score.ln_likelihood, score.aic, score.bic, score.icl))
    }

    /// Draws rows, and returns them with the component of each.
    ///
    /// Parameters
    /// ----------
    /// n_rows : int
    ///     Number of rows.
    /// seed : int
    ///     Seed of the draws; a smaller sample is the beginning of a larger one.
    /// n_threads : int or None
    ///     Number of threads; None for all. The result is the same, bit for bit, for any number.
    #[pyo3(signature = (n_rows, seed = 0, n_threads = None))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        n_rows: usize,
        seed: u64,
        n_threads: Option<usize>,
    ) -> PyResult<Labelled<'py>> {
        let n_columns = self.file.model.n_columns();
        let n_values = n_rows.saturating_mul(n_columns);
        if Vec::<f64>::new().try_reserve_exact(n_values).is_err() {
            return Err(PyMemoryError::new_err(format!("{n_rows} rows do not fit into memory")));
        }
        let work = |watch: &Watch<'_>| {
            let mut labels = Vec::new();
            let values = watch.in_pieces(n_rows, n_columns * n_columns, |range| {
                let (values, of_piece) = self.file.model.sample(range, seed)?;
                labels.extend(of_piece.into_iter().map(i64::from));
                Ok(values)
            })?;
            Ok((values, labels))
        };
        let (values, labels) = supervised(py, for_rows(n_rows, n_threads), None, work)?.map_err(refused)?;
        Ok((values.into_pyarray(py).reshape([n_rows, n_columns])?, labels.into_pyarray(py)))
    }
}

impl Model {
    /// Upper bound on the multiply-adds per evaluated row.
    fn cost_of_row(&self) -> usize {
        let (n_components, n_columns) = (self.file.model.n_components(), self.file.model.n_columns());
        n_components * (n_columns + 1) * (n_columns + 1)
    }
}

/// Creates an artificial mixture like those of the paper.
#[pyfunction]
pub(crate) fn generate(
    py: Python<'_>,
    n_columns: usize,
    n_components: usize,
    separation: f64,
    is_balanced: bool,
    seed: u64,
) -> PyResult<Model> {
    let balance = if is_balanced { Balance::Balanced } else { Balance::Unbalanced };
    let artificial = Artificial { n_columns, n_components, separation, balance };
    let model = supervised(py, None, None, |watch| artificial.mixture_unless(seed, || watch.is_abandoned()))?
        .map_err(refused)?;
    Ok(Model { file: ModelFile { model: model.into(), columns: Vec::new(), fit: None } })
}

/// Bounds the distance of one SEM update from the EM update, as the JSON of `mixtura bounds`.
#[pyfunction]
pub(crate) fn bounds(
    py: Python<'_>,
    model: &Model,
    data: Matrix<'_>,
    delta: Option<f64>,
    confidence: Option<f64>,
    within: f64,
    n_threads: Option<usize>,
) -> PyResult<String> {
    let data = data.data(None)?;
    let each = delta.map(Certainty::Each);
    let certainty = each.or(confidence.map(Certainty::All)).unwrap_or_default();
    let work = |watch: &Watch<'_>| {
        let rows = data.rows()?;
        Ok(with_mixture!(&model.file.model, model => {
            let source = Source::new(Threads::new(&rows).with_stop(|| watch.is_abandoned()))?;
            BoundsReport::measure_source(model, &source, certainty, within)?.to_json().to_string()
        }))
    };
    supervised(py, for_rows(data.n_rows(), n_threads), None, work)?.map_err(refused)
}
