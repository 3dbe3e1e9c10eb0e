"""Tests of CHECK TABLE: what is found of damages that are made to real files, and repaired."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyorc
import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.checking import check
from acidsql.checking.problems import KINDS
from acidsql.format.bucket_codec import encode
from acidsql.injection_points import Point
from acidsql.metastore.catalog_changes import RecordStatistics
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Partition
from acidsql.storage.pyorc_files import count_events
from acidsql.storage.readable_files import ReadableFiles
from acidsql.transactions.transaction import transaction
from acidsql.transactions.write_intent import insert_intent
from tests.injection import failing
from tests.limits import set_limits
from tests.product.conditions import condition
from tests.product.conftest import Lab
from tests.product.damages import ADDED, DAMAGES, DELTA, FILE, LATER, Damage, checksums, write

pytestmark = pytest.mark.spark

# Write ids that the metastore knows of; damages add directories with some of them.
_KNOWN = 9


@pytest.fixture(scope="module")
def written(spark: SparkSession) -> Path:
    """Return the directory of a table with rows 1 and 3; row 2 is deleted."""
    lab = Lab(spark)
    made = lab.create("id INT, s STRING", values="(1, 'a'), (2, 'b')")
    lab.sql(f"DELETE FROM {made} WHERE id = 2")
    lab.insert(made, "(3, 'c')")
    return lab.root(made)


@pytest.fixture
def table(lab: Lab, written: Path) -> str:
    """Return a table with a copy of its files."""
    made = lab.create("id INT, s STRING")
    shutil.copytree(written, lab.root(made), dirs_exist_ok=True)
    lab.session.metastore.seed_write_id("default", made, _KNOWN + 1)
    return made


def found(lab: Lab, table: str, clauses: str = "FAST") -> list[tuple[str, str]]:
    """Return the problems of a table with their paths below its directory, sorted."""
    rows = lab.frame(f"CHECK TABLE {table} {clauses}").collect()
    root = f"file:{lab.root(table)}"
    for row in rows:
        kind = KINDS[row.problem]
        assert (row.severity, row.remedy) == (kind.severity, kind.remedy)
        assert row.detail
    return sorted((row.problem, row.path.removeprefix(root).lstrip("/")) for row in rows)


def test_events_are_counted_by_pyorc_too(
    lab: Lab, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = f"{DELTA}/{FILE}"
    counts = {f"file:{lab.root(table)}/{file}": 1}
    counted = count_events

    def count(files: ReadableFiles, path: str, size: int) -> int:
        return counts.get(path, counted(files, path, size))

    monkeypatch.setattr(check, "count_events", count)
    (row,) = lab.frame(f"CHECK TABLE {table} FULL").collect()
    assert (row.problem, row.detail) == (
        "DAMAGED_STRIPES",
        "pyorc reads 1 events, its tail says 2",
    )
    monkeypatch.setattr(check, "has_pyorc", lambda: False)
    assert found(lab, table, "FULL") == []


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", [name for name, one in DAMAGES.items() if not one.full])
def test_a_damage_is_found_by_names_and_tails(lab: Lab, table: str, name: str) -> None:
    DAMAGES[name].make(lab.root(table))
    before = lab.tree(table)
    assert found(lab, table) == sorted(DAMAGES[name].found)
    assert found(lab, table, "FAST REPAIR DRY RUN") == sorted(DAMAGES[name].found)
    assert lab.tree(table) == before


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_found_by_row_ids(lab: Lab, table: str, name: str) -> None:
    """Check that FULL finds all that FAST finds, and nothing that follows from it."""
    damage: Damage = DAMAGES[name]
    damage.make(lab.root(table))
    assert found(lab, table, "FULL") == sorted(damage.found)
    assert found(lab, table, "FAST") == ([] if damage.full else sorted(damage.found))


_BY_SPARK = [name for name, damage in DAMAGES.items() if damage.full]


@pytest.mark.sample("a delete event of no row")
@pytest.mark.parametrize("name", _BY_SPARK)
def test_a_damage_is_found_by_spark(
    lab: Lab, table: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that Spark, which reads large tables, finds the same as the driver."""
    DAMAGES[name].make(lab.root(table))
    by_driver = lab.sql(f"CHECK TABLE {table} FULL")
    with monkeypatch.context() as patch:
        set_limits(patch, checked_events=0)
        by_spark = lab.sql(f"CHECK TABLE {table} FULL")
    if name == "rows that cannot be read":  # each says it in its own words
        assert [row[:6] for row in by_spark] == [row[:6] for row in by_driver]
    else:
        assert by_spark == by_driver


