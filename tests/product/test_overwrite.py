"""INSERT OVERWRITE and TRUNCATE TABLE: exact directories and rows, as Hive 4 has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acidsql.format.bucket_codec import encode
from tests.product.conditions import condition
from tests.product.test_layout import check_files, expected_tree

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

BUCKET = encode(0, 0)


def truncated(write_id: int) -> list[str]:
    """Return the tree that TRUNCATE leaves."""
    return [f"base_{write_id:07d}/", f"base_{write_id:07d}/_metadata_acid"]


def emptied(write_id: int) -> list[str]:
    """Return the tree that an INSERT OVERWRITE without rows leaves."""
    return [f"base_{write_id:07d}/", f"base_{write_id:07d}/_orc_acid_version"]


def below(partition: str, paths: list[str]) -> list[str]:
    """Return a partition's directory with these paths in it."""
    return [f"{partition}/", *(f"{partition}/{path}" for path in paths)]


def test_truncate_hides_everything_below_an_empty_base(lab: Lab) -> None:
    t = lab.create("id int, v string", values="(1, 'a'), (2, 'b')")
    lab.sql(f"UPDATE {t} SET v = 'B' WHERE id = 2")
    before = lab.tree(t)
    assert lab.sql(f"TRUNCATE TABLE {t}") == []
    assert lab.rows(t) == []
    assert lab.tree(t) == sorted([*before, *truncated(3)])
    metadata = (lab.root(t) / "base_0000003" / "_metadata_acid").read_bytes()
    assert metadata == b'{"thisFileVersion":"0","dataFormat":"truncated"}'
    lab.insert(t, "(7, 'g')")
    lab.sql(f"UPDATE {t} SET v = 'h' WHERE id = 7")
    assert lab.rows(t, "id, v, row__id.writeid") == [(7, "h", 5)]


def test_truncate_of_an_empty_table_takes_a_write_id(lab: Lab) -> None:
    t = lab.create("id int")
    lab.sql(f"TRUNCATE TABLE {t}")
    lab.insert(t, "(1)")
    assert lab.rows(t, "id, row__id.writeid") == [(1, 2)]


