"""What scikit-learn has not: algorithms, weights, tables, files, streams, callbacks, the theorems."""

import json
import os
import signal
import threading

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import mixtura
from mixtura import GaussianMixture, Mixture, Model

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


@pytest.mark.parametrize("algorithm", ["sem", "cem", "saem", "auto"])
@pytest.mark.parametrize("init_params", ["kmeans", "fast-kmeans", "short-em", "paper"])
def test_algorithms_come_near_em(rows, algorithm, init_params):
    em = GaussianMixture(3, random_state=0, max_iter=500, tol=1e-6).fit(rows)
    options = dict(random_state=0, max_iter=500, tol=1e-6, n_init=8)
    model = GaussianMixture(3, algorithm=algorithm, init_params=init_params, **options).fit(rows)
    slack = {"cem": 0.05, "sem": 0.02}.get(algorithm, 0.005)
    assert model.score(rows) > em.score(rows) - slack
    assert model.converged_ and model.reason_ in ("converged", "flat")


def test_acceleration_takes_fewer_rounds(rows):
    plain = GaussianMixture(3, random_state=0, max_iter=2000, tol=1e-9).fit(rows)
    fast = GaussianMixture(3, random_state=0, max_iter=2000, tol=1e-9, accelerate=True).fit(rows)
    assert fast.n_iter_ < plain.n_iter_
    assert_allclose(fast.lower_bound_, plain.score(rows), atol=1e-6)


@pytest.mark.parametrize("init_params", ["kmeans", "random_from_data", "fast-kmeans"])
def test_weights_are_repetitions(rows, start, init_params):
    counts = np.random.default_rng(0).integers(0, 4, len(rows))
    repeated = np.repeat(rows, counts, axis=0)
    weighted = GaussianMixture(3, tol=1e-7, max_iter=500, **start).fit(rows, sample_weight=counts)
    expected = GaussianMixture(3, tol=1e-7, max_iter=500, **start).fit(repeated)
    assert_allclose(weighted.means_, expected.means_, rtol=1e-9, atol=1e-9)
    assert weighted.n_iter_ == expected.n_iter_
    own = GaussianMixture(3, random_state=0, init_params=init_params, max_iter=500).fit(rows, sample_weight=counts)
    assert own.score(repeated) > expected.score(repeated) - 0.02


def test_bad_weights_are_refused(rows):
    for weights in (-np.ones(len(rows)), np.ones(3), np.zeros(len(rows)), np.full(len(rows), np.nan)):
        with pytest.raises(ValueError):
            GaussianMixture(3).fit(rows, sample_weight=weights)


def test_tables_keep_their_names(rows):
    names = ["a", "b", "c"]
    tables = [
        pandas.DataFrame(rows, columns=names),
        polars.DataFrame(rows, schema=names),
        pyarrow.table({name: rows[:, at] for at, name in enumerate(names)}),
    ]
    expected = GaussianMixture(3, random_state=0).fit(rows)
    for table in tables:
        model = GaussianMixture(3, random_state=0).fit(table)
        # scikit-learn reads the names of other tables than pandas' from 1.9 on.
        if SKLEARN >= (1, 9) or isinstance(table, pandas.DataFrame):
            assert list(model.feature_names_in_) == names
        assert_array_equal(model.means_, expected.means_)
        assert_array_equal(model.predict(table), expected.predict(rows))
    model = GaussianMixture(3, random_state=0).fit(tables[0])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(tables[0].rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="NaN"):
        GaussianMixture(3).fit(polars.DataFrame({"a": [1.0, None, 2.0]}))


def test_single_precision_tables(rows):
    single = rows.astype(np.float32)
    for table in (polars.DataFrame(single), pyarrow.table({str(at): single[:, at] for at in range(3)})):
        assert GaussianMixture(3, random_state=0).fit(table).means_.dtype == np.float32


def test_arrays_are_read_where_they_are(rows):
    from mixtura import _data

    for X in (rows, rows.astype(np.float32)):
        assert np.shares_memory(_data.rows(GaussianMixture(), X, reset=True), X)
    for other in (np.asfortranarray(rows), rows[::2], rows.astype(int)):
        GaussianMixture(3).fit(other)


