"""World of the campaign ``kills`` as SQLite has it: what a statement means, as SQLite runs it.

A model is what SQLite does to the same rows, beside two tables for what rows do not show:
``partitions`` and ``properties``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
CLEANER = "RUN CLEANER"
NEXT = ";\n"  # between the statements of a transaction
# Tables of the database ``w``, with the columns of each.
SHAPES = {
    "plain": ("(id INT, v STRING)", ""),
    "part": ("(id INT, v STRING)", "PARTITIONED BY (p INT, q STRING)"),
    "buck": ("(id INT, v STRING)", "CLUSTERED BY (id) INTO 2 BUCKETS"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Statement on a table.

    Attributes:
        kind: of the statement.
        variant: of the table.
        text: the statement, several with ``NEXT`` between them, or ``CLEANER``.
        model: statements of SQLite that change the model alike.
        target: table that is used next, as it is named before the statement.
        target_after: as it is named after the statement; None if it is dropped.
        others: other tables that it writes.
        before: statements that run first, and are not killed.
        by_jobs: whether Spark jobs write what the driver could write by itself.
    """

    kind: str
    variant: str
    text: str
    model: tuple[str, ...] = ()
    target: str | None = None
    target_after: str | None = None
    others: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    by_jobs: bool = False

    @property
    def name(self) -> str:
        """Name of the case."""
        return f"{self.kind}, {self.variant}{', by jobs' if self.by_jobs else ''}"


# What the world holds before each statement, made once by Spark.
WORLD = (
    *(
        f"CREATE TABLE w.{name} {columns} {clause} {ACID}"
        for name, (columns, clause) in SHAPES.items()
    ),
    f"CREATE TABLE w.src (id INT, v STRING) {ACID}",
    "INSERT INTO w.src VALUES (2, 's2'), (9, 's9')",
    "INSERT INTO w.plain VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
    "INSERT INTO w.plain VALUES (5, 'e'), (6, 'f')",
    "DELETE FROM w.plain WHERE id = 4",
    "INSERT INTO w.buck VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
    "INSERT INTO w.buck VALUES (5, 'e'), (6, 'f')",
    "DELETE FROM w.buck WHERE id = 4",
    "INSERT INTO w.part VALUES (1, 'a', 1, 'a'), (2, 'b', 1, 'a'), (3, 'c', 1, 'b'), "
    "(4, 'd', 2, 'a')",
    "INSERT INTO w.part VALUES (5, 'e', 1, 'a'), (6, 'f', 1, 'a'), (7, 'g', 2, 'a')",
    "DELETE FROM w.part WHERE id = 6",
    f"CREATE TABLE d.one (id INT, v STRING) {ACID}",
    "INSERT INTO d.one VALUES (1, 'a')",
    f"CREATE TABLE d.two (id INT, v STRING) PARTITIONED BY (p INT, q STRING) {ACID}",
    "INSERT INTO d.two VALUES (1, 'a', 1, 'a'), (2, 'b', 2, 'a')",
)
_MODEL = (
    "ATTACH ':memory:' AS w",
    "ATTACH ':memory:' AS d",
    "CREATE TABLE main.partitions (tbl, name, UNIQUE (tbl, name))",
    "CREATE TABLE main.properties (tbl, value)",
    "INSERT INTO partitions VALUES ('w.part', 'p=1/q=a'), ('w.part', 'p=1/q=b'), "
    "('w.part', 'p=2/q=a'), ('d.two', 'p=1/q=a'), ('d.two', 'p=2/q=a')",
    *(f"CREATE TABLE w.{name} (id INT, v STRING)" for name in ("plain", "buck", "src")),
    "CREATE TABLE w.part (id INT, v STRING, p INT, q STRING)",
    "CREATE TABLE d.one (id INT, v STRING)",
    "CREATE TABLE d.two (id INT, v STRING, p INT, q STRING)",
    *(text for text in WORLD if not text.startswith("CREATE")),
)
# Rows of the files to load.
LANDED: tuple[str, ...] = ("one.orc", "two.orc")
LOADED = ((70, "l70"), (71, "l71"))

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """State of a table.

    Attributes:
        columns: names, those of the partition columns last.
        note: the table property ``note``.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    partitions: tuple[str, ...]
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """State of a world.

    Attributes:
        databases: names.
        tables: tables by their full names.
        landed: names of the files to load.
    """

    databases: tuple[str, ...]
    tables: dict[str, TableState]
    landed: tuple[str, ...]


class Model:
    """The world as SQLite has it."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._dropped: set[str] = set()
        self._landed = LANDED
        for statement in _MODEL:
            self._connection.execute(statement)

    def run(self, statements: Sequence[str]) -> None:
        """Run statements of a model; two are words of its own."""
        for statement in statements:
            if statement == "LOADED":
                self._landed = ()
            elif statement.startswith("DETACH "):
                self._dropped.add(statement.removeprefix("DETACH "))
            else:
                self._connection.execute(statement)

    def state(self) -> State:
        """Return what the world must be."""
        query = self._connection.execute
        tables = {}
        databases = [name for name in ("d", "w") if name not in self._dropped]
        for database in databases:
            names = query(f"SELECT name FROM {database}.sqlite_master WHERE type = 'table'")
            for (name,) in names.fetchall():
                full = f"{database}.{name}"
                columns = query(f"SELECT name FROM pragma_table_info('{name}', '{database}')")
                parts = query("SELECT name FROM partitions WHERE tbl = ? ORDER BY name", (full,))
                note = query("SELECT value FROM properties WHERE tbl = ?", (full,)).fetchone()
                tables[full] = TableState(
                    columns=tuple(column for (column,) in columns),
                    rows=texts(query(f"SELECT * FROM {full}")),
                    partitions=tuple(part for (part,) in parts),
                    note=note and note[0],
                )
        return State(
            databases=tuple(sorted(["default", *databases])),
            tables=dict(sorted(tables.items())),
            landed=self._landed,
        )

    def close(self) -> None:
        """Forget it."""
        self._connection.close()


def texts(rows: Iterator[tuple[object, ...]] | sqlite3.Cursor) -> tuple[Row, ...]:
    """Return rows as sorted texts, since values of partitions are texts without Spark."""
    return tuple(sorted(tuple(map(str, row)) for row in rows))


def states(case: Case, number: int, more: Sequence[str] = ()) -> tuple[State, State]:
    """Return what the world must be before a statement and after it, and after ``more``."""
    with closing(Model()) as model:
        before = model.state()
        model.run([text.format(n=number) for text in case.model])
        model.run(more)
        return before, model.state()


def next_insert(table: str, state: TableState, number: int) -> tuple[str, ...]:
    """Return an INSERT that SQLite understands too, and what else SQLite has to do."""
    known = {"id": str(number), "more": "NULL", "p": "1", "q": "'a'"}
    values = ", ".join(known.get(column, "'next'") for column in state.columns)
    insert = f"INSERT INTO {table} VALUES ({values})"
    if "p" not in state.columns:
        return (insert,)
    return insert, f"INSERT OR IGNORE INTO partitions VALUES ('{table}', 'p=1/q=a')"
