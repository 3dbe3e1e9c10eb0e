"""Columns of a table as Spark's types, and the schema of ACID files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache

from pyspark.sql import Column as SparkColumn
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    CharType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VarcharType,
)

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Column, Table
from acidsql.syntax.lexer import quote

ROW_ID_COLUMN = "row__id"
# The columns of an ACID file that identify a row.
KEYS = ("originalTransaction", "bucket", "rowId")
# Where Spark keeps the declared type of a char or varchar column, which it reads and writes as a
# string.
_CHAR_VARCHAR_KEY = "__CHAR_VARCHAR_TYPE_STRING"
# Where Spark keeps the SQL text of a column's default.
DEFAULT_KEY = "CURRENT_DEFAULT"


def literal(value: object) -> str:
    """The SQL text of a Python value."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | Decimal):
        return str(value)
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return "'" + text.replace("\n", "\\n").replace("\r", "\\r") + "'"


def pad_name(columns: Sequence[str]) -> str:
    """A field name that no column of the table has: ORC gives nulls for
    it without reading anything.
    """
    name = "__pad"
    while name in columns:
        name += "_"
    return name


def types_in(data_type: DataType) -> Iterator[DataType]:
    """A type and all those that it is made of."""
    yield data_type
    if isinstance(data_type, ArrayType):
        yield from types_in(data_type.elementType)
    elif isinstance(data_type, MapType):
        yield from types_in(data_type.keyType)
        yield from types_in(data_type.valueType)
    elif isinstance(data_type, StructType):
        for field in data_type.fields:
            yield from types_in(field.dataType)


def has_type(data_type: DataType, wanted: tuple[type, ...]) -> bool:
    """Whether a type is, or contains, one of the wanted ones."""
    return any(isinstance(found, wanted) for found in types_in(data_type))


def has_nested_type(data_type: DataType) -> bool:
    """Whether a type is an array, a map or a struct."""
    return isinstance(data_type, ArrayType | MapType | StructType)


def _without_char(data_type: DataType) -> DataType:
    """The type with char and varchar as the strings that Spark keeps them in."""
    if isinstance(data_type, CharType | VarcharType):
        return StringType()
    if isinstance(data_type, ArrayType):
        return ArrayType(_without_char(data_type.elementType), data_type.containsNull)
    if isinstance(data_type, MapType):
        return MapType(
            _without_char(data_type.keyType),
            _without_char(data_type.valueType),
            data_type.valueContainsNull,
        )
    if isinstance(data_type, StructType):
        fields = [
            StructField(f.name, _without_char(f.dataType), f.nullable) for f in data_type.fields
        ]
        return StructType(fields)
    return data_type


def _field(spark: SparkSession, column: Column) -> StructField:
    declared = bridge.parse_type(spark, column.type)
    metadata: dict[str, str] = {}
    if has_type(declared, (CharType, VarcharType)):
        metadata[_CHAR_VARCHAR_KEY] = column.type.lower()
    if column.default is not None:
        metadata[DEFAULT_KEY] = column.default
        metadata["EXISTS_DEFAULT"] = "NULL"
    if column.comment is not None:
        metadata["comment"] = column.comment
    return StructField(column.name, _without_char(declared), column.nullable, metadata)


@lru_cache(maxsize=1024)
def schema_of(spark: SparkSession, columns: tuple[Column, ...]) -> StructType:
    """Columns of the catalog as Spark's types, with their metadata (char and varchar, default,
    comment).
    """
    return StructType([_field(spark, c) for c in columns])


def data_schema(spark: SparkSession, table: Table) -> StructType:
    """The columns that are stored in files."""
    return schema_of(spark, table.columns)


def partition_schema(spark: SparkSession, table: Table) -> StructType:
    """The partition columns."""
    return schema_of(spark, table.partition_columns)


def event_schema(row: StructType, *, deletes: bool = False) -> StructType:
    """The six columns of an ACID file (OrcRecordUpdater); ``row`` is null in delete events only.

    No other column may count as never null: the guard of a scan must not be folded away.
    """
    return StructType(
        [
            StructField("operation", IntegerType()),
            StructField("originalTransaction", LongType()),
            StructField("bucket", IntegerType()),
            StructField("rowId", LongType()),
            StructField("currentTransaction", LongType()),
            StructField("row", row, nullable=deletes),
        ]
    )


