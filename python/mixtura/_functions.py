"""Bounds on the difference between SEM and EM, comparisons of the two, and artificial data."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _data, _mixtura
from ._listen import Bar
from ._mixtura import Model
from ._models import estimator_of
from ._starts import FastStart


def generate(
    n_rows: int,
    n_columns: int = 10,
    n_components: int = 10,
    *,
    separation: float = 0.6,
    balanced: bool = True,
    random_state: int | np.random.RandomState | None = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64], Model]:
    """Draws rows from an artificial mixture like those of the paper.

    For the same `random_state`, a smaller sample is the beginning of a larger one. `mixtura generate --seed` draws the
    same rows.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_columns, n_components : int, default 10
        Numbers of columns and components.
    separation : float, default 0.6
        Median c-separation of neighbouring components; below 1 they overlap.
    balanced : bool, default True
        Whether all weights are equal. If False, the heaviest component has ten times the weight of the lightest.
    random_state : int, RandomState or None, default 0
        An integer is the same seed as on the command line.

    Returns
    -------
    tuple
        Rows of shape (n_rows, n_columns), the component of each row, and the Model.

    Examples
    --------
    >>> X, labels, model = generate(1000, n_columns=3, n_components=4)
    >>> X.shape, labels.shape, model
    ((1000, 3), (1000,), <Model of 4 components in 3 columns: gaussian, full covariances>)
    """
    n_rows = _data.check_count("n_rows", n_rows)
    shape = _data.check_count("n_columns", n_columns), _data.check_count("n_components", n_components)
    seed = _data.seed_of(random_state, advance=True)
    model = _mixtura.generate(*shape, float(separation), bool(balanced), seed)
    X, labels = model.sample(n_rows, seed)
    return X, labels, model


def bounds(
    model: Any,
    X: Any,
    *,
    confidence: float | None = None,
    delta: float | None = None,
    within: float = 10.0,
    n_threads: int | None = None,
) -> dict[str, Any]:
    """Bounds the distance of one SEM update from the EM update of the same model (Theorems 1 to 3 of the paper).

    Parameters
    ----------
    model : Model or fitted estimator
        A model, an estimator of mixtura, or a fitted `sklearn.mixture.GaussianMixture`.
    X : array or table
        The rows; weights are not supported.
    confidence : float, default 0.99
        Confidence that all statements hold simultaneously.
    delta : float
        Instead of `confidence`: the probability with which each single statement may fail.
    within : float, default 10
        In percent: `rows_needed` is the number of rows that would bring the bounds within it.
    n_threads : int or None, default None
        Number of threads; None for all. The result is the same, bit for bit, for any number.

    Returns
    -------
    dict
        The fields of `mixtura bounds --format json`, as arrays; NaN where the theorems make no statement.

    Examples
    --------
    >>> X, _, truth = generate(100_000, n_columns=2, n_components=3)
    >>> stated = bounds(truth, X)
    >>> bool((stated["weight_bound"] < 0.02).all()), stated["mean_bound"].shape
    (True, (3, 2))
    """
    if confidence is not None and delta is not None:
        raise ValueError("confidence and delta exclude each other: give one of them.")
    if n_threads is not None:
        _data.check_count("n_threads", n_threads)
    if isinstance(model, Model):
        rows = _data.matrix(X)
    else:
        estimator = estimator_of(model)
        rows, model = estimator._rows(X), estimator._model()
    text = _mixtura.bounds(model, rows, delta, confidence, float(within), n_threads)
    return {name: _as_array(value) for name, value in json.loads(text).items()}


def _as_array(value: Any) -> Any:
    """Converts lists of numbers to arrays; components without a statement become NaN."""
    if not isinstance(value, list):
        return value
    known = next((item for item in value if item is not None), None)
    empty = np.full_like(np.asarray(known, dtype=float), np.nan) if known is not None else np.nan
    return np.asarray([empty if item is None else item for item in value])


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison of EM and SEM.

    Attributes
    ----------
    summary : dict
        The contents of `summary.json` as written by `mixtura compare`.
    files : dict
        Name and text of every file: `index.html`, a page that needs no network; curves as CSV; figures as SVG.
    """

    summary: dict[str, Any]
    files: dict[str, str] = field(repr=False)

    def write(self, folder: str | Path) -> Path:
        """Writes all files to a folder, creating it if needed, and returns the path of the page.

        Parameters
        ----------
        folder : path
            The folder.

        Returns
        -------
        Path
            The path of `index.html`.
        """
        folder = Path(folder)
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        return folder / "index.html"

    def _repr_html_(self) -> str:
        """Shows the page in a notebook."""
        from html import escape

        return f'<iframe srcdoc="{escape(self.files["index.html"])}" style="width:100%;height:80vh;border:0"></iframe>'


