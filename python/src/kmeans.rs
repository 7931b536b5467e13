//! Lends Python the loops of k-means; `mixtura/_kmeans.py` has its rules and its draws.

use mixtura::driver::Observer;
use mixtura::start::kmeans::{self, Limits, Pause, Real, Rounds};
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2};
use pyo3::prelude::*;

use crate::failure::refused;
use crate::pool::Lease;
use crate::watch::{Watch, supervised};

/// Rows, what is subtracted from them, their weights: a tuple of arrays of the same precision.
#[derive(FromPyObject)]
pub(crate) enum Points<'py> {
    Double(PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>, Option<PyReadonlyArray1<'py, f64>>),
    Single(PyReadonlyArray2<'py, f32>, PyReadonlyArray1<'py, f32>, Option<PyReadonlyArray1<'py, f32>>),
}

/// The same in double precision only.
type Doubles<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>, Option<PyReadonlyArray1<'py, f64>>);

/// Runs the same code for points in either precision.
macro_rules! with_points {
    ($points:expr, $given:ident => $body:expr) => {
        match &$points {
            Points::Double(values, offset, weights) => {
                let $given = view(values, offset, weights.as_ref())?;
                $body
            }
            Points::Single(values, offset, weights) => {
                let $given = view(values, offset, weights.as_ref())?;
                $body
            }
        }
    };
}

fn view<'a, T: Real + Element>(
    values: &'a PyReadonlyArray2<'_, T>,
    offset: &'a PyReadonlyArray1<'_, T>,
    weights: Option<&'a PyReadonlyArray1<'_, T>>,
) -> PyResult<kmeans::Points<'a, T>> {
    let weights = weights.map(PyReadonlyArray1::as_slice).transpose()?;
    kmeans::Points::new(values.as_slice()?, offset.as_slice()?, weights).map_err(refused)
}

/// Runs one sweep over the rows on a pool of threads, without the interpreter.
fn swept<R: Send>(
    py: Python<'_>,
    n_threads: Option<usize>,
    sweep: impl FnOnce() -> Result<R, mixtura::Error> + Send,
) -> PyResult<R> {
    let pool = Lease::new(n_threads)?;
    py.detach(|| pool.install(sweep)).map_err(refused)
}

/// Squared distances from each centre, at most the closest so far; into a matrix with a row for each centre.
#[pyfunction]
#[pyo3(signature = (points, centres, closest, out, n_threads))]
pub(crate) fn kmeans_distances(
    points: Points<'_>,
    centres: PyReadonlyArray2<'_, f64>,
    closest: Option<Bound<'_, PyAny>>,
    out: Bound<'_, PyAny>,
    n_threads: Option<usize>,
) -> PyResult<()> {
    fn run<T: Real + Element>(
        points: &kmeans::Points<'_, T>,
        centres: &PyReadonlyArray2<'_, f64>,
        closest: Option<Bound<'_, PyAny>>,
        out: &Bound<'_, PyAny>,
        n_threads: Option<usize>,
    ) -> PyResult<()> {
        let closest = closest.map(|closest| closest.extract::<PyReadonlyArray1<'_, T>>()).transpose()?;
        let mut out_array = out.extract::<PyReadwriteArray2<'_, T>>()?;
        let (centres, out_values) = (centres.as_slice()?, out_array.as_slice_mut()?);
        let closest = closest.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        swept(out.py(), n_threads, || points.distances_into(centres, closest, out_values))
    }
    with_points!(points, given => run(&given, &centres, closest, &out, n_threads))
}

/// Labels rows with their nearest centres, in place: how many labels changed, and which rows are tied.
#[pyfunction]
#[pyo3(signature = (points, centres, norms, labels, n_threads))]
pub(crate) fn kmeans_assign<'py>(
    py: Python<'py>,
    points: Points<'py>,
    centres: PyReadonlyArray2<'py, f64>,
    norms: PyReadonlyArray1<'py, f64>,
    mut labels: PyReadwriteArray1<'py, u32>,
    n_threads: Option<usize>,
) -> PyResult<(usize, Bound<'py, PyArray1<usize>>)> {
    let (centres, norms, labels) = (centres.as_slice()?, norms.as_slice()?, labels.as_slice_mut()?);
    let assigned = with_points!(points, given => swept(py, n_threads, || given.assign(centres, norms, labels)))?;
    Ok((assigned.n_changed, assigned.tied.into_pyarray(py)))
}

