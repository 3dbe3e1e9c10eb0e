"""Values arrive as they are by every way that takes any, whatever they look like."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

import acidsql
from acidsql.change_consumer import CHECKPOINTS
from acidsql.stream_sink import BATCHES
from tests.nasty_values import NASTY, SET_TO, SETTING

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

EXPECTED = list(enumerate(NASTY))
ALL = "|".join(NASTY)
ZONE = dt.timezone(dt.timedelta(hours=5, minutes=30))


def written(lab: Lab, table: str, way: str) -> list[tuple[Any, ...]]:
    return sorted(lab.sql(f"SELECT n, v FROM {table} WHERE way = '{way}'"))


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
    assert lab.sql(f"SELECT query_id FROM {BATCHES}") == [(ALL,)]
    seen = []
    for _ in range(2):
        acidsql.consume_changes(
            lab.spark, table, lambda _, changes: seen.append(changes.count()), consumer=ALL
        )
    assert len(seen) == 1
    assert lab.sql(f"SELECT consumer FROM {CHECKPOINTS}") == [(ALL,)]
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
