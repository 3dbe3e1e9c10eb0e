"""Tests that a table's directory belongs to one table of one metastore."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import AcidAnalysisError
from acidsql.session.acid_session import AcidSession

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC LOCATION '{place}' TBLPROPERTIES ('transactional'='true')"
ANOTHER = r"\[TABLE_OF_ANOTHER_METASTORE\].* belongs to table \d+ of the metastore .*sqlite"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Directory of a table ``t``."""
    return tmp_path / "t"


@pytest.fixture
def owner(empty: SparkSession, place: Path) -> SparkSession:
    """A session whose metastore has ``t``, with the row 1."""
    create(empty, "t", place)
    acidsql.sql(empty, "INSERT INTO t VALUES (1)")
    return empty


@pytest.fixture
def other(empty: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """A session with another metastore."""
    session = empty.newSession()
    session.conf.set("spark.acidsql.metastore", str(tmp_path / "other.sqlite"))
    yield session
    AcidSession.of(session).close()


def create(spark: SparkSession, name: str, place: Path) -> None:
    acidsql.sql(spark, f"CREATE TABLE {name} (id INT) {ACID.format(place=place)}")


def ids(spark: SparkSession, table: str = "t") -> list[int]:
    return [row.id for row in acidsql.sql(spark, f"SELECT id FROM {table} ORDER BY id").collect()]


def reopened(spark: SparkSession) -> SparkSession:
    """Close the session's state: the next statement opens its metastore again."""
    AcidSession.of(spark).close()
    return spark


def test_another_metastore_cannot_adopt_the_directory(
    owner: SparkSession, other: SparkSession, place: Path
) -> None:
    with pytest.raises(AcidAnalysisError, match=ANOTHER):
        create(other, "mine", place)
    acidsql.sql(owner, "INSERT INTO t VALUES (2)")
    assert ids(owner) == [1, 2]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (2)",
        "DELETE FROM t",
        "TRUNCATE TABLE t",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE t COMPACT 'major'",
        "DROP TABLE t",
    ],
)
def test_of_two_metastores_the_first_to_write_owns_it(
    empty: SparkSession, other: SparkSession, place: Path, statement: str
) -> None:
    create(empty, "t", place)
    create(other, "t", place)  # no session has written yet
    acidsql.sql(empty, "INSERT INTO t VALUES (1)")
    acidsql.sql(empty, "INSERT INTO t VALUES (3)")
    before = sorted(str(path) for path in place.rglob("*"))
    with pytest.raises(AcidAnalysisError, match=ANOTHER):
        acidsql.sql(other, statement)
    assert sorted(str(path) for path in place.rglob("*")) == before
    assert ids(empty) == [1, 3]


def test_a_symbolic_link_to_a_table_is_that_table(owner: SparkSession, place: Path) -> None:
    link = place.with_name("link")
    link.symlink_to(place)
    with pytest.raises(AcidAnalysisError, match=ANOTHER):
        create(owner, "linked", link)


def test_a_symbolic_link_into_a_table_is_part_of_it(owner: SparkSession, place: Path) -> None:
    link = place.with_name("link")
    link.symlink_to(place / "delta_0000001_0000001_0000")
    with pytest.raises(AcidAnalysisError, match=ANOTHER):
        create(owner, "linked", link)


@pytest.mark.parametrize("statement", ["INSERT INTO p VALUES (3, 1)", "DELETE FROM p WHERE id = 2"])
def test_a_partition_that_leads_into_another_table_is_not_written_to(
    owner: SparkSession, place: Path, statement: str
) -> None:
    table = place.with_name("p")
    partitioned = f"PARTITIONED BY (k INT) {ACID.format(place=table)}"
    acidsql.sql(owner, f"CREATE TABLE p (id INT) {partitioned}")
    acidsql.sql(owner, "INSERT INTO p VALUES (2, 1)")
    (table / "k=1").rename(place / "k=1")
    (table / "k=1").symlink_to(place / "k=1")
    before = sorted(str(path) for path in place.rglob("*"))
    with pytest.raises(AcidAnalysisError, match=ANOTHER):
        acidsql.sql(reopened(owner), statement)
    assert sorted(str(path) for path in place.rglob("*")) == before