def read_name(name: str) -> str:
    """The name that Spark must be given to find a field of ``row``.

    Its ORC reader takes the name of a nested field in a file to end at the first backtick.
    """
    return name.partition("`")[0]


def row_field(name: str) -> SparkColumn:
    """A field of ``row`` in a scan."""
    return F.col("row").getField(read_name(name))


def row_of(row: StructType, values: Sequence[SparkColumn]) -> SparkColumn:
    """``row`` with the table's columns, of values in their order; those missing at the end are
    null.
    """
    missing = [F.lit(None)] * (len(row.fields) - len(values))
    pairs = zip([*values, *missing], row.fields, strict=True)
    return F.struct(*[v.cast(f.dataType).alias(read_name(f.name)) for v, f in pairs])


def padded(row: StructType) -> StructType:
    """What a scan asks of ``row``: its fields, without metadata, and the pad."""
    fields = [StructField(read_name(f.name), f.dataType, f.nullable) for f in row.fields]
    return StructType([*fields, StructField(pad_name(row.names), ByteType())])


def guarded_columns(row: StructType) -> list[str]:
    """The columns, as SQL, of which a scan must ask all.

    ORC knows ACID files by their six top-level columns and fails on a scan that asks for fewer. The
    pad stands for ``row`` without being read.
    """
    return ["operation", *KEYS, "currentTransaction", f"row.{quote(pad_name(row.names))}"]


def has_timestamp(data_type: DataType) -> bool:
    """Whether values of the type hold instants, which shift between time zones."""
    return has_type(data_type, (TimestampType,))


def has_maps_of_nested(data_type: DataType) -> bool:
    """Whether a type holds a map whose values are arrays, maps or structs.

    Spark reads some NULLs among them as values of other rows when it reads in batches.
    """
    return any(
        isinstance(found, MapType) and has_nested_type(found.valueType)
        for found in types_in(data_type)
    )


def has_dates_in_map_keys(data_type: DataType) -> bool:
    """Whether the keys of a map in the type are, or contain, dates."""
    return any(
        isinstance(found, MapType) and has_type(found.keyType, (DateType,))
        for found in types_in(data_type)
    )


def why_not_written(row: StructType) -> str | None:
    """What keeps Spark's ORC writer from writing these columns; None if nothing does.

    It keeps a map in a sorted one while it writes. Its dates (``DaysWritable``) all compare as
    equal, so that one entry is left of a map with several.
    """
    for field in row.fields:
        if has_dates_in_map_keys(field.dataType):
            return (
                f"column {field.name!r} has a map with dates as keys, of which Spark's ORC writer "
                "would lose all entries but one"
            )
    return None


def check_written(row: StructType) -> None:
    """Refuse to write columns that Spark's ORC writer cannot write.

    Raises:
        AcidAnalysisError: UNSUPPORTED_DATATYPE.
    """
    reason = why_not_written(row)
    if reason is not None:
        raise AcidAnalysisError(
            "UNSUPPORTED_DATATYPE",
            f"{reason}: it can be read, and rows deleted; to write it, use Hive, or keys of type "
            "STRING",
        )


_REFUSED = (
    "timestamp_ntz",
    "interval",
    "void",
    "variant",
    "collate",
    "time(",
    "geometry",
    "geography",
    "object",
)


def columns_of(spark: SparkSession, schema: StructType) -> tuple[Column, ...]:
    """Catalog columns of a schema as Spark parses it in CREATE TABLE.

    Raises:
        AcidAnalysisError: UNSUPPORTED_DATATYPE for types that Hive cannot read from ORC.
    """
    columns = []
    for field in schema.fields:
        if "GENERATION_EXPRESSION" in field.metadata or "identity.start" in field.metadata:
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.GENERATED_COLUMN",
                f"column {field.name!r} is a generated one, which is not supported: "
                "use DEFAULT, or compute the value in each statement",
            )
        text = bridge.type_sql(spark, field.dataType)
        if any(word in text.lower() for word in _REFUSED):
            raise AcidAnalysisError(
                "UNSUPPORTED_DATATYPE",
                f"column {field.name!r} has type {text}, which Hive cannot read from an ACID "
                "table: use TIMESTAMP, a numeric type or a string",
            )
        columns.append(
            Column(
                name=field.name,
                type=text,
                nullable=field.nullable,
                default=field.metadata.get(DEFAULT_KEY),
                comment=field.metadata.get("comment"),
            )
        )
    return tuple(columns)
