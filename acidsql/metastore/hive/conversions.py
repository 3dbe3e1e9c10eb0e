"""Conversion of tables and partitions to and from the structures of the Thrift interface.

The storage descriptor (``StorageDescriptor``, ``SerDeInfo``) and the parameters describe a table to
Hive. Constraints are separate; see ``constraints``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import lowered
from acidsql.metastore.hive.column_types import hive_type, spark_type
from acidsql.metastore.hive.generated_columns import (
    generated_properties,
    is_generated_property,
    with_generated,
)
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.spark_schema import (
    as_written,
    is_schema_property,
    schema_properties,
    written_columns,
)
from acidsql.metastore.model import Column, FileFormat, Partition, PlainTable, Table, TableType
from acidsql.syntax.constraints import Constraint

# Parameters that only the server and Hive's writers maintain (StatsSetupConst,
# hive_metastoreConstants.DDL_TIME).
ACCURATE = "COLUMN_STATS_ACCURATE"
STATISTICS = frozenset(
    {ACCURATE, "numFiles", "numFilesErasureCoded", "numRows", "rawDataSize",
     "totalSize"}
)  # fmt: skip
DDL_TIME = "transient_lastDdlTime"
# Number of ordinals that were reserved for a table's identity columns, and a random word.
ORDINALS = "acidsql.ordinals"
_KEPT_BY_SERVER = STATISTICS | {DDL_TIME, "last_modified_by", "last_modified_time", ORDINALS}
_OF_NEW_TABLES = {"transactional": "true", "bucketing_version": "2"}
# Properties with the database where a view's text resolves names: acidsql's and Spark's.
_VIEW_DATABASE = "view.database"
_SPARK_VIEW_DATABASE = "view.catalogAndNamespace.part.1"
_SERIALIZATION_FORMAT = "serialization.format"
_PLAIN_TYPES = (TableType.MANAGED.value, "EXTERNAL_TABLE")
# Property that MetastoreDefaultTransformer sets on a managed table when it makes it external.
_TRANSLATED = "TRANSLATED_TO_EXTERNAL"
_OF_SPARK = "spark.sql."


@dataclass(frozen=True, slots=True)
class _Storage:
    input_format: str
    output_format: str
    serde: str


_STORAGES = {
    FileFormat.ORC: _Storage(
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    ),
    FileFormat.PARQUET: _Storage(
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    ),
    FileFormat.TEXT: _Storage(
        "org.apache.hadoop.mapred.TextInputFormat",
        "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    ),
}
_VIEW_STORAGE = _Storage(
    "org.apache.hadoop.mapred.SequenceFileInputFormat",
    "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
    "",
)


def change_of(table: Any) -> tuple[int | None, str]:
    """Return the id and the time of change of a server's table, which each alteration changes."""
    return table.id, (table.parameters or {}).get(DDL_TIME, "")


def is_ours(table: Any) -> bool:
    """Return whether a table of the server is transactional, or a view."""
    if table.tableType == TableType.VIEW.value:
        return True
    parameters = table.parameters or {}
    transactional = next((v for k, v in parameters.items() if k.lower() == "transactional"), "")
    return bool(table.tableType == TableType.MANAGED.value) and transactional.lower() == "true"


def is_plain(table: Any) -> bool:
    """Return whether a table of the server has files and is not transactional."""
    return table.tableType in _PLAIN_TYPES and not is_ours(table)


def to_hive(table: Table, existing: Any = None) -> Any:
    """Convert a table to the server's structure (``hms.Table``).

    Args:
        table: the table.
        existing: the server's table, if the table is altered; the result retains its fields that
            acidsql does not know.
    """
    made = copy.deepcopy(existing) if existing is not None else _new_table(table)
    made.sd = _storage_descriptor(table, made.sd)
    made.partitionKeys = _fields(table.partition_columns)
    kept = {k: v for k, v in (made.parameters or {}).items() if k in _KEPT_BY_SERVER}
    defaults = _OF_NEW_TABLES if existing is None and table.table_type is TableType.MANAGED else {}
    made.parameters = {**kept, **defaults, **table.properties, **schema_properties(table)}
    made.parameters |= generated_properties(table)
    made.owner = table.owner or made.owner
    made.viewOriginalText = made.viewExpandedText = table.view_text
    return made


def _new_table(table: Table) -> Any:
    return hms.Table(
        tableName=lowered(table.name),
        dbName=lowered(table.database),
        ownerType=hms.PrincipalType.USER,
        createTime=table.created,
        lastAccessTime=0,
        retention=0,
        tableType=table.table_type.value,
        rewriteEnabled=False,
        sd=hms.StorageDescriptor(
            compressed=False,
            sortCols=[],
            parameters={},
            storedAsSubDirectories=False,
            serdeInfo=hms.SerDeInfo(parameters={_SERIALIZATION_FORMAT: "1"}),
        ),
    )


def _storage_descriptor(table: Table, descriptor: Any) -> Any:
    storage = _STORAGES[table.file_format]
    if table.table_type is TableType.VIEW:
        storage = _VIEW_STORAGE
    descriptor.cols = _fields(table.columns)
    descriptor.location = table.location or None
    descriptor.inputFormat = storage.input_format
    descriptor.outputFormat = storage.output_format
    descriptor.numBuckets = table.num_buckets or -1
    descriptor.bucketCols = [lowered(column) for column in table.bucket_columns]
    descriptor.serdeInfo.serializationLib = storage.serde or None
    kept = (descriptor.serdeInfo.parameters or {}).get(_SERIALIZATION_FORMAT, "1")
    descriptor.serdeInfo.parameters = {_SERIALIZATION_FORMAT: kept, **table.serde_properties}
    return descriptor


