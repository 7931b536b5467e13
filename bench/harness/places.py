"""Names the folders and files that the harness reads and writes."""

import pathlib

BENCH = pathlib.Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
PEERS = BENCH / "peers"
HARNESS = BENCH / "harness"
DATA = ROOT / "data"
CACHE = BENCH / ".cache"
ENVIRONMENTS = CACHE / "environments"
PROGRAMS = CACHE / "programs"
INPUTS = CACHE / "inputs"
SCRATCH = CACHE / "scratch"
LOGS = CACHE / "logs"
