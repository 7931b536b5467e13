"""Reads the arguments of a Python peer and implements its protocol; see README.md."""

import sys
import time
import traceback

import numpy as np


class Task:
    """The data, the start and the options of a peer."""

    def __init__(self, arguments):
        data, rows, columns, components, start, ridge, threads, covariance = arguments
        self.path = data
        self.n_rows, self.n_columns, self.n_components = int(rows), int(columns), int(components)
        self.ridge, self.n_threads = float(ridge), int(threads)
        self.covariance = covariance
        self.weights, self.means, self.covariances = self.split(np.fromfile(start))

    def rows(self):
        rows = np.load(self.path)
        assert rows.shape == (self.n_rows, self.n_columns), rows.shape
        return rows

    def split(self, values):
        """Weights, means and covariances, parsed from their raw form."""
        k, d = self.n_components, self.n_columns
        shape = {"full": (k, d, d), "tied": (d, d), "diagonal": (k, d), "spherical": (k,)}[self.covariance]
        return values[:k], values[k : k + k * d].reshape(k, d), values[k + k * d :].reshape(shape)


def join(weights, means, covariances):
    return np.concatenate([np.ravel(weights), np.ravel(means), np.ravel(covariances)]).astype(np.float64)


def say(*words):
    print("@", *words, flush=True)


def serve(version, fit):
    """Answer `fit` lines; `fit(n_rounds)` returns a function that creates the raw model, or None."""
    say("ready", version)
    for line in sys.stdin:
        _, n_rounds, path = line.split()
        try:
            begin = time.perf_counter()
            model = fit(int(n_rounds))
            seconds = time.perf_counter() - begin
            if model is not None:
                model().tofile(path)
            say("ok", seconds)
        except Exception as error:
            traceback.print_exc()
            say("error", type(error).__name__, str(error).strip().splitlines()[0] if str(error) else "")
