"""The compiled part of the package."""

import os
from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_Matrix = NDArray[np.float64] | NDArray[np.float32]
_Weights = NDArray[np.float64] | None
#: Rows, the offset subtracted from them, and their weights.
_Points = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]
_Listener = Callable[[int, int, float], object] | None

__all__ = [
    "Collapsed",
    "KmeansRounds",
    "KmeansSeeds",
    "Model",
    "Online",
    "Summary",
    "bounds",
    "compare",
    "fit",
    "fit_once",
    "generate",
    "kmeans_assign",
    "kmeans_distances",
    "kmeans_mean",
    "kmeans_squares",
    "kmeans_sums",
    "n_threads",
    "of_labels",
]

class Collapsed(ValueError): ...

@final
class Model:
    """An immutable mixture of any family, with the names of its columns and a record of how it was fitted."""

    @staticmethod
    def from_parameters(
        family: str,
        structure: str,
        weights: NDArray[np.float64],
        parameters: list[NDArray[np.float64]],
        columns: list[str],
    ) -> Model: ...
    @staticmethod
    def from_sklearn(fitted: Any) -> Model: ...
    def with_columns(self, columns: list[str]) -> Model: ...
    @staticmethod
    def load(path: str | os.PathLike[str]) -> Model: ...
    @staticmethod
    def from_json(text: str) -> Model: ...
    def to_json(self) -> str: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    @property
    def family(self) -> str: ...
    @property
    def structure(self) -> str | None: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def fit_record(self) -> str | None: ...
    @property
    def weights(self) -> NDArray[np.float64]: ...
    @property
    def centres(self) -> NDArray[np.float64]: ...
    @property
    def parameters(self) -> list[tuple[str, NDArray[np.float64]]]: ...
    @property
    def n_parameters(self) -> int: ...
    def predict(self, data: _Matrix, n_threads: int | None = None) -> NDArray[np.int64]: ...
    def predict_proba(self, data: _Matrix, n_threads: int | None = None) -> NDArray[np.float64]: ...
    def score_samples(self, data: _Matrix, n_threads: int | None = None) -> NDArray[np.float64]: ...
    def score(
        self, data: _Matrix, weights: _Weights = None, n_threads: int | None = None
    ) -> tuple[float, float, float, float, float]: ...
    def sample(
        self, n_rows: int, seed: int = 0, n_threads: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...

@final
class Online:
    """A mixture that learns from batches."""

    def __new__(cls, task: Mapping[str, Any], n_batches: int = 0) -> Online: ...
    def learn(
        self, data: _Matrix, weights: _Weights, settings: Mapping[str, Any], gains: Mapping[str, float]
    ) -> float: ...
    @property
    def model(self) -> Model: ...
    @property
    def n_batches(self) -> int: ...
    @property
    def events(self) -> list[dict[str, Any]]: ...
    @staticmethod
    def from_json(family: str, structure: str, text: str) -> Online: ...

@final
class Summary:
    """What a fit needs to know about the columns of its rows."""

    def __new__(cls, data: _Matrix, weights: _Weights, n_threads: int | None) -> Summary: ...

@final
class KmeansSeeds:
    """Squared distances of points to the closest of the centres so far, for k-means++."""

    def __new__(cls, points: _Points, centre: NDArray[np.float64], n_threads: int | None) -> KmeansSeeds: ...
    @property
    def potential(self) -> float: ...
    def potentials(
        self, points: _Points, centres: NDArray[np.float64], n_threads: int | None
    ) -> NDArray[np.float64]: ...
    def add(self, points: _Points, centre: NDArray[np.float64], n_threads: int | None) -> None: ...
    def find(self, points: _Points, drawn: float) -> tuple[int, float]: ...

@final
class KmeansRounds:
    """Lloyd's rounds after the first, on points in double precision."""

    def __new__(
        cls, points: _Points, centres: NDArray[np.float64], labels: NDArray[np.uint32], n_threads: int | None
    ) -> KmeansRounds: ...
    def go(
        self, points: _Points, labels: NDArray[np.uint32], limits: tuple[int, float], n_threads: int | None
    ) -> tuple[str, NDArray[np.uintp]]: ...
    def settle(
        self,
        points: _Points,
        labels: NDArray[np.uint32],
        tied: NDArray[np.uintp],
        settled: NDArray[np.uint32],
    ) -> bool: ...

def fit(task: Mapping[str, Any], fit_options: Mapping[str, bool], listener: _Listener) -> dict[str, Any]: ...
def fit_once(
    task: Mapping[str, Any], restart: int, lag: Mapping[str, float] | None, listener: _Listener
) -> dict[str, Any]: ...
def of_labels(
    data: _Matrix,
    weights: _Weights,
    labels: NDArray[np.uint32],
    n_components: int,
    family: str,
    structure: str,
    ridge: float,
    summary: Summary | None,
    n_threads: int | None,
) -> Model: ...
def kmeans_mean(values: NDArray[np.float64]) -> NDArray[np.float64]: ...
def kmeans_squares(points: _Points) -> NDArray[np.float64]: ...
def kmeans_distances(
    points: _Points,
    centres: NDArray[np.float64],
    closest: NDArray[Any] | None,
    out: NDArray[Any],
    n_threads: int | None,
) -> None: ...
def kmeans_assign(
    points: _Points,
    centres: NDArray[np.float64],
    norms: NDArray[np.float64],
    labels: NDArray[np.uint32],
    n_threads: int | None,
) -> tuple[int, NDArray[np.uintp]]: ...
def kmeans_sums(
    points: _Points,
    labels: NDArray[np.uint32],
    sums: NDArray[Any],
    weights: NDArray[Any],
    n_threads: int | None,
) -> None: ...
def generate(n_columns: int, n_components: int, separation: float, is_balanced: bool, seed: int) -> Model: ...
def bounds(
    model: Model,
    data: _Matrix,
    delta: float | None,
    confidence: float | None,
    within: float,
    n_threads: int | None,
) -> str: ...
def compare(
    data: _Matrix, items: Mapping[str, Any], listener: _Listener
) -> tuple[str, list[tuple[str, str]]]: ...
def n_threads(wanted: int | None = None) -> int: ...
