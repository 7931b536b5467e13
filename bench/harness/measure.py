"""Measures all contestants on one shape, interleaved, and checks that they did the same work.

The time of a round is the best of several long runs less the best of several short ones, divided by
the rounds between them: set-up, reading and a last evaluation cancel. A time counts only if the
model after the last round has, by the judge, the likelihood that the others reached.
"""

import dataclasses
import pathlib
import re
import statistics
import struct

from . import environments, inputs
from .places import HARNESS, SCRATCH
from .process import Failed, Mixtura, Worker

AGREEMENT = 1e-6  # nats per row
SHORT = 2
LEAST = 3  # minimum difference in rounds between the short and the long run, if the budget allows


@dataclasses.dataclass(frozen=True)
class Settings:
    """How much effort a measurement may take."""

    n_threads: int = 2
    repetitions: int = 7
    # Target for the difference in seconds between the short and the long run.
    goal: float = 1.0
    # Seconds for all runs of a contestant on a shape.
    budget: float = 60.0
    install: bool = True


class Entry:
    """One contestant on one shape: its runner, its plan and its times."""

    def __init__(self, contestant):
        self.contestant = contestant
        self.runner = None
        self.short, self.long, self.repetitions = SHORT, SHORT + 1, 1
        self.times = {"short": [], "long": []}
        self.model = SCRATCH / f"{contestant.name}.raw"
        self.skipped = None
        self.version = None

    def run(self, which, patience=None):
        n_rounds = getattr(self, which)
        self.times[which].append(self.runner.fit(n_rounds, self.model, patience or self.patience))

    def run_both(self):
        """Does a short and a long run. A peer that stops early because it has converged gets fewer rounds."""
        try:
            self.run("short")
            self.run("long")
        except Failed as reason:
            stopped = re.search(r"stopped after (\d+) of", str(reason))
            if not stopped or int(stopped[1]) < 2:
                raise
            # The round at which it stops may vary slightly between runs, with its order of summation.
            self.long = max(2, int(0.8 * int(stopped[1])))
            self.short = max(1, min(self.short, self.long - 2))
            self.times = {"short": [], "long": []}
            self.run("short")
            self.run("long")

    def seconds_per_round(self):
        return (min(self.times["long"]) - min(self.times["short"])) / (self.long - self.short)

    def skip(self, reason):
        self.skipped = str(reason)
        if self.runner:
            self.runner.close(kill=True)


def measure(shape, contestants, program, settings, peak):
    """The results of a shape: `contestants` are pairs of a contestant and its command or a reason."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    given = inputs.make(shape, program, settings.install)
    entries = []
    for contestant, command in contestants:
        entry = Entry(contestant)
        entries.append(entry)
        try:
            begin(entry, command, given, program, settings)
        except (Failed, environments.Unavailable) as reason:
            entry.skip(reason)
    try:
        interleave(entries, peak)
        checks = verify(entries, given, settings)
    finally:
        for entry in entries:
            if entry.runner:
                entry.runner.close()
    return {entry.contestant.name: result(entry, shape, checks) for entry in entries}


def begin(entry, command, given, program, settings):
    """Start a contestant and choose its rounds and repetitions according to its speed."""
    shape, contestant = given.shape, entry.contestant
    if isinstance(command, Exception):
        raise Failed(command)
    if why_not := contestant.why_not(shape.covariance):
        raise Failed(why_not)
    if shape.is_singular and contestant.prepare is not None:
        raise Failed("the covariance is singular without a ridge")
    if shape.ridge and not contestant.takes_ridge and contestant.needs_ridge:
        raise Failed("the covariance is singular and it does not support a ridge")
    if contestant.prepare is None:
        entry.runner = Mixtura(program, contestant.options, given, settings.n_threads)
        entry.runner.fit(3, entry.model, settings.budget)
        estimate = statistics.median(entry.runner.traces[-1]["seconds"][2:])
    else:
        estimate = probe(contestant, command, given, settings)
        patience = contestant.loading + 3 * settings.budget
        entry.runner = Worker(command, given.arguments(settings.n_threads), settings.n_threads, f"{shape.name}-{contestant.name}", patience)
        entry.version = entry.runner.version
        estimate = time_round(entry.runner, entry.model, settings) if estimate is None or 6 * estimate < settings.budget else estimate
    plan(entry, estimate, shape, settings)


def probe(contestant, command, given, settings):
    """Seconds per round, estimated from the first rows; None if the data are small or these rows are too few."""
    shape = given.shape
    n_rows = max(contestant.least_rows, 8 * shape.n_components * shape.n_columns)
    if 4 * n_rows >= shape.n_rows:
        return None
    part = first_rows(given, n_rows)
    worker = Worker(command, part.arguments(settings.n_threads), settings.n_threads, f"{shape.name}-{contestant.name}-probe", contestant.loading)
    try:
        seconds = time_round(worker, SCRATCH / "probe.raw", settings) * shape.n_rows / n_rows
    except Failed as reason:
        if "no answer" in str(reason):
            raise
        return None
    finally:
        worker.close()
    refuse_slow(seconds, settings)
    return seconds


def refuse_slow(seconds, settings):
    """The minimum that can be measured is a run of one round and a run of two."""
    if 3 * seconds > settings.budget:
        raise Failed(f"about {seconds:.3g} s per round; the budget is {settings.budget:.0f} s for all its runs")


def time_round(runner, model, settings):
    """Seconds per round, from short runs; for a slow contestant only a bound, from one run."""
    patience = 2 * settings.budget + 5
    first = runner.fit(1, model, patience)  # also warms up
    if 2 * first > settings.budget:
        return first
    one = runner.fit(1, model, patience)
    if 5 * one > settings.budget:
        return one
    three = runner.fit(3, model, patience)
    return (three - one) / 2 if three > one else three / 3


def plan(entry, estimate, shape, settings):
    refuse_slow(estimate, settings)
    estimate = max(estimate, 1e-6)
    rounds = round(settings.goal * entry.contestant.weight / estimate)
    entry.short = SHORT if (2 * SHORT + 1) * estimate < settings.budget else 1
    most = max(1, int(settings.budget / estimate) - 2 * entry.short)
    entry.long = entry.short + max(1, min(max(rounds, LEAST), shape.most_rounds, most))
    pair = (entry.short + entry.long) * estimate
    entry.repetitions = max(1, min(settings.repetitions, int(settings.budget / pair)))
    entry.patience = 60 + 10 * pair


def first_rows(given, n_rows):
    """The same inputs with only the first rows."""
    path = SCRATCH / "first.npy"
    with open(given.rows, "rb") as file:
        opening = file.read(10)
        file.seek(10 + struct.unpack("<H", opening[8:10])[0])
        values = file.read(8 * n_rows * given.shape.n_columns)
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n_rows}, {given.shape.n_columns}), }}"
    header = header.ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)
    return dataclasses.replace(given, shape=dataclasses.replace(given.shape, n_rows=n_rows), rows=path)


def interleave(entries, peak):
    """Run every contestant's short and long run in turn, with the calibration between them."""
    for repetition in range(max(entry.repetitions for entry in entries)):
        for entry in entries:
            if entry.skipped or repetition >= entry.repetitions:
                continue
            try:
                entry.run_both()
            except Failed as reason:
                entry.skip(reason)
            if peak:
                peak.measure()


