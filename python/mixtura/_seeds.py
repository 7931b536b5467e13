"""Sums that k-means++ draws rows from, and where rounding might decide a draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import _kmeans as theirs

from ._mixtura import KmeansSeeds, kmeans_distances

Array = NDArray[Any]
#: Rows, the offset subtracted from them, and their weights.
Points = tuple[Array, Array, "Array | None"]

#: scikit-learn 1.7 uses a cumulative sum of its own.
_cumsum = getattr(theirs, "stable_cumsum", np.cumsum)
ROUNDOFF = float(np.finfo(np.float64).epsneg)


class TooClose(Exception):
    """A draw may depend on rounding."""


def first_row(n_rows: int, weight: Array | None, dtype: Any, random_state: Any) -> int:
    """Returns `random_state.choice(n_rows, p=weight / weight.sum())`, with equal weights if there are none."""
    if weight is None:
        state = random_state.get_state()
        place = random_state.random_sample() * n_rows
        # NumPy looks the same number up among the cumulative sums of n numbers 1/n; their error is at most n roundings.
        margin = 4 * ROUNDOFF * n_rows * n_rows
        if margin < place % 1 < 1 - margin:
            return int(place)
        random_state.set_state(state)
        weight = np.ones(n_rows, dtype=dtype)
    return int(random_state.choice(n_rows, p=weight / weight.sum()))


@dataclass(frozen=True)
class Error:
    """Bounds the difference between our sums of weighted squared distances and scikit-learn's."""

    n_rows: int
    n_columns: int
    #: The weighted sum of ‖x‖².
    squares: float

    def of_sums(self, total: float) -> float:
        """Bounds the error of a sum of squared distances from the closest centres that equals `total`.

        A squared distance ‖c‖² − 2x·c + ‖x‖², in any order of operations, errs by less than
        2(D + 4)·u·(‖x‖² + ‖c‖²), where u is the roundoff; ours and scikit-learn's differ by up to twice that, and
        ‖c‖² is at most 2‖x‖² + 2‖x − c‖². The roundings of a sum of n numbers add up to about √n·u of it; we allow
        for eight times that.
        """
        distances = 4 * (self.n_columns + 4) * (3 * self.squares + 2 * total)
        return ROUNDOFF * (distances + 8 * float(np.sqrt(self.n_rows)) * total)


class Seeds:
    """Squared distances to the closest of the centres chosen by k-means++, on rows in double precision."""

    def __init__(self, points: Points, centre: Array, n_trials: int, n_threads: int | None) -> None:
        self._points, self._n_threads = points, n_threads
        self._tried = np.empty((n_trials, points[0].shape[1]))
        squares = KmeansSeeds(points, np.zeros(points[0].shape[1]), n_threads).potential
        n_rows, n_columns = points[0].shape
        self.error = Error(n_rows, n_columns, squares)
        self._seeds = KmeansSeeds(points, centre[0], n_threads)
        self.potential = self._seeds.potential

    def candidates(self, drawn: Array) -> Array:
        """Returns the rows at which the cumulative distances reach the drawn numbers."""
        found = [self._seeds.find(self._points, float(number)) for number in drawn]
        if not min(distance for _, distance in found) > self.error.of_sums(self.potential):
            raise TooClose
        return np.array([row for row, _ in found])

    def potentials(self, centres: Array) -> Array:
        """Returns the sum of the distances with each of several centres in addition."""
        self._tried = centres
        return self._seeds.potentials(self._points, centres, self._n_threads)

    def take(self, best: int) -> None:
        """Adds one of these centres."""
        self._seeds.add(self._points, self._tried[best], self._n_threads)
        self.potential = self._seeds.potential


class SingleSeeds:
    """The same on rows in single precision, whose sums must be NumPy's, bit for bit."""

    def __init__(self, points: Points, centre: Array, n_trials: int, n_threads: int | None) -> None:
        (n_rows, n_columns), dtype = points[0].shape, points[0].dtype
        self._points, self._n_threads = points, n_threads
        self._weight = np.ones(n_rows, dtype=dtype) if points[2] is None else points[2]
        self._distances = np.empty((n_trials, n_rows), dtype=dtype)
        self._potentials = np.empty(n_trials, dtype=dtype)
        self._closest = np.empty((1, n_rows), dtype=dtype)
        self._measure(np.zeros((1, n_columns)), None, self._closest)
        self.error = Error(n_rows, n_columns, float((self._closest @ self._weight)[0]))
        self._measure(centre, None, self._closest)
        self.potential = self._closest @ self._weight

    def _measure(self, centres: Array, closest: Array | None, out: Array) -> None:
        kmeans_distances(self._points, centres.astype(np.float64), closest, out, self._n_threads)

    def candidates(self, drawn: Array) -> Array:
        buffer, closest = self._distances[0], self._closest[0]
        mass = closest if self._points[2] is None else np.multiply(self._weight, closest, out=buffer)
        total = np.cumsum(mass, out=buffer) if _cumsum is np.cumsum else _cumsum(mass)
        # The sums are bit for bit scikit-learn's unless they are nearly 0.
        if not total[-1] > self.error.of_sums(float(total[-1])):
            raise TooClose
        return np.clip(np.searchsorted(total, drawn), None, len(total) - 1)

    def potentials(self, centres: Array) -> Array:
        self._measure(centres, self._closest[0], self._distances)
        self._potentials = (self._distances @ self._weight.reshape(-1, 1)).ravel()
        return self._potentials

    def take(self, best: int) -> None:
        self.potential = self._potentials[best]
        self._closest[0] = self._distances[best]
