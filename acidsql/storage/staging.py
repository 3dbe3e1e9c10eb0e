"""Staging: a Spark job writes row events into a directory that readers ignore.

Events are rows of the six ACID columns, except that ``row`` has only the first of the table's
columns; the others follow it as ``__field_1``, … (``format.orc_nesting``). Other columns stand
beside them:

- ``__target``: the destination of the event: ``i<statement id>`` for rows, ``d<statement id>`` for
  delete events, ``m`` for row ids that only take part in MERGE's cardinality check;
- ``__part_0``, …: the values of the partition columns as text, in Hive's form, never null;
- ``__bucket``, if the table is bucketed: the bucket of a row, 0 of other events.

Rows are staged in a directory for each partition. Other events of all partitions are staged
together, and in place of the write id their ``currentTransaction`` has the ordinal of their
partition (``DeletePlaces``).

Rows come without ``originalTransaction``, ``bucket`` and ``rowId``. They are numbered where they
are written, above every union, coalesce and shuffle, because a task that runs again numbers its
rows anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, StructField, StructType

from acidsql import bridge
from acidsql.format.bucket_codec import MAX_BUCKET_ID, encode
from acidsql.format.partitions import DEFAULT_PARTITION, escape
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.schema.acid_file import KEYS, event_schema
from acidsql.storage.delete_places import DeletePlaces
from acidsql.storage.filesystem import child
from acidsql.storage.staging_place import StagingPlace
from acidsql.syntax.lexer import quote

TARGET, PART, BUCKET_COLUMN = "__target", "__part_", "__bucket"
_PLACE = "__place"
# In place of the partition values of events that are not rows.
_ANY = "any"
CHECK_TARGET = "m"
# Spark's ORC writer by its class, so that no setting of the session chooses another one.
_ORC = "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat"
_FIELD = "__field_"
# Table property with the codec of a table's files.
ORC_COMPRESS = "orc.compress"
# The task's number is in the bits above.
NEXT_ROW_ID = f"monotonically_increasing_id() & {(1 << 33) - 1}L"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Destination of events: rows or delete events of one statement id.

    Attributes:
        statement_id: within the statement, from 0 on.
        first: number of statement ids that its transaction has used before.
    """

    deletes: bool
    statement_id: int
    first: int = 0

    @property
    def name(self) -> str:
        """Name in staging."""
        return f"{'d' if self.deletes else 'i'}{self.statement_id}"


def codec(table: Table) -> str:
    """Return the compression of a table's files, in lower case (Hive's default is zlib)."""
    return table.properties.get(ORC_COMPRESS, "ZLIB").lower()


def writer_options(table: Table) -> dict[str, str]:
    """Return the options of the write job: the table's, and those that no session setting may
    change.
    """
    options = {
        k: v for k, v in table.properties.items() if k.startswith("orc.") and k != ORC_COMPRESS
    }
    return {
        **options,
        "compression": codec(table),
        "maxRecordsPerFile": "0",
        "mapreduce.fileoutputcommitter.algorithm.version": "1",
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }


def partition_text(value: str, field: StructField) -> str:
    """Return SQL of a partition value as Hive spells it in directory names.

    NULL and '' become ``__HIVE_DEFAULT_PARTITION__``.

    Args:
        value: SQL of the value.
    """
    text = f"CAST({value} AS STRING)"
    if isinstance(field.dataType, DecimalType) and field.dataType.scale > 0:
        text = f"regexp_replace({text}, '[.]?0+$', '')"
    return f"coalesce(nullif({text}, ''), '{DEFAULT_PARTITION}')"


def part_columns(table: Table) -> list[str]:
    """Return the names of the partition columns in staging.

    They are not the table's own names, which could equal those of ACID columns.
    """
    return [f"{PART}{i}" for i in range(len(table.partition_columns))]


def directory_columns(table: Table) -> list[str]:
    """Return the columns whose values become directories of staging, the outermost first."""
    buckets = [BUCKET_COLUMN] if table.num_buckets else []
    return [TARGET, *part_columns(table), *buckets]


def staged_row(values: Sequence[Column]) -> list[Column]:
    """Return a table's columns as staging has them: ``row`` with the first, then the others."""
    first, *others = [value.alias(f"{_FIELD}{i}") for i, value in enumerate(values)]
    return [F.struct(first).alias("row"), *others]


def staged_row_sql(values: Sequence[str]) -> dict[str, str]:
    """Return a table's columns as staging has them, as SQL by name; see ``staged_row``."""
    first, *others = values
    named = {f"{_FIELD}{i}": value for i, value in enumerate(others, 1)}
    return {"row": f"named_struct('{_FIELD}0', {first})", **named}


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
    named = zip(part_columns(table), partition, strict=True)
    parts = [f"{name}={escape(value)}" for name, value in named]
    path = child(staging.path, f"{TARGET}={target.name}", *parts)
    columns = {
        "operation": "0",
        "originalTransaction": _constant(write_id),
        "bucket": _bucket_sql(target, "spark_partition_id()"),
        "rowId": NEXT_ROW_ID,
        "currentTransaction": _constant(write_id),
        **staged_row_sql(values),
    }
    if bridge.input_bytes(rows) <= limits().copied_once_bytes:
        placed = rows.coalesce(MAX_BUCKET_ID + 1)
    else:
        placed = bridge.coalesce_tasks(rows, MAX_BUCKET_ID + 1)
    _save(bridge.select(placed, *named_sql(columns)), staging, path, table)


def named_sql(columns: Mapping[str, str]) -> list[str]:
    """Return SQL expressions with their names as aliases."""
    return [f"{value} AS {quote(name)}" for name, value in columns.items()]


def write_events(
    events: DataFrame,
    staging: StagingPlace,
    table: Table,
    write_id: int,
    rows: Sequence[Target],
    only: Target | None = None,
    places: DeletePlaces | None = None,
) -> None:
    """Write events of any targets and partitions in one job.

    They are shuffled by directory first, so that a statement which touches few rows of many files
    writes few files; events of a small table are written by one task instead. They are sorted by
    directory explicitly: the sort that Spark would add comes after the numbering, and is not stable
    once it spills. The rows of one bucket of a bucketed table are in one task, because they become
    one file. Events that a task could compute differently when it runs again are computed by a job
    of their own before they are shuffled.

    Args:
        events: all columns of an event except ``currentTransaction``; those of ``row`` are left out
            if there are no rows.
        rows: the targets that get rows.
        only: the one target of all events, if it is known; events are then not sorted by target.
        places: partitions of the events that are not rows, if there are any such events and the
            table is partitioned.
    """
    directories = directory_columns(table)
    path = staging.path
    if only is not None:
        directories.remove(TARGET)
        path = child(path, f"{TARGET}={only.name}")
    few = bridge.input_bytes(events) <= limits().one_task_bytes
    if not few:
        events = bridge.computed_once(events)
    if directories:
        # Spark drops a constant from a sort order, and would sort again after the numbering.
        hidden = {n: F.expr(f"IF(spark_partition_id() < 0, `{n}`, `{n}`)") for n in directories}
        events = events.withColumns(hidden)
    if few:
        placed = events.coalesce(1)
    elif table.num_buckets:
        placed = events.repartition(*directories)
    else:
        placed = bridge.rebalance(events, directories).coalesce(MAX_BUCKET_ID + 1)
    if places is not None:
        placed = _with_places(placed, table, places, has_rows=bool(rows))
        directories = directories if rows else []
    if directories:
        placed = placed.sortWithinPartitions(*directories)
    writer = f"`{BUCKET_COLUMN}`" if table.num_buckets else "spark_partition_id()"
    columns = final_columns(table, rows, write_id, writer, NEXT_ROW_ID)
    if places is not None:
        columns["currentTransaction"] = f"coalesce({_PLACE}, {columns['currentTransaction']})"
    columns.update({name: f"`{name}`" for name in directories})
    _save(bridge.select(placed, *named_sql(columns)), staging, path, table, directories)


