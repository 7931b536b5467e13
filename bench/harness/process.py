"""Communicates with the measured programs: workers that keep the data in memory, and the mixtura command."""

import array
import csv
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

from .places import LOGS, SCRATCH

LAUNCHER = Path(__file__).parent / "launch.py"


class Failed(Exception):
    """Why a contestant has no result."""


def thread_variables(n_threads):
    names = ["OMP", "OPENBLAS", "MKL", "RAYON", "MATMUL", "NUMEXPR"]
    return {**os.environ, **{f"{name}_NUM_THREADS": str(n_threads) for name in names}}


class Worker:
    """A program that has loaded the data and answers commands; peers/README.md describes the protocol."""

    def __init__(self, command, arguments, n_threads, log, patience, variables=None):
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = open(LOGS / f"{log}.log", "w")
        self.process = subprocess.Popen(
            [str(part) for part in [*command, *arguments]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**thread_variables(n_threads), **(variables or {})},
            start_new_session=True,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.version = self._answer("ready", patience)

    def _listen(self):
        for line in self.process.stdout:
            if line.startswith("@ "):
                self.lines.put(line[2:].strip())
            else:
                self.log.write(line)
        self.lines.put(None)

    def _answer(self, expected, patience):
        try:
            line = self.lines.get(timeout=patience)
        except queue.Empty:
            self.close(kill=True)
            raise Failed(f"no answer within {patience:.0f} s") from None
        if line is None:
            self.close(kill=True)
            raise Failed(f"ended unexpectedly: {self._last_words()}")
        verb, _, rest = line.partition(" ")
        if verb != expected:
            raise Failed(rest or line)
        return rest

    def _last_words(self):
        self.log.flush()
        with open(self.log.name, errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
        return lines[-1] if lines else "no output"

    def ask(self, line, patience):
        if self.process.poll() is not None:
            raise Failed("is no longer running")
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._answer("ok", patience)

    def fit(self, n_rounds, model, patience):
        """Seconds of one whole run; its model, if the peer provides one, is written to the file `model`."""
        return float(self.ask(f"fit {n_rounds} {model}", patience))

    def close(self, kill=False):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(0 if kill else 10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


class Mixtura:
    """The mixtura command on one data set; each run is a process, as for users."""

    def __init__(self, program, options, inputs, n_threads):
        self.program, self.options, self.inputs, self.n_threads = program, options, inputs, n_threads
        self.version = ""
        self.traces = []
        self.peak_bytes = 0
        self.last_model = None

    def fit(self, n_rounds, model, patience):
        SCRATCH.mkdir(parents=True, exist_ok=True)
        output, trace = SCRATCH / "mixtura.json", SCRATCH / "mixtura.csv"
        shape = self.inputs.shape
        command = [self.program, "fit", self.inputs.rows, "-k", shape.n_components, "--init-model", self.inputs.start_json]
        command += ["--rounds", n_rounds, "--tolerance", 0, "--regularization", 0, "--ridge", shape.ridge]
        command += ["--threads", self.n_threads, "-q", "--output", output, "--trace", trace, *self.options]
        report = SCRATCH / "mixtura.run"
        with open(LOGS / "mixtura.log", "w") as log:
            launch = [sys.executable, "-S", LAUNCHER, report, *command]
            subprocess.run([str(part) for part in launch], stdout=log, stderr=log, check=True)
        exit_code, seconds, peak_bytes = report.read_text().split()
        if int(exit_code):
            raise Failed((LOGS / "mixtura.log").read_text().strip().replace("\n", "; ") or f"exit code {exit_code}")
        self.peak_bytes = max(self.peak_bytes, int(peak_bytes))
        self._read_trace(trace, n_rounds)
        self.last_model = json.loads(output.read_text())
        raw_model(self.last_model).tofile(open(model, "wb"))
        return float(seconds)

    def _read_trace(self, path, n_rounds):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        if len(rows) != n_rounds + 1:
            raise Failed(f"ran {len(rows) - 1} of {n_rounds} rounds")
        self.traces.append(
            {
                "likelihoods": [float(row["mean_log_likelihood"]) for row in rows],
                "seconds": [float(row["seconds"]) for row in rows],
            }
        )

    def close(self, kill=False):
        pass


def raw_model(model):
    """The weights, means and covariances of a model file, in the peers' format."""
    return array.array("d", [value for name in ("weights", "means", "covariances") for value in flat(model[name])])


def flat(values):
    """The numbers in nested lists of any depth, which depends on the covariance type."""
    for value in values:
        if isinstance(value, list):
            yield from flat(value)
        else:
            yield value
