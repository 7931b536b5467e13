"""Fits with scikit-learn's GaussianMixture from ten starts, for bench/race: sklearn_starts.py ROWS D K ROUNDS.

ROWS is a file of raw f64. Every line of standard input is answered with one line of JSON: `probe` with the seconds of a
start and of a round, `fit SEED` with a whole fit.
"""

import json
import sys
import time
import warnings

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

warnings.simplefilter("ignore", ConvergenceWarning)
path, n_columns, n_components, most_rounds = sys.argv[1], *map(int, sys.argv[2:])
rows = np.fromfile(path, dtype="<f8").reshape(-1, n_columns)


def say(answer):
    print(json.dumps(answer), flush=True)




def timed(n_rounds, tolerance, n_starts, seed):
    """A fit and its seconds."""
    model = GaussianMixture(n_components, tol=tolerance, max_iter=n_rounds, n_init=n_starts, random_state=seed)
    begin = time.perf_counter()
    model.fit(rows)
    return model, time.perf_counter() - begin


def probe():
    # The first fit also loads libraries.
    _, few, many = (timed(n_rounds, 0, 1, 0)[1] for n_rounds in (1, 1, 11))
    return {"start": few, "round": max(many - few, 0) / 10}


def fit(seed):
    model, seconds = timed(most_rounds, 1e-6, 10, seed)
    likelihood = float(model.score(rows))
    return {"seed": seed, "mean_log_likelihood": likelihood, "seconds": seconds, "rounds": model.n_iter_, "version": sklearn.__version__}


say({"n_rows": len(rows)})
for line in sys.stdin:
    verb, *seed = line.split()
    say(probe() if verb == "probe" else fit(int(seed[0])))
