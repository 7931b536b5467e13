"""The paper's questions: how far SEM can be from EM, how far it is, and data to ask with."""

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
    """Rows of an artificial mixture as in the paper, the component of each, and the mixture.

    With one `random_state`, fewer rows are the beginning of more; `mixtura generate --seed` makes the same.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_columns, n_components : int, default 10
        Number of columns and of components.
    separation : float, default 0.6
        Median c-separation of neighbouring components; below 1 they overlap.
    balanced : bool, default True
        Equal weights; else the heaviest component has ten times the weight of the lightest.
    random_state : int, RandomState or None, default 0
        An integer is the seed of the command line.

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
    """How far one update of SEM from a model can be from EM's: Theorems 1 to 3 of the paper.

    Parameters
    ----------
    model : Model or fitted estimator
        Of mixtura, or a `sklearn.mixture.GaussianMixture`.
    X : array or table
        Rows without weights.
    confidence : float, default 0.99
        Confidence that all statements hold simultaneously.
    delta : float
        Instead of `confidence`: the probability with which each single statement may fail.
    within : float, default 10
        Per cent; `rows_needed` tells how many rows would bring the bounds within it.
    n_threads : int or None, default None
        Number of threads; None for all. Changes no bit of the result.

    Returns
    -------
    dict
        The fields of `mixtura bounds --format json` as arrays; NaN where the theorems state nothing.

    Examples
    --------
    >>> X, _, truth = generate(100_000, n_columns=2, n_components=3)
    >>> stated = bounds(truth, X)
    >>> bool((stated["weight_bound"] < 0.02).all()), stated["mean_bound"].shape
    (True, (3, 2))
    """
    if confidence is not None and delta is not None:
        raise ValueError("confidence and delta exclude each other.")
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
    """Lists of numbers as arrays; a component without a statement is filled with NaN."""
    if not isinstance(value, list):
        return value
    known = next((item for item in value if item is not None), None)
    empty = np.full_like(np.asarray(known, dtype=float), np.nan) if known is not None else np.nan
    return np.asarray([empty if item is None else item for item in value])


@dataclass(frozen=True)
class Comparison:
    """What a comparison of EM and SEM found.

    Attributes
    ----------
    summary : dict
        What `summary.json` of `mixtura compare` has.
    files : dict
        Name and text of every file: `index.html`, a page that opens offline; curves as CSV; figures as SVG.
    """

    summary: dict[str, Any]
    files: dict[str, str] = field(repr=False)

    def write(self, folder: str | Path) -> Path:
        """Writes all files to a folder, which is made if it is not there; returns the page's path.

        Parameters
        ----------
        folder : path
            The folder.

        Returns
        -------
        Path
            Of `index.html`.
        """
        folder = Path(folder)
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        return folder / "index.html"

    def _repr_html_(self) -> str:
        """The page, as notebooks show it."""
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
    """Runs EM and SEM from the same starts: likelihoods, differences, bounds, speed; see `mixtura compare`.

    Parameters
    ----------
    X : array or table of shape (n_samples, n_features)
        The rows.
    n_components : int
        Number of components.
    starts, runs : int, default 5
        Number of starts, and of runs of SEM from each.
    bound_runs : int, default 1
        From how many runs of each start the differences are compared with the bounds.
    rounds : int, default 50
        Number of rounds of each run.
    init_params : {"fast-kmeans", "paper", "short-em"}, default "fast-kmeans"
        Where the runs start.
    random_state : int, RandomState or None, default 0
        An integer is the seed of the command line.
    confidence : float, default 0.99
        Confidence that all bounds hold simultaneously.
    equal_within : float, default 1e-3
        Likelihoods that differ by less count as equal, in nats per row.
    regularization : float, default 1e-9
        Least variance, in units of a column's squared robust scale.
    normalize : bool, default False
        Map each column to [0, 1] first.
    n_threads : int or None, default None
        Number of threads; None for all. Changes no bit of the result, only the times.
    progress : bool, default False
        Show a bar, in a terminal or a notebook.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> X, _, _ = generate(2000, n_columns=2, n_components=3)
    >>> found = compare(X, 3, starts=2, runs=2, rounds=10)
    >>> sorted(found.summary["summary"]["outcomes"])
    ['better', 'equal', 'equal_within', 'worse']
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
