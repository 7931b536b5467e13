//! Views NumPy arrays as rows, without copying.

use mixtura::{Error, Rows};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A C-contiguous matrix of rows in double or single precision. Anything else that NumPy can convert is copied.
pub(crate) enum Matrix<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
}

impl<'py> FromPyObject<'_, 'py> for Matrix<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.extract::<PyReadonlyArray2<'py, f64>>()
            && array.is_c_contiguous()
        {
            return Ok(Self::Double(array));
        }
        if let Ok(array) = object.extract::<PyReadonlyArray2<'py, f32>>()
            && array.is_c_contiguous()
        {
            return Ok(Self::Single(array));
        }
        let numpy = object.py().import("numpy")?;
        let copied = numpy.call_method1("array", (object, "float64"))?;
        let copied = numpy.call_method1("ascontiguousarray", (copied,))?;
        let Ok(array) = copied.extract::<PyReadonlyArray2<'py, f64>>() else {
            let shape = copied.getattr("shape")?.str()?;
            return Err(PyValueError::new_err(format!("the rows must be a matrix, not an array of shape {shape}")));
        };
        Ok(Self::Double(array))
    }
}

/// Weights of the rows.
pub(crate) type Weights<'py> = Option<PyReadonlyArray1<'py, f64>>;

/// A matrix and its weights as slices, which can be used without the interpreter's lock.
#[derive(Clone, Copy)]
pub(crate) struct Data<'a> {
    values: Values<'a>,
    n_columns: usize,
    weights: Option<&'a [f64]>,
    labels: Option<&'a [u32]>,
}

#[derive(Clone, Copy)]
enum Values<'a> {
    Double(&'a [f64]),
    Single(&'a [f32]),
}

impl Matrix<'_> {
    /// Borrows the memory of the matrix and of its weights.
    pub(crate) fn data<'a>(&'a self, weights: Option<&'a PyReadonlyArray1<'_, f64>>) -> PyResult<Data<'a>> {
        let (values, n_columns) = match self {
            Self::Double(array) => (Values::Double(array.as_slice()?), array.shape()[1]),
            Self::Single(array) => (Values::Single(array.as_slice()?), array.shape()[1]),
        };
        Ok(Data { values, n_columns, weights: weights.map(PyReadonlyArray1::as_slice).transpose()?, labels: None })
    }
}

impl<'a> Data<'a> {
    /// Adds labels of the rows, if there are any.
    pub(crate) fn with_labels(self, labels: Option<&'a [u32]>) -> Self {
        Self { labels, ..self }
    }

    /// Number of rows.
    pub(crate) fn n_rows(self) -> usize {
        let n_values = match self.values {
            Values::Double(values) => values.len(),
            Values::Single(values) => values.len(),
        };
        n_values / self.n_columns.max(1)
    }

    /// Returns the rows; an error if a value is not finite.
    pub(crate) fn rows(self) -> Result<Rows<'a>, Error> {
        let rows = match self.values {
            Values::Double(values) => Rows::from_slice(values, self.n_columns)?,
            Values::Single(values) => Rows::from_slice(values, self.n_columns)?,
        };
        let rows = match self.weights {
            Some(weights) => rows.with_weights(weights)?,
            None => rows,
        };
        match self.labels {
            Some(labels) => rows.with_labels(labels),
            None => Ok(rows),
        }
    }
}
