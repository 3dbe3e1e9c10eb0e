"""Relations over the files of a table, read by acidsql's own reader (``orc/AcidTable.java``)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.executor_classes import maker
from acidsql.bridge.gateway import start_callbacks
from acidsql.bridge.jvm import (
    SOURCES,
    JavaObject,
    active,
    java_type,
    jvm_class,
    scala_object,
)
from acidsql.bridge.unresolved_plan import UnresolvedPlan


@dataclass(frozen=True, slots=True)
class SplitSettings:
    """Settings of the session that runs a query for the parts of files that tasks read.

    Attributes:
        tasks: number of tasks that run at once.
        most_bytes: largest part of a file.
        open_cost: bytes that opening a file counts as.
    """

    tasks: int
    most_bytes: int
    open_cost: int


Planner = Callable[[SplitSettings, Sequence[int] | None], bytes]
"""Plans the files that a query reads when it runs.

It takes the ordinals of the partitions that the predicates of the query leave, None for all; it
returns what the reader's class ``Splits`` decodes. It may be called in any thread.
"""


# Request for the number of rows.
_COUNT = "count"
# Request for the statistics of columns.
_ANALYZED = "analyzed"


class DeletedRows(IntEnum):
    """Ways to treat deleted rows, by the numbers that the reader has."""

    HIDDEN = 0
    """They are left out."""
    SHOWN = 1
    """They are shown beside the others, and have in their row id the write id that deleted them."""
    ONLY = 2
    """They are shown without the others; the write id of the last event is that of the first
    delete event."""


class AnalyzedColumn(NamedTuple):
    """Statistics of a column, as texts in the form of Spark's catalog; what is not known is empty.

    Attributes:
        name: of the column.
        nulls: number of rows where it is NULL.
        distinct: number of its distinct values.
        minimum: lowest value.
        maximum: highest value.
        average_length: bytes of a value on average.
        maximum_length: bytes of the longest value.
    """

    name: str
    nulls: str
    distinct: str
    minimum: str
    maximum: str
    average_length: str
    maximum_length: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcidTable:
    """Files of a table, with everything that their reader has to know.

    Attributes:
        name: which EXPLAIN shows.
        key: equal for two tables only if they have the same rows.
        declared: columns that the files have, with CHAR and VARCHAR, without metadata.
        initial: value of each of them in files from before it was added, encoded as one partition;
            None if all are NULL.
        partition_schema: columns of the partitions.
        partitions: their values, as ``storage.splits.encode_partitions`` writes them.
        metadata_columns: names of the columns for the row id, whether a row was deleted, the index
            of its partition, the write id of its last event, and the operation of the event.
        planner: see there.
        counter: counts the rows without reading them, or None; it returns None if that cannot be
            done.
        size: bytes of the files.
        rows: their number.
        zone: time zone of the session.
        deleted_rows: what becomes of deleted rows.
        is_whole: whether all rows of the files count, so that their statistics describe the table.
        analyzed: returns what ANALYZE TABLE has computed of columns, for Spark's cost-based
            optimiser.
    """

    name: str
    key: str
    declared: StructType
    partition_schema: StructType
    partitions: bytes
    metadata_columns: tuple[str, ...]
    planner: Planner
    size: int
    rows: int
    zone: str
    initial: bytes | None = None
    counter: Callable[[], int | None] | None = None
    deleted_rows: DeletedRows = DeletedRows.HIDDEN
    is_whole: bool = False
    analyzed: Callable[[], Sequence[AnalyzedColumn]] = tuple


def acid_relation(spark: SparkSession, table: AcidTable) -> tuple[UnresolvedPlan, JavaObject]:
    """Build the relation over a table.

    Returns:
        The relation, with the columns of the table, those of its partitions and the metadata
        columns; and the Java object that a plan refers to for as long as it can run.
    """
    start_callbacks(spark)
    numbers = table.size, table.rows, int(table.deleted_rows), int(table.is_whole)
    made = maker(spark, "orc", "Tables").table(
        table.name,
        table.key,
        java_type(spark, table.declared),
        java_type(spark, table.partition_schema),
        "\0".join(table.metadata_columns),
        _planning(table),
        table.zone,
        " ".join(map(str, numbers)),
        spark.sparkContext._jsc,
    )
    if table.partition_schema.fields:
        with active(spark):
            made.setPartitions(table.partitions)
    if table.initial is not None:
        with active(spark):
            made.setInitial(table.initial)
    none = scala_object(spark, "scala.None")
    relation = jvm_class(spark, f"{SOURCES}.v2.DataSourceV2Relation").create(made, none, none)
    return UnresolvedPlan(spark, relation.withMetadataColumns()), made


def _planning(table: AcidTable) -> object:
    """Return what the JVM calls to have the files of a query planned, or its rows counted."""
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
