"""``acidsql.export``: copy a version of an ACID table into a table of another format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from acidsql import api, bridge
from acidsql.copies.checksums import compare, fields_of
from acidsql.copies.places import EXPORT_FORMATS, FILE_FORMATS, ForeignTable, parse_place
from acidsql.copies.report import ColumnReport, CopyReport
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded
from acidsql.planning.name_resolution import acid_table
from acidsql.syntax.lexer import quote


def export(
    spark: SparkSession,
    table: str,
    target: str,
    *,
    version: int | str | None = None,
    timestamp: datetime | date | str | None = None,
    partition_by: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> CopyReport:
    """Write the rows of an ACID table into a new table of another format, and compare both.

    The function exports the rows of one snapshot. Use the statement EXPORT TABLE to write the
    format of Hive's EXPORT, which includes the table's definition and can be imported by IMPORT.
    Spark refuses a target that exists, and a format that it does not know.

    Args:
        spark: the session.
        table: name of the ACID table, as in SQL.
        target: ``parquet:PATH``, ``delta:PATH``, ``iceberg:PATH`` or ``iceberg:NAME``, which must
            not exist.
        version: version of the table; see ``acidsql.table``.
        timestamp: time at which the version was the newest.
        partition_by: names of the partition columns of the target; by default those of the table.
        options: options of Spark's writer for the format.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE; see ``acidsql.table``.
        FormatError: COPY_DIFFERS, the written rows are not equal to those of the table.

    >>> done = acidsql.export(spark, "pet", "parquet:pets")
    >>> done.rows, spark.read.parquet("pets").count()
    (2, 2)
    """
    place = parse_place(target, EXPORT_FORMATS, tables=False)
    with api.working(spark) as session:
        source = acid_table(session, bridge.parse_name(spark, table))
    frame = api.table(spark, table, version=version, timestamp=timestamp)
    known = {folded(name): name for name in frame.columns}
    requested = partition_by
    if requested is None:
        requested = [c.name for c in source.partition_columns if c.key in known]
    for name in requested:
        if folded(name) not in known:
            raise AcidAnalysisError(
                "INVALID_PARAMETER_VALUE",
                f"{table} has no column {name}: partition_by takes some of "
                f"{', '.join(frame.columns)}",
                {"parameter": "partition_by"},
            )
    columns = [known[folded(name)] for name in requested]
    _write(frame, place, columns, options or {})
    written = _read(spark, place, frame)
    # A format without small integer types uses larger ones, with the same hashes.
    checked = compare(frame, written, fields_of(frame.schema), (table, target))
    return CopyReport(
        source=table,
        target=target,
        version=None if version is None else str(version),
        columns=tuple(
            ColumnReport(
                name=field.name,
                source=bridge.type_sql(spark, field.dataType),
                target=bridge.type_sql(spark, written.schema[field.name].dataType),
            )
            for field in frame.schema.fields
        ),
        partition_columns=tuple(columns),
        batches=1,
        copied=1,
        rows=checked.rows,
        checksum=str(checked),
    )


def _write(
    frame: DataFrame, place: ForeignTable, partitions: Sequence[str], options: Mapping[str, str]
) -> None:
    if place.format == "iceberg" and not place.is_path:
        writer = frame.writeTo(place.name).using("iceberg").options(**options)
        columns: list[Column] = [F.col(quote(name)) for name in partitions]
        (writer.partitionedBy(*columns) if columns else writer).create()
        return
    made = frame.write.format(place.format).options(**options).mode("errorifexists")
    (made.partitionBy(*partitions) if partitions else made).save(place.name)


def _read(spark: SparkSession, place: ForeignTable, frame: DataFrame) -> DataFrame:
    reader = spark.read.format(place.format)
    if place.format in FILE_FORMATS:
        # Spark would guess the types of partition columns from the names of directories.
        reader = reader.schema(frame.schema)
    return reader.load(place.name)
