"""Factors covariances and precisions in scikit-learn's form, with its error where they are singular."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dtrtrs
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky

Array = NDArray[Any]


def precisions_cholesky_of(covariances: Array, covariance_type: str) -> Array:
    """Returns the upper triangular U with UUᵀ = Σ⁻¹; raises scikit-learn's error if Σ is singular."""
    if covariance_type in ("diag", "spherical"):
        if not (covariances > 0).all():
            raise collapse(covariances.dtype)
        return 1 / np.sqrt(covariances)
    matrices = covariances if covariance_type == "full" else covariances[np.newaxis]
    identity = np.eye(matrices.shape[-1])
    try:
        lower = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        raise collapse(covariances.dtype) from None
    # As `scipy.linalg.solve_triangular` calls it for every matrix, whose checks take several times as long.
    factors = [dtrtrs(matrix.T, identity, lower=False, trans=True)[0].T for matrix in lower]
    return np.stack(factors) if covariance_type == "full" else factors[0]


def covariances_of(precisions_cholesky: ArrayLike, covariance_type: str) -> Array:
    """Returns Σ = (UUᵀ)⁻¹."""
    factors = np.asarray(precisions_cholesky, dtype=np.float64)
    if covariance_type in ("diag", "spherical"):
        return 1 / factors**2
    inverse = np.linalg.inv(factors)
    return np.swapaxes(inverse, -1, -2) @ inverse


def collapse(dtype: np.dtype[Any]) -> ValueError:
    """Returns the error that scikit-learn raises for a singular covariance."""
    try:
        _compute_precision_cholesky(np.zeros((1, 1, 1), dtype=dtype), "full")
    except ValueError as error:
        return error
    return ValueError("A component has collapsed: its covariance is singular.")
