//! Converts errors to Python exceptions.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyFileNotFoundError, PyIsADirectoryError, PyOSError, PyValueError};

create_exception!(
    mixtura._mixtura,
    Collapsed,
    PyValueError,
    "A component has become singular, and no regularization prevents it."
);

/// Converts an error of the library.
pub(crate) fn refused(error: mixtura::Error) -> PyErr {
    if matches!(error, mixtura::Error::NotPositiveDefinite { .. } | mixtura::Error::NotPositive { .. }) {
        return Collapsed::new_err(error.to_string());
    }
    PyValueError::new_err(error.to_string())
}

/// Converts an error of reading or writing.
pub(crate) fn not_read(error: mixtura_io::Error) -> PyErr {
    use mixtura_io::Error;
    let text = error.to_string();
    match error {
        Error::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        Error::NoFolder { .. } => PyFileNotFoundError::new_err(text),
        Error::Folder { .. } => PyIsADirectoryError::new_err(text),
        Error::Read { .. } | Error::Write { .. } => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
