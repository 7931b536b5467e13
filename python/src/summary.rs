//! A summary of the columns that several steps of a fit share.

use mixtura::sweep::{Engine, Threads};
use mixtura::{Error, Source};
use pyo3::prelude::*;

use crate::data::{Matrix, Weights};
use crate::failure::refused;
use crate::pool::for_rows;
use crate::watch::{Watch, supervised};

/// What a fit needs to know about the columns of its rows, whatever the start.
#[pyclass(frozen, module = "mixtura._mixtura")]
pub(crate) struct Summary {
    summary: mixtura::sweep::Summary,
}

#[pymethods]
impl Summary {
    #[new]
    #[pyo3(signature = (data, weights, n_threads))]
    fn new(py: Python<'_>, data: Matrix<'_>, weights: Weights<'_>, n_threads: Option<usize>) -> PyResult<Self> {
        let data = data.data(weights.as_ref())?;
        let work = |watch: &Watch<'_>| {
            let rows = data.rows()?;
            mixtura::sweep::Summary::measure(&Threads::new(&rows).with_stop(|| watch.is_abandoned()))
        };
        let threads = for_rows(data.n_rows(), n_threads);
        Ok(Self { summary: supervised(py, threads, None, work)?.map_err(refused)? })
    }
}

impl Summary {
    /// The rows of an engine, with their summary if it is known already.
    pub(crate) fn source<E: Engine>(known: Option<&Self>, engine: E) -> Result<Source<E>, Error> {
        match known {
            None => Source::new(engine),
            Some(known) => Ok(Source::summarized(engine, known.summary.clone())),
        }
    }
}
