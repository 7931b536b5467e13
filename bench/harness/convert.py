"""Converts a Parquet file of real data to NPY or to raw f64 (.f64), with each column scaled to [0, 1].

Runs in the base environment: convert.py PARQUET ROWS TARGET [COLUMNS]. Fewer rows are spread over the file; with
COLUMNS, only so many of the first columns are kept.
"""

import sys

import numpy as np
from pyarrow import parquet

source, n_rows, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
table = parquet.read_table(source)
columns = table.columns[: int(sys.argv[4])] if len(sys.argv) > 4 else table.columns
rows = np.stack([column.to_numpy() for column in columns], axis=1).astype(np.float64)
rows = (rows - rows.min(axis=0)) / (rows.max(axis=0) - rows.min(axis=0))
rows = np.ascontiguousarray(rows[np.linspace(0, len(rows) - 1, n_rows).astype(int)])
if target.endswith(".f64"):
    rows.astype("<f8").tofile(target)
else:
    np.save(target, rows)
