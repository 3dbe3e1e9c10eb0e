"""Insert-only tables: plain files in base and delta directories, of any format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.metastore.model import CompactionState
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

PROPERTIES = "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')"
COLUMNS = (
    "id int, s string, d decimal(9,2), t timestamp, b binary, f double, c char(3), day date, "
    "yes boolean"
)
ROWS = (
    "(1, 'a b', 1.50, TIMESTAMP'2024-02-29 12:34:56.789', X'00FF', 0.5, 'x', DATE'1999-12-31', "
    "true), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "
    "(3, '', -1, TIMESTAMP'1900-01-01 00:00:00', X'', -0.0, 'abc', DATE'0001-01-01', false)"
)


def create(lab: Lab, name: str, stored: str, columns: str = COLUMNS, partitioned: str = "") -> str:
    """Create an insert-only table; return its name."""
    by = f"PARTITIONED BY ({partitioned})" if partitioned else ""
    lab.sql(f"CREATE TABLE {name} ({columns}) {by} STORED AS {stored} {PROPERTIES}")
    return name


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("stored", ["ORC", "PARQUET", "TEXTFILE"])
def test_inserts_overwrites_and_compactions(lab: Lab, stored: str) -> None:
    t = create(lab, f"only_{stored.lower()}", stored)
    expected = sorted(
        (tuple(r) for r in lab.spark.sql(f"SELECT * FROM VALUES {ROWS}").collect()), key=repr
    )
    expected = [(*r[:6], None if r[6] is None else f"{r[6]:3}", *r[7:]) for r in expected]
    lab.insert(t, ROWS)
    shown = lab.rows(t)
    assert [r[:4] + r[5:] for r in shown] == [r[:4] + r[5:] for r in expected]
    assert [r[4] and bytes(r[4]) for r in shown] == [r[4] and bytes(r[4]) for r in expected]
    assert lab.tree(t) == ["delta_0000001_0000001_0000/", "delta_0000001_0000001_0000/000000_0"]
    lab.sql(f"INSERT INTO {t} (id) VALUES (4)")
    assert lab.rows(t, "id") == [(1,), (2,), (3,), (4,)]
    assert lab.sql(f"INSERT INTO {t} SELECT * FROM {t} WHERE false") == [(0, 0)]
    assert len(lab.directories(t)) == 2
    base = f"base_0000002_v{lab.compact(t, 'major').txnid:07d}"
    assert lab.tree(t) == [f"{base}/", f"{base}/000000_0"]
    assert [r[:4] for r in lab.rows(t)[:3]] == [r[:4] for r in expected]
    text = f"INSERT OVERWRITE {t} SELECT * FROM {t} WHERE id = 2"
    assert lab.sql(text) == [(1, 1)]
    assert "base_0000004" in lab.directories(t)
    assert lab.rows(t, "id, s") == [(2, None)]
    lab.sql(f"TRUNCATE TABLE {t}")
    assert lab.rows(t) == []
    assert lab.sql(f"INSERT OVERWRITE {t} SELECT * FROM {t}") == [(0, 0)]
    assert lab.sql(f"INSERT INTO {t} (id) VALUES (9)") == [(1, 1)]
    assert lab.rows(t, "id") == [(9,)]
    lab.sql(f"DROP TABLE {t}")


@pytest.mark.repeated
@pytest.mark.parametrize("stored", ["ORC", "PARQUET", "TEXTFILE"])
def test_partitions(lab: Lab, stored: str) -> None:
    t = create(lab, f"only_parts_{stored.lower()}", stored, "id int, s string", "p int, q string")
    lab.insert(t, "(1, 'a', 1, 'x'), (2, 'b', 1, 'y/z'), (3, 'c', NULL, '')")
    lab.sql(f"INSERT INTO {t} PARTITION (p = 1, q = 'x') VALUES (4, 'd')")
    rows = [(1, "a", 1, "x"), (2, "b", 1, "y/z"), (3, "c", None, None), (4, "d", 1, "x")]
    assert lab.rows(t) == rows
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p, q) SELECT 5, 'e', 1, 'x'")
    assert lab.rows(t) == [rows[1], rows[2], (5, "e", 1, "x")]
    assert sorted(p.name for p in (lab.root(t) / "p=1" / "q=x").iterdir()) == [
        "base_0000003",
        "delta_0000001_0000001_0000",
        "delta_0000002_0000002_0000",
    ]
    lab.compact(t, "major", "p = 1, q = 'x'")
    assert lab.rows(t) == [rows[1], rows[2], (5, "e", 1, "x")]
    lab.sql(
        f"FROM VALUES (6, 'f'), (7, 'g') AS s(id, s) INSERT INTO {t} SELECT id, s, 1, 'x' "
        f"INSERT INTO {t} PARTITION (p = 1, q = 'x') SELECT id + 10, s"
    )
    assert len(lab.rows(t)) == 7
    lab.sql(f"DROP TABLE {t}")


def test_base_without_rows_has_a_file(lab: Lab, tmp_path: Path) -> None:
    """Check the file in an empty base: Hive would ignore an empty directory."""
    t = create(lab, "only_empty", "PARQUET", "id int", "p int")
    lab.insert(t, "(1, 1), (2, 2)")
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1) SELECT id FROM {t} WHERE id > 9")
    base = lab.root(t) / "p=1" / "base_0000002"
    assert json.loads((base / "_metadata_acid").read_text())["dataFormat"] == "truncated"
    assert lab.rows(t) == [(2, 2)]
    u = create(lab, "only_nothing", "TEXTFILE", "id int")
    (tmp_path / "nothing").touch()
    for _ in range(2):
        lab.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/nothing' INTO TABLE {u}")
    compacted = f"base_0000002_v{lab.compact(u, 'major').txnid:07d}"
    (file,) = (lab.root(u) / compacted).iterdir()
    assert file.name == "_metadata_acid"
    assert json.loads(file.read_text())["dataFormat"] == "compacted"
    assert lab.rows(u) == []
    lab.sql(f"DROP TABLE {t}")
    lab.sql(f"DROP TABLE {u}")


@pytest.mark.parametrize("escaped", ["false", "true"])
def test_null_in_text_is_read_under_all_settings(lab: Lab, escaped: str) -> None:
    t = create(lab, f"only_null_{escaped}", "TEXTFILE", "id int, s string, x double")
    lab.insert(t, "(1, NULL, 1.5), (2, '', NULL)")
    with lab.settings(spark__sql__parser__escapedStringLiterals=escaped):
        assert lab.rows(t) == [(1, None, 1.5), (2, "", None)]
    lab.sql(f"DROP TABLE {t}")


def test_text_is_hives(lab: Lab, tmp_path: Path) -> None:
    t = create(lab, "only_lines", "TEXTFILE", "id int, s string, x double")
    lab.insert(t, "(1, 'a', 1.5), (NULL, '', NULL)")
    (file,) = lab.root(t).rglob("000000_0")
    assert file.read_bytes() == b"1\x01a\x011.5\n\\N\x01\x01\\N\n"
    before = (lab.rows(t), lab.tree(t))
    for value in ("'a\\u0001b'", "'a\\nb'", "'\\\\N'"):
        with pytest.raises(Exception, match="text file cannot hold"):
            lab.sql(f"INSERT INTO {t} VALUES (5, {value}, 0)")
    assert (lab.rows(t), lab.tree(t)) == before
    (tmp_path / "lines").write_text("7\x01g\x010.25\n")
    lab.sql(f"LOAD DATA INPATH '{tmp_path}/lines' INTO TABLE {t}")
    assert (7, "g", 0.25) in lab.rows(t)
    lab.sql(f"DROP TABLE {t}")


def test_rows_cannot_be_changed(lab: Lab) -> None:
    t = create(lab, "only_rows", "ORC", "id int")
    lab.insert(t, "(1)")
    before = lab.rows(t), lab.tree(t)
    for text in (
        f"UPDATE {t} SET id = 2",
        f"DELETE FROM {t}",
        f"MERGE INTO {t} USING (SELECT 1 AS id) s ON s.id = {t}.id WHEN MATCHED THEN DELETE",
    ):
        assert condition(lab, text) == "UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE"
    assert (lab.rows(t), lab.tree(t)) == before
    lab.insert(t, "(2)")
    assert lab.compact(t, "minor").state == CompactionState.REFUSED.value
    for text in ("RENAME COLUMN id TO x", "ALTER COLUMN id TYPE bigint"):
        assert condition(lab, f"ALTER TABLE {t} {text}") == (
            "UNSUPPORTED_FEATURE.INSERT_ONLY_COLUMNS"
        )
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (n int)")
    lab.insert(t, "(3, 30)")
    assert lab.rows(t) == [(1, None), (2, None), (3, 30)]
    ((text,),) = lab.sql(f"SHOW CREATE TABLE {t}")
    assert "STORED AS ORC" in text
    lab.sql(f"DROP TABLE {t}")


def test_create_table_as_select(lab: Lab) -> None:
    lab.sql(f"CREATE TABLE only_copy STORED AS PARQUET {PROPERTIES} AS SELECT 1 AS id, 'a' AS s")
    assert lab.rows("only_copy") == [(1, "a")]
    lab.sql("DROP TABLE only_copy")
    nested = f"CREATE TABLE only_nested (a array<int>) STORED AS TEXTFILE {PROPERTIES}"
    assert condition(lab, nested) == "UNSUPPORTED_FEATURE.TEXT_COLUMNS"
    assert lab.sql("SHOW TABLES LIKE 'only_nested'") == []
