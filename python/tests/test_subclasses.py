"""Subclasses that override a step of EM get what they ask for, as under scikit-learn's class."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn import mixture

import mixtura
from mixtura import GaussianMixture
from mixtura._hooks import HOOKS

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*scikit-learn's own loop.*:UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture(scope="module")
def rows(artificial):
    """Few: scikit-learn goes through them in all its slowness."""
    return artificial[0][:500]


class FixedMeans:
    """Means stay where they start, as is often wanted."""

    def _m_step(self, X, log_resp, **options):
        means = self.means_.copy()
        super()._m_step(X, log_resp, **options)
        self.means_ = means


class Tempered:
    """Posteriors are flatter while fitting."""

    def _e_step(self, X, **options):
        norm, log_resp = super()._e_step(X, **options)
        log_resp = 0.7 * log_resp
        return norm, log_resp - logsumexp(log_resp, axis=1)[:, np.newaxis]


class Background:
    """The densities have a floor."""

    def _estimate_log_prob(self, X, **options):
        return np.logaddexp(super()._estimate_log_prob(X, **options), -9.0)


class EqualWeights:
    def _estimate_log_weights(self, **options):
        return np.full(self.n_components, -np.log(self.n_components))


class WeightedBackground:
    def _estimate_weighted_log_prob(self, X, **options):
        return np.logaddexp(super()._estimate_weighted_log_prob(X, **options), -11.0)


class FlatPosteriors:
    def _estimate_log_prob_resp(self, X, **options):
        norm, log_resp = super()._estimate_log_prob_resp(X, **options)
        log_resp = 0.5 * log_resp
        return norm, log_resp - logsumexp(log_resp, axis=1)[:, np.newaxis]


class Penalised:
    def _compute_lower_bound(self, log_resp, log_prob_norm):
        return log_prob_norm - 0.1 * np.sum(np.log(self.weights_))


class Sorted:
    """The answer's components come by their first coordinate."""

    def _get_parameters(self):
        order = np.argsort(self.means_[:, 0])
        return tuple(part[order] for part in super()._get_parameters())


class Counting:
    def _set_parameters(self, params, **options):
        super()._set_parameters(params, **options)
        self.n_set = getattr(self, "n_set", 0) + 1


CHANGES = [
    FixedMeans, Tempered, Background, EqualWeights, WeightedBackground, FlatPosteriors, Penalised, Sorted, Counting,
]  # fmt: skip


def both(change, X, **options):
    kinds = [type(change.__name__, (change, base), {}) for base in (mixture.GaussianMixture, GaussianMixture)]
    return [kind(3, random_state=0, **options).fit(X) for kind in kinds]


def test_every_hook_is_tried():
    assert {name for change in CHANGES for name in vars(change)} & set(HOOKS) == set(HOOKS)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("init_params", ["kmeans", "random_from_data"])
def test_an_overridden_step_is_not_ignored(rows, change, init_params):
    theirs, ours = both(change, rows, init_params=init_params, max_iter=15, tol=1e-4)
    # The same code on the same numbers: the same bits.
    for name in ("weights_", "means_", "covariances_", "precisions_", "lower_bounds_"):
        assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert (ours.n_iter_, ours.converged_) == (theirs.n_iter_, theirs.converged_)
    for method in ("predict", "predict_proba", "score_samples"):
        assert_array_equal(getattr(ours, method)(rows), getattr(theirs, method)(rows))
    for method in ("score", "bic", "aic"):
        assert_allclose(getattr(ours, method)(rows), getattr(theirs, method)(rows), rtol=1e-12)
    assert_array_equal(ours.fit_predict(rows), theirs.fit_predict(rows))
    plain = GaussianMixture(3, random_state=0, init_params=init_params, max_iter=15, tol=1e-4).fit(rows)
    if change not in (Sorted, Counting):
        is_same = plain.means_.shape == ours.means_.shape and np.array_equal(plain.means_, ours.means_)
        assert not (is_same and np.array_equal(plain.predict_proba(rows), ours.predict_proba(rows)))


def test_a_hook_of_a_single_estimator_counts(rows):
    models = [kind(3, random_state=0, max_iter=30) for kind in (mixture.GaussianMixture, GaussianMixture)]
    for model in models:
        model._compute_lower_bound = lambda log_resp, norm: 0.0
        model.fit(rows)
    assert models[0].n_iter_ == models[1].n_iter_ == 2


def test_the_warning_comes_once_for_each_class(rows):
    class Mine(FixedMeans, GaussianMixture):
        pass

    with pytest.warns(UserWarning, match="Mine overrides _m_step, so it is fitted with scikit-learn's own loop") as caught:
        Mine(2, random_state=0).fit(rows)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Mine(2, random_state=0).fit(rows)
        GaussianMixture(2, random_state=0).fit(rows)


