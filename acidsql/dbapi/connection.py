"""Connections of the DB-API: a Spark session, and a transaction of several statements."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from pyspark.sql import DataFrame, SparkSession

from acidsql import api
from acidsql.dbapi import exceptions
from acidsql.dbapi.cursor import Cursor
from acidsql.dbapi.exceptions import InterfaceError, ProgrammingError, translated
from acidsql.dbapi.many_rows import Row, RowTemplate, row_template, typed_rows
from acidsql.planning.name_resolution import find_acid_table
from acidsql.session.java import java_needed
from acidsql.session.owner_thread import acting_for
from acidsql.syntax import Statement, parse
from acidsql.syntax.lexer import quote
from acidsql.syntax.nodes import Name
from acidsql.syntax.statements import Delete, Insert, Merge, MultiInsert, Update
from acidsql.transactions.current import transaction_mark

_ROWS = "acidsql_rows"
_COUNTED = (Delete, Insert, Merge, MultiInsert, Update)


class _Owner:
    """Owner of a connection's transaction: it lives until the connection is closed or forgotten."""

    def __init__(self) -> None:
        self.is_open = True

    def is_alive(self) -> bool:
        return self.is_open


class Connection:
    """Connection of the DB-API; made by ``acidsql.connect``.

    Threads may share it: its statements run one after the other. As a context manager it commits at
    the end of the block, rolls back after an exception, and is closed.
    """

    DataError = exceptions.DataError
    DatabaseError = exceptions.DatabaseError
    Error = exceptions.Error
    IntegrityError = exceptions.IntegrityError
    InterfaceError = exceptions.InterfaceError
    InternalError = exceptions.InternalError
    NotSupportedError = exceptions.NotSupportedError
    OperationalError = exceptions.OperationalError
    ProgrammingError = exceptions.ProgrammingError
    Warning = exceptions.Warning

    def __init__(self, spark: SparkSession, *, autocommit: bool) -> None:
        self._spark = spark
        self._autocommit = autocommit
        self._lock = threading.RLock()
        self._owner = _Owner()

    @property
    def spark(self) -> SparkSession:
        """Its Spark session."""
        return self._spark

    @property
    def autocommit(self) -> bool:
        """Whether each statement commits by itself."""
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        with self._using():
            if value and self._has_transaction():
                raise ProgrammingError("a transaction is open: commit it or roll it back first")
            self._autocommit = value

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        with self._using():
            return self._has_transaction()

    def cursor(self) -> Cursor:
        """Return a new cursor."""
        self._check_open()
        return Cursor(self)

    def commit(self) -> None:
        """Commit the open transaction, if there is one; if that fails, it is rolled back.

        Raises:
            OperationalError: another transaction changed the same rows and committed first.
        """
        self._end("COMMIT")

    def rollback(self) -> None:
        """Roll back the open transaction, if there is one."""
        self._end("ROLLBACK")

    def close(self) -> None:
        """Roll back the open transaction, and end the use of the connection.

        The Spark session goes on.
        """
        if not self._owner.is_open:
            return
        try:
            self.rollback()
        finally:
            self._owner.is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.commit()
        finally:
            self.close()

    def __del__(self) -> None:
        # The session rolls back what nobody can end any more.
        self._owner.is_open = False

    def _check_open(self) -> None:
        if not self._owner.is_open:
            raise InterfaceError("the connection is closed")

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Let the statements of the block belong to this connection, one block at a time."""
        with self._lock:
            self._check_open()
            with translated(), acting_for(self._owner):
                yield

    def _has_transaction(self) -> bool:
        return transaction_mark(self._spark) != ""

    def _end(self, how: str) -> None:
        with self._using():
            if self._has_transaction():
                api.sql(self._spark, how)

    def _run(self, text: str, parameters: Row | None) -> tuple[DataFrame, int | None]:
        """Run a statement, and return its answer with its ``affected_rows``."""
        with self._using():
            statement = parse(text)
            if not self._autocommit and self._can_begin(statement):
                api.sql(self._spark, "START TRANSACTION")
            frame = api.sql(self._spark, text, parameters)
            return frame, affected_rows(statement, frame)

    def _run_many(self, text: str, rows: Sequence[Row]) -> int:
        """Run a statement with each row of values, and return the number of affected rows, or -1.

        Raises:
            ProgrammingError: the statement returns rows.
        """
        if not rows:
            return 0
        with self._using():
            statement = parse(text)
            template = row_template(text, statement) if isinstance(statement, Insert) else None
            if template is not None:
                return self._insert_rows(statement, template, rows)
            total = 0
            with self._one_transaction(statement):
                for row in rows:
                    _, count = self._run(text, row)
                    if count is None:
                        raise ProgrammingError("executemany is for statements without a result")
                    total = total + count if min(total, count) >= 0 else -1
            return total

    def _insert_rows(
        self, statement: Statement | None, template: RowTemplate, rows: Sequence[Row]
    ) -> int:
        """Run one INSERT with all rows."""
        if not self._autocommit and self._can_begin(statement):
            api.sql(self._spark, "START TRANSACTION")
        typed = typed_rows(rows)
        if typed is None:
            literals = [api.literals(self._spark, row) or () for row in rows]
            frame = api.sql(self._spark, template.of_literals(literals))
        else:
            sent = self._spark.createDataFrame(typed.rows, typed.schema)
            text = template.of_frame(typed.columns, _ROWS)
            frame = api.sql(self._spark, text, **{_ROWS: sent})
        count = affected_rows(statement, frame)
        return -1 if count is None else count

    @contextmanager
    def _one_transaction(self, statement: Statement | None) -> Iterator[None]:
        """Make the statements of the block one transaction, if each would commit by itself and
        could be rolled back.
        """
        if not (self._autocommit and self._can_begin(statement)):
            yield
            return
        api.sql(self._spark, "START TRANSACTION")
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def _can_begin(self, statement: Statement | None) -> bool:
        """Return whether a transaction can begin before a statement: none is open, and the
        statement changes rows of transactional tables, which can be rolled back.
        """
        names = _changed(statement)
        if not names or self._has_transaction():
            return False
        with api.working(self._spark) as session:
            return all(find_acid_table(session, name) is not None for name in names)


def _changed(statement: Statement | None) -> list[Name]:
    """Return the tables whose rows a statement changes such that ROLLBACK could undo it."""
    match statement:
        case Insert():
            return [] if statement.overwrite else [statement.name]
        case Delete() | Merge() | Update():
            return [statement.name]
        case MultiInsert():
            return [branch.name for branch in statement.branches]
        case _:
            return []


def affected_rows(statement: Statement | None, frame: DataFrame) -> int | None:
    """Return how many rows a statement changed, -1 if that is not known, None if it has a result.

    Args:
        statement: the statement.
        frame: its answer.
    """
    names = frame.columns
    if not names:
        return -1
    if names[0] != "num_affected_rows" or not isinstance(statement, _COUNTED):
        return None
    return int(frame.collect()[0][0])


def connect(
    spark: SparkSession | None = None, *, database: str | None = None, autocommit: bool = False
) -> Connection:
    """Return a connection of the DB-API 2.0 (PEP 249) to the tables of a Spark session.

    Args:
        spark: the session; by default the active one, or a new one.
        database: current database of the connection, which has a session of its own then
            (``spark.newSession()``); by default it is that of the session.
        autocommit: whether each statement commits by itself. If not, a transaction begins before
            the first statement that changes rows of a transactional table, and ends by ``commit``
            or ``rollback``.

    Raises:
        ProgrammingError: there is no such database, or no Java to start Spark with.

    >>> with acidsql.connect(spark) as connection:
    ...     cursor = connection.cursor()
    ...     cursor.executemany("INSERT INTO pet VALUES (?, ?)", [(3, "Kim"), (4, "Bob")]).rowcount
    ...     cursor.execute("SELECT name FROM pet WHERE id > ? ORDER BY id", (2,)).fetchall()
    2
    [('Kim',), ('Bob',)]
    """
    found = spark
    if found is None:
        with translated(), java_needed():
            found = SparkSession.builder.getOrCreate()
    if database is not None:
        found = found.newSession()
        with translated():
            api.sql(found, f"USE {quote(database)}")
    return Connection(found, autocommit=autocommit)
