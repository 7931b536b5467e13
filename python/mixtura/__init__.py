"""Mixture models fitted by EM and stochastic EM: fast and reproducible.

`GaussianMixture` is a drop-in replacement for scikit-learn's class of the same name: the same arguments, and the same
numbers from the same start, in a fraction of the time.

>>> import mixtura
>>> X, labels, truth = mixtura.generate(1000, n_columns=2, n_components=3, separation=2.0, random_state=1)
>>> model = mixtura.GaussianMixture(3, random_state=0).fit(X)
>>> model.converged_, model.means_.shape
(True, (3, 2))
"""

from importlib.metadata import version

from ._functions import Comparison, bounds, compare, generate
from ._gaussian import GaussianMixture
from ._mixture import Mixture
from ._mixtura import Model

__version__ = version("mixtura")
__all__ = ["Comparison", "GaussianMixture", "Mixture", "Model", "bounds", "compare", "generate"]
