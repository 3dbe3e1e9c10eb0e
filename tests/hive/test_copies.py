"""Deleted rows, CLONE, EXPORT and IMPORT, compared with a real Hive."""

from __future__ import annotations

from pathlib import Path

import pytest

import acidsql
from tests.hive.agreement import MODES
from tests.hive.conftest import Ours
from tests.hive.hive import Hive

pytestmark = [pytest.mark.hive, pytest.mark.spark]

_PROPERTIES = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
_COLUMNS = "id INT, v VARCHAR(5), c CHAR(3), d DECIMAL(9,2), ts TIMESTAMP"
_VALUES = "'a', 'b', 1.5, TIMESTAMP '2024-03-31 02:30:00'"


def _shown_by_hive(hive: Hive, table: str) -> list[tuple[str, ...]]:
    """Return what Hive shows of each row, and whether it was deleted; all ways of reading agree."""
    answers = []
    for mode in MODES:
        for setting in mode:
            hive.run(setting)
        found = hive.run(
            "SELECT ROW__IS__DELETED, ROW__ID.writeId, ROW__ID.bucketId, ROW__ID.rowId, id, v "
            f"FROM {table}('acid.fetch.deleted.rows'='true')"
        )
        answers.append(sorted(tuple(str(value).lower() for value in row) for row in found))
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


def _shown_here(ours: Ours, table: str) -> list[tuple[str, ...]]:
    frame = acidsql.table(ours.spark, table, deleted_rows=True)
    id_fields = [f"row__id.{field}" for field in ("writeid", "bucketid", "rowid")]
    found = frame.select("row__is__deleted", *id_fields, "id", "v").collect()
    return sorted(tuple(str(value).lower() for value in row) for row in found)


@pytest.mark.parametrize("partitioned", ["", "PARTITIONED BY (p INT)"])
def test_deleted_rows_are_those_of_hive(ours: Ours, hive: Hive, t: str, partitioned: str) -> None:
    p = ", 7" if partitioned else ""
    hive.run(f"CREATE TABLE {t} (id INT, v STRING) {partitioned} {_PROPERTIES}")
    hive.run(f"INSERT INTO {t} VALUES (1, 'a'{p}), (2, 'b'{p}), (3, 'c'{p}), (4, 'd'{p})")
    ours.sql(f"INSERT INTO {t} VALUES (5, 'e'{p}), (6, 'f'{p})")
    hive.run(f"DELETE FROM {t} WHERE id = 1")
    ours.sql(f"UPDATE {t} SET v = 'B' WHERE id IN (2, 5)")
    ours.sql(f"DELETE FROM {t} WHERE id = 6")
    shown = _shown_here(ours, t)
    assert [row[0] for row in shown].count("true") == 4
    assert _shown_by_hive(hive, t) == shown
    hive.compact(t, "minor", "p = 7" if partitioned else "")
    acidsql.release(ours.spark)
    assert _shown_here(ours, t) == shown
    assert _shown_by_hive(hive, t) == shown


def test_hive_goes_on_with_a_clone(ours: Ours, hive: Hive, t: str) -> None:
    hive.run(f"CREATE TABLE {t} ({_COLUMNS}) PARTITIONED BY (p INT) {_PROPERTIES}")
    hive.run(f"INSERT INTO {t} VALUES (1, {_VALUES}, 1), (2, {_VALUES}, 1), (3, {_VALUES}, 2)")
    hive.run(f"UPDATE {t} SET v = 'x' WHERE id = 3")
    hive.run(f"DELETE FROM {t} WHERE id = 2")
    before = ours.identified(t)
    ours.sql(f"CREATE TABLE {t}_c CLONE {t}")
    assert ours.identified(f"{t}_c") == before
    hive.run(f"UPDATE {t}_c SET v = 'y' WHERE id = 1")
    hive.run(f"INSERT INTO {t}_c VALUES (9, {_VALUES}, 9)")
    ours.sql(f"DELETE FROM {t}_c WHERE id = 3")
    found = ours.rows(f"{t}_c")
    assert [(row[0], row[1]) for row in found] == [("1", "y"), ("9", "a")]
    hive.compact(f"{t}_c", "major", "p = 1")
    acidsql.release(ours.spark)
    assert ours.rows(f"{t}_c") == found
    assert ours.identified(t) == before


