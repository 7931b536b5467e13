"""Fits rows that arrive in batches."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context

from . import _data
from ._hooks import Hooks, overridden
from ._mixtura import Model, Online

Array = NDArray[Any]

#: Identities of the estimators whose `partial_fit` is running.
_learning: set[int] = set()
_lock = threading.Lock()


@contextmanager
def _alone(estimator: Any) -> Generator[None, None, None]:
    """Raises an error if `partial_fit` is already running on the estimator."""
    with _lock:
        if id(estimator) in _learning:
            raise RuntimeError(
                "partial_fit is already running on this estimator, in another thread or outside this callback. "
                "Batches must come one after the other: use one estimator per thread, or a lock."
            )
        _learning.add(id(estimator))
    try:
        yield
    finally:
        with _lock:
            _learning.discard(id(estimator))


class Streams(Hooks):
    """Adds `partial_fit`."""

    algorithm: str
    covariance_type: str
    random_state: Any
    learning_decay: float
    learning_offset: float
    weights_: Array
    means_: Array
    covariances_: Array
    lower_bounds_: list[float]
    n_batches_: int
    _online: Online
    _n_rows: float

    def _is_shown(self) -> bool:
        raise NotImplementedError

    def _check(self, X: Array) -> None:
        raise NotImplementedError

    def _settings(self, seed: int) -> dict[str, Any]:
        raise NotImplementedError

    def _best(self, X: Array, weights: Array | None) -> Mapping[str, Any]:
        raise NotImplementedError

    def _show(self, model: Model, dtype: np.dtype[Any]) -> None:
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Updates the model with a batch of rows, discounting earlier batches (Cappé and Moulines 2009).

        The first batch is fitted as by `fit`, and should have a few hundred rows per component; with `max_iter=0`, only
        the start is computed from it. Every later batch is visited once: the statistics s become
        (1 − γ)·s + γ·(mean statistics of the batch), and the model is estimated from s.

        Batch t = 2, 3, … has γ = (t + learning_offset)^−learning_decay if it is of the usual size. If it weighs r times
        the mean of the batches before it, it has 1 − (1 − γ)^r, the effect of r batches of the usual size. A last batch
        of three rows therefore hardly moves the model.

        Works with "em", "sem" and "cem"; with "auto", that algorithm fits the first batch and EM the others. After
        `fit`, or after attributes were set by hand, batches continue from that model as if it had been fitted to
        batches of the size of the next one. A call while another is running on the same estimator raises a RuntimeError. An
        interrupted call leaves the model unchanged.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The batch.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from mixtura import GaussianMixture
        >>> draw = np.random.default_rng(0)
        >>> model = GaussianMixture(2, random_state=0)
        >>> for _ in range(20):
        ...     batch = np.concatenate([draw.normal(-3, 1, (200, 1)), draw.normal(3, 1, (200, 1))])
        ...     model = model.partial_fit(batch)
        >>> np.sort(model.means_.ravel()).round(1)
        array([-3.,  3.])
        """
        self._refuse_beside_hooks(overridden(self), {"partial_fit": bool(overridden(self))})
        if self.algorithm == "saem":
            raise ValueError("partial_fit needs algorithm='em', 'sem', 'cem' or 'auto', not 'saem'.")
        with _alone(self):
            self._learn(X, sample_weight)
        return self

    def _learn(self, X: Any, sample_weight: ArrayLike | None) -> None:
        is_fresh = not hasattr(self, "n_iter_")
        rows = _data.rows(self, X, reset=is_fresh, least=2 if is_fresh else 1)
        weights = _data.weights_of(sample_weight, rows)
        if is_fresh:
            self._check(rows)
        elif self.means_.shape[0] != self.n_components or self.covariances_.shape != self._shape(rows.shape[1]):
            raise ValueError("n_components and covariance_type must not change between batches.")
        settings = self._settings(_data.seed_of(self.random_state, advance=False)) | {"accelerate": False}
        settings["algorithm"] = "em" if self.algorithm == "auto" else self.algorithm
        weight = float(len(rows) if weights is None else weights.sum())
        # A model that was fitted or changed by other means is continued from its parameters.
        online = self._online if hasattr(self, "_online") and self._is_shown() else None
        n_seen = getattr(self, "_n_rows", weight)
        if online is None:
            first = self._best(rows, weights)["model"] if is_fresh else self._model()
            n_batches = 0 if is_fresh else max(1, round(n_seen / weight))
            online = Online(self._task(rows, weights, first, settings), n_batches)
            n_seen = weight * n_batches
        # The first batch always counts fully.
        share = weight * online.n_batches / n_seen if online.n_batches > 0 else 1.0
        gains = {"decay": float(self.learning_decay), "offset": float(self.learning_offset), "share": share}
        likelihood = online.learn(rows, weights, settings, gains)
        self._online = online
        self._show(online.model.with_columns(list(getattr(self, "feature_names_in_", []))), rows.dtype)
        self._n_rows = n_seen + weight
        self.n_batches_ = online.n_batches
        self.events_ = online.events
        self.lower_bound_, self.lower_bounds_ = likelihood, []
        self.n_iter_ = self.n_batches_
        self.converged_, self.reason_ = False, "batch"

    def _shape(self, n_columns: int) -> tuple[int, ...]:
        """Returns the shape of the covariances."""
        shapes: dict[str, tuple[int, ...]] = {
            "full": (self.n_components, n_columns, n_columns),
            "tied": (n_columns, n_columns),
            "diag": (self.n_components, n_columns),
            "spherical": (self.n_components,),
        }
        return shapes[self.covariance_type]