def test_callback_sees_rounds_and_stops(rows):
    seen = []

    def watch(round, likelihood):
        seen.append((round, likelihood))
        return round == 4

    for algorithm in ("em", "sem"):
        seen.clear()
        model = GaussianMixture(3, random_state=0, tol=1e-12, algorithm=algorithm, callback=watch).fit(rows)
        assert model.reason_ == "interrupted" and not model.converged_
        assert [round for round, _ in seen][-3:] == [2, 3, 4]
        assert len(seen) < 7


def test_an_exception_in_the_callback_comes_out(rows):
    def fail(round, likelihood):
        raise RuntimeError("from the callback")

    for kind in (GaussianMixture, Mixture):
        with pytest.raises(RuntimeError, match="from the callback"):
            kind(3, callback=fail).fit(rows)


def test_interrupt_stops_within_a_round():
    X, _, _ = mixtura.generate(200_000, random_state=1)
    model = GaussianMixture(10, tol=0, max_iter=10**6, init_params="fast-kmeans", random_state=0)
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    # Without the signal it would not end.
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)


def test_other_threads_run_meanwhile():
    """The interpreter's lock is released: another thread goes on during a fit."""
    X, _, _ = mixtura.generate(100_000, random_state=1)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.0005):
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    with pytest.warns(ConvergenceWarning):
        GaussianMixture(10, tol=0, max_iter=100, init_params="fast-kmeans", random_state=0).fit(X)
    done.set()
    thread.join()
    # A lock that is held lets it tick once before and once after.
    assert len(ticks) > 5


def test_files_have_the_same_bits_both_ways(rows, tmp_path):
    for covariance_type in ("full", "tied", "diag", "spherical"):
        frame = pandas.DataFrame(rows, columns=["a", "b", "c"])
        model = GaussianMixture(3, covariance_type=covariance_type, algorithm="auto", random_state=0).fit(frame)
        path = tmp_path / f"{covariance_type}.json"
        model.save(path)
        other = GaussianMixture.load(path)
        for name in ("weights_", "means_", "covariances_", "precisions_"):
            assert getattr(other, name).tobytes() == getattr(model, name).tobytes()
        assert list(other.feature_names_in_) == ["a", "b", "c"]
        assert (other.n_iter_, other.converged_, other.lower_bound_) == (
            model.n_iter_,
            model.converged_,
            model.lower_bound_,
        )
        again = tmp_path / "again.json"
        other.save(again)
        assert again.read_bytes() == path.read_bytes()


