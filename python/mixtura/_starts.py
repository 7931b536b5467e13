"""Starts a fit as scikit-learn does, with the same draws and the same numbers."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import mixture
from sklearn.utils._array_api import get_namespace

from . import _kmeans
from ._factors import collapse, covariances_of, precisions_cholesky_of
from ._hooks import Theirs, accepts, overridden
from ._mixtura import Collapsed, Model, Summary, of_labels

Array = NDArray[Any]

#: Names of covariance structures in model files, by scikit-learn's names.
STRUCTURES = {"full": "full", "tied": "tied", "diag": "diagonal", "spherical": "spherical"}
#: Starts that scikit-learn does not have. They work on a sample, so their time hardly grows with the number of rows.
FastStart = Literal["fast-kmeans", "paper", "short-em"]
#: The same, and a race of such starts.
FAST_STARTS = frozenset({*get_args(FastStart), "race"})
#: All starts, scikit-learn's first.
StartName = Literal["kmeans", "k-means++", "random", "random_from_data", "fast-kmeans", "paper", "short-em", "race"]
#: From 1.8 on, scikit-learn's methods take an array namespace, which must be scikit-learn's wrapper: NumPy itself lacks
#: arguments that they use before its version 2.
NAMESPACE = (
    {"xp": get_namespace(np.empty(0))[0]} if accepts(Theirs._initialize, "xp") else {}
)


class Starts(mixture.GaussianMixture):  # type: ignore[misc]
    """Finds the first model of a fit."""

    weights_: Array
    means_: Array
    covariances_: Array
    precisions_cholesky_: Array
    n_threads: int | None

    def _is_shown(self) -> bool:
        raise NotImplementedError

    def _initialize_fast(self, X: Array, random_state: Any) -> None:
        raise NotImplementedError

    def _summary_of(self, X: Array, weights: Array | None) -> Summary | None:
        raise NotImplementedError

    def _start(self, X: Array, weights: Array | None, random_state: Any) -> tuple[Model | str, float]:
        """Returns the start of a fit, and the logarithm of the sum of its weights before they were normalised."""
        if self.init_params in FAST_STARTS:
            return self.init_params, 0.0
        for name in ("covariances_", "_shown"):
            if hasattr(self, name):
                delattr(self, name)
        # An override may not take weights, because scikit-learn's method does not.
        weighted = {"sample_weight": weights} if accepts(self._initialize_parameters, "sample_weight") else {}
        self._initialize_parameters(X, random_state, **weighted)
        covariances = getattr(self, "covariances_", None)
        if covariances is None:
            covariances = covariances_of(self.precisions_cholesky_, self.covariance_type)
        return self._as_start(covariances)

    def _warm_start(self) -> tuple[Model, float]:
        if self._is_shown():
            return self._shown[0], 0.0
        return self._as_start(covariances_of(self.precisions_cholesky_, self.covariance_type))

    def _as_start(self, covariances: Array) -> tuple[Model, float]:
        weights = np.asarray(self.weights_, dtype=np.float64)
        total = float(weights.sum())
        return self._as_model(weights / total, self.means_, covariances), float(np.log(total))

    def _initialize_parameters(
        self, X: Array, random_state: Any, xp: Any = None, sample_weight: Array | None = None
    ) -> None:
        """Computes the start as scikit-learn does, with the same draws, and sets the attributes.

        A start from labels needs no matrix of responsibilities, unless `_initialize` is overridden and expects one.
        Where a step of EM is overridden, scikit-learn computes the start.
        """
        if self.init_params in FAST_STARTS:
            self._initialize_fast(X, random_state)
            return
        if overridden(self):
            Theirs._initialize_parameters(self, X, random_state, **NAMESPACE)
            return
        names = ("weights_init", "means_init", "precisions_init")
        if all(getattr(self, name) is not None for name in names):
            self._initialize(X, None)
            return
        is_plain = type(self)._initialize is Starts._initialize
        n_rows, n_components = X.shape[0], self.n_components
        if self.init_params == "kmeans":
            labels = _kmeans.labels_of(X, n_components, sample_weight, random_state, self.n_threads)
            if is_plain and self._initialize_from_labels(X, labels, sample_weight):
                return
            responsibilities = np.zeros((n_rows, n_components), dtype=X.dtype)
            responsibilities[np.arange(n_rows), labels] = 1
        elif self.init_params == "random":
            drawn = random_state.uniform(size=(n_rows, n_components))
            responsibilities = np.asarray(drawn, dtype=X.dtype)
            responsibilities /= responsibilities.sum(axis=1)[:, np.newaxis]
        else:
            chosen = self._chosen_rows(X, random_state, sample_weight)
            if is_plain and self.reg_covar > 0 and self.covariance_type != "tied":
                self._initialize_about(X, chosen)
                return
            responsibilities = np.zeros((n_rows, n_components), dtype=X.dtype)
            responsibilities[chosen, np.arange(n_components)] = 1
            sample_weight = None
        if sample_weight is not None:
            # As if each row were repeated according to its weight, scaled so that the number of rows stays the same.
            responsibilities *= (sample_weight * (n_rows / sample_weight.sum()))[:, np.newaxis]
        self._initialize(X, responsibilities)

    def _chosen_rows(self, X: Array, random_state: Any, sample_weight: Array | None) -> Array:
        if self.init_params == "k-means++":
            return _kmeans.chosen_rows(X, self.n_components, sample_weight, random_state, self.n_threads)
        share = None if sample_weight is None else sample_weight / sample_weight.sum()
        return random_state.choice(X.shape[0], size=self.n_components, replace=False, p=share)

    def _initialize(self, X: Array, resp: Array | None, xp: Any = None) -> None:
        """Sets the attributes of the start from responsibilities; a hook that may be overridden.

        Other packages call it with an instance of another class as `self`, as they call scikit-learn's method.
        """
        Theirs._initialize(self, X, resp, **({"xp": xp} if xp is not None else NAMESPACE))
        if self.precisions_init is not None:
            self.covariances_ = covariances_of(self.precisions_cholesky_, self.covariance_type)

    def _initialize_from_labels(self, X: Array, labels: Array, sample_weight: Array | None) -> bool:
        """Sets the attributes of the start from labels; returns False if a label has no rows."""
        if np.bincount(labels, weights=sample_weight, minlength=self.n_components).min() <= 0:
            return False
        structure = STRUCTURES[self.covariance_type]
        labels = np.ascontiguousarray(labels, dtype=np.uint32)
        arguments = (X, sample_weight, labels, int(self.n_components), "gaussian", structure, float(self.reg_covar))
        try:
            model = of_labels(*arguments, self._summary_of(X, sample_weight), self.n_threads)
        except Collapsed:
            raise collapse(X.dtype) from None
        parameters = dict(model.parameters)
        self._begin(model.weights, parameters["means"], parameters["covariances"])
        return True

    def _initialize_about(self, X: Array, chosen: Array) -> None:
        """Sets the attributes of the start from one row per component, with `reg_covar` as the variance."""
        n_components, n_columns = self.n_components, X.shape[1]
        spread = {
            "full": lambda: np.tile(np.eye(n_columns) * self.reg_covar, (n_components, 1, 1)),
            "diag": lambda: np.full((n_components, n_columns), float(self.reg_covar)),
            "spherical": lambda: np.full(n_components, float(self.reg_covar)),
        }
        # scikit-learn counts one row of all for each component: the weights do not sum to 1.
        weights = np.full(n_components, 1 / X.shape[0])
        self._begin(weights, X[chosen].astype(np.float64), spread[self.covariance_type]())

    def _begin(self, weights: Array, means: Array, covariances: Array) -> None:
        self.weights_ = weights if self.weights_init is None else self.weights_init
        self.means_ = means if self.means_init is None else self.means_init
        if self.precisions_init is None:
            self.covariances_ = covariances
            self.precisions_cholesky_ = precisions_cholesky_of(covariances, self.covariance_type)
        else:
            # As scikit-learn factors them.
            super()._initialize(np.empty((1, means.shape[1])), None, **NAMESPACE)
            self.weights_ = weights if self.weights_init is None else self.weights_init
            self.means_ = means if self.means_init is None else self.means_init
            self.covariances_ = covariances_of(self.precisions_cholesky_, self.covariance_type)

    def _as_model(self, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike) -> Model:
        double = [np.ascontiguousarray(array, dtype=np.float64) for array in (weights, means, covariances)]
        if self.covariance_type in ("full", "tied"):
            double[2] = (double[2] + np.swapaxes(double[2], -1, -2)) / 2
        columns = list(getattr(self, "feature_names_in_", []))
        structure = STRUCTURES[self.covariance_type]
        try:
            return Model.from_parameters("gaussian", structure, double[0], double[1:], columns)
        except Collapsed:
            raise collapse(np.asarray(covariances).dtype) from None
