"""Random statements over ACID tables; the oracle is Spark, over plain tables of the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import acidsql
from acidsql.session.acid_session import AcidSession
from tests.arrow_reader.beside_spark import assert_read_as_by_spark
from tests.product.random_expressions import Table
from tests.product.random_sql import Statements
from tests.seeds import seeds

pytestmark = pytest.mark.spark

FACTS = Table(
    name="facts",
    columns={
        "id": "int",
        "k": "int",
        "s": "string",
        "day": "date",
        "m": "decimal",
        "f": "double",
        "t": "timestamp",
        "b": "boolean",
        "p": "int",
        "r": "string",
    },
    partitions=("p", "r"),
)
LINES = Table(
    name="lines",
    columns={"id": "int", "n": "int", "s": "string", "day": "date", "m": "decimal"},
)
DAYS = Table(
    name="days",
    columns={"id": "int", "n": "int", "s": "string", "day": "date"},
    partitions=("day",),
)
TABLES = [FACTS, LINES, DAYS]
# Temporary views, each of a query of the tables.
VIEWS = [
    (
        Table(name="recent", columns=FACTS.columns, partitions=FACTS.partitions),
        "SELECT * FROM facts WHERE p >= 1 AND day > DATE'2024-01-01'",
    ),
    (
        Table(name="pairs", columns={"id": "int", "n": "int", "r": "string", "day": "date"}),
        "SELECT f.id, l.n, f.r, l.day FROM facts AS f JOIN lines AS l ON f.id = l.id "
        "WHERE f.p IN (SELECT n FROM days WHERE day IS NOT NULL)",
    ),
]
SOURCES = [*TABLES, *(view for view, _ in VIEWS)]

_DAY = "IF(h % 17 = 0, NULL, date_add(DATE'2023-12-31', CAST(h % 9 AS INT)))"
_WORD = "IF(h % 19 = 0, NULL, element_at(array('a', 'A', 'b', ' a', 'a ', 'ä', ''), h % 7 + 1))"
_HASHED = "CAST(id AS INT) AS id, CAST(abs(hash(id)) % 100000 AS INT) AS h FROM range({rows})"
ROWS = {
    "facts": f"""SELECT id, IF(h % 13 = 0, NULL, h % 40) AS k, {_WORD} AS s, {_DAY} AS day,
        CAST(h % 1000 / 4 AS DECIMAL(7, 2)) AS m,
        element_at(array(0.0D, -0.0D, double('NaN'), 1.5D, 2.25D, NULL), h % 6 + 1) AS f,
        IF(h % 5 = 0, NULL, TIMESTAMP'2024-01-01 00:00:00' + make_dt_interval(0, h % 50)) AS t,
        element_at(array(true, false, NULL), h % 3 + 1) AS b,
        element_at(array(0, 1, 2, 3, NULL), h % 5 + 1) AS p,
        element_at(array('a', 'A', ' a', NULL), h % 4 + 1) AS r
        FROM (SELECT {_HASHED.format(rows=2600)})""",
    "lines": f"""SELECT id, h % 50 AS n, {_WORD} AS s, {_DAY} AS day,
        IF(h % 3 = 0, NULL, CAST(h % 100 / 4 AS DECIMAL(7, 2))) AS m
        FROM (SELECT {_HASHED.format(rows=2200)})""",
    "days": f"SELECT id, h % 9 AS n, {_WORD} AS s, {_DAY} AS day "
    f"FROM (SELECT {_HASHED.format(rows=60)})",
}


@dataclass(frozen=True)
class Pair:
    """Session with ACID tables, and one with views of the same rows under the same names."""

    acid: SparkSession
    plain: SparkSession

    def check(self, query: str) -> None:
        """Check that both give the same rows, or both an error."""
        try:
            wanted = _rows(self.plain, query)
        except PySparkException:
            with pytest.raises(PySparkException):
                acidsql.sql(self.acid, query).collect()
            return
        assert _by_text(acidsql.sql(self.acid, query).collect()) == wanted, query

    def check_change(self, table: Table, statement: str, after: str) -> bool:
        """Check the rows after a change against a query; the plain view then gets these rows.

        Returns:
            Whether the change was made, and not refused by both.
        """
        values = {name: f"CAST({name} AS {_type(kind)})" for name, kind in table.columns.items()}
        for name in table.partitions:  # the value '' is NULL, as in Hive
            values[name] = f"nullif({values[name]}, '')" if name == "r" else values[name]
        columns = ", ".join(f"{value} AS {name}" for name, value in values.items())
        names = ", ".join(table.columns)
        try:
            frame = self.plain.sql(f"SELECT {columns} FROM ({after}) AS a({names})")
            wanted = frame.collect()
        except PySparkException:
            with pytest.raises(PySparkException):
                acidsql.sql(self.acid, statement)
            return False
        acidsql.sql(self.acid, statement)
        found = acidsql.sql(self.acid, f"SELECT {names} FROM {table.name}").collect()
        assert _by_text(found) == _by_text(wanted), statement
        assert_read_as_by_spark(self.acid, table.name)
        kept = self.plain.createDataFrame(wanted, frame.schema)
        kept.createOrReplaceTempView(table.name)
        return True

    def version(self, table: Table) -> Version:
        """Return the newest version of a table, with the rows of the plain view."""
        metastore = AcidSession.of(self.acid).metastore
        database = self.acid.catalog.currentDatabase()
        number = metastore.next_write_id(database, table.name) - 1
        rows = _rows(self.plain, f"SELECT {', '.join(table.columns)} FROM {table.name}")
        return Version(table, number, rows)

    def restore(self, version: Version) -> None:
        """Restore a version of a table, and check that both have the rows that it had."""
        names, name = ", ".join(version.table.columns), version.table.name
        statement = f"RESTORE TABLE {name} TO VERSION AS OF {version.number}"
        acidsql.sql(self.acid, statement)
        found = acidsql.sql(self.acid, f"SELECT {names} FROM {name}").collect()
        assert _by_text(found) == version.rows, statement
        schema = self.plain.sql(f"SELECT {names} FROM {name}").schema
        self.plain.createDataFrame(found, schema).createOrReplaceTempView(name)

    def check_version(self, version: Version) -> None:
        """Check that a version of a table still has the rows that it had."""
        names, place = ", ".join(version.table.columns), version.table.name
        query = f"SELECT {names} FROM {place} VERSION AS OF {version.number}"
        assert _by_text(acidsql.sql(self.acid, query).collect()) == version.rows, query


@dataclass(frozen=True)
class Version:
    """Version of a table, and its rows as texts."""

    table: Table
    number: int
    rows: list[str]


def _type(kind: str) -> str:
    return "DECIMAL(7, 2)" if kind == "decimal" else kind


def _rows(session: SparkSession, query: str) -> list[str]:
    return _by_text(session.sql(query).collect())


def _by_text(rows: list[Any]) -> list[str]:
    # 0.0 and -0.0 are the same in groups, and either may be shown for both.
    return sorted(repr(tuple(row)).replace("-0.0", "0.0") for row in rows)


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """Return a session with views of plain files."""
    session = spark.newSession()
    home = tmp_path_factory.mktemp("plain")
    for name, query in ROWS.items():
        path = str(home / name)
        session.sql(query).coalesce(1).write.parquet(path)
        session.read.parquet(path).createOrReplaceTempView(name)
    return session


@pytest.fixture(scope="module")
def pair(
    spark: SparkSession, plain: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """Yield ACID tables whose rows were inserted, updated, moved, deleted and compacted."""
    yield from _pair(spark, plain, tmp_path_factory.mktemp("acid"))


def _pair(spark: SparkSession, plain: SparkSession, home: Path) -> Iterator[Pair]:
    acid = spark.newSession()
    acid.conf.set("spark.acidsql.metastore", str(home / "metastore.sqlite"))
    database = f"random_{home.name.replace('-', '_')}"

    frames = {}
    for table in TABLES:
        rows = plain.table(table.name)
        frames[f"rows_of_{table.name}"] = acid.createDataFrame(rows.collect(), rows.schema)

    def run(text: str) -> None:
        acidsql.sql(acid, text, **frames)

    run(f"CREATE DATABASE {database}")
    run(f"USE {database}")
    for table in TABLES:
        columns, partitions = (
            ", ".join(
                f"{name} {_type(kind)}"
                for name, kind in table.columns.items()
                if (name in table.partitions) == of_partitions
                and (table, name) != (LINES, "m")  # is added later
            )
            for of_partitions in (False, True)
        )
        run(
            f"CREATE TABLE {table.name} ({columns})"
            + f" PARTITIONED BY ({partitions})" * bool(partitions)
            + " CLUSTERED BY (id) INTO 3 BUCKETS" * (table is DAYS)
            + " STORED AS ORC TBLPROPERTIES ('transactional'='true', 'orc.row.index.stride'='1000')"
        )
    all_of = "SELECT * FROM {rows_of_%s} WHERE "
    run("INSERT INTO facts " + all_of % "facts" + "id % 3 < 2")
    run("UPDATE facts SET m = m + 1, k = id WHERE id % 3 = 1")
    run(
        "INSERT INTO facts SELECT id, k, s, day, m, f, t, b, 9, r FROM {rows_of_facts} "
        "WHERE id % 3 = 2"
    )
    run("INSERT INTO facts SELECT id + 50000, k, s, day, m, f, t, b, 8, r FROM {rows_of_facts}")
    run("ALTER TABLE facts PARTITION (p = 0, r = 'a') COMPACT 'major' AND WAIT")
    run(
        "MERGE INTO facts USING {rows_of_facts} AS n ON facts.id = n.id "
        "WHEN MATCHED AND facts.p = 9 OR n.id % 3 = 1 THEN "
        "UPDATE SET m = n.m, k = n.k, p = n.p"
    )
    run("DELETE FROM facts WHERE id >= 50000")
    run("ALTER TABLE facts PARTITION (p = 1, r = 'A') COMPACT 'minor' AND WAIT")
    run("INSERT INTO lines SELECT id, n, s, day FROM {rows_of_lines} WHERE m IS NULL")
    run("ALTER TABLE lines ADD COLUMNS (m DECIMAL(7, 2))")
    run("INSERT INTO lines SELECT id, n, s, day, 0 FROM {rows_of_lines} WHERE id < 1500 AND m >= 0")
    run("ALTER TABLE lines COMPACT 'major' AND WAIT")
    run("INSERT INTO lines " + all_of % "lines" + "id >= 1500 AND m >= 0")
    run(
        "MERGE INTO lines USING {rows_of_lines} AS n ON lines.id = n.id "
        "WHEN MATCHED AND n.id < 1500 THEN UPDATE SET m = n.m"
    )
    run("INSERT INTO days " + all_of % "days" + "true")
    for view, query in VIEWS:
        run(f"CREATE TEMPORARY VIEW {view.name} AS {query}")
        plain.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view.name} AS {query}")
    pair = Pair(acid, plain)
    for table in SOURCES:
        pair.check(f"SELECT {', '.join(table.columns)} FROM {table.name}")
    yield pair
    run("USE default")
    run(f"DROP DATABASE {database} CASCADE")
    AcidSession.of(acid).close()


@pytest.mark.repeated
@pytest.mark.parametrize("seed", seeds(10, 18))
def test_a_random_query_gives_the_rows_of_plain_tables(pair: Pair, seed: int) -> None:
    pair.check(Statements(Random(seed), SOURCES).query())


def _compaction(random: Random) -> str:
    return f"ALTER TABLE lines COMPACT '{random.choice(['major', 'minor'])}' AND WAIT"


@pytest.mark.repeated
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_random_changes_give_the_rows_of_plain_tables(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    plain = spark.newSession()
    for name, query in ROWS.items():
        rows = plain.sql(query).where("id < 300").collect()
        plain.createDataFrame(rows, plain.sql(query).schema).createOrReplaceTempView(name)
    for pair in _pair(spark, plain, tmp_path):
        made = Statements(random, TABLES)
        for table in TABLES:
            keeping = "SET TBLPROPERTIES ('acidsql.history.retention'='1d')"
            acidsql.sql(pair.acid, f"ALTER TABLE {table.name} {keeping}")
        versions = [pair.version(table) for table in TABLES]
        for _ in range(6):
            table, other = random.sample(TABLES, 2)
            kind = random.choice(["update", "delete", "insert", "merge", "merge", "compact"])
            if kind == "compact":
                change = _compaction(random), f"SELECT {', '.join(LINES.columns)} FROM lines"
                table = LINES
            elif kind in ("merge", "insert"):
                change = getattr(made, kind)(table, other)
            else:
                change = getattr(made, kind)(table)
            if pair.check_change(table, *change):
                versions.append(pair.version(table))
            if random.random() < 0.2:
                restored = random.choice(versions)
                pair.restore(restored)
                versions.append(pair.version(restored.table))
            pair.check_version(random.choice(versions))
