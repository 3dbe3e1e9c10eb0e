"""Statements that the campaign ``kills`` runs, and what each means, told to SQLite.

``{n}`` in a text is a number of the shot. A model is what SQLite does to the same rows, beside two
tables for what rows do not show: ``partitions`` and ``properties``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
CLEANER = "RUN CLEANER"
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
        text: the statement, or ``CLEANER``.
        model: statements of SQLite that change the model alike.
        target: table that is used next, as it is named before the statement.
        target_after: as it is named after the statement; None if it is dropped.
        before: statements that run first, and are not killed.
        by_jobs: whether Spark jobs write what the driver could write by itself.
    """

    kind: str
    variant: str
    text: str
    model: tuple[str, ...] = ()
    target: str | None = None
    target_after: str | None = None
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


def _own(
    kind: str,
    shape: str,
    text: str,
    model: Sequence[str] = (),
    *,
    variant: str = "",
    by_jobs: bool = False,
) -> Case:
    """Return a case of one table, ``{t}`` in its texts."""
    table = f"w.{shape}"
    return Case(
        kind=kind,
        variant=f"{shape}{variant}",
        text=text.replace("{t}", table),
        target=table,
        model=tuple(m.replace("{t}", table) for m in model or (text,)),
        target_after=table,
        by_jobs=by_jobs,
    )


def _rows(shape: str) -> Iterator[Case]:
    """Statements that change rows."""
    is_part = shape == "part"
    here = ", 1, 'a'" if is_part else ""
    place = " PARTITION (p = 1, q = 'a')" if is_part else ""
    emptied = "DELETE FROM {t}" + (" WHERE p = 1 AND q = 'a'" if is_part else "")
    there = ", 9, 'z'" if is_part else ""
    added = ("INSERT INTO partitions VALUES ('w.part', 'p=9/q=z')",) if is_part else ()
    for by_jobs in (False, True):
        insert = f"INSERT INTO {{t}} VALUES ({{n}}, 'n'{here}), ({{n}} + 1, 'o'{there})"
        yield _own("INSERT", shape, insert, (insert, *added), by_jobs=by_jobs)
        yield _own(
            "INSERT OVERWRITE",
            shape,
            f"INSERT OVERWRITE {{t}}{place} SELECT id + {{n}}, v FROM w.src",
            (emptied, f"INSERT INTO {{t}} SELECT id + {{n}}, v{here} FROM w.src"),
            by_jobs=by_jobs,
        )
        yield _own("UPDATE", shape, "UPDATE {t} SET v = 'u{n}' WHERE id IN (2, 3)", by_jobs=by_jobs)
        yield _own("DELETE", shape, "DELETE FROM {t} WHERE id IN (2, 3)", by_jobs=by_jobs)
        yield _own(
            "MERGE",
            shape,
            "MERGE INTO {t} t USING w.src s ON t.id = s.id WHEN MATCHED THEN UPDATE SET "
            f"v = concat(s.v, '{{n}}') WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v{there})",
            (f"INSERT INTO {{t}} VALUES (9, 's9'{there})", *added,
             "UPDATE {t} SET v = 's2{n}' WHERE id = 2"),
            by_jobs=by_jobs,
        )  # fmt: skip
    yield _own("TRUNCATE", shape, f"TRUNCATE TABLE {{t}}{place}", [emptied])
    if shape != "buck":
        loaded = "INSERT INTO {t} VALUES " + ", ".join(f"({i}, '{v}'{here})" for i, v in LOADED)
        load = f"LOAD DATA INPATH '{{land}}' %sINTO TABLE {{t}}{place}"
        yield _own("LOAD DATA", shape, load % "", [loaded, "LOADED"])
        yield _own(
            "LOAD DATA", shape, load % "OVERWRITE ", [emptied, loaded, "LOADED"],
            variant=", overwrite",
        )  # fmt: skip


def _several() -> Iterator[Case]:
    for shape, by_jobs in (("plain", False), ("buck", False), ("plain", True)):
        yield Case(
            kind="multi-insert",
            variant=f"{shape} and part",
            text=f"FROM w.src INSERT INTO w.{shape} SELECT id + {{n}}, v INSERT INTO w.part "
            "PARTITION (p = 3, q = 'w') SELECT id + {n}, v",
            model=(
                f"INSERT INTO w.{shape} SELECT id + {{n}}, v FROM w.src",
                "INSERT INTO w.part SELECT id + {n}, v, 3, 'w' FROM w.src",
                "INSERT INTO partitions VALUES ('w.part', 'p=3/q=w')",
            ),
            target="w.part",
            target_after="w.part",
            by_jobs=by_jobs,
        )


