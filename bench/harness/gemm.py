"""Times one product of two 2048×2048 matrices through numpy's BLAS, to calibrate the machine's peak.

Runs in the base environment; a line `double` or `single` is answered by `@ ok SECONDS`.
"""

import sys
import time

import numpy as np

SIZE = 2048

matrices = {
    "double": np.random.default_rng(1).random((SIZE, SIZE)),
    "single": np.random.default_rng(1).random((SIZE, SIZE), dtype=np.float32),
}
products = {name: np.empty_like(matrix) for name, matrix in matrices.items()}
print("@ ready", np.__version__, flush=True)
for line in sys.stdin:
    name = line.strip()
    begin = time.perf_counter()
    np.matmul(matrices[name], matrices[name], out=products[name])
    print("@ ok", time.perf_counter() - begin, flush=True)