def test_all_kinds_of_problems_are_made_by_a_test() -> None:
    """Check that this file, and those of pure parts and of object stores, make each kind."""
    made = {name for damage in DAMAGES.values() for name, _ in damage.found}
    assert len(made) > 35
    elsewhere = Path(__file__).read_text("utf-8")
    tests = Path(__file__).parents[1]
    for place in (*(tests / "checking").glob("test_*.py"), *(tests / "s3").glob("test_*.py")):
        elsewhere += place.read_text("utf-8")
    assert {name for name in KINDS if name not in made and f'"{name}"' not in elsewhere} == set()


def test_a_row_of_the_answer(lab: Lab, table: str) -> None:
    lab.session.metastore.seed_write_id("default", table, 10)
    write(lab.root(table) / ADDED / FILE, [(0, 4, encode(0), 5, 4), (0, 4, encode(0), 5, 4)])
    (row,) = lab.frame(f"CHECK TABLE {table} FULL").collect()
    assert row.asDict() == {
        "problem": "DUPLICATE_ROW_ID",
        "severity": "error",
        "partition": None,
        "path": f"file:{lab.root(table)}/{ADDED}/{FILE}",
        "bucket": 0,
        "row__id": '{"writeid":4,"bucketid":536870912,"rowid":5}',
        "detail": "1 events have the row id of the event before them",
        "remedy": KINDS["DUPLICATE_ROW_ID"].remedy,
    }


# -- tables that are as they should be


def _statements(lab: Lab, table: str, values: Mapping[str, str]) -> None:
    """Write a table in every way, and check it after each."""
    lab.insert(table, values["three"])
    lab.sql(f"UPDATE {table} SET s = 'u' WHERE id = 1")
    lab.sql(f"DELETE FROM {table} WHERE id = 2")
    lab.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES {values['three']} "
        f"AS s({values['names']})) s ON t.id = s.id "
        "WHEN MATCHED AND t.id = 1 THEN UPDATE SET s = 'm'"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    )


_SHAPES = {
    "plain": {},
    "partitioned": {"partitioned": "p STRING"},
    "bucketed": {"clustered": "(id) INTO 2 BUCKETS"},
    "both": {"partitioned": "p STRING", "clustered": "(id) INTO 2 BUCKETS"},
}


@pytest.mark.repeated
@pytest.mark.parametrize("shape", _SHAPES)
def test_spark_finds_nothing_wrong_with_what_statements_write(
    lab: Lab, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, checked_events=0)
    test_nothing_is_wrong_with_what_statements_write(lab, shape)


@pytest.mark.slow
@pytest.mark.sample("both")
@pytest.mark.parametrize("shape", _SHAPES)
def test_nothing_is_wrong_with_what_statements_write(lab: Lab, shape: str) -> None:
    clauses = _SHAPES[shape]
    table = lab.create("id INT, s STRING", **clauses)  # type: ignore[arg-type]
    last = ", 'x'" if "partitioned" in clauses else ""
    values = {
        "three": f"(1, 'a'{last}), (2, 'b'{last}), (3, 'c'{last})",
        "names": "id, s, p" if last else "id, s",
    }
    part = "p = 'x'" if last else ""
    assert found(lab, table, "FULL") == []
    _statements(lab, table, values)
    assert found(lab, table, "FULL") == []
    lab.compact(table, "minor", part)
    assert found(lab, table, "FULL") == []
    _statements(lab, table, values)
    lab.compact(table, "major", part)
    _statements(lab, table, values)
    assert found(lab, table, "FULL") == []
    lab.sql(f"INSERT OVERWRITE {table} SELECT * FROM VALUES {values['three']}")
    assert found(lab, table, "FULL") == []
    lab.sql(f"TRUNCATE TABLE {table}")
    assert found(lab, table, "FULL") == []


