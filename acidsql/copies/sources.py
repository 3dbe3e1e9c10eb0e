"""Sources of conversions: one version of a table of another format, divided into batches."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from operator import and_, or_
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
)

from acidsql.copies.places import FILE_FORMATS, ForeignTable, reader_options
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded
from acidsql.format.partitions import unescape
from acidsql.storage.filesystem import FileSystem
from acidsql.storage.weighted_groups import weighted_groups
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import quoted_string

# Largest number of partitions in a batch, because each is a condition in the batch's query.
_PARTITIONS = 100
_FILES = 10_000
_GLOB = re.compile(r"([{}\[\]*?\\])")
# Types of partition columns whose values pass through Python without a change.
_EXACT = (
    StringType,
    DateType,
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    DecimalType,
)


class Piece(NamedTuple):
    """Smallest part of a source that can be read by itself.

    Attributes:
        key: path of a file, or the values of a partition as JSON.
        weight: bytes of a file, or rows of a partition.
        values: values of the partition columns.
    """

    key: str
    weight: int
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceVersion:
    """Version of a table of another format.

    Attributes:
        spark: the session.
        place: place of the table.
        options: options of Spark's reader.
        version: version or snapshot id; None if the format has none, or the table has no rows yet.
        frame: all rows.
        partition_columns: names of the partition columns.
        pieces: the pieces, in order; empty if the source can only be read as a whole.
        fingerprint: text that changes if the source changes: the version, or a digest of the names,
            sizes and times of the files.
        base: directory that contains the partition directories, for file formats.
    """

    spark: SparkSession
    place: ForeignTable
    options: Mapping[str, str]
    version: str | None
    frame: DataFrame
    partition_columns: tuple[str, ...]
    pieces: tuple[Piece, ...]
    fingerprint: str
    base: str = ""

    def rows_of(self, batch: Sequence[Piece]) -> DataFrame:
        """Return the rows of the pieces of a batch; all rows if the batch has no pieces."""
        if not batch:
            return self.frame
        if self.place.format in FILE_FORMATS:
            reader = self.spark.read.format(self.place.format).schema(self.frame.schema)
            options = {**self.options, **({"basePath": self.base} if self.base else {})}
            paths = [_GLOB.sub(r"\\\1", piece.key) for piece in batch]
            return reader.options(**options).load(paths)
        return self.frame.where(reduce(or_, map(self._condition, batch)))

    def _condition(self, piece: Piece) -> Column:
        pairs = zip(self.partition_columns, piece.values, strict=True)
        return reduce(and_, (F.col(quote(n)).eqNullSafe(F.lit(value)) for n, value in pairs))


def batches_of(
    pieces: Sequence[Piece], most: int, longest: int = _FILES
) -> tuple[tuple[Piece, ...], ...]:
    """Divide pieces into batches, and keep their order.

    Args:
        pieces: the pieces; a source without pieces is one batch.
        most: largest weight of a batch, unless it has only one piece.
        longest: largest number of pieces in a batch.

    >>> one, two, three = (Piece(key, 2) for key in "abc")
    >>> [[piece.key for piece in batch] for batch in batches_of([one, two, three], 4)]
    [['a', 'b'], ['c']]
    """
    groups = weighted_groups(pieces, lambda piece: piece.weight, most, longest)
    return tuple(map(tuple, groups)) or ((),)


def batches(
    source: SourceVersion, batch_bytes: int, batch_rows: int
) -> tuple[tuple[Piece, ...], ...]:
    """Return the batches of a source.

    The batches of file formats contain up to ``batch_bytes`` bytes, and those of tables contain
    whole partitions with up to ``batch_rows`` rows.
    """
    if source.place.format in FILE_FORMATS:
        return batches_of(source.pieces, batch_bytes)
    return batches_of(source.pieces, batch_rows, _PARTITIONS)


def open_source(
    spark: SparkSession,
    files: FileSystem,
    place: ForeignTable,
    options: Mapping[str, str],
    schema: str | None,
    version: str | None,
) -> SourceVersion:
    """Open a source.

    Args:
        spark: the session.
        files: the file systems.
        place: place of the table.
        options: options of Spark's reader.
        schema: schema of files, as in the definition of a table; None to infer it.
        version: version to read; None for the newest.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE, a schema is given for a format that stores the
            schema, or a path has a pattern without a ``basePath``; DELTA_EXTENSION_MISSING.
        AnalysisException: the table or the format does not exist.
    """
    options = reader_options(place, options)
    if schema is not None and place.format not in FILE_FORMATS:
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE",
            f"schema is given, and {place} has its own: leave it out",
            {"parameter": "schema"},
        )
    reader = spark.read.options(**options)
    if place.format in FILE_FORMATS:
        return _open_files(spark, files, place, reader, options, schema)
    kind = _provider(spark, place) if place.format == "table" else place.format
    if kind == "delta":
        _check_delta(spark)
    if version is None:
        version = _newest(spark, place, kind)
    if version is not None:
        reader = reader.option(_VERSION_OPTIONS[kind], version)
    frame = _load(reader, place)
    columns = _partition_columns(spark, place, kind, frame)
    return SourceVersion(
        spark=spark,
        place=place,
        options=options,
        version=version,
        frame=frame,
        partition_columns=columns,
        pieces=_partitions(frame, columns),
        fingerprint=version or _digest(_listed_files(files, frame)),
    )


# Option of Spark's reader that selects a version.
_VERSION_OPTIONS = {"delta": "versionAsOf", "iceberg": "snapshot-id"}


def _load(reader: DataFrameReader, place: ForeignTable) -> DataFrame:
    if place.format == "table":
        return reader.table(place.name)
    return reader.format(place.format).load(place.name)


def _open_files(
    spark: SparkSession,
    files: FileSystem,
    place: ForeignTable,
    reader: DataFrameReader,
    options: Mapping[str, str],
    schema: str | None,
) -> SourceVersion:
    above = next((value for key, value in options.items() if key.lower() == "basepath"), None)
    if above is None and _GLOB.search(place.name):
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE",
            f"{place} has a pattern, which does not show where directories of partitions begin: "
            "give options={'basePath': …}",
            {"parameter": "source"},
        )
    reader = reader.format(place.format)
    frame = (reader if schema is None else reader.schema(schema)).load(place.name)
    listed = _listed_files(files, frame)
    base = files.qualify(above or place.name)
    keys = partition_keys(base, [path for path, _, _ in listed])
    known = {folded(name): name for name in frame.columns}
    return SourceVersion(
        spark=spark,
        place=place,
        options=options,
        version=None,
        frame=frame,
        partition_columns=tuple(known[folded(key)] for key in keys if folded(key) in known),
        pieces=tuple(Piece(path, size) for path, size, _ in listed),
        fingerprint=_digest(listed),
        # The path of a single file is not a directory that contains partitions.
        base=base if all(path.startswith(f"{base}/") for path, _, _ in listed) else "",
    )


def partition_keys(base: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the partition columns, from the directories of the files.

    Args:
        base: directory that contains the partition directories.
        paths: paths of the files.

    >>> partition_keys("/t", ["/t/day=1/place=a%20b/x.parquet", "/t/day=2/place=c/y.parquet"])
    ('day', 'place')
    """
    if not paths or not paths[0].startswith(f"{base}/"):
        return ()
    parts = paths[0].removeprefix(f"{base}/").split("/")[:-1]
    return tuple(unescape(part.partition("=")[0]) for part in parts if "=" in part)