@pytest.mark.parametrize("partitioned", [False, True])
def test_archives_are_read_both_ways(
    ours: Ours, hive: Hive, t: str, tmp_path: Path, partitioned: bool
) -> None:
    clause, p, q = (
        ("PARTITIONED BY (p STRING)", ", 'x/y'", ", 'z'") if partitioned else ("", "", "")
    )
    hive.run(f"CREATE TABLE {t} ({_COLUMNS}) {clause} {_PROPERTIES}")
    hive.run(f"INSERT INTO {t} VALUES (1, {_VALUES}{p}), (2, {_VALUES}{q}), (3, {_VALUES}{q})")
    hive.run(f"DELETE FROM {t} WHERE id = 3")
    rows = ours.rows(t)
    ours.sql(f"EXPORT TABLE {t} TO '{tmp_path}/ours'")
    # EXPORT looks at the events of the metastore.
    hive.run("SET metastore.metastore.event.db.notification.api.auth=false")
    hive.run(f"EXPORT TABLE {t} TO '{tmp_path}/theirs'")
    hive.run(f"IMPORT TABLE {t}_in_hive FROM '{tmp_path}/ours'")
    assert ours.rows(f"{t}_in_hive") == rows
    ours.sql(f"IMPORT TABLE {t}_here FROM '{tmp_path}/theirs'")
    assert ours.rows(f"{t}_here") == rows
    for table in (f"{t}_in_hive", f"{t}_here"):
        hive.run(f"UPDATE {table} SET v = 'h' WHERE id = 1")
        ours.sql(f"UPDATE {table} SET v = 'o' WHERE id = 2")
        assert [row[:2] for row in ours.rows(table)] == [("1", "h"), ("2", "o")]
    # Into tables that are there and have no rows.
    hive.run(f"CREATE TABLE {t}_there ({_COLUMNS}) {clause} {_PROPERTIES}")
    ours.sql(f"IMPORT TABLE {t}_there FROM '{tmp_path}/theirs'")
    assert ours.rows(f"{t}_there") == rows
    if partitioned:
        ours.sql(f"ALTER TABLE {t}_there DROP PARTITION (p = 'x/y')")
        hive.run(f"IMPORT TABLE {t}_there PARTITION (p = 'x/y') FROM '{tmp_path}/ours'")
        assert ours.rows(f"{t}_there") == rows


@pytest.mark.parametrize("partitioned", [False, True])
def test_archives_of_bucketed_tables_are_read_both_ways(
    ours: Ours, hive: Hive, t: str, tmp_path: Path, partitioned: bool
) -> None:
    """Each row is in the file of its bucket, by which both sides find it."""
    clause = "PARTITIONED BY (p STRING) " if partitioned else ""
    clause += "CLUSTERED BY (v, id) INTO 3 BUCKETS"
    hive.run(f"CREATE TABLE {t} ({_COLUMNS}) {clause} {_PROPERTIES}")
    values = ", ".join(
        f"({i}, {_VALUES}" + (f", 'x/{i % 2}')" if partitioned else ")") for i in range(12)
    )
    hive.run(f"INSERT INTO {t} VALUES {values}")
    hive.run(f"DELETE FROM {t} WHERE id = 3")
    rows = ours.rows(t)
    assert ours.sql(f"EXPORT TABLE {t} TO '{tmp_path}/ours'") == [(11,)]
    hive.run("SET metastore.metastore.event.db.notification.api.auth=false")
    hive.run(f"EXPORT TABLE {t} TO '{tmp_path}/theirs'")
    hive.run(f"IMPORT TABLE {t}_in_hive FROM '{tmp_path}/ours'")
    ours.sql(f"IMPORT TABLE {t}_here FROM '{tmp_path}/theirs'")
    # The number of a file of Hive's EXPORT need not be that of a bucket.
    for table in (f"{t}_here", f"{t}_in_hive"):
        assert ours.rows(table) == rows
        checked = ours.sql(f"CHECK TABLE {table} FULL")
        assert [problem for problem in checked if problem[1] != "info"] == []
    hive.run(f"UPDATE {table} SET c = 'h' WHERE id = 1")
    ours.sql(f"UPDATE {table} SET c = 'o' WHERE id = 2")
    ours.sql(f"INSERT INTO {table} SELECT * FROM {t} WHERE id = 4")
    assert len(hive.run(f"SELECT * FROM {table} WHERE id = 4")) == 2
    hive.compact(table, "major", "p = 'x/0'" if partitioned else "")
    acidsql.release(ours.spark)
    texts = {str(row[0]): str(row[2]).strip() for row in ours.rows(table)}
    assert (texts["1"], texts["2"], len(texts)) == ("h", "o", 11)
