"""From the same start come the numbers of scikit-learn."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import mixture
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from mixtura import GaussianMixture

SHAPES = ["full", "tied", "diag", "spherical"]
STARTS = ["kmeans", "k-means++", "random", "random_from_data"]


def both(X, **options):
    """The same fit by scikit-learn and by mixtura."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.GaussianMixture(**options).fit(X), GaussianMixture(**options).fit(X)


def assert_same(theirs, ours, X, tolerance=1e-8):
    assert (theirs.n_iter_, theirs.converged_) == (ours.n_iter_, ours.converged_)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        expected = getattr(theirs, name)
        assert_allclose(getattr(ours, name), expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    assert_allclose(ours.lower_bound_, theirs.lower_bound_, rtol=1e-10)
    # A start from single rows has variances of reg_covar alone, which scikit-learn's differences of squares blur.
    assert_allclose(ours.lower_bounds_[:1], theirs.lower_bounds_[:1], rtol=1e-6)
    assert_allclose(ours.lower_bounds_[1:], theirs.lower_bounds_[1:], rtol=1e-10)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=tolerance, atol=tolerance)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=tolerance)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert_allclose(ours.bic(X), theirs.bic(X), rtol=1e-9)
    assert_allclose(ours.aic(X), theirs.aic(X), rtol=1e-9)
    assert_allclose(ours.score(X), theirs.score(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("covariance_type", SHAPES)
@pytest.mark.parametrize("init_params", STARTS)
def test_every_start_and_structure(rows, covariance_type, init_params):
    theirs, ours = both(rows, n_components=3, covariance_type=covariance_type, init_params=init_params, random_state=7)
    assert_same(theirs, ours, rows)


@pytest.mark.parametrize("covariance_type", SHAPES)
def test_real_data(covariance_type):
    X = load_iris().data
    for seed in range(5):
        options = dict(n_components=3, covariance_type=covariance_type, random_state=seed, max_iter=300)
        theirs, ours = both(X, **options)
        assert_same(theirs, ours, X)


def test_many_components_and_few_rows():
    X, _ = make_blobs(60, 5, centers=4, random_state=1)
    theirs, ours = both(X, n_components=12, random_state=1, max_iter=50)
    assert_same(theirs, ours, X)


def test_given_start(rows, start):
    for missing in [[], ["weights_init"], ["means_init"], ["precisions_init"], ["weights_init", "means_init"]]:
        options = {name: value for name, value in start.items() if name not in missing}
        theirs, ours = both(rows, n_components=3, random_state=2, tol=1e-5, **options)
        assert_same(theirs, ours, rows)


@pytest.mark.parametrize("max_iter", [0, 1, 2, 5])
def test_few_rounds(rows, max_iter):
    theirs, ours = both(rows, n_components=3, max_iter=max_iter, random_state=0, init_params="random_from_data")
    assert theirs.n_iter_ == ours.n_iter_ and theirs.converged_ == ours.converged_
    assert theirs.lower_bound_ == pytest.approx(ours.lower_bound_, rel=1e-12)
    assert_allclose(ours.means_, theirs.means_, rtol=1e-9, atol=1e-9)
    # Before the first round scikit-learn's weights of this start sum to n_components / n_samples.
    assert_allclose(ours.weights_, theirs.weights_ / theirs.weights_.sum(), rtol=1e-9)


def test_warm_start_goes_on_where_it_was(rows):
    models = [
        kind(3, warm_start=True, max_iter=3, random_state=4, tol=1e-9) for kind in (mixture.GaussianMixture, GaussianMixture)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(4):
            for model in models:
                model.fit(rows)
            assert_same(*models, rows)


def test_random_state_is_used_as_there(rows):
    """A generator is left where scikit-learn leaves it."""
    states = [np.random.RandomState(3), np.random.RandomState(3)]
    theirs = mixture.GaussianMixture(3, n_init=3, random_state=states[0]).fit(rows)
    ours = GaussianMixture(3, n_init=3, random_state=states[1]).fit(rows)
    assert_same(theirs, ours, rows)
    assert states[0].uniform() == states[1].uniform()
    np.testing.assert_array_equal(*(model.set_params(random_state=9).sample(100)[1] for model in (theirs, ours)))


def test_single_precision_stays_single(rows):
    theirs, ours = both(rows.astype(np.float32), n_components=3, random_state=1)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        assert getattr(ours, name).dtype == getattr(theirs, name).dtype == np.float32
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=2e-2, atol=2e-3)


def test_collapse_raises_what_scikit_learn_raises():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    for kind in (mixture.GaussianMixture, GaussianMixture):
        with pytest.raises(ValueError, match="ill-defined empirical covariance"):
            kind(2, reg_covar=0, random_state=0).fit(X)


def test_collapse_on_the_way_raises_too(start):
    # One row far away: its component shrinks to it.
    X = np.vstack([np.random.default_rng(0).normal(size=(200, 3)), [[50.0, 50.0, 50.0]]])
    options = dict(start, means_init=np.vstack([X[0], X[1], X[-1]]), reg_covar=0, max_iter=50)
    for kind in (mixture.GaussianMixture, GaussianMixture):
        with pytest.raises(ValueError, match="ill-defined empirical covariance"):
            kind(3, **options).fit(X)


def test_with_a_ridge_an_empty_component_is_repaired_and_recorded(rows, start):
    far = dict(start, means_init=np.vstack([rows[5], rows[500], [1e5, 1e5, 1e5]]))
    model = GaussianMixture(3, max_iter=100, **far).fit(rows)
    assert "reseeded" in {event["kind"] for event in model.events_}
    assert model.weights_.min() > 1e-3


def test_verbose_prints_the_same_lines(rows, capsys):
    printed = []
    for kind in (mixture.GaussianMixture, GaussianMixture):
        kind(3, verbose=1, verbose_interval=2, n_init=2, random_state=0).fit(rows)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] and "Iteration 2" in printed[0]


def test_messages_are_the_same(rows):
    wrong = [
        dict(n_components=0),
        dict(covariance_type="banana"),
        dict(tol=-1),
        dict(n_components=3, weights_init=[0.5, 0.5, 0.5]),
        dict(n_components=3, means_init=[[0.0]]),
        dict(n_components=3, precisions_init=np.tile(-np.eye(3), (3, 1, 1))),
        dict(n_components=5000),
    ]
    for options in wrong:
        messages = []
        for kind in (mixture.GaussianMixture, GaussianMixture):
            with pytest.raises(ValueError) as caught:
                kind(**options).fit(rows)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
    for kind in (mixture.GaussianMixture, GaussianMixture):
        with pytest.warns(ConvergenceWarning, match="Best performing initialization did not converge"):
            kind(3, max_iter=1).fit(rows)
