"""Few rows, or one thread, need no other threads."""

import subprocess
import sys
from pathlib import Path

import pytest

COUNT = """
import os
import numpy as np
from mixtura import GaussianMixture

def n_threads():
    return len(os.listdir("/proc/self/task"))

X = np.random.default_rng(0).normal(size=({n_rows}, 3))
before = n_threads()
model = GaussianMixture(2, random_state=0, n_threads={n_threads}, callback=lambda round, likelihood: round >= 3).fit(X)
during = []
model.set_params(callback=lambda round, likelihood: during.append(n_threads())).fit(X)
model.predict(X[:1])
model.score_samples(X)
assert during and max(during) == n_threads() == before, (before, during)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux lists them")
@pytest.mark.parametrize(("n_rows", "n_threads"), [(1000, None), (1000, 2), (5000, 1)])
def test_no_thread_is_started(n_rows, n_threads):
    program = COUNT.format(n_rows=n_rows, n_threads=n_threads)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
