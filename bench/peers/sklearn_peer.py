"""Fits by scikit-learn's GaussianMixture, from the given start."""

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
precisions = np.linalg.inv(task.covariances)
precisions = (precisions + precisions.transpose(0, 2, 1)) / 2


def fit(n_rounds):
    model = GaussianMixture(
        task.n_components,
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
