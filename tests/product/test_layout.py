"""Directories, files and footers after each statement, as Hive 3 writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acidsql.format.bucket_codec import decode_bucket, encode

if TYPE_CHECKING:
    from tests.product.conftest import AcidFile, Lab

pytestmark = pytest.mark.spark

EVENT_FIELDS = (
    "operation",
    "originalTransaction",
    "bucket",
    "rowId",
    "currentTransaction",
    "row",
)


def expected_tree(*directories: str, bucket: str = "bucket_00000") -> list[str]:
    """Return the tree of directories with one bucket file each."""
    return sorted(
        path
        for name in directories
        for path in (f"{name}/", f"{name}/_orc_acid_version", f"{name}/{bucket}")
    )


def check_file(path: str, file: AcidFile, row_fields: tuple[str, ...]) -> None:
    """Check the rules for every bucket file."""
    assert file.fields == EVENT_FIELDS, path
    assert file.row_fields == row_fields, path
    assert file.metadata["hive.acid.key.index"] == file.expected_key_index, path
    assert file.metadata["hive.acid.version"] == "2", path
    deletes = "delete_delta_" in path
    count = len(file.events)
    assert count > 0, path
    assert file.metadata["hive.acid.stats"] == (f"0,0,{count}" if deletes else f"{count},0,0"), path
    assert {event[0] for event in file.events} == {2 if deletes else 0}, path
    assert all(a < b for a, b in zip(file.keys, file.keys[1:], strict=False)), path
    assert {decode_bucket(bucket) for _, bucket, _ in file.keys} == {int(path[-5:])}, path


def check_files(lab: Lab, table: str, row_fields: tuple[str, ...]) -> dict[str, AcidFile]:
    files = lab.files(table)
    for path, file in files.items():
        check_file(path, file, row_fields)
    for version in lab.root(table).rglob("_orc_acid_version"):
        assert version.read_bytes() == b"2"
    return files


def test_insert_update_and_delete_write_one_directory_per_kind_of_event(lab: Lab) -> None:
    t = lab.create("id int, v string", values="(1, 'a'), (2, 'b'), (3, 'c')")
    assert lab.tree(t) == expected_tree("delta_0000001_0000001_0000")
    lab.sql(f"UPDATE {t} SET v = 'B' WHERE id = 2")
    update = ["delta_0000002_0000002_0000", "delete_delta_0000002_0000002_0000"]
    assert lab.tree(t) == expected_tree("delta_0000001_0000001_0000", *update)
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    assert lab.tree(t) == expected_tree(
        "delta_0000001_0000001_0000", *update, "delete_delta_0000003_0000003_0000"
    )
    files = check_files(lab, t, ("id", "v"))
    bucket = encode(0, 0)
    assert {path.partition("/")[0]: file.events for path, file in files.items()} == {
        "delta_0000001_0000001_0000": [(0, 1, bucket, i, 1) for i in range(3)],
        "delete_delta_0000002_0000002_0000": [(2, 1, bucket, 1, 2)],
        "delta_0000002_0000002_0000": [(0, 2, bucket, 0, 2)],
        "delete_delta_0000003_0000003_0000": [(2, 1, bucket, 2, 3)],
    }
    assert lab.rows(t, "id, v, row__id") == [
        (1, "a", (1, bucket, 0)),
        (2, "B", (2, bucket, 0)),
    ]


def test_a_statement_that_changes_nothing_writes_no_directory(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    before = lab.tree(t)
    assert lab.sql(f"UPDATE {t} SET id = 2 WHERE id = 7") == [(0, 0)]
    assert lab.sql(f"DELETE FROM {t} WHERE id = 7") == [(0, 0)]
    assert lab.sql(f"INSERT INTO {t} SELECT 1 WHERE false") == [(0, 0)]
    assert lab.tree(t) == before


def test_each_when_clause_has_a_statement_id_that_its_two_halves_share(lab: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 10), (2, 20), (3, 30)")
    assert lab.sql(
        f"""MERGE INTO {t} USING (SELECT * FROM VALUES (1, 100), (2, 200), (4, 400) AS v(id, v)) s
        ON {t}.id = s.id
        WHEN MATCHED AND s.id = 1 THEN UPDATE SET v = s.v
        WHEN MATCHED THEN DELETE
        WHEN NOT MATCHED THEN INSERT *"""
    ) == [(3, 1, 1, 1)]
    assert lab.tree(t) == expected_tree(
        "delta_0000001_0000001_0000",
        "delete_delta_0000002_0000002_0000",
        "delta_0000002_0000002_0000",
        "delete_delta_0000002_0000002_0001",
        "delta_0000002_0000002_0002",
    )
    files = check_files(lab, t, ("id", "v"))
    events = {path.partition("/")[0]: file.events for path, file in files.items()}
    assert events["delete_delta_0000002_0000002_0000"] == [(2, 1, encode(0, 0), 0, 2)]
    assert events["delta_0000002_0000002_0000"] == [(0, 2, encode(0, 0), 0, 2)]
    assert events["delete_delta_0000002_0000002_0001"] == [(2, 1, encode(0, 0), 1, 2)]
    assert events["delta_0000002_0000002_0002"] == [(0, 2, encode(0, 2), 0, 2)]


def test_clauses_of_all_three_kinds_are_numbered_in_the_order_of_their_kinds(lab: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 10), (2, 20), (3, 30)")
    assert lab.sql(
        f"""MERGE INTO {t} USING (SELECT * FROM VALUES (1, 100), (4, 400) AS s(id, v)) AS s
        ON {t}.id = s.id
        WHEN MATCHED THEN UPDATE SET v = s.v
        WHEN NOT MATCHED THEN INSERT *
        WHEN NOT MATCHED BY SOURCE AND {t}.id = 2 THEN DELETE
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 0"""
    ) == [(4, 2, 1, 1)]
    assert lab.directories(t) == [
        "delete_delta_0000002_0000002_0000",
        "delete_delta_0000002_0000002_0002",
        "delete_delta_0000002_0000002_0003",
        "delta_0000001_0000001_0000",
        "delta_0000002_0000002_0000",
        "delta_0000002_0000002_0001",
        "delta_0000002_0000002_0003",
    ]
    check_files(lab, t, ("id", "v"))
    assert lab.rows(t) == [(1, 100), (3, 0), (4, 400)]


def test_partitions_have_their_own_directories(lab: Lab) -> None:
    t = lab.create("v int", partitioned="p int, q string", values="(1, 1, 'a/b'), (2, 2, 'c')")
    lab.sql(f"UPDATE {t} SET q = 'd' WHERE p = 2")
    version_and_bucket = expected_tree
    assert lab.tree(t) == sorted(
        [
            "p=1/",
            "p=2/",
            *(f"p=1/q=a%2Fb/{x}" for x in ["", *version_and_bucket("delta_0000001_0000001_0000")]),
            *(
                f"p=2/q=c/{x}"
                for x in [
                    "",
                    *version_and_bucket(
                        "delta_0000001_0000001_0000", "delete_delta_0000002_0000002_0000"
                    ),
                ]
            ),
            *(f"p=2/q=d/{x}" for x in ["", *version_and_bucket("delta_0000002_0000002_0000")]),
        ]
    )
    check_files(lab, t, ("v",))
    assert lab.sql(f"SHOW PARTITIONS {t}") == [("p=1/q=a%2Fb",), ("p=2/q=c",), ("p=2/q=d",)]


def test_every_stripe_has_its_last_key_in_the_index(lab: Lab) -> None:
    t = lab.create("id int, v string", properties={"orc.stripe.size": "1024"})
    lab.sql(f"INSERT INTO {t} SELECT id, uuid() FROM {{r}}", r=lab.spark.range(0, 20_000, 1, 1))
    written = check_files(lab, t, ("id", "v"))["delta_0000001_0000001_0000/bucket_00000"]
    assert len(written.stripes) > 2
    lab.sql(f"DELETE FROM {t} WHERE id % 1000 = 0")
    rows = lab.sql(f"SELECT count(*), sum(id) FROM {t}")
    lab.compact(t, "major")
    files = check_files(lab, t, ("id", "v"))
    (base,) = files.values()
    assert len(base.stripes) > 2
    assert lab.sql(f"SELECT count(*), sum(id) FROM {t}") == rows == [(19_980, 199_800_000)]


def test_each_writer_has_a_bucket_and_counts_from_zero(lab: Lab) -> None:
    t = lab.create("id bigint")
    lab.sql(f"INSERT INTO {t} SELECT id FROM {{r}}", r=lab.spark.range(0, 90, 1, 3))
    files = check_files(lab, t, ("id",))
    assert {path: file.events for path, file in files.items()} == {
        f"delta_0000001_0000001_0000/bucket_{b:05d}": [
            (0, 1, encode(b, 0), i, 1) for i in range(30)
        ]
        for b in range(3)
    }


def test_delete_events_lie_in_the_bucket_file_of_the_writer_they_name(lab: Lab) -> None:
    t = lab.create("id bigint")
    lab.sql(f"INSERT INTO {t} SELECT id FROM {{r}}", r=lab.spark.range(0, 90, 1, 3))
    lab.sql(f"INSERT INTO {t} SELECT id FROM {{r}}", r=lab.spark.range(100, 120, 1, 2))
    lab.sql(f"DELETE FROM {t} WHERE id % 10 = 5")
    files = check_files(lab, t, ("id",))
    deletes = {p: f.events for p, f in files.items() if p.startswith("delete_delta")}
    assert deletes == {
        f"delete_delta_0000003_0000003_0000/bucket_{b:05d}": [
            *((2, 1, encode(b, 0), i, 3) for i in (5, 15, 25)),
            *([(2, 2, encode(b, 0), 5, 3)] if b < 2 else []),
        ]
        for b in range(3)
    }


def test_a_minor_compaction_merges_deltas_and_a_major_one_makes_a_base(lab: Lab) -> None:
    t = lab.create("id int, v string", values="(1, 'a'), (2, 'b'), (3, 'c')")
    lab.sql(f"UPDATE {t} SET v = 'B' WHERE id = 2")
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    rows = lab.rows(t, "id, v, row__id")
    minor = lab.compact(t, "minor")
    assert (minor.type, minor.state, minor.highestwriteid) == ("minor", "succeeded", 3)
    merged = f"delta_0000001_0000003_v{minor.txnid:07d}"
    assert lab.tree(t) == expected_tree(merged, f"delete_{merged}")
    files = check_files(lab, t, ("id", "v"))
    bucket = encode(0, 0)
    assert files[f"{merged}/bucket_00000"].events == [
        *((0, 1, bucket, i, 1) for i in range(3)),
        (0, 2, bucket, 0, 2),
    ]
    assert files[f"delete_{merged}/bucket_00000"].events == [
        (2, 1, bucket, 1, 2),
        (2, 1, bucket, 2, 3),
    ]
    assert lab.rows(t, "id, v, row__id") == rows

    lab.insert(t, "(4, 'd')")
    rows = lab.rows(t, "id, v, row__id")
    major = lab.compact(t, "major")
    assert (major.type, major.state, major.highestwriteid) == ("major", "succeeded", 4)
    base = f"base_0000004_v{major.txnid:07d}"
    assert lab.tree(t) == expected_tree(base)
    assert check_files(lab, t, ("id", "v"))[f"{base}/bucket_00000"].events == [
        (0, 1, bucket, 0, 1),
        (0, 2, bucket, 0, 2),
        (0, 4, bucket, 0, 4),
    ]
    assert lab.rows(t, "id, v, row__id") == rows


def test_a_minor_compaction_after_a_base_leaves_the_base(lab: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    lab.insert(t, "(3)")
    base = f"base_0000002_v{lab.compact(t, 'major').txnid:07d}"
    lab.insert(t, "(4)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    lab.insert(t, "(5)")
    merged = f"delta_0000003_0000005_v{lab.compact(t, 'minor').txnid:07d}"
    assert lab.tree(t) == expected_tree(base, merged, f"delete_{merged}")
    check_files(lab, t, ("id",))
    assert lab.rows(t) == [(2,), (3,), (4,), (5,)]


def test_a_major_compaction_of_no_rows_leaves_an_empty_base(lab: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    lab.sql(f"DELETE FROM {t}")
    base = f"base_0000002_v{lab.compact(t, 'major').txnid:07d}"
    assert lab.tree(t) == [f"{base}/", f"{base}/_orc_acid_version"]
    assert lab.rows(t) == []
    lab.insert(t, "(3)")
    assert lab.rows(t) == [(3,)]
    assert "delta_0000003_0000003_0000" in lab.directories(t)


@pytest.mark.repeated
def test_compaction_takes_partitions_one_by_one(lab: Lab) -> None:
    t = lab.create("v int", partitioned="p int", values="(1, 1), (2, 2)")
    lab.insert(t, "(3, 1), (4, 2)")
    lab.sql(f"DELETE FROM {t} WHERE v = 1")
    base = f"base_0000003_v{lab.compact(t, 'major', 'p = 1').txnid:07d}"
    untouched = expected_tree("delta_0000001_0000001_0000", "delta_0000002_0000002_0000")
    assert lab.tree(t) == sorted(
        [
            "p=1/",
            *(f"p=1/{x}" for x in expected_tree(base)),
            "p=2/",
            *(f"p=2/{x}" for x in untouched),
        ]
    )
    check_files(lab, t, ("v",))
    assert lab.rows(t) == [(2, 2), (3, 1), (4, 2)]
