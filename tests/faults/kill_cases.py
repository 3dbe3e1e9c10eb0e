"""Statements that the campaign ``kills`` runs, and what each means, in SQLite.

``{n}`` in a text is a number of the shot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.faults.kill_model import ACID, CLEANER, LOADED, NEXT, SHAPES, Case


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
            others=(f"w.{shape}",),
            by_jobs=by_jobs,
        )


def _transactions() -> Iterator[Case]:
    """Transactions of several statements over two tables, which change rows of their own."""
    changes = (
        "INSERT INTO w.plain VALUES ({n}, 'n'), ({n} + 1, 'o')",
        "UPDATE w.plain SET v = 'u{n}' WHERE id IN (2, {n})",
        "INSERT INTO w.part VALUES ({n}, 'n', 9, 'z')",
        "DELETE FROM w.part WHERE id IN (2, 3)",
    )
    merge = (
        "MERGE INTO w.buck t USING w.src s ON t.id = s.id WHEN MATCHED THEN UPDATE SET "
        "v = concat(s.v, '{n}') WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)",
        "INSERT INTO w.part VALUES ({n}, 'n', 9, 'z')",
        "DELETE FROM w.buck WHERE id IN (3, 9)",
    )
    added = "INSERT INTO partitions VALUES ('w.part', 'p=9/q=z')"
    for statements, model, shape, by_jobs in (
        (changes, (*changes, added), "plain", False),
        (changes, (*changes, added), "plain", True),
        (merge, ("UPDATE w.buck SET v = 's2{n}' WHERE id = 2", "DELETE FROM w.buck WHERE id = 3",
                 "INSERT INTO w.part VALUES ({n}, 'n', 9, 'z')", added), "buck", False),
    ):  # fmt: skip
        text = NEXT.join(["START TRANSACTION", *statements])
        yield Case(
            kind="transaction", variant=f"{shape} and part", text=f"{text}{NEXT}COMMIT",
            model=model, target="w.part", target_after="w.part", others=(f"w.{shape}",),
            by_jobs=by_jobs,
        )  # fmt: skip
        # Into a partition that is there: the empty directory of a dead process's is never deleted.
        text = text.replace("9, 'z'", "1, 'a'")
        yield Case(
            kind="transaction, rolled back", variant=f"{shape} and part",
            text=f"{text}{NEXT}ROLLBACK", target="w.part", target_after="w.part",
            others=(f"w.{shape}",), by_jobs=by_jobs,
        )  # fmt: skip


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


def _replacements(shape: str) -> Iterator[Case]:
    """Statements that replace a table, in its directory and in one of its own."""
    key = ", 1 AS p, 'a' AS q" if shape == "part" else ""
    by = {"part": "PARTITIONED BY (p, q)", "buck": SHAPES[shape][1]}.get(shape, "")
    query = f"SELECT id + {{n}} AS id, v{key} FROM w.src"
    other = "SELECT v, id + {n} AS id FROM w.src"
    head = "CREATE OR REPLACE TABLE {t}"
    for by_jobs in (False, True):
        yield _own(
            "REPLACE TABLE", shape, f"{head} {by} {ACID} AS {query}",
            ("DELETE FROM {t}", f"INSERT INTO {{t}} {query}"), by_jobs=by_jobs,
        )  # fmt: skip
        yield _own(
            "REPLACE TABLE, other layout", shape, f"{head} {ACID} AS {other}",
            ("DROP TABLE {t}", "DELETE FROM partitions WHERE tbl = '{t}'",
             "CREATE TABLE {t} (v STRING, id INT)", f"INSERT INTO {{t}} {other}"),
            by_jobs=by_jobs,
        )  # fmt: skip


def _evolutions(shape: str) -> Iterator[Case]:
    """Statements that add a column together with rows."""
    added = "ALTER TABLE {t} ADD COLUMN more INT"
    for by_jobs in (False, True):
        yield _own(
            "INSERT WITH SCHEMA EVOLUTION", shape,
            "INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT id + {n} AS id, v, 7 AS more "
            "FROM w.src",
            (added, "INSERT INTO {t} SELECT id + {n}, v, 7 FROM w.src"), by_jobs=by_jobs,
        )  # fmt: skip
        yield _own(
            "MERGE WITH SCHEMA EVOLUTION", shape,
            "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT id, concat(v, '{n}') AS v, "
            "7 AS more FROM w.src) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
            "WHEN NOT MATCHED THEN INSERT *",
            (added, "UPDATE {t} SET v = 's2{n}', more = 7 WHERE id = 2",
             "INSERT INTO {t} VALUES (9, 's9{n}', 7)"), by_jobs=by_jobs,
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
        yield from _replacements(shape)
        if shape != "part":  # where SQLite has the new column last
            yield from _evolutions(shape)
    yield from _several()
    yield from _transactions()
    yield from _partitions()
    yield Case(
        kind="DROP DATABASE", variant="d", text="DROP DATABASE d CASCADE",
        model=("DROP TABLE d.one", "DROP TABLE d.two", "DELETE FROM partitions WHERE tbl = 'd.two'",
               "DETACH d"),
    )  # fmt: skip


# Kinds of statements that tables on object stores refuse.
REFUSED_ON_S3 = frozenset({"RENAME PARTITION"})
CASES: tuple[Case, ...] = tuple(_cases())
