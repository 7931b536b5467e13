"""scikit-learn's own tests of its class, with only the import changed.

They are not copied: the installed module is imported with our class in the place of theirs.
"""

import importlib
import inspect
from unittest import mock

import pytest

import mixtura

#: Tests that are about the inside of scikit-learn's class, and why ours differs.
DIFFERENT = {
    "test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters": "counts calls of a Python function that "
    "makes the update there; ours is compiled",
}


def _adopt():
    name = "sklearn.mixture.tests.test_gaussian_mixture"
    with mock.patch("sklearn.mixture.GaussianMixture", mixtura.GaussianMixture):
        theirs = importlib.import_module(name)
    assert theirs.GaussianMixture is mixtura.GaussianMixture
    for test, function in inspect.getmembers(theirs, inspect.isfunction):
        # Arrays of other libraries than NumPy are not for us; docs/python.md says so.
        if test.startswith("test_") and "array_api" not in test:
            if test in DIFFERENT:
                function = pytest.mark.xfail(reason=DIFFERENT[test], strict=True)(function)
            globals()[test] = function


_adopt()


@pytest.fixture(params=["float64"])
def global_dtype(request):
    """As scikit-learn's own configuration gives it by default."""
    import numpy as np

    return np.dtype(request.param).type


@pytest.fixture
def global_random_seed():
    return 42
