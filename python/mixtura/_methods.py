"""What can be asked of any fitted mixture."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from . import _data
from ._mixtura import Model

Array = NDArray[Any]


class ModelMethods:
    """Answers from the model that `_model` gives."""

    n_components: int
    n_threads: int | None
    converged_: bool
    n_iter_: int
    lower_bound_: float
    reason_: str
    events_: list[dict[str, Any]]

    def _model(self) -> Model:
        raise NotImplementedError

    def _family(self) -> tuple[str, str]:
        """The names of family and covariance structure in model files."""
        raise NotImplementedError

    def _task(
        self, X: Array, weights: Array | None, start: Model | str, settings: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What is to be fitted, to what, from where."""
        family, structure = self._family()
        return {
            "data": X,
            "weights": weights,
            "columns": list(getattr(self, "feature_names_in_", [])),
            "start": start,
            "n_components": int(self.n_components),
            "family": family,
            "structure": structure,
            "settings": settings,
        }

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self)
        return _data.rows(self, X, reset=False)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The most probable component of each row."""
        rows = self._rows(X)
        return self._model().predict(rows, self.n_threads)

    def predict_proba(self, X: Any) -> Array:
        """The posterior probability of every component for each row."""
        rows = self._rows(X)
        return self._model().predict_proba(rows, self.n_threads).astype(rows.dtype, copy=False)

    def _ln_weight(self) -> float:
        """The logarithm of the sum of the weights, which is 0 unless they were set by hand."""
        return 0.0

    def score_samples(self, X: Any) -> Array:
        """The log-likelihood of each row, in nats."""
        rows = self._rows(X)
        scores = self._model().score_samples(rows, self.n_threads) + self._ln_weight()
        return scores.astype(rows.dtype, copy=False)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of the rows, in nats."""
        rows = self._rows(X)
        return self._model().score(rows, None, self.n_threads)[0] + self._ln_weight()

    def icl(self, X: Any) -> float:
        """The integrated completed likelihood: BIC, and the doubt about labels; the lower the better."""
        rows = self._rows(X)
        return self._model().score(rows, None, self.n_threads)[4]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file, which the command line reads too: `mixtura show`, `predict`, `score`, `sample`."""
        check_is_fitted(self)
        self._model().save(os.fspath(path))

    def _recall(self, model: Model) -> None:
        """Takes over from a model's file how it was fitted, as far as that is known."""
        self.n_features_in_ = model.centres.shape[1]
        if model.columns:
            self.feature_names_in_ = np.asarray(model.columns, dtype=object)
        record = {} if model.fit_record is None else json.loads(model.fit_record)
        self.converged_ = record.get("converged", False)
        self.n_iter_ = record.get("rounds", 0)
        self.lower_bound_ = record.get("mean_log_likelihood", record.get("lower_bound", -np.inf))
        self.reason_ = record.get("reason", "")
        self.events_ = record.get("events", [])
