"""Converts input to the arrays that the compiled code reads, checks arguments, and draws seeds."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

Array = NDArray[Any]
_FLOATS = [np.float64, np.float32]


def rows(estimator: Any, X: Any, *, reset: bool, least: int = 1, finite: bool = True) -> Array:
    """Returns a C-contiguous matrix in double or single precision, without copying if `X` already is one.

    The column names of tables become `feature_names_in_`. Tables are copied once, column by column. Unless `finite` is
    true, the values are not checked.
    """
    options: dict[str, Any] = {
        "dtype": _FLOATS,
        "order": "C",
        "ensure_min_samples": least,
        "ensure_all_finite": finite,
    }
    if _is_columnar(X):
        # Names and number of columns are checked on the table, values on the matrix.
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return check_array(_from_columns(X), estimator=estimator, input_name="X", **options)
    return _aligned(validate_data(estimator, X, reset=reset, **options))


@contextmanager
def kept_on_failure(estimator: Any) -> Generator[None, None, None]:
    """Restores what an earlier fit has found after an exception: a start may have replaced a part of it."""
    own = vars(estimator)
    before = {name: value for name, value in own.items() if _is_found(name)}
    try:
        yield
    except BaseException:
        for name in [name for name in own if _is_found(name)]:
            del own[name]
        own.update(before)
        raise


def _is_found(name: str) -> bool:
    """Whether an attribute is not an argument."""
    return name.startswith("_") or name.endswith("_")


def matrix(X: Any) -> Array:
    """Does the same as `rows`, without an estimator."""
    return _aligned(check_array(_from_columns(X) if _is_columnar(X) else X, dtype=_FLOATS, order="C", input_name="X"))


def weights_of(sample_weight: Any, X: Array) -> NDArray[np.float64] | None:
    """Checks the weights of the rows; None stays None."""
    if sample_weight is None:
        return None
    checked = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.ascontiguousarray(checked)


def seed_of(random_state: Any, *, advance: bool) -> int:
    """Returns a seed for the compiled code: an integer is its own seed, as on the command line.

    From a generator, one number is drawn. Unless `advance` is true, it is drawn from a copy, so that the state of the
    generator does not change.
    """
    generator = check_random_state(random_state)
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    if not advance:
        generator = copy.deepcopy(generator)
    return int(generator.randint(np.iinfo(np.int32).max))


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Checks that a value is an integer of at least `least`."""
    is_whole = type(value) is not bool and isinstance(value, numbers.Integral)
    if not is_whole or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}.")
    return int(value)


def _aligned(X: Array) -> Array:
    return np.require(X, requirements=["C", "A"])


def _is_columnar(X: Any) -> bool:
    """Whether `X` is a table of Arrow columns (polars, pyarrow)."""
    is_arrow = hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")
    return is_arrow and not hasattr(X, "iloc") and hasattr(X, "columns")


def _from_columns(X: Any) -> Array:
    """Copies the columns of a table into a matrix."""
    if hasattr(X, "get_columns"):
        columns, kinds = X.get_columns(), {str(kind) for kind in X.dtypes}
    else:
        columns, kinds = X.columns, {str(kind) for kind in X.schema.types}
    # polars and Arrow have different names for single precision.
    is_single = kinds in ({"Float32"}, {"float"})
    out = np.empty((len(columns[0]) if columns else 0, len(columns)), np.float32 if is_single else np.float64)
    # The columns of a pyarrow RecordBatch raise unless a copy is allowed explicitly.
    options = {"zero_copy_only": False} if hasattr(X, "column_names") and not hasattr(X, "combine_chunks") else {}
    for at, column in enumerate(columns):
        out[:, at] = column.to_numpy(**options)
    return out
