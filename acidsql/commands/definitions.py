"""Checks of the columns and properties of a table definition."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CharType,
    MapType,
    StructType,
    VarcharType,
)

from acidsql import bridge
from acidsql.compaction.cleaner import RETENTION_PROPERTY
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.format.identifiers import folded, lowered
from acidsql.format.timestamp_types import TIMESTAMP, timestamps_in, with_timestamps
from acidsql.metastore.model import Column, FileFormat, Table
from acidsql.schema.acid_file import CODECS, IS_DELETED_COLUMN, ROW_ID_COLUMN
from acidsql.schema.columns import has_instant, has_local_time
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import orc_codec, takes_instants
from acidsql.storage.staging import ORC_COMPRESS

# Table properties that acidsql passes to ORC's writer.
_ORC_PROPERTIES = frozenset(
    {
        ORC_COMPRESS,
        "orc.stripe.size",
        "orc.row.index.stride",
        "orc.rows.between.memory.checks",
        "orc.compress.size",
        "orc.block.size",
        "orc.bloom.filter.columns",
        "orc.bloom.filter.fpp",
    }
)
# Values of transactional_properties: full ACID, and insert-only.
_PROPERTIES = ("default", "insert_only")


def check_properties(properties: Mapping[str, str]) -> None:
    """Refuse table properties that are invalid or would have no effect.

    Raises:
        AcidAnalysisError: INVALID_TABLE_PROPERTY, UNSUPPORTED_FEATURE.
    """
    for key, value in properties.items():
        lowered = key.lower()
        if lowered == "transactional_properties" and value.lower() not in _PROPERTIES:
            raise _unsupported(
                f"transactional_properties {value}",
                "use 'default' or 'insert_only'",
                "TRANSACTIONAL_PROPERTIES",
            )
        if lowered == ORC_COMPRESS and value.lower() not in CODECS:
            raise AcidAnalysisError(
                "INVALID_TABLE_PROPERTY",
                f"orc.compress is {value!r}: use one of {', '.join(CODECS)}",
            )
        if lowered.startswith("orc.") and lowered not in _ORC_PROPERTIES:
            raise _unsupported(
                f"table property {key}",
                f"use one of {', '.join(sorted(_ORC_PROPERTIES))}",
                "TABLE_PROPERTY",
            )
        if lowered == "bucketing_version" and value not in ("1", "2"):
            raise AcidAnalysisError(
                "INVALID_TABLE_PROPERTY", f"bucketing_version is {value!r}: use 1 or 2"
            )
        if lowered.startswith(("acidsql.generated.", "acidsql.identity.", "acidsql.ordinals")):
            raise _unsupported(
                f"table property {key}",
                "write GENERATED … AS in CREATE TABLE",
                "TABLE_PROPERTY",
            )
        if lowered in ("external", "external.table.purge"):
            raise _unsupported(
                f"table property {key}", "leave it out, the table is managed", "TABLE_PROPERTY"
            )


def warn_of_retention(session: AcidSession, properties: Mapping[str, str]) -> None:
    """Warn if the metastore's cleaner ignores a property that retains history (``UserWarning``)."""
    requested = any(key.lower() == RETENTION_PROPERTY for key in properties)
    if requested and not session.metastore.capabilities.queues_cleanups:
        warnings.warn(
            f"{RETENTION_PROPERTY} keeps nothing from the cleaner of a Hive Metastore, which does "
            "not know it: set hive.compactor.delayed.cleanup.enabled and "
            "hive.compactor.cleaner.retention.time.seconds of the server",
            UserWarning,
            stacklevel=2,
        )


