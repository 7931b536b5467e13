"""Clusters rows with k-means as scikit-learn does on one thread: same draws, same labels, no copy of the data.

Draws, stopping rules and everything of the size of the centres use NumPy and scikit-learn's arithmetic; loops over the
rows are compiled. Where rounding would decide, scikit-learn is called: for the labels of single rows, or, if a draw
depends on it, for the whole clustering.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.cluster import _kmeans as theirs
from sklearn.cluster._k_means_common import _euclidean_dense_dense_wrapper
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms

from ._mixtura import KmeansRounds, kmeans_assign, kmeans_mean, kmeans_squares, kmeans_sums
from ._seeds import Seeds, SingleSeeds, TooClose, first_row

Array = NDArray[Any]

#: scikit-learn's defaults.
MAX_ITER, TOL = 300, 1e-4
#: Number of rows that scikit-learn labels with one matrix product.
CHUNK = 256
#: Wider data are left to scikit-learn, whose matrix product is as fast there.
MOST_COLUMNS = 128


def labels_of(X: Array, n_clusters: int, sample_weight: Array | None, random_state: Any, n_threads: int | None) -> Array:
    """`KMeans(n_clusters, n_init=1, random_state=random_state).fit(X, sample_weight=sample_weight).labels_`."""
    state = random_state.get_state()
    if _is_ours(X, sample_weight):
        try:
            return _Clustering(X, sample_weight, _mean(X), n_threads).labels(n_clusters, random_state)
        except TooClose:
            random_state.set_state(state)
    clusters = KMeans(n_clusters=n_clusters, n_init=1, random_state=random_state)
    return clusters.fit(X, sample_weight=sample_weight).labels_


def chosen_rows(
    X: Array, n_clusters: int, sample_weight: Array | None, random_state: Any, n_threads: int | None
) -> Array:
    """The rows of `kmeans_plusplus(X, n_clusters, sample_weight=sample_weight, random_state=random_state)`."""
    state = random_state.get_state()
    if _is_ours(X, sample_weight):
        try:
            origin = np.zeros(X.shape[1], dtype=X.dtype)
            return _Clustering(X, sample_weight, origin, n_threads).chosen(n_clusters, random_state)
        except TooClose:
            random_state.set_state(state)
    return kmeans_plusplus(X, n_clusters, sample_weight=sample_weight, random_state=random_state)[1]


def _is_ours(X: Array, sample_weight: Array | None) -> bool:
    """Whether the compiled code applies: scikit-learn would neither raise an error nor be as fast."""
    has_weight = sample_weight is None or bool(sample_weight.sum() > 0)
    return has_weight and X.shape[1] <= MOST_COLUMNS


def _mean(X: Array) -> Array:
    """Returns the means of the columns, bit for bit as NumPy computes them; of one column it adds pairs."""
    return kmeans_mean(X) if X.dtype == np.float64 and X.shape[1] > 1 else X.mean(axis=0)


class _Clustering:
    """Rows relative to an offset, and the steps of k-means on them."""

    def __init__(self, X: Array, sample_weight: Array | None, offset: Array, n_threads: int | None) -> None:
        self.X, self.offset, self.n_threads = X, offset, n_threads
        self.weight = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=X.dtype)
        self.points = (X, offset, self.weight)

    def labels(self, n_clusters: int, random_state: Any) -> Array:
        first = self.at(self.chosen(n_clusters, random_state))
        tolerance = self._tolerance()
        labels = np.full(len(self.X), n_clusters, dtype=np.uint32)
        self._assign(first, labels)
        if not self._refine(first, labels, tolerance):
            self._lloyd(first, labels, tolerance)
        found = np.count_nonzero(np.bincount(labels, minlength=n_clusters))
        if found < n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters ({n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return labels

    def at(self, rows: Array) -> Array:
        """Returns some of the points."""
        points: Array = self.X[rows] - self.offset
        return points

    # ---- k-means++

    def chosen(self, n_clusters: int, random_state: Any) -> Array:
        """Draws rows with k-means++, each the best of several candidates; raises `TooClose` where rounding decides."""
        chosen = np.full(n_clusters, -1, dtype=int)
        chosen[0] = first_row(len(self.X), self.weight, self.X.dtype, random_state)
        if n_clusters == 1:
            return chosen
        n_trials = 2 + int(np.log(n_clusters))
        kind = Seeds if self.X.dtype == np.float64 else SingleSeeds
        seeds = kind(self.points, self.at(chosen[:1]), n_trials, self.n_threads)
        for k in range(1, n_clusters):
            drawn = random_state.uniform(size=n_trials) * seeds.potential
            candidates = seeds.candidates(drawn)
            potentials = seeds.potentials(self.at(candidates))
            best = int(np.argmin(potentials))
            # Candidates that are equally good must be equal rows, so that the choice does not matter.
            rivals = candidates[~(potentials - potentials[best] > seeds.error.of_sums(float(potentials[best])))]
            if not (self.X[rivals] == self.X[candidates[best]]).all():
                raise TooClose
            chosen[k] = candidates[best]
            if k + 1 < n_clusters:
                seeds.take(best)
        return chosen

    # ---- Lloyd's rounds

    def _tolerance(self) -> float:
        """Returns the mean variance of the columns times `TOL`, bit for bit as with `numpy.var`, but without a copy."""
        n_rows, n_columns = self.X.shape
        if n_columns == 1:
            return float(np.mean(np.var(self.X, axis=0)) * TOL)
        if self.X.dtype == np.float64:
            return np.mean(kmeans_squares(self.points) / n_rows) * TOL
        total = np.zeros(n_columns, dtype=self.X.dtype)
        for begin in range(0, n_rows, 4096):
            squares = self.X[begin : begin + 4096] - self.offset
            squares *= squares
            if begin > 0:
                squares[0] += total
            total = squares.sum(axis=0)
        return np.mean(total / np.asarray(n_rows, dtype=self.X.dtype)) * TOL

    def _assign(self, centres: Array, labels: Array) -> int:
        """Labels rows with their nearest centres, and returns how many labels changed."""
        norms = row_norms(centres, squared=True)
        double = (centres.astype(np.float64), norms.astype(np.float64))
        n_changed, found = kmeans_assign(self.points, *double, labels, self.n_threads)
        tied = found.astype(np.intp)
        if len(tied) > 0:
            settled = self._settle(tied, centres)
            n_changed += int(np.count_nonzero(labels[tied] != settled))
            labels[tied] = settled
        return n_changed

    def _settle(self, tied: Array, centres: Array) -> Array:
        """Returns scikit-learn's labels of some rows, computed in the same chunks as there."""
        chunks, places = np.unique(tied // CHUNK, return_inverse=True)
        out = np.empty(len(tied), dtype=np.uint32)
        for begin in range(0, len(chunks), CHUNK):
            here = (begin <= places) & (places < begin + CHUNK)
            rows = (chunks[begin : begin + CHUNK, np.newaxis] * CHUNK + np.arange(CHUNK)).ravel()
            rows = rows[rows < len(self.X)]
            weight = np.ones(len(rows), dtype=self.X.dtype)
            labels = theirs._labels_inertia_threadpool_limit(
                self.at(rows), weight, centres, n_threads=1, return_inertia=False
            )
            out[here] = labels[(places[here] - begin) * CHUNK + tied[here] % CHUNK]
        return out

    def _refine(self, first: Array, labels: Array, tolerance: float) -> bool:
        """Runs the rounds after the first, skipping rows whose label is certain; False if `_lloyd` has to run them."""
        if self.X.dtype != np.float64:
            return False
        rounds = KmeansRounds(self.points, first, labels, self.n_threads)
        while True:
            pause, tied = rounds.go(self.points, labels, (MAX_ITER, float(tolerance)), self.n_threads)
            if pause != "tied":
                break
            # The labels of tied rows depend on the last bits of the centres, so these are computed as in scikit-learn.
            settled = self._settle(tied.astype(np.intp), self._centres(first, labels))
            if rounds.settle(self.points, labels, tied, settled):
                return True
        if pause == "uncertain":
            labels.fill(len(first))
            self._assign(first, labels)
        return pause == "done"

    def _lloyd(self, centres: Array, labels: Array, tolerance: float) -> None:
        """Runs the rounds after the first, bit for bit as scikit-learn does."""
        for _ in range(1, MAX_ITER):
            moved = self._centres(centres, labels)
            ways = [_euclidean_dense_dense_wrapper(*pair, False) for pair in zip(moved, centres, strict=True)]
            centres = moved
            if (np.array(ways, dtype=moved.dtype) ** 2).sum() <= tolerance:
                break
            if self._assign(centres, labels) == 0:
                return
        else:
            centres = self._centres(centres, labels)
        self._assign(centres, labels)

    def _centres(self, previous: Array, labels: Array) -> Array:
        """Returns the means of the clusters."""
        sums = np.empty_like(previous)
        weights = np.empty(len(previous), dtype=previous.dtype)
        kmeans_sums(self.points, labels, sums, weights, self.n_threads)
        empty = np.flatnonzero(weights == 0)
        if len(empty) > 0:
            self._relocate(empty, previous, labels, (sums, weights))
        heaviest = int(np.argmax(weights))
        for k, weight in enumerate(weights):
            # Computed in double precision, then rounded, as in scikit-learn's C code.
            if weight > 0:
                sums[k] *= previous.dtype.type(1.0 / float(weight))
            else:
                sums[k] = sums[heaviest]
        return sums

    def _relocate(self, empty: Array, previous: Array, labels: Array, clusters: tuple[Array, Array]) -> None:
        """Moves each empty cluster to one of the points farthest from their centres."""
        sums, weights = clusters
        n_rows, step = len(self.X), 4096
        parts = [slice(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step)]
        distances = np.concatenate(
            [((self.X[part] - self.offset - previous[labels[part]]) ** 2).sum(axis=1) for part in parts]
        )
        if distances.max() == 0:
            return
        far = np.argpartition(distances, -len(empty))[: -len(empty) - 1 : -1]
        for k, row in zip(empty, far, strict=True):
            weight = self.X.dtype.type(1) if self.weight is None else self.weight[row]
            point = (self.X[row] - self.offset) * weight
            sums[labels[row]] -= point
            sums[k] = point
            weights[k] = weight
            weights[labels[row]] -= weight
