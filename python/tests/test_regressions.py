"""What went wrong once."""

import pathlib
import sys
import threading
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import mixture
from sklearn.exceptions import NotFittedError

import mixtura
from mixtura import GaussianMixture, Mixture, Model


def test_a_callback_may_use_a_model(rows):
    """Even with a single thread, which the fit holds while it waits for the callback."""
    judge = GaussianMixture(3, random_state=0, n_threads=1).fit(rows)
    heard = []

    def callback(round, likelihood):
        heard.append(judge.score(rows[:100]))

    GaussianMixture(3, random_state=0, n_threads=1, callback=callback).fit(rows)
    Mixture(3, n_init=4, race=False, callback=callback, max_iter=3, tol=0).fit(rows)
    Mixture(3, callback=callback, max_iter=3, tol=0).fit(rows)
    fits = [
        threading.Thread(target=lambda: GaussianMixture(3, random_state=0, callback=callback).fit(rows)) for _ in range(4)
    ]
    for thread in fits:
        thread.start()
    for thread in fits:
        thread.join(60)
        assert not thread.is_alive()
    assert len(heard) > 20


def test_a_model_takes_any_matrix(artificial):
    X, _, model = artificial
    expected = model.predict(X)
    for other in (np.asfortranarray(X), X.tolist(), X[::-1][::-1], np.asfortranarray(X.astype(np.float32)).astype(float)):
        assert (model.predict(other) == expected).mean() > 0.999
    assert model.score(np.asfortranarray(X)) == model.score(X)
    with pytest.raises(ValueError, match="matrix"):
        model.predict(X[0])


def test_a_singular_component_is_an_error_even_with_a_ridge_that_rounding_swallows():
    B = np.random.default_rng(0).normal(size=(300, 3))
    X = np.c_[B, B.sum(1)] * 1e5
    for kind in (mixture.GaussianMixture, GaussianMixture):
        with pytest.raises(ValueError, match="ill-defined empirical covariance"):
            kind(3, init_params="k-means++", random_state=0).fit(X)


def test_batches_after_a_fit_do_not_erase_it(rows):
    model = GaussianMixture(3, random_state=0).fit(rows)
    before = model.score(rows)
    model.partial_fit(rows[:5])
    assert before - 0.05 < model.score(rows) != before
    assert model.reason_ == "batch" and model.lower_bounds_ == []


def test_tight_clusters_far_apart_start_as_in_scikit_learn():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 2)) * 1e-2 + np.array([[0, 0], [1e4, 0], [0, 1e4]])[draw.integers(0, 3, 300)]
    theirs, ours = (
        kind(3, reg_covar=0, random_state=0).fit(X) for kind in (mixture.GaussianMixture, GaussianMixture)
    )
    assert theirs.n_iter_ == ours.n_iter_
    assert_allclose(ours.lower_bounds_, theirs.lower_bounds_, rtol=1e-8)
    assert_allclose(ours.covariances_, theirs.covariances_, rtol=1e-6, atol=1e-10)


