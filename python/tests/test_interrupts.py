"""Ctrl-C ends every long call soon, wherever in its work the signal arrives."""

import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import mixtura
from mixtura import GaussianMixture, Mixture, _mixtura

N_COLUMNS, N_COMPONENTS = 40, 20
#: CPU seconds that a tenth of the interrupted work takes at least.
TENTH = 0.15


@pytest.fixture(scope="module")
def given():
    """Models of both kinds, fitted to the rows that all data here repeat."""
    X, _, model = mixtura.generate(2000, N_COLUMNS, N_COMPONENTS, random_state=1)
    parameters = dict(model.parameters)
    estimator = GaussianMixture(
        N_COMPONENTS,
        weights_init=model.weights,
        means_init=parameters["means"],
        precisions_init=np.linalg.inv(parameters["covariances"]),
        max_iter=1,
        tol=0,
        n_threads=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
    return SimpleNamespace(X=X, model=model, estimator=estimator)


def repeated(rows, size):
    """Some thousand rows for each unit of size."""
    return np.tile(rows, (size, 1))


def starts_with(init_params):
    """A start on a sample: its cost grows with the number of components."""

    def prepare(given, size):
        X = repeated(given.X, 10)
        return lambda: GaussianMixture(20 * size, init_params=init_params, max_iter=0, random_state=0, n_threads=1).fit(X)

    return prepare


def starts_on_all_rows(init_params, n_components):
    def prepare(given, size):
        X = np.random.default_rng(0).uniform(size=(5000 * size, 10))
        model = GaussianMixture(n_components, init_params=init_params, max_iter=0, random_state=0, n_threads=1)
        return lambda: model.fit(X)

    return prepare


def asks(method):
    """A question to a fitted estimator about many rows."""

    def prepare(given, size):
        X = repeated(given.X, size)
        return lambda: getattr(given.estimator, method)(X)

    return prepare


def fits_once(**options):
    """One round of an estimator from a given start."""

    def prepare(given, size):
        X = repeated(given.X, size)
        return lambda: GaussianMixture(**{**given.estimator.get_params(), **options}).fit(X)

    return prepare


def fits_mixture(**options):
    def prepare(given, size):
        X = repeated(given.X, size)
        return lambda: Mixture(
            N_COMPONENTS, init_params=given.model, max_iter=1, tol=0, n_threads=1, **options
        ).fit(X)

    return prepare


def starts_from_labels(given, size):
    # Wide rows: there are no densities to compute, so that narrow ones would have to be many.
    X = np.random.default_rng(0).normal(size=(500 * size, 300))
    labels = np.arange(len(X), dtype=np.uint32) % 2
    return lambda: _mixtura.of_labels(X, None, labels, 2, "gaussian", "full", 1e-6, None, 1)


def learns_a_batch(given, size):
    X = repeated(given.X, size)
    model = GaussianMixture(N_COMPONENTS, max_iter=0, random_state=0, n_threads=1).partial_fit(given.X)

    def work():
        before = model.means_.copy()
        try:
            model.partial_fit(X)
        except KeyboardInterrupt:
            # As if the batch had not been given; the next one is learned from.
            assert model.n_batches_ == model._online.n_batches and (model.means_ == before).all()
            model.partial_fit(given.X)
            raise

    return work


def learns_a_first_batch(given, size):
    X = repeated(given.X, size)
    options = {**given.estimator.get_params(), "max_iter": 0}
    return lambda: GaussianMixture(**options).partial_fit(X)


WORK = {
    "short-em": starts_with("short-em"),
    "fast-kmeans": starts_with("fast-kmeans"),
    "kmeans": starts_on_all_rows("kmeans", 40),
    "k-means++": starts_on_all_rows("k-means++", 40),
    "labels": starts_from_labels,
    "a round of EM": fits_once(),
    "a round of SEM": fits_once(algorithm="sem"),
    "an accelerated round": fits_once(accelerate=True),
    "a round of Mixture": fits_mixture(),
    "a round of Mixture, normalized": fits_mixture(normalize=True, algorithm="em"),
    "first partial_fit": learns_a_first_batch,
    "partial_fit": learns_a_batch,
    "score": asks("score"),
    "bic": asks("bic"),
    "aic": asks("aic"),
    "icl": asks("icl"),
    "predict": asks("predict"),
    "predict_proba": asks("predict_proba"),
    "score_samples": asks("score_samples"),
    "bounds": lambda given, size: lambda X=repeated(given.X, size): mixtura.bounds(given.model, X, n_threads=1),
    "compare": lambda given, size: lambda X=repeated(given.X, size): mixtura.compare(
        X, N_COMPONENTS, starts=1, runs=1, rounds=2, n_threads=1
    ),
    "sample": lambda given, size: lambda: given.model.sample(20_000 * size, 0, 1),
    "generate": lambda given, size: lambda: mixtura.generate(1, 150, 4 * size),
}


def cpu_seconds(work):
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WORK)
def test_ctrl_c_ends_a_long_call(given, interrupt_after, name):
    """The signal comes after a seventh of the work, which takes at least ten times as long as a tenth of it.

    Times are CPU times on one thread, which other programs hardly change; wall time is no shorter. The call must end
    in half of the time that the rest of the work would take.
    """
    prepare, size = WORK[name], 1
    # The first call may load modules.
    prepare(given, size)()
    while (tenth := min(cpu_seconds(prepare(given, size)) for _ in range(2))) < TENTH:
        size *= 2
    work = prepare(given, 10 * size)
    with interrupt_after(1.5 * tenth) as interrupt:
        with pytest.raises(KeyboardInterrupt):
            work()
        late = time.process_time() - interrupt.sent
    assert late < 0.5 * 8.5 * tenth


def test_ctrl_c_ends_a_fit_that_would_not_end(interrupt_after):
    X, _, _ = mixtura.generate(200_000, random_state=1)
    model = GaussianMixture(10, tol=0, max_iter=10**6, init_params="fast-kmeans", random_state=0)
    with interrupt_after(1.0), pytest.raises(KeyboardInterrupt):
        model.fit(X)
