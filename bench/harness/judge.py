"""Computes the log-likelihood per row of a model in plain numpy, independently of the contestants.

Runs in the base environment with the arguments of a peer; each line of input names a raw model
file and is answered by `@ ok LIKELIHOOD`. Cost: one triangular solve per row and component.
"""

import sys

import numpy as np

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parent.parent / "peers"))
import worker

BLOCK = 8192


def mean_ln_likelihood(rows, weights, means, covariances):
    factors = np.linalg.cholesky(covariances)
    whitening = np.linalg.inv(factors)
    constants = np.log(weights) - np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    constants -= 0.5 * rows.shape[1] * np.log(2 * np.pi)
    total = 0.0
    for first in range(0, len(rows), BLOCK):
        block = rows[first : first + BLOCK]
        ln_joint = np.empty((len(block), len(weights)))
        for k, constant in enumerate(constants):
            whitened = (block - means[k]) @ whitening[k].T
            ln_joint[:, k] = constant - 0.5 * np.einsum("nd,nd->n", whitened, whitened)
        largest = ln_joint.max(axis=1, keepdims=True)
        total += float(np.sum(largest[:, 0] + np.log(np.exp(ln_joint - largest).sum(axis=1))))
    return total / len(rows)


def expanded(covariances, structure, n_components, n_columns):
    """A full matrix for each component, whatever the covariance type."""
    if structure == "tied":
        return np.broadcast_to(covariances, (n_components, n_columns, n_columns))
    if structure in ("diagonal", "spherical"):
        return covariances.reshape(n_components, -1, 1) * np.eye(n_columns)
    return covariances


def main():
    task = worker.Task(sys.argv[1:])
    rows = task.rows()
    worker.say("ready", np.__version__)
    for line in sys.stdin:
        try:
            weights, means, covariances = task.split(np.fromfile(line.split()[-1]))
            covariances = expanded(covariances, task.covariance, task.n_components, task.n_columns)
            worker.say("ok", repr(mean_ln_likelihood(rows, weights, means, covariances)))
        except Exception as error:
            worker.say("error", type(error).__name__, error)


if __name__ == "__main__":
    main()
