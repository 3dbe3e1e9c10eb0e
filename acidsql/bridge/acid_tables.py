"""Relations over the files of a table, for acidsql's own reader (``orc/AcidTable.java``)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from pyspark.sql import SparkSession

from acidsql.bridge.executor_classes import maker
from acidsql.bridge.gateway import start_callbacks
from acidsql.bridge.jvm import JavaObject, active
from acidsql.bridge.unresolved_plan import UnresolvedPlan


@dataclass(frozen=True, slots=True)
class SplitSettings:
    """Settings for the splits of a query's files, from the session that runs the query.

    Attributes:
        tasks: number of tasks that run in parallel.
        most_bytes: largest split of a file in bytes.
        open_cost: number of bytes that Spark counts for opening a file.
    """

    tasks: int
    most_bytes: int
    open_cost: int


Planner = Callable[[SplitSettings, Sequence[int] | None], bytes]
"""Plans the files that a query reads when it runs.

It takes the ordinals of the partitions that the query's predicates retain, or None for all. It
returns bytes that the reader's class ``Splits`` decodes. Any thread can call it.
"""


# Request for the number of rows.
_COUNT = "count"
# Request for the statistics of columns.
_ANALYZED = "analyzed"


class DeletedRowsMode(IntEnum):
    """Ways to treat deleted rows; the values are the reader's constants."""

    HIDDEN = 0
    """The scan omits deleted rows."""
    SHOWN = 1
    """The scan returns all rows. The row id of a deleted row has the write id of the delete."""
    ONLY = 2
    """The scan returns only deleted rows. The write id of their last event is the write id of the
    first delete event."""


class AnalyzedColumn(NamedTuple):
    """Statistics of a column, as texts in the format of Spark's catalog; empty if unknown.

    Attributes:
        name: name of the column.
        nulls: number of rows where the column is NULL.
        distinct: number of distinct values.
        minimum: lowest value.
        maximum: highest value.
        average_length: average number of bytes of a value.
        maximum_length: number of bytes of the longest value.
    """

    name: str
    nulls: str
    distinct: str
    minimum: str
    maximum: str
    average_length: str
    maximum_length: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcidRelation:
    """Files of a table, and the parameters of their reader.

    Attributes:
        name: name that EXPLAIN shows.
        key: equal for two tables only if they have the same rows.
        declared: Java ``StructType`` of the columns in the files, with CHAR and VARCHAR, without
            metadata columns.
        initial: for each column, its value in files that are older than the column, encoded as one
            partition; None if all values are NULL.
        partition_schema: Java ``StructType`` of the partition columns.
        partitions: values of the partitions, encoded by ``storage.splits.encode_partitions``; None
            without partition columns.
        metadata_columns: names of the columns for the row id, whether a row was deleted, the index
            of its partition, the write id of its last event, and the operation of the event.
        planner: see ``Planner``.
        counter: counts the rows without reading them, or returns None if it cannot; None if no
            counter exists.
        size: size of the files in bytes.
        rows: number of rows.
        zone: time zone of the session.
        deleted_rows: how the scan treats deleted rows.
        is_whole: whether the table consists of all rows of the files. The statistics of the files
            then describe the table.
        analyzed: returns the column statistics of ANALYZE TABLE, for Spark's cost-based optimiser.
    """

    name: str
    key: str
    declared: JavaObject
    partition_schema: JavaObject
    partitions: bytes | None
    metadata_columns: tuple[str, ...]
    planner: Planner
    size: int
    rows: int
    zone: str
    initial: bytes | None = None
    counter: Callable[[], int | None] | None = None
    deleted_rows: DeletedRowsMode = DeletedRowsMode.HIDDEN
    is_whole: bool = False
    analyzed: Callable[[], Sequence[AnalyzedColumn]] = tuple


def acid_relation(spark: SparkSession, table: AcidRelation) -> tuple[UnresolvedPlan, JavaObject]:
    """Build the relation over a table.

    Returns:
        The relation, with the table's columns, its partition columns and the metadata columns; and
        a Java object to which a plan refers while it can run.
    """
    start_callbacks(spark)
    numbers = table.size, table.rows, int(table.deleted_rows), int(table.is_whole)
    has_values = table.partitions is not None or table.initial is not None
    # The texts of values are cast by the settings of the session.
    with active(spark) if has_values else nullcontext():
        relation = maker(spark, "orc", "Tables").relation(
            table.name,
            table.key,
            table.declared,
            table.partition_schema,
            "\0".join(table.metadata_columns),
            _planning(table),
            table.zone,
            " ".join(map(str, numbers)),
            spark.sparkContext._jsc,
            table.partitions,
            table.initial,
        )
    return UnresolvedPlan(spark, relation, is_resolved=True), relation.table()


def _planning(table: AcidRelation) -> object:
    """Return the callback that plans a query's files or counts its rows for the JVM."""
    planner, counter, analyzed = table.planner, table.counter, table.analyzed

    class Planning:
        __slots__ = ()

        def apply(self, request: str) -> bytes:
            if request == _COUNT:
                rows = None if counter is None else counter()
                return struct.pack(">q", -1 if rows is None else rows)
            if request == _ANALYZED:
                return "\0".join(text for column in analyzed() for text in column).encode()
            tasks, most_bytes, open_cost, *kept = request.split()
            settings = SplitSettings(int(tasks), int(most_bytes), int(open_cost))
            return planner(settings, None if kept == ["all"] else [int(i) for i in kept])

        class Java:
            implements = ("java.util.function.Function",)

    return Planning()
