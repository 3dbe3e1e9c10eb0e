"""Columns of a table, and their Arrow types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from acidsql.arrow_reader.partition_values import null_of, scalar_of
from acidsql.errors import AcidAnalysisError, quoted_name
from acidsql.format.identifiers import folded
from acidsql.metastore.model import Column, Table
from acidsql.schema.acid_file import ROW_ID_COLUMN as ROW_ID
from acidsql.streaming.column_types import ColumnType, parse_type

__all__ = ["ROW_ID", "TableColumns", "columns_of"]

_ROW_ID_TYPE = pa.struct([("writeid", pa.int64()), ("bucketid", pa.int32()), ("rowid", pa.int64())])


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumns:
    """Columns of a table.

    Attributes:
        positions: positions of the columns that are stored in files, by name.
        types: types of these columns, by position.
        initial: values of added columns in older files, by position.
        partition_names: names of the partition columns.
        partition_types: types of the partition columns.
        has_row_ids: whether rows have ``row__id``.
    """

    positions: Mapping[str, int]
    types: tuple[ColumnType, ...]
    initial: tuple[pa.Scalar, ...]
    partition_names: tuple[str, ...]
    partition_types: tuple[ColumnType, ...]
    has_row_ids: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are read by default."""
        return (*self.positions, *self.partition_names)

    def field(self, name: str) -> pa.Field:
        """Return a column as a field of a schema."""
        if name in self.positions:
            return pa.field(name, self.types[self.positions[name]].arrow)
        if name in self.partition_names:
            return pa.field(name, self.partition_types[self.partition_names.index(name)].arrow)
        return pa.field(name, _ROW_ID_TYPE)

    @property
    def schema(self) -> pa.Schema:
        """Schema of all columns, including ``row__id``."""
        names = (*self.names, ROW_ID) if self.has_row_ids else self.names
        return pa.schema([self.field(name) for name in names])

    def chosen(self, names: Sequence[str] | None) -> tuple[str, ...]:
        """Return column names in the table's spelling, in the order of ``names``.

        Args:
            names: names in any case; None for all columns except ``row__id``.

        Raises:
            AcidAnalysisError: COLUMN_NOT_FOUND, INVALID_PARAMETER_VALUE.
        """
        if names is None:
            return self.names
        if isinstance(names, str) or len({folded(name) for name in names}) < len(names):
            raise AcidAnalysisError(
                "INVALID_PARAMETER_VALUE",
                f"columns is {names!r}: give a list of names, each once",
                {"parameter": "columns"},
            )
        known = {folded(name): name for name in self.schema.names}
        for name in names:
            if folded(name) not in known:
                raise AcidAnalysisError(
                    "COLUMN_NOT_FOUND",
                    f"there is no column {name!r}: it has {', '.join(self.schema.names)}",
                    {"colName": quoted_name([name])},
                )
        return tuple(known[folded(name)] for name in names)


def columns_of(table: Table) -> TableColumns:
    """Return the columns of a table.

    Raises:
        AcidAnalysisError: UNSUPPORTED_DATATYPE.
    """
    types = tuple(map(_type_of, table.columns))
    return TableColumns(
        positions={column.name: i for i, column in enumerate(table.columns)},
        types=types,
        initial=tuple(
            null_of(kind) if column.initial is None else scalar_of(column.initial, kind)
            for column, kind in zip(table.columns, types, strict=True)
        ),
        partition_names=tuple(column.name for column in table.partition_columns),
        partition_types=tuple(map(_type_of, table.partition_columns)),
        has_row_ids=not table.insert_only,
    )


def _type_of(column: Column) -> ColumnType:
    try:
        return parse_type(column.type)
    except AcidAnalysisError as error:
        raise AcidAnalysisError(
            error.condition,
            f"column {column.name!r} has type {column.type}, which cannot be read without Spark: "
            "read the table with acidsql.table",
            {"typeName": column.type},
        ) from error
