"""What scikit-learn has not: algorithms, weights, tables, files, streams, callbacks, the theorems."""

import json
import os
import threading

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import mixture
from sklearn.exceptions import ConvergenceWarning, NotFittedError

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


def test_pieces_change_no_bit(artificial):
    """Rows beyond the first piece, which is 2²⁸ multiply-adds for each thread, are what they are by themselves."""
    draw = np.random.default_rng(0)
    n_rows, n_columns = 12_000, 40
    X = draw.normal(size=(n_rows, n_columns))
    means, covariances = draw.normal(size=(20, n_columns)), np.tile(np.eye(n_columns), (20, 1, 1))
    model = Model.from_parameters("gaussian", "full", np.full(20, 0.05), [means, covariances], [])
    piece = 2**28 // (20 * (n_columns + 1) ** 2) // 1024 * 1024
    assert piece < n_rows < 2 * piece
    for method in ("predict", "predict_proba", "score_samples"):
        whole = getattr(model, method)(X, 1)
        parts = [getattr(model, method)(part, 1) for part in (X[:piece], X[piece:])]
        assert_array_equal(whole, np.concatenate(parts))
        assert_array_equal(whole, getattr(model, method)(X, 3))
    few, many = model.sample(100, 3), model.sample(200_000, 3, 1)
    assert_array_equal(few[0], many[0][:100])
    assert_array_equal(model.sample(200_000, 3, 3)[0], many[0])


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
        ({"n_init": 1}, ["--restarts", "1"]),
        ({"n_init": 3, "random_state": 7}, ["--restarts", "3", "--seed", "7"]),
        ({"algorithm": "sem", "n_init": 3, "random_state": 7}, ["--algorithm", "sem", "--restarts", "3", "--seed", "7"]),
        ({"covariance_type": "diagonal", "n_init": 1}, ["--covariance", "diagonal", "--restarts", "1"]),
        ({"normalize": True, "sort": True, "guard": True, "n_init": 1}, [*"--normalize --sort --guard --restarts 1".split()]),
        ({"algorithm": "sem", "precision": "double", "n_init": 1}, [*"--algorithm sem --precision double --restarts 1".split()]),
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


@pytest.mark.skipif("MIXTURA" not in os.environ, reason="MIXTURA does not name the command line's program")
def test_the_command_line_starts_from_the_same_labels(artificial, tmp_path):
    import subprocess

    X, labels, _ = artificial
    names = np.array(["b", "c", "a"])[labels]
    table = polars.DataFrame(X, schema=["x", "y", "z"]).with_columns(polars.Series("group", names))
    table.write_parquet(tmp_path / "rows.parquet")
    words = ["fit", str(tmp_path / "rows.parquet"), "-k", "3", "-q", "--labels", "group", "-o", str(tmp_path / "model.json")]
    subprocess.run([os.environ["MIXTURA"], *words], check=True)
    Mixture(3).fit(table.drop("group"), labels=names).save(tmp_path / "ours.json")
    ours, theirs = (json.loads((tmp_path / name).read_text()) for name in ("ours.json", "model.json"))
    assert ours | {"columns": theirs["columns"]} == theirs


def test_stream(artificial):
    X, _, truth = artificial
    draws = truth.sample(60_000, 5)[0]
    for algorithm in ("em", "sem", "cem", "auto"):
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


def test_a_last_batch_of_three_rows_moves_the_model_by_three_rows(rows, artificial):
    """Batches of 500 rows, then three far from everything: they count for 3/500 of a batch."""
    model = GaussianMixture(3, random_state=0)
    for batch in rows.reshape(6, 500, 3):
        model.partial_fit(batch)
    before, score = model.means_.copy(), model.score(rows)
    centre = (model.weights_[:, np.newaxis] * model.means_).sum(0)
    odd = rows[:3] + 20
    model.partial_fit(odd)
    gain = 1 - (1 - 7**-0.6) ** (3 / 500)
    # Statistics are means over the rows: the mixture's mean moves by γ of the way to the batch's.
    after = (model.weights_[:, np.newaxis] * model.means_).sum(0)
    assert_allclose(after, (1 - gain) * centre + gain * odd.mean(0), rtol=1e-9)
    assert gain < 0.003 and model.score(rows) > score - 0.1
    assert 0 < np.abs(model.means_ - before).max()