def _listed_files(files: FileSystem, frame: DataFrame) -> list[tuple[str, int, int]]:
    """Return the path, size and time of each file of a frame, sorted by path."""
    paths = sorted({_path(uri) for uri in frame.inputFiles()})
    above = sorted({path.rpartition("/")[0] for path in paths})
    listings = dict(zip(above, files.list_all(above), strict=True)) if above else {}
    existing = []
    for path in paths:
        directory, _, name = path.rpartition("/")
        version = listings[directory].files.get(name)
        if version is not None:
            existing.append((path, version.size, version.modified))
    return existing


def _path(uri: str) -> str:
    """Convert a URI from Spark to a path in Hadoop's spelling: unescaped, with one slash."""
    parts = urlsplit(uri)
    place = f"//{parts.netloc}" if parts.netloc else ""
    # Spark escapes ? and # in paths, so urlsplit finds neither a query nor a fragment.
    return f"{parts.scheme}:{place}{unquote(parts.path)}" if parts.scheme else unquote(uri)


def _digest(listed: Sequence[tuple[str, int, int]]) -> str:
    return sha256(json.dumps(listed).encode()).hexdigest()


def _provider(spark: SparkSession, place: ForeignTable) -> str:
    """Return the format of a table in one of Spark's catalogs."""
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {place.name}").collect()
    return next((str(r[1]).lower() for r in rows if r[0] == "Provider"), "view")


