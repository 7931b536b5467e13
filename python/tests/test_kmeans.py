"""Our k-means draws what scikit-learn draws and gives the labels that it gives on one thread."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from mixtura import GaussianMixture, _kmeans, _seeds


def theirs(X, n_clusters, seed, weight=None):
    """scikit-learn's labels on one thread, and the state that it leaves the generator in."""
    random_state = np.random.RandomState(seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = KMeans(n_clusters, n_init=1, random_state=random_state).fit(X, sample_weight=weight).labels_
    return labels, random_state.get_state()[1:3]


def ours(X, n_clusters, seed, weight=None, n_threads=None):
    random_state = np.random.RandomState(seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = _kmeans.labels_of(X, n_clusters, weight, random_state, n_threads)
    return labels, random_state.get_state()[1:3]


def assert_same(X, n_clusters, seed, weight=None):
    (expected, their_state), (labels, our_state) = theirs(X, n_clusters, seed, weight), ours(X, n_clusters, seed, weight)
    assert_array_equal(labels, expected)
    assert_array_equal(our_state[0], their_state[0])
    assert our_state[1] == their_state[1]


@pytest.fixture
def alone(monkeypatch):
    """Forbids to leave the whole to scikit-learn."""

    def forbidden(*_, **__):
        raise AssertionError("left to scikit-learn")

    monkeypatch.setattr(_kmeans, "KMeans", forbidden)
    monkeypatch.setattr(_kmeans, "kmeans_plusplus", forbidden)


def blobs(seed, n_rows, n_columns, n_centres=6):
    draw = np.random.default_rng(seed)
    return draw.normal(0, 3, (n_centres, n_columns))[draw.integers(n_centres, size=n_rows)] + draw.normal(
        0, 1, (n_rows, n_columns)
    )


#: Data by name: what is peculiar about them.
KINDS = {
    "blobs": lambda X, draw: X,
    "offset": lambda X, draw: X + 1e6,
    "scales": lambda X, draw: X * 10.0 ** draw.integers(-6, 7, X.shape[1]),
    "constant": lambda X, draw: np.column_stack([np.full(len(X), 7.7), X]),
    "integers": lambda X, draw: np.round(X),
    "tenths": lambda X, draw: np.round(X, 1),
    "duplicates": lambda X, draw: X[draw.integers(max(len(X) // 20, 2), size=len(X))],
    "outliers": lambda X, draw: X * np.where(draw.random((len(X), 1)) < 0.01, 1e4, 1),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_labels_and_draws_are_those_of_scikit_learn(kind, is_weighted, dtype):
    for seed in range(10):
        draw = np.random.default_rng([seed, len(kind)])
        n_rows, n_columns, n_clusters = (int(draw.integers(*span)) for span in [(30, 1500), (1, 31), (1, 21)])
        X = np.ascontiguousarray(KINDS[kind](blobs(seed, n_rows, n_columns), draw), dtype=dtype)
        weight = draw.integers(0, 4, n_rows).astype(np.float64) if is_weighted else None
        assert_same(X, n_clusters, seed, weight)


@pytest.mark.parametrize("n_clusters", range(1, 21))
def test_real_data(n_clusters):
    for X in (load_iris().data, load_wine().data):
        for seed in range(5):
            assert_same(np.ascontiguousarray(X), n_clusters, seed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_rows_need_no_help(alone, dtype):
    for seed in range(3):
        assert_same(blobs(seed, 30_000, 5).astype(dtype), 10, seed)


def test_a_pair_of_far_rows_of_which_either_will_do(monkeypatch):
    """Whichever of the two is chosen, the other is as far from it: rounding decides, and scikit-learn is asked."""
    asked = []
    monkeypatch.setattr(_kmeans, "KMeans", lambda *args, **options: asked.append(None) or KMeans(*args, **options))
    for seed in range(5):
        X = blobs(seed, 2000, 4)
        X[:10] *= 1e4
        assert_same(X, 14, seed)
    assert len(asked) > 0


def test_settling_ties_needs_no_help(alone):
    """In the first round centres are rows, so that rows of whole numbers are often exactly between two."""
    for seed in range(3):
        X = np.round(blobs(seed, 20_000, 3) * 4)
        assert_same(X, 8, seed)


def test_clusters_that_run_empty():
    """Most of the weight lies on few rows, so that clusters lose all rows that weigh something."""
    n_empty = 0
    for seed in range(40):
        X = np.round(blobs(seed, 60, 1), 1)
        weight = (np.random.default_rng(seed).random(60) < 0.15).astype(np.float64)
        weight[:2] = 1
        n_clusters = int(weight.sum())
        assert_same(X, n_clusters, seed, weight)
        n_empty += (np.bincount(ours(X, n_clusters, seed, weight)[0], weight, n_clusters) == 0).any()
    assert n_empty > 0


def test_fast_rounds_are_the_plain_ones(monkeypatch):
    n_refined = 0
    refine = _kmeans._Clustering._refine
    for seed in range(20):
        X = blobs(seed, 3000, 4)
        weight = np.random.default_rng(seed).uniform(0.5, 2, 3000) if seed % 2 else None
        results = []
        for way in (refine, lambda *_: False):
            monkeypatch.setattr(_kmeans._Clustering, "_refine", way)
            results.append(ours(X, 9, seed, weight)[0])
        assert_array_equal(*results)
        clustering = _kmeans._Clustering(X, weight, X.mean(axis=0), 1)
        first = clustering.at(clustering.chosen(9, np.random.RandomState(seed)))
        labels = np.full(len(X), 9, dtype=np.uint32)
        clustering._assign(first, labels)
        n_refined += refine(clustering, first, labels, clustering._tolerance())
    assert n_refined == 20


def test_more_clusters_than_different_rows():
    X = np.repeat(np.arange(6.0).reshape(3, 2), 20, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"Number of distinct clusters \(3\)"):
        _kmeans.labels_of(X, 5, None, np.random.RandomState(0), None)
    assert_same(X, 5, 0)
    assert_same(np.ones((50, 3)), 4, 0)


def test_tolerance_is_that_of_numpy():
    for n_columns in (1, 2, 7, 10, 33):
        for dtype in (np.float64, np.float32):
            X = blobs(1, 9000, n_columns).astype(dtype)
            tolerance = _kmeans._Clustering(X, None, X.mean(axis=0), 1)._tolerance()
            assert tolerance == np.mean(np.var(X, axis=0)) * 1e-4


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_change_nothing(dtype):
    X = blobs(0, 40_000, 7).astype(dtype)
    one, two = (ours(X, 12, 3, n_threads=n_threads)[0] for n_threads in (1, 2))
    assert_array_equal(one, two)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0, 1e6])
def test_rows_of_plus_plus(dtype, offset):
    for seed in range(20):
        X = (blobs(seed, 700, 1 + seed % 9) + offset).astype(dtype)
        weight = np.random.default_rng(seed).random(700) if seed % 2 else None
        mine, their = np.random.RandomState(seed), np.random.RandomState(seed)
        _, expected = kmeans_plusplus(X, 1 + seed, sample_weight=weight, random_state=their)
        chosen = _kmeans.chosen_rows(X, 1 + seed, weight, mine, None)
        assert_array_equal(X[chosen], X[expected])
        assert_array_equal(mine.get_state()[1], their.get_state()[1])


def test_bad_weights_are_refused_as_by_scikit_learn():
    X = blobs(0, 50, 2)
    for weight in (np.zeros(50), np.full(50, np.nan)):
        with pytest.raises(ValueError) as expected, np.errstate(all="ignore"):
            KMeans(2, n_init=1, random_state=0).fit(X, sample_weight=weight)
        with pytest.raises(ValueError) as found, np.errstate(all="ignore"):
            _kmeans.labels_of(X, 2, weight, np.random.RandomState(0), None)
        assert str(found.value) == str(expected.value)


def test_wide_data_are_left_to_scikit_learn():
    assert_same(blobs(0, 300, _kmeans.MOST_COLUMNS + 1), 3, 0)


@pytest.mark.parametrize("is_fast", [True, False])
def test_interrupt_stops_the_rounds(monkeypatch, interrupt_after, is_fast):
    """Noise without clusters, and no tolerance: without the signal the rounds would go on for minutes."""
    monkeypatch.setattr(_kmeans, "MAX_ITER", 10**9)
    monkeypatch.setattr(_kmeans._Clustering, "_tolerance", lambda self: -1.0)
    if not is_fast:
        monkeypatch.setattr(_kmeans._Clustering, "_refine", lambda *_: False)
    X = np.random.default_rng(0).random((400_000, 10))
    with interrupt_after(2.0), pytest.raises(KeyboardInterrupt):
        GaussianMixture(60, random_state=0).fit(X)


MEMORY = """
import numpy, sys
from pathlib import Path
import mixtura
def held(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024 / 1e6
X = numpy.random.default_rng(0).normal(size=(1_000_000, 10))
X[:, 0] += 20 * numpy.arange(len(X)) % 200
options = {"random_state": 0, "max_iter": 1, "init_params": sys.argv[1]}
mixtura.GaussianMixture(2, **options).fit(X[:1000].copy())
before = held("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
mixtura.GaussianMixture(10, **options).fit(X)
print(held("VmHWM") - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs Linux")
@pytest.mark.parametrize("init_params", ["kmeans", "k-means++"])
def test_a_start_holds_no_copy_of_the_data(init_params):
    """A million rows of ten numbers are 80 MB; a start needs 8 bytes a row and candidate, and a few more."""
    words = [sys.executable, "-W", "ignore", "-c", MEMORY, init_params]
    assert float(subprocess.run(words, capture_output=True, text=True, check=True).stdout) < 64


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 1000, 100_003])
def test_the_first_row_is_the_choice_of_numpy(n_rows, dtype):
    weight = np.ones(n_rows, dtype=dtype)
    for seed in range(20):
        ours, theirs = np.random.RandomState(seed), np.random.RandomState(seed)
        expected = theirs.choice(n_rows, p=weight / weight.sum())
        assert _seeds.first_row(n_rows, None, dtype, ours) == expected
        assert ours.random_sample() == theirs.random_sample()


@pytest.mark.parametrize("n_columns", [2, 3, 8, 10, 33])
def test_means_of_columns_are_those_of_numpy(n_columns):
    X = np.random.default_rng(n_columns).normal(3, 2, size=(10_007, n_columns))
    assert (_kmeans._mean(X) == X.mean(axis=0)).all()