def test_a_partition_may_lie_on_another_disk(owner: SparkSession, place: Path) -> None:
    table, disk = place.with_name("p"), place.with_name("disk")
    partitioned = f"PARTITIONED BY (k INT) {ACID.format(place=table)}"
    acidsql.sql(owner, f"CREATE TABLE p (id INT) {partitioned}")
    acidsql.sql(owner, "INSERT INTO p VALUES (2, 1)")
    (table / "k=1").rename(disk)
    (table / "k=1").symlink_to(disk)
    acidsql.sql(reopened(owner), "INSERT INTO p VALUES (3, 1)")
    assert ids(owner, "p") == [2, 3]


def test_a_copy_of_the_directory_is_another_table(owner: SparkSession, place: Path) -> None:
    copy = place.with_name("copy")
    shutil.copytree(place, copy)
    create(owner, "copied", copy)
    acidsql.sql(owner, "INSERT INTO copied VALUES (2)")
    assert (ids(owner), ids(owner, "copied")) == ([1], [1, 2])


def test_without_the_file_the_directory_can_be_adopted(
    owner: SparkSession, other: SparkSession, place: Path
) -> None:
    (place / "_acidsql_owner").unlink()
    create(other, "mine", place)
    acidsql.sql(other, "INSERT INTO mine VALUES (2)")
    assert ids(other, "mine") == [1, 2]
    with pytest.raises(AcidAnalysisError, match=ANOTHER):
        acidsql.sql(reopened(owner), "INSERT INTO t VALUES (3)")


def test_the_directory_of_a_table_that_is_gone_can_be_adopted(
    owner: SparkSession, place: Path
) -> None:
    AcidSession.of(owner).metastore.drop_table("default", "t")
    create(owner, "again", place)
    acidsql.sql(owner, "INSERT INTO again VALUES (2)")
    assert ids(owner, "again") == [1, 2]


def test_a_copy_of_the_metastore_is_another_metastore(
    owner: SparkSession, other: SparkSession, tmp_path: Path
) -> None:
    reopened(owner)
    shutil.copy(tmp_path / "metastore.sqlite", tmp_path / "other.sqlite")
    assert ids(other) == [1]
    with pytest.raises(AcidAnalysisError, match=ANOTHER):
        acidsql.sql(other, "INSERT INTO t VALUES (2)")


def test_a_metastore_that_was_moved_is_the_same(
    owner: SparkSession, other: SparkSession, tmp_path: Path
) -> None:
    reopened(owner)
    (tmp_path / "metastore.sqlite").rename(tmp_path / "other.sqlite")
    acidsql.sql(other, "INSERT INTO t VALUES (2)")
    assert ids(other) == [1, 2]


def test_a_renamed_table_stays_its_own(empty: SparkSession) -> None:
    acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    acidsql.sql(empty, f"CREATE TABLE owner_before (id INT) {acid}")
    acidsql.sql(empty, "INSERT INTO owner_before VALUES (1)")
    acidsql.sql(empty, "ALTER TABLE owner_before RENAME TO owner_after")
    acidsql.sql(reopened(empty), "INSERT INTO owner_after VALUES (2)")
    assert ids(empty, "owner_after") == [1, 2]
    acidsql.sql(empty, "DROP TABLE owner_after")


@pytest.mark.parametrize("content", [b"", b"\xff{", b"[]", b'{"owner": {}}'])
def test_a_damaged_file_says_nothing(owner: SparkSession, place: Path, content: bytes) -> None:
    file = place / "_acidsql_owner"
    file.write_bytes(content)
    acidsql.sql(reopened(owner), "INSERT INTO t VALUES (2)")
    assert ids(owner) == [1, 2]
    assert json.loads(file.read_bytes())["location"] == str(place)
