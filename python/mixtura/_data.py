"""Brings data in as the fitting code wants them, and draws seeds."""

from __future__ import annotations

import copy
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

Array = NDArray[Any]
_FLOATS = [np.float64, np.float32]


def rows(estimator: Any, X: Any, *, reset: bool, least: int = 1) -> Array:
    """A C-contiguous matrix in double or single precision; the same memory if `X` is one already.

    Tables keep their column names as `feature_names_in_`, and are copied once, straight into the matrix.
    """
    options: dict[str, Any] = {"dtype": _FLOATS, "order": "C", "ensure_min_samples": least}
    if _is_columnar(X):
        # Names and number of columns are checked on the table, values on the matrix.
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return check_array(_from_columns(X), estimator=estimator, input_name="X", **options)
    return _aligned(validate_data(estimator, X, reset=reset, **options))


def matrix(X: Any) -> Array:
    """The same without an estimator."""
    return _aligned(check_array(_from_columns(X) if _is_columnar(X) else X, dtype=_FLOATS, order="C", input_name="X"))


def weights_of(sample_weight: Any, X: Array) -> NDArray[np.float64] | None:
    """Weights of the rows, none if there are none."""
    if sample_weight is None:
        return None
    checked = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.ascontiguousarray(checked)


def seed_of(random_state: Any, *, advance: bool) -> int:
    """A seed for our own draws: an integer stands for itself, as on the command line.

    Of a generator, one number is drawn; if it must not `advance`, of a copy.
    """
    generator = check_random_state(random_state)
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    if not advance:
        generator = copy.deepcopy(generator)
    return int(generator.randint(np.iinfo(np.int32).max))


def check_count(name: str, value: Any, least: int = 1) -> int:
    """A whole number, not too small."""
    is_whole = type(value) is not bool and isinstance(value, numbers.Integral)
    if not is_whole or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def _aligned(X: Array) -> Array:
    return np.require(X, requirements=["C", "A"])


def _is_columnar(X: Any) -> bool:
    """Whether it is a table of Arrow columns: polars, pyarrow."""
    is_arrow = hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")
    return is_arrow and not hasattr(X, "iloc") and hasattr(X, "columns")


def _from_columns(X: Any) -> Array:
    """The columns of a table, each written straight to its place."""
    if hasattr(X, "get_columns"):
        columns, kinds = X.get_columns(), {str(kind) for kind in X.dtypes}
    else:
        columns, kinds = X.columns, {str(kind) for kind in X.schema.types}
    # polars and Arrow have different names for single precision.
    is_single = kinds in ({"Float32"}, {"float"})
    out = np.empty((len(columns[0]) if columns else 0, len(columns)), np.float32 if is_single else np.float64)
    # An array of a single batch of pyarrow is not copied unless told to, even where it must be.
    options = {"zero_copy_only": False} if hasattr(X, "column_names") and not hasattr(X, "combine_chunks") else {}
    for at, column in enumerate(columns):
        out[:, at] = column.to_numpy(**options)
    return out
