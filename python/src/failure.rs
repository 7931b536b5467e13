//! Turns what went wrong into Python's exceptions.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyFileNotFoundError, PyIsADirectoryError, PyOSError, PyValueError};

create_exception!(
    mixtura._mixtura,
    Collapsed,
    PyValueError,
    "A component has become singular, and nothing was allowed to keep it from that."
);

/// What the library refused.
pub(crate) fn refused(error: mixtura::Error) -> PyErr {
    if matches!(error, mixtura::Error::NotPositiveDefinite { .. } | mixtura::Error::NotPositive { .. }) {
        return Collapsed::new_err(error.to_string());
    }
    PyValueError::new_err(error.to_string())
}

/// What could not be read or written.
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
