"""Fitted estimators leave Python's pickles: skops, ONNX."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import mixture

from mixtura import GaussianMixture, Mixture
from mixtura._starts import NAMESPACE

#: What has to be trusted: our classes, and nothing compiled.
TRUSTED = {"mixtura._gaussian.GaussianMixture", "mixtura._mixture.Mixture"}


def models(rows):
    yield GaussianMixture(3, random_state=0).fit(rows)
    yield GaussianMixture(3, random_state=0).partial_fit(rows[:1500]).partial_fit(rows[1500:])
    yield Mixture(3).fit(rows)


def test_state_is_plain(rows):
    def kinds(value):
        yield type(value)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
            yield from kinds(inner)

    for model in models(rows):
        for kind in kinds(model.__getstate__()):
            assert kind.__module__ in ("builtins", "numpy"), kind


def test_skops_round_trip(rows):
    io = pytest.importorskip("skops.io")
    for model in models(rows):
        stored = io.dumps(model)
        assert set(io.get_untrusted_types(data=stored)) <= TRUSTED
        back = io.loads(stored, trusted=sorted(TRUSTED))
        assert_array_equal(back.predict_proba(rows), model.predict_proba(rows))
        assert back.means_.tobytes() == model.means_.tobytes()
        if hasattr(model, "n_batches_"):
            # The stream goes on.
            for one in (back, model):
                one.partial_fit(rows)
            assert back.means_.tobytes() == model.means_.tobytes()


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_onnx_gives_the_same_labels_and_probabilities(rows, covariance_type):
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    import mixtura.onnx

    mixtura.onnx.register()
    mixtura.onnx.register()
    X = rows.astype(np.float32)
    model = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    theirs = mixture.GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(X)
    theirs._set_parameters(model._get_parameters(), **NAMESPACE)
    found = []
    for one in (model, theirs):
        made = skl2onnx.to_onnx(one, X[:1], options={"score_samples": True})
        session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        assert [output.name for output in session.get_outputs()] == ["label", "probabilities", "score_samples"]
        found.append(session.run(None, {"X": X}))
    # The same graph as of scikit-learn's class.
    for ours, expected in zip(*found, strict=True):
        assert_array_equal(ours, expected)
    labels, posteriors, scores = found[0]
    # Log-densities of some tens of nats, in single precision: a few times 50 · 6e-8 in a logarithm of a posterior.
    within = 3e-5
    sure = np.diff(np.sort(model.predict_proba(X), axis=1)[:, -2:], axis=1).ravel() > 2 * within
    assert sure.mean() > 0.99
    assert_array_equal(labels.ravel()[sure], model.predict(X)[sure])
    assert_allclose(posteriors, model.predict_proba(X), atol=within)
    assert_allclose(scores.ravel(), model.score_samples(X), rtol=1e-5, atol=within)
