"""Destinations of rows: the partition of their values, and the bucket of their hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.model import Table
from acidsql.streaming.assignment import Rules, partition_texts
from acidsql.streaming.batch import BucketDestination
from acidsql.streaming.column_types import ColumnType
from acidsql.streaming.hashing import bucket_ids


def destinations(
    rows: pa.Table,
    table: Table,
    types: Sequence[ColumnType],
    partition: tuple[str, ...] | None,
    rules: Rules,
) -> Iterator[tuple[BucketDestination, pa.Table]]:
    """Yield the rows of each destination in their order, without the partition columns.

    Args:
        rows: rows with the table's columns, and its partition columns unless ``partition`` is
            given.
        table: the table.
        types: types of the columns that are stored in files.
        partition: values of the one partition.
        rules: rules with the time zone of timestamps in partition columns.
    """
    data = rows.select([column.name for column in table.columns])
    buckets = _buckets(data, table, types)
    numbers = np.zeros(len(rows), np.int64)
    partitions: list[tuple[str, ...]] = [partition or ()]
    if partition is None and table.partition_columns:
        numbers, partitions = _partitions(rows, table, rules)
    codes = numbers * max(1, table.num_buckets) + buckets
    distinct, first = np.unique(codes, return_index=True)
    if len(distinct) == 1:
        yield _place(int(distinct[0]), partitions, table), data
        return
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    for code in distinct[np.argsort(first)]:
        start, end = np.searchsorted(ordered, [code, code + 1])
        yield _place(int(code), partitions, table), data.take(pa.array(order[start:end]))


def _place(code: int, partitions: Sequence[tuple[str, ...]], table: Table) -> BucketDestination:
    number, bucket = divmod(code, max(1, table.num_buckets))
    return BucketDestination(partitions[number], bucket)


def _buckets(data: pa.Table, table: Table, types: Sequence[ColumnType]) -> npt.NDArray[np.int64]:
    if not table.num_buckets:
        return np.zeros(len(data), np.int64)
    by_name = {column.name: declared for column, declared in zip(table.columns, types, strict=True)}
    return bucket_ids(
        [_combined(data[name]) for name in table.bucket_columns],
        [by_name[name] for name in table.bucket_columns],
        table.bucketing_version,
        table.num_buckets,
    )


def _partitions(
    rows: pa.Table, table: Table, rules: Rules
) -> tuple[npt.NDArray[np.int64], list[tuple[str, ...]]]:
    """Return the number of each row's partition, and the values of the partitions by number."""
    numbers = np.zeros(len(rows), np.int64)
    columns: list[list[str]] = []
    for column in table.partition_columns:
        texts = partition_texts(_combined(rows[column.name]), rules.zone)
        filled = pc.if_else(pc.equal(texts, ""), DEFAULT_PARTITION, texts)
        encoded = pc.fill_null(filled, DEFAULT_PARTITION).dictionary_encode()
        columns.append(encoded.dictionary.to_pylist())
        numbers = numbers * max(1, len(columns[-1])) + encoded.indices.to_numpy()
    # Number only combinations that occur: with many columns, the numbers would become too large.
    distinct, numbers = np.unique(numbers, return_inverse=True)
    values = []
    for code in distinct.tolist():
        parts = []
        for texts_of in reversed(columns):
            code, index = divmod(code, max(1, len(texts_of)))  # noqa: PLW2901 - of mixed radix
            parts.append(texts_of[index])
        values.append(tuple(reversed(parts)))
    return numbers.astype(np.int64), values


def _combined(column: pa.ChunkedArray) -> pa.Array:
    chunks = column.combine_chunks()
    return pa.concat_arrays(chunks.chunks) if isinstance(chunks, pa.ChunkedArray) else chunks