def _fields(columns: Iterable[Column]) -> list[Any]:
    return [
        hms.FieldSchema(name=lowered(c.name), type=hive_type(c.type), comment=c.comment)
        for c in columns
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnConstraints:
    """Constraints of a table, with the names of its columns in lower case.

    Attributes:
        not_null: names of columns that must not be NULL.
        defaults: SQL text of DEFAULT by name of column.
        others: constraints of other kinds.
    """

    not_null: frozenset[str] = frozenset()
    defaults: Mapping[str, str]
    others: tuple[Constraint, ...] = ()


def from_hive(table: Any, constraints: ColumnConstraints) -> Table:
    """Convert the server's table to a ``Table``.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FILE_FORMAT, an insert-only table has a format that acidsql
            does not know.
    """
    view = table.tableType == TableType.VIEW.value
    descriptor = table.sd
    serde = descriptor.serdeInfo.parameters or {}
    written = written_columns(table.parameters or {})

    def columns(fields: Iterable[Any]) -> tuple[Column, ...]:
        with_names = as_written(columns_of(fields, constraints), written)
        return with_generated(with_names, table.parameters or {})

    return Table(
        database=table.dbName,
        name=table.tableName,
        columns=columns(descriptor.cols),
        partition_columns=columns(table.partitionKeys or ()),
        location=descriptor.location or "",
        properties=_properties(table, view=view),
        table_type=TableType.VIEW if view else TableType.MANAGED,
        view_text=(table.viewExpandedText or table.viewOriginalText) if view else None,
        owner=table.owner or "",
        created=table.createTime or 0,
        bucket_columns=tuple(
            written[name].name if name in written else name
            for name in map(lowered, descriptor.bucketCols or ())
        ),
        num_buckets=max(descriptor.numBuckets or 0, 0) if descriptor.bucketCols else 0,
        file_format=FileFormat.ORC if view else _file_format(table),
        serde_properties={k: v for k, v in serde.items() if k != _SERIALIZATION_FORMAT},
        constraints=tuple(
            replace(c, columns=tuple(written[n].name if n in written else n for n in c.columns))
            for c in constraints.others
        ),
    )


def plain_from_hive(table: Any, partitions: Iterable[Partition]) -> PlainTable:
    """Convert the server's plain table to the corresponding transactional table.

    If another engine creates a managed table, Hive 4 may make it external. Such a table does not
    count as external. The result has no properties of Spark's own table, because with them Spark
    would read the files itself.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FILE_FORMAT.
    """
    made = from_hive(table, ColumnConstraints(defaults={}))
    translated = made.properties.get(_TRANSLATED, "").upper() == "TRUE"
    external = table.tableType != TableType.MANAGED.value and not translated
    dropped = {"EXTERNAL", "external.table.purge", _TRANSLATED}
    kept = {
        k: v for k, v in made.properties.items() if k not in dropped and not k.startswith(_OF_SPARK)
    }
    return PlainTable(
        table=replace(made, properties=kept),
        partitions=tuple(partitions),
        external=external,
        is_sorted=bool(table.sd.sortCols),
    )


def _properties(table: Any, *, view: bool) -> dict[str, str]:
    parameters = table.parameters or {}
    shown = {k: v for k, v in parameters.items() if k not in _KEPT_BY_SERVER}
    properties = {
        k: v for k, v in shown.items() if not is_schema_property(k) and not is_generated_property(k)
    }
    if view and _VIEW_DATABASE not in properties:
        properties[_VIEW_DATABASE] = properties.get(_SPARK_VIEW_DATABASE, table.dbName)
    return properties


def _file_format(table: Any) -> FileFormat:
    serde = table.sd.serdeInfo.serializationLib
    for file_format, storage in _STORAGES.items():
        if table.sd.inputFormat == storage.input_format and serde == storage.serde:
            return file_format
    raise AcidAnalysisError(
        "UNSUPPORTED_FILE_FORMAT",
        f"{table.dbName}.{table.tableName} is a transactional table with input format "
        f"{table.sd.inputFormat} and serde {serde}, which acidsql cannot read: it knows ORC, "
        "Parquet and delimited text",
    )


def columns_of(
    fields: Iterable[Any], constraints: ColumnConstraints | None = None
) -> tuple[Column, ...]:
    """Convert the server's fields to columns."""
    known_constraints = constraints or ColumnConstraints(defaults={})
    return tuple(
        Column(
            name=lowered(field.name),
            type=spark_type(field.type),
            nullable=lowered(field.name) not in known_constraints.not_null,
            default=known_constraints.defaults.get(lowered(field.name)),
            comment=field.comment,
        )
        for field in fields
    )


def partition_to_hive(table: Any, partition: Partition) -> Any:
    """Convert a new partition to ``hms.Partition``, with the storage descriptor of its table."""
    descriptor = copy.deepcopy(table.sd)
    descriptor.location = partition.location
    if partition.columns is not None:
        descriptor.cols = _fields(partition.columns)
    return hms.Partition(
        values=list(partition.values),
        dbName=table.dbName,
        tableName=table.tableName,
        createTime=0,
        lastAccessTime=0,
        sd=descriptor,
        parameters={},
    )


def partition_from_hive(table: Any, partition: Any) -> Partition:
    """Convert the server's partition; the result has columns only if they differ."""
    fields = [(f.name, f.type) for f in partition.sd.cols]
    same = fields == [(f.name, f.type) for f in table.sd.cols]
    return Partition(
        values=tuple(partition.values),
        location=partition.sd.location,
        columns=None if same else columns_of(partition.sd.cols),
    )
