"""Fits subclasses that override a step of EM with scikit-learn's own loop and methods, which call the overrides."""

from __future__ import annotations

import warnings
from inspect import Parameter, signature
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import mixture

from . import _data
from ._methods import ModelMethods

Array = NDArray[Any]

#: scikit-learn's class, even if the name in its module is replaced later.
Theirs: Any = mixture.GaussianMixture

#: Methods of scikit-learn's class that compiled code cannot call, although a subclass that overrides one expects it.
HOOKS = (
    "_e_step",
    "_m_step",
    "_estimate_log_prob",
    "_estimate_log_weights",
    "_estimate_weighted_log_prob",
    "_estimate_log_prob_resp",
    "_compute_lower_bound",
    "_get_parameters",
    "_set_parameters",
)

_warned: WeakSet[type] = WeakSet()


def overridden(estimator: Any) -> list[str]:
    """Returns the hooks that the class or the estimator itself overrides."""
    cls, own = type(estimator), vars(estimator)
    return [name for name in HOOKS if name in own or getattr(cls, name) is not getattr(Theirs, name)]


def accepts(function: Any, name: str) -> bool:
    """Whether a function takes an argument of this name."""
    parameters = signature(function).parameters
    return name in parameters or any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())


class Hooks(ModelMethods):
    """Evaluates rows with scikit-learn's methods where a hook is overridden, otherwise with the model."""

    def _warn_of_hooks(self, names: list[str]) -> None:
        cls = type(self)
        if cls in _warned:
            return
        _warned.add(cls)
        warnings.warn(
            f"{cls.__name__} overrides {', '.join(names)}, so it is fitted with scikit-learn's own loop, at its speed.",
            UserWarning,
            stacklevel=5,
        )

    def _refuse_beside_hooks(self, names: list[str], given: dict[str, bool]) -> None:
        """Raises an error for options that scikit-learn's loop does not support."""
        for what, is_given in given.items():
            if is_given:
                raise ValueError(
                    f"{what} cannot be used here: {type(self).__name__} overrides {', '.join(names)}, so it is fitted "
                    "with scikit-learn's own loop, which does not support it."
                )

    def predict(self, X: Any) -> NDArray[np.int64]:
        if overridden(self):
            return Theirs.predict(self, X)
        return super().predict(X)

    def predict_proba(self, X: Any) -> Array:
        if overridden(self):
            return Theirs.predict_proba(self, X)
        return super().predict_proba(X)

    def score_samples(self, X: Any) -> Array:
        if overridden(self):
            return Theirs.score_samples(self, X)
        return super().score_samples(X)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        if overridden(self) or type(self).score_samples is not Hooks.score_samples:
            scores = self.score_samples(X)
            weights = _data.weights_of(sample_weight, scores[:, np.newaxis])
            return float(np.average(scores, weights=weights))
        return super().score(X, y, sample_weight)

    def _ln_best_posterior(self, X: Any, sample_weight: ArrayLike | None) -> float:
        if overridden(self):
            best = np.log(self.predict_proba(X).max(axis=1))
            weights = _data.weights_of(sample_weight, best[:, np.newaxis])
            return float(best.sum() if weights is None else best @ weights)
        return super()._ln_best_posterior(X, sample_weight)

    for _method in (predict, predict_proba, score_samples, score):
        _method.__doc__ = getattr(ModelMethods, _method.__name__).__doc__
    del _method
