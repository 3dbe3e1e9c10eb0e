"""Connections of the DB-API: a Spark session, and a transaction with several statements."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from types import TracebackType
from typing import Self

from pyspark.sql import DataFrame, SparkSession

from acidsql import api
from acidsql.dbapi import exceptions
from acidsql.dbapi.cursor import Cursor
from acidsql.dbapi.exceptions import InterfaceError, ProgrammingError, translated
from acidsql.dbapi.many_rows import RowTemplate, row_template
from acidsql.dbapi.typed_rows import Row, TypedRows, groups_of, typed_rows
from acidsql.format.identifiers import folded
from acidsql.planning.name_resolution import find_acid_table
from acidsql.session.acid_session import AcidSession
from acidsql.session.java import java_needed
from acidsql.session.owner_thread import acting_for
from acidsql.session.parsing import parse_in_session
from acidsql.session.process import check_session
from acidsql.syntax import Statement, bind
from acidsql.syntax.lexer import quote
from acidsql.syntax.nodes import Name
from acidsql.syntax.parameters import positional_markers
from acidsql.syntax.statements import Delete, Insert, Merge, MultiInsert, Update
from acidsql.transactions.current import transaction_mark

_ROWS = "acidsql_rows"
_COUNTED = (Delete, Insert, Merge, MultiInsert, Update)


class _Owner:
    """Owner of a connection's transaction, alive until the connection is closed or collected."""

    def __init__(self) -> None:
        self.is_open = True

    def is_alive(self) -> bool:
        return self.is_open


