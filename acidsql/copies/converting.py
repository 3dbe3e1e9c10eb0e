"""``acidsql.convert``: copy a table of another format into an ACID table."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from acidsql import api, bridge
from acidsql.copies.checksums import compare, fields_of
from acidsql.copies.columns import check_columns, plan_columns
from acidsql.copies.places import FILE_FORMATS, TABLE_FORMATS, ForeignTable, parse_place
from acidsql.copies.progress import Begun, ConversionProgress, has_progress
from acidsql.copies.report import ColumnReport, CopyReport
from acidsql.copies.sources import (
    Piece,
    SourceVersion,
    batches,
    check_partition_texts,
    open_source,
)
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded
from acidsql.metastore.model import Column, Table
from acidsql.planning.name_resolution import find_acid_table, qualified
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import property_list
from acidsql.transaction_handle import transaction
from acidsql.transactions.retries import run_again_after_conflicts

logger = logging.getLogger(__name__)

_GIB = 1024**3

OnBatch = Callable[[int, int, int], None]
"""Function that is called after each batch with its number, the number of batches, its rows."""


def convert(  # noqa: PLR0913 - options have names
    spark: SparkSession,
    source: str,
    target: str,
    *,
    schema: str | None = None,
    options: Mapping[str, str] | None = None,
    select: Sequence[str] | None = None,
    partition_by: Sequence[str] | None = None,
    properties: Mapping[str, str] | None = None,
    batch_bytes: int = 4 * _GIB,
    batch_rows: int = 20_000_000,
    dry_run: bool = False,
    on_batch: OnBatch | None = None,
) -> CopyReport:
    """Copy a table of another format into a new ACID table, and compare both at the end.

    The rows are copied in batches. Each batch is one transaction, which also records the progress
    of the conversion. If a call ends early, for any reason, another call with the same source and
    target continues the conversion. It reads the same version of the source as the first call. Only
    one process at a time may convert into a table, and no other program may write to the table
    before the conversion is complete.

    Args:
        spark: the session.
        source: ``parquet:PATH``, ``csv:PATH``, ``json:PATH``, ``orc:PATH``, ``delta:PATH``,
            ``iceberg:PATH`` or ``iceberg:NAME``, or the name of a table in one of Spark's catalogs.
        target: name of the ACID table. It is created if it does not exist. An existing table must
            be empty and have these columns; it can be bucketed, for example.
        schema: columns of the files, as in CREATE TABLE; by default Spark infers them.
        options: options of Spark's reader for the format. A malformed CSV or JSON record is an
            error, unless ``mode`` is set.
        select: expressions over the columns of the source that become the columns of the target; by
            default all columns, unchanged.
        partition_by: names of the partition columns of the target, the outermost first; by default
            the partition columns of the source.
        properties: table properties of the target.
        batch_bytes: largest total size of the files of a batch, for ``parquet``, ``csv``, ``json``
            and ``orc``.
        batch_rows: largest number of rows of a batch, for all other sources. A batch contains whole
            partitions, and a larger partition is a batch by itself. A table without partitions is
            one batch.
        dry_run: whether to return the report without copying anything.
        on_batch: called after each batch with its number, the number of batches, and its rows.

    Raises:
        AcidAnalysisError: COLUMNS_NOT_CONVERTIBLE; CONVERSION_TARGET_NOT_EMPTY;
            CONVERSION_SOURCE_CHANGED, the files have changed since the conversion began;
            EMPTY_PARTITION_VALUE; INVALID_PARAMETER_VALUE.
        FormatError: COPY_DIFFERS, the target is not equal to the source.

    >>> spark.range(3).selectExpr("id", "id % 2 AS odd").write.partitionBy("odd").parquet("numbers")
    >>> done = acidsql.convert(spark, "parquet:numbers", "numbers")
    >>> done.rows, done.partition_columns
    (3, ('odd',))
    """
    place = parse_place(source, (*FILE_FORMATS, *TABLE_FORMATS), tables=True)
    if batch_bytes < 1 or batch_rows < 1:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE",
            "batch_bytes and batch_rows are numbers from 1 on",
            {"parameter": "batch_bytes"},
        )
    _refuse_acid_source(spark, place)
    table = _target(spark, target)
    is_known = table is not None and has_progress(spark, table)
    begun = ConversionProgress(spark, target).begun() if is_known else None
    _check_target(spark, target, place, table, begun)
    with api.working(spark) as session:
        opened = open_source(
            spark,
            session.files,
            place,
            options or {},
            schema,
            None if begun is None else begun.version,
        )
    planned = _plan(opened, select, partition_by, table, (batch_bytes, batch_rows))
    report = CopyReport(
        source=source,
        target=target,
        version=opened.version,
        columns=planned.columns,
        partition_columns=planned.partition_columns,
        batches=len(planned.batches),
    )
    if dry_run:
        return report
    check_columns(planned.columns, source, target)
    check_partition_texts(opened, planned.partition_columns)
    if begun is not None and begun.plan != planned.digest:
        raise AcidAnalysisError(
            "CONVERSION_SOURCE_CHANGED",
            f"{source} has changed since its conversion to {target} began, or it was begun with "
            f"other arguments: drop {target} and begin again",
        )
    if table is None:
        api.sql(spark, _create(target, planned, properties or {}))
    work = _Conversion(
        spark=spark,
        source=opened,
        target=target,
        planned=planned,
        progress=ConversionProgress(spark, target),
        state=Begun(source=str(place), version=opened.version, plan=planned.digest, done=0),
    )
    copied = work.copy(on_batch)
    if begun is not None and begun.done > len(planned.batches):
        return report  # other programs may have changed the target since the comparison
    checked = compare(
        planned.selected(opened.frame),
        api.table(spark, target),
        planned.fields,
        (source, target),
    )
    work.note_comparison(checked.rows)
    return replace(report, copied=copied, rows=checked.rows, checksum=str(checked))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Plan of a conversion.

    Attributes:
        select: expressions over the columns of the source; None for all columns.
        columns: report of each column.
        fields: names of the columns, and their types in the source, for the comparison.
        partition_columns: names of the partition columns of the target.
        batches: batches of the source.
        digest: digest of everything that must be the same when the conversion continues.
    """

    select: tuple[str, ...] | None
    columns: tuple[ColumnReport, ...]
    fields: tuple[tuple[str, DataType], ...]
    partition_columns: tuple[str, ...]
    batches: tuple[tuple[Piece, ...], ...]
    digest: str

    def selected(self, frame: DataFrame) -> DataFrame:
        """Return the columns of the target, with the types of the source."""
        return frame if self.select is None else frame.selectExpr(*self.select)

    def converted(self, frame: DataFrame) -> DataFrame:
        """Return the columns of the target, with the types of the target."""
        # The INSERT pads a CHAR to the length of its column, not this projection.
        columns = [
            f"CAST({quote(c.name)} AS {c.target}) AS {quote(c.name)}"
            if c.note and c.target
            else quote(c.name)
            for c in self.columns
        ]
        return self.selected(frame).selectExpr(*columns)


