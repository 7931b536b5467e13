"""Checks starts that race on growing samples of the rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mixtura import GaussianMixture, Mixture, generate


@pytest.fixture(scope="module")
def crowd():
    """Rows of 20 components, on which single starts end in local maxima."""
    return generate(20_000, n_columns=4, n_components=20, separation=2.0, random_state=1)[0]


@pytest.fixture(scope="module")
def raced(crowd):
    return Mixture(20).fit(crowd)


def test_a_race_is_reproducible(crowd, raced):
    for n_threads in (1, 2):
        again = Mixture(20, n_threads=n_threads).fit(crowd)
        assert_array_equal(again.means_, raced.means_)
        assert again.lower_bound_ == raced.lower_bound_
    assert (Mixture(20, random_state=1).fit(crowd).means_ != raced.means_).any()


def test_a_race_beats_single_starts(crowd, raced):
    singles = [Mixture(20, n_init=1, random_state=seed).fit(crowd).lower_bound_ for seed in range(3)]
    assert raced.lower_bound_ > np.median(singles) + 0.01
    assert raced.lower_bound_ >= max(singles) - 1e-3


def test_without_a_race_every_start_is_run_on_all_rows(rows):
    apart = Mixture(3, algorithm="em", n_init=4, race=False).fit(rows)
    assert apart.lower_bound_ >= Mixture(3, algorithm="em", n_init=1).fit(rows).lower_bound_
    # One start is the same with and without a race, as is one component.
    one = [Mixture(3, n_init=1, race=race).fit(rows).means_ for race in (True, False)]
    assert_array_equal(*one)
    single = [Mixture(1, n_init=n_init).fit(rows).means_ for n_init in (None, 1)]
    assert_array_equal(*single)


def test_a_start_that_is_given_is_run_once(rows, artificial):
    calls = []
    truth = artificial[2]
    for options, given in [({"init_params": truth}, {}), ({}, {"labels": artificial[1]})]:
        calls.clear()
        model = Mixture(3, algorithm="em", callback=lambda *call: calls.append(call), **options).fit(rows, **given)
        assert [round for round, _ in calls] == list(range(model.n_iter_ + 1))


def test_the_drop_in_class_can_race(crowd, raced):
    model = GaussianMixture(20, init_params="race", random_state=0, tol=1e-6, max_iter=1000)
    found = model.fit(crowd)
    assert found.converged_ and found.lower_bounds_[-1] == found.lower_bound_
    assert len(found.lower_bounds_) == found.n_iter_ + 1
    assert abs(found.score(crowd) - found.lower_bound_) < 1e-9
    assert found.lower_bound_ > raced.lower_bound_ - 0.01
    means, reached = found.means_.copy(), found.lower_bound_
    assert_array_equal(model.fit(crowd).means_, means)
    # Twice as many starts are at least about as good.
    assert model.set_params(n_init=2).fit(crowd).lower_bound_ > reached - 0.01
    with pytest.raises(ValueError, match="init_params='race' cannot be combined with means_init"):
        GaussianMixture(20, init_params="race", means_init=means).fit(crowd)


def test_a_race_starts_batches_and_subclasses(rows):
    class Own(GaussianMixture):
        def _m_step(self, X, log_resp, **options):
            super()._m_step(X, log_resp, **options)

    assert GaussianMixture(3, init_params="race", random_state=0).partial_fit(rows).n_batches_ == 1
    with pytest.warns(UserWarning, match="Own overrides _m_step"):
        own = Own(3, init_params="race", random_state=0, tol=1e-6, max_iter=500).fit(rows)
    plain = GaussianMixture(3, init_params="race", random_state=0, tol=1e-6, max_iter=500).fit(rows)
    assert abs(own.score(rows) - plain.score(rows)) < 1e-3
    assert GaussianMixture(1, init_params="race").fit(rows).converged_
    warm = GaussianMixture(3, init_params="race", random_state=0, warm_start=True, tol=1e-6, max_iter=500).fit(rows)
    assert warm.fit(rows).n_iter_ <= 3


def test_the_drop_in_class_does_not_race_by_itself(rows):
    """Its starts, and all bits, stay those of scikit-learn's meaning."""
    model = GaussianMixture(3, random_state=0, n_init=3)
    settings = model._settings(0)
    assert settings["restarts"] == 1 and settings["race"] is False
