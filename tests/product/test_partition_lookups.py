"""Tests that partitions are neither fetched nor listed if other tables rule them out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.planning import statement
from tests.limits import set_limits
from tests.product.conftest import Lab
from tests.product.listing import note_listings

pytestmark = pytest.mark.spark

NULL_DAY = "__HIVE_DEFAULT_PARTITION__"
DAYS = [f"2024-01-{day:02}" for day in range(1, 13)]


@pytest.fixture(scope="module")
def star(spark: Any) -> Iterator[str]:
    """Yield a table of sales by day and shop, with tables of days, months and shops."""
    lab = Lab(spark)
    sales = lab.create("id INT, v STRING", partitioned="d DATE, shop STRING")
    lab.sql(
        f"INSERT INTO {sales} SELECT /*+ COALESCE(1) */ CAST(id AS INT), concat('v', id), "
        "IF(id % 13 = 12, NULL, date_add(DATE'2024-01-01', CAST(id % 13 AS INT))), "
        "concat('s ', id % 2) FROM range(52)"
    )
    lab.sql(f"DELETE FROM {sales} WHERE id % 10 = 3")
    for name, columns, rows in (
        (
            "days",
            "day DATE, number INT, month INT",
            ", ".join(f"(DATE'{day}', {i + 1}, {i // 6})" for i, day in enumerate(DAYS)),
        ),
        ("months", "month INT, name STRING", "(0, 'first'), (1, 'second')"),
        ("shops", "shop STRING, town STRING", "('s 0', 'x'), ('s 1', 'y'), (NULL, 'z')"),
    ):
        lab.sql(
            f"CREATE TABLE {name} ({columns}) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        lab.insert(name, rows)
    yield sales
    for name in (sales, "days", "months", "shops"):
        lab.sql(f"DROP TABLE {name}")


class Listed:
    """Partitions of sales whose directories were listed."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._found: set[str] = set()

    def note(self, path: str) -> None:
        """Take notice of a directory that is listed."""
        if f"/{self._table}/d=" in path and "delta" not in path:
            self._found.add(path.partition(f"/{self._table}/")[2])

    def take(self) -> set[str]:
        """Return those listed since the last call."""
        found, self._found = self._found, set()
        return found


@pytest.fixture
def listed(star: str, monkeypatch: pytest.MonkeyPatch) -> Listed:
    found = Listed(star)
    note_listings(monkeypatch, found.note)
    return found


def _of(days: list[str], shops: tuple[int, ...] = (0, 1)) -> set[str]:
    return {f"d={day}/shop=s {shop}" for day in days for shop in shops}


ALL = _of([*DAYS, NULL_DAY])