def _plan(
    source: SourceVersion,
    select: Sequence[str] | None,
    partition_by: Sequence[str] | None,
    target: Table | None,
    limits: tuple[int, int],
) -> _Plan:
    spark = source.spark
    frame = source.frame if select is None else source.frame.selectExpr(*select)
    partitions = _target_partitions(source, frame, partition_by, target)
    columns = plan_columns(frame.schema, partitions, lambda kind: str(bridge.type_sql(spark, kind)))
    if target is not None:
        columns = _as_in_target(spark, columns, target)
    parts = batches(source, *limits)
    what = [
        source.fingerprint,
        list(select) if select is not None else None,
        [(column.name, column.target) for column in columns],
        list(partitions),
        [[piece.key for piece in batch] for batch in parts],
    ]
    return _Plan(
        select=None if select is None else tuple(select),
        columns=columns,
        fields=fields_of(frame.schema),
        partition_columns=partitions,
        batches=parts,
        digest=sha256(json.dumps(what).encode()).hexdigest(),
    )


def _target_partitions(
    source: SourceVersion, frame: DataFrame, requested: Sequence[str] | None, target: Table | None
) -> tuple[str, ...]:
    """Return the names of the partition columns of the target."""
    known = {folded(name): name for name in frame.columns}
    if target is not None:
        present = tuple(column.name for column in target.partition_columns)
        if requested is not None and list(map(folded, requested)) != list(map(folded, present)):
            raise _no_partitions(
                f"{target.full_name} is partitioned by {', '.join(present) or 'none'}"
            )
        return tuple(known.get(folded(name), name) for name in present)
    if requested is None:
        names = source.partition_columns
        return tuple(known[folded(name)] for name in names if folded(name) in known)
    for name in requested:
        if folded(name) not in known:
            raise _no_partitions(f"there is no column {name}: {', '.join(frame.columns)}")
    return tuple(known[folded(name)] for name in requested)


def _no_partitions(reason: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        "INVALID_PARAMETER_VALUE",
        f"the target cannot be partitioned as asked: {reason}; give partition_by the names of "
        "columns",
        {"parameter": "partition_by"},
    )


def _as_in_target(
    spark: SparkSession, columns: Sequence[ColumnReport], target: Table
) -> tuple[ColumnReport, ...]:
    """Mark columns as refused that the target does not have, or has with another type."""
    declared = {c.key: c for c in (*target.columns, *target.partition_columns)}
    reports = []
    for column in columns:
        counterpart = declared.pop(folded(column.name), None)
        reason = None
        if counterpart is None:
            reason = f"{target.full_name} has no such column"
        elif not _is_of(spark, column, counterpart):
            reason = f"{target.full_name} has it as {counterpart.type}"
        reports.append(column if reason is None else replace(column, target=None, note=reason))
    reports += [
        ColumnReport(
            name=c.name, source="missing", target=None, note=f"the target has it as {c.type}"
        )
        for c in declared.values()
    ]
    return tuple(reports)


