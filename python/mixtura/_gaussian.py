"""Gaussian mixtures with scikit-learn's interface."""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from . import _data
from ._events import warn_of_reseeds
from ._factors import collapse, covariances_of, precisions_cholesky_of
from ._listen import Bar, Callback
from ._hooks import Hooks, Theirs, overridden
from ._mixtura import Collapsed, Model, Summary, fit_once
from ._mixtura import fit as fit_restarts
from ._settings import check_result
from ._starts import FAST_STARTS, NAMESPACE, STRUCTURES, StartName, Starts
from ._streams import Streams

Array = NDArray[Any]

#: Attributes of scikit-learn's class once it is fitted.
_FITTED = (
    "weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_", "converged_", "n_iter_",
    "lower_bound_", "lower_bounds_", "n_features_in_", "feature_names_in_",
)  # fmt: skip
#: Algorithms that stop as scikit-learn's EM does.
LAGGED = frozenset({"em", "cem"})
#: Neither normalised nor sorted.
_AS_IS = {"normalize": False, "sort": False}
#: Number of starts in a race, for each `n_init`.
_RACED = 8


class GaussianMixture(Streams, Hooks, Starts):
    """Gaussian mixture, a drop-in replacement for `sklearn.mixture.GaussianMixture`.

    The arguments of scikit-learn's class have the same meaning, defaults, checks and warnings, and the same start leads
    to the same numbers. The additional arguments are keyword-only.

    Parameters
    ----------
    n_components, covariance_type, tol, reg_covar, max_iter, n_init, weights_init, means_init, precisions_init, \
random_state, warm_start, verbose, verbose_interval
        As in scikit-learn.

    init_params : {"kmeans", "k-means++", "random", "random_from_data", "fast-kmeans", "paper", "short-em", "race"}
        The first four are scikit-learn's, with the same results. The time of the other three hardly grows with the
        number of rows: "fast-kmeans" runs k-means++ and a few rounds of k-means on a sample, "paper" draws the means from the
        rows, and "short-em" takes the best of several short runs of EM on a sample, which takes longer. With "race",
        eight starts for each `n_init` compete on samples of the rows that grow, and only the best go on to all rows;
        the fit then stops by the likelihood of the returned model, as with `accelerate`. None of these can be combined
        with the `..._init` arguments.

    algorithm : {"em", "sem", "cem", "saem", "auto"}, default "em"
        "sem" draws the component of each row from its posterior, in about half the time per round; "cem" takes the most
        probable component; "saem" averages the statistics of SEM; "auto" runs SEM while the likelihood rises, then EM.
        "em" and "cem" stop as scikit-learn does; the others have stopping rules of their own (see docs/python.md), with
        `tol` as their tolerance.

    result : {"average", "best", "last"}, default "average"
        Which of the models of SEM is returned.

    regularization : float, default 0
        Smallest variance allowed, in units of the squared robust scale of the column. The default is 0, so that only
        `reg_covar` regularizes, as in scikit-learn.

    accelerate : bool, default False
        With "em" and "auto": extrapolate the steps of EM where that does not lower the likelihood. This takes far fewer
        rounds, but no longer follows scikit-learn's trajectory, and stops by the likelihood of the returned model.

    learning_decay, learning_offset : float, defaults 0.6 and 0
        Step size of `partial_fit`: batch t ≥ 2 of the usual size has γ = (t + offset)^−decay; the first has 1.

    n_threads : int or None, default None
        Number of threads; None for all, or as many as OMP_NUM_THREADS allows. The result is the same, bit for bit, for
        any number.

    callback : callable or None
        Called as `callback(round, log_likelihood)` with the mean log-likelihood per row; a true return value stops the
        fit. With "em" and "cem" it is called after every round, with the likelihood before the update; with the others
        also for round 0, the start, and with the likelihood of the model of that round.

    progress : bool, default False
        Whether to show a progress bar, in a terminal or a notebook.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_, converged_, n_iter_, lower_bound_, \
lower_bounds_, n_features_in_, feature_names_in_
        As in scikit-learn.
    events_ : list of dict
        Repairs and other events: kind, component, first and last round, number of rounds.
    reason_ : str
        Why the fit ended: "converged", "flat" (the likelihood of SEM no longer rises), "round-limit" or "interrupted";
        "batch" after `partial_fit`.
    n_batches_ : int
        Number of batches seen by `partial_fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from mixtura import GaussianMixture
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> model.means_
    array([[10.,  2.],
           [ 1.,  2.]])
    >>> model.predict([[0, 0], [12, 3]])
    array([1, 0])
    """

    weights_: Array
    means_: Array
    covariances_: Array
    precisions_: Array
    precisions_cholesky_: Array
    converged_: bool
    n_iter_: int
    lower_bound_: float
    lower_bounds_: list[float]
    events_: list[dict[str, Any]]
    reason_: str
    n_batches_: int

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Theirs._parameter_constraints,
        "init_params": [StrOptions(set(get_args(StartName)))],
        "algorithm": [StrOptions({"em", "sem", "cem", "saem", "auto"})],
        "result": [StrOptions({"average", "best", "last"})],
        "regularization": [Interval(Real, 0.0, None, closed="left")],
        "accelerate": ["boolean"],
        "learning_decay": [Interval(Real, 0.0, 1.0, closed="both")],
        "learning_offset": [Interval(Real, 0.0, None, closed="left")],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "callback": [callable, None],
        "progress": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: Literal["full", "tied", "diag", "spherical"] = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: StartName = "kmeans",
        weights_init: ArrayLike | None = None,
        means_init: ArrayLike | None = None,
        precisions_init: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        algorithm: Literal["em", "sem", "cem", "saem", "auto"] = "em",
        result: Literal["average", "best", "last"] = "average",
        regularization: float = 0.0,
        accelerate: bool = False,
        learning_decay: float = 0.6,
        learning_offset: float = 0.0,
        n_threads: int | None = None,
        callback: Callback | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(
            n_components=n_components,
            covariance_type=covariance_type,
            tol=tol,
            reg_covar=reg_covar,
            max_iter=max_iter,
            n_init=n_init,
            init_params=init_params,
            weights_init=weights_init,
            means_init=means_init,
            precisions_init=precisions_init,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            verbose_interval=verbose_interval,
        )
        self.algorithm = algorithm
        self.result = result
        self.regularization = regularization
        self.accelerate = accelerate
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.n_threads = n_threads
        self.callback = callback
        self.progress = progress

    # ---- fitting

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> GaussianMixture:
        """Fits the model `n_init` times and keeps the best fit.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows. C-contiguous arrays of float64 or float32 are not copied.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row: a weight of 2 stands for a row that occurs twice. If all weights are integers, SEM draws
            a component for each repetition; otherwise one for the row.

        Returns
        -------
        self
        """
        if overridden(self) or type(self).fit_predict is not GaussianMixture.fit_predict:
            # scikit-learn's `fit` calls `fit_predict`, so a subclass may do its work there.
            weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
            self.fit_predict(X, y, **weighted)
        else:
            self._fit(X, sample_weight)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int64]:
        """Fits the model and returns the most probable component of each row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            As in `fit`.

        Returns
        -------
        array of shape (n_samples,)
        """
        hooks = overridden(self)
        if hooks:
            return self._fit_with_hooks(hooks, X, sample_weight)
        rows = self._fit(X, sample_weight)
        return self._model().predict(rows, self.n_threads)

    def _fit_with_hooks(self, hooks: list[str], X: Any, sample_weight: ArrayLike | None) -> NDArray[np.int64]:
        """Fits with scikit-learn's loop, which calls the overridden methods."""
        unknown = {
            "sample_weight": sample_weight is not None,
            f"algorithm={self.algorithm!r}": self.algorithm != "em",
            "accelerate=True": bool(self.accelerate),
            f"regularization={self.regularization!r}": bool(self.regularization),
            "callback": self.callback is not None,
        }
        self._refuse_beside_hooks(hooks, unknown)
        self._check_companions()
        self._warn_of_hooks(hooks)
        self._forget("_shown", "_online", "n_batches_")
        labels = Theirs.fit_predict(self, X)
        self.reason_ = "converged" if self.converged_ else "round-limit"
        self.events_ = []
        self._n_rows = float(len(labels))
        return labels

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X: Any, sample_weight: ArrayLike | None) -> Array:
        with _data.kept_on_failure(self):
            rows = _data.rows(self, X, reset=True, least=2)
            weights = _data.weights_of(sample_weight, rows)
            self._check(rows)
            found = self._best(rows, weights)
        self._take(found, rows.dtype, float(len(rows) if weights is None else weights.sum()))
        if self.reason_ == "round-limit" and self.max_iter > 0:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, or increase "
                "max_iter, tol, or check for degenerate data.",
                ConvergenceWarning,
                stacklevel=4,
            )
        warn_of_reseeds(self.events_, stacklevel=4)
        return rows

    def _best(self, X: Array, weights: Array | None) -> Mapping[str, Any]:
        """Returns the best of `n_init` fits, or one that continues from the last fit."""
        # All starts and fits of these rows share it.
        self._summary = (X, weights, Summary(X, weights, self.n_threads))
        try:
            return self._best_of(X, weights)
        finally:
            del self._summary

    def _best_of(self, X: Array, weights: Array | None) -> Mapping[str, Any]:
        do_init = not (self.warm_start and hasattr(self, "converged_") and hasattr(self, "lower_bound_"))
        previous = -np.inf if do_init else self.lower_bound_
        best: Mapping[str, Any] | None = None
        random_state = check_random_state(self.random_state)
        uses_seed = self.algorithm != "em" or self.init_params in FAST_STARTS
        seed = _data.seed_of(self.random_state, advance=uses_seed)
        if do_init and self.init_params == "race":
            return self._race(X, weights, seed)
        for init in range(self.n_init if do_init else 1):
            self._print_verbose_msg_init_beg(init)
            start, ln_weight = self._start(X, weights, random_state) if do_init else self._warm_start()
            found = self._run(X, weights, start, (seed, init), {"previous": previous, "ln_weight": ln_weight})
            if self.max_iter > 0:
                self._print_verbose_msg_init_end(found["likelihood"], found["has_converged"])
            # Without rounds there are no likelihoods to compare, and scikit-learn keeps the last start.
            if best is None or self.max_iter == 0 or found["likelihood"] > best["likelihood"]:
                best = found
            if found["reason"] == "interrupted":
                break
        assert best is not None
        return best

    def _race(self, X: Array, weights: Array | None, seed: int) -> Mapping[str, Any]:
        """Returns the winner of a race between starts."""
        self._print_verbose_msg_init_beg(0)
        settings = self._settings(seed) | self._raced(self.n_init)
        task = self._task(X, weights, "fast-kmeans", settings)
        with self._listening(-np.inf) as listen:
            found = fit_restarts(task, _AS_IS, listen)
        if self.max_iter > 0:
            self._print_verbose_msg_init_end(found["likelihood"], found["has_converged"])
        return found

    def _raced(self, n_init: int) -> dict[str, Any]:
        """Returns the settings of a race. A single component has the same maximum from every start."""
        return {"restarts": 1 if self.n_components == 1 else _RACED * int(n_init), "race": True}

    def _is_lagged(self) -> bool:
        """Whether the fit stops as scikit-learn's does."""
        return self.algorithm in LAGGED and not self.accelerate and self.init_params != "race"

    def _check(self, X: Array) -> None:
        """Checks the arguments as scikit-learn does, and the combinations of the additional ones."""
        if X.shape[0] < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, "
                f"n_samples = {X.shape[0]}"
            )
        self._check_companions()
        self._check_parameters(X, **NAMESPACE)

    def _check_companions(self) -> None:
        given = [name for name in ("weights_init", "means_init", "precisions_init") if getattr(self, name) is not None]
        if self.init_params in FAST_STARTS and given:
            raise ValueError(f"init_params={self.init_params!r} cannot be combined with {given[0]}.")
        if self.accelerate and self.algorithm not in ("em", "auto"):
            raise ValueError(f"accelerate=True needs algorithm='em' or 'auto', not {self.algorithm!r}.")
        check_result(self.result, self.algorithm)

    def _settings(self, seed: int) -> dict[str, Any]:
        return {
            "algorithm": self.algorithm,
            "result": self.result,
            "precision": "certified",
            "guard": False,
            "accelerate": bool(self.accelerate),
            "rounds": int(self.max_iter),
            "tolerance": min(float(self.tol), sys.float_info.max),
            "restarts": 1,
            "race": False,
            "regularization": float(self.regularization),
            "ridge": float(self.reg_covar),
            "seed": seed,
            "n_threads": self.n_threads,
        }

    def _family(self) -> tuple[str, str]:
        return "gaussian", STRUCTURES[self.covariance_type]

    def _run(
        self, X: Array, weights: Array | None, start: Model | str, at: tuple[int, int], lag: dict[str, float]
    ) -> Mapping[str, Any]:
        """Runs one fit from one start."""
        seed, init = at
        with self._listening(lag["previous"]) as listen:
            try:
                task = self._task(X, weights, start, self._settings(seed))
                return fit_once(task, init, lag if self._is_lagged() else None, listen)
            except Collapsed:
                raise collapse(X.dtype) from None

    @contextmanager
    def _listening(self, previous: float) -> Generator[Any, None, None]:
        """Shows the progress of a fit; yields what is called after every round, None if nobody listens."""
        with Bar(self.algorithm.upper(), self.max_iter, self.progress) as bar:

            def listen(_restart: int, round: int, likelihood: float) -> object:
                nonlocal previous
                change, previous = likelihood - previous, likelihood
                if round > 0:
                    self._print_verbose_msg_iter_end(round, change)
                bar.move(round, f"log-likelihood {likelihood:.6f}")
                return self.callback(round, likelihood) if self.callback is not None else None

            is_heard = self.callback is not None or self.verbose > 0 or bar.is_shown
            yield listen if is_heard else None

    def _take(self, found: Mapping[str, Any], dtype: np.dtype[Any], n_rows: float) -> None:
        """Sets the attributes from the result of a fit."""
        self._show(found["model"], dtype)
        self.converged_ = found["has_converged"]
        self.n_iter_ = found["rounds"]
        self.reason_ = found["reason"]
        self.events_ = found["events"]
        # Without rounds there is no likelihood; scikit-learn sets it to −∞.
        self.lower_bound_ = -np.inf if self.max_iter == 0 and self._is_lagged() else found["likelihood"]
        self.lower_bounds_ = list(found["likelihoods"])
        self._n_rows = n_rows
        self._forget("n_batches_", "_online")

    def _forget(self, *names: str) -> None:
        for name in names:
            if hasattr(self, name):
                delattr(self, name)

    def _initialize_fast(self, X: Array, random_state: Any) -> None:
        seed = _data.seed_of(random_state, advance=True)
        settings = self._settings(seed) | {"algorithm": "em", "accelerate": False, "rounds": 0}
        if self.init_params == "race":
            found = fit_restarts(self._task(X, None, "fast-kmeans", settings | self._raced(1)), _AS_IS, None)
        else:
            found = fit_once(self._task(X, None, self.init_params, settings), 0, None, None)
        model = found["model"]
        parameters = dict(model.parameters)
        self._begin(model.weights, parameters["means"], parameters["covariances"])

    def _n_free_parameters(self) -> int:
        return int(self._n_parameters())

    def _total(self, X: Any, sample_weight: ArrayLike | None) -> tuple[float, float]:
        """Calls `score`, which may be overridden."""
        if sample_weight is None:
            return self.score(X) * _num_samples(X), float(_num_samples(X))
        weights = _data.weights_of(sample_weight, self._rows(X))
        assert weights is not None
        return self.score(X, sample_weight=weights) * float(weights.sum()), float(weights.sum())

    # ---- the model

    def _show(self, model: Model, dtype: np.dtype[Any]) -> None:
        """Sets the attributes from a model, in the precision of the data."""
        parameters = dict(model.parameters)
        covariances = parameters["covariances"]
        cholesky = precisions_cholesky_of(covariances, self.covariance_type)
        shown = [np.asarray(array, dtype=dtype) for array in (model.weights, parameters["means"], covariances, cholesky)]
        self._set_parameters(tuple(shown), **NAMESPACE)
        self._shown = (model, shown[0].copy(), shown[1].copy(), shown[3].copy())

    def _is_shown(self) -> bool:
        """Whether the attributes are still those that the stored model set."""
        shown = getattr(self, "_shown", None)
        if shown is None:
            return False
        now = (self.weights_, self.means_, self.precisions_cholesky_)
        return all(np.array_equal(array, was) for array, was in zip(now, shown[1:], strict=True))

    def _ln_weight(self) -> float:
        return 0.0 if self._is_shown() else float(np.log(np.sum(self.weights_, dtype=np.float64)))

    def _model(self) -> Model:
        """Returns the model that the attributes describe, also if they were changed by hand."""
        if self._is_shown():
            model: Model = self._shown[0]
            return model
        covariances = covariances_of(self.precisions_cholesky_, self.covariance_type)
        weights = np.asarray(self.weights_, dtype=np.float64)
        return self._as_model(weights / weights.sum(), self.means_, covariances)

    # ---- from elsewhere

    @classmethod
    def from_sklearn(cls, fitted: Any) -> GaussianMixture:
        """Creates a fitted estimator with the arguments and the model of scikit-learn's.

        Parameters
        ----------
        fitted : sklearn.mixture.GaussianMixture
            The fitted estimator. Classes that override steps of EM are not supported.

        Returns
        -------
        GaussianMixture

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn import mixture
        >>> from mixtura import GaussianMixture
        >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
        >>> theirs = mixture.GaussianMixture(n_components=2, random_state=0).fit(X)
        >>> ours = GaussianMixture.from_sklearn(theirs)
        >>> bool((ours.predict(X) == theirs.predict(X)).all())
        True
        """
        if not isinstance(fitted, Theirs):
            raise TypeError(f"expected a fitted sklearn.mixture.GaussianMixture, not {type(fitted).__name__}.")
        check_is_fitted(fitted)
        hooks = overridden(fitted)
        if hooks:
            raise ValueError(
                f"{type(fitted).__name__} overrides {', '.join(hooks)}, so it cannot be converted to a plain mixture."
            )
        known = cls._get_param_names()
        given = fitted.get_params(deep=False)
        estimator = cls(**{name: value for name, value in given.items() if name in known})
        for name in _FITTED:
            if hasattr(fitted, name):
                setattr(estimator, name, copy.deepcopy(getattr(fitted, name)))
        estimator.reason_ = "converged" if getattr(fitted, "converged_", False) else "round-limit"
        estimator.events_ = []
        if abs(estimator._ln_weight()) < 1e-6:
            weights, means, cholesky = estimator.weights_, estimator.means_, estimator.precisions_cholesky_
            estimator._shown = (estimator._model(), weights.copy(), means.copy(), cholesky.copy())
        return estimator

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GaussianMixture:
        """Reads a model file, such as those of the command line, as a fitted estimator.

        Parameters
        ----------
        path : path
            The JSON file.

        Returns
        -------
        GaussianMixture
        """
        model = Model.load(os.fspath(path))
        if model.family != "gaussian":
            raise ValueError(f"{os.fspath(path)}: a {model.family} mixture: use mixtura.Mixture.load")
        names = {ours: theirs for theirs, ours in STRUCTURES.items()}
        estimator = cls(len(model.weights), covariance_type=names[model.structure or "full"])  # type: ignore[arg-type]
        estimator._show(model, np.dtype(np.float64))
        estimator._recall(model)
        estimator.lower_bounds_ = []
        return estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags
