"""Tests of the current time, user and database of a statement, by which partitions are pruned."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from acidsql.planning import statement
from tests.product.conftest import Lab
from tests.product.listing import note_listings

pytestmark = pytest.mark.spark

Listed = set[str]


@pytest.fixture(scope="module", autouse=True)
def today(spark: SparkSession) -> Iterator[date]:
    """Set a time zone where it is noon; yield the date there."""
    now = datetime.now(UTC)
    ahead = 12 - now.hour
    with Lab(spark).settings(spark__sql__session__timeZone=f"{ahead:+03}:00"):
        yield (now + timedelta(hours=ahead)).date()


@pytest.fixture(scope="module")
def table(spark: SparkSession, today: date) -> str:  # noqa: ARG001 - the zone of its days
    """Return a table that no test changes."""
    return _made(Lab(spark))


def _made(lab: Lab) -> str:
    """Create a table with rows of nine days, up to tomorrow, by their age in days."""
    name = lab.create("age INT, v STRING", partitioned="d DATE")
    ages = ", ".join(f"({age}, 'v', date_sub(current_date(), {age}))" for age in range(-1, 8))
    lab.insert(name, ages)
    return name


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Listed:
    """Record the dates whose directories are listed."""
    found: Listed = set()

    def note(path: str) -> None:
        if "/d=" in path and "delta" not in path:
            found.add(path.rpartition("/d=")[2])

    note_listings(monkeypatch, note)
    return found


def _days(today: date, ages: set[int]) -> Listed:
    return {str(today - timedelta(days=age)) for age in ages}


def test_the_text_of_a_date_behind_many_columns(
    lab: Lab, table: str, listed: Listed, today: date
) -> None:
    """Check a plan whose text Spark cuts off after some fields, before the date."""
    with lab.settings(spark__sql__debug__maxToStringFields="1"):
        listed.clear()
        rows = lab.sql(
            "SELECT age FROM (SELECT age, v, age + 1 AS older, d, CAST('today' AS DATE) AS t "
            f"FROM {table}) WHERE d = t"
        )
    assert rows == [(0,)]
    assert listed == _days(today, set(range(-1, 8)))


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("condition", "ages"),
    [
        ("d = current_date()", {0}),
        ("d = current_date", {0}),
        ("d >= date_sub(curdate(), 1) AND d < current_date()", {1}),
        ("d > current_timestamp() - INTERVAL 2 DAYS", {-1, 0, 1}),
        ("d < now() - INTERVAL 2 DAYS", {2, 3, 4, 5, 6, 7}),
        ("d > localtimestamp() AND v <> 'now'", {-1}),
        ("unix_date(d) * 86400L <= unix_timestamp() - 86400L * 6", {6, 7}),
        ("d = date_format(current_date(), 'yyyy-MM-dd')", {0}),
        ("d IN (SELECT date_sub(current_date(), i) FROM VALUES (1), (3) AS t(i))", None),
        ("d = (SELECT max(d) FROM {t} WHERE d < current_date())", {1}),
        ("concat(current_user(), d) = concat(current_user(), current_date())", {0}),
        ("d = CAST('today' AS DATE)", None),
    ],
)
def test_queries(
    lab: Lab,
    table: str,
    listed: Listed,
    today: date,
    condition: str,
    ages: set[int] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = f"SELECT age FROM {table} WHERE {condition.format(t=table)}"
    every = set(range(-1, 8))
    listed.clear()
    found = {age for (age,) in lab.sql(text)}
    inner = set() if "max(d)" not in condition else set(range(1, 8))
    assert listed == _days(today, every if ages is None else ages | inner)
    monkeypatch.setattr(statement, "find_required_rows", lambda *_: {})
    assert found == {age for (age,) in lab.sql(text)}
    assert ages is None or found == ages


def test_a_view_is_of_each_query_s_day(lab: Lab, table: str, listed: Listed, today: date) -> None:
    lab.sql(f"CREATE VIEW recent AS SELECT * FROM {table} WHERE d >= date_sub(current_date(), 1)")
    listed.clear()
    assert sorted(lab.sql("SELECT age FROM recent WHERE age >= 0")) == [(0,), (1,)]
    assert listed == _days(today, {-1, 0, 1})
    lab.sql("DROP VIEW recent")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("statement", "read", "changed"),
    [
        ("DELETE FROM {t} WHERE d < date_sub(current_date(), 5)", {6, 7}, 2),
        ("UPDATE {t} SET v = string(current_date()) WHERE d = current_date()", {0}, 1),
        (
            "MERGE INTO {t} t USING (SELECT current_date() AS day) s ON t.d = s.day "
            "WHEN MATCHED THEN UPDATE SET v = string(current_date())",
            {0},
            1,
        ),
        ("INSERT INTO {t} SELECT 9, v, d FROM {t} WHERE d = current_date()", {0}, 1),
    ],
)
def test_statements_that_write(
    lab: Lab,
    listed: Listed,
    today: date,
    statement: str,
    read: set[int],
    changed: int,
) -> None:
    table = _made(lab)
    listed.clear()
    assert lab.sql(statement.format(t=table))[0][0] == changed
    assert listed == _days(today, read)
    if "string" in statement:
        assert lab.sql(f"SELECT age FROM {table} WHERE v = '{today}'") == [(0,)]


@pytest.mark.parametrize("partitioned", ["", "day DATE"])
def test_values_may_be_of_now(lab: Lab, today: date, partitioned: str) -> None:
    t = lab.create("id INT" + ("" if partitioned else ", day DATE"), partitioned=partitioned)
    lab.sql(f"INSERT INTO {t} VALUES (1, current_date()), (2, date_add(current_date(), 1))")
    lab.insert(t, "(3, current_date())")
    assert lab.rows(t) == [(1, today), (2, today + timedelta(days=1)), (3, today)]


def test_a_frame_has_the_time_of_its_statement(lab: Lab, table: str) -> None:
    before = datetime.now(UTC)
    frame = lab.frame(f"SELECT current_timestamp() AS now, current_timestamp() FROM {table}")
    after = datetime.now(UTC)
    time.sleep(0.01)
    assert frame.columns == ["now", "current_timestamp()"]
    once, again = frame.collect(), frame.select("*").collect()
    assert once == again
    moments: set[Any] = {value.astimezone(UTC) for row in once for value in row}
    assert len(moments) == 1
    assert before <= moments.pop() <= after


def test_a_frame_has_the_database_of_its_statement(lab: Lab) -> None:
    t = lab.create("id INT", partitioned="name STRING")
    lab.insert(t, "(1, 'default'), (2, 'elsewhere')")
    lab.sql("CREATE DATABASE elsewhere")
    here = lab.frame(f"SELECT id, row__id.rowid FROM {t} WHERE name = current_database()")
    try:
        lab.sql("USE elsewhere")
        there = lab.frame(f"SELECT id FROM default.{t} WHERE name = current_schema()")
    finally:
        lab.sql("USE default")
        lab.sql("DROP DATABASE elsewhere")
    assert [tuple(row) for row in here.collect()] == [(1, 0)]
    assert [tuple(row) for row in there.collect()] == [(2,)]


def test_hidden_row_ids_stay(lab: Lab, table: str) -> None:
    frame = lab.frame(f"SELECT * FROM {table} WHERE d = current_date()")
    assert frame.columns == ["age", "v", "d"]
    text = f"SELECT age, row__id.writeid FROM {table} WHERE d = current_date()"
    assert lab.sql(text) == [(0, 1)]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE copied USING parquet AS {query}",
        "CREATE TABLE copied STORED AS ORC TBLPROPERTIES ('transactional'='true') AS {query}",
    ],
)
def test_commands_of_spark(
    lab: Lab, table: str, listed: Listed, today: date, statement: str
) -> None:
    query = f"SELECT age, current_date() AS day FROM {table} WHERE d = current_date()"
    listed.clear()
    lab.sql(statement.format(query=query))
    assert lab.sql("SELECT * FROM copied") == [(0, today)]
    assert listed == _days(today, {0})
    lab.sql("DROP TABLE copied")


def test_an_insert_into_a_table_of_spark(lab: Lab, table: str, today: date) -> None:
    lab.sql("CREATE TABLE plain_days (age INT, day DATE) USING parquet")
    lab.sql(f"INSERT INTO plain_days SELECT age, current_date() FROM {table} WHERE d >= now()")
    assert lab.sql("SELECT * FROM plain_days") == [(-1, today)]
    lab.sql("DROP TABLE plain_days")


def test_explain_shows_the_value(lab: Lab, table: str, listed: Listed, today: date) -> None:
    listed.clear()
    ((plan,),) = lab.sql(f"EXPLAIN SELECT * FROM {table} WHERE d = current_date()")
    assert "current_date" not in plan
    assert listed == _days(today, {0})