@pytest.mark.repeated
@pytest.mark.parametrize("file_format", ["ORC", "PARQUET", "TEXTFILE"])
def test_nothing_is_wrong_with_insert_only_tables(lab: Lab, file_format: str) -> None:
    table = f"checked_{file_format.lower()}"
    lab.sql(
        f"CREATE TABLE {table} (id INT) STORED AS {file_format} TBLPROPERTIES "
        "('transactional'='true', 'transactional_properties'='insert_only')"
    )
    lab.insert(table, "(1), (2)")
    lab.insert(table, "(3)")
    assert found(lab, table, "FULL") == []
    lab.compact(table, "major")
    assert found(lab, table, "FULL") == []
    write(lab.root(table) / "delete_delta_0000001_0000001_0000" / FILE, [])
    (lab.root(table) / "base_0000002_v0000001").exists()
    assert ("UNEXPECTED_DELETE_DELTA", "delete_delta_0000001_0000001_0000") in found(lab, table)
    lab.sql(f"DROP TABLE {table}")


@pytest.mark.repeated
def test_nothing_is_wrong_with_original_files(lab: Lab, tmp_path: Path) -> None:
    """Check an adopted table whose rows have no row ids, some of them deleted."""
    root = tmp_path / "t"
    root.mkdir()
    for name, rows in {"000000_0": 3, "000000_0_copy_1": 2, "000001_0": 1}.items():
        kind = "struct<id:int,s:string>"
        with (root / name).open("wb") as stream, pyorc.Writer(stream, kind) as writer:
            writer.writerows([(i, "a") for i in range(rows)])
    lab.sql(
        f"CREATE TABLE adopted (id INT, s STRING) STORED AS ORC LOCATION '{root}' "
        "TBLPROPERTIES ('transactional'='true')"
    )
    assert found(lab, "adopted", "FULL") == []
    lab.sql("UPDATE adopted SET s = 'b' WHERE id = 1")
    assert found(lab, "adopted", "FULL") == []
    lab.compact("adopted", "minor")
    lab.compact("adopted", "major")
    assert found(lab, "adopted", "FULL") == []
    lab.sql("DROP TABLE adopted")


# -- tables and partitions


def test_what_an_aborted_transaction_left(lab: Lab, table: str) -> None:
    metastore = lab.session.metastore
    txn_id = metastore.open_txn("ann", "host")
    write_id = metastore.allocate_write_id(txn_id, "default", table)
    name = f"delta_{write_id:07d}_{write_id:07d}_0000"
    write(lab.root(table) / name / FILE, [(0, write_id, encode(0), 0, write_id)])
    assert found(lab, table, "FULL") == []  # it is open
    metastore.abort_txn(txn_id)
    (lab.root(table) / "_acidsql_staging_9999999").mkdir()
    expected = [("ABORTED_DIRECTORY", name), ("DEAD_STAGING_DIRECTORY", "_acidsql_staging_9999999")]
    assert found(lab, table) == expected
    before = lab.rows(table, "*, row__id")
    assert found(lab, table, "REPAIR") == expected
    assert found(lab, table) == []
    assert lab.rows(table, "*, row__id") == before
    (aside,) = (lab.root(table) / "_acidsql_aside").iterdir()
    assert sorted(path.name for path in aside.iterdir()) == sorted(name for _, name in expected)
    assert (aside / name / FILE).exists()


