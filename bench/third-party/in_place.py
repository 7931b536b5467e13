"""Puts mixtura's GaussianMixture into scikit-learn's module before anything imports it from there: a pytest plugin."""

import mixtura
import sklearn.mixture

sklearn.mixture.GaussianMixture = mixtura.GaussianMixture