def _is_of(spark: SparkSession, column: ColumnReport, declared: Column) -> bool:
    """Return whether a column has the type of the target's column, or is refused already."""
    if column.target is None:
        return True
    wanted, planned = (bridge.parse_type(spark, text) for text in (declared.type, column.target))
    return bool(wanted == planned)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conversion:
    """Copying of the batches of a source.

    Each batch adds a row to the progress table, with the values of ``state``.
    """

    spark: SparkSession
    source: SourceVersion
    target: str
    planned: _Plan
    progress: ConversionProgress
    state: Begun

    def copy(self, on_batch: OnBatch | None) -> int:
        """Copy the batches that are not copied yet, and return their number."""
        with api.working(self.spark) as session:
            done = run_again_after_conflicts(session, self._begin)
        copied = 0
        total = len(self.planned.batches)
        for number, batch in enumerate(self.planned.batches[done:], done + 1):
            rows = self._copy_once(number, batch)
            if rows is None:
                continue
            copied += 1
            logger.info("%s: batch %d of %d, %d rows", self.target, number, total, rows)
            if on_batch is not None:
                on_batch(number, total, rows)
        return copied

    def _begin(self) -> int:
        """Record the conversion before its first batch; return the number of copied batches."""
        with transaction(self.spark) as txn:
            done = self.progress.done()
            if done is None:
                self.progress.add(txn, self.state, 0)
            return done or 0

    def note_comparison(self, rows: int) -> None:
        """Record that the conversion is complete: from now on the target may change."""
        with transaction(self.spark) as txn:
            self.progress.add(txn, replace(self.state, done=len(self.planned.batches) + 1), rows)

    def _copy_once(self, number: int, batch: Sequence[Piece]) -> int | None:
        """Copy a batch and return its number of rows; None if it is copied already."""
        frame = self.planned.converted(self.source.rows_of(batch))

        def copy() -> int | None:
            with transaction(self.spark) as txn:
                done = self.progress.done()
                if done is None or done >= number:
                    return None
                text = f"INSERT INTO {self.target} BY NAME SELECT * FROM {{rows}}"
                rows = int(txn.sql(text, rows=frame).collect()[0]["num_inserted_rows"])
                self.progress.add(txn, replace(self.state, done=number), rows)
                return rows

        with api.working(self.spark) as session:
            return run_again_after_conflicts(session, copy)


def _refuse_acid_source(spark: SparkSession, place: ForeignTable) -> None:
    if place.format == "table" and _target(spark, place.name) is not None:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE",
            f"{place.name} is an ACID table already: copy it by CREATE TABLE … CLONE, or CREATE "
            "TABLE … AS SELECT",
            {"parameter": "source"},
        )


def _target(spark: SparkSession, name: str) -> Table | None:
    with api.working(spark) as session:
        return find_acid_table(session, bridge.parse_name(spark, name))


def _check_target(
    spark: SparkSession, target: str, place: ForeignTable, table: Table | None, begun: Begun | None
) -> None:
    """Refuse a target that contains rows of another origin than this conversion."""
    if table is None:
        with api.working(spark) as session:
            if qualified(session, bridge.parse_name(spark, target)) is None:
                raise AcidAnalysisError(
                    "INVALID_PARAMETER_VALUE",
                    f"{target} does not name a table of spark_catalog: write database.table",
                    {"parameter": "target"},
                )
        return
    if begun is not None:
        if begun.source == str(place):
            return
        reason = f"is being filled from {begun.source}"
    elif api.table(spark, target).limit(1).count():
        reason = "has rows"
    else:
        return
    raise AcidAnalysisError(
        "CONVERSION_TARGET_NOT_EMPTY",
        f"{target} {reason}: convert into a new table, and add its rows by INSERT INTO … SELECT",
    )


def _create(target: str, planned: _Plan, properties: Mapping[str, str]) -> str:
    """Return the CREATE TABLE statement of the target."""
    partitions = set(planned.partition_columns)
    texts = {column.name: f"{quote(column.name)} {column.target}" for column in planned.columns}
    stored = ", ".join(text for name, text in texts.items() if name not in partitions)
    parts = ", ".join(texts[name] for name in planned.partition_columns)
    pairs = property_list({"transactional": "true", **properties})
    return (
        f"CREATE TABLE {target} ({stored}){f' PARTITIONED BY ({parts})' if parts else ''} "
        f"STORED AS ORC TBLPROPERTIES ({pairs})"
    )