def test_partitions_and_directories(lab: Lab) -> None:
    table = lab.create("id INT", partitioned="p STRING", values="(1, 'a'), (2, 'b/'), (3, 'c')")
    root, metastore = lab.root(table), lab.session.metastore
    assert found(lab, table, "FULL") == []
    shutil.copytree(root / "p=a", root / "p=new")
    (root / "p=empty").mkdir()
    (root / "q=1").mkdir()
    (root / "notes.txt").touch()
    shutil.rmtree(root / "p=b%2F")
    (root / "p=c" / DELTA / FILE).write_bytes(b"")
    assert found(lab, table) == [
        ("DIRECTORY_NOT_FOUND", "p=b%2F"),
        ("EMPTY_FILE", f"p=c/{DELTA}/{FILE}"),
        ("UNEXPECTED_PARTITION_DIRECTORY", "notes.txt"),
        ("UNEXPECTED_PARTITION_DIRECTORY", "q=1"),
        ("UNREGISTERED_PARTITION", "p=new"),
    ]
    assert found(lab, table, "PARTITION (p = 'a') FULL") == []
    (row,) = lab.frame(f"CHECK TABLE {table} PARTITION (p = 'c')").collect()
    assert (row.problem, row.partition, row.bucket) == ("EMPTY_FILE", "p=c", 0)
    assert condition(lab, f"CHECK TABLE {table} PARTITION (p = 'z')") == "PARTITIONS_NOT_FOUND"
    lab.sql(f"CHECK TABLE {table} REPAIR")
    assert ("UNREGISTERED_PARTITION", "p=new") not in found(lab, table)
    assert lab.sql(f"SELECT id, p FROM {table} WHERE p IN ('a', 'new') ORDER BY p") == [
        (1, "a"),
        (1, "new"),
    ]
    metastore.alter_partitions(
        "default", table, [Partition(values=("new",), location=f"file:{root}/p=a")]
    )
    assert ("SHARED_PARTITION_LOCATION", "p=a") in found(lab, table)


@pytest.mark.slow
def test_files_of_committed_writes_that_are_lost(lab: Lab) -> None:
    """Check that what nothing in the table shows is known from the history."""
    table = lab.create("id INT", partitioned="p INT", values="(1, 1), (2, 1), (3, 2)")
    lab.sql(f"DELETE FROM {table} WHERE id = 1")
    lab.sql(f"INSERT INTO {table} VALUES (4, 3)")
    lab.sql("START TRANSACTION")
    lab.sql(f"INSERT INTO {table} VALUES (5, 1), (6, 4)")
    lab.sql(f"UPDATE {table} SET id = 7 WHERE id = 6")
    lab.sql("COMMIT")
    assert found(lab, table, "FULL") == []
    root = lab.root(table)
    shutil.move(root / "p=1/delete_delta_0000002_0000002_0000", root.parent / "moved")
    assert found(lab, table) == [("LOST_FILES", "delete_delta_0000002_0000002")]
    (row,) = lab.frame(f"CHECK TABLE {table}").collect()
    assert row.detail == (
        "write id 2 (DELETE) has committed 1 files with rows or delete events, and 0 are there"
    )
    assert found(lab, table, "PARTITION (p = 1) FULL") == []
    (root / "p=2/delta_0000001_0000001_0000/bucket_00000").unlink()
    shutil.rmtree(root / "p=4/delta_0000004_0000004_0001")
    assert set(found(lab, table)) == {
        ("LOST_FILES", "delete_delta_0000002_0000002"),
        ("LOST_FILES", "delta_0000001_0000001"),
        ("LOST_FILES", "delta_0000004_0000004"),
    }
    # What a compaction has merged is not known any more, nor what was before a dropped partition.
    lab.sql(f"ALTER TABLE {table} PARTITION (p = 1) COMPACT 'minor' AND WAIT")
    assert found(lab, table) == []
    lab.sql(f"INSERT INTO {table} VALUES (8, 8)")
    lab.sql(f"ALTER TABLE {table} DROP PARTITION (p = 8)")
    lab.sql(f"INSERT INTO {table} VALUES (9, 9)")
    assert found(lab, table) == []
    shutil.rmtree(root / "p=9/delta_0000007_0000007_0000")
    assert found(lab, table) == [("LOST_FILES", "delta_0000007_0000007")]


def test_a_partition_with_other_columns_is_not_added(lab: Lab) -> None:
    other = lab.create("x STRING", partitioned="p STRING", values="('x', 'a')")
    table = lab.create("id INT", partitioned="p STRING")
    shutil.copytree(lab.root(other) / "p=a", lab.root(table) / "p=a")
    (row,) = lab.frame(f"CHECK TABLE {table} REPAIR").collect()
    assert (row.problem, row.repaired) == ("UNREGISTERED_PARTITION", False)
    assert lab.sql(f"SHOW PARTITIONS {table}") == []


