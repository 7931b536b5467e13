"""Mixtures of any family, with the defaults and the bits of the command line."""

from __future__ import annotations

import os
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _data
from ._listen import Bar, Callback
from ._methods import ModelMethods
from ._mixtura import Model
from ._mixtura import fit as fit_restarts

Array = NDArray[Any]

#: Names of covariance structures, and the short one that scikit-learn has.
_STRUCTURES = {"full": "full", "tied": "tied", "diagonal": "diagonal", "diag": "diagonal", "spherical": "spherical"}


class Mixture(ModelMethods, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A mixture of any family: what `mixtura fit` does, as an estimator.

    The same data, options and seed give the same model as the command line, bit for bit.

    Parameters
    ----------
    n_components : int, default 1
    family : {"gaussian", "poisson"}, default "gaussian"
        Poisson components are independent counts in each column.
    covariance_type : {"full", "tied", "diagonal", "spherical"}, default "full"
        For Gaussians. "diag" is "diagonal".
    algorithm : {"auto", "em", "sem", "cem", "saem"}, default "auto"
        "auto" is SEM while it rises, then EM.
    result : {"average", "best", "last"}, default "average"
        Which of SEM's models is the answer.
    accelerate : bool, default False
        With "em" and "auto": extrapolate EM's steps.
    init_params : {"fast-kmeans", "paper", "short-em"} or Model, default "fast-kmeans"
        Where the fit starts; the command line calls the first "kmeans++" and the second "random".
    tol : float, default 1e-6
        The fit ends when the log-likelihood a row changes by less, in nats; 0 runs all rounds.
    max_iter : int, default 1000
    n_init : int, default 1
        Number of starts; the best is kept.
    regularization : float, default 1e-9
        Least variance, in units of a column's squared robust scale.
    ridge : float, default 0
        Added to every variance.
    random_state : int, RandomState or None, default 0
        An integer is the seed of the command line.
    n_threads, callback, progress
        As in `GaussianMixture`; restarts may run side by side, and call back in turn.

    Attributes
    ----------
    weights_, means_ : arrays
    parameters_ : dict
        All parameters of the components, as model files name them: "means" and "covariances", or "rates".
    model_ : Model
    converged_, n_iter_, reason_, events_, lower_bound_
        As in `GaussianMixture`; `lower_bound_` is the mean log-likelihood of the model itself.

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
        "accelerate": ["boolean"],
        "init_params": [StrOptions({"fast-kmeans", "paper", "short-em"}), Model],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "regularization": [Interval(Real, 0.0, None, closed="left")],
        "ridge": [Interval(Real, 0.0, None, closed="left")],
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
        accelerate: bool = False,
        init_params: str | Model = "fast-kmeans",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 1,
        regularization: float = 1e-9,
        ridge: float = 0.0,
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
        self.accelerate = accelerate
        self.init_params = init_params
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.regularization = regularization
        self.ridge = ridge
        self.random_state = random_state
        self.n_threads = n_threads
        self.callback = callback
        self.progress = progress

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Mixture:
        """Fits the model to rows, `n_init` times, and keeps the best."""
        X = _data.rows(self, X, reset=True)
        weights = _data.weights_of(sample_weight, X)
        settings = {
            "algorithm": self.algorithm,
            "result": self.result,
            "accelerate": bool(self.accelerate),
            "rounds": int(self.max_iter),
            "tolerance": float(self.tol),
            "restarts": int(self.n_init),
            "regularization": float(self.regularization),
            "ridge": float(self.ridge),
            "seed": _data.seed_of(self.random_state, advance=True),
            "n_threads": self.n_threads,
        }
        with Bar(self.algorithm.upper(), self.max_iter, self.progress) as bar:

            def listen(_restart: int, round: int, likelihood: float) -> object:
                bar.move(round, f"log-likelihood {likelihood:.6f}")
                return self.callback(round, likelihood) if self.callback is not None else None

            is_heard = self.callback is not None or bar.is_shown
            task = self._task(X, weights, self.init_params, settings)
            found = fit_restarts(task, listen if is_heard else None)
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
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int64]:
        """Fits the model and returns the most probable component of each row."""
        return self.fit(X, y, sample_weight).predict(X)

    def sample(self, n_samples: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draws rows from the model, with their components; `mixtura sample` draws the same."""
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
        """Reads a model file, also of the command line, as a fitted estimator."""
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
