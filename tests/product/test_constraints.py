"""CHECK constraints are enforced by every writer; keys are kept and shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

import acidsql
from acidsql.errors import AcidAnalysisError
from acidsql.streaming import connect

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

_CREATE = (
    "CREATE TABLE toys (id INT CHECK (id > 0), price INT, day STRING, "
    "CONSTRAINT cheap CHECK (price < 100 OR day = 'sale'), PRIMARY KEY (id)) "
    "USING acidsql PARTITIONED BY (day)"
)
_CHEAP = "price < 100 OR day = 'sale'"


@pytest.fixture
def toys(lab: Lab) -> Iterator[Lab]:
    """Create the table ``toys`` with three rows, one without an id."""
    lab.sql(_CREATE)
    lab.sql("INSERT INTO toys VALUES (1, 5, 'a'), (2, 500, 'sale'), (NULL, NULL, 'b')")
    yield lab
    for name in ("toys", "toys2"):
        lab.sql(f"DROP TABLE IF EXISTS {name}")


def _violation(lab: Lab, text: str) -> dict[str, str]:
    """Return the parameters of the violation that a statement raises, and changes nothing."""
    before = lab.state("toys")
    with pytest.raises(PySparkException) as caught:
        lab.sql(text)
    assert _condition(caught.value) == "CHECK_CONSTRAINT_VIOLATION"
    assert lab.state("toys") == before
    return dict(caught.value.getMessageParameters())


def _condition(error: PySparkException) -> str:
    return str(error.getErrorClass())


def _cheap(values: str) -> dict[str, str]:
    return {"constraintName": "cheap", "expression": _CHEAP, "values": values}


def test_statements_that_violate_a_check(toys: Lab) -> None:
    assert _violation(toys, "INSERT INTO toys VALUES (5, 1, 'a'), (0, 1, 'a')") == {
        "constraintName": "toys_chk_1",
        "expression": "id > 0",
        "values": " - id : 0",
    }
    cheap = _cheap(" - price : 700\n - day : a")
    assert _violation(toys, "INSERT OVERWRITE toys VALUES (5, 700, 'a')") == cheap
    assert _violation(toys, "UPDATE toys SET price = 700 WHERE id = 1") == cheap
    # The change of a partition moves the row.
    moved = _cheap(" - price : 500\n - day : c")
    assert _violation(toys, "UPDATE toys SET day = 'c' WHERE id = 2") == moved
    merged = (
        "MERGE INTO toys USING (SELECT {} AS id) s ON toys.id = s.id "
        "WHEN MATCHED THEN UPDATE SET price = 700 "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.id, 800, 'd')"
    )
    assert _violation(toys, merged.format(1)) == cheap
    assert _violation(toys, merged.format(7)) == _cheap(" - price : 800\n - day : d")


def test_statements_that_meet_the_checks(toys: Lab) -> None:
    toys.sql("INSERT INTO toys PARTITION (day = 'sale') VALUES (3, 900)")
    toys.sql("UPDATE toys SET price = NULL WHERE id = 1")
    toys.sql("UPDATE toys SET price = 300, day = 'sale' WHERE id = 1")
    # The values of one clause are no rows of another one.
    toys.sql(
        "MERGE INTO toys USING (SELECT 2 AS id UNION ALL SELECT 8) s ON toys.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, 9, 'd')"
    )
    assert toys.rows("toys") == [
        (1, 300, "sale"), (3, 900, "sale"), (8, 9, "d"), (None, None, "b"),
    ]  # fmt: skip


@pytest.mark.slow
def test_jobs_that_violate_a_check(toys: Lab) -> None:
    many = "SELECT CAST(id AS INT) + 1, CAST(id AS INT) FROM range(3000)"
    first = _violation(toys, f"INSERT INTO toys PARTITION (day = 'x') {many}")
    assert first["constraintName"] == "cheap"
    values = dict(line.strip(" -").split(" : ") for line in first["values"].split("\n"))
    assert int(values["price"]) >= 100
    assert values["day"] == "x"
    toys.sql(f"INSERT INTO toys PARTITION (day = 'sale') {many}")
    assert _violation(toys, "UPDATE toys SET id = id - 2000 WHERE day = 'sale'")["values"] != ""
    frame = toys.spark.sql("SELECT -1 AS id, 1 AS price, 'a' AS day")
    with pytest.raises(PySparkException) as caught:
        acidsql.AcidTable.forName(toys.spark, "toys").append(frame)
    assert _condition(caught.value) == "CHECK_CONSTRAINT_VIOLATION"


def test_a_multi_insert_checks_each_branch(toys: Lab) -> None:
    text = (
        "FROM (SELECT 900 AS n) s INSERT INTO toys SELECT 9, n, 'sale' "
        "INSERT INTO toys SELECT 9, n, 'a'"
    )
    assert _violation(toys, text) == _cheap(" - price : 900\n - day : a")


def test_restore_checks_rows_too(toys: Lab) -> None:
    toys.sql("DELETE FROM toys WHERE id = 1")
    toys.sql("ALTER TABLE toys ADD CONSTRAINT not_one CHECK (id > 1)")
    assert _violation(toys, "RESTORE TABLE toys TO VERSION AS OF 1")["constraintName"] == "not_one"


def test_an_insert_only_table_has_checks(lab: Lab) -> None:
    lab.sql(
        "CREATE TABLE toys (id INT CHECK (id > 0)) STORED AS PARQUET TBLPROPERTIES "
        "('transactional'='true', 'transactional_properties'='insert_only')"
    )
    with pytest.raises(PySparkException) as caught:
        lab.sql("INSERT INTO toys VALUES (1), (-1)")
    assert dict(caught.value.getMessageParameters())["values"] == " - id : -1"
    lab.sql("INSERT INTO toys VALUES (1), (NULL)")
    assert lab.rows("toys") == [(1,), (None,)]
    lab.sql("DROP TABLE toys")


def test_add_and_drop_constraint(toys: Lab) -> None:
    _refused(toys, "ALTER TABLE toys ADD CONSTRAINT big CHECK (id > 1)", {
        "NEW_CHECK_CONSTRAINT_VIOLATION": {
            "expression": "id > 1", "tableName": "`default`.`toys`",
        },
    })  # fmt: skip
    toys.sql("ALTER TABLE toys ADD CONSTRAINT small CHECK (id < 10) ENABLE NOVALIDATE")
    assert _violation(toys, "INSERT INTO toys VALUES (10, 1, 'a')")["constraintName"] == "small"
    toys.sql("ALTER TABLE toys DROP CONSTRAINT SMALL")
    toys.sql("INSERT INTO toys VALUES (10, 1, 'a')")
    toys.sql("ALTER TABLE toys ADD CONSTRAINT small CHECK (id < 10) DISABLE NOVALIDATE")
    toys.sql("INSERT INTO toys VALUES (11, 1, 'a')")
    toys.sql("ALTER TABLE toys DROP CONSTRAINT IF EXISTS nothing")
    history = toys.frame("DESCRIBE HISTORY toys").select("operation").collect()
    operations = [row[0] for row in history if "CONSTRAINT" in row[0]]
    assert sorted(operations) == [*["ADD CONSTRAINT"] * 3, "DROP CONSTRAINT"]  # one failed


def _refused(lab: Lab, text: str, expected: dict[str, dict[str, str] | None]) -> None:
    """Check that a statement is refused with one of some conditions and its parameters."""
    before = lab.state("toys")
    with pytest.raises(PySparkException) as caught:
        lab.sql(text)
    condition = _condition(caught.value)
    assert condition in expected, text
    parameters = expected[str(condition)]
    assert parameters in (None, caught.value.getMessageParameters())
    assert lab.state("toys") == before


@pytest.mark.parametrize(
    ("constraint", "condition"),
    [
        ("CONSTRAINT cheap CHECK (id > 0)", "CONSTRAINT_ALREADY_EXISTS"),
        ("PRIMARY KEY (price)", "MULTIPLE_PRIMARY_KEYS"),
        ("UNIQUE (id) ENABLE", "UNSUPPORTED_CONSTRAINT_CHARACTERISTIC"),
        ("UNIQUE (id) VALIDATE", "UNSUPPORTED_CONSTRAINT_CHARACTERISTIC"),
        ("UNIQUE (nothing)", "COLUMN_NOT_FOUND"),
        ("UNIQUE (id, ID)", "COLUMN_ALREADY_EXISTS"),
        ("FOREIGN KEY (id) REFERENCES p (x, y)", "FOREIGN_KEY_COLUMNS"),
        ("CHECK (rand() < 2)", "NON_DETERMINISTIC_CHECK_CONSTRAINT"),
        ("CHECK (id IN (SELECT 1))", "INVALID_CHECK_CONSTRAINT"),
        ("CHECK (id + 1)", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
        ("CHECK (count(id) > 0)", "INVALID_WHERE_CONDITION"),
        ("CHECK (nothing > 0)", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("CHECK (id >)", "PARSE_SYNTAX_ERROR"),
        ("CONSTRAINT c", "PARSE_SYNTAX_ERROR"),
        ("CHECK (id > 0) DEFERRABLE", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_refused_constraints(toys: Lab, constraint: str, condition: str) -> None:
    _refused(toys, f"ALTER TABLE toys ADD {constraint}", {condition: None})


def test_drop_of_a_constraint_that_is_not_there(toys: Lab) -> None:
    _refused(toys, "ALTER TABLE toys DROP CONSTRAINT nothing", {
        "CONSTRAINT_DOES_NOT_EXIST": {
            "constraintName": "nothing", "tableName": "`default`.`toys`",
        },
    })  # fmt: skip


def test_columns_that_constraints_need(toys: Lab) -> None:
    for change in ("RENAME COLUMN price TO cost", "CHANGE COLUMN id number INT"):
        _refused(toys, f"ALTER TABLE toys {change}", {"COLUMN_USED_BY_CONSTRAINT": None})
    toys.sql("ALTER TABLE toys CHANGE COLUMN price price BIGINT")
    toys.sql("ALTER TABLE toys DROP CONSTRAINT toys_chk_1")
    toys.sql("ALTER TABLE toys RENAME COLUMN id TO number")
    assert _constraints(toys, "toys") == [
        ("cheap", f"CHECK ({_CHEAP})"),
        ("toys_pk", "PRIMARY KEY (`number`) DISABLE NOVALIDATE"),
    ]
    assert _violation(toys, "UPDATE toys SET price = 101 WHERE number = 1")["values"] == (
        " - price : 101\n - day : a"
    )


def _constraints(lab: Lab, table: str) -> list[tuple[Any, ...]]:
    rows = [tuple(row) for row in lab.sql(f"DESCRIBE EXTENDED {table}")]
    headings = [name for name, _, _ in rows]
    if "# Constraints" not in headings:
        return []
    return [row[:2] for row in rows[headings.index("# Constraints") + 1 :]]


def test_constraints_are_shown_and_made_again(toys: Lab) -> None:
    toys.sql("ALTER TABLE toys ADD FOREIGN KEY (id) REFERENCES Other (X) RELY")
    expected = [
        ("toys_chk_1", "CHECK (id > 0)"),
        ("cheap", f"CHECK ({_CHEAP})"),
        ("toys_pk", "PRIMARY KEY (`id`) DISABLE NOVALIDATE"),
        (
            "toys_fk_1",
            "FOREIGN KEY (`id`) REFERENCES `default`.`other` (`X`) DISABLE NOVALIDATE RELY",
        ),
    ]
    assert _constraints(toys, "toys") == expected
    (row,) = toys.sql("SHOW CREATE TABLE toys")
    text = row[0]
    assert "  CONSTRAINT `cheap` CHECK (price < 100 OR day = 'sale'),\n" in text
    again = text.replace("`toys`", "`toys2`", 1).replace("/toys'", "/toys2'")
    toys.sql(again)
    assert _constraints(toys, "toys2") == expected


def test_copies_of_a_table(toys: Lab) -> None:
    toys.sql("CREATE TABLE toys2 LIKE toys")
    assert _constraints(toys, "toys2") == []
    toys.sql("DROP TABLE toys2")
    toys.sql("CREATE TABLE toys2 CLONE toys")
    copied = [text for _, text in _constraints(toys, "toys2")]
    assert copied == [text for _, text in _constraints(toys, "toys")]


def test_streams_without_spark_are_refused(toys: Lab) -> None:
    metastore = toys.session.settings.metastore
    with pytest.raises(AcidAnalysisError) as caught:
        connect(metastore=metastore, table="default.toys")
    assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.STREAMING_CHECK"


@pytest.mark.slow
def test_structured_streaming_is_checked(toys: Lab, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.json").write_text('{"id": -4, "price": 1, "day": "a"}\n')
    stream = toys.spark.readStream.schema("id INT, price INT, day STRING").json(
        str(tmp_path / "in")
    )
    query = acidsql.write_stream(stream, "toys", checkpoint=str(tmp_path / "checkpoint")).start()
    with pytest.raises(Exception, match="CHECK_CONSTRAINT_VIOLATION"):
        query.processAllAvailable()
    query.stop()
    assert len(toys.rows("toys")) == 3


def test_a_condition_that_spark_cannot_resolve_stops_writers(toys: Lab) -> None:
    metastore = toys.session.metastore
    table = metastore.table("default", "toys")
    first, *others = table.constraints
    broken = replace(first, expression="hive_only(id)")
    metastore.alter_table(replace(table, constraints=(broken, *others)))
    with pytest.raises(AnalysisException, match="hive_only"):
        toys.sql("INSERT INTO toys VALUES (1, 1, 'a')")
    toys.sql("DELETE FROM toys WHERE id = 1")
    toys.sql("ALTER TABLE toys DROP CONSTRAINT toys_chk_1")
    toys.sql("INSERT INTO toys VALUES (1, 1, 'a')")
