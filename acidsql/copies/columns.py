"""Columns of an ACID table that is copied from a table of another format."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    StructField,
    StructType,
)

from acidsql.copies.report import ColumnReport
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded, lowered
from acidsql.schema.acid_file import IS_DELETED_COLUMN, ROW_ID_COLUMN
from acidsql.schema.columns import is_refused, nullable_type

TypeText = Callable[[DataType], str]
"""Function that returns the SQL text of a type."""

# Key of the column metadata where Spark keeps the declared type of a CHAR or VARCHAR column.
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
_RESERVED = (ROW_ID_COLUMN, IS_DELETED_COLUMN)


def plan_columns(
    schema: StructType, partition_columns: Collection[str], type_text: TypeText
) -> tuple[ColumnReport, ...]:
    """Plan the ACID table's column for each column of the source.

    Args:
        schema: schema of the source.
        partition_columns: names of the columns that become partition columns.
        type_text: function that returns the SQL text of a type.
    """
    names = [lowered(field.name) for field in schema.fields]
    keys = [folded(field.name) for field in schema.fields]
    partitions = {lowered(name) for name in partition_columns}
    stored = bool(set(names) - partitions)
    reports = []
    for field in schema.fields:
        name = lowered(field.name)
        reason = _reason(field, type_text, is_partition=name in partitions)
        if names.count(name) > 1 or keys.count(folded(field.name)) > 1:
            reason = "another column differs from it only in case"
        elif not stored:
            reason = "all columns are partition columns, and one must be stored in files"
        source = type_text(field.dataType)
        if reason is not None:
            reports.append(ColumnReport(name=field.name, source=source, target=None, note=reason))
            continue
        target = str(field.metadata.get(_DECLARED) or type_text(nullable_type(field.dataType)))
        reports.append(ColumnReport(name=field.name, source=source, target=target, note=""))
    return tuple(reports)


def _reason(field: StructField, type_text: TypeText, *, is_partition: bool) -> str | None:
    """Return the reason why an ACID table cannot have a column; None if it can."""
    name = lowered(field.name)
    if name in _RESERVED:
        return "the name is reserved"
    kind = nullable_type(field.dataType)
    if is_refused(type_text(kind)):
        return "Hive cannot read the type from an ACID table"
    if is_partition and isinstance(kind, ArrayType | MapType | StructType | BinaryType):
        return "a partition column must have a primitive type"
    return None


def check_columns(columns: Sequence[ColumnReport], source: str, target: str) -> None:
    """Check that every column can be copied; the error lists all columns that cannot.

    Raises:
        AcidAnalysisError: COLUMNS_NOT_CONVERTIBLE.
    """
    refused = [column for column in columns if column.is_refused]
    if not refused:
        return
    lines = "\n".join(f"  {column}" for column in columns)
    raise AcidAnalysisError(
        "COLUMNS_NOT_CONVERTIBLE",
        f"{len(refused)} of {len(columns)} columns of {source} cannot be columns of {target}:\n"
        f"{lines}\nLeave them out, rename them or convert them: convert(…, select=[…]) takes "
        "expressions over the columns of the source",
        {"columns": ", ".join(column.name for column in refused)},
    )
