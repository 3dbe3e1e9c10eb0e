"""Cursors of the DB-API: statements, and the rows of their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow

from acidsql.dbapi.exceptions import InterfaceError, NotSupportedError, translated
from acidsql.dbapi.typed_rows import Row
from acidsql.dbapi.types import Column, description

if TYPE_CHECKING:
    from acidsql.dbapi.connection import Connection


class Cursor:
    """Cursor of a connection; made by ``Connection.cursor``.

    Rows are tuples. ``fetchone``, ``fetchmany`` and iteration fetch the result from Spark one
    partition at a time, so the whole result need not fit into the memory of this process.

    Attributes:
        arraysize: number of rows that ``fetchmany`` returns by default.
        connection: connection of the cursor.
        lastrowid: always None, because acidsql does not generate row ids of this kind.
    """

    lastrowid = None

    def __init__(self, connection: Connection) -> None:
        self.arraysize = 1
        self.connection = connection
        self._closed = False
        self._forget()

    def _forget(self) -> None:
        self._frame: DataFrame | None = None
        self._rows: Iterator[SparkRow] | None = None
        self._description: tuple[Column, ...] | None = None
        self._rownumber: int | None = None
        self._rowcount = -1

    @property
    def description(self) -> tuple[Column, ...] | None:
        """Description of each column of the result; None if the last statement had no result.

        A description has the name, type code, None, size, precision, scale and nullability.
        """
        return self._description

    @property
    def rowcount(self) -> int:
        """Number of rows that the last statement changed; -1 for a query, or if it is not known."""
        return self._rowcount

    @property
    def rownumber(self) -> int | None:
        """0-based position of the next row in the result; None without a result."""
        return self._rownumber

    def execute(self, operation: str, parameters: Row | None = None) -> Self:
        """Run a statement.

        Args:
            operation: text of the statement.
            parameters: a sequence of values for ``?``, or a mapping for ``:name``.
        """
        self._begin()
        frame, count = self.connection._run(operation, parameters)
        if count is None:
            self._frame = frame
            self._description = description(frame.schema)
            self._rownumber = 0
        else:
            self._rowcount = count
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Row]) -> Self:
        """Run a statement with each of several rows of values, all in one transaction.

        An ``INSERT … VALUES`` with one row runs once, with all rows. It runs several times if the
        rows have values of different types that a common type would change.

        Raises:
            ProgrammingError: the statement returns rows.
        """
        self._begin()
        self._rowcount = self.connection._run_many(operation, list(seq_of_parameters))
        return self

    def callproc(self, procname: str, parameters: Sequence[Any] = ()) -> Sequence[Any]:
        """Raise an error: there are no stored procedures.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError(f"{procname}{tuple(parameters)}: there are no stored procedures")

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row; None after the last one."""
        rows = self._result()
        with translated():
            row = next(rows, None)
        if row is None:
            return None
        self._advance(1)
        return tuple(row)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Return the next rows, at most ``size`` (by default ``arraysize``)."""
        rows: list[tuple[Any, ...]] = []
        for _ in range(self.arraysize if size is None else size):
            row = self.fetchone()
            if row is None:
                break
            rows.append(row)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all remaining rows."""
        if self._frame is not None and self._rows is None:
            self._check_open()
            with translated():
                self._rows = iter(self._frame.collect())
        rows = self._result()
        with translated():
            tuples = [tuple(row) for row in rows]
        self._advance(len(tuples))
        return tuples

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing, as the PEP allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, as the PEP allows."""

    def close(self) -> None:
        """Discard the result except ``rowcount``; cleaners can then remove its snapshot's files."""
        self._closed = True
        count = self._rowcount
        self._forget()
        self._rowcount = count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _begin(self) -> None:
        self._check_open()
        self._forget()

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection._check_open()

    def _result(self) -> Iterator[SparkRow]:
        self._check_open()
        if self._frame is None:
            raise InterfaceError("there are no rows: the last statement returned none")
        if self._rows is None:
            with translated():
                self._rows = self._frame.toLocalIterator()
        return self._rows

    def _advance(self, rows: int) -> None:
        self._rownumber = (self._rownumber or 0) + rows
