"""Write trajectory.json: EM trajectories of scikit-learn, and of counts, that the Rust tests follow.

Run: python make.py (needs numpy, scipy and scikit-learn; the versions used stand in the file).
For each case: the rows, an initial model, the mean log-likelihood of the model after each of 50
rounds (entry 0 is the initial model), and the parameters after the last round. `reg_covar` is 0.
Poisson mixtures, which scikit-learn does not have, are iterated here with scipy's densities.
"""

import json
import pathlib

import numpy as np
import scipy
import sklearn
from scipy.special import logsumexp
from scipy.stats import poisson
from sklearn.mixture import GaussianMixture
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky

ROUNDS = 50
CASES = [("full", shape) for shape in [(400, 2, 3), (300, 5, 4), (250, 8, 2), (500, 1, 3), (333, 3, 5)]]
CASES += [(structure, shape) for structure in ["tied", "diagonal", "spherical"] for shape in [(200, 3, 3), (150, 5, 2)]]
NAMES = {"diagonal": "diag"}


def trajectory(structure: str, n_rows: int, n_columns: int, n_components: int, seed: int) -> dict:
    random = np.random.default_rng(seed)
    centres = random.normal(size=(n_components, n_columns)) * 2.5
    factors = random.normal(size=(n_components, n_columns, n_columns)) * 0.5 + np.eye(n_columns)
    labels = random.integers(n_components, size=n_rows)
    rows = centres[labels] + np.einsum("nij,nj->ni", factors[labels], random.normal(size=(n_rows, n_columns)))
    rows = np.round(rows, 6)
    weights = np.full(n_components, 1 / n_components)
    means = rows[random.choice(n_rows, n_components, replace=False)]
    common = np.cov(rows.T).reshape(n_columns, n_columns)
    covariances = {
        "full": np.array([common] * n_components),
        "tied": common,
        "diagonal": np.array([np.diag(common)] * n_components),
        "spherical": np.full(n_components, np.trace(common) / n_columns),
    }[structure]

    name = NAMES.get(structure, structure)
    model = GaussianMixture(n_components, covariance_type=name, reg_covar=0)
    # The estimator's own steps, so that every likelihood is that of a known model.
    model.weights_, model.means_, model.covariances_ = weights, means, covariances
    model.precisions_cholesky_ = _compute_precision_cholesky(covariances, name)
    likelihoods = []
    for _ in range(ROUNDS):
        likelihood, log_responsibilities = model._e_step(rows)
        likelihoods.append(float(likelihood))
        model._m_step(rows, log_responsibilities)
    likelihoods.append(float(model._e_step(rows)[0]))
    return {
        "covariance": structure,
        "rows": rows.tolist(),
        "initial": {"weights": weights.tolist(), "means": means.tolist(), "covariances": covariances.tolist()},
        "mean_log_likelihoods": likelihoods,
        "final": {
            "weights": model.weights_.tolist(),
            "means": model.means_.tolist(),
            "covariances": model.covariances_.tolist(),
        },
    }


def counts(n_rows: int, n_columns: int, n_components: int, seed: int) -> dict:
    random = np.random.default_rng(seed)
    rates = random.uniform(0.5, 9, size=(n_components, n_columns))
    rows = random.poisson(rates[random.integers(n_components, size=n_rows)]).astype(float)
    weights = np.full(n_components, 1 / n_components)
    rates = rows[random.choice(n_rows, n_components, replace=False)] + 0.5
    initial = {"weights": weights.tolist(), "rates": rates.tolist()}
    likelihoods = []
    for round in range(ROUNDS + 1):
        joint = np.log(weights) + poisson.logpmf(rows[:, None, :], rates).sum(axis=2)
        evidence = logsumexp(joint, axis=1)
        likelihoods.append(float(evidence.mean()))
        if round < ROUNDS:
            posterior = np.exp(joint - evidence[:, None])
            rates = posterior.T @ rows / posterior.sum(axis=0)[:, None]
            weights = posterior.mean(axis=0)
    return {
        "rows": rows.tolist(),
        "initial": initial,
        "mean_log_likelihoods": likelihoods,
        "final": {"weights": weights.tolist(), "rates": rates.tolist()},
    }


if __name__ == "__main__":
    cases = [trajectory(structure, *shape, seed) for seed, (structure, shape) in enumerate(CASES)]
    poisson_cases = [counts(300, 2, 3, 0), counts(200, 4, 2, 1)]
    made_by = {"scikit-learn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__}
    path = pathlib.Path(__file__).with_name("trajectory.json")
    path.write_text(json.dumps({"made_by": made_by, "cases": cases, "counts": poisson_cases}) + "\n")
