"""What is worth doing fast, compiled."""

import os
from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_Matrix = NDArray[np.float64] | NDArray[np.float32]
_Weights = NDArray[np.float64] | None
_Listener = Callable[[int, int, float], object] | None

__all__ = ["Collapsed", "Model", "Online", "bounds", "compare", "fit", "fit_once", "generate", "n_threads", "of_labels"]

class Collapsed(ValueError): ...

@final
class Model:
    """A mixture of any family, the names of its columns, and how it came about. It does not change."""

    @staticmethod
    def from_parameters(
        family: str,
        structure: str,
        weights: NDArray[np.float64],
        parameters: list[NDArray[np.float64]],
        columns: list[str],
    ) -> Model: ...
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

    def __new__(
        cls,
        data: _Matrix,
        weights: _Weights,
        start: Model | str,
        n_components: int,
        family: str,
        structure: str,
        settings: Mapping[str, Any],
        n_batches: int = 0,
    ) -> Online: ...
    def learn(
        self, data: _Matrix, weights: _Weights, settings: Mapping[str, Any], decay: float, offset: float
    ) -> float: ...
    @property
    def model(self) -> Model: ...
    @property
    def n_batches(self) -> int: ...
    @property
    def events(self) -> list[dict[str, Any]]: ...
    @staticmethod
    def from_json(family: str, structure: str, text: str) -> Online: ...

def fit(
    data: _Matrix,
    weights: _Weights,
    columns: list[str],
    start: Model | str,
    n_components: int,
    family: str,
    structure: str,
    settings: Mapping[str, Any],
    listener: _Listener,
) -> dict[str, Any]: ...
def fit_once(
    data: _Matrix,
    weights: _Weights,
    columns: list[str],
    start: Model | str,
    n_components: int,
    family: str,
    structure: str,
    settings: Mapping[str, Any],
    restart: int,
    lag: Mapping[str, float] | None,
    listener: _Listener,
) -> dict[str, Any]: ...
def of_labels(
    data: _Matrix,
    weights: _Weights,
    labels: NDArray[np.uint32],
    n_components: int,
    family: str,
    structure: str,
    ridge: float,
    n_threads: int | None,
) -> Model: ...
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
