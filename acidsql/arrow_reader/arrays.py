"""Conversion between Arrow and numpy arrays that never imports pandas.

Some of Arrow's functions import pandas if it is installed. The import would take most of the time
of a program that reads a few rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def array_of(
    values: npt.NDArray[np.integer], data_type: pa.DataType, valid: pa.Array | None = None
) -> pa.Array:
    """Return an Arrow array with numbers as its buffer.

    Args:
        values: numbers with the width of the type, shape (rows,).
        data_type: type of fixed width.
        valid: booleans, false where the array is NULL; None if no value is NULL.
    """
    mask = None if valid is None else valid.buffers()[1]
    content = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(data_type, len(values), [mask, content])


def mask_of(wanted: npt.NDArray[np.bool_]) -> pa.Array:
    """Convert booleans of shape (rows,) to an Arrow array."""
    bits = np.packbits(wanted, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(wanted), [None, pa.py_buffer(bits)])


def numbers_of(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return integers as an array of shape (rows,); the value of a NULL is undefined."""
    if isinstance(values, pa.ChunkedArray):
        return np.concatenate([np.empty(0, np.int64), *map(numbers_of, values.chunks)])
    stored = np.frombuffer(values.buffers()[1], f"i{values.type.bit_width // 8}")
    return stored[values.offset : values.offset + len(values)].astype(np.int64, copy=False)


def booleans_of(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Return booleans without NULL as an array of shape (rows,)."""
    return numbers_of(values.cast(pa.int8())).astype(np.bool_)