def with_codec(session: AcidSession, table: Table, adopted: str | None = None) -> Table:
    """Return a new table with the codec of its files among its properties (``orc.compress``).

    The first of these determines the codec: the statement's property, the files that the table
    takes over, the session's settings. Otherwise it is zstd, if all readers support zstd. If they
    do not, the property is left out, which means zlib, as in Hive. Hive obeys the property too.

    Args:
        session: the session.
        table: the new table.
        adopted: codec of the newest file that the table takes over.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    given = any(key.lower() == ORC_COMPRESS for key in table.properties)
    if given or table.file_format is not FileFormat.ORC:
        return table
    known = session.metastore.capabilities.readers_know_zstd
    codec = adopted if adopted in CODECS else orc_codec(session.spark)
    codec = codec or ("zstd" if known else None)
    if codec is None:
        return table
    return replace(table, properties={**table.properties, ORC_COMPRESS: codec.upper()})


def _unsupported(feature: str, reason: str, condition: str | None = None) -> AcidAnalysisError:
    condition = "UNSUPPORTED_FEATURE." + (condition or feature.upper().replace(" ", "_"))
    return AcidAnalysisError(
        condition, f"{feature} is not supported for transactional tables: {reason}"
    )


def check_unique(names: Sequence[str], owner: str, what: str = "columns") -> None:
    """Refuse names of columns if Spark or Hive treats two of them as the same name.

    The value of ``spark.sql.caseSensitive`` does not matter: in a Hive table, names must differ in
    more than case.

    Args:
        names: the names.
        owner: owner of the columns, for the message.
        what: noun for the named things, for the message.

    Raises:
        AcidAnalysisError: COLUMN_ALREADY_EXISTS.
    """
    seen: dict[str, str] = {}
    for name in names:
        keys = {lowered(name), folded(name)}
        other = next((seen[key] for key in sorted(keys) if key in seen), None)
        if other is not None:
            both = f"{other} and {name}, which differ only by case" if other != name else name
            raise AcidAnalysisError(
                "COLUMN_ALREADY_EXISTS",
                f"{owner} has two {what} {both}: rename one of them",
                {"columnName": quoted_name([name])},
            )
        seen |= dict.fromkeys(keys, name)


def check_columns(
    session: AcidSession, columns: Sequence[Column], partition_columns: Sequence[Column]
) -> None:
    """Refuse columns with names, types or defaults that a table cannot have.

    Raises:
        AcidAnalysisError: COLUMN_ALREADY_EXISTS, RESERVED_COLUMN_NAME, MISSING_COLUMNS,
            INVALID_PARTITION_COLUMN_DATA_TYPE, INVALID_DEFAULT_VALUE, UNSUPPORTED_FEATURE.
    """
    every = [*columns, *partition_columns]
    check_unique([c.name for c in every], "the table")
    for column in every:
        for nested in bridge.types_in(bridge.parse_type(session.spark, column.type)):
            if isinstance(nested, StructType):
                check_unique(nested.names, f"a struct in {column.name}", "fields")
    names = [c.key for c in every]
    if ROW_ID_COLUMN in names:
        raise AcidAnalysisError(
            "RESERVED_COLUMN_NAME",
            f"{ROW_ID_COLUMN} is the name of the row id: choose another name",
        )
    if IS_DELETED_COLUMN in names:
        raise AcidAnalysisError(
            "RESERVED_COLUMN_NAME",
            f"{IS_DELETED_COLUMN} is the column that shows deleted rows: choose another name",
        )
    if not columns:
        raise AcidAnalysisError(
            "MISSING_COLUMNS",
            "all columns are partition columns: at least one must be stored in files",
        )
    for column in partition_columns:
        declared = bridge.parse_type(session.spark, column.type)
        if isinstance(declared, ArrayType | MapType | StructType | BinaryType):
            raise AcidAnalysisError(
                "INVALID_PARTITION_COLUMN_DATA_TYPE",
                f"partition column {column.name} has type {column.type}: use a primitive type",
                {"type": column.type},
            )
        if has_instant(column):
            raise AcidAnalysisError(
                "INVALID_PARTITION_COLUMN_DATA_TYPE",
                f"partition column {column.name} has type {column.type}, whose values have another "
                "text in each time zone: use TIMESTAMP, DATE or STRING",
                {"type": column.type},
            )
    for column in [*columns, *partition_columns]:
        if column.default is not None:
            _check_default(session, column)


def with_timestamp_types(
    session: AcidSession, columns: tuple[Column, ...], *, insert_only: bool
) -> tuple[Column, ...]:
    """Return new columns with the TIMESTAMP type that ``spark.acidsql.timestampType`` selects.

    An insert-only table has no instants, because Spark's writers of plain files do not write them.
    """
    if insert_only or not takes_instants(session.spark):
        return columns
    return tuple(
        replace(
            column,
            type=with_timestamps(
                column.type,
                ["TIMESTAMP_LTZ" if w == TIMESTAMP else w for w in timestamps_in(column.type)],
            ),
        )
        for column in columns
    )


def check_local_times(table: Table) -> None:
    """Refuse TIMESTAMP_NTZ and TIMESTAMP_LTZ in an insert-only table.

    Spark's writers of plain files do not write these types as Hive reads them.

    Raises:
        AcidAnalysisError: UNSUPPORTED_DATATYPE.
    """
    for column in (*table.columns, *table.partition_columns):
        if table.insert_only and (has_local_time(column) or has_instant(column)):
            raise AcidAnalysisError(
                "UNSUPPORTED_DATATYPE",
                f"column {column.name!r} has type {column.type}, which an insert-only table cannot "
                "have: use TIMESTAMP, or a full ACID table",
                {"typeName": column.type},
            )


def _check_default(session: AcidSession, column: Column) -> None:
    """Refuse a default that Spark refuses; defaults of char and varchar are checked as strings."""
    declared = bridge.parse_type(session.spark, column.type)
    cast = "STRING" if isinstance(declared, CharType | VarcharType) else column.type
    bridge.check_default(session.spark, column.name, str(column.default), cast)