def test_batches_of_one_size_count_as_they_always_did(rows):
    model = GaussianMixture(1, random_state=0, learning_decay=0.7, learning_offset=2, max_iter=0)
    mean = None
    for number, batch in enumerate(rows.reshape(6, 500, 3), 1):
        model.partial_fit(batch)
        gain = 1.0 if number == 1 else (number + 2) ** -0.7
        mean = batch.mean(0) if mean is None else (1 - gain) * mean + gain * batch.mean(0)
        assert_allclose(model.means_[0], mean, rtol=1e-10)


def test_a_batch_of_twice_the_size_counts_for_two(rows):
    for sizes in ([500, 1000], [500, 100], [500, 500, 7, 1500]):
        model = GaussianMixture(1, random_state=0, max_iter=0)
        mean, seen, at = None, 0, 0
        for number, size in enumerate(sizes, 1):
            batch, at = rows[at : at + size], at + size
            model.partial_fit(batch)
            usual = number**-0.6
            gain = 1.0 if number == 1 else 1 - (1 - usual) ** (size * (number - 1) / seen)
            mean = batch.mean(0) if mean is None else (1 - gain) * mean + gain * batch.mean(0)
            seen += size
            assert_allclose(model.means_[0], mean, rtol=1e-10)


def test_a_batch_weighs_what_its_rows_weigh(rows):
    weights = np.arange(300) % 3
    batches = rows[:1000], rows[1000:1300]
    weighted, repeated = (GaussianMixture(2, random_state=0).partial_fit(batches[0]) for _ in range(2))
    weighted.partial_fit(batches[1], sample_weight=weights)
    repeated.partial_fit(np.repeat(batches[1], weights, axis=0))
    assert_allclose(weighted.means_, repeated.means_, rtol=1e-9)


def test_batches_from_two_threads_are_refused_politely(rows):
    model = GaussianMixture(3, random_state=0)
    refusals = []

    def callback(round, likelihood):
        def learn():
            try:
                model.partial_fit(rows)
            except RuntimeError as error:
                refusals.append(str(error))

        thread = threading.Thread(target=learn)
        thread.start()
        thread.join()
        return True

    model.set_params(callback=callback).partial_fit(rows)
    assert len(refusals) == 1 and "already running on this estimator" in refusals[0]
    # Not for ever: the next batch comes through.
    model.set_params(callback=None).partial_fit(rows)
    assert model.n_batches_ == 2


@pytest.mark.parametrize("make", [lambda: GaussianMixture(3, random_state=0), lambda: Mixture(3)])
def test_scores_of_weighted_rows_are_those_of_repeated_rows(rows, make):
    counts = np.random.default_rng(0).integers(0, 4, len(rows))
    repeated = np.repeat(rows, counts, axis=0)
    model = make().fit(rows)
    for method in ("score", "bic", "aic", "icl"):
        weighted = getattr(model, method)(rows, sample_weight=counts)
        assert_allclose(weighted, getattr(model, method)(repeated), rtol=1e-10)
        assert weighted != getattr(model, method)(rows)
    with pytest.raises(ValueError):
        model.score(rows, sample_weight=counts[:5])


def test_moved_components_are_told_of(rows, start):
    far = dict(start, means_init=np.vstack([rows[5], rows[500], [1e5, 1e5, 1e5]]))
    with pytest.warns(ConvergenceWarning, match=r"moved to rows drawn from the data: component 2 in round 1\.") as told:
        GaussianMixture(3, max_iter=100, **far).fit(rows)
    assert told[0].filename == __file__
    lost = Model.from_parameters(
        "gaussian", "full", np.full(3, 1 / 3), [far["means_init"], np.tile(np.eye(3), (3, 1, 1))], []
    )
    with pytest.warns(ConvergenceWarning, match="component 2 in") as told:
        Mixture(3, init_params=lost, algorithm="em").fit(rows)
    assert told[0].filename == __file__


