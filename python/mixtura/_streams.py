"""Rows that come in batches."""

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

#: Estimators that learn from a batch now, by their identities.
_learning: set[int] = set()
_lock = threading.Lock()


@contextmanager
def _alone(estimator: Any) -> Generator[None, None, None]:
    """Refuses a second batch while one is being learned from."""
    with _lock:
        if id(estimator) in _learning:
            raise RuntimeError(
                "partial_fit is already running on this estimator, in another thread or around this callback. "
                "Batches must come one after the other; give each thread an estimator of its own, or a lock."
            )
        _learning.add(id(estimator))
    try:
        yield
    finally:
        with _lock:
            _learning.discard(id(estimator))


class Streams(Hooks):
    """Learns from batches."""

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
        """Learns from a batch of rows, and forgets a little of what came before (Cappé and Moulines 2009).

        The first batch is fitted, as by `fit`, and should have some hundred rows per component; `max_iter=0` takes
        only its start. From then on each batch is gone through once: statistics s ← (1 − γ)·s + γ·(mean statistics
        of the batch), then the model of s.

        A batch t = 2, 3, … of the usual size counts for γ = (t + learning_offset)^−learning_decay. One that weighs r
        times the mean of the batches before it counts for 1 − (1 − γ)^r, what r batches of the usual size would
        replace: a last batch of three rows moves the model by three rows' worth.

        The algorithms are "em", "sem" and "cem"; with "auto" the first batch is fitted by it, and EM follows. After a `fit`, or where attributes were set by hand, batches go on
        from that model, as if it had come from batches of the size of the next one. Batches must come one after the
        other: a second call while one is running, from another thread, is refused with a RuntimeError.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The batch.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

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
        # A model that was fitted or changed by other means is taken up from its parameters.
        online = self._online if hasattr(self, "_online") and self._is_shown() else None
        n_seen = getattr(self, "_n_rows", weight)
        if online is None:
            first = self._best(rows, weights)["model"] if is_fresh else self._model()
            n_batches = 0 if is_fresh else max(1, round(n_seen / weight))
            online = Online(self._task(rows, weights, first, settings), n_batches)
            n_seen = weight * n_batches
        # The first batch counts fully, whatever it weighs.
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
        """The shape of the covariances."""
        shapes: dict[str, tuple[int, ...]] = {
            "full": (self.n_components, n_columns, n_columns),
            "tied": (n_columns, n_columns),
            "diag": (self.n_components, n_columns),
            "spherical": (self.n_components,),
        }
        return shapes[self.covariance_type]
