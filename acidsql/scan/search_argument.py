"""Search argument (SARG) of a scan: the conditions by which ORC skips stripes, row groups and
rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, SparkSession
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

# ORC types of the Spark types that ORC compares as Spark does. It does not for floating-point
# numbers (NaN), timestamps (time zones), binary values, CHAR and VARCHAR.
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
    """Search argument of the scan of files with the same columns.

    Attributes:
        options: of the scan.
        condition: the same conditions as a filter on the rows of the scan; None if ORC skips only
            stripes and row groups.
        rows: whether ORC skips rows too, which works only if Spark reads in batches.
        used: the conditions that it has: alternatives (OR), each a list of conjuncts (AND).
    """

    options: dict[str, str]
    condition: Column | None
    rows: bool
    used: Conditions


@bridge.cached_per_session(1024)
def _orc_type(spark: SparkSession, text: str) -> OrcType | None:
    declared = bridge.parse_type(spark, text)
    if isinstance(declared, DecimalType):
        return OrcType(kind="decimal", precision=declared.precision, scale=declared.scale)
    if isinstance(declared, CharType | VarcharType):
        return None
    return _ORC_TYPES.get(type(declared))


def compared_types(session: AcidSession, table: Table, needed: Conditions) -> dict[int, OrcType]:
    """Return the ORC types of the columns that conditions name, by position in the table.

    Columns of types that ORC and Spark do not compare alike are left out.

    Args:
        needed: alternatives (OR), each a list of conjuncts (AND).
    """
    named = {name for one in needed for c in one for name in c.columns}
    declared = {
        i: _orc_type(session.spark, column.type)
        for i, column in enumerate(table.columns)
        if column.name in named
    }
    return {i: t for i, t in declared.items() if t is not None}


def find_search_argument(
    session: AcidSession, table: Table, columns: FileColumns, needed: Conditions
) -> SearchArgument | None:
    """Build the search argument for files with some columns; None if no condition can be used.

    Args:
        columns: of the files.
        needed: alternatives (OR), each the conjuncts (AND) that the required rows meet.
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
            options={**options, _LOOKS_FOR_ROWS: "false"}, condition=None, rows=False, used=used
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
    return SearchArgument(options=options, condition=condition, rows=rows, used=used)
