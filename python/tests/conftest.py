"""Data that several tests use."""

import numpy as np
import pytest

from mixtura import generate


@pytest.fixture(scope="session")
def artificial():
    """Rows, labels and model of three components that run into each other a little."""
    return generate(3000, n_columns=3, n_components=3, separation=1.2, random_state=3)


@pytest.fixture(scope="session")
def rows(artificial):
    return artificial[0]


@pytest.fixture(scope="session")
def start(rows):
    """Arguments that fix the start of a fit."""
    means = rows[[5, 500, 1500]]
    return {"weights_init": np.full(3, 1 / 3), "means_init": means, "precisions_init": np.tile(np.eye(3), (3, 1, 1))}
