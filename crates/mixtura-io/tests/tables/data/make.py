"""Makes the small Parquet files that the tests read, and prints the NPY files they hold as bytes.

Run in this folder: python make.py (pyarrow and numpy are needed; the files here were made with
pyarrow 26.0.1 and numpy 2.4.6).
"""

import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N = 5
index = np.arange(N)
every = pa.table({
    "f16": pa.array((index / 4).astype(np.float16)),
    "f32": pa.array((index / 3).astype(np.float32)),
    "f64": pa.array(index / 3),
    "i8": pa.array(-index, pa.int8()),
    "i16": pa.array(-index * 1000, pa.int16()),
    "i32": pa.array(-index * 100_000, pa.int32()),
    "i64": pa.array(-index * 2**40, pa.int64()),
    "u8": pa.array(index * 50, pa.uint8()),
    "u16": pa.array(index * 10_000, pa.uint16()),
    "u32": pa.array(index * 10**9, pa.uint32()),
    "u64": pa.array(index * 2**50, pa.uint64()),
    "flag": pa.array(index % 2 == 0),
    "price": pa.array([decimal.Decimal(int(i)) / 10 for i in index], pa.decimal128(9, 2)),
    "text": pa.array(["b", "a", "b", "c", "a"]),
    "category": pa.array(["y", "x", "y", "x", "y"]).dictionary_encode(),
    "time": pa.array(index, pa.timestamp("us")),
    "list": pa.array([[1.0]] * N),
})
pq.write_table(every, "types.parquet", row_group_size=2, compression="zstd")

single = pa.table({"x": pa.array([0.5, 1.5, 2.5], pa.float32()), "y": pa.array([1, 2, 3], pa.float32())})
pq.write_table(single, "single.parquet", compression="snappy")

holes = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, None, 4.0], "z": [1.0, float("nan"), 2.0, 3.0],
                  "id": pa.array([1, 2, 3, 2**53 + 1], pa.int64())})
pq.write_table(holes, "holes.parquet", row_group_size=2, compression="none")

pq.write_table(pa.table({"x": pa.array([], pa.float64())}), "norows.parquet")


def show(name, array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    print(name, buffer.getvalue())


matrix = np.array([[1.5, 2.0, -3.25], [4.0, 0.1, 6.0]])
show("C_F8", matrix)
show("FORTRAN_F8", np.asfortranarray(matrix))
show("F4", matrix.astype("<f4"))
show("I8", np.array([[1, -2], [3, 2**53]], "<i8"))
show("BIG_F8", matrix.astype(">f8"))
