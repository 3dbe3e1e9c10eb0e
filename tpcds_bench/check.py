"""Check of ACID tables against DuckDB: load both from the same files, and compare them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tpcds_bench import product
from tpcds_bench.fingerprint import (
    ROW,
    Difference,
    differences,
    duckdb_hash,
    fingerprint,
    fingerprint_sql,
    spark_hash,
)
from tpcds_bench.tables import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Column

AFFECTED = "(affected rows)"
"""Used in place of a column name if a statement's count differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Table that differs from DuckDB's.

    Args:
        table: table name.
        difference: the difference.
    """

    table: str
    difference: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Result of comparing one table.

    Args:
        table: table name.
        rows: rows of the ACID table.
        mismatches: differences from DuckDB's table; empty if there are none.
    """

    table: str
    rows: int
    mismatches: tuple[Mismatch, ...]


def load(spark: SparkSession, table: str, columns: Sequence[Column], *, source: str) -> int | None:
    """Load an ACID table from a source view, and return the number of affected rows."""
    return product.execute(
        spark, f"INSERT INTO {table} SELECT {names(columns)} FROM source_{source}"
    )


def compare_table(
    spark: SparkSession, duck: Any, table: str, columns: Sequence[Column]
) -> Comparison:
    """Compare an ACID table of the current database with DuckDB's table of the same name."""
    expected_row = duck.execute(fingerprint_sql(table, columns, duckdb_hash)).fetchone()
    actual_row = product.query(spark, fingerprint_sql(table, columns, spark_hash)).collect()[0]
    expected, actual = fingerprint(columns, expected_row), fingerprint(columns, actual_row)
    return Comparison(
        table=table,
        rows=int(actual[ROW, "count"] or 0),
        mismatches=tuple(
            Mismatch(table=table, difference=difference)
            for difference in differences(expected, actual)
        ),
    )


def affected_mismatch(table: str, expected: int, actual: int | None) -> tuple[Mismatch, ...]:
    """Return a mismatch if a statement's number of affected rows differs from DuckDB's."""
    if expected == actual:
        return ()
    difference = Difference(
        column=AFFECTED,
        measure="count",
        expected=Decimal(expected),
        actual=None if actual is None else Decimal(actual),
    )
    return (Mismatch(table=table, difference=difference),)