@pytest.fixture
def numbers(spark: SparkSession) -> Iterator[str]:
    """Yield a view with the same days and numbers, over no ACID table."""
    spark.range(1, 13).selectExpr(
        "CAST(id AS INT) AS number", "date_add(DATE'2023-12-31', CAST(id AS INT)) AS day"
    ).createOrReplaceTempView("numbers_of_days")
    yield "numbers_of_days"
    spark.catalog.dropTempView("numbers_of_days")


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("query", "partitions"),
    [
        ("SELECT id FROM {t} JOIN days ON d = day WHERE number = 3", _of(DAYS[2:3])),
        ("SELECT id FROM days JOIN {t} ON DAY = D WHERE Number IN (2, 99)", _of(DAYS[1:2])),
        ("SELECT id FROM {t} WHERE d IN (SELECT day FROM days WHERE number > 10)", _of(DAYS[10:])),
        ("SELECT id FROM {t} JOIN days ON date_add(d, 1) = day WHERE number = 3", _of(DAYS[1:2])),
        ("SELECT id FROM {t} JOIN days ON d = day WHERE number = 99", set()),
        (
            "SELECT id, name FROM {t} JOIN (SELECT * FROM days JOIN months USING (month)) "
            "ON d = day WHERE name = 'second' AND number < 9",
            _of(DAYS[6:8]),
        ),
        (
            "SELECT id FROM {t} a JOIN days ON d = day JOIN shops s ON s.shop = a.shop "
            "WHERE number = 5 AND town = 'y'",
            _of(DAYS[4:5], (1,)),
        ),
        (
            "SELECT id FROM {t} a JOIN shops s ON s.shop = a.shop WHERE town = 'y' AND id > 9",
            _of([*DAYS, NULL_DAY], (1,)),
        ),
        (
            "WITH c AS (SELECT * FROM {t} JOIN days ON d = day) "
            "SELECT id FROM c WHERE number = 1 UNION ALL SELECT id FROM c WHERE number = 12",
            _of([DAYS[0], DAYS[11]]),
        ),
        (
            "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.id = b.id + 1 "
            "JOIN days x ON a.d = x.day JOIN days y ON b.d = y.day "
            "WHERE x.number = 3 AND y.number = 2",
            _of(DAYS[1:3]),
        ),
        (
            "SELECT (SELECT max(id) FROM {t} JOIN days ON d = day WHERE number = 3), max(number) "
            "FROM days WHERE number < 9",
            _of(DAYS[2:3]),
        ),
        (
            "SELECT id FROM {t} WHERE d IN (SELECT max(day) FROM days WHERE number < 9)",
            _of(DAYS[7:8]),
        ),
        (
            "WITH few AS (SELECT day FROM days WHERE number = 4) SELECT id FROM {t} WHERE d IN "
            "(SELECT day FROM few UNION ALL SELECT date_add(day, 1) FROM few)",
            _of(DAYS[3:5]),
        ),
        ("SELECT id FROM {t} RIGHT JOIN days ON d = day WHERE number = 3", _of(DAYS[2:3])),
        ("SELECT id FROM {t} WHERE d = (SELECT max(day) FROM days)", _of(DAYS[11:])),
        ("SELECT id FROM {t} WHERE d > (SELECT day FROM days WHERE number = 10)", _of(DAYS[10:])),
        ("SELECT id FROM {t} WHERE D = (SELECT day FROM days WHERE number = 99)", set()),
        (
            "SELECT id FROM {t} WHERE date_add(d, 1) < (SELECT min(day) FROM days WHERE month = 1) "
            "AND shop = (SELECT max(shop) FROM shops WHERE town < 'z') AND id > 4",
            _of(DAYS[:5], (1,)),
        ),
        (
            "SELECT id FROM {t} WHERE d BETWEEN (SELECT min(day) FROM days WHERE month = 1) "
            "AND (SELECT max(day) FROM days WHERE number < 9)",
            _of(DAYS[6:8]),
        ),
        (
            "SELECT id FROM {t} WHERE d BETWEEN (SELECT min(day) FROM days) "
            "AND (SELECT max(day) FROM days WHERE number IN (SELECT 3))",
            _of(DAYS[:3]),
        ),
        (
            "SELECT id FROM {t} WHERE d BETWEEN (SELECT min(day) FROM days WHERE number > 3) "
            "AND (SELECT max(day) FROM days WHERE number > 3)",
            _of(DAYS[3:]),
        ),
        ("SELECT id FROM {t} WHERE d = (SELECT date_add(DATE'2024-01-01', 1))", _of(DAYS[1:2])),
        (
            "SELECT id, (SELECT count(*) FROM {t} WHERE d = (SELECT max(day) FROM days)) FROM {t} "
            "WHERE d = (SELECT min(day) FROM days)",
            _of([DAYS[0], DAYS[11]]),
        ),
        (
            "SELECT id FROM {t} a WHERE d = (SELECT max(day) FROM days WHERE number = a.id)",
            _of(DAYS),
        ),
        (
            "SELECT id FROM {t} WHERE d = (SELECT day FROM days WHERE number > 2 "
            "ORDER BY rand() LIMIT 1) AND id < 0",
            _of(DAYS),
        ),
        # These keep all of its rows, or those of more than the days that are found.
        ("SELECT id, number FROM {t} LEFT JOIN days ON d = day AND number = 3", ALL),
        ("SELECT id FROM {t} WHERE d NOT IN (SELECT day FROM days WHERE number > 2)", ALL),
        ("SELECT id FROM {t} JOIN days ON d = day OR id = number WHERE number = 3", ALL),
        # What is read twice must be the same: no random numbers, no tables without snapshots.
        ("SELECT id FROM {t} JOIN days ON d = day WHERE number < 9 * rand()", _of(DAYS)),
        (
            "SELECT id FROM {t} WHERE d IN (SELECT day FROM days WHERE number > 1 "
            "ORDER BY number LIMIT 1)",
            ALL,
        ),
        (
            "SELECT id FROM {t} JOIN (SELECT day, sum(number / 3D) AS n FROM days WHERE number > 2 "
            "GROUP BY day) ON d = day WHERE n < 2",
            _of(DAYS),
        ),
        ("SELECT id FROM {t} JOIN numbers_of_days ON d = day WHERE number = 3", _of(DAYS)),
        # Nothing is ruled out.
        ("SELECT id FROM {t} JOIN days ON d = day", _of(DAYS)),
    ],
)
def test_queries(
    lab: Lab,
    star: str,
    listed: Listed,
    numbers: str,  # noqa: ARG001
    query: str,
    partitions: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = query.format(t=star)
    listed.take()
    found = lab.sql(text)
    read = listed.take()
    monkeypatch.setattr(statement, "find_required_rows", lambda *_: {})
    expected = lab.sql(text)
    assert listed.take() == ALL
    if "rand" not in text:
        assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert read == partitions


QUERY = "SELECT id FROM {t} JOIN days ON d = day WHERE number = 3"


@pytest.mark.slow
def test_settings_and_large_tables(
    lab: Lab, star: str, listed: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = QUERY.format(t=star)
    listed.take()
    with lab.settings(spark__sql__optimizer__dynamicPartitionPruning__enabled="false"):
        expected = lab.sql(text)
    assert listed.take() == _of(DAYS)
    set_limits(monkeypatch, pruning_table_bytes=-1)
    assert lab.sql(text) == expected
    assert listed.take() == _of(DAYS)
    monkeypatch.undo()
    assert sorted(lab.sql(text)) == sorted(expected)


def test_several_rows_for_one_value_are_an_error(lab: Lab, star: str) -> None:
    with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        lab.sql(f"SELECT id FROM {star} WHERE d = (SELECT day FROM days WHERE number < 3)")


def test_the_newest_partition_is_found_without_a_scan(
    lab: Lab, star: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, pruning_table_bytes=-1)
    text = f"SELECT id FROM {star} WHERE d = (SELECT max(d) FROM {star} WHERE shop = 's 0')"
    frame = lab.frame(text)
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert plan.count("BatchScan") == 1
    assert sorted(tuple(row) for row in frame.collect()) == [(11,), (24,), (37,), (50,)]


@pytest.mark.slow
def test_the_other_table_is_read_as_the_statement_sees_it(lab: Lab, star: str) -> None:
    lab.sql(
        "CREATE TABLE chosen STORED AS ORC TBLPROPERTIES ('transactional'='true') "
        "AS SELECT * FROM days"
    )
    try:
        lab.sql("DELETE FROM chosen WHERE number = 3")
        lab.sql("UPDATE chosen SET number = 3 WHERE number = 4")
        frame = lab.frame(f"SELECT id FROM {star} JOIN chosen ON d = day WHERE number = 3")
        lab.sql("UPDATE chosen SET number = number + 1 WHERE true")
        found = sorted(tuple(row) for row in frame.collect())
        assert found == sorted(lab.sql(f"SELECT id FROM {star} WHERE d = '2024-01-04'"))
    finally:
        lab.sql("DROP TABLE chosen")


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("INT", "id - 5"),
        ("BIGINT", "id * 5000000000"),
        ("SMALLINT", "id"),
        ("DECIMAL(9, 2)", "id / 8"),
        ("STRING", "concat('a/\\'=\"', id)"),
        ("STRING", "IF(id % 2 = 0, '', string(id))"),
        ("BOOLEAN", "id % 2 = 0"),
        ("DOUBLE", "id / 4"),
        ("TIMESTAMP", "timestamp_seconds(id * 3600)"),
        ("CHAR(4)", "id"),
        ("VARCHAR(4)", "id"),
    ],
)
def test_partition_columns_of_any_type(
    lab: Lab, kind: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id BIGINT", partitioned=f"p {kind}")
    lab.sql(f"INSERT INTO {t} SELECT id, CAST({value} AS {kind}) FROM range(10)")
    other = lab.create(f"k {kind}, n BIGINT")
    lab.sql(f"INSERT INTO {other} SELECT CAST({value} AS {kind}), id FROM range(-2, 12)")
    text = f"SELECT id FROM {t} JOIN {other} ON p = k WHERE n IN (-1, 3, 4, 8)"
    found = sorted(lab.sql(text))
    monkeypatch.setattr(statement, "find_required_rows", lambda *_: {})
    assert found == sorted(lab.sql(text))
    assert {(3,), (4,), (8,)} <= set(found) or value.startswith("IF")


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("statement", "read"),
    [
        ("DELETE FROM {t} WHERE d IN (SELECT day FROM days WHERE number = 2)", _of(DAYS[1:2])),
        (
            "UPDATE {t} SET v = 'new' WHERE d IN (SELECT day FROM days WHERE number = 2)",
            _of(DAYS[1:2]),
        ),
        (
            "MERGE INTO {t} USING (SELECT * FROM days WHERE number = 2) ON d = day AND shop = 's 1'"
            " WHEN MATCHED THEN UPDATE SET v = 'new'",
            _of(DAYS[1:2], (1,)),
        ),
    ],
)
def test_statements_that_write(
    lab: Lab, star: str, statement: str, read: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id INT, v STRING", partitioned="d DATE, shop STRING")
    lab.sql(f"INSERT INTO {t} SELECT id, v, d, shop FROM {star}")
    listed = Listed(t)
    note_listings(monkeypatch, listed.note)
    expected = {
        i for i, d, s in lab.sql(f"SELECT id, d, shop FROM {t}") if f"d={d}/shop={s}" in read
    }
    listed.take()
    assert lab.sql(statement.format(t=t))[0][0] == len(expected) > 0
    assert listed.take() == read
    kept = lab.sql(f"SELECT id, v FROM {t}")
    if statement.startswith("DELETE"):
        assert {i for i, _ in kept} == {
            i for i, _ in lab.sql(f"SELECT id, v FROM {star}")
        } - expected
    else:
        assert {i for i, v in kept if v == "new"} == expected


def test_a_join_with_a_plain_table_chooses_partitions_when_it_runs(lab: Lab, numbers: str) -> None:
    table = lab.create("id INT, v STRING", partitioned="d DATE")
    days = DAYS[:3]
    lab.insert(table, ", ".join(f"({i}, 'v', DATE'{day}')" for i, day in enumerate(days)))
    text = f"SELECT id, v FROM {table} JOIN {numbers} ON d = day WHERE number = 2"
    frame = lab.frame(text)
    place = Path(acidsql.location(lab.spark, table).removeprefix("file:"))
    for day in (days[0], days[2]):
        (data,) = place.glob(f"d={day}/delta_*/bucket_*")
        data.write_bytes(bytes(data.stat().st_size))
    assert [tuple(row) for row in frame.collect()] == [(1, "v")]
    with pytest.raises(Exception, match="INVALID_ORC_TAIL"):
        lab.sql(f"SELECT id, v FROM {table}")
