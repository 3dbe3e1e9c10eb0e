"""Refused statements: their conditions, and the check that nothing is left behind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import AcidSqlError

if TYPE_CHECKING:
    from tests.product.conftest import Lab, State

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
# The tables of all statements here: without partitions, with them, Spark's own, a view.
_SETUP = (
    "CREATE TABLE bad (id int NOT NULL, v string, n decimal(5,2), b tinyint) STORED AS ORC "
    "TBLPROPERTIES ('transactional'='true')",
    "INSERT INTO bad VALUES (1, 'a', 1.5, 1), (2, 'b', 2.5, 2)",
    "CREATE TABLE bad_parts (v int) PARTITIONED BY (p int, q string) STORED AS ORC "
    "TBLPROPERTIES ('transactional'='true')",
    "INSERT INTO bad_parts VALUES (1, 1, 'a'), (2, 2, 'b')",
    f"CREATE TABLE bad_tagged (id int) {ACID}",
    "ALTER TABLE bad_tagged CREATE TAG first",
    "CREATE TABLE bad_buckets (id int, a array<int>) CLUSTERED BY (id) INTO 2 BUCKETS "
    "STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "CREATE TABLE bad_only (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true', "
    "'transactional_properties'='insert_only')",
    "CREATE TABLE bad_checked (id int CHECK (id > 0)) STORED AS ORC TBLPROPERTIES "
    "('transactional'='true', 'transactional_properties'='insert_only')",
    "CREATE TABLE bad_plain (id int) USING parquet",
    "CREATE VIEW bad_view AS SELECT * FROM bad",
    "CREATE TEMPORARY TABLE bad_temporary (id int)",
    "CREATE TEMPORARY VIEW bad_source AS SELECT * FROM VALUES (1, 'x'), (9, 'y') AS s(id, v)",
)
_TEARDOWN = (
    "DROP VIEW bad_source",
    "DROP TABLE bad_temporary",
    "DROP VIEW bad_view",
    "DROP TABLE bad_plain",
    "DROP TABLE bad_buckets",
    "DROP TABLE bad_only",
    "DROP TABLE bad_checked",
    "DROP TABLE bad_tagged",
    "DROP TABLE bad_parts",
    "DROP TABLE bad",
)


@contextmanager
def bad_tables(spark: SparkSession) -> Iterator[None]:
    """Create the tables that the statements name; drop them after the block."""
    for text in _SETUP:
        acidsql.sql(spark, text)
    yield
    for text in _TEARDOWN:
        acidsql.sql(spark, text)


def everything(lab: Lab) -> tuple[State, State, list[Any], list[Any]]:
    """Return everything that a refused statement must not change."""
    return (
        lab.state("bad"),
        lab.state("bad_parts"),
        lab.sql("SELECT * FROM bad_plain"),
        lab.sql("SHOW TABLES"),
    )


@contextmanager
def unchanged(lab: Lab) -> Iterator[None]:
    """Check that nothing changes in the block, and that nothing is left open."""
    before = everything(lab)
    yield
    after = everything(lab)
    assert after == before
    assert after[0].open_writers == after[0].locks == 0


def refusal(lab: Lab, text: str) -> str | None:
    """Return the condition with which a statement is refused, or None if it is not."""
    try:
        lab.sql(text)
    except PySparkException as err:
        return explained(text, err, old=lab.spark.version < "4.1")
    return None


def explained(text: str, error: PySparkException, *, old: bool = False) -> str | None:
    """Return the condition of an error; check that it has a sentence, and a next step if it is
    ours.
    """
    condition: str | None = error.getErrorClass()
    if old and (condition or "_LEGACY").startswith(("_LEGACY", "WRITE_JOB_FAILED")):
        return "no condition"  # Spark 3.5 and 4.0 have none for some errors
    assert "__acidsql" not in str(error), f"{text}: {error}"
    explanation = str(error).partition("] ")[2]
    assert len(explanation) > 20, f"{text}: {error}"
    if isinstance(error, AcidSqlError):
        assert re.search(r"[:;] \w", explanation), f"{text}: {error} names no next step"
    return condition


def refused(lab: Lab, cases: Mapping[str, str]) -> None:
    """Check that each statement is refused with its condition, and that nothing changes."""
    with unchanged(lab):
        found = {text: refusal(lab, text) for text in cases}
        wrong = {t: (c, cases[t]) for t, c in found.items() if c not in (cases[t], "no condition")}
        assert not wrong, wrong
