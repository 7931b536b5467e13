"""Records the best rate of multiply-adds that matrix products have reached so far in this run."""

from . import environments, machine
from .places import HARNESS
from .process import Worker

SIZE = 2048
PATIENCE = 120
FIRST = 3  # products
# OpenBLAS does not know every new processor and may use kernels for an older one.
WIDE = {"OPENBLAS_CORETYPE": "SkylakeX"}


class Peak:
    """Peak rates in multiply-adds per second, with the faster kernels; measured again between contestants."""

    def __init__(self, n_threads, install):
        python = environments.python("base", install)
        has_wide = "avx512f" in machine.machine()["vectors"]
        rivals = []
        for variables in [{}, WIDE] if has_wide else [{}]:
            log = f"gemm-{n_threads}-{len(rivals)}"
            self.worker = Worker([python, HARNESS / "gemm.py"], [], n_threads, log, PATIENCE, variables)
            self.best = {"double": 0.0, "single": 0.0}
            self.measure(FIRST)
            rivals.append((self.best["double"], self.best, self.worker))
        _, self.best, self.worker = max(rivals, key=lambda rival: rival[0])
        for _, _, worker in rivals:
            if worker is not self.worker:
                worker.close()

    def measure(self, n_products=1):
        for name in self.best:
            for _ in range(n_products):
                seconds = float(self.worker.ask(name, PATIENCE))
                self.best[name] = max(self.best[name], SIZE**3 / seconds)

    def close(self):
        self.worker.close()
