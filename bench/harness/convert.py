"""Converts a Parquet file of real data to NPY, with each column scaled to [0, 1].

Runs in the base environment: convert.py PARQUET ROWS NPY. Fewer rows are spread over the file.
"""

import sys

import numpy as np
from pyarrow import parquet

source, n_rows, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
table = parquet.read_table(source)
rows = np.stack([column.to_numpy() for column in table.columns], axis=1).astype(np.float64)
rows = (rows - rows.min(axis=0)) / (rows.max(axis=0) - rows.min(axis=0))
np.save(target, np.ascontiguousarray(rows[np.linspace(0, len(rows) - 1, n_rows).astype(int)]))
