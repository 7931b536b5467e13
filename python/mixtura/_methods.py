"""Methods that all fitted estimators share."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from . import _data
from ._mixtura import Model, Summary
from ._state import plain, restored

Array = NDArray[Any]


class ModelMethods:
    """Evaluates rows with the model that `_model` returns."""

    n_components: int
    n_threads: int | None
    converged_: bool
    n_iter_: int
    lower_bound_: float
    n_features_in_: int
    feature_names_in_: Array
    reason_: str
    events_: list[dict[str, Any]]

    def _model(self) -> Model:
        raise NotImplementedError

    def _family(self) -> tuple[str, str]:
        """Returns the names of the family and of the covariance structure in model files."""
        raise NotImplementedError

    def _task(
        self,
        X: Array,
        weights: Array | None,
        start: Model | str,
        settings: Mapping[str, Any],
        labels: Array | None = None,
    ) -> dict[str, Any]:
        """Collects the arguments of a fit for the compiled code."""
        family, structure = self._family()
        return {
            "data": X,
            "weights": weights,
            "labels": labels,
            "columns": list(getattr(self, "feature_names_in_", [])),
            "start": start,
            "n_components": int(self.n_components),
            "family": family,
            "structure": structure,
            "settings": settings,
            "summary": self._summary_of(X, weights),
        }

    def _summary_of(self, X: Array, weights: Array | None) -> Summary | None:
        """Returns the summary of the columns, if a fit has made it for these rows."""
        known = vars(self).get("_summary")
        return known[2] if known is not None and known[0] is X and known[1] is weights else None

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self)
        return _data.rows(self, X, reset=False)

    def _ask(self, X: Any, method: str) -> tuple[Array, Any]:
        """Returns the answer of the model's method for every row, and the type of the rows.

        The compiled code checks that values are finite, so scikit-learn reads them only to name the reason.
        """
        check_is_fitted(self)
        rows = _data.rows(self, X, reset=False, finite=False)
        try:
            return getattr(self._model(), method)(rows, self.n_threads), rows.dtype
        except ValueError:
            assert_all_finite(rows, estimator_name=type(self).__name__, input_name="X")
            raise

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Returns the most probable component of each row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._ask(X, "predict")[0]

    def predict_proba(self, X: Any) -> Array:
        """Returns the posterior probability of every component for each row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        probabilities, kind = self._ask(X, "predict_proba")
        return probabilities.astype(kind, copy=False)

    def _ln_weight(self) -> float:
        """Returns the logarithm of the sum of the weights, which is 0 unless they were set by hand."""
        return 0.0

    def score_samples(self, X: Any) -> Array:
        """Returns the log-likelihood of each row, in nats.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        scores, kind = self._ask(X, "score_samples")
        return (scores + self._ln_weight()).astype(kind, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Returns the mean log-likelihood of the rows, in nats per row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row; the mean is per unit of weight.

        Returns
        -------
        float
        """
        rows = self._rows(X)
        weights = _data.weights_of(sample_weight, rows)
        return self._model().score(rows, weights, self.n_threads)[0] + self._ln_weight()

    def aic(self, X: Any, sample_weight: ArrayLike | None = None) -> float:
        """Returns Akaike's information criterion (AIC); lower is better.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row, as a number of repetitions.

        Returns
        -------
        float
        """
        return -2 * self._total(X, sample_weight)[0] + 2 * self._n_free_parameters()

    def bic(self, X: Any, sample_weight: ArrayLike | None = None) -> float:
        """Returns the Bayesian information criterion (BIC); lower is better.

        The number of rows is the sum of the weights.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row, as a number of repetitions.

        Returns
        -------
        float
        """
        total, weight = self._total(X, sample_weight)
        return -2 * total + self._n_free_parameters() * math.log(weight)

    def icl(self, X: Any, sample_weight: ArrayLike | None = None) -> float:
        """Returns the integrated completed likelihood (ICL): BIC plus a penalty for uncertain labels; lower is better.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row, as a number of repetitions.

        Returns
        -------
        float
        """
        return self.bic(X, sample_weight) - 2 * self._ln_best_posterior(X, sample_weight)

    def _n_free_parameters(self) -> int:
        return self._model().n_parameters

    def _total(self, X: Any, sample_weight: ArrayLike | None) -> tuple[float, float]:
        """Returns the log-likelihood of all rows, and their total weight."""
        rows = self._rows(X)
        weights = _data.weights_of(sample_weight, rows)
        total = self._model().score(rows, weights, self.n_threads)[1]
        return total, float(len(rows) if weights is None else weights.sum())

    def _ln_best_posterior(self, X: Any, sample_weight: ArrayLike | None) -> float:
        """Returns the sum over rows of the logarithm of the largest posterior."""
        rows = self._rows(X)
        score = self._model().score(rows, _data.weights_of(sample_weight, rows), self.n_threads)
        return (score[3] - score[4]) / 2

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file. The command line reads it too: `mixtura show`, `predict`, `score`, `sample`.

        Parameters
        ----------
        path : path
            The JSON file; it is written completely or not at all.
        """
        check_is_fitted(self)
        self._model().save(os.fspath(path))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore
        return {name: plain(value) for name, value in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: restored(value) for name, value in state.items()})  # type: ignore

    def _recall(self, model: Model) -> None:
        """Restores from a model file how the model was fitted, as far as it is recorded."""
        self.n_features_in_ = model.centres.shape[1]
        if model.columns:
            self.feature_names_in_ = np.asarray(model.columns, dtype=object)
        record = {} if model.fit_record is None else json.loads(model.fit_record)
        self.converged_ = record.get("converged", False)
        self.n_iter_ = record.get("rounds", 0)
        self.lower_bound_ = record.get("mean_log_likelihood", record.get("lower_bound", -np.inf))
        self.reason_ = record.get("reason", "")
        self.events_ = record.get("events", [])