class Connection:
    """Connection of the DB-API; made by ``acidsql.connect``.

    Threads may share a connection, and their statements run one after the other. As a context
    manager, the connection commits at the end of the block, or rolls back after an exception. Then
    it closes.
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
        """Spark session of the connection."""
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
        """Commit the open transaction, if there is one; roll it back if the commit fails.

        Raises:
            OperationalError: another transaction changed the same rows and committed first.
        """
        self._end("COMMIT")

    def rollback(self) -> None:
        """Roll back the open transaction, if there is one."""
        self._end("ROLLBACK")

    def close(self) -> None:
        """Roll back the open transaction, and close the connection.

        The Spark session stays open.
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
        # The session rolls back a transaction that the program can no longer end.
        self._owner.is_open = False

    def _check_open(self) -> None:
        if not self._owner.is_open:
            raise InterfaceError("the connection is closed")

    @contextmanager
    def _using(self) -> Iterator[None]:
        """Run the statements of the block for this connection, one block at a time."""
        with self._lock:
            self._check_open()
            with translated(), acting_for(self._owner):
                yield

    def _has_transaction(self) -> bool:
        return transaction_mark(self._spark) != ""

    def _end(self, how: str) -> None:
        if how == "ROLLBACK" and AcidSession.end_without_jvm(self._spark):
            return
        with self._using():
            if self._has_transaction():
                api.sql(self._spark, how)

    def _run(self, text: str, parameters: Row | None) -> tuple[DataFrame, int | None]:
        """Run a statement; return its answer and its ``affected_rows``."""
        with self._using():
            _check_number(text, parameters)
            statement = parse_in_session(self._spark, text)
            # Bind first, so that a refused value does not begin a transaction.
            bound = bind(text, api.literals(self._spark, parameters))
            if not self._autocommit and self._can_begin(statement):
                api.sql(self._spark, "START TRANSACTION")
            frame = api.sql(self._spark, bound)
            return frame, affected_rows(statement, frame)

    def _run_many(self, text: str, rows: Sequence[Row]) -> int:
        """Run a statement with each row of values; return the number of affected rows, or -1.

        Raises:
            ProgrammingError: the statement returns rows.
        """
        if not rows:
            return 0
        with self._using():
            statement = parse_in_session(self._spark, text)
            _check_number(text, max(rows, key=_values))
            template = row_template(text, statement) if isinstance(statement, Insert) else None
            if template is not None and isinstance(statement, Insert):
                return self._insert_rows(statement, template, rows)
            total = 0
            with self._one_transaction(statement):
                for row in rows:
                    _, count = self._run(text, row)
                    if count is None:
                        raise ProgrammingError("executemany is for statements without a result")
                    total = _sum(total, count)
            return total

    def _insert_rows(self, statement: Insert, template: RowTemplate, rows: Sequence[Row]) -> int:
        """Run one INSERT with all rows, or one for each group if a common type changes a value."""
        targets = cache(lambda: template.targets(self._types(statement)))
        texts: list[tuple[str, TypedRows | None]] = []
        for group in groups_of(rows, targets):
            typed = typed_rows(group)
            if typed is None:
                literals = [api.literals(self._spark, row) or () for row in group.rows()]
                texts.append((template.of_literals(literals), None))
            else:
                texts.append((template.of_frame(typed.columns, _ROWS), typed))
        if not self._autocommit and self._can_begin(statement):
            api.sql(self._spark, "START TRANSACTION")
        total = 0
        with self._one_transaction(statement) if len(texts) > 1 else nullcontext():
            for text, typed in texts:
                frames = {} if typed is None else {_ROWS: self._sent(typed)}
                count = affected_rows(statement, api.sql(self._spark, text, **frames))
                total = _sum(total, -1 if count is None else count)
        return total

    def _sent(self, typed: TypedRows) -> DataFrame:
        return self._spark.createDataFrame(typed.rows, typed.schema)

    def _types(self, statement: Insert) -> list[str]:
        """Return the types of the columns that an INSERT fills; none if the table is not ACID."""
        with api.working(self._spark) as session:
            table = find_acid_table(session, statement.name)
        if table is None:
            return []
        types = {c.key: c.type for c in (*table.columns, *table.partition_columns)}
        given = statement.partition.values if statement.partition else ()
        fixed = {folded(name) for name, value in given if value is not None}
        names = statement.columns or [name for name in types if name not in fixed]
        return [types.get(folded(name), "") for name in names]

    @contextmanager
    def _one_transaction(self, statement: Statement | None) -> Iterator[None]:
        """Run the statements of the block in one transaction.

        Without autocommit, or if the statement cannot begin a transaction, this changes nothing.
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
        """Return whether a transaction can begin before a statement.

        It can if none is open, and the statement only changes rows of transactional tables, so that
        its changes can be rolled back.
        """
        names = _changed(statement)
        if not names or self._has_transaction():
            return False
        with api.working(self._spark) as session:
            return all(find_acid_table(session, name) is not None for name in names)


def _check_number(text: str, parameters: Row | None) -> None:
    """Check that a statement does not have more values than question marks.

    Raises:
        ProgrammingError: it has more.
    """
    if parameters is None or isinstance(parameters, Mapping):
        return
    markers = positional_markers(text)
    if len(parameters) > markers:
        raise ProgrammingError(
            f"the statement has {markers} parameters (?), and {len(parameters)} values were given"
        )


def _values(parameters: Row) -> int:
    """Return the number of values for question marks; 0 for a mapping."""
    return 0 if isinstance(parameters, Mapping) else len(parameters)


def _sum(total: int, count: int) -> int:
    """Add two numbers of rows; -1 means that a number is not known."""
    return total + count if min(total, count) >= 0 else -1


def _changed(statement: Statement | None) -> list[Name]:
    """Return the tables that a statement changes, if ROLLBACK could undo the changes."""
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
    """Return the number of changed rows; -1 if it is not known, None if there is a result.

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
        database: current database of the connection; by default that of the session. If it is
            given, the connection uses a separate session (``spark.newSession()``).
        autocommit: whether each statement commits by itself. If not, a transaction begins before
            the first statement that changes rows of a transactional table, and ``commit`` or
            ``rollback`` ends it.

    Raises:
        ProgrammingError: the database does not exist, or there is no Java to start Spark.
        NotSupportedError: UNSUPPORTED_SESSION, the session is one of Spark Connect.

    >>> with acidsql.connect(spark) as connection:
    ...     cursor = connection.cursor()
    ...     cursor.executemany("INSERT INTO pet VALUES (?, ?)", [(3, "Kim"), (4, "Bob")]).rowcount
    ...     cursor.execute("SELECT name FROM pet WHERE id > ? ORDER BY id", (2,)).fetchall()
    2
    [('Kim',), ('Bob',)]
    """
    session = spark
    if session is None:
        with translated(), java_needed():
            session = SparkSession.builder.getOrCreate()
    with translated():
        check_session(session)
    if database is not None:
        session = session.newSession()
        with translated():
            api.sql(session, f"USE {quote(database)}")
    return Connection(session, autocommit=autocommit)
