"""Fingerprints differ whenever the rows do."""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pytest

from tpcds_bench.data import Column
from tpcds_bench.fingerprint import (
    ROW,
    Fingerprint,
    differences,
    duckdb_hash,
    fingerprint,
    fingerprint_sql,
)

COLUMNS = (
    Column(name="k", type="BIGINT"),
    Column(name="price", type="DECIMAL(7,2)"),
    Column(name="name", type="VARCHAR"),
    Column(name="day", type="DATE"),
)
ROWS = "(1, 1.50, 'a', DATE '2000-01-01'), (2, -0.05, NULL, NULL), (3, NULL, '', DATE '1900-01-02')"


def fingerprint_of(rows: str) -> Fingerprint:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (k BIGINT, price DECIMAL(7,2), name VARCHAR, day DATE)")
        connection.execute(f"INSERT INTO t VALUES {rows}")
        row = connection.execute(fingerprint_sql("t", COLUMNS, duckdb_hash)).fetchone()
        assert row is not None
        return fingerprint(COLUMNS, row)


def changed(rows: str) -> set[tuple[str, str]]:
    """Return the measures that differ from those of ``ROWS``."""
    found = differences(fingerprint_of(ROWS), fingerprint_of(rows))
    return {(difference.column, difference.measure) for difference in found}


def test_values() -> None:
    found = fingerprint_of(ROWS)
    assert found[ROW, "count"] == 3
    assert found["k", "sum"] == 6
    assert found["price", "sum"] == Decimal("1.45")
    assert found["price", "count"] == 2
    # The first 60 bits of the MD5 of "a" and of the empty text.
    a, empty = 0x0CC175B9C0F1B6A, 0xD41D8CD98F00B20
    assert found["name", "hash"] == a + empty


def test_row_order_does_not_matter() -> None:
    first, second, third = ROWS.split(", (")
    assert changed(f"({third}, ({second}, {first}") == set()


def test_values_that_changed_rows_are_seen() -> None:
    swapped = ROWS.replace("1, 1.50", "x").replace("2, -0.05", "1, -0.05").replace("x", "2, 1.50")
    assert changed(swapped) == {(ROW, "hash")}


def test_null_is_not_the_empty_text() -> None:
    assert changed(ROWS.replace("''", "NULL")) == {
        (ROW, "hash"),
        ("name", "count"),
        ("name", "hash"),
    }


def test_a_changed_number_and_date_are_named() -> None:
    assert changed(ROWS.replace("1.50", "1.51")) == {(ROW, "hash"), ("price", "sum")}
    assert changed(ROWS.replace("1900", "1901")) == {(ROW, "hash"), ("day", "hash")}


def test_a_lost_row_is_seen_in_the_count() -> None:
    assert (ROW, "count") in changed(ROWS.rsplit(", (", 1)[0])


def test_a_type_without_a_common_text_is_refused() -> None:
    with pytest.raises(ValueError, match="column 'x' has type DOUBLE"):
        fingerprint_sql("t", [Column(name="x", type="DOUBLE")], duckdb_hash)