def test_bad_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        GaussianMixture.load(tmp_path / "nowhere.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ValueError, match="weights"):
        Model.load(tmp_path / "bad.json")
    counts = np.random.default_rng(0).poisson(3, (50, 2))
    Mixture(2, family="poisson").fit(counts).save(tmp_path / "counts.json")
    with pytest.raises(ValueError, match="poisson"):
        GaussianMixture.load(tmp_path / "counts.json")
    assert Mixture.load(tmp_path / "counts.json").family == "poisson"


@pytest.mark.skipif("MIXTURA" not in os.environ, reason="MIXTURA does not name the command line's program")
def test_the_command_line_finds_the_same_bits(rows, tmp_path):
    import subprocess

    program = os.environ["MIXTURA"]
    np.save(tmp_path / "rows.npy", rows)
    for options, words in [
        ({}, []),
        ({"algorithm": "sem", "n_init": 3, "random_state": 7}, ["--algorithm", "sem", "--restarts", "3", "--seed", "7"]),
        ({"covariance_type": "diagonal", "algorithm": "auto"}, ["--covariance", "diagonal", "--algorithm", "auto"]),
    ]:
        path = tmp_path / "model.json"
        words = [program, "fit", str(tmp_path / "rows.npy"), "-k", "3", "-q", "-o", str(path), *words]
        subprocess.run(words, check=True)
        ours = tmp_path / "ours.json"
        model = Mixture(3, **options).fit(rows)
        model.save(ours)
        theirs = json.loads(path.read_text())
        assert json.loads(ours.read_text()) | {"columns": theirs.get("columns", [])} == theirs
    # And a model of ours is one for the command line.
    labels = subprocess.run([program, "predict", str(ours), str(tmp_path / "rows.npy")], check=True, capture_output=True)
    assert_array_equal(np.array(labels.stdout.split()[1:], dtype=int), model.predict(rows))


def test_stream(artificial):
    X, _, truth = artificial
    draws = truth.sample(60_000, 5)[0]
    for algorithm in ("em", "sem", "cem"):
        model = GaussianMixture(3, random_state=0, algorithm=algorithm)
        for batch in draws.reshape(60, 1000, 3):
            model.partial_fit(batch)
        assert model.n_batches_ == 60
        slack = 0.1 if algorithm == "cem" else 0.01
        assert model.score(X) > truth.score(X)[0] - slack


def test_a_stream_goes_on_after_pickling_and_after_a_fit(rows):
    import pickle

    batches = np.array_split(rows, 6)
    whole, parts = GaussianMixture(3, random_state=0), GaussianMixture(3, random_state=0)
    for batch in batches:
        whole.partial_fit(batch)
        parts = pickle.loads(pickle.dumps(parts.partial_fit(batch)))
    assert whole.means_.tobytes() == parts.means_.tobytes()
    fitted = GaussianMixture(3, random_state=0).fit(rows)
    before = fitted.means_.copy()
    fitted.partial_fit(batches[0])
    assert 0 < np.abs(fitted.means_ - before).max() < 0.3 * np.ptp(rows)
    assert fitted.fit(rows).means_.tobytes() == before.tobytes()


def test_one_batch_with_full_step_is_one_round(rows, start):
    once = GaussianMixture(3, max_iter=1, **start)
    with pytest.warns(Warning):
        once.fit(rows)
    batch = GaussianMixture(3, max_iter=0, **start).partial_fit(rows)
    assert_allclose(batch.means_, once.means_, rtol=1e-12)


def test_poisson(tmp_path):
    draw = np.random.default_rng(0)
    counts = np.concatenate([draw.poisson([1, 20], (500, 2)), draw.poisson([9, 3], (500, 2))])
    model = Mixture(2, family="poisson").fit(counts)
    assert_allclose(np.sort(model.parameters_["rates"], axis=0), [[1, 3], [9, 20]], rtol=0.1)
    assert model.bic(counts) > model.aic(counts)
    assert model.icl(counts) >= model.bic(counts)
    rows, labels = model.sample(10)
    assert rows.shape == (10, 2) and labels.shape == (10,)
    with pytest.raises(ValueError):
        model.fit(-counts)


def test_bounds_hold(artificial):
    X, _, truth = artificial
    stated = mixtura.bounds(truth, X, confidence=0.99)
    assert stated["mean_bound"].shape == (3, 3) and stated["covariance_bound"].shape == (3, 3, 3)
    assert_allclose(stated["weights"].sum(), 1)
    for seed in range(20):
        sem = Mixture(
            3, algorithm="sem", init_params=truth, max_iter=1, tol=0, result="last", regularization=0, random_state=seed
        ).fit(X)
        assert (np.abs(sem.weights_ - stated["weights"]) <= stated["weight_bound"]).all()
        assert (np.abs(sem.means_ - stated["means"]) <= stated["mean_bound"]).all()
    fitted = GaussianMixture(3, random_state=0).fit(X)
    assert mixtura.bounds(fitted, X, delta=0.01)["delta"] == 0.01
    with pytest.raises(ValueError, match="exclude"):
        mixtura.bounds(truth, X, delta=0.1, confidence=0.9)


def test_compare_writes_a_page(rows, tmp_path):
    found = mixtura.compare(rows, 3, starts=2, runs=2, rounds=10)
    assert found.summary["rows"] == len(rows)
    page = found.write(tmp_path / "page")
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads((tmp_path / "page" / "summary.json").read_text())["plan"]["starts"] == 2
    assert list((tmp_path / "page" / "figures").glob("*.svg"))
    with pytest.raises(ValueError, match="start"):
        mixtura.compare(rows, 3, init_params="nothing")


def test_generated_rows_begin_alike():
    few, many = mixtura.generate(100, random_state=4), mixtura.generate(1000, random_state=4)
    assert_array_equal(few[0], many[0][:100])
    assert few[2].to_json() == many[2].to_json()


def test_progress_is_shown_on_a_terminal_only(rows, capsys):
    GaussianMixture(3, random_state=0, progress=True).fit(rows)
    assert capsys.readouterr() == ("", "")
