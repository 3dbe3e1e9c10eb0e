"""Statistics of a scan for Spark's optimiser.

They contain the number of rows per byte, the fraction of rows that are not deleted, and the column
statistics that ANALYZE TABLE has computed.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

from acidsql import bridge
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.scan.directories import DataDirectory, file_tails
from acidsql.scan.snapshot import TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.parallel import in_parallel


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Statistics of the files of a snapshot.

    Attributes:
        rows_per_byte: rows per byte of a file, including deleted rows.
        kept: fraction of the rows that are not deleted.
    """

    rows_per_byte: float
    kept: float


def statistics_of(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    events: int,
) -> Statistics:
    """Estimate the rows of a snapshot's files.

    The rows of the first files of some directories are counted. All other files are assumed to
    have the same number of rows per byte.

    Args:
        session: the session.
        snapshot: the snapshot.
        directories: directories with the rows of the snapshot.
        events: number of delete events; each deletes one row, unless that row is already gone.
    """
    step = -(-len(directories) // limits().sampled_tails) or 1

    def look(data: DataDirectory) -> tuple[int, int]:
        tails = file_tails(session, snapshot.listings.get(data.path))
        _, first = next(tails, ("", None))
        return (0, 0) if first is None else (first.rows, first.file_length)

    looked = list(in_parallel(look, directories[::step], mostly_cached=True))
    rows, size = (sum(counts) for counts in zip(*looked, strict=True)) if looked else (0, 0)
    per_byte = rows / size if size else 0.0
    whole = sum(
        version.size
        for data in directories
        for version in snapshot.listings.get(data.path).files.values()
    )
    total = per_byte * whole
    return Statistics(
        rows_per_byte=per_byte, kept=max(0.0, 1 - events / total) if total and events else 1.0
    )


def analyzed_columns(
    session: weakref.ref[AcidSession], table: Table
) -> tuple[bridge.AnalyzedColumn, ...]:
    """Return the statistics of a table's columns for Spark's optimiser.

    As for Spark's own tables, these are the results of the last ANALYZE TABLE, even if rows have
    been written since. A plan that outlives its session has no statistics.
    """
    open_session = session()
    if open_session is None:
        return ()
    names = {column.stored_name: column for column in (*table.columns, *table.partition_columns)}
    known = open_session.metastore.statistics(table, None, tuple(names))
    return tuple(
        bridge.AnalyzedColumn(
            name=names[column.name].name,
            nulls=str(column.nulls),
            distinct=_text(column.distinct),
            minimum=_value(column.minimum, names[column.name].type),
            maximum=_value(column.maximum, names[column.name].type),
            average_length=_text(_rounded(column.average_length)),
            maximum_length=_text(column.maximum_length),
        )
        for column in (known.columns if known is not None else ())
        if column.name in names
    )


def _rounded(length: float | None) -> int | None:
    return None if length is None else math.ceil(length)


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def _value(text: str | None, kind: str) -> str:
    """Format a value as in Spark's catalog: a timestamp has six digits after the second."""
    if text is None or not kind.lower().startswith("timestamp"):
        return text or ""
    seconds, _, fraction = text.partition(".")
    return f"{seconds}.{fraction:<06}"
