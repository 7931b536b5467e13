"""A pytest plugin that replaces scikit-learn's GaussianMixture with mixtura's before anything imports it."""

import mixtura
import sklearn.mixture

sklearn.mixture.GaussianMixture = mixtura.GaussianMixture