def verify(entries, given, settings):
    """The judge's likelihood of each EM contestant and its difference from mixtura's after the same number of rounds.

    Nothing to judge where covariances are singular but for mixtura's floor: rounding their entries to
    doubles moves the likelihood by some hundredths of a nat per row, and only mixtura fits them.
    """
    checks = {}
    measured = [entry for entry in entries if not entry.skipped]
    if given.shape.is_singular:
        return same_draws(measured)
    comparable = [entry for entry in measured if entry.contestant.algorithm == "em" and entry.contestant.takes_start]
    own = next((entry for entry in comparable if isinstance(entry.runner, Mixtura)), None)
    if own is None:
        return checks
    longest = max(comparable, key=lambda entry: entry.long).long
    if longest > own.long:
        own.runner.fit(longest, SCRATCH / "longest.raw", None)
    likelihoods = max((trace["likelihoods"] for trace in own.runner.traces), key=len)
    try:
        python = environments.python("base", False)
        judge = Worker([python, HARNESS / "judge.py"], given.arguments(settings.n_threads), settings.n_threads, "judge", 120)
    except (Failed, environments.Unavailable):
        return checks
    for entry in comparable:
        try:
            likelihood = float(judge.ask(str(entry.model), 600))
        except Failed as reason:
            entry.skip(f"its model has no likelihood: {reason}")
            continue
        checks[entry.contestant.name] = {"likelihood": likelihood, "difference": likelihood - likelihoods[entry.long]}
    judge.close()
    agreeing = [name for name, check in checks.items() if abs(check["difference"]) <= AGREEMENT]
    for name, check in checks.items():
        check["agrees"] = name in agreeing
    # The others are compared with mixtura: if there are several and none agrees, mixtura is wrong.
    if own.contestant.name in checks:
        confirmed = [name for name in agreeing if name != own.contestant.name]
        checks[own.contestant.name]["confirmed_by"] = confirmed
        if len(checks) > 2 and not confirmed:
            checks[own.contestant.name]["agrees"] = False
    checks.update(same_draws(measured))
    return checks


def same_draws(entries):
    """Whether SEM gives the same bits in both precisions, if it has two."""
    runners = {entry.contestant.name: entry for entry in entries if entry.contestant.name.startswith("mixtura-sem")}
    if len(runners) < 2:
        return {}
    models = []
    for entry in runners.values():
        entry.runner.fit(3, SCRATCH / "draws.raw", None)
        models.append(pathlib.Path(SCRATCH / "draws.raw").read_bytes())
    return {"mixtura-sem": {"same_bits_as_double": models[0] == models[1]}}


# The difference of two single runs, one round apart, is mostly noise.
ONE_ROUND = "only one round fits into the budget"


def result(entry, shape, checks):
    """The recorded results of a contestant on a shape."""
    kept = {"title": entry.contestant.title, "algorithm": entry.contestant.algorithm}
    if entry.version:
        kept["version"] = entry.version
    if not entry.skipped and entry.seconds_per_round() <= 0:
        entry.skipped = "its long run was no slower than its short run: too little work to time"
    if not entry.skipped and entry.long - entry.short < 2 and len(entry.times["long"]) < 2:
        entry.skipped = ONE_ROUND
    if entry.skipped:
        return {**kept, "skipped": entry.skipped}
    seconds = entry.seconds_per_round()
    kept.update(
        nanoseconds=1e9 * seconds / shape.n_pairs,
        seconds_per_round=seconds,
        rounds=[entry.short, entry.long],
        seconds=entry.times,
        counts=True,
        **checks.get(entry.contestant.name, {}),
    )
    if kept.get("agrees") is False:
        kept["counts"] = False
    if isinstance(entry.runner, Mixtura):
        # The first round also warms caches and threads.
        rounds = [value for trace in entry.runner.traces for value in trace["seconds"][2:]]
        kept["trace"] = {
            "best_nanoseconds": 1e9 * min(rounds) / shape.n_pairs,
            "median_nanoseconds": 1e9 * statistics.median(rounds) / shape.n_pairs,
        }
        kept["peak_bytes"] = entry.runner.peak_bytes
    return kept
