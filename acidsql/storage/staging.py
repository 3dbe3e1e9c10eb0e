"""Staging: a Spark job writes events into bucket files of a directory that readers ignore.

Events are rows with the first five columns of an ACID file, then the table's columns as
``__field_0``, …, and columns that determine the file of an event:

- ``__target``: the destination. It is ``i<statement id>`` for rows, ``d<statement id>`` for the row
  ids of deleted rows, and ``u<statement id>`` for updates, which are both. Row ids that are only
  used in MERGE's cardinality check have ``m``;
- ``__part_0``, …: the values of the partition columns of a row as text, in Hive's form, never null;
- ``__old_0``, …: the same values of the row that the row id names;
- ``__bucket``, if the table is bucketed: the bucket of a row, 0 for other events.

A file contains the rows of one partition. The row ids of all partitions are staged together, in a
file for each task and statement id. Their ``currentTransaction`` contains the ordinal of the
partition (``DeletePlaces``) instead of the write id.

The writer assigns the keys of new rows from its own counter, so they do not depend on the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, StructField, StructType

from acidsql import bridge
from acidsql.format.bucket_codec import MAX_BUCKET_ID, encode
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.schema.acid_file import KEYS, event_schema
from acidsql.schema.columns import with_stored_instants
from acidsql.storage.delete_places import DeletePlaces
from acidsql.storage.staging_place import StagedFile, StagingPlace
from acidsql.syntax.lexer import quote

TARGET, PART, BUCKET_COLUMN = "__target", "__part_", "__bucket"
OLD_PART, PLACE_COLUMN = "__old_", "__place"
CHECK_TARGET = "m"
_FIELD = "__field_"
# Table property with the codec of a table's files.
ORC_COMPRESS = "orc.compress"


# Placeholders: the writer assigns the key of a new row and the write id of its file.
NEW_ROW = {
    "operation": "0",
    "originalTransaction": "0L",
    "bucket": "0",
    "rowId": "0L",
    "currentTransaction": "0L",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Destination of events: rows or delete events of one statement id.

    Attributes:
        deletes: whether the events are delete events.
        statement_id: number within the statement, from 0 on.
        first: number of statement ids that the transaction has used before.
    """

    deletes: bool
    statement_id: int
    first: int = 0

    @property
    def name(self) -> str:
        """Name in staging."""
        return f"{'d' if self.deletes else 'i'}{self.statement_id}"

    @property
    def update_name(self) -> str:
        """Name in staging of events that delete a row and contain the new row."""
        return f"u{self.statement_id}"

    def bucket_property(self, bucket: int = 0) -> int:
        """Return the bucket property of the target's rows in a bucket."""
        return encode(bucket, self.first + self.statement_id)


def codec(table: Table) -> str:
    """Return the compression of a table's files, in lower case (Hive's default is zlib)."""
    return table.properties.get(ORC_COMPRESS, "ZLIB").lower()


def orc_options(table: Table) -> dict[str, str]:
    """Return the table's settings for ORC's writer.

    ORC recognises an ACID file by its columns, and applies names of columns to the fields of
    ``row``.
    """
    options = {k: v for k, v in table.properties.items() if k.startswith("orc.")}
    return {**options, ORC_COMPRESS: codec(table).upper()}


def partition_text(value: str, field: StructField) -> str:
    """Return SQL of a partition value as Hive spells it in directory names.

    NULL and '' become ``__HIVE_DEFAULT_PARTITION__``.

    Args:
        value: SQL of the value.
        field: partition column.
    """
    text = f"CAST({value} AS STRING)"
    if isinstance(field.dataType, DecimalType) and field.dataType.scale > 0:
        text = f"regexp_replace({text}, '[.]?0+$', '')"
    return f"coalesce(nullif({text}, ''), '{DEFAULT_PARTITION}')"


def part_columns(table: Table) -> list[str]:
    """Return the names of the partition columns in staging.

    These are not the table's own names, which could be equal to names of ACID columns.
    """
    return [f"{PART}{i}" for i in range(len(table.partition_columns))]


def old_part_columns(table: Table) -> list[str]:
    """Return the names of the partition columns of the rows that the row ids of events name."""
    return [f"{OLD_PART}{i}" for i in range(len(table.partition_columns))]