def _compactions(shape: str) -> Iterator[Case]:
    table = f"w.{shape}"
    place = " PARTITION (p = 1, q = 'a')" if shape == "part" else ""
    for kind in ("minor", "major"):
        text = f"ALTER TABLE {table}{place} COMPACT '{kind}'"
        for by_jobs in (False, True):
            yield Case(
                kind=f"{kind} compaction", variant=shape, text=text, target=table,
                target_after=table, by_jobs=by_jobs,
            )  # fmt: skip
        yield Case(
            kind="cleaner", variant=f"{shape} after {kind}", text=CLEANER, target=table,
            target_after=table, before=(text,),
        )  # fmt: skip


def _definitions(shape: str) -> Iterator[Case]:
    """Statements that change the catalog."""
    table, (columns, clause) = f"w.{shape}", SHAPES[shape]
    names = "id INT, v STRING" + (", p INT, q STRING" if shape == "part" else "")
    yield Case(
        kind="CREATE TABLE", variant=shape, text=f"CREATE TABLE w.new {columns} {clause} {ACID}",
        model=(f"CREATE TABLE w.new ({names})",), target_after="w.new",
    )  # fmt: skip
    query = "SELECT id + {n} AS id, v FROM w.src"
    if shape == "part":
        query = "SELECT id + {n} AS id, v, 1 AS p, 'a' AS q FROM w.src"
    by = {"part": "PARTITIONED BY (p, q)", "buck": clause}.get(shape, "")
    for by_jobs in (False, True):
        yield Case(
            kind="CREATE TABLE AS SELECT", variant=shape,
            text=f"CREATE TABLE w.new {by} {ACID} AS {query}",
            model=(
                f"CREATE TABLE w.new ({names})", f"INSERT INTO w.new {query}",
                *(["INSERT INTO partitions VALUES ('w.new', 'p=1/q=a')"] * (shape == "part")),
            ),
            target_after="w.new", by_jobs=by_jobs,
        )  # fmt: skip
    forget = f"DELETE FROM partitions WHERE tbl = '{table}'"
    yield Case(
        kind="DROP TABLE", variant=shape, text=f"DROP TABLE {table}",
        model=(f"DROP TABLE {table}", forget), target=table,
    )  # fmt: skip
    yield Case(
        kind="RENAME TABLE", variant=shape, text=f"ALTER TABLE {table} RENAME TO w.moved",
        model=(
            f"ALTER TABLE {table} RENAME TO moved",
            f"UPDATE partitions SET tbl = 'w.moved' WHERE tbl = '{table}'",
        ),
        target=table, target_after="w.moved",
    )  # fmt: skip
    yield _own(
        "ALTER TABLE", shape, "ALTER TABLE {t} SET TBLPROPERTIES ('note' = '{n}')",
        [f"INSERT INTO properties VALUES ('{table}', '{{n}}')"], variant=", property",
    )  # fmt: skip
    rename = "ALTER TABLE {t} RENAME COLUMN v TO w"
    yield _own("ALTER TABLE", shape, rename, variant=", column renamed")
    if shape != "part":  # where SQLite has the new column last
        yield _own(
            "ALTER TABLE", shape, "ALTER TABLE {t} ADD COLUMNS (more INT)",
            ["ALTER TABLE {t} ADD COLUMN more INT"], variant=", column added",
        )  # fmt: skip


def _partitions() -> Iterator[Case]:
    gone = "DELETE FROM partitions WHERE tbl = 'w.part' AND name LIKE "
    yield _own(
        "ADD PARTITION", "part", "ALTER TABLE {t} ADD PARTITION (p = 7, q = 'x')",
        ["INSERT INTO partitions VALUES ('w.part', 'p=7/q=x')"],
    )  # fmt: skip
    yield _own(
        "DROP PARTITION", "part", "ALTER TABLE {t} DROP PARTITION (p = 2, q = 'a')",
        ["DELETE FROM {t} WHERE p = 2", gone + "'p=2%'"],
    )  # fmt: skip
    yield _own(
        "DROP PARTITION", "part", "ALTER TABLE {t} DROP PARTITION (p = 1)",
        ["DELETE FROM {t} WHERE p = 1", gone + "'p=1%'"], variant=", several",
    )  # fmt: skip
    yield _own(
        "RENAME PARTITION", "part",
        "ALTER TABLE {t} PARTITION (p = 2, q = 'a') RENAME TO PARTITION (p = 8, q = 'm')",
        ["UPDATE {t} SET p = 8, q = 'm' WHERE p = 2", gone + "'p=2%'",
         "INSERT INTO partitions VALUES ('w.part', 'p=8/q=m')"],
    )  # fmt: skip


def _cases() -> Iterator[Case]:
    for shape in SHAPES:
        yield from _rows(shape)
        yield from _compactions(shape)
        yield from _definitions(shape)
    yield from _several()
    yield from _partitions()
    yield Case(
        kind="DROP DATABASE", variant="d", text="DROP DATABASE d CASCADE",
        model=("DROP TABLE d.one", "DROP TABLE d.two", "DELETE FROM partitions WHERE tbl = 'd.two'",
               "DETACH d"),
    )  # fmt: skip


CASES: tuple[Case, ...] = tuple(_cases())
