"""Makes the small Parquet and Arrow files that the tests read, and prints the NPY files they hold as bytes.

Run in this folder: python make.py (pyarrow and numpy are needed; the files here were made with
pyarrow 26.0.1 and numpy 2.4.6).
"""

import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
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
feather.write_feather(single, "single.feather")

holes = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, None, 4.0], "z": [1.0, float("nan"), 2.0, 3.0],
                  "id": pa.array([1, 2, 3, 2**53 + 1], pa.int64())})
pq.write_table(holes, "holes.parquet", row_group_size=2, compression="none")

norows = pa.table({"x": pa.array([], pa.float64())})
pq.write_table(norows, "norows.parquet")


def write_arrow(name, new_writer, tables, codec):
    with new_writer(name, tables[0].schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
        for table in tables:
            writer.write_table(table)


def decimals(kind):
    return pa.array([decimal.Decimal(int(i)) / 10 for i in index], kind)


# Types that Parquet does not have; the nested ones come first, so that all others lie behind them.
arrow_only = {
    "nothing": pa.nulls(N),
    "struct": pa.array([{"a": 1, "b": "x"}] * N),
    "map": pa.array([[("k", 1)]] * N, pa.map_(pa.string(), pa.int8())),
    "pair": pa.array([[1.0, 2.0]] * N, pa.list_(pa.float64(), 2)),
    "view of list": pa.array([[1]] * N, pa.list_view(pa.int8())),
    "sparse": pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [pa.array(index), pa.array(["x"] * N)]),
    "dense": pa.UnionArray.from_dense(pa.array([0] * N, pa.int8()), pa.array(index, pa.int32()), [pa.array(index)]),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, N], pa.int16()), pa.array([1.0, 2.0])),
    "bytes": pa.array([b"a longer run of bytes"] * N, pa.binary_view()),
    "fixed": pa.array([b"abc"] * N, pa.binary(3)),
    "view": pa.array(["b", "a", "b", "a name longer than others", "a"], pa.string_view()),
    "large": pa.array(["b", "a", "b", "c", "a"], pa.large_string()),
    "d32": decimals(pa.decimal32(9, 2)),
    "d64": decimals(pa.decimal64(9, 2)),
    "d256": decimals(pa.decimal256(40, 2)),
    "code": pa.array([10, 20, 10, 30, 20], pa.int64()).dictionary_encode(),
    "code32": pa.array([0.5, 0.25, 0.5, 0.75, 0.25], pa.float32()).dictionary_encode(),
}
everything = pa.table(arrow_only | {name: every[name] for name in every.column_names})
parts = [everything.slice(first, 2) for first in range(0, N, 2)]
write_arrow("types.arrow", ipc.new_file, parts, "zstd")
write_arrow("plain.arrow", ipc.new_file, [everything], None)


def with_own_dictionary(column):
    return column.cast(column.type.value_type).dictionary_encode() if pa.types.is_dictionary(column.type) else column


# In a stream, every batch may have dictionaries of its own.
parts = [pa.table({name: with_own_dictionary(part[name]) for name in part.column_names}) for part in parts]
write_arrow("types.arrows", ipc.new_stream, parts, "lz4")

write_arrow("holes.arrow", ipc.new_file, [holes.slice(0, 2), holes.slice(2, 2)], None)
write_arrow("packed.arrow", ipc.new_file, [holes], "lz4")
write_arrow("norows.arrow", ipc.new_file, [norows], None)


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
