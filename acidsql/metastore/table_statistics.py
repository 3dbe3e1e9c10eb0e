"""Statistics of tables and partitions, which ANALYZE TABLE computes and a metastore stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """Statistics of a column.

    Attributes:
        name: name of the column, in lower case.
        nulls: number of rows where it is NULL.
        distinct: estimate of the number of its distinct values; None if it is not stored.
        minimum: lowest value as Spark casts it to STRING, for a timestamp in UTC; None if there are
            no values, or for text and bytes, whose bounds are not stored.
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
        size: size in bytes of the files that the snapshot read.
        files: number of these files.
        rows: number of rows, None if they were not counted.
        raw_size: estimate of the bytes of the rows in memory.
        columns: statistics of the columns that were analysed.
        write_id: write id of the transaction that computed them; 0 if it is not known.
        write_ids: write ids that this transaction saw, in Hive's text form.
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
    """Return new statistics, completed from old statistics of the same rows.

    ANALYZE … FOR COLUMNS leaves out the other columns, which may have been analysed before. NOSCAN
    leaves out everything except the size. If rows have changed since the old statistics, the result
    contains only the new ones.
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