def directory_columns(table: Table) -> list[str]:
    """Return the columns, except the target, that determine the file of a row.

    The column of the outermost directory comes first.
    """
    buckets = [BUCKET_COLUMN] if table.num_buckets else []
    return [*part_columns(table), *buckets]


def fields_sql(values: Sequence[str]) -> dict[str, str]:
    """Return the SQL of a table's columns by their names in events."""
    return {f"{_FIELD}{i}": value for i, value in enumerate(values)}


def write_rows(
    rows: DataFrame,
    staging: StagingPlace,
    table: Table,
    target: Target,
    write_id: int,
    partition: Sequence[str],
    values: Sequence[str],
) -> None:
    """Write rows that all go to one directory, without a shuffle or a sort.

    Args:
        rows: rows over which ``values`` are evaluated.
        partition: values of the partition.
        values: SQL of each of the table's columns.
    """
    if bridge.input_bytes(rows) <= limits().copied_once_bytes:
        placed = rows.coalesce(MAX_BUCKET_ID + 1)
    else:
        placed = bridge.coalesce_tasks(rows, MAX_BUCKET_ID + 1)
    events = bridge.select(placed, *named_sql({**NEW_ROW, **fields_sql(values)}))
    layout = bridge.Layout(only=target.name, inserting={target.name: target.bucket_property()})
    written = _write(events, staging, table, write_id, layout)
    staging.files.extend(replace(file, values=tuple(partition)) for file in written)


def named_sql(columns: Mapping[str, str]) -> list[str]:
    """Return SQL expressions with their names as aliases."""
    return [f"{value} AS {quote(name)}" for name, value in columns.items()]


def write_events(
    events: DataFrame,
    staging: StagingPlace,
    table: Table,
    write_id: int,
    rows: Sequence[Target],
    only: str | None = None,
    places: DeletePlaces | None = None,
) -> None:
    """Write events of any targets and partitions in one job.

    The events are first shuffled by directory, so that a statement that changes few rows of many
    files writes few files. One task writes all events of a small table instead. All rows in a
    bucket of a bucketed table are in one task, because they become one file. If a task could
    compute events differently when it runs again, a separate job computes them before the shuffle.

    Args:
        events: all columns of an event except ``currentTransaction``; the table's columns are left
            out if there are no rows.
        staging: place where the statement stages.
        table: the table.
        write_id: write id of the transaction.
        rows: the targets that get rows.
        only: name of the only target of all events, if it is known.
        places: partitions of the rows that the events delete, if there are delete events and the
            table is partitioned.
    """
    directories = directory_columns(table) if rows else []
    is_small = bridge.input_bytes(events) <= limits().one_task_bytes
    if is_small:
        placed = events.coalesce(1)
    elif table.num_buckets and rows:
        placed = bridge.computed_once(events).repartition(*directories)
    else:
        once = bridge.computed_once(events)
        placed = bridge.rebalance(once, directories).coalesce(MAX_BUCKET_ID + 1)
    if places is not None:
        ordinal = places.ordinal(events.sparkSession, old_part_columns(table))
        has_old = ~F.col(TARGET).startswith("i")
        placed = placed.withColumn(PLACE_COLUMN, F.when(has_old, ordinal))
    if directories:
        placed = placed.sortWithinPartitions(*directories)
    place = "0L" if places is None else f"coalesce({PLACE_COLUMN}, 0L)"
    named = [*([] if only else [TARGET]), *directories]
    columns = [*event_sql(table, place, has_rows=bool(rows)), *map(quote, named)]
    layout = bridge.Layout(
        only=only,
        inserting={target.name: target.bucket_property() for target in rows},
        values=len(part_columns(table)) if rows else 0,
        is_bucketed=bool(table.num_buckets and rows),
        stages_keys=True,
    )
    written = _write(bridge.select(placed, *columns), staging, table, write_id, layout)
    staging.files.extend(written)


def event_sql(table: Table, place: str, *, has_rows: bool) -> list[str]:
    """Return the SQL of the columns of events that a file contains.

    Args:
        table: the table.
        place: SQL of ``currentTransaction``.
        has_rows: whether there are rows among the events.
    """
    fields = [f"{_FIELD}{i}" for i in range(len(table.columns))] if has_rows else []
    return ["operation", *KEYS, f"{place} AS currentTransaction", *fields]


