"""Values arrive as they are by every way that takes any, whatever they look like."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import sqlalchemy as sa

import acidsql
from acidsql import dbapi
from acidsql.change_consumer import CHECKPOINTS
from acidsql.stream_sink import BATCHES
from tests.nasty_values import NASTY, SET_TO, SETTING

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

EXPECTED = list(enumerate(NASTY))
ALL = "|".join(NASTY)
DAYS = [
    (dt.date(1, 1, 1), dt.datetime(1, 1, 1)),  # noqa: DTZ001 - local, as in Spark
    (dt.date(999, 12, 31), dt.datetime(1500, 3, 1, 12, 0, 0, 500000)),  # noqa: DTZ001
    (dt.date(1582, 10, 4), dt.datetime(1582, 10, 4, 23, 59, 59)),  # noqa: DTZ001
    (dt.date(1582, 10, 15), dt.datetime(1582, 10, 15)),  # noqa: DTZ001
    (dt.date(9999, 12, 31), dt.datetime(1969, 12, 31, 23, 59, 58, 999999)),  # noqa: DTZ001
]


def written(lab: Lab, table: str, way: str) -> list[tuple[Any, ...]]:
    return sorted(lab.sql(f"SELECT n, v FROM {table} WHERE way = '{way}'"))


@pytest.mark.slow
@pytest.mark.sample("true")
@pytest.mark.parametrize("escaped", ["true", "false"])
def test_texts(lab: Lab, escaped: str) -> None:
    t = lab.create("way STRING, n INT, v STRING")
    engine = sa.create_engine(
        "acidsql://", creator=lambda: acidsql.connect(lab.spark, autocommit=True)
    )
    target = sa.Table(
        t,
        sa.MetaData(),
        sa.Column("way", sa.String),
        sa.Column("n", sa.Integer),
        sa.Column("v", sa.String),
    )
    with (
        lab.settings(spark__sql__parser__escapedStringLiterals=escaped, **{SETTING: SET_TO}),
        acidsql.connect(lab.spark, autocommit=True) as connection,
    ):
        for way, markers, args in (
            ("named", [f":v{n}" for n in range(len(NASTY))], {f"v{n}": v for n, v in EXPECTED}),
            ("positional", ["?"] * len(NASTY), NASTY),
        ):
            rows = ", ".join(f"('{way}', {n}, {marker})" for n, marker in enumerate(markers))
            acidsql.sql(lab.spark, f"INSERT INTO {t} VALUES {rows}", args)
        cursor = connection.cursor()
        rows = ", ".join(f"('execute', {n}, ?)" for n in range(len(NASTY)))
        cursor.execute(f"INSERT INTO {t} VALUES {rows}", NASTY)
        cursor.executemany(f"INSERT INTO {t} VALUES ('many', ?, ?)", EXPECTED)
        mixed: list[Any] = [*EXPECTED, (1000, 5)]  # not of one type
        cursor.executemany(f"INSERT INTO {t} VALUES ('mixed', ?, ?)", mixed)
        with engine.connect() as bound:
            dicts = [{"n": n, "v": v} for n, v in EXPECTED]
            bound.execute(sa.insert(target).values(way="bound"), dicts)
            literal = sa.insert(target).values([{"way": "literal", **row} for row in dicts])
            text = str(literal.compile(engine, compile_kwargs={"literal_binds": True}))
            bound.exec_driver_sql(text)
            found = bound.execute(sa.select(target.c.n).where(target.c.v == SET_TO)).all()
        assert found == []
        for way in ("named", "positional", "execute", "many", "bound", "literal"):
            assert written(lab, t, way) == EXPECTED, way
        assert written(lab, t, "mixed") == [*EXPECTED, (1000, "5")]
        assert lab.sql(f"SELECT count(*) FROM {t}") == [(7 * len(NASTY) + 1,)]
        check_names_of_progress(lab, t)
        check_clauses(lab, engine, f"{t}_made")
    engine.dispose()


def check_names_of_progress(lab: Lab, table: str) -> None:
    """The names of streams and consumers are found again."""
    row = lab.spark.createDataFrame([("sink", 1, "x")], "way STRING, n INT, v STRING")
    for _ in range(2):
        acidsql.sink(table, app_id=ALL)(row, 0)
    assert written(lab, table, "sink") == [(1, "x")]
    named = f"table_name = 'default.{table}'"
    assert lab.sql(f"SELECT query_id FROM {BATCHES} WHERE {named}") == [(ALL,)]
    seen = []
    for _ in range(2):
        acidsql.consume_changes(
            lab.spark, table, lambda _, changes: seen.append(changes.count()), consumer=ALL
        )
    assert len(seen) == 1
    assert lab.sql(f"SELECT consumer FROM {CHECKPOINTS} WHERE {named}") == [(ALL,)]
    lab.sql(f"DROP TABLE {BATCHES}")
    lab.sql(f"DROP TABLE {CHECKPOINTS}")


def check_clauses(lab: Lab, engine: sa.Engine, name: str) -> None:
    """Comments and properties have literals that are no expressions."""
    properties = {f"k{n}": value for n, value in EXPECTED}
    made = sa.Table(
        name,
        sa.MetaData(),
        sa.Column("id", sa.Integer, comment=ALL),
        comment=ALL,
        acidsql_properties=properties,
    )
    made.create(engine)
    stored = lab.session.metastore.table("default", name)
    assert stored.columns[0].comment == ALL
    assert stored.properties["comment"] == ALL
    assert {k: v for k, v in stored.properties.items() if k in properties} == properties
    made.drop(engine)


def test_old_days(lab: Lab) -> None:
    t = lab.create("way STRING, day DATE, ts TIMESTAMP")
    flat = [value for pair in DAYS for value in pair]
    columns = sa.Column("way", sa.String), sa.Column("day", sa.Date), sa.Column("ts", sa.DateTime)
    target = sa.Table(t, sa.MetaData(), *columns)
    dicts = [{"way": "bound", "day": day, "ts": ts} for day, ts in DAYS]
    with acidsql.connect(lab.spark, autocommit=True) as connection:
        cursor = connection.cursor()
        rows = ", ".join("('{way}', ?, ?)" for _ in DAYS)
        acidsql.sql(lab.spark, f"INSERT INTO {t} VALUES {rows.format(way='sql')}", flat)
        cursor.execute(f"INSERT INTO {t} VALUES {rows.format(way='execute')}", flat)
        cursor.executemany(f"INSERT INTO {t} VALUES ('many', ?, ?)", DAYS)
        engine = sa.create_engine("acidsql://", creator=lambda: connection)
        with engine.connect() as bound:
            bound.execute(sa.insert(target), dicts)
            literal = sa.insert(target).values([{**row, "way": "literal"} for row in dicts])
            text = str(literal.compile(engine, compile_kwargs={"literal_binds": True}))
            bound.exec_driver_sql(text)
            shown = lab.sql(f"SELECT way, CAST(day AS STRING), CAST(ts AS STRING) FROM {t}")
            found = bound.execute(
                sa.select(target.c.way).where(target.c.day == DAYS[1][0], target.c.ts == DAYS[1][1])
            ).all()
    ways = ("bound", "execute", "literal", "many", "sql")
    texts = [
        ("0001-01-01", "0001-01-01 00:00:00"),
        ("0999-12-31", "1500-03-01 12:00:00.5"),
        ("1582-10-04", "1582-10-04 23:59:59"),
        ("1582-10-15", "1582-10-15 00:00:00"),
        ("9999-12-31", "1969-12-31 23:59:58.999999"),
    ]
    assert sorted(shown) == sorted((way, *pair) for way in ways for pair in texts)
    assert sorted(found) == [(way,) for way in ways]


MIXED = [
    (0, Decimal("12345678901234567.891"), 2**53 + 1, 5),
    (1, 1.5, 2.0, 2.5),
    (2, Decimal("2.25"), None, Decimal("1.5")),
    (3, 7, 3, "x"),
    (4, np.int64(3), np.int64(2**40), dt.date(2024, 1, 1)),
    (5, None, 1, True),
    (6, np.float64(0.5), None, Decimal("2.25")),
]


@pytest.mark.slow
def test_executemany_stores_what_execute_stores(lab: Lab) -> None:
    t = lab.create("way STRING, n INT, d DECIMAL(20,3), b BIGINT, s STRING")
    with acidsql.connect(lab.spark, autocommit=True) as connection:
        cursor = connection.cursor()
        text = f"INSERT INTO {t} VALUES ('{{}}', ?, ?, ?, ?)"
        for row in MIXED:
            cursor.execute(text.format("one"), row)
        writes = len(lab.directories(t))
        assert cursor.executemany(text.format("many"), MIXED).rowcount == len(MIXED)
        one, many = (
            sorted(lab.sql(f"SELECT n, d, b, s FROM {t} WHERE way = '{way}'"))
            for way in ("one", "many")
        )
        assert many == one
        assert [row[3] for row in one] == ["5", "2.5", "1.5", "x", "2024-01-01", "true", "2.25"]
        # Numbers that a column takes alike are written at once.
        alike = [(8, Decimal("1.5"), 1, "x"), (9, 2, 2**40, None), (10, Decimal("2.25"), 3, "y")]
        before = len(lab.directories(t))
        cursor.executemany(text.format("alike"), alike)
        assert len(lab.directories(t)) == before + 1
        assert writes == len(MIXED)
        # All or nothing.
        with pytest.raises(dbapi.DataError):
            cursor.executemany(text.format("failed"), [(1, 1, 1, "x"), (2, 2, 1e30, "y")])
    assert lab.sql(f"SELECT count(*) FROM {t} WHERE way = 'failed'") == [(0,)]


def test_scalars_of_numpy_and_what_cannot_be_a_value(lab: Lab) -> None:
    t = lab.create("id BIGINT, x DOUBLE", values="(5, 1.5)")
    connection = acidsql.connect(lab.spark)
    cursor = connection.cursor()
    query = f"SELECT count(*) FROM {t} WHERE id = ? AND x = ? AND ?"
    cursor.execute(query, (np.int64(5), np.float64(1.5), np.bool_(True)))
    assert cursor.fetchall() == [(1,)]
    for value, kind in [
        (uuid.UUID(int=5), dbapi.NotSupportedError),
        (pd.NaT, dbapi.NotSupportedError),
        (pd.NA, dbapi.NotSupportedError),
        (2**70, dbapi.DataError),
        (Decimal("NaN"), dbapi.DataError),
    ]:
        with pytest.raises(kind, match="pass") as caught:
            cursor.execute(f"INSERT INTO {t} VALUES (?, 1)", (value,))
        assert "Trace" not in str(caught.value)
        with pytest.raises(kind, match="pass") as caught:
            cursor.executemany(f"INSERT INTO {t} VALUES (?, ?)", [(1, 1.5), (value, 2)])
        assert "Trace" not in str(caught.value)
    for text, values in [("SELECT ?", (1, 2)), (f"DELETE FROM {t}", (1,))]:
        with pytest.raises(dbapi.ProgrammingError, match="values were given"):
            cursor.execute(text, values)
    with pytest.raises(dbapi.ProgrammingError, match="1 parameters .* 2 values"):
        cursor.executemany(f"INSERT INTO {t} VALUES (?, 1)", [(1,), (1, 2)])
    assert cursor.execute("SELECT :a", {"a": 1, "b": 2}).fetchall() == [(1,)]
    assert not connection.in_transaction
    connection.close()
    assert lab.rows(t) == [(5, 1.5)]