def compare(
    X: Any,
    n_components: int,
    *,
    starts: int = 5,
    runs: int = 5,
    bound_runs: int = 1,
    rounds: int = 50,
    init_params: FastStart = "fast-kmeans",
    random_state: int | np.random.RandomState | None = 0,
    confidence: float = 0.99,
    equal_within: float = 1e-3,
    regularization: float = 1e-9,
    normalize: bool = False,
    n_threads: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Runs EM and SEM from the same starts and compares likelihoods, parameters and speed, as `mixtura compare` does.

    Parameters
    ----------
    X : array or table of shape (n_samples, n_features)
        The rows.
    n_components : int
        Number of components.
    starts, runs : int, default 5
        Number of starts, and of SEM runs from each start.
    bound_runs : int, default 1
        Number of runs from each start whose differences are compared with the bounds.
    rounds : int, default 50
        Number of rounds in each run.
    init_params : {"fast-kmeans", "paper", "short-em"}, default "fast-kmeans"
        Where the runs start.
    random_state : int, RandomState or None, default 0
        An integer is the same seed as on the command line.
    confidence : float, default 0.99
        Confidence that all bounds hold simultaneously.
    equal_within : float, default 1e-3
        Mean log-likelihoods that differ by less than this, in nats per row, count as equal.
    regularization : float, default 1e-9
        Smallest variance allowed, in units of the squared robust scale of the column.
    normalize : bool, default False
        Whether to map each column to [0, 1] first.
    n_threads : int or None, default None
        Number of threads; None for all. Only the times depend on it.
    progress : bool, default False
        Whether to show a progress bar, in a terminal or a notebook.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> X, _, _ = generate(2000, n_columns=2, n_components=3)
    >>> found = compare(X, 3, starts=2, runs=2, rounds=10)
    >>> sorted(found.summary["summary"]["outcomes"])
    ['better', 'equal', 'equal_within', 'runs', 'worse']
    >>> found.files["index.html"][:15]
    '<!doctype html>'
    """
    counts = {"n_components": n_components, "starts": starts, "runs": runs, "rounds": rounds}
    if n_threads is not None:
        _data.check_count("n_threads", n_threads)
    items: dict[str, Any] = {
        **{name: _data.check_count(name, value) for name, value in counts.items()},
        "bound_runs": _data.check_count("bound_runs", bound_runs, 0),
        "seed": _data.seed_of(random_state, advance=True),
        "confidence": float(confidence),
        "equal_within": float(equal_within),
        "regularization": float(regularization),
        "normalize": bool(normalize),
    }
    words = ", ".join(f"{name}={value!r}" for name, value in items.items() if name not in ("n_components", "seed"))
    items["start"] = init_params
    items["n_threads"] = n_threads
    seed = items["seed"]
    items["command"] = f"mixtura.compare(X, {n_components}, init_params={init_params!r}, random_state={seed}, {words})"
    rows = _data.matrix(X)
    with Bar("comparing", 1.0, progress, is_share=True) as bar:
        listen = (lambda _restart, _round, share: bar.move(share)) if bar.is_shown else None
        summary, files = _mixtura.compare(rows, items, listen)
    return Comparison(json.loads(summary), dict(files))
