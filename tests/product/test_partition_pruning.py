"""Tests that partitions are neither fetched nor listed if a statement does not require them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.planning import statement
from acidsql.planning.statement_snapshots import leased_snapshot
from tests.product.conftest import Lab
from tests.product.listing import note_listings

pytestmark = pytest.mark.spark

Fetched = list[tuple[tuple[str, ...], ...]]
VALUES = [(i, d, f"r{i}") for i in range(4) for d in ("2024-01-01", "2024-01-02", None)]


@dataclass
class Listed:
    """Partitions whose directories were listed."""

    partitions: list[str] = field(default_factory=list)

    def take(self) -> set[str]:
        found = {p for p in self.partitions if "=" in p}
        self.partitions.clear()
        return found


def _made(lab: Lab) -> str:
    name = lab.create("v STRING, id INT", partitioned="p INT, d DATE")
    rows = ", ".join(
        f"('{v}', {p}, {p}, " + (f"DATE'{d}')" if d else "NULL)") for p, d, v in VALUES
    )
    lab.insert(name, rows)
    return name


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> str:
    """Return a table that no test changes."""
    return _made(Lab(spark))


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Listed:
    found = Listed()

    def note(path: str) -> None:
        tail = path.rpartition("/p=")[2]
        if "delta" not in path and "/p=" in path:
            found.partitions.append(f"p={tail}")

    note_listings(monkeypatch, note)
    return found


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> Fetched:
    """Return the answers of the metastore about the values of partitions."""
    answers: Fetched = []
    fetch = EmbeddedMetastore.partition_values

    def note(*arguments: Any) -> tuple[tuple[str, ...], ...]:
        answers.append(fetch(*arguments))
        return answers[-1]

    monkeypatch.setattr(EmbeddedMetastore, "partition_values", note)
    return answers


def _all(*numbers: int) -> set[str]:
    days = ("2024-01-01", "2024-01-02", "__HIVE_DEFAULT_PARTITION__")
    return {f"p={i}/d={d}" for i in numbers for d in days}


NULL_DAY = "d=__HIVE_DEFAULT_PARTITION__"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("query", "partitions"),
    [
        ("SELECT * FROM {t} WHERE p = 2", _all(2)),
        ("SELECT ID FROM {t} X WHERE X.P = 2 AND x.p < 9 AND D IS NULL", {f"p=2/{NULL_DAY}"}),
        ("SELECT * FROM {t} WHERE p + 1 = 3 AND d = '2024-01-02'", {"p=2/d=2024-01-02"}),
        ("SELECT * FROM {t} WHERE p IN (1, 3) AND id = 1", _all(1, 3)),
        ("SELECT * FROM {t} WHERE d IS NULL AND p < 2", {f"p=0/{NULL_DAY}", f"p=1/{NULL_DAY}"}),
        ("SELECT * FROM {t} WHERE p = 1 OR id = 2", _all(0, 1, 2, 3)),
        ("SELECT * FROM {t} WHERE p = 7", set()),
        ("SELECT * FROM (SELECT p AS q, id FROM {t}) WHERE q = 3", _all(3)),
        ("SELECT * FROM {t} a JOIN {t} b ON a.id = b.id WHERE a.p = 0 AND b.p = 1", _all(0, 1)),
        ("SELECT * FROM {t} a JOIN {t} b ON a.p = b.p WHERE a.p = 2", _all(2)),
        ("WITH c AS (SELECT * FROM {t}) SELECT * FROM c WHERE p = 1", _all(1)),
        (
            "WITH c AS (SELECT * FROM {t}) "
            "SELECT * FROM c WHERE p = 1 UNION ALL SELECT * FROM c WHERE p = 3",
            _all(1, 3),
        ),
        (
            "WITH c AS (SELECT * FROM {t}) SELECT * FROM c WHERE p = 1 UNION ALL SELECT * FROM c",
            _all(0, 1, 2, 3),
        ),
        (
            "WITH c AS (SELECT * FROM {t}) SELECT (SELECT max(id) FROM c WHERE p = 2), v "
            "FROM c WHERE p = 0",
            _all(0, 2),
        ),
        ("SELECT (SELECT max(id) FROM {t} WHERE p = 1)", _all(1)),
        ("SELECT 1 WHERE 5 IN (SELECT id FROM {t} WHERE p = 3)", _all(3)),
        ("SELECT * FROM {t} WHERE p = (SELECT max(id) FROM range(3))", _all(0, 1, 2, 3)),
        ("SELECT * FROM {t} WHERE rand() < 2 AND p = 1", _all(1)),
        ("SELECT * FROM {t} WHERE v = '\n1 Filter (x)\n' AND p = 1", _all(1)),
        ("SELECT p, count(*) FROM {t} GROUP BY p HAVING p > 2", _all(3)),
        ("SELECT row__id FROM {t} WHERE p = 0", _all(0)),
        ("SELECT * FROM {t} WHERE d < current_date() AND p = 0", _all(0) - {f"p=0/{NULL_DAY}"}),
        ("SELECT * FROM {t} WHERE v <> 'now' AND p = 0", _all(0)),
        # This may run on another day than it was planned on.
        ("SELECT * FROM {t} WHERE d < CAST('today' AS DATE) AND p = 0", _all(0, 1, 2, 3)),
    ],
)
def test_queries(
    lab: Lab,
    table: str,
    listed: Listed,
    query: str,
    partitions: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = query.format(t=table)
    listed.take()
    found = lab.sql(text)
    assert listed.take() == partitions
    monkeypatch.setattr(statement, "find_required_rows", lambda *_: {})
    expected = lab.sql(text)
    assert listed.take() == _all(0, 1, 2, 3)
    assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.slow
def test_views_and_plain_tables(lab: Lab, table: str, listed: Listed) -> None:
    lab.sql(f"CREATE VIEW pruned AS SELECT id AS i, p AS part FROM {table}")
    listed.take()
    assert lab.sql("SELECT i FROM pruned WHERE part = 2") == [(2,)] * 3
    assert listed.take() == _all(2)
    lab.sql("CREATE TABLE plain_copy USING parquet AS SELECT 0 AS x WHERE false")
    listed.take()
    lab.sql(f"INSERT INTO plain_copy SELECT id FROM {table} WHERE p = 3")
    assert listed.take() == _all(3)
    lab.sql("DROP TABLE plain_copy")
    lab.sql("DROP VIEW pruned")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("statement", "read"),
    [
        ("UPDATE {t} SET v = 'u' WHERE p = 1", _all(1)),
        ("UPDATE {t} SET p = 0 WHERE p = 1 AND d = '2024-01-01'", {"p=1/d=2024-01-01"}),
        ("DELETE FROM {t} WHERE p = 2 AND id >= 0", _all(2)),
        ("DELETE FROM {t} WHERE P = 2 AND ID >= 0", _all(2)),
        (
            "MERGE INTO {t} t USING (SELECT 1 AS k) s ON t.id = s.k AND t.p = 1 "
            "WHEN MATCHED THEN UPDATE SET v = 'm'",
            _all(1),
        ),
        ("INSERT INTO {t} SELECT 'i', id, 0, d FROM {t} WHERE p = 3", _all(3)),
    ],
)
def test_statements_that_write(lab: Lab, listed: Listed, statement: str, read: set[str]) -> None:
    table = _made(lab)
    before = {(i, p): v for i, p, v in lab.sql(f"SELECT id, p, v FROM {table}")}
    listed.take()
    changed = lab.sql(statement.format(t=table))[0][0]
    written = {"p=0/d=2024-01-01"} if "SET p = 0" in statement else set()
    written |= _all(0) if statement.startswith("INSERT") else set()
    assert listed.take() == read | written
    assert changed == len(read)
    assert len(before) == 4


def test_the_plan_of_an_update_reads_the_partitions_that_it_needs(
    lab: Lab, table: str, listed: Listed
) -> None:
    lab.sql(f"EXPLAIN UPDATE {table} SET v = 'u' WHERE p = 1")
    assert listed.take() == _all(1)


def test_each_plan_of_a_snapshot_is_pruned_by_its_own_conditions(
    lab: Lab, table: str, listed: Listed
) -> None:
    listed.take()
    with leased_snapshot(lab.session) as snapshot:
        found = [
            bridge.frame_of(lab.spark, snapshot.plan(f"SELECT id FROM {table} {where}")).collect()
            for where in ("WHERE p = 3", "WHERE p = 1 AND d IS NULL", "")
        ]
    assert [len(rows) for rows in found] == [3, 1, 12]
    assert listed.take() == _all(0, 1, 2, 3)


@pytest.mark.parametrize("kind", ["DATE", "date"])
@pytest.mark.parametrize(
    ("condition", "ids", "is_evaluated"),
    [
        ("d < DATE'+12000-01-01'", [1, 2, 3], False),
        ("d > DATE'-0044-03-15'", [1, 2, 3], False),
        ("d = DATE'1582-10-10'", [2], False),
        ("d IN (DATE'0001-01-01', DATE'2024-02-29')", [1, 3], False),
        ("d >= DATE'2024-02-29'", [3], True),
    ],
)
def test_the_metastore_evaluates_conditions_on_dates_of_common_years(
    lab: Lab,
    fetched: Fetched,
    kind: str,
    condition: str,
    ids: list[int],
    is_evaluated: bool,
) -> None:
    """The text of a java.sql.Date is not that of Spark's date in all years."""
    values = "(1, DATE'0001-01-01'), (2, DATE'1582-10-10'), (3, DATE'2024-02-29')"
    table = lab.create("id INT", partitioned=f"d {kind}", values=values)
    fetched.clear()
    assert lab.sql(f"SELECT id FROM {table} WHERE {condition} ORDER BY id") == [(i,) for i in ids]
    assert [len(values) for values in fetched] == [1 if is_evaluated else 3]


@pytest.mark.parametrize(
    ("column", "condition"),
    [
        ("p INT", "p = 7"),
        ("p SMALLINT", "p IN (7, NULL)"),
        ("p BIGINT", "7 <= p AND p < 8"),
        ("p STRING", "p = '7'"),
        ("p STRING", "p > '6'"),
    ],
)
def test_the_metastore_evaluates_comparisons(
    lab: Lab, fetched: Fetched, column: str, condition: str
) -> None:
    values = ", ".join(f"({i}, {i})" for i in range(8))
    table = lab.create("id INT", partitioned=column, values=values)
    fetched.clear()
    assert lab.sql(f"SELECT id FROM {table} WHERE {condition}") == [(7,)]
    assert fetched == [(("7",),)]
