"""Write trajectory.json: EM trajectories of scikit-learn that the Rust tests follow.

Run: python make.py (needs numpy and scikit-learn; the versions used stand in the file).
For each shape: the rows, an initial model, the mean log-likelihood of the model after each of 50
rounds (entry 0 is the initial model), and the parameters after the last round. `reg_covar` is 0.
"""

import json
import pathlib

import numpy as np
import sklearn
from sklearn.mixture import GaussianMixture

ROUNDS = 50
SHAPES = [(400, 2, 3), (300, 5, 4), (250, 8, 2), (500, 1, 3), (333, 3, 5)]


def trajectory(n_rows: int, n_columns: int, n_components: int, seed: int) -> dict:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(n_components, n_columns)) * 2.5
    factors = random.normal(size=(n_components, n_columns, n_columns)) * 0.5 + np.eye(n_columns)
    labels = random.integers(n_components, size=n_rows)
    rows = centres[labels] + np.einsum("nij,nj->ni", factors[labels], random.normal(size=(n_rows, n_columns)))
    rows = np.round(rows, 6)
    weights = np.full(n_components, 1 / n_components)
    means = rows[random.choice(n_rows, n_components, replace=False)]
    covariances = np.array([np.cov(rows.T).reshape(n_columns, n_columns)] * n_components)

    model = GaussianMixture(
        n_components,
        reg_covar=0,
        weights_init=weights,
        means_init=means,
        precisions_init=np.linalg.inv(covariances),
    )
    # The estimator's own steps, so that every likelihood is that of a known model.
    model.weights_, model.means_, model.covariances_ = weights, means, covariances
    model.precisions_cholesky_ = np.array([np.linalg.inv(np.linalg.cholesky(c)).T for c in covariances])
    likelihoods = []
    for _ in range(ROUNDS):
        likelihood, log_responsibilities = model._e_step(rows)
        likelihoods.append(float(likelihood))
        model._m_step(rows, log_responsibilities)
    likelihoods.append(float(model._e_step(rows)[0]))
    return {
        "rows": rows.tolist(),
        "initial": {"weights": weights.tolist(), "means": means.tolist(), "covariances": covariances.tolist()},
        "mean_log_likelihoods": likelihoods,
        "final": {
            "weights": model.weights_.tolist(),
            "means": model.means_.tolist(),
            "covariances": model.covariances_.tolist(),
        },
    }


if __name__ == "__main__":
    cases = [trajectory(*shape, seed) for seed, shape in enumerate(SHAPES)]
    made_by = {"scikit-learn": sklearn.__version__, "numpy": np.__version__}
    path = pathlib.Path(__file__).with_name("trajectory.json")
    path.write_text(json.dumps({"made_by": made_by, "cases": cases}) + "\n")