def test_the_owner_of_a_directory(lab: Lab, table: str) -> None:
    path = lab.root(table) / "_acidsql_owner"
    lab.insert(table, "(4, 'd')")
    own = path.read_text()
    path.write_text("{")
    assert found(lab, table) == [("INVALID_OWNER_FILE", "_acidsql_owner")]
    other = lab.create("id INT", values="(1)")
    claim = (lab.root(other) / "_acidsql_owner").read_text()
    path.write_text(claim.replace(f"/{other}", f"/{table}"))
    assert found(lab, table) == [("TABLE_OF_ANOTHER_METASTORE", "_acidsql_owner")]
    path.write_text(own)
    assert found(lab, table) == []


def test_statistics_that_are_stale(lab: Lab) -> None:
    accurate = {"numRows": "3", "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}'}
    table = lab.create("id INT", properties=accurate, values="(1), (2), (3)")
    assert found(lab, table) == []
    lab.sql(f"DELETE FROM {table} WHERE id = 2")
    assert found(lab, table) == [("STALE_STATISTICS", "")]
    lab.sql(f"CHECK TABLE {table} REPAIR")
    assert found(lab, table) == []
    properties = dict(lab.sql(f"SHOW TBLPROPERTIES {table}"))
    assert not accurate.keys() & properties.keys()


def test_statistics_of_analyze_that_are_not_those_of_the_files(lab: Lab) -> None:
    table = lab.create("id INT", partitioned="p INT", values="(1, 1), (2, 1), (3, 2)")
    lab.sql(f"DELETE FROM {table} WHERE id = 2")
    lab.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS")
    assert found(lab, table) == []
    kept = lab.session.metastore.statistics(lab.session.metastore.table("default", table), None)
    assert kept is not None
    assert kept.rows == 2
    with transaction(lab.session) as opened:
        wrong = RecordStatistics(
            table=lab.session.metastore.table("default", table),
            computed=(replace(kept, partition=None, rows=7),),
        )
        opened.commit([wrong])
    assert found(lab, table) == [("STALE_STATISTICS", "")]
    lab.sql(f"CHECK TABLE {table} REPAIR")
    assert found(lab, table) == []


def test_codecs(lab: Lab, table: str) -> None:
    lab.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('orc.compress' = 'NONE')")
    assert {name for name, _ in found(lab, table)} == {"OTHER_CODEC"}
    lab.compact(table, "major")
    assert found(lab, table) == []


@pytest.mark.repeated
def test_buckets_of_a_bucketed_table(lab: Lab) -> None:
    table = lab.create("id INT, s STRING", clustered="(id) INTO 2 BUCKETS", values="(0, 'a')")
    lab.session.metastore.seed_write_id("default", table, 10)
    # Hive's hash puts 0 and 1 into bucket 1, and 3 into bucket 0.
    write(lab.root(table) / ADDED / FILE, [(0, 4, encode(0), 0, 4)], row=(1, "x"))
    assert found(lab, table) == []
    assert found(lab, table, "FULL") == [("ROW_IN_WRONG_BUCKET", "")]
    write(lab.root(table) / ADDED / "bucket_00002", [(0, 4, encode(2), 0, 4)])
    assert found(lab, table) == [("TOO_MANY_BUCKETS", f"{ADDED}/bucket_00002")]


@pytest.mark.repeated
def test_original_files_of_an_insert_only_table(lab: Lab) -> None:
    table = lab.create(
        "id INT", properties={"transactional_properties": "insert_only"}, values="(1)"
    )
    shutil.copy(next((lab.root(table) / DELTA).glob("0*")), lab.root(table) / "000000_0")
    assert found(lab, table) == [("UNSUPPORTED_ORIGINAL_FILES", "000000_0")]


# -- repair


_RESTAMPED = [
    "no key index",
    "an empty key index",
    "a key index of another file",
    "no counts",
    "counts of another file",
    "another ACID version of a file",
]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", _RESTAMPED)
def test_metadata_are_written_anew(lab: Lab, table: str, name: str) -> None:
    DAMAGES[name].make(lab.root(table))
    file = lab.root(table) / ADDED / FILE
    old, rows = file.read_bytes(), lab.rows(table, "*, row__id")
    file.with_name(f".{FILE}.crc").write_bytes(checksums(old))
    (row,) = lab.frame(f"CHECK TABLE {table} REPAIR").collect()
    (aside,) = (lab.root(table) / "_acidsql_aside").iterdir()
    assert row.repaired
    assert row.repair == f"rewritten; the old file is file:{aside}/{ADDED}/{FILE}"
    assert found(lab, table, "FULL") == []
    assert lab.rows(table, "*, row__id") == rows
    assert (aside / ADDED / FILE).read_bytes() == old
    assert not file.with_name(f".{FILE}.crc").exists()
    read = lab.file(file)
    assert read.metadata["hive.acid.key.index"] == read.expected_key_index
    assert (read.metadata["hive.acid.stats"], read.metadata["hive.acid.version"]) == ("1,0,0", "2")
    # What was moved aside is not looked into.
    lab.compact(table, "major")
    assert (aside / ADDED / FILE).exists()
    assert found(lab, table) == []


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "name",
    [
        "a checksum file of a file that was longer",
        "no version file",
        "a write id that was never given",
        "a transaction id that was never given",
    ],
)
def test_what_can_be_repaired_safely(lab: Lab, table: str, name: str) -> None:
    DAMAGES[name].make(lab.root(table))
    rows = lab.frame(f"CHECK TABLE {table} REPAIR").collect()
    assert [(row.problem, row.repaired) for row in rows] == [(DAMAGES[name].found[0][0], True)]
    assert found(lab, table, "FULL") == []