def test_an_answer_has_no_component_that_was_just_moved():
    # Five values, ten components: half of them can have no rows.
    x = np.random.default_rng(0).integers(0, 5, (60, 1)).astype(float)
    for n_components in (10, 20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = mixture.GaussianMixture(n_components, random_state=0).fit(x)
            ours = GaussianMixture(n_components, random_state=0).fit(x)
        assert ours.score(x) > theirs.score(x) - 1e-6
        assert ours.score(x) >= ours.lower_bound_ - 1e-6
    X = np.random.default_rng(1).normal(size=(200, 2))
    far = dict(means_init=[[0, 0], [2, 2], [1e4, 1e4]], weights_init=[0.4, 0.4, 0.2], precisions_init=np.tile(np.eye(2), (3, 1, 1)))
    with pytest.warns(Warning):
        once = GaussianMixture(3, max_iter=1, **far).fit(X)
        assert_allclose(once.score(X), mixture.GaussianMixture(3, max_iter=1, **far).fit(X).score(X), rtol=1e-9)
    assert once.means_[2, 0] == 1e4 and once.weights_[2] < 1e-9


def test_starts_of_our_own_differ_without_a_seed(rows):
    def first(state):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return GaussianMixture(3, init_params="paper", max_iter=1, random_state=state).fit(rows).means_[0, 0]

    generator = np.random.RandomState(0)
    assert len({first(None) for _ in range(3)}) > 1
    assert len({first(generator) for _ in range(3)}) > 1
    assert first(5) == first(5)


def test_warm_start_takes_attributes_set_by_hand(rows):
    models = [kind(3, random_state=0, warm_start=True).fit(rows) for kind in (mixture.GaussianMixture, GaussianMixture)]
    for model in models:
        model.precisions_cholesky_ = model.precisions_cholesky_ * 3
        model.fit(rows)
    assert_allclose(models[1].lower_bounds_, models[0].lower_bounds_, rtol=1e-9)


def test_weights_set_by_hand_need_not_sum_to_one(rows):
    models = [kind(3, random_state=0).fit(rows) for kind in (mixture.GaussianMixture, GaussianMixture)]
    for model in models:
        model.weights_ = np.array([0.2, 0.3, 0.2])
    for name in ("score", "bic", "aic"):
        assert_allclose(getattr(models[1], name)(rows), getattr(models[0], name)(rows), rtol=1e-9)


def test_too_few_distinct_rows_are_named_as_such(rows):
    for init_params in ("fast-kmeans", "short-em", "paper"):
        with pytest.raises(ValueError, match="distinct rows"):
            GaussianMixture(5, init_params=init_params).fit(np.repeat(rows[:3], 20, axis=0))


def test_batches_refuse_changed_shapes_and_honour_changed_attributes(rows):
    for change in ({"covariance_type": "diag"}, {"n_components": 5}):
        model = GaussianMixture(3, random_state=0).partial_fit(rows)
        with pytest.raises(ValueError, match="between batches"):
            model.set_params(**change).partial_fit(rows)
    with pytest.raises(ValueError, match="partial_fit"):
        GaussianMixture(3, algorithm="saem").partial_fit(rows)
    model = GaussianMixture(3, random_state=0).partial_fit(rows)
    model.means_ = model.means_ + 100
    far = model.means_.copy()
    model.partial_fit(rows[:10])
    assert np.abs(model.means_ - far).max() < 100 and model.means_.max() > 20


def test_a_failed_first_batch_leaves_nothing_behind(rows):
    def fail(round, likelihood):
        raise RuntimeError

    model = GaussianMixture(3, random_state=0, callback=fail)
    with pytest.raises(RuntimeError):
        model.partial_fit(rows[::6])
    model.set_params(callback=None).partial_fit(rows[::6])
    assert model.means_.tobytes() == GaussianMixture(3, random_state=0).partial_fit(rows[::6]).means_.tobytes()


def test_without_rounds_the_last_start_is_kept(rows):
    theirs, ours = (
        kind(3, max_iter=0, n_init=3, random_state=0).fit(rows) for kind in (mixture.GaussianMixture, GaussianMixture)
    )
    assert_allclose(ours.means_, theirs.means_, rtol=1e-9)


def test_a_file_remembers_the_fit(rows, tmp_path):
    path = pathlib.Path(tmp_path) / "model.json"
    frame = pandas.DataFrame(rows, columns=list("abc"))
    for model in (GaussianMixture(3, random_state=0).fit(frame), GaussianMixture(3, random_state=0).partial_fit(frame)):
        model.save(path)
        back = GaussianMixture.load(path)
        assert list(back.feature_names_in_) == list("abc")
        if model.reason_ == "converged":
            assert (back.converged_, back.n_iter_, back.lower_bound_, back.reason_) == (
                True,
                model.n_iter_,
                model.lower_bound_,
                "converged",
            )


def test_columns_of_text_are_refused_as_such():
    for table in (polars.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}), pyarrow.table({"a": ["x", "y"], "b": [1.0, 2.0]})):
        with pytest.raises(ValueError, match="could not convert"):
            GaussianMixture(2).fit(table)
    batch = pyarrow.record_batch({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="NaN"):
        GaussianMixture(2).fit(batch)


def test_bounds_look_at_the_names_of_columns(rows):
    frame = pandas.DataFrame(rows, columns=list("abc"))
    model = GaussianMixture(3, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="feature names"):
        mixtura.bounds(model, frame[["c", "b", "a"]])
    with pytest.raises(NotFittedError):
        mixtura.bounds(GaussianMixture(3), rows)
    with pytest.raises(TypeError, match="Model, an estimator"):
        mixtura.bounds("model.json", rows)


def test_wrong_numbers_are_named(rows):
    for call in (
        lambda: mixtura.generate(-1),
        lambda: mixtura.compare(rows, -2),
        lambda: mixtura.compare(rows, 2.5),
        lambda: mixtura.compare(rows, 2, n_threads=0),
        lambda: Mixture(2).fit(rows).sample(-1),
        lambda: Model.from_parameters("gaussian", "full", np.ones(1), [], []),
        lambda: Model.from_parameters("gaussian", "full", np.ones(1), [np.ones(1), np.ones(1)], []),
    ):
        with pytest.raises(ValueError, match="must be|has 2 parameters"):
            call()
    with pytest.raises(MemoryError):
        Mixture(2).fit(rows).model_.sample(2**62)


def test_many_threads_are_not_started(rows):
    few, many = (GaussianMixture(3, random_state=0, n_threads=n).fit(rows) for n in (1, 10**7))
    assert_array_equal(few.means_, many.means_)


def test_a_moved_component_is_as_wide_as_the_ridge():
    # Rows that stand there several times: a new component may find its neighbour in its own place.
    draw = np.random.default_rng(0)
    densest = -2.5 * np.log(2 * np.pi * 0.1)
    for seed in range(40):
        X = draw.normal(size=(4, 5))[draw.integers(0, 4, 8)]
        for covariance_type in ("full", "diag", "spherical"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = GaussianMixture(7, covariance_type=covariance_type, reg_covar=0.1, max_iter=5, random_state=seed)
                model.fit(X)
            assert max(model.lower_bounds_) <= densest + 1e-9


@pytest.mark.parametrize("kind", [GaussianMixture, Mixture])
def test_a_failed_refit_left_the_columns_of_the_new_data(kind, rows, tmp_path):
    """So that the old model was saved under new names, and refused its own rows."""
    frame = pandas.DataFrame(rows, columns=["a", "b", "c"])
    model = kind(3, random_state=0).fit(frame)
    means = model.means_.copy()

    def interrupt(*_):
        raise KeyboardInterrupt

    wide = pandas.DataFrame(np.hstack([rows, rows]), columns=list("uvwxyz"))
    for spoil, exception in [
        (lambda: model.set_params(callback=interrupt).fit(wide), KeyboardInterrupt),
        (lambda: model.set_params(callback=None).fit(wide[:2]), ValueError),
        (lambda: model.fit(wide.to_numpy() * np.nan), ValueError),
        (lambda: model.fit(wide, sample_weight=-np.ones(len(wide))), ValueError),
    ]:
        with pytest.raises(exception):
            spoil()
        assert model.n_features_in_ == 3 and list(model.feature_names_in_) == ["a", "b", "c"]
        assert (model.means_ == means).all()
        model.predict(frame)
        model.save(tmp_path / "model.json")
        assert Model.load(tmp_path / "model.json").columns == ["a", "b", "c"]
    # A first fit that fails leaves nothing.
    fresh = kind(3, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(frame)
    assert not hasattr(fresh, "n_features_in_") and not hasattr(fresh, "feature_names_in_")


@pytest.mark.parametrize("kind", [GaussianMixture, Mixture])
@pytest.mark.parametrize("algorithm", ["em", "cem", "saem"])
def test_a_choice_among_models_of_sem_was_ignored(kind, algorithm, rows):
    with pytest.raises(ValueError, match=f"result='best' needs algorithm='sem' or 'auto', not '{algorithm}'"):
        kind(2, algorithm=algorithm, result="best").fit(rows)


def test_onnx_without_skl2onnx_named_a_module_only(monkeypatch):
    import mixtura.onnx

    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"needs skl2onnx: pip install mixtura\[onnx\]"):
        mixtura.onnx.register()