def _with_places(
    events: DataFrame, table: Table, places: DeletePlaces, *, has_rows: bool
) -> DataFrame:
    """Add the ordinal of the partition to events that are not rows, and give them one directory.

    Args:
        has_rows: whether there are rows among the events.
    """
    parts = part_columns(table)
    ordinal = places.ordinal(events.sparkSession, parts)
    if not has_rows:
        return events.withColumn(_PLACE, ordinal)
    is_row = F.col(TARGET).startswith("i")
    own = {name: F.when(is_row, F.col(name)).otherwise(_ANY) for name in parts}
    return events.withColumns({**own, _PLACE: F.when(~is_row, ordinal)})


def final_columns(
    table: Table, rows: Sequence[Target], write_id: int, writer: str, new_row_id: str
) -> dict[str, str]:
    """Return the columns of staged files, as SQL over events, by name.

    Rows get their write id, bucket property and row id here.

    Args:
        rows: the targets that get rows; if there are none, files have no ``row``.
        writer: SQL of the number of the writer: the task, or in a bucketed table the bucket.
        new_row_id: SQL of the next row id. It is repeated for each target, because each occurrence
            has a counter of its own, which starts at 0 and grows only when it is evaluated.
    """

    def of_each(value: Callable[[Target], str]) -> str:
        cases = [f"WHEN `{TARGET}` = '{t.name}' THEN {value(t)}" for t in rows]
        return f", CASE {' '.join(cases)} END" if cases else ""

    bucket = of_each(lambda target: _bucket_sql(target, writer))
    columns = {
        "operation": "operation",
        "originalTransaction": f"coalesce(originalTransaction, {_constant(write_id)})",
        "bucket": f"coalesce(bucket{bucket})",
        "rowId": f"coalesce(rowId{of_each(lambda _: new_row_id)})",
        "currentTransaction": _constant(write_id),
    }
    if rows:
        others = [f"{_FIELD}{i}" for i in range(1, len(table.columns))]
        columns.update({name: f"`{name}`" for name in ("row", *others)})
    return columns


def _bucket_sql(target: Target, writer: str) -> str:
    """Return SQL of the bucket property of a writer's rows."""
    return f"{encode(0, target.first + target.statement_id)} + {writer} * {1 << 16}"


def _constant(number: int) -> str:
    """Return SQL of a number that differs between statements.

    A literal would be part of the code that Spark generates, which would be compiled anew for each
    number. The array, with an index that cannot be folded, is passed to the code as a value.
    """
    return f"get(array({number}L), 0 * spark_partition_id())"


def write_buckets(
    events: DataFrame, staging: StagingPlace, table: Table, directories: Sequence[str]
) -> None:
    """Write sorted events that have their keys into directories that are named by columns.

    The events of one directory must be in one task, because they become one file.

    Args:
        directories: the columns that name the directories, none of them text; the last ones.
    """
    ordered = events.sortWithinPartitions(*directories, *KEYS)
    _save(ordered, staging, staging.path, table, directories)


def write_keys(
    keys: DataFrame,
    staging: StagingPlace,
    table: Table,
    row: StructType,
    write_id: int,
    directories: Sequence[str],
) -> None:
    """Write row ids as sorted delete events, those of a directory into one file.

    Args:
        keys: ``KEYS`` and the columns that name the directories (none of them text); nothing else
            is shuffled and sorted.
        row: the table's columns, for the schema of the file.
    """
    ordered = keys.repartition(*directories).sortWithinPartitions(*directories, *KEYS)
    nothing = bridge.type_sql(keys.sparkSession, event_schema(row)["row"].dataType)
    columns = {
        "operation": "2",
        **{key: key for key in KEYS},
        "currentTransaction": _constant(write_id),
        "row": f"CAST(NULL AS {nothing})",
    }
    written = bridge.select(ordered, *named_sql(columns), *directories)
    _save(written, staging, staging.path, table, directories)


def _save(
    events: DataFrame,
    staging: StagingPlace,
    path: str,
    table: Table,
    directories: Sequence[str] = (),
) -> None:
    save(events, staging, path, _ORC, writer_options(table), directories)


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
        rows: sorted by ``directories`` in each task.
        path: directory in staging.
        file_format: class of Spark's ``FileFormat``.
        options: see ``writer_options``.
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