@pytest.mark.repeated
def test_a_dataframe_from_before_reads_on(lab: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    frame = lab.frame(f"SELECT * FROM {t}")
    lab.sql(f"TRUNCATE TABLE {t}")
    lab.insert(t, "(3)")
    other = lab.frame(f"SELECT * FROM {t}")
    lab.sql(f"INSERT OVERWRITE {t} VALUES (4)")
    assert sorted(tuple(r) for r in frame.collect()) == [(1,), (2,)]
    assert [tuple(r) for r in other.collect()] == [(3,)]
    assert lab.rows(t) == [(4,)]


def test_truncate_of_partitions(lab: Lab) -> None:
    t = lab.create("v int", partitioned="p int, q string")
    lab.insert(t, "(1, 1, 'a'), (2, 1, 'b'), (3, 2, 'a'), (4, 2, NULL)")
    lab.sql(f"TRUNCATE TABLE {t} PARTITION (p = 1, q = 'a')")
    assert lab.rows(t) == [(2, 1, "b"), (3, 2, "a"), (4, 2, None)]
    lab.sql(f"TRUNCATE TABLE {t} PARTITION (p = 2)")
    assert lab.rows(t) == [(2, 1, "b")]
    delta = expected_tree("delta_0000001_0000001_0000")
    rest = "q=__HIVE_DEFAULT_PARTITION__"
    assert lab.tree(t) == sorted(
        [
            "p=1/",
            *below("p=1/q=a", [*delta, *truncated(2)]),
            *below("p=1/q=b", delta),
            "p=2/",
            *below("p=2/q=a", [*delta, *truncated(3)]),
            *below(f"p=2/{rest}", [*delta, *truncated(3)]),
        ]
    )
    lab.sql(f"TRUNCATE TABLE {t}")
    assert lab.rows(t) == []
    assert len(lab.sql(f"SHOW PARTITIONS {t}")) == 4
    assert "base_0000004" in [p.name for p in (lab.root(t) / "p=1" / "q=a").iterdir()]


def test_truncations_that_name_nothing_are_refused(lab: Lab) -> None:
    t = lab.create("v int", partitioned="p int", values="(1, 1)")
    plain = lab.create("v int", values="(1)")
    before = lab.state(t), lab.state(plain)
    for text, expected in {
        f"TRUNCATE TABLE {t} PARTITION (p = 9)": "PARTITIONS_NOT_FOUND",
        f"TRUNCATE TABLE {t} PARTITION (r = 1)": "PARTITIONS_NOT_FOUND",
        f"TRUNCATE TABLE {plain} PARTITION (p = 1)": (
            "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY"
        ),
    }.items():
        assert condition(lab, text) == expected
    assert (lab.state(t), lab.state(plain)) == before


@pytest.mark.slow
def test_insert_overwrite_writes_a_base(lab: Lab) -> None:
    t = lab.create("id int, v string", values="(1, 'a'), (2, 'b'), (3, 'c')")
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    before = lab.tree(t)
    text = f"INSERT OVERWRITE TABLE {t} SELECT /*+ COALESCE(1) */ id + 100, v FROM {t}"
    assert lab.sql(text) == [(2, 2)]
    assert lab.tree(t) == sorted([*before, *expected_tree("base_0000003")])
    file = check_files(lab, t, ("id", "v"))["base_0000003/bucket_00000"]
    assert file.events == [(0, 3, BUCKET, 0, 3), (0, 3, BUCKET, 1, 3)]
    assert lab.rows(t, "id, v, row__id") == [
        (101, "a", (3, BUCKET, 0)),
        (102, "b", (3, BUCKET, 1)),
    ]
    lab.sql(f"UPDATE {t} SET v = 'B' WHERE id = 102")
    lab.sql(f"INSERT INTO {t} VALUES (9, 'z')")
    rows = lab.rows(t, "id, v, row__id")
    base = f"base_0000005_v{lab.compact(t, 'major').txnid:07d}"
    assert lab.directories(t) == [base]
    assert lab.rows(t, "id, v, row__id") == rows


def test_insert_overwrite_takes_columns_by_list_and_by_name(lab: Lab) -> None:
    t = lab.create("id int, v string DEFAULT 'd'", values="(1, 'a')")
    lab.sql(f"INSERT OVERWRITE {t} (id) VALUES (5)")
    assert lab.rows(t) == [(5, "d")]
    lab.sql(f"WITH s AS (SELECT 6 AS id) INSERT OVERWRITE {t} BY NAME SELECT 'w' AS v, id FROM s")
    assert lab.rows(t) == [(6, "w")]


def test_an_insert_overwrite_without_rows_empties_the_table(lab: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    assert lab.sql(f"INSERT OVERWRITE {t} SELECT * FROM {t} WHERE id > 5") == [(0, 0)]
    assert lab.rows(t) == []
    delta = expected_tree("delta_0000001_0000001_0000")
    assert lab.tree(t) == sorted([*delta, *emptied(2)])
    lab.insert(t, "(3)")
    assert lab.rows(t) == [(3,)]
    lab.compact(t, "major")
    assert lab.rows(t) == [(3,)]


def test_insert_overwrite_of_one_partition_leaves_the_others(lab: Lab) -> None:
    t = lab.create("v int", partitioned="p int, q string")
    lab.insert(t, "(1, 1, 'a'), (2, 1, 'b'), (3, 2, 'a')")
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1, q = 'a') VALUES (10), (11)")
    assert lab.rows(t) == [(10, 1, "a"), (11, 1, "a"), (2, 1, "b"), (3, 2, "a")]
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1, q = 'b') SELECT 1 WHERE false")
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 3, q = 'new') SELECT 1 WHERE false")
    assert lab.rows(t) == [(10, 1, "a"), (11, 1, "a"), (3, 2, "a")]
    assert ("p=3/q=new",) in lab.sql(f"SHOW PARTITIONS {t}")
    delta = expected_tree("delta_0000001_0000001_0000")
    found = [path for path in lab.tree(t) if "q=a/base" not in path]
    assert found == sorted(
        [
            "p=1/",
            *below("p=1/q=a", delta),
            *below("p=1/q=b", [*delta, *emptied(3)]),
            "p=2/",
            *below("p=2/q=a", delta),
            "p=3/",
            *below("p=3/q=new", emptied(4)),
        ]
    )
    assert {p for p in lab.directories(f"{t}") if p.startswith("_")} == set()
    check_files(lab, t, ("v",))


