//! The loops of k-means over rows; `mixtura/_kmeans.py` has its rules and draws.

use mixtura::start::kmeans::{self, Limits, Pause, Real, Rounds, Seeds};
use numpy::{
    Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use crate::failure::refused;
use crate::pool::for_rows;
use crate::watch::{Watch, supervised};

/// Rows, the offset subtracted from them, and their weights: a tuple of arrays of the same precision.
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

/// Computes squared distances from each centre, at most those from the closest so far, with a row for each centre.
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
        let (n_rows, n_columns) = (points.n_rows(), points.n_columns());
        let n_centres = out_values.len() / n_rows;
        let work = |watch: &Watch<'_>| {
            for range in watch.pieces(n_rows, n_centres * n_columns) {
                if range.len() == n_rows {
                    return points.distances_into(centres, closest, out_values);
                }
                let mut piece = vec![T::default(); n_centres * range.len()];
                let closest = closest.map(|closest| &closest[range.clone()]);
                points.rows(range.clone()).distances_into(centres, closest, &mut piece)?;
                for (out, piece) in out_values.chunks_exact_mut(n_rows).zip(piece.chunks_exact(range.len())) {
                    out[range.clone()].copy_from_slice(piece);
                }
            }
            Ok(())
        };
        supervised(out.py(), for_rows(n_rows, n_threads), None, work)?.map_err(refused)
    }
    with_points!(points, given => run(&given, &centres, closest, &out, n_threads))
}

/// Labels rows with their nearest centres, in place; returns how many labels changed, and which rows are tied.
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
    let (n_changed, tied) = with_points!(points, given => {
        let cost_of_row = norms.len() * given.n_columns();
        let work = |watch: &Watch<'_>| {
            let (mut n_changed, mut tied) = (0, Vec::new());
            for range in watch.pieces(given.n_rows(), cost_of_row) {
                let found = given.rows(range.clone()).assign(centres, norms, &mut labels[range.clone()])?;
                n_changed += found.n_changed;
                tied.extend(found.tied.into_iter().map(|row| range.start + row));
            }
            Ok((n_changed, tied))
        };
        supervised(py, for_rows(given.n_rows(), n_threads), None, work)?.map_err(refused)?
    });
    Ok((n_changed, tied.into_pyarray(py)))
}

/// Computes the sums of the points of each cluster, row by row, and their weights, in the precision of the data.
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
        let work = |_: &Watch<'_>| points.sums_into(labels, sum_values, weight_values);
        supervised(sums.py(), for_rows(labels.len(), n_threads), None, work)?.map_err(refused)
    }
    let labels = labels.as_slice()?;
    with_points!(points, given => run(&given, labels, &sums, &weights, n_threads))
}

/// Computes the mean of each column as NumPy does: the rows are added up in order.
#[pyfunction]
pub(crate) fn kmeans_mean<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (rows, n_columns) = (values.as_slice()?, values.shape()[1]);
    Ok(py.detach(|| kmeans::mean(rows, n_columns)).into_pyarray(py))
}

/// Computes the sum of the squares of each column of the points, in the order of the rows.
#[pyfunction]
pub(crate) fn kmeans_squares<'py>(py: Python<'py>, points: Doubles<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let given = view(&points.0, &points.1, points.2.as_ref())?;
    Ok(py.detach(|| given.squares()).into_pyarray(py))
}

/// Squared distances of points in double precision to the closest of the centres so far, for k-means++.
#[pyclass(module = "mixtura._mixtura")]
pub(crate) struct KmeansSeeds {
    seeds: Seeds,
}

#[pymethods]
impl KmeansSeeds {
    #[new]
    fn new(
        py: Python<'_>,
        points: Doubles<'_>,
        centre: PyReadonlyArray1<'_, f64>,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        let given = view(&points.0, &points.1, points.2.as_ref())?;
        let centre = centre.as_slice()?;
        let work = |watch: &Watch<'_>| Seeds::new(&given, centre, || watch.is_abandoned());
        Ok(Self { seeds: supervised(py, for_rows(given.n_rows(), n_threads), None, work)?.map_err(refused)? })
    }

    /// The weighted sum of the distances.
    #[getter]
    fn potential(&self) -> f64 {
        self.seeds.potential()
    }

    /// Returns the potential with each of several centres in addition.
    fn potentials<'py>(
        &self,
        py: Python<'py>,
        points: Doubles<'py>,
        centres: PyReadonlyArray2<'py, f64>,
        n_threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let given = view(&points.0, &points.1, points.2.as_ref())?;
        let centres = centres.as_slice()?;
        let work = |watch: &Watch<'_>| self.seeds.potentials(&given, centres, || watch.is_abandoned());
        let found = supervised(py, for_rows(given.n_rows(), n_threads), None, work)?.map_err(refused)?;
        Ok(found.into_pyarray(py))
    }

    /// Adds a centre.
    fn add(
        &mut self,
        py: Python<'_>,
        points: Doubles<'_>,
        centre: PyReadonlyArray1<'_, f64>,
        n_threads: Option<usize>,
    ) -> PyResult<()> {
        let given = view(&points.0, &points.1, points.2.as_ref())?;
        let (centre, seeds) = (centre.as_slice()?, &mut self.seeds);
        let work = |watch: &Watch<'_>| seeds.add(&given, centre, || watch.is_abandoned());
        supervised(py, for_rows(given.n_rows(), n_threads), None, work)?.map_err(refused)
    }

    /// Returns the first row at which the sum of the distances so far reaches a number, and how far the number is from
    /// the sums before and after that row.
    fn find(&self, points: Doubles<'_>, drawn: f64) -> PyResult<(usize, f64)> {
        let given = view(&points.0, &points.1, points.2.as_ref())?;
        Ok(self.seeds.find(&given, drawn))
    }
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
        let work = |watch: &Watch<'_>| Rounds::new(&given, centres, labels, || watch.is_abandoned());
        Ok(Self { rounds: supervised(py, for_rows(given.n_rows(), n_threads), None, work)?.map_err(refused)? })
    }

    /// Runs rounds, in place; returns ("done", …), ("tied", rows whose labels `settle` needs) or ("uncertain", …).
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
        let work = |watch: &Watch<'_>| rounds.go(&given, labels, limits, || watch.is_abandoned());
        let (name, tied) = match supervised(py, for_rows(given.n_rows(), n_threads), None, work)?.map_err(refused)? {
            Pause::Done => ("done", Vec::new()),
            Pause::Tied(tied) => ("tied", tied),
            // Only an exception stops it, and that has been raised.
            Pause::Uncertain | Pause::Stopped => ("uncertain", Vec::new()),
        };
        Ok((name, tied.into_pyarray(py)))
    }

    /// Ends a round with the labels of its tied rows, in place; returns whether it was the last.
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
