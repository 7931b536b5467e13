"""Records the best rate of multiply-adds that matrix products have reached so far in this run."""

from . import environments
from .places import HARNESS
from .process import Worker

SIZE = 2048
PATIENCE = 120


class Peak:
    """Peak rates in multiply-adds per second; measured again between contestants."""

    def __init__(self, n_threads, install):
        python = environments.python("base", install)
        self.worker = Worker([python, HARNESS / "gemm.py"], [], n_threads, f"gemm-{n_threads}", PATIENCE)
        self.best = {"double": 0.0, "single": 0.0}
        self.measure(3)

    def measure(self, n_products=1):
        for name in self.best:
            for _ in range(n_products):
                seconds = float(self.worker.ask(name, PATIENCE))
                self.best[name] = max(self.best[name], SIZE**3 / seconds)

    def close(self):
        self.worker.close()
