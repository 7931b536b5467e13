"""Creates the data and the initial model of a shape in the cache."""

import dataclasses
import hashlib
import json
import pathlib
import subprocess

from . import environments
from .places import DATA, HARNESS, INPUTS
from .process import Failed, raw_model
from .shapes import SEED


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Files of one shape: rows as NPY, the start as a model file and raw."""

    shape: object
    rows: pathlib.Path
    start_json: pathlib.Path
    start_raw: pathlib.Path

    def arguments(self, n_threads):
        """The command-line arguments of a peer."""
        shape = self.shape
        sizes = [shape.n_rows, shape.n_columns, shape.n_components]
        return [self.rows, *sizes, self.start_raw, shape.ridge, n_threads, shape.covariance]


def make(shape, program, install, suffix="npy"):
    """The inputs of a shape; `Failed` if real data are missing.

    The start is a k-means++ start by mixtura, the same file for every contestant; each covariance type
    has its own start on the same rows.
    """
    INPUTS.mkdir(parents=True, exist_ok=True)
    stem = f"{shape.data}-{shape.n_rows}"
    rows = INPUTS / f"{stem}.{suffix}"
    recipe = INPUTS / f"{stem}.recipe"
    # A change of the generator may change the result of a seed; then everything is recreated.
    data = dataclasses.replace(shape, name=shape.data, title="", covariance="full")
    wanted = json.dumps([dataclasses.asdict(data), SEED, digest(program)])
    if not recipe.exists() or recipe.read_text() != wanted:
        for old in INPUTS.glob(f"{stem}.*"):
            old.unlink()
    if not rows.exists():
        (convert if shape.real else generate)(shape, rows, program, install)
    start_json, start_raw = (INPUTS / f"{stem}.{shape.covariance}.start.{kind}" for kind in ("json", "raw"))
    if not start_json.exists():
        command = [program, "fit", rows, "-k", shape.n_components, "--rounds", 0, "--init", "kmeans++"]
        if shape.covariance != "full":  # the default, also of programs that support no other
            command += ["--covariance", shape.covariance]
        call([*command, "--seed", SEED, "--ridge", shape.ridge, "-q", "--output", start_json])
    with open(start_raw, "wb") as file:
        raw_model(json.loads(start_json.read_text())).tofile(file)
    recipe.write_text(wanted)
    return Inputs(shape, rows, start_json, start_raw)


def generate(shape, rows, program, _install):
    command = [program, "generate", "--dimension", shape.n_columns, "-k", shape.n_components, "-n", shape.n_rows]
    call([*command, "--separation", shape.separation, "--seed", SEED, "--output", rows])


def convert(shape, rows, _program, install):
    source = DATA / f"{shape.real}.parquet"
    if not source.exists():
        raise Failed(f"data/{shape.real}.parquet is missing; run data/get {shape.real} to download it")
    python = environments.python("base", install)
    call([python, HARNESS / "convert.py", source, shape.n_rows, rows])


def digest(program):
    return hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()[:16]


def call(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"`{' '.join(map(str, command[:2]))} …` failed: {(done.stderr or done.stdout).strip()}")