def test_what_cannot_be_repaired_safely_stays(lab: Lab, table: str) -> None:
    DAMAGES["a file of zeros"].make(lab.root(table))
    before = lab.tree(table)
    (row,) = lab.frame(f"CHECK TABLE {table} REPAIR").collect()
    assert (row.problem, row.repair, row.repaired) == ("INVALID_ORC_TAIL", None, False)
    assert lab.tree(table) == before


def test_a_repair_waits_for_writers(lab: Lab, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    metastore = lab.session.metastore
    DAMAGES["no version file"].make(lab.root(table))
    other = lab.session.metastore.open_txn("ann", "host")
    definition = metastore.table("default", table)
    metastore.lock(
        other, [insert_intent(definition, RecordedStatement(operation="INSERT")).request()]
    )
    before = lab.tree(table)
    with monkeypatch.context() as patch:
        patch.setattr(lab.session, "settings", replace(lab.session.settings, lock_timeout=0.2))
        assert condition(lab, f"CHECK TABLE {table} REPAIR") == "LOCK_TIMEOUT"
    assert lab.tree(table) == before
    assert found(lab, table) == [("NO_VERSION_FILE", DELTA)]
    metastore.abort_txn(other)


def test_a_repair_that_fails_puts_everything_back(lab: Lab, table: str) -> None:
    DAMAGES["no key index"].make(lab.root(table))
    (lab.root(table) / "_acidsql_staging_9999999").mkdir()
    before, content = lab.tree(table), (lab.root(table) / ADDED / FILE).read_bytes()

    full = failing(Point.BEFORE_COMMIT, OSError("no space"))
    with full, pytest.raises(OSError, match="no space"):
        lab.sql(f"CHECK TABLE {table} REPAIR")
    left = [name for name in lab.tree(table) if not name.startswith("_acidsql_aside")]
    assert left == before
    assert (lab.root(table) / ADDED / FILE).read_bytes() == content


def test_tables_that_cannot_be_checked(lab: Lab, table: str) -> None:
    assert condition(lab, "CHECK TABLE nowhere") == "TABLE_OR_VIEW_NOT_FOUND"
    assert condition(lab, f"CHECK TABLE {table} PARTITION (p = 1)") == (
        "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY"
    )
    assert acidsql.check(lab.spark, table, full=True).collect() == []
    assert acidsql.check(lab.spark, table, dry_run=True).columns[-2:] == ["repair", "repaired"]
    assert LATER in lab.directories(table)