def test_what_the_command_can_mixture_can(rows):
    model = Mixture(3, sort=True, n_init=2).fit(rows)
    assert (np.diff(model.weights_) <= 0).all()
    scaled = Mixture(3, normalize=True, algorithm="em").fit(rows * [1, 1e6, 1e-6])
    plain = Mixture(3, algorithm="em").fit(rows)
    assert_allclose(scaled.lower_bound_, plain.lower_bound_, atol=1e-3)
    assert_allclose(scaled.score(rows * [1, 1e6, 1e-6]), scaled.lower_bound_, rtol=1e-12)
    for precision in ("certified", "double"):
        options = {"algorithm": "sem", "result": "last", "max_iter": 30, "n_init": 1}
        drawn = Mixture(3, precision=precision, **options).fit(rows)
        last = drawn.means_ if precision == "certified" else last
        assert_array_equal(drawn.means_, last)
    guarded = Mixture(3, guard=True, n_init=1).fit(rows)
    assert guarded.lower_bound_ >= Mixture(3, n_init=1).fit(rows).lower_bound_
    for wrong in (
        {"guard": True, "algorithm": "em"},
        {"accelerate": True, "algorithm": "sem"},
        {"result": "best", "algorithm": "em"},
        {"normalize": True, "covariance_type": "spherical"},
        {"normalize": True, "family": "poisson"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Mixture(3, **wrong).fit(np.abs(rows).round())


def test_labels_to_start_from(artificial):
    X, labels, _ = artificial
    names = np.array(["b", "c", "a"])[labels]
    model = Mixture(3, algorithm="em", max_iter=0).fit(X, labels=names)
    # Components come in the order of the labels' values.
    for at, name in enumerate("abc"):
        assert_allclose(model.means_[at], X[names == name].mean(0), rtol=1e-9)
    with pytest.raises(ValueError, match="2 different labels, but n_components is 3"):
        Mixture(3).fit(X, labels=labels > 0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Mixture(3).fit(X, labels=labels[:-1])


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_models_of_scikit_learn_are_taken_over(rows, covariance_type):
    frame = pandas.DataFrame(rows, columns=["a", "b", "c"])
    theirs = mixture.GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(frame)
    ours = GaussianMixture.from_sklearn(theirs)
    assert ours.get_params()["covariance_type"] == covariance_type and ours.converged_ == theirs.converged_
    for name in ("weights_", "means_", "covariances_", "precisions_", "lower_bounds_", "feature_names_in_"):
        assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert_array_equal(ours.predict(frame), theirs.predict(frame))
    assert_allclose(ours.score_samples(frame), theirs.score_samples(frame), rtol=1e-9)
    model = Model.from_sklearn(theirs)
    assert_array_equal(model.predict(rows), theirs.predict(frame))
    assert mixtura.bounds(theirs, frame)["weight_bound"].shape == (3,)
    fitted = Mixture(3, covariance_type=covariance_type, init_params=theirs, algorithm="em", max_iter=0).fit(frame)
    assert_allclose(fitted.means_, theirs.means_, rtol=1e-12)
    # Its own from here on.
    ours.means_[:] = 0
    assert theirs.means_.any()


def test_what_is_no_model_is_not_taken_over(rows):
    with pytest.raises(NotFittedError):
        GaussianMixture.from_sklearn(mixture.GaussianMixture(3))
    with pytest.raises(TypeError, match="BayesianGaussianMixture"):
        GaussianMixture.from_sklearn(mixture.BayesianGaussianMixture(3).fit(rows))
    with pytest.raises(TypeError, match="not ndarray"):
        Model.from_sklearn(rows)

    class Mine(mixture.GaussianMixture):
        def _estimate_log_weights(self, xp=None):
            return np.log(np.full(3, 1 / 3))

    with pytest.raises(ValueError, match="Mine overrides _estimate_log_weights"):
        GaussianMixture.from_sklearn(Mine(3).fit(rows))
