"""Tests of aggregates of whole tables, which the statistics of files have."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def told(lab: Lab, query: str) -> bool:
    """Return whether statistics have the answer of a query."""
    return "statistics of the files" in lab.sql(f"EXPLAIN {query}")[0][0]


def test_least_and_greatest_values_and_counts(lab: Lab) -> None:
    t = lab.create(
        "b tinyint, s smallint, i int, l bigint, d date, m decimal(9,2), w decimal(30,4), n int, "
        "t string, st struct<a:int>"
    )
    lab.insert(
        t,
        """(-3Y, 7S, -5, 1, DATE'2024-02-03', -1.25, 5, NULL, 'x', NULL),
        (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""",
    )
    lab.insert(
        t, "(4Y, -8S, 6, -9, DATE'1999-12-31', 2.5, 12345678901234567890.125, NULL, 'y', NULL)"
    )
    columns = "b", "s", "i", "l", "d", "m", "w", "n"
    functions = ", ".join(f"min({c}), max({c}), count({c})" for c in columns)
    query = f"SELECT {functions}, count(*) FROM {t}"
    assert told(lab, query)
    assert lab.sql(query) == [
        (
            *(-3, 4, 2), *(-8, 7, 2), *(-5, 6, 2), *(-9, 1, 2),
            *(date(1999, 12, 31), date(2024, 2, 3), 2),
            *(Decimal("-1.25"), Decimal("2.50"), 2),
            *(Decimal("5.0000"), Decimal("12345678901234567890.1250"), 2),
            *(None, None, 0), 3,
        )
    ]  # fmt: skip
    assert lab.sql(f"SELECT max(i) + 1, min(l) * 2 FROM {t}") == [(7, -18)]
    assert lab.sql(f"SELECT 1 FROM {t} HAVING max(i) > 5") == [(1,)]


@pytest.mark.slow
def test_what_statistics_do_not_tell_is_computed_from_rows(lab: Lab) -> None:
    t = lab.create("i int, x double, t string, ts timestamp, st struct<a:int>", partitioned="p int")
    lab.insert(t, "(1, double('NaN'), 'b', TIMESTAMP'2024-01-01 00:00:00', struct(3), 1)")
    lab.insert(t, "(5, 2.5, 'a', NULL, NULL, 2)")
    for query, expected in {
        f"SELECT max(t), min(t) FROM {t}": ("b", "a"),
        f"SELECT max(st.a) FROM {t}": (3,),
        f"SELECT count(DISTINCT i) FROM {t}": (2,),
        f"SELECT sum(i), max(i) FROM {t}": (6, 5),
        f"SELECT max(i + 1) FROM {t}": (6,),
        f"SELECT max(i) FROM {t} WHERE i < 3": (1,),
        f"SELECT max(i) FROM {t} WHERE p = 1": (1,),
        f"SELECT max(row__id.writeid) FROM {t}": (2,),
    }.items():
        assert not told(lab, query), query
        assert lab.sql(query) == [expected], query
    assert sorted(lab.sql(f"SELECT p, max(i) FROM {t} GROUP BY p")) == [(1, 1), (2, 5)]
    query = f"SELECT max(p), min(i) FROM {t}"
    assert told(lab, query)
    assert lab.sql(query) == [(2, 1)]


def test_deletes_are_not_in_statistics(lab: Lab) -> None:
    t = lab.create("i int", values="(1), (2), (3)")
    query = f"SELECT min(i), max(i), count(i) FROM {t}"
    assert told(lab, query)
    lab.sql(f"DELETE FROM {t} WHERE i = 3")
    assert not told(lab, query)
    assert lab.sql(query) == [(1, 2, 2)]
    lab.compact(t, "major")
    assert told(lab, query)
    assert lab.sql(query) == [(1, 2, 2)]
    lab.sql(f"DELETE FROM {t}")
    lab.compact(t, "major")
    assert lab.sql(query) == [(None, None, 0)]


def test_columns_that_changed(lab: Lab) -> None:
    t = lab.create("a int, b int", values="(1, 2), (3, 4)")
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT")
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (c int)")
    lab.insert(t, "(5000000000, NULL, 7)")
    assert lab.sql(
        f"SELECT min(a), max(a), count(a), max(b), count(b), max(c), count(c) FROM {t}"
    ) == [(1, 5000000000, 3, 4, 2, 7, 1)]


def test_originals_and_empty_tables(lab: Lab, tmp_path: Path) -> None:
    t = lab.create("id bigint")
    query = f"SELECT min(id), max(id), count(id), count(*) FROM {t}"
    assert lab.sql(query) == [(None, None, 0, 0)]
    lab.spark.range(5, 9).coalesce(1).write.orc(str(tmp_path / "plain"))
    (file,) = (tmp_path / "plain").glob("*.orc")
    file.rename(tmp_path / "plain" / "000000_0")
    lab.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/plain/000000_0' INTO TABLE {t}")
    assert told(lab, query)
    assert lab.sql(query) == [(5, 8, 4, 4)]


def test_days_of_the_old_calendar_are_read(lab: Lab) -> None:
    t = lab.create("d date", values="(DATE'1500-02-28'), (DATE'2024-01-01')")
    assert lab.sql(f"SELECT min(d), max(d), count(d) FROM {t}") == [
        (date(1500, 2, 28), date(2024, 1, 1), 2)
    ]


def test_parts_of_a_file_count_once(lab: Lab) -> None:
    t = lab.create("id bigint", properties={"orc.stripe.size": "65536"})
    lab.sql(f"INSERT INTO {t} SELECT hash(id) FROM range(0, 60000, 1, 1)")
    expected = lab.sql(
        "SELECT min(h), max(h), count(h) FROM (SELECT hash(id) AS h FROM range(60000))"
    )
    with lab.settings(spark__sql__files__maxPartitionBytes="20000"):
        assert lab.sql(f"SELECT min(id), max(id), count(id) FROM {t}") == expected