def _check_delta(spark: SparkSession) -> None:
    """Check that a session has Delta Lake's statements.

    Raises:
        AcidAnalysisError: DELTA_EXTENSION_MISSING.
    """
    extension = "io.delta.sql.DeltaSparkSessionExtension"
    if extension not in str(spark.conf.get("spark.sql.extensions", "")):
        raise AcidAnalysisError(
            "DELTA_EXTENSION_MISSING",
            "this Spark session has no Delta Lake: start it with the package of Delta Lake "
            f"(spark.jars.packages), spark.sql.extensions={extension} and "
            "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
        )


def _newest(spark: SparkSession, place: ForeignTable, kind: str) -> str | None:
    """Return the newest version; None if the format has no versions, or the table no rows."""
    if kind == "delta":
        named = place.name if place.format == "table" else f"delta.{quote(place.name)}"
        return str(spark.sql(f"DESCRIBE HISTORY {named} LIMIT 1").collect()[0]["version"])
    if kind == "iceberg":
        main = _metadata(spark, place, "refs").where("name = 'main'").collect()
        return str(main[0]["snapshot_id"]) if main else None
    return None


def _metadata(spark: SparkSession, place: ForeignTable, name: str) -> DataFrame:
    """Return a metadata table of an Iceberg table."""
    if place.format == "table":
        return spark.table(f"{place.name}.{name}")
    joint = "#" if place.is_path else "."
    return spark.read.format("iceberg").load(f"{place.name}{joint}{name}")


def _partition_columns(
    spark: SparkSession, place: ForeignTable, kind: str, frame: DataFrame
) -> tuple[str, ...]:
    """Return the names of the partition columns of a table.

    An Iceberg table can be partitioned by a transformed column, which is not returned here.
    """
    if kind == "delta":
        named = place.name if place.format == "table" else f"delta.{quote(place.name)}"
        detail = spark.sql(f"DESCRIBE DETAIL {named}").collect()[0]
        return tuple(detail["partitionColumns"])
    if kind == "iceberg":
        schema = _metadata(spark, place, "partitions").schema
        if "partition" not in schema.names:
            return ()
        types = {field.name: field.dataType for field in frame.schema.fields}
        fields = schema["partition"].dataType.fields
        return tuple(f.name for f in fields if types.get(f.name) == f.dataType)
    if kind == "view":
        return ()
    return tuple(c.name for c in spark.catalog.listColumns(place.name) if c.isPartition)


def _partitions(frame: DataFrame, columns: Sequence[str]) -> tuple[Piece, ...]:
    """Return the partitions of a table and their numbers of rows, sorted by their values."""
    kinds: list[DataType] = [frame.schema[name].dataType for name in columns]
    if not columns or not all(isinstance(kind, _EXACT) for kind in kinds):
        return ()
    counted = frame.groupBy(*(F.col(quote(name)) for name in columns)).count().collect()
    pieces = []
    for *values, rows in counted:
        key = json.dumps([None if value is None else str(value) for value in values])
        pieces.append(Piece(key, rows, tuple(values)))
    return tuple(sorted(pieces, key=lambda piece: piece.key))


def check_partition_texts(source: SourceVersion, columns: Sequence[str]) -> None:
    """Refuse empty strings in partition columns, because Hive reads them as NULL.

    Raises:
        AcidAnalysisError: EMPTY_PARTITION_VALUE.
    """
    for piece in source.pieces:
        for name, value in zip(source.partition_columns, piece.values, strict=False):
            if value == "" and name in columns:
                raise AcidAnalysisError(
                    "EMPTY_PARTITION_VALUE",
                    f"partition column {name} of {source.place} has the value "
                    f"{quoted_string('')}, which is NULL in a partition column of Hive: choose "
                    "other partition columns by partition_by, or give it another value by select",
                    {"columnName": quote(name)},
                )
