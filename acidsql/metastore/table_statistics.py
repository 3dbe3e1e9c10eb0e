"""Statistics of tables and partitions: ANALYZE TABLE computes them, a metastore keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """Statistics of a column.

    Attributes:
        name: of the column, in lower case.
        nulls: number of rows where it is NULL.
        distinct: estimate of the number of its distinct values; None where it is not kept.
        minimum: lowest value as Spark casts it to STRING, of a timestamp in UTC; None for types
            without an order that is kept (text, bytes), or without values.
        maximum: highest value.
        average_length: bytes of a value on average.
        maximum_length: bytes of the longest value.
        trues: number of rows where a BOOLEAN is true.
        falses: number of rows where a BOOLEAN is false.
    """

    name: str
    nulls: int
    distinct: int | None = None
    minimum: str | None = None
    maximum: str | None = None
    average_length: float | None = None
    maximum_length: int | None = None
    trues: int | None = None
    falses: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Statistics of a table or of one of its partitions.

    Attributes:
        partition: values of the partition; None for the whole table.
        size: bytes of the files that the snapshot read.
        files: their number.
        rows: number of rows, None if they were not counted.
        raw_size: estimate of the bytes of the rows in memory.
        columns: those that were analysed.
        write_id: of the transaction that computed them; 0 if it is not known.
        write_ids: write ids that it saw, as Hive's text.
        is_current: False if rows were written since.
    """

    partition: tuple[str, ...] | None
    size: int
    files: int
    rows: int | None = None
    raw_size: int | None = None
    columns: tuple[ColumnStatistics, ...] = ()
    write_id: int = 0
    write_ids: str = ""
    is_current: bool = True


def merged(old: Statistics | None, new: Statistics) -> Statistics:
    """Return new statistics, with what they lack of old ones that are about the same rows.

    ANALYZE … FOR COLUMNS leaves out columns that were analysed before, NOSCAN everything but the
    size. What the old ones have of rows that changed since is dropped.
    """
    if old is None or not old.is_current:
        return new
    named = {column.name for column in new.columns}
    kept = tuple(column for column in old.columns if column.name not in named)
    if new.rows is not None:
        return replace(new, columns=(*kept, *new.columns))
    return replace(new, rows=old.rows, raw_size=old.raw_size, columns=(*kept, *new.columns))


def column_named(columns: Sequence[ColumnStatistics], name: str) -> ColumnStatistics | None:
    """Find the statistics of a column."""
    return next((column for column in columns if column.name == name), None)
