"""Bucket ids of rows of bucketed tables, without Spark (``ObjectInspectorUtils.getBucketNumber``).

Bucketing version 2 applies ``Murmur3`` to the bytes of a value (``hashCodeMurmur``). Version 1 uses
Java's hash codes (``hashCode``). ``bridge.hashes`` computes the same ids in Spark.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Table
from acidsql.streaming.column_types import ColumnType

_SEED = 104_729
_MASK = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
_EPOCH = date(1970, 1, 1).toordinal()
_BYTE_SIGN = 0x80

_Hash = Callable[..., int]


def check_bucket_columns(table: Table, types: Sequence[ColumnType]) -> None:
    """Refuse bucket columns of types for which the hash could differ from Hive's.

    Args:
        table: the table.
        types: types of its columns.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.BUCKET_COLUMN_TYPE.
    """
    for column, declared in zip(table.columns, types, strict=True):
        if column.name in table.bucket_columns and not _can_hash(declared.arrow):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.BUCKET_COLUMN_TYPE",
                f"{table.full_name} is bucketed by {column.name}, of type {column.type}, whose "
                "hash code is not known: bucket by numbers, strings or dates",
            )


def bucket_ids(
    columns: Sequence[pa.Array], types: Sequence[ColumnType], version: int, buckets: int
) -> npt.NDArray[np.int64]:
    """Return the bucket id of each row.

    Args:
        columns: values of the bucket columns, in their order.
        types: their types.
        version: bucketing version, 1 or 2.
        buckets: number of buckets.
    """
    code = np.zeros(len(columns[0]), np.int64)
    for values, declared in zip(columns, types, strict=True):
        hashed = _hash_codes(values, declared, version)
        code = (code * 31 + hashed).astype(np.int32).astype(np.int64)
    ids: npt.NDArray[np.int64] = (code & _POSITIVE) % buckets
    return ids


def murmur(octets: bytes) -> int:
    """Return Hive's ``Murmur3.hash32`` of some bytes, a signed 32-bit integer.

    >>> murmur(b"hello")
    1321743225
    """
    code, length = _SEED, len(octets)
    whole = length - length % 4
    for (word,) in struct.iter_unpack("<I", octets[:whole]):
        code ^= _mixed(word)
        code = (_rotated(code, 13) * 5 + 0xE6546B64) & _MASK
    rest = 0
    # The remaining bytes are signed, as in Java.
    for position in reversed(range(whole, length)):
        octet = octets[position]
        rest ^= (octet - 256 if octet >= _BYTE_SIGN else octet) << 8 * (position - whole)
    if whole < length:
        code ^= _mixed(rest & _MASK)
    code ^= length
    code = (code ^ code >> 16) * 0x85EBCA6B & _MASK
    code = (code ^ code >> 13) * 0xC2B2AE35 & _MASK
    return _signed(code ^ code >> 16)


def _mixed(word: int) -> int:
    return _rotated(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK


def _signed(word: int) -> int:
    word &= _MASK
    return word - (1 << 32) if word >> 31 else word


def _can_hash(data_type: pa.DataType) -> bool:
    nested = pa.types.is_nested(data_type)
    return not (nested or pa.types.is_timestamp(data_type) or pa.types.is_binary(data_type))


def _hash_codes(values: pa.Array, declared: ColumnType, version: int) -> npt.NDArray[np.int64]:
    """Return the hash code of each value; NULL has hash code 0."""
    if declared.kind == "char":
        values = pc.utf8_rtrim(values, " ")
    encoded = values.dictionary_encode()
    hash_code = _hash_function(declared.arrow, version)
    distinct = [hash_code(value) for value in encoded.dictionary.to_pylist()]
    codes = np.array([*distinct, 0], np.int64)
    indices = pc.fill_null(encoded.indices, len(distinct)).to_numpy(zero_copy_only=False)
    hashed: npt.NDArray[np.int64] = codes[indices]
    return hashed


def _hash_function(data_type: pa.DataType, version: int) -> _Hash:
    for is_type, java, octets in _FUNCTIONS:
        if is_type(data_type):
            if version == 1:
                return java
            return int if octets is None else partial(_murmur_of, octets)
    raise AssertionError(data_type)  # refused by check_bucket_columns


def _murmur_of(octets: Callable[..., bytes], value: object) -> int:
    return murmur(octets(value))


def _days(value: date) -> int:
    return value.toordinal() - _EPOCH


def _java_long(value: int) -> int:
    return _signed(value ^ (value & 0xFFFFFFFFFFFFFFFF) >> 32)


def _float_bits(value: float) -> int:
    return 0x7FC00000 if value != value else int(struct.unpack(">i", struct.pack(">f", value))[0])  # noqa: PLR0124 - NaN


def _double_bits(value: float) -> int:
    if value != value:  # noqa: PLR0124 - NaN
        return 0x7FF8000000000000
    return int(struct.unpack(">q", struct.pack(">d", value))[0])


def _float_octets(value: float) -> bytes:
    # Hive converts the bits, as an integer, to a float, and hashes the bits of this float.
    return struct.pack(">f", float(_float_bits(value)))


def _double_octets(value: float) -> bytes:
    return struct.pack(">d", float(_double_bits(value)))


def _java_string(value: str) -> int:
    code = 0
    for octet in value.encode():
        code = (code * 31 + (octet - 256 if octet >= _BYTE_SIGN else octet)) & _MASK
    return _signed(code)


def _unscaled(value: Decimal) -> tuple[int, int]:
    """Return the unscaled value and the scale of a decimal without its trailing zeros."""
    sign, digits, exponent = value.normalize().as_tuple()
    number = int("".join(map(str, digits)))
    scale = -int(exponent)
    if scale < 0:
        number, scale = number * 10**-scale, 0
    return (-number if sign else number), scale


def _decimal_octets(value: Decimal) -> bytes:
    number, _ = _unscaled(value)
    length = ((number + (number < 0)).bit_length()) // 8 + 1
    return number.to_bytes(length, "big", signed=True)


def _java_decimal(value: Decimal) -> int:
    number, scale = _unscaled(value)
    magnitude, code = abs(number), 0
    words = []
    while magnitude:
        magnitude, word = divmod(magnitude, 1 << 32)
        words.append(word)
    for word in reversed(words):
        code = (code * 31 + word) & _MASK
    return _signed(31 * (-code if number < 0 else code) + scale)


# For each type: the hash code of version 1, and the bytes that version 2 hashes (None: the value).
_FUNCTIONS: tuple[tuple[Callable[[pa.DataType], bool], _Hash, Callable[..., bytes] | None], ...] = (
    (pa.types.is_boolean, int, None),
    (pa.types.is_int8, int, None),
    (pa.types.is_int16, int, lambda value: struct.pack(">h", value)),
    (pa.types.is_int32, int, lambda value: struct.pack(">i", value)),
    (pa.types.is_int64, _java_long, lambda value: struct.pack(">q", value)),
    (pa.types.is_date32, _days, lambda value: struct.pack(">i", _days(value))),
    (pa.types.is_float32, _float_bits, _float_octets),
    (pa.types.is_float64, lambda value: _java_long(_double_bits(value)), _double_octets),
    (pa.types.is_string, _java_string, str.encode),
    (pa.types.is_decimal, _java_decimal, _decimal_octets),
)