def test_what_the_loop_does_not_know_is_refused(rows):
    model = both(FixedMeans, rows)[1]
    for options in ({"algorithm": "sem"}, {"accelerate": True}, {"regularization": 0.1}, {"callback": print}):
        with pytest.raises(ValueError, match="FixedMeans overrides _m_step"):
            type(model)(3, **options).fit(rows)
    with pytest.raises(ValueError, match="sample_weight cannot be used here"):
        model.fit(rows, sample_weight=np.ones(len(rows)))
    with pytest.raises(ValueError, match="partial_fit cannot be used here"):
        model.partial_fit(rows)


def test_a_start_of_our_own_under_an_overridden_step(rows):
    model = type("Mine", (FixedMeans, GaussianMixture), {})(3, init_params="fast-kmeans", random_state=0).fit(rows)
    with pytest.warns(Warning):
        start = GaussianMixture(3, init_params="fast-kmeans", random_state=0, max_iter=1).fit(rows)
    assert model.converged_ and model.means_.shape == start.means_.shape
    assert model.score(rows) > start.score(rows) - 1


def test_weighted_scores_and_icl_of_an_overridden_density(rows):
    model = both(Background, rows)[1]
    weights = np.arange(len(rows)) % 3
    repeated = np.repeat(rows, weights, axis=0)
    for method in ("bic", "aic", "icl"):
        assert_allclose(getattr(model, method)(rows, sample_weight=weights), getattr(model, method)(repeated), rtol=1e-10)
    assert_allclose(model.score(rows, sample_weight=weights), model.score(repeated), rtol=1e-10)
    assert model.icl(rows) > model.bic(rows)


class Remembering(FixedMeans, GaussianMixture):
    pass


def test_copies_of_a_subclass(rows):
    model = Remembering(3, random_state=0).fit(rows)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(other.predict_proba(rows), model.predict_proba(rows))


def test_an_overridden_start_need_not_know_weights(rows):
    class Mine(GaussianMixture):
        def _initialize_parameters(self, X, random_state, xp=None):
            super()._initialize_parameters(X, random_state)
            self.is_mine = True

    counts = np.random.default_rng(0).integers(1, 4, len(rows))
    assert Mine(3, random_state=0).fit(rows).is_mine
    weighted = Mine(3, random_state=0, tol=1e-6, max_iter=500).fit(rows, sample_weight=counts)
    repeated = GaussianMixture(3, random_state=0, tol=1e-6, max_iter=500).fit(np.repeat(rows, counts, axis=0))
    assert weighted.is_mine
    assert_allclose(weighted.score(rows, sample_weight=counts), repeated.score(rows, sample_weight=counts), atol=1e-4)


def test_the_start_may_be_borrowed_by_another_class(rows):
    """As stepmix does: `_initialize` with a `self` that is no mixture of ours."""

    class Foreign:
        n_components, covariance_type, reg_covar = 3, "diag", 1e-6
        weights_init = means_init = precisions_init = None

    responsibilities = np.random.default_rng(0).dirichlet(np.ones(3), len(rows))
    found = []
    for kind in (mixture.GaussianMixture, GaussianMixture):
        foreign = Foreign()
        kind._initialize(foreign, rows, responsibilities)
        found.append(foreign)
    assert_array_equal(found[0].means_, found[1].means_)
    assert_array_equal(found[0].precisions_cholesky_, found[1].precisions_cholesky_)


def test_an_overridden_fit_predict_is_what_fit_calls(rows):
    class Mine(GaussianMixture):
        def fit_predict(self, X, y=None):
            self.is_mine = True
            return super().fit_predict(X, y)

    model = Mine(3, random_state=0).fit(rows)
    assert model.is_mine
    assert_array_equal(model.means_, GaussianMixture(3, random_state=0).fit(rows).means_)


def test_an_overridden_score_samples_is_what_score_and_the_criteria_use(rows):
    class Mine(GaussianMixture):
        def score_samples(self, X):
            return super().score_samples(X) - 1

    mine, plain = Mine(3, random_state=0).fit(rows), GaussianMixture(3, random_state=0).fit(rows)
    assert_allclose(mine.score(rows), plain.score(rows) - 1, rtol=1e-12)
    for method in ("bic", "aic", "icl"):
        assert_allclose(getattr(mine, method)(rows), getattr(plain, method)(rows) + 2 * len(rows), rtol=1e-12)


def test_bounds_of_a_subclass_are_those_of_its_parameters(rows):
    model = both(FixedMeans, rows)[1]
    assert mixtura.bounds(model, rows)["mean_bound"].shape == (3, 3)


def test_our_class_in_the_place_of_theirs(rows, monkeypatch):
    """Whoever puts our class into scikit-learn's module finds the same answers, and no endless recursion."""
    model = type("Mine", (FixedMeans, GaussianMixture), {})(3, random_state=0).fit(rows)
    monkeypatch.setattr(mixture, "GaussianMixture", GaussianMixture)
    again = type("Mine", (FixedMeans, mixture.GaussianMixture), {})(3, random_state=0).fit(rows)
    assert_array_equal(again.means_, model.means_)
    assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    plain = mixture.GaussianMixture(3, random_state=0).fit(rows)
    assert plain.score(rows) > model.score(rows)
