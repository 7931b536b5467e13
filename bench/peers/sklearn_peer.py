"""Fits with scikit-learn's GaussianMixture, from the given start."""

import sys
import warnings

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

import worker

warnings.simplefilter("ignore", ConvergenceWarning)
task = worker.Task(sys.argv[1:])
rows = task.rows()
if task.covariance in ("full", "tied"):
    precisions = np.linalg.inv(task.covariances)
    precisions = (precisions + precisions.swapaxes(-1, -2)) / 2
else:
    precisions = 1 / task.covariances


def fit(n_rounds):
    model = GaussianMixture(
        task.n_components,
        covariance_type={"diagonal": "diag"}.get(task.covariance, task.covariance),
        tol=0,
        reg_covar=task.ridge,
        max_iter=n_rounds,
        weights_init=task.weights,
        means_init=task.means,
        precisions_init=precisions,
    )
    model.fit(rows)
    if model.n_iter_ != n_rounds:
        raise RuntimeError(f"stopped after {model.n_iter_} of {n_rounds} rounds")
    return lambda: worker.join(model.weights_, model.means_, model.covariances_)


worker.serve(sklearn.__version__, fit)
