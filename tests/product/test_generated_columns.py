"""Generated columns are computed from others, and checked where a value is given."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from acidsql.errors import AcidAnalysisError
from acidsql.streaming import connect

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

_CREATE = (
    "CREATE TABLE seen (id INT, ts TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), "
    "third DECIMAL(5, 1) GENERATED ALWAYS AS (id / 3) CHECK (third < 100)) USING acidsql "
    "PARTITIONED BY (day)"
)
_FIRST = (1, datetime(2024, 1, 2, 3, 4, 5), Decimal("0.3"), date(2024, 1, 2))  # noqa: DTZ001


@pytest.fixture
def seen(lab: Lab) -> Iterator[Lab]:
    """Create the table ``seen`` with one row."""
    lab.sql(_CREATE)
    lab.sql("INSERT INTO seen (id, ts) VALUES (1, TIMESTAMP '2024-01-02 03:04:05')")
    yield lab
    lab.sql("DROP TABLE seen")
    lab.sql("DROP TABLE IF EXISTS seen2")


def _condition(lab: Lab, text: str) -> tuple[str | None, dict[str, str]]:
    """Return condition and parameters of the error of a statement, which changes nothing."""
    before = lab.state("seen")
    with pytest.raises(PySparkException) as caught:
        lab.sql(text)
    assert lab.state("seen") == before
    return caught.value.getErrorClass(), dict(caught.value.getMessageParameters() or {})


def _rows(lab: Lab) -> list[tuple[object, ...]]:
    return lab.sql("SELECT id, date_format(ts, 'yyyy-MM-dd'), third, day FROM seen ORDER BY id")


def test_a_column_that_is_left_out_is_computed(seen: Lab) -> None:
    assert seen.rows("seen") == [_FIRST]
    seen.sql("INSERT INTO seen VALUES (2, TIMESTAMP '2024-02-01 00:00:00', DEFAULT, DEFAULT)")
    seen.sql("INSERT INTO seen (ts, id) SELECT TIMESTAMP '2024-02-02 00:00:00', 3")
    seen.sql("INSERT INTO seen (id) VALUES (4)")
    assert _rows(seen)[1:] == [
        (2, "2024-02-01", Decimal("0.7"), date(2024, 2, 1)),
        (3, "2024-02-02", Decimal("1.0"), date(2024, 2, 2)),
        (4, None, Decimal("1.3"), None),
    ]
    assert seen.sql("SHOW PARTITIONS seen") == [
        ("day=2024-01-02",), ("day=2024-02-01",), ("day=2024-02-02",),
        ("day=__HIVE_DEFAULT_PARTITION__",),
    ]  # fmt: skip


def test_a_given_value_must_be_that_of_the_expression(seen: Lab) -> None:
    given = "INSERT INTO seen VALUES (2, TIMESTAMP '2024-02-01 00:00:00', {}, {})"
    seen.sql(given.format("0.7", "DATE '2024-02-01'"))
    assert _condition(seen, given.format("0.8", "DEFAULT")) == (
        "CHECK_CONSTRAINT_VIOLATION",
        {
            "constraintName": "third GENERATED ALWAYS",
            "expression": "`third` <=> CAST((id / 3) AS DECIMAL(5,1))",
            "values": " - id : 2\n - third : 0.8",
        },
    )
    wrong = given.format("DEFAULT", "DATE '2024-02-02'")
    static = (
        "INSERT INTO seen PARTITION (day = '2024-02-02') (id, ts) "
        "VALUES (2, TIMESTAMP '2024-02-01 00:00:00')"
    )
    for text in (wrong, static, "UPDATE seen SET day = DATE '2024-05-05'"):
        condition, parameters = _condition(seen, text)
        assert (condition, parameters["constraintName"]) == (
            "CHECK_CONSTRAINT_VIOLATION",
            "day GENERATED ALWAYS",
        )
    seen.sql(static.replace("day = '2024-02-02'", "day = '2024-02-01'"))
    assert len(seen.rows("seen")) == 3


def test_changes_compute_the_values_again(seen: Lab) -> None:
    seen.sql("UPDATE seen SET ts = TIMESTAMP '2024-03-01 00:00:00'")
    assert _rows(seen) == [(1, "2024-03-01", Decimal("0.3"), date(2024, 3, 1))]
    seen.sql("UPDATE seen SET id = 6, third = 2.0")
    assert (
        _condition(seen, "UPDATE seen SET id = 3, third = 2.0")[0] == "CHECK_CONSTRAINT_VIOLATION"
    )
    # A CHECK is about the value that was computed.
    assert _condition(seen, "UPDATE seen SET id = 300")[1]["constraintName"] == "seen_chk_1"
    seen.sql(
        "MERGE INTO seen USING (SELECT 6 AS id, TIMESTAMP '2024-04-01 00:00:00' AS at UNION ALL "
        "SELECT 9, TIMESTAMP '2024-05-01 00:00:00') s ON seen.id = s.id "
        "WHEN MATCHED THEN UPDATE SET ts = s.at "
        "WHEN NOT MATCHED THEN INSERT (id, ts) VALUES (s.id, s.at)"
    )
    assert _rows(seen) == [
        (6, "2024-04-01", Decimal("2.0"), date(2024, 4, 1)),
        (9, "2024-05-01", Decimal("3.0"), date(2024, 5, 1)),
    ]


@pytest.mark.slow
def test_jobs_compute_values(seen: Lab) -> None:
    seen.sql(
        "INSERT INTO seen (id, ts) SELECT CAST(id % 200 AS INT), TIMESTAMP '2024-06-01 00:00:00' + "
        "make_dt_interval(CAST(id % 3 AS INT)) FROM range(3000)"
    )
    assert seen.sql(
        "SELECT day, count(*) FROM seen WHERE ts >= '2024-06-01' GROUP BY 1 ORDER BY 1"
    ) == [(date(2024, 6, 1), 1000), (date(2024, 6, 2), 1000), (date(2024, 6, 3), 1000)]
    wrong = "SELECT * FROM seen WHERE NOT third <=> CAST(id / 3 AS DECIMAL(5, 1))"
    assert seen.sql(wrong) == []


@pytest.mark.parametrize(
    ("column", "condition"),
    [
        ("g INT GENERATED ALWAYS AS (rand() * 5)", "INVALID_GENERATED_COLUMN"),
        ("g INT GENERATED ALWAYS AS ((SELECT 1))", "INVALID_GENERATED_COLUMN"),
        ("g INT GENERATED ALWAYS AS (5)", "INVALID_GENERATED_COLUMN"),
        ("g INT NOT NULL GENERATED ALWAYS AS (id)", "INVALID_GENERATED_COLUMN"),
        ("g VARCHAR(5) GENERATED ALWAYS AS (id)", "INVALID_GENERATED_COLUMN"),
        (
            "g INT GENERATED ALWAYS AS (h), h INT GENERATED ALWAYS AS (id)",
            "INVALID_GENERATED_COLUMN",
        ),
        ("g INT GENERATED ALWAYS AS (g + 1)", "INVALID_GENERATED_COLUMN"),
        ("g INT GENERATED ALWAYS AS (nothing)", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("g INT GENERATED ALWAYS AS (sum(id))", "INVALID_GENERATED_COLUMN"),
    ],
)
def test_refused_expressions(lab: Lab, column: str, condition: str) -> None:
    with pytest.raises(PySparkException) as caught:
        lab.sql(f"CREATE TABLE seen2 (id INT, {column}) USING acidsql")
    assert caught.value.getErrorClass() == condition
    assert not lab.spark.catalog.tableExists("seen2")


def test_what_else_is_refused(seen: Lab) -> None:
    for change in ("RENAME COLUMN ts TO at", "ALTER COLUMN id TYPE BIGINT"):
        assert _condition(seen, f"ALTER TABLE seen {change}")[0] == "COLUMN_USED_BY_CONSTRAINT"
    added = "ALTER TABLE seen ADD COLUMNS (g INT GENERATED ALWAYS AS (id))"
    assert _condition(seen, added)[0] == "UNSUPPORTED_FEATURE.ADD_COLUMN_GENERATED"
    properties = "SET TBLPROPERTIES ('acidsql.generated.id' = '1')"
    assert _condition(seen, f"ALTER TABLE seen {properties}")[0] == (
        "UNSUPPORTED_FEATURE.TABLE_PROPERTY"
    )
    with pytest.raises(AcidAnalysisError) as caught:
        connect(metastore=seen.session.settings.metastore, table="default.seen")
    assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.STREAMING_CHECK"


def test_generated_columns_are_shown_and_copied(seen: Lab) -> None:
    (row,) = seen.sql("SHOW CREATE TABLE seen")
    assert "`third` DECIMAL(5,1) GENERATED ALWAYS AS (id / 3),\n" in row[0]
    assert "PARTITIONED BY (`day` DATE GENERATED ALWAYS AS (CAST(ts AS DATE)))" in row[0]
    seen.sql(row[0].replace("`seen`", "`seen2`", 1).replace("/seen'", "/seen2'"))
    for make in ("", "CREATE TABLE seen2 LIKE seen", "CREATE TABLE seen2 CLONE seen"):
        if make:
            seen.sql("DROP TABLE seen2")
            seen.sql(make)
        seen.sql("INSERT INTO seen2 (id, ts) VALUES (3, TIMESTAMP '2024-01-02 00:00:00')")
        last = seen.sql("SELECT third, day FROM seen2 WHERE id = 3")
        assert last == [(Decimal("1.0"), date(2024, 1, 2))]
    described = seen.sql("DESCRIBE seen")
    start = described.index(("# Generated Columns", "", ""))
    assert described[start + 1 :] == [
        ("third", "decimal(5,1)", "id / 3"),
        ("day", "date", "CAST(ts AS DATE)"),
    ]
