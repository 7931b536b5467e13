"""Mixtures of any family, with the defaults and the exact results of the command line."""

from __future__ import annotations

import os
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _data
from ._events import warn_of_reseeds
from ._listen import Bar, Callback
from ._methods import ModelMethods
from ._mixtura import Model
from ._mixtura import fit as fit_restarts
from ._models import model_of
from ._settings import check_result
from ._starts import FastStart

Array = NDArray[Any]

#: Names of covariance structures, with scikit-learn's short form.
_STRUCTURES = {"full": "full", "tied": "tied", "diagonal": "diagonal", "diag": "diagonal", "spherical": "spherical"}


class Mixture(ModelMethods, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Mixture of any family: the command `mixtura fit` as an estimator.

    The same data, options and seed give the same model as on the command line, bit for bit.

    Parameters
    ----------
    n_components : int, default 1
        Number of components.
    family : {"gaussian", "poisson"}, default "gaussian"
        Poisson components model the columns as independent counts.
    covariance_type : {"full", "tied", "diagonal", "spherical"}, default "full"
        For Gaussian components. "diag" means "diagonal".
    algorithm : {"auto", "em", "sem", "cem", "saem"}, default "auto"
        "auto" runs SEM while the likelihood rises, then EM.
    result : {"average", "best", "last"}, default "average"
        Which of the models of SEM is returned.
    guard : bool, default False
        With "auto": also run EM from the same start, and keep the better model.
    accelerate : bool, default False
        With "em" and "auto": extrapolate the steps of EM.
    init_params : {"fast-kmeans", "paper", "short-em"}, Model or fitted estimator, default "fast-kmeans"
        Where the fit starts. The command line calls "fast-kmeans" "kmeans++" and "paper" "random". An estimator is one
        of mixtura's or scikit-learn's `GaussianMixture`.
    tol : float, default 1e-6
        The fit ends when the mean log-likelihood changes by less than this, in nats per row; 0 runs all rounds.
    max_iter : int, default 1000
        Maximum number of rounds.
    n_init : int or None, default None
        Number of starts; the best fit is kept. None stands for 8, or for 1 if every start would be the same: with a
        single component, with `labels`, or from a given model.
    race : bool, default True
        Whether several starts race: they compete on samples of the rows that grow, and only the best go on to all rows.
        Eight raced starts take hardly longer than one. With False, every start is run on all rows.
    regularization : float, default 1e-9
        Smallest variance allowed, in units of the squared robust scale of the column.
    ridge : float, default 0
        Added to every variance.
    normalize : bool, default False
        Whether to map each column to [0, 1] for the fit; the model is in the units of the data. Not available for
        Poisson components and spherical covariances.
    precision : {"certified", "double"}, default "certified"
        How SEM computes the densities that it draws from. Both draw the same labels; "certified" is faster.
    sort : bool, default False
        Whether to sort the components by weight, heaviest first, instead of keeping the order of the start.
    random_state : int, RandomState or None, default 0
        An integer is the same seed as on the command line.
    n_threads, callback, progress
        As in `GaussianMixture`. Restarts may run in parallel; the callback is called by one at a time.

    Attributes
    ----------
    weights_, means_ : arrays
        Of shape (n_components,) and (n_components, n_features).
    parameters_ : dict
        All parameters of the components, by their names in model files: "means" and "covariances", or "rates".
    model_ : Model
        The model.
    converged_, n_iter_, reason_, events_, lower_bound_
        As in `GaussianMixture`; `lower_bound_` is the mean log-likelihood of the returned model.

    Examples
    --------
    >>> import numpy as np
    >>> from mixtura import Mixture
    >>> draw = np.random.default_rng(0)
    >>> counts = np.concatenate([draw.poisson([1, 20], (500, 2)), draw.poisson([9, 3], (500, 2))])
    >>> model = Mixture(2, family="poisson").fit(counts)
    >>> model.parameters_["rates"].round(0)
    array([[ 1., 20.],
           [ 9.,  3.]])
    """

    weights_: Array
    means_: Array
    parameters_: dict[str, Array]
    model_: Model
    converged_: bool
    n_iter_: int
    lower_bound_: float
    events_: list[dict[str, Any]]
    reason_: str

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "family": [StrOptions({"gaussian", "poisson"})],
        "covariance_type": [StrOptions(set(_STRUCTURES))],
        "algorithm": [StrOptions({"em", "sem", "cem", "saem", "auto"})],
        "result": [StrOptions({"average", "best", "last"})],
        "guard": ["boolean"],
        "accelerate": ["boolean"],
        "init_params": [StrOptions({"fast-kmeans", "paper", "short-em"}), Model, ModelMethods, GaussianMixture],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left"), None],
        "race": ["boolean"],
        "regularization": [Interval(Real, 0.0, None, closed="left")],
        "ridge": [Interval(Real, 0.0, None, closed="left")],
        "normalize": ["boolean"],
        "precision": [StrOptions({"certified", "double"})],
        "sort": ["boolean"],
        "random_state": ["random_state"],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "callback": [callable, None],
        "progress": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        family: Literal["gaussian", "poisson"] = "gaussian",
        covariance_type: Literal["full", "tied", "diagonal", "diag", "spherical"] = "full",
        algorithm: Literal["auto", "em", "sem", "cem", "saem"] = "auto",
        result: Literal["average", "best", "last"] = "average",
        guard: bool = False,
        accelerate: bool = False,
        init_params: FastStart | Model | Any = "fast-kmeans",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_init: int | None = None,
        race: bool = True,
        regularization: float = 1e-9,
        ridge: float = 0.0,
        normalize: bool = False,
        precision: Literal["certified", "double"] = "certified",
        sort: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        n_threads: int | None = None,
        callback: Callback | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.covariance_type = covariance_type
        self.algorithm = algorithm
        self.result = result
        self.guard = guard
        self.accelerate = accelerate
        self.init_params = init_params
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.race = race
        self.regularization = regularization
        self.ridge = ridge
        self.normalize = normalize
        self.precision = precision
        self.sort = sort
        self.random_state = random_state
        self.n_threads = n_threads
        self.callback = callback
        self.progress = progress

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> Mixture:
        """Fits the model from `n_init` starts and keeps the best fit.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row.
        labels : array of shape (n_samples,), optional
            Groups to start from instead of `init_params`: as many different numbers or strings as components. The
            components are in the order of their sorted values.

        Returns
        -------
        self
        """
        with _data.kept_on_failure(self):
            found = self._found(X, sample_weight, labels)
        self._show(found["model"])
        self.converged_ = found["has_converged"]
        self.n_iter_ = found["rounds"]
        self.reason_ = found["reason"]
        self.events_ = found["events"]
        self.lower_bound_ = found["likelihood"]
        if self.reason_ == "round-limit" and self.tol > 0 and self.max_iter > 0:
            warnings.warn(
                f"The fit did not converge in {self.max_iter} rounds: raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        warn_of_reseeds(self.events_, stacklevel=3)
        return self

    def _found(self, X: Any, sample_weight: ArrayLike | None, labels: ArrayLike | None) -> dict[str, Any]:
        """Returns the result of the fit."""
        rows = _data.rows(self, X, reset=True)
        weights = _data.weights_of(sample_weight, rows)
        start = self._start()
        with Bar(self.algorithm.upper(), self.max_iter, self.progress) as bar:

            def listen(_restart: int, round: int, likelihood: float) -> object:
                bar.move(round, f"log-likelihood {likelihood:.6f}")
                return self.callback(round, likelihood) if self.callback is not None else None

            is_heard = self.callback is not None or bar.is_shown
            task = self._task(rows, weights, start, self._settings(), self._groups(labels, rows))
            fit_options = {"normalize": bool(self.normalize), "sort": bool(self.sort)}
            return fit_restarts(task, fit_options, listen if is_heard else None)

    def _settings(self) -> dict[str, Any]:
        return {
            "algorithm": self.algorithm,
            "result": self.result,
            "precision": self.precision,
            "guard": bool(self.guard),
            "accelerate": bool(self.accelerate),
            "rounds": int(self.max_iter),
            "tolerance": float(self.tol),
            "restarts": None if self.n_init is None else int(self.n_init),
            "race": bool(self.race),
            "regularization": float(self.regularization),
            "ridge": float(self.ridge),
            "seed": _data.seed_of(self.random_state, advance=True),
            "n_threads": self.n_threads,
        }

    def _start(self) -> Model | str:
        """Returns the start of the fit, after checking that the arguments go together."""
        if self.guard and self.algorithm != "auto":
            raise ValueError(f"guard=True needs algorithm='auto', not {self.algorithm!r}.")
        if self.accelerate and self.algorithm not in ("em", "auto"):
            raise ValueError(f"accelerate=True needs algorithm='em' or 'auto', not {self.algorithm!r}.")
        check_result(self.result, self.algorithm)
        if self.normalize and self.family == "poisson":
            raise ValueError(
                "normalize=True cannot be used with Poisson components: mapped to [0, 1], counts are no longer counts."
            )
        if self.normalize and self._family()[1] == "spherical":
            raise ValueError(
                "normalize=True cannot be used with spherical covariances: columns that were scaled differently cannot "
                "share one variance. Try covariance_type='diagonal'."
            )
        return self.init_params if isinstance(self.init_params, str) else model_of(self.init_params)

    def _groups(self, labels: ArrayLike | None, X: Array) -> NDArray[np.uint32] | None:
        """Numbers labels from 0, in the order of their sorted values."""
        if labels is None:
            return None
        values, numbers = np.unique(column_or_1d(labels), return_inverse=True)
        check_consistent_length(X, numbers)
        if len(values) != self.n_components:
            raise ValueError(f"{len(values)} different labels, but n_components is {self.n_components}.")
        return np.ascontiguousarray(numbers, dtype=np.uint32)

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, labels: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Fits the model and returns the most probable component of each row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        y : object
            Ignored.
        sample_weight, labels : arrays of shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.fit(X, y, sample_weight, labels).predict(X)

    def sample(self, n_samples: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draws rows from the model, with their components, as `mixtura sample` does.

        Parameters
        ----------
        n_samples : int, default 1
            Number of rows.

        Returns
        -------
        tuple of arrays
            Rows of shape (n_samples, n_features), and the component of each.
        """
        check_is_fitted(self)
        _data.check_count("n_samples", n_samples)
        seed = _data.seed_of(self.random_state, advance=True)
        return self.model_.sample(int(n_samples), seed, self.n_threads)

    def _model(self) -> Model:
        return self.model_

    def _family(self) -> tuple[str, str]:
        return self.family, _STRUCTURES[self.covariance_type]

    def _show(self, model: Model) -> None:
        self.model_ = model
        self.weights_ = model.weights
        self.means_ = model.centres
        self.parameters_ = dict(model.parameters)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Mixture:
        """Reads a model file, such as those of the command line, as a fitted estimator.

        Parameters
        ----------
        path : path
            The JSON file.

        Returns
        -------
        Mixture
        """
        model = Model.load(os.fspath(path))
        structure = {} if model.structure is None else {"covariance_type": model.structure}
        estimator = cls(len(model.weights), family=model.family, **structure)  # type: ignore[arg-type]
        estimator._show(model)
        estimator._recall(model)
        return estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.family == "poisson"
        return tags
