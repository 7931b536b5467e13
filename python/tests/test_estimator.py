"""Works as an estimator: scikit-learn's checks, pipelines, searches, copies, processes and threads."""

import copy
import multiprocessing
import pickle
import threading

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mixtura import GaussianMixture, Mixture, generate


@parametrize_with_checks(
    [
        GaussianMixture(),
        GaussianMixture(algorithm="sem"),
        GaussianMixture(algorithm="auto"),
        GaussianMixture(algorithm="sem", init_params="fast-kmeans"),
        Mixture(),
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)


def fitted_bytes(model):
    return [getattr(model, name).tobytes() for name in ("weights_", "means_", "covariances_")]


def test_pipeline_and_metrics():
    X, labels, _ = generate(3000, n_columns=3, n_components=3, separation=2.5, random_state=3)
    pipeline = make_pipeline(StandardScaler(), GaussianMixture(3, random_state=0))
    found = pipeline.fit_predict(X)
    assert adjusted_rand_score(labels, found) > 0.8
    assert silhouette_score(X, found) > 0.1
    assert_array_equal(found, pipeline.predict(X))


def test_grid_search(rows):
    search = GridSearchCV(GaussianMixture(random_state=0), {"n_components": [1, 2, 3], "algorithm": ["em", "sem"]}, cv=3)
    search.fit(rows)
    assert search.best_params_["n_components"] == 3


def test_set_output(rows):
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, GaussianMixture(3, random_state=0)).fit(rows)[-1]
    assert list(model.feature_names_in_) == ["x0", "x1", "x2"]


def test_copies_are_the_same_model(rows, tmp_path):
    model = GaussianMixture(3, random_state=0, algorithm="sem").fit(rows)
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load(tmp_path / "model.joblib")):
        assert fitted_bytes(other) == fitted_bytes(model)
        assert_array_equal(other.predict_proba(rows), model.predict_proba(rows))
    fresh = clone(model)
    with pytest.raises(NotFittedError):
        fresh.predict(rows)
    assert fresh.get_params() == model.get_params()
    assert fitted_bytes(fresh.fit(rows)) == fitted_bytes(model)


def test_any_number_of_threads_gives_the_same_bits(rows):
    for algorithm in ("em", "sem", "auto"):
        models = [
            GaussianMixture(3, random_state=0, algorithm=algorithm, init_params="fast-kmeans", n_threads=n).fit(rows)
            for n in (1, 2, 5)
        ]
        assert fitted_bytes(models[0]) == fitted_bytes(models[1]) == fitted_bytes(models[2])


def _fit(rows, seed):
    return fitted_bytes(GaussianMixture(3, random_state=seed, init_params="fast-kmeans").fit(rows))


def test_joblib_processes_and_threads(rows):
    # By itself: the workers of another process cannot import this file.
    def fit(rows, seed):
        from mixtura import GaussianMixture

        return GaussianMixture(3, random_state=seed, init_params="fast-kmeans").fit(rows).means_.tobytes()

    expected = [fit(rows, seed) for seed in range(4)]
    for backend in ("loky", "threading"):
        assert joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(fit)(rows, s) for s in range(4)) == expected


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_process(rows):
    """The pool of threads is not inherited; a forked process makes its own."""
    expected = _fit(rows, 0)
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.starmap(_fit, [(rows, 0)] * 4) == [expected] * 4
    assert _fit(rows, 0) == expected


def test_threads_at_once(rows):
    expected, found = _fit(rows, 1), []
    threads = [threading.Thread(target=lambda: found.append(_fit(rows, 1))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_attributes_set_by_hand_count(rows):
    model = GaussianMixture(3, random_state=0).fit(rows)
    labels = model.predict(rows)
    order = [2, 0, 1]
    model.weights_, model.means_ = model.weights_[order], model.means_[order]
    model.precisions_cholesky_ = model.precisions_cholesky_[order]
    assert_array_equal(np.asarray(order)[model.predict(rows)], labels)
    # A model that was never fitted at all, as is done with scikit-learn's class.
    made = GaussianMixture(2, covariance_type="full")
    made.weights_, made.means_ = np.array([0.5, 0.5]), np.array([[-2.0], [2.0]])
    made.precisions_cholesky_ = np.ones((2, 1, 1))
    assert_array_equal(made.predict([[-1.0], [3.0]]), [0, 1])


def test_hooks_of_the_ecosystem(rows):
    """`_initialize` may be overridden, parameters read and set, their number asked."""

    class Mine(GaussianMixture):
        def _initialize(self, X, resp, xp=None):
            self.seen = resp.shape
            super()._initialize(X, resp)

    model = Mine(3, random_state=0).fit(rows)
    assert model.seen == (len(rows), 3)
    assert model._n_parameters() == 2 + 9 + 18
    other = GaussianMixture(3).fit(rows)
    other._set_parameters(model._get_parameters())
    assert_array_equal(other.predict(rows), model.predict(rows))
