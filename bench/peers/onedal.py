"""Fits with oneDAL's EM through daal4py, from the given start. It has no ridge."""

import importlib.metadata
import sys

import daal4py
import numpy as np

import worker

task = worker.Task(sys.argv[1:])
rows = task.rows()
daal4py.daalinit(task.n_threads)
covariances = [np.atleast_2d(covariance) for covariance in task.covariances]  # diagonal: a row of variances


def fit(n_rounds):
    algorithm = daal4py.em_gmm(task.n_components, maxIterations=n_rounds, accuracyThreshold=0, covarianceStorage=task.covariance)
    result = algorithm.compute(rows, task.weights.reshape(1, -1), task.means, covariances)
    n_done = int(np.ravel(result.nIterations)[0])
    if n_done != n_rounds:
        raise RuntimeError(f"stopped after {n_done} of {n_rounds} rounds")
    return lambda: worker.join(result.weights, result.means, np.array(result.covariances))


worker.serve(importlib.metadata.version("daal4py"), fit)