/// Sums of the points of each cluster, row after row, and their weights; into arrays of the precision of the data.
#[pyfunction]
#[pyo3(signature = (points, labels, sums, weights, n_threads))]
pub(crate) fn kmeans_sums(
    points: Points<'_>,
    labels: PyReadonlyArray1<'_, u32>,
    sums: Bound<'_, PyAny>,
    weights: Bound<'_, PyAny>,
    n_threads: Option<usize>,
) -> PyResult<()> {
    fn run<T: Real + Element>(
        points: &kmeans::Points<'_, T>,
        labels: &[u32],
        sums: &Bound<'_, PyAny>,
        weights: &Bound<'_, PyAny>,
        n_threads: Option<usize>,
    ) -> PyResult<()> {
        let mut sum_array = sums.extract::<PyReadwriteArray2<'_, T>>()?;
        let mut weight_array = weights.extract::<PyReadwriteArray1<'_, T>>()?;
        let (sum_values, weight_values) = (sum_array.as_slice_mut()?, weight_array.as_slice_mut()?);
        swept(sums.py(), n_threads, || points.sums_into(labels, sum_values, weight_values))
    }
    let labels = labels.as_slice()?;
    with_points!(points, given => run(&given, labels, &sums, &weights, n_threads))
}

/// Lloyd's rounds after the first, on points in double precision.
#[pyclass(module = "mixtura._mixtura")]
pub(crate) struct KmeansRounds {
    rounds: Rounds,
}

#[pymethods]
impl KmeansRounds {
    #[new]
    fn new(
        py: Python<'_>,
        points: Doubles<'_>,
        centres: PyReadonlyArray2<'_, f64>,
        labels: PyReadonlyArray1<'_, u32>,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let given = view(&points.0, &points.1, points.2.as_ref())?;
        let (centres, labels) = (centres.as_slice()?, labels.as_slice()?);
        Ok(Self { rounds: swept(py, n_threads, || Rounds::new(&given, centres, labels))? })
    }

    /// Goes on, in place: ("done", …), ("tied", rows that `settle` is to be told the labels of) or ("uncertain", …).
    fn go<'py>(
        &mut self,
        py: Python<'py>,
        points: Doubles<'py>,
        mut labels: PyReadwriteArray1<'py, u32>,
        limits: (usize, f64),
        n_threads: Option<usize>,
    ) -> PyResult<(&'static str, Bound<'py, PyArray1<usize>>)> {
        let given = view(&points.0, &points.1, points.2.as_ref())?;
        let limits = Limits { n_rounds: limits.0, tolerance: limits.1 };
        let (rounds, labels) = (&mut self.rounds, labels.as_slice_mut()?);
        let work = |watch: &Watch<'_>| rounds.go(&given, labels, limits, || watch.is_stopped());
        let (name, tied) = match supervised(py, n_threads, None, work)?.map_err(refused)? {
            Pause::Done => ("done", Vec::new()),
            Pause::Tied(tied) => ("tied", tied),
            // Stopped only by an exception, which has been raised.
            Pause::Uncertain | Pause::Stopped => ("uncertain", Vec::new()),
        };
        Ok((name, tied.into_pyarray(py)))
    }

    /// Ends a round with the labels of its tied rows, in place; true if it was the last.
    fn settle(
        &mut self,
        points: Doubles<'_>,
        mut labels: PyReadwriteArray1<'_, u32>,
        tied: PyReadonlyArray1<'_, usize>,
        settled: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<bool> {
        let given = view(&points.0, &points.1, points.2.as_ref())?;
        let (labels, tied) = (labels.as_slice_mut()?, tied.as_slice()?);
        self.rounds.settle(&given, labels, tied, settled.as_slice()?).map_err(refused)
    }
}
