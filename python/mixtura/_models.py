"""Gets models out of fitted estimators, mixtura's and scikit-learn's."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ._gaussian import GaussianMixture
from ._hooks import Theirs
from ._methods import ModelMethods
from ._mixtura import Model


def model_of(fitted: Any) -> Model:
    """Returns the model of an estimator; a model is returned as it is."""
    if isinstance(fitted, Model):
        return fitted
    return estimator_of(fitted)._model()


def estimator_of(fitted: Any) -> ModelMethods:
    """Returns an estimator of mixtura with the model of a fitted one."""
    if isinstance(fitted, ModelMethods):
        check_is_fitted(fitted)
        return fitted
    if isinstance(fitted, Theirs):
        return GaussianMixture.from_sklearn(fitted)
    raise TypeError(
        "expected a Model, an estimator of mixtura, or a fitted sklearn.mixture.GaussianMixture, not "
        f"{type(fitted).__name__}."
    )
