"""Conversion between columns of the metastore and Spark's schemas."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    CharType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VarcharType,
)

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.format.timestamp_types import INSTANT, LOCAL_TIME, timestamps_in, with_timestamps
from acidsql.metastore.model import Column, Table

# Key in a field's metadata for the declared type of a char or varchar column, which Spark reads and
# writes as a string.
_CHAR_VARCHAR_KEY = "__CHAR_VARCHAR_TYPE_STRING"


# Key in a field's metadata for the SQL text of the column's default.
DEFAULT_KEY = "CURRENT_DEFAULT"
# Key for the SQL text of GENERATED ALWAYS AS.
_GENERATED_KEY = "GENERATION_EXPRESSION"


def has_type(data_type: DataType, wanted: tuple[type, ...]) -> bool:
    """Return whether a type is, or contains, one of the wanted classes."""
    return any(isinstance(contained, wanted) for contained in bridge.types_in(data_type))


def _without_char(data_type: DataType) -> DataType:
    """Replace char and varchar in a type by string, because Spark reads and writes strings."""
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


def declared_type(field: StructField) -> str:
    """Return the type of a query's column as DESCRIBE shows it, with CHAR and VARCHAR."""
    return str(field.metadata.get(_CHAR_VARCHAR_KEY) or field.dataType.simpleString())


def as_nullable(schema: StructType) -> StructType:
    """Return a schema without NOT NULL, which Spark uses for CREATE TABLE … AS SELECT.

    Spark: asNullable of StructType.
    """
    return StructType(
        [StructField(f.name, nullable_type(f.dataType), True, f.metadata) for f in schema.fields]
    )


def nullable_type(data_type: DataType) -> DataType:
    """Return a type without NOT NULL in its elements, values and fields."""
    if isinstance(data_type, ArrayType):
        return ArrayType(nullable_type(data_type.elementType))
    if isinstance(data_type, MapType):
        return MapType(nullable_type(data_type.keyType), nullable_type(data_type.valueType))
    return as_nullable(data_type) if isinstance(data_type, StructType) else data_type


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
    # A statement that omits an identity column provides NULL, which acidsql replaces by a value.
    nullable = column.nullable or column.identity is not None
    return StructField(column.name, _without_char(declared), nullable, metadata)


@bridge.cached_per_session(1024)
def schema_of(spark: SparkSession, columns: tuple[Column, ...]) -> StructType:
    """Build Spark's schema of columns in the metastore.

    The metadata of a field contains the declared type of a char or varchar column, the default and
    the comment.
    """
    return StructType([_field(spark, c) for c in columns])


def data_schema(spark: SparkSession, table: Table) -> StructType:
    """Return the schema of the columns that are stored in files, with their names in Spark."""
    return schema_of(spark, table.columns)


def file_schema(spark: SparkSession, table: Table) -> StructType:
    """Return the schema of the columns that are stored in files, with their names in the files.

    The types include ``InstantType`` for the instants in files.
    """
    fields = zip(table.columns, data_schema(spark, table).fields, strict=True)
    return with_stored_instants(
        table,
        StructType(
            [StructField(c.stored_name, f.dataType, f.nullable, f.metadata) for c, f in fields]
        ),
    )


def with_stored_instants(table: Table, row: StructType) -> StructType:
    """Return the types of a table's columns in files, with ``InstantType`` for stored instants.

    An empty ``row`` is returned unchanged.
    """
    words = [word for column in table.columns for word in timestamps_in(column.type)]
    if INSTANT not in words or not row.fields:
        return row
    return bridge.fields_with_instants(row, iter([word == INSTANT for word in words]))


def partition_schema(spark: SparkSession, table: Table) -> StructType:
    """Return the schema of the partition columns."""
    return schema_of(spark, table.partition_columns)


def has_local_time(column: Column) -> bool:
    """Return whether a column's type contains TIMESTAMP_NTZ."""
    return LOCAL_TIME in timestamps_in(column.type)


def has_instant(column: Column) -> bool:
    """Return whether a column's type contains TIMESTAMP_LTZ, which files store as an instant."""
    return INSTANT in timestamps_in(column.type)


def shown_type(spark: SparkSession, text: str) -> str:
    """Return a type as DESCRIBE shows it: like Spark, but with TIMESTAMP_LTZ if files have it."""
    shown = bridge.parse_type(spark, text).simpleString()
    return with_timestamps(shown, timestamps_in(text))


def has_timestamp(data_type: DataType) -> bool:
    """Return whether a type contains TIMESTAMP, whose values depend on the time zone."""
    return has_type(data_type, (TimestampType,))


_REFUSED = (
    "interval",
    "void",
    "variant",
    "collate",
    "time(",
    "geometry",
    "geography",
    "object",
)


def is_refused(text: str) -> bool:
    """Return whether Hive cannot read a type from an ACID table; the type is given as SQL."""
    return any(word in text.lower() for word in _REFUSED)


def columns_of(spark: SparkSession, schema: StructType) -> tuple[Column, ...]:
    """Build the metastore's columns from a schema that Spark has parsed from CREATE TABLE.

    Raises:
        AcidAnalysisError: UNSUPPORTED_DATATYPE, Hive cannot read a type from ORC;
            UNSUPPORTED_FEATURE.IDENTITY_COLUMN.
    """
    columns = []
    for field in schema.fields:
        if "identity.start" in field.metadata:
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.IDENTITY_COLUMN",
                f"{field.name!r} cannot be an identity column here: declare one in CREATE TABLE, "
                "with START WITH and INCREMENT BY once each, that is no partition column",
            )
        text = bridge.type_sql(spark, field.dataType)
        if is_refused(text):
            other = (
                "use STRING, and COLLATE in expressions"
                if "COLLATE" in text
                else "use TIMESTAMP, a numeric type or a string"
            )
            raise AcidAnalysisError(
                "UNSUPPORTED_DATATYPE",
                f"column {field.name!r} has type {text}, which Hive cannot read from an ACID "
                f"table: {other}",
                {"typeName": text},
            )
        columns.append(
            Column(
                name=field.name,
                type=text,
                nullable=field.nullable,
                default=field.metadata.get(DEFAULT_KEY),
                comment=field.metadata.get("comment"),
                generated=field.metadata.get(_GENERATED_KEY),
            )
        )
    return tuple(columns)