def write_buckets(events: DataFrame, place: str, schema: bridge.FileSchema) -> list[StagedFile]:
    """Write events that already have keys, sorted, into one file for each bucket.

    Args:
        events: the columns of a file, then ``BUCKET_COLUMN``; all events of a bucket are in one
            task.
        place: directory for the files.
        schema: schema of the files.
    """
    ordered = events.sortWithinPartitions(BUCKET_COLUMN, *KEYS)
    layout = bridge.Layout(only="", inserting={}, is_bucketed=True)
    return _run(ordered, place, 0, schema, layout)


def write_keys(
    keys: DataFrame, staging: StagingPlace, table: Table, row: StructType, write_id: int
) -> list[StagedFile]:
    """Write row ids as sorted delete events, with one file per target, partition and bucket.

    Args:
        keys: ``KEYS``, ``TARGET``, ``PLACE_COLUMN`` and ``BUCKET_COLUMN``; only these columns are
            shuffled and sorted.
        staging: place where the statement stages.
        table: the table.
        row: the table's columns, for the schema of the file.
        write_id: write id of the transaction.
    """
    directories = [TARGET, PLACE_COLUMN, BUCKET_COLUMN]
    ordered = keys.repartition(*directories).sortWithinPartitions(*directories, *KEYS)
    columns = ["2 AS operation", *KEYS, f"{write_id}L AS currentTransaction", TARGET]
    place = f"CAST({PLACE_COLUMN} AS STRING) AS {PLACE_COLUMN}"
    events = bridge.select(ordered, *columns, place, BUCKET_COLUMN)
    schema = bucket_file_schema(table, row, StructType([]), zone="UTC")
    layout = bridge.Layout(only=None, inserting={}, values=1, is_bucketed=True)
    staging.begin_job()
    return _run(events, staging.path, write_id, schema, layout)


def bucket_file_schema(
    table: Table, row: StructType, columns: StructType, *, zone: str
) -> bridge.FileSchema:
    """Return the schema of a table's bucket files.

    Args:
        table: the table.
        row: the table's columns; if there are none, files have no ``row``.
        columns: see ``FileSchema``.
        zone: see ``FileSchema``.
    """
    events = event_schema(with_stored_instants(table, row), deletes=True)
    if not row.fields:
        events = StructType(events.fields[:-1])
    return bridge.FileSchema(events=events, columns=columns, options=orc_options(table), zone=zone)


def _write(
    events: DataFrame,
    staging: StagingPlace,
    table: Table,
    write_id: int,
    layout: bridge.Layout,
) -> list[StagedFile]:
    """Write events of a statement by a job; see ``bridge.write_bucket_files``.

    Raises:
        WriteJobError: the job failed.
    """
    columns, row = row_types(events.schema, table)
    zone = bridge.session_time_zone(events.sparkSession)
    schema = bucket_file_schema(table, row, columns, zone=zone)
    staging.begin_job()
    return _run(events, staging.path, write_id, schema, layout)


def row_types(events: StructType, table: Table) -> tuple[StructType, StructType]:
    """Return the table's columns in events, and the same columns with their names in files."""
    fields = [f for f in events.fields if f.name.startswith(_FIELD)]
    named = zip(table.columns, fields, strict=bool(fields))
    row = StructType([StructField(column.stored_name, f.dataType) for column, f in named])
    return StructType(fields), row


def _run(
    events: DataFrame, place: str, write_id: int, schema: bridge.FileSchema, layout: bridge.Layout
) -> list[StagedFile]:
    with bridge.job_errors():
        written = bridge.write_bucket_files(events, place, write_id, schema, layout)
    return [StagedFile(**file._asdict()) for file in written]


def save(
    rows: DataFrame,
    staging: StagingPlace,
    path: str,
    file_format: str,
    options: Mapping[str, str],
    directories: Sequence[str] = (),
) -> None:
    """Write rows into staging by a job.

    Args:
        rows: rows that are sorted by ``directories`` in each task.
        staging: place where the statement stages.
        path: directory in staging.
        file_format: class of Spark's ``FileFormat``.
        options: options of a DataFrame's writer.
        directories: the last columns, whose values become directories.

    Raises:
        WriteJobError: the job failed.
    """
    with bridge.job_errors():
        if staging.local is None:
            writer = rows.write.format(file_format).mode("append").options(**options)
            writer.partitionBy(*directories).save(path)
        else:
            bridge.manifest_write.write_with_manifest(
                rows, path, directories, file_format, options, staging.new_manifest()
            )