def test_if_not_exists_leaves_a_partition_that_is_there(lab: Lab) -> None:
    t = lab.create("v int", partitioned="p int", values="(1, 1)")
    insert = f"INSERT OVERWRITE {t} PARTITION (p = {{p}}) IF NOT EXISTS VALUES (5)"
    assert lab.sql(insert.format(p=1)) == [(0, 0)]
    assert lab.sql(insert.format(p=2)) == [(1, 1)]
    assert lab.rows(t) == [(1, 1), (5, 2)]


def test_dynamic_partitions_replace_those_that_get_rows(lab: Lab) -> None:
    t = lab.create("v int", partitioned="p int, q string")
    lab.insert(t, "(1, 1, 'a'), (2, 1, 'b'), (3, 2, 'a')")
    lab.sql(f"INSERT OVERWRITE {t} SELECT v + 10, p, q FROM {t} WHERE q = 'a' AND p = 1")
    assert lab.rows(t) == [(11, 1, "a"), (2, 1, "b"), (3, 2, "a")]
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1, q) VALUES (20, 'b'), (21, 'c')")
    assert lab.rows(t) == [(11, 1, "a"), (20, 1, "b"), (21, 1, "c"), (3, 2, "a")]
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1, q) SELECT 1, 'b' WHERE false")
    assert len(lab.rows(t)) == 4
    with lab.settings(spark__sql__sources__partitionOverwriteMode="dynamic"):
        lab.sql(f"INSERT OVERWRITE {t} VALUES (30, 2, 'a')")
    assert lab.rows(t) == [(11, 1, "a"), (20, 1, "b"), (21, 1, "c"), (30, 2, "a")]


def test_sparks_static_mode_replaces_all_that_the_statement_names(lab: Lab) -> None:
    t = lab.create("v int", partitioned="p int, q string")
    lab.insert(t, "(1, 1, 'a'), (2, 1, 'b'), (3, 2, 'a')")
    with lab.settings(spark__sql__sources__partitionOverwriteMode="STATIC"):
        lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1, q) VALUES (10, 'a')")
        assert lab.rows(t) == [(10, 1, "a"), (3, 2, "a")]
        lab.sql(f"INSERT OVERWRITE {t} VALUES (20, 5, 'e')")
        assert lab.rows(t) == [(20, 5, "e")]
    tree = lab.tree(t)
    assert [path for path in tree if path.endswith("q=b/base_0000002/_orc_acid_version")]
    assert [path for path in tree if "q=a/base_0000003" in path and "bucket" in path] == []


@pytest.mark.repeated
def test_a_failed_insert_overwrite_leaves_the_table(lab: Lab) -> None:
    t = lab.create("id int NOT NULL", partitioned="p int", values="(1, 1)")
    before = lab.state(t)
    for text in (
        f"INSERT OVERWRITE {t} SELECT 1 / (id - 1), 2 FROM {t}",
        f"INSERT OVERWRITE {t} PARTITION (p = 1) SELECT CAST(NULL AS INT)",
        f"INSERT OVERWRITE {t} PARTITION (p = 2) SELECT assert_true(id > 5) FROM {t}",
    ):
        assert condition(lab, text)
        assert lab.state(t) == before


def test_explain_of_an_insert_overwrite_changes_nothing(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    before = lab.state(t)
    ((plan,),) = lab.sql(f"EXPLAIN INSERT OVERWRITE {t} SELECT id + 41 FROM {t}")
    assert "41" in plan
    assert lab.state(t) == before
