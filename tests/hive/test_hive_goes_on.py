"""Tests that Hive reads the result of every kind of statement of acidsql, and continues from it."""

from __future__ import annotations

from pathlib import Path

import pytest

import acidsql
from tests.hive.conftest import Ours
from tests.hive.hive import Hive
from tests.hive_values import Row

pytestmark = [pytest.mark.hive, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
INSERT_ONLY = "('transactional'='true', 'transactional_properties'='insert_only')"


def goes_on(ours: Ours, hive: Hive, t: str, partition: str = "") -> None:
    """Let Hive change rows and compact: all others keep their row ids.

    Args:
        t: a full ACID table whose first columns are ``id``, unique, and ``v``.
        partition: the one to compact, such as ``p = 1``.
    """
    before = ours.identified(t)
    first, last = before[0][1][0], before[-1][1][0]
    hive.run(f"UPDATE {t} SET v = 'hive' WHERE id = {first}")
    hive.run(f"DELETE FROM {t} WHERE id = {last}")
    acidsql.release(ours.spark)
    for kind in ("minor", "major"):
        hive.compact(t, kind, partition)
    states = {row[5] for row in hive.run("SHOW COMPACTIONS") if row[2] == t}
    assert states == {"succeeded"}
    after = ours.identified(t)
    assert set(before) - set(after) == {p for p in before if p[1][0] in (first, last)}
    assert [row[:2] for _, row in set(after) - set(before)] == [(first, "hive")]


def directories(place: Path) -> list[str]:
    """Return the names in a directory, sorted."""
    return sorted(path.name for path in place.iterdir())


def test_restored_table(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(
        f"CREATE TABLE {t} (id INT, v STRING) PARTITIONED BY (p INT)"
        f" CLUSTERED BY (id) INTO 2 BUCKETS {ACID}"
    )
    ours.sql(f"INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)")
    hive.run(f"UPDATE {t} SET v = 'hive' WHERE id = 1")
    hive.run(f"DELETE FROM {t} WHERE id = 3")
    ours.sql(f"INSERT INTO {t} VALUES (4, 'd', 1), (5, 'e', 3)")
    assert ours.sql(f"UNDO WRITE 3 OF {t}") == [(1, 0, 1)]
    undone = [
        ("1", "hive", "1"),
        ("2", "b", "1"),
        ("3", "c", "2"),
        ("4", "d", "1"),
        ("5", "e", "3"),
    ]
    assert ours.rows(t) == undone
    assert ours.sql(f"RESTORE TABLE {t} TO VERSION AS OF 1") == [(6, 4, 2)]
    assert ours.rows(t) == [("1", "a", "1"), ("2", "b", "1"), ("3", "c", "2")]
    goes_on(ours, hive, t, "p = 1")


def test_overwritten_and_truncated_table(ours: Ours, hive: Hive, t: str) -> None:
    place = hive.warehouse / t
    ours.sql(f"CREATE TABLE {t} (id INT, v STRING) {ACID}")
    ours.sql(f"INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    ours.sql(f"INSERT OVERWRITE {t} SELECT id + 2, v FROM {t}")
    ours.sql(f"UPDATE {t} SET v = 'u' WHERE id = 3")
    assert ours.rows(t) == [("3", "u"), ("4", "b")]
    ours.sql(f"INSERT OVERWRITE {t} SELECT * FROM {t} WHERE id > 9")
    assert ours.rows(t) == []
    assert list((place / "base_0000004").iterdir()) == [
        place / "base_0000004" / "_orc_acid_version"
    ]
    ours.sql(f"INSERT INTO {t} VALUES (5, 'e')")
    assert ours.rows(t) == [("5", "e")]
    ours.sql(f"TRUNCATE TABLE {t}")
    assert ours.rows(t) == []
    ours.sql(f"INSERT INTO {t} VALUES (6, 'f'), (7, 'g')")
    ours.sql(f"INSERT INTO {t} VALUES (8, 'h')")
    goes_on(ours, hive, t)


def test_overwritten_and_truncated_partitions(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT, v STRING) PARTITIONED BY (p INT) {ACID}")
    ours.sql(f"INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'd', 3)")
    ours.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1) SELECT 5, 'static'")
    ours.sql(f"INSERT OVERWRITE {t} PARTITION (p) VALUES (6, 'dynamic', 2), (7, 'new', 4)")
    ours.sql(f"INSERT OVERWRITE {t} PARTITION (p = 3) SELECT 1, 'x' WHERE 1 = 0")
    rest = [("5", "static", "1"), ("6", "dynamic", "2"), ("7", "new", "4")]
    assert ours.rows(t) == rest
    ours.sql(f"TRUNCATE TABLE {t} PARTITION (p = 2)")
    ours.sql(f"INSERT INTO {t} VALUES (8, 'h', 3), (9, 'i', 2)")
    ours.sql(f"DELETE FROM {t} WHERE id = 9")
    assert ours.rows(t) == [("5", "static", "1"), ("7", "new", "4"), ("8", "h", "3")]
    ours.sql(f"TRUNCATE TABLE {t}")
    assert ours.rows(t) == []
    ours.sql(f"INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 1), (4, 'd', 2)")
    goes_on(ours, hive, t, "p = 1")


def test_partitions_added_renamed_and_dropped(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT, v STRING) PARTITIONED BY (p STRING, q INT) {ACID}")
    ours.sql(f"INSERT INTO {t} VALUES (1, 'a', 'x', 1), (2, 'b', 'y/z', 1), (3, 'c', 'gone', 1)")
    far = hive.warehouse / f"{t}_far"
    ours.sql(
        f"ALTER TABLE {t} ADD PARTITION (p = 'new', q = 2) "
        f"PARTITION (p = 'far', q = 3) LOCATION '{far}'"
    )
    ours.sql(f"INSERT INTO {t} VALUES (4, 'd', 'new', 2), (5, 'e', 'far', 3)")
    assert directories(far) == ["delta_0000003_0000003_0000"]
    ours.sql(f"ALTER TABLE {t} PARTITION (p = 'x', q = 1) RENAME TO PARTITION (p = 'a b', q = 7)")
    ours.sql(
        f"ALTER TABLE {t} PARTITION (p = 'far', q = 3) RENAME TO PARTITION (p = 'near', q = 3)"
    )
    ours.sql(f"ALTER TABLE {t} DROP PARTITION (p = 'gone')")
    expected = [
        ("1", "a", "a b", "7"),
        ("2", "b", "y/z", "1"),
        ("4", "d", "new", "2"),
        ("5", "e", "near", "3"),
    ]
    assert ours.rows(t) == expected
    assert hive.run(f"SHOW PARTITIONS {t}") == [
        ("p=a b/q=7",),
        ("p=near/q=3",),
        ("p=new/q=2",),
        ("p=y%2Fz/q=1",),
    ]
    ours.sql(f"UPDATE {t} SET v = concat(v, '+') WHERE q IN (3, 7)")
    ours.sql(f"INSERT INTO {t} VALUES (6, 'f', 'near', 3), (7, 'g', 'gone', 1)")
    assert [row[1] for row in ours.rows(t)] == ["a+", "b", "d", "e+", "f", "g"]
    goes_on(ours, hive, t, "p = 'near', q = 3")


def test_fields_added_to_structs(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(
        f"CREATE TABLE {t} (id INT, v STRING, s STRUCT<x: INT>, l ARRAY<STRUCT<x: INT>>) {ACID}"
    )
    ours.sql(
        f"INSERT INTO {t} SELECT id, 'a', named_struct('x', id), array(named_struct('x', id)) "
        "FROM VALUES (1), (2), (3) AS v(id)"
    )
    ours.sql(f"ALTER TABLE {t} ADD COLUMNS (s.y STRING, l.element.y INT)")
    expected: list[Row] = [(str(i), "a", (str(i), None), ((str(i), None),)) for i in (1, 2, 3)]
    assert ours.rows(t) == expected
    ours.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO {t} AS t USING (SELECT 2 AS id, 'b' AS v, "
        "named_struct('x', 5, 'y', 'z', 'w', 6L) AS s, array(named_struct('x', 5, 'y', 6)) AS l, "
        "7 AS n) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    )
    expected = [
        ("1", "a", ("1", None, None), (("1", None),), None),
        ("2", "b", ("5", "z", "6"), (("5", "6"),), "7"),
        ("3", "a", ("3", None, None), (("3", None),), None),
    ]
    assert ours.rows(t) == expected
    goes_on(ours, hive, t)


@pytest.mark.parametrize("reach", ["CASCADE", "RESTRICT"])
def test_columns_added_to_old_partitions(ours: Ours, hive: Hive, t: str, reach: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT, v STRING) PARTITIONED BY (p INT) {ACID}")
    ours.sql(f"INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4)")
    ours.sql(f"ALTER TABLE {t} ADD COLUMNS (n DECIMAL(5, 2), s STRUCT<x: INT>) {reach}")
    assert ours.rows(t) == [(str(i), "abcd"[i - 1], None, None, str(i)) for i in range(1, 5)]
    ours.sql(f"INSERT INTO {t} VALUES (5, 'e', 5.5, named_struct('x', 5), 1), (6, 'f', 6, NULL, 5)")
    ours.sql(f"UPDATE {t} SET n = 2 WHERE id = 2")
    ours.sql(f"DELETE FROM {t} WHERE id = 3")
    expected: list[Row] = [
        ("1", "a", None, None, "1"),
        ("2", "b", "2", None, "2"),
        ("4", "d", None, None, "4"),
        ("5", "e", "5.5", ("5",), "1"),
        ("6", "f", "6", None, "5"),
    ]
    assert ours.rows(t) == expected
    hive.run(f"UPDATE {t} SET n = 4 WHERE id = 4")
    expected[2] = ("4", "d", "4", None, "4")
    if reach == "CASCADE":
        assert ours.rows(t) == expected
    ours.sql(f"UPDATE {t} SET v = 'D' WHERE id = 4")
    goes_on(ours, hive, t, "p = 1")


def test_loaded_files(ours: Ours, hive: Hive, t: str, tmp_path: Path) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT, v STRING) {ACID}")
    ours.sql(f"INSERT INTO {t} VALUES (1, 'a')")

    def load(word: str, **files: str) -> None:
        source = tmp_path / "source"
        source.mkdir()
        for name, values in files.items():
            frame = ours.spark.sql(f"SELECT * FROM VALUES {values} AS s(id, v)")
            frame.coalesce(1).write.orc(f"{tmp_path}/{name}")
            (written,) = (tmp_path / name).glob("part-*")
            written.rename(source / name.strip("_"))
        ours.sql(f"LOAD DATA LOCAL INPATH '{source}' {word} INTO TABLE {t}")
        source.rename(tmp_path / f"source_{word}")

    load("", _000000_0="(2, 'b'), (3, 'c')", _000000_0_copy_1="(4, 'd')", other="(5, 'e')")
    place = hive.warehouse / t
    assert directories(place / "delta_0000002_0000002_0000") == ["000000_0", "000001_0", "000002_0"]
    assert [row[0] for row in ours.rows(t)] == ["1", "2", "3", "4", "5"]
    ours.sql(f"UPDATE {t} SET v = 'u' WHERE id IN (2, 4)")
    assert [row[1] for row in ours.rows(t)] == ["a", "u", "c", "u", "e"]
    load("OVERWRITE", _000000_0_copy_2="(6, 'f'), (7, 'g')", _000001_0="(8, 'h')")
    assert [row[0] for row in ours.rows(t)] == ["6", "7", "8"]
    ours.sql(f"DELETE FROM {t} WHERE id = 7")
    ours.sql(f"INSERT INTO {t} VALUES (9, 'i'), (10, 'j')")
    goes_on(ours, hive, t)


def test_branches_of_a_multi_insert(ours: Ours, hive: Hive, t: str) -> None:
    source = "FROM VALUES (1, 'a'), (2, 'b'), (3, 'c') AS s(id, v)"
    other = f"{t}_partitioned"
    ours.sql(f"CREATE TABLE {t} (id INT, v STRING) {ACID}")
    ours.sql(f"CREATE TABLE {other} (id INT, v STRING) PARTITIONED BY (p INT) {ACID}")
    ours.sql(
        f"{source} INSERT INTO {t} SELECT id, v INSERT INTO {t} SELECT id + 10, v WHERE id > 1 "
        f"INSERT INTO {other} PARTITION (p) SELECT id, v, 1 "
        f"INSERT INTO {other} PARTITION (p = 1) SELECT id + 10, v "
        f"INSERT INTO {other} PARTITION (p) SELECT id + 20, v, id WHERE id < 3"
    )
    assert [row[0] for row in ours.rows(t)] == ["1", "12", "13", "2", "3"]
    ours.sql(f"DELETE FROM {t} WHERE id = 12")
    ours.sql(
        f"{source} INSERT OVERWRITE {other} PARTITION (p = 2) SELECT id, 'over' WHERE id = 3 "
        f"INSERT OVERWRITE {other} PARTITION (p = 3) SELECT id + 30, 'new'"
    )
    keys = [(row[0], row[2]) for row in ours.rows(other)]
    assert keys == sorted(
        [(k, "1") for k in ("1", "2", "3", "11", "12", "13", "21")]
        + [("3", "2"), ("31", "3"), ("32", "3"), ("33", "3")],
        key=repr,
    )
    goes_on(ours, hive, t)
    goes_on(ours, hive, other, "p = 1")


@pytest.mark.sample("PARQUET")
@pytest.mark.parametrize("stored", ["ORC", "PARQUET", "TEXTFILE"])
def test_insert_only_tables(ours: Ours, hive: Hive, t: str, stored: str) -> None:
    place = hive.warehouse / t
    ours.sql(
        f"CREATE TABLE {t} (id INT, v STRING, d DECIMAL(5, 2), at TIMESTAMP) "
        f"PARTITIONED BY (p INT) STORED AS {stored} TBLPROPERTIES {INSERT_ONLY}"
    )
    at = "2024-02-29 12:34:56.5"
    first = [("1", "a b", "1.5", at, "1"), ("2", "", None, None, "1"), ("3", None, "-3", at, "2")]
    ours.sql(
        f"INSERT INTO {t} VALUES (1, 'a b', 1.5, TIMESTAMP '{at}', 1), (2, '', NULL, NULL, 1), "
        f"(3, NULL, -3, TIMESTAMP '{at}', 2)"
    )
    assert ours.plain_rows(t) == first
    ours.sql(f"INSERT OVERWRITE {t} PARTITION (p = 2) SELECT 4, 'over', 4, NULL")
    ours.sql(f"INSERT INTO {t} PARTITION (p) VALUES (5, 'e', 5, NULL, 1), (6, 'f', 6, NULL, 3)")
    three = [("4", "over", "4", None, "2"), ("5", "e", "5", None, "1"), ("6", "f", "6", None, "3")]
    assert ours.plain_rows(t) == [*first[:2], *three]
    ours.sql(f"ALTER TABLE {t} PARTITION (p = 1) COMPACT 'major'")
    assert any(name.startswith("base_0000003_v") for name in directories(place / "p=1"))
    ours.sql(f"TRUNCATE TABLE {t} PARTITION (p = 2)")
    assert ours.plain_rows(t) == [*first[:2], *three[1:]]
    hive.run(f"INSERT INTO {t} PARTITION (p = 1) VALUES (7, 'hive', 7, NULL)")
    ours.sql(f"INSERT INTO {t} VALUES (8, 'h', 8, NULL, 1)")
    after = ours.plain_rows(t)
    assert [row[0] for row in after] == ["1", "2", "5", "6", "7", "8"]
    acidsql.release(ours.spark)
    hive.compact(t, "major", "p = 1")
    states = {row[5] for row in hive.run("SHOW COMPACTIONS") if row[2] == t}
    assert states <= {"ready for cleaning", "succeeded"}
    assert ours.plain_rows(t) == after
    ours.sql(
        f"INSERT OVERWRITE {t} PARTITION (p = 1) SELECT * FROM VALUES (1, 'x', 1, NULL) WHERE 1 = 0"
    )
    assert [row[0] for row in ours.plain_rows(t)] == ["6"]
    ours.sql(f"TRUNCATE TABLE {t}")
    assert ours.plain_rows(t) == []
    hive.run(f"INSERT INTO {t} PARTITION (p = 1) VALUES (9, 'i', 9, NULL)")
    assert ours.plain_rows(t) == [("9", "i", "9", None, "1")]
