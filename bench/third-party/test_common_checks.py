"""scikit-learn's common checks of whichever class is in its place; in its place is mixtura's with the plugin in_place."""

from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

KINDS = ["full", "tied", "diag", "spherical"]


@parametrize_with_checks([GaussianMixture(covariance_type=kind) for kind in KINDS])
def test_common_checks(estimator, check):
    check(estimator)
