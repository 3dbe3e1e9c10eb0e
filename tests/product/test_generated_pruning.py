"""Conditions on a column choose partitions that are generated from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.product.conftest import Lab
from tests.product.listing import note_listings

pytestmark = pytest.mark.spark

_DAYS = ("2023-12-31", "2024-01-01", "2024-01-02", "2024-02-01")
_NULL = "__HIVE_DEFAULT_PARTITION__"


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[str]:
    """Create a table with a generated partition of each day and month, and of the first letter of
    a name.
    """
    lab = Lab(spark)
    lab.sql(
        "CREATE TABLE visits (at TIMESTAMP, name STRING, n INT) USING acidsql PARTITIONED BY ("
        "day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), "
        "month INT GENERATED ALWAYS AS (month(at)), "
        "letter STRING GENERATED ALWAYS AS (substring(name, 1, 1)))"
    )
    rows = [
        f"(TIMESTAMP '{day} 12:00:00', '{name}', 1)" for day in _DAYS for name in ("Ann", "Bob")
    ]
    lab.sql(f"INSERT INTO visits (at, name, n) VALUES {', '.join([*rows, '(NULL, NULL, 2)'])}")
    yield "visits"
    lab.sql("DROP TABLE visits")


def _partitions(days: tuple[str, ...], letters: str = "AB") -> set[str]:
    return {
        f"day={day}/month={int(day[5:7])}/letter={letter}" for day in days for letter in letters
    }


_NOBODY = {f"day={_NULL}/month={_NULL}/letter={_NULL}"}


@pytest.mark.parametrize(
    ("condition", "partitions", "count"),
    [
        ("at = TIMESTAMP '2024-01-01 12:00:00'", _partitions(_DAYS[1:2]), 2),
        ("at > TIMESTAMP '2024-01-01 13:00:00'", _partitions(_DAYS[1:]), 4),
        ("at >= TIMESTAMP '2024-01-02 00:00:00'", _partitions(_DAYS[2:]), 4),
        ("TIMESTAMP '2024-01-01 00:00:00' > at", _partitions(_DAYS[:2]), 2),
        ("at IN (TIMESTAMP '2024-02-01 12:00:00', TIMESTAMP '2023-12-31 12:00:00')",
         _partitions((_DAYS[0], _DAYS[3])), 4),
        ("at BETWEEN '2024-01-01' AND '2024-01-02 23:00:00'", _partitions(_DAYS[1:3]), 4),
        ("at >= '2024-01-02' AND name = 'Bob'", _partitions(_DAYS[2:], "B"), 2),
        ("name < 'B'", _partitions(_DAYS), 4),
        ("name < 'A'", _partitions(_DAYS, "A"), 0),
        ("at > '2024-01-01' AND day < DATE '2024-01-02'", _partitions(_DAYS[1:2]), 2),
        ("n = 1", _partitions(_DAYS), 8),
    ],
)  # fmt: skip
def test_partitions_that_are_read(
    lab: Lab,
    table: str,
    condition: str,
    partitions: set[str],
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = set()

    def note(path: str) -> None:
        if "delta" not in path and "/day=" in path:
            found.add(f"day={path.rpartition('/day=')[2]}")

    note_listings(monkeypatch, note)
    assert lab.sql(f"SELECT count(n) FROM {table} WHERE {condition}") == [(count,)]
    assert {p for p in found if "letter=" in p} - _NOBODY == partitions
    # What Spark reads of the same table without conditions on partitions.
    plain = f"SELECT count_if({condition}) FROM {table}"
    assert lab.sql(plain) == [(count,)]


def test_changes_find_their_rows(lab: Lab, table: str) -> None:
    assert lab.sql(f"UPDATE {table} SET n = 3 WHERE at < '2024-01-01'") == [(2, 2)]
    assert lab.sql(f"SELECT count(*) FROM {table} WHERE n = 3 AND month = 12") == [(2,)]
    assert lab.sql(f"UPDATE {table} SET n = 1 WHERE at < '2024-01-01'") == [(2, 2)]
