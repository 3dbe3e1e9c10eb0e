"""What ORC itself may look for in the files of a scan: stripes, row groups and rows that meet the
conditions of a statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    VarcharType,
)

from acidsql import bridge
from acidsql.format.orc_tail import OrcType
from acidsql.metastore.model import Table
from acidsql.scan.directories import FileColumns
from acidsql.schema.acid_file import read_name
from acidsql.schema.columns import data_schema, types_in
from acidsql.schema.spark_limits import has_maps_of_nested
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

# How files have the types that Spark and ORC compare alike. Floating-point numbers are not among
# them (NaN), nor are instants (time zones), binary strings and padded ones.
_ORC_TYPES: dict[type[DataType], OrcType] = {
    BooleanType: OrcType(kind="boolean"),
    ByteType: OrcType(kind="byte"),
    ShortType: OrcType(kind="short"),
    IntegerType: OrcType(kind="int"),
    LongType: OrcType(kind="long"),
    StringType: OrcType(kind="string"),
    DateType: OrcType(kind="date"),
}
_LOOKS_FOR_ROWS = "orc.sarg.to.filter"
# Columns of a scan beside those of ``row``: the ACID columns, the pad, and the partition.
_OTHER_COLUMNS = 8
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Conditions = Sequence[Sequence[bridge.Conjunct]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchArgument:
    """What a scan looks for.

    Attributes:
        options: of the scan.
        condition: the same as a condition on its rows; None if ORC looks for row groups alone.
        rows: whether ORC passes over rows, which only a reader of batches understands.
    """

    options: dict[str, str]
    condition: Column | None
    rows: bool


def _orc_type(declared: DataType) -> OrcType | None:
    if isinstance(declared, DecimalType):
        return OrcType(kind="decimal", precision=declared.precision, scale=declared.scale)
    if isinstance(declared, CharType | VarcharType):
        return None
    return _ORC_TYPES.get(type(declared))


def compared_types(session: AcidSession, table: Table, needed: Conditions) -> dict[int, OrcType]:
    """The types in files of the columns that conditions are about, by their positions in the table;
    those that ORC cannot compare are left out.
    """
    named = {name for one in needed for c in one for name in c.columns}
    declared = {
        i: _orc_type(bridge.parse_type(session.spark, column.type))
        for i, column in enumerate(table.columns)
        if column.name in named
    }
    return {i: t for i, t in declared.items() if t is not None}


def find_search_argument(
    session: AcidSession, table: Table, columns: FileColumns, needed: Conditions
) -> SearchArgument | None:
    """What a scan of files with these columns may look for; None if it is nothing.

    Args:
        needed: alternatives, of each the conditions that hold of all rows that are needed.
    """
    spark = session.spark
    schema = data_schema(spark, table)
    positions = [i for i in sorted(columns.comparable) if _PLAIN_NAME.fullmatch(columns.names[i])]
    names = {table.columns[i].name: columns.names[i] for i in positions}
    if not names:
        return None
    stored = StructType([StructField(columns.names[i], schema[i].dataType) for i in positions])
    options, used = bridge.search_options(spark, needed, names, stored)
    if not used:
        return None
    if all(c.coarse for one in used for c in one):
        return SearchArgument(
            options={**options, _LOOKS_FOR_ROWS: "false"}, condition=None, rows=False
        )
    fields = sum(1 for f in schema.fields for _ in types_in(f.dataType))
    rows = (
        bridge.reads_in_batches(spark, fields + _OTHER_COLUMNS)
        and not has_maps_of_nested(schema)
        and bridge.finds_rows(spark, used)
    )
    options[_LOOKS_FOR_ROWS] = str(rows).lower()
    values = {name: f"row.{quote(read_name(stored_name))}" for name, stored_name in names.items()}
    condition = bridge.condition_of(spark, used, values)
    return SearchArgument(options=options, condition=condition, rows=rows)
