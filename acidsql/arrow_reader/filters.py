"""Filters of rows, and pruning by statistics before the rows are read.

A *guarantee* is an expression that holds for all rows of a part: a partition or a stripe. Arrow's
datasets determine whether a part with a guarantee can have rows that match a filter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_reader.arrays import array_of, numbers_of
from acidsql.arrow_reader.calendars import Numbers
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded

# Name of the column with row positions during filtering; no column of a table has this name.
_POSITION = "\0position"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Filter of the rows of a table.

    Attributes:
        expression: true for the rows that match.
        schema: schema of the columns that the expression refers to.
    """

    expression: pc.Expression
    schema: pa.Schema

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns that the filter refers to."""
        return tuple(self.schema.names)

    def positions(self, columns: Sequence[pa.Array], rows: int) -> Numbers:
        """Return the positions of the matching rows, in ascending order.

        Args:
            columns: arrays of the schema's columns.
            rows: length of the arrays.

        Raises:
            AcidAnalysisError: INVALID_PARAMETER_VALUE, the expression fails for a value.
        """
        positions = array_of(np.arange(rows, dtype=np.int64), pa.int64())
        numbered = pa.Table.from_arrays([*columns, positions], [*self.schema.names, _POSITION])
        try:
            matching = numbers_of(numbered.filter(self.expression)[_POSITION])
        except pa.ArrowException as error:
            raise _invalid(self.expression, error) from error
        return np.sort(matching)

    def possible(self, guarantees: Sequence[pc.Expression]) -> list[int]:
        """Return the indexes of the parts that can have matching rows.

        Args:
            guarantees: for each part, the guarantee of its rows.
        """
        # Imported here because the import is slow, and loads pandas if it is installed.
        import pyarrow.dataset as ds  # noqa: PLC0415
        import pyarrow.fs as pa_fs  # noqa: PLC0415

        files, form = pa_fs.LocalFileSystem(), ds.IpcFileFormat()  # no file is opened
        parts = [
            form.make_fragment(str(i), files, partition_expression=guarantee)
            for i, guarantee in enumerate(guarantees)
        ]
        dataset = ds.FileSystemDataset(parts, self.schema, form, files)
        return [int(part.path) for part in dataset.get_fragments(filter=self.expression)]


def row_filter(given: Any, schema: pa.Schema) -> RowFilter | None:
    """Build a filter; return None if no filter is given.

    Args:
        given: a pyarrow expression, or tuples in pyarrow's form.
        schema: schema of all columns that the filter may refer to.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.
    """
    if given is None:
        return None
    expression = given
    try:
        if not isinstance(given, pc.Expression):
            expression = _expression(given, schema)
        _bind(expression, schema)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise _invalid(given, error) from error
    used = [field for field in schema if not _binds(expression, _without(schema, field.name))]
    return RowFilter(expression=expression, schema=pa.schema(used))


def _expression(given: Any, schema: pa.Schema) -> pc.Expression:
    """Return the expression of tuples; column names are case-insensitive."""
    # Imported here because few filters need it.
    from pyarrow.parquet import filters_to_expression  # noqa: PLC0415

    names = {folded(name): name for name in schema.names}

    def named(one: Any) -> Any:
        if isinstance(one, tuple) and len(one) == 3 and isinstance(one[0], str):
            return (names.get(folded(one[0]), one[0]), *one[1:])
        return [named(part) for part in one] if isinstance(one, list) else one

    return filters_to_expression(named(list(given)))


def _bind(expression: pc.Expression, schema: pa.Schema) -> None:
    pa.Table.from_batches([], schema).filter(expression)


def _binds(expression: pc.Expression, schema: pa.Schema) -> bool:
    try:
        _bind(expression, schema)
    except pa.ArrowException:
        return False
    return True


def _without(schema: pa.Schema, name: str) -> pa.Schema:
    """Return a schema with a column replaced by another, because it can be the only column."""
    kept = [field for field in schema if field.name != name]
    return pa.schema([*kept, pa.field(_POSITION, pa.null())])


def _invalid(given: Any, error: Exception) -> AcidAnalysisError:
    return AcidAnalysisError(
        "INVALID_PARAMETER_VALUE",
        f"filter is {given}: {error}; give an expression of pyarrow.compute over the table's "
        'columns, or tuples like [("id", "=", 5)]',
        {"parameter": "filter"},
    )


def equal_to(name: str, value: pa.Scalar) -> pc.Expression:
    """Return the guarantee that all rows have the same value in a column; it can be NULL."""
    return pc.field(name) == value if value.is_valid else pc.field(name).is_null()


def between(name: str, least: pa.Scalar, most: pa.Scalar) -> pc.Expression:
    """Return the guarantee that all values of a column are NULL or in a range."""
    field = pc.field(name)
    is_null = field.is_null()
    return ((field >= least) | is_null) & ((field <= most) | is_null)


def all_of(guarantees: Iterable[pc.Expression]) -> pc.Expression:
    """Return the guarantee that all given guarantees hold."""
    return reduce(and_, guarantees, pc.scalar(True))
