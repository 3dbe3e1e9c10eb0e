"""Plain ORC tables that become transactional where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import acidsql
from acidsql.commands.convert_to_acid import new_names
from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.format.bucket_codec import encode
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

TO_ACID = "ALTER TABLE {t} SET TBLPROPERTIES ('transactional'='true')"
FIRST = 10_000_001


@pytest.fixture
def plain(lab: Lab) -> Iterator[str]:
    """Yield the name of a table that a test makes in Spark's catalog."""
    name = f"plain{id(lab)}"
    yield name
    lab.sql(f"DROP TABLE IF EXISTS {name}")


def _files(place: Path) -> list[str]:
    return sorted(str(p.relative_to(place)) for p in place.rglob("[0-9b]*") if p.is_file())


def _place(spark: SparkSession, table: str) -> Path:
    return Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")) / table


@pytest.mark.slow
def test_a_table_of_spark_keeps_its_files_and_is_changed(lab: Lab, plain: str) -> None:
    lab.sql(f"CREATE TABLE {plain} (id INT, c CHAR(3), v DECIMAL(5,2) COMMENT 'x') USING orc")
    lab.sql(
        f"INSERT INTO {plain} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 'a', 1.5), (2, 'b', 2)"
    )
    lab.sql(f"INSERT INTO {plain} SELECT /*+ COALESCE(1) */ * FROM VALUES (3, 'c', NULL)")
    place = _place(lab.spark, plain)
    before = {p.read_bytes() for p in place.glob("part-*")}
    assert lab.sql(TO_ACID.format(t=plain)) == []
    assert {p.read_bytes() for p in place.glob("00000?_0")} == before
    assert _files(place) == ["000000_0", "000001_0"]
    assert not lab.spark.catalog.tableExists(plain)
    found = dict(lab.sql(f"SELECT id, struct(row__id.writeid, row__id.rowid) FROM {plain}"))
    assert sorted(tuple(found[i]) for i in (1, 2)) == [(0, 0), (0, 1)]
    assert tuple(found[3]) == (0, 0)
    lab.sql(f"UPDATE {plain} SET v = 9 WHERE id = 2")
    lab.sql(f"DELETE FROM {plain} WHERE id = 3")
    lab.sql(f"INSERT INTO {plain} VALUES (4, 'd', 4)")
    assert {p.name for p in place.glob("delta*")} == {
        f"delta_{FIRST}_{FIRST}_0000",
        f"delta_{FIRST + 2}_{FIRST + 2}_0000",
    }
    kept = lab.sql(f"SELECT id, row__id FROM {plain} WHERE id = 1")
    lab.compact(plain, "major")
    assert lab.sql(f"SELECT id, row__id FROM {plain} WHERE id = 1") == kept
    assert lab.sql(f"SELECT id, c, v FROM {plain} ORDER BY id") == [
        (1, "a  ", 1.5),
        (2, "b  ", 9),
        (4, "d  ", 4),
    ]
    described = {row[0]: row for row in lab.sql(f"DESCRIBE {plain}")}
    assert described["c"][1] == "char(3)"
    assert described["v"][2] == "x"


@pytest.mark.slow
def test_partitions_are_those_that_spark_knew(lab: Lab, plain: str) -> None:
    lab.sql(f"CREATE TABLE {plain} (id INT, p STRING, q DATE) USING orc PARTITIONED BY (p, q)")
    lab.sql(
        f"INSERT INTO {plain} VALUES (1, 'x/y', DATE '2024-01-01'), (2, NULL, NULL), "
        "(3, 'x/y', DATE '2024-01-01')"
    )
    rows = lab.sql(f"SELECT * FROM {plain} ORDER BY id")
    lab.sql(TO_ACID.format(t=plain))
    assert lab.sql(f"SELECT * FROM {plain} ORDER BY id") == rows
    assert sorted(lab.sql(f"SHOW PARTITIONS {plain}")) == [
        ("p=__HIVE_DEFAULT_PARTITION__/q=__HIVE_DEFAULT_PARTITION__",),
        ("p=x%2Fy/q=2024-01-01",),
    ]
    lab.sql(f"UPDATE {plain} SET id = 7 WHERE p = 'x/y' AND id = 1")
    assert {row[0] for row in lab.sql(f"SELECT id FROM {plain}")} == {2, 3, 7}


def test_an_empty_table_gets_the_same_write_ids(lab: Lab, plain: str) -> None:
    lab.sql(f"CREATE TABLE {plain} (id INT) USING orc")
    lab.sql(TO_ACID.format(t=plain))
    lab.sql(f"INSERT INTO {plain} VALUES (1)")
    (row_id,) = lab.sql(f"SELECT row__id FROM {plain}")[0]
    assert tuple(row_id) == (FIRST, encode(0), 0)


def test_an_external_table_is_taken_over_if_that_is_said(
    lab: Lab, plain: str, tmp_path: Path
) -> None:
    lab.frame("SELECT 1 AS id").write.orc(str(tmp_path / "files"))
    lab.sql(f"CREATE TABLE {plain} (id INT) USING orc LOCATION '{tmp_path / 'files'}'")
    with pytest.raises(AcidAnalysisError, match="it is external; add 'EXTERNAL'='FALSE'") as caught:
        lab.sql(TO_ACID.format(t=plain))
    assert caught.value.condition == "CANNOT_CONVERT_TABLE"
    lab.sql(
        f"ALTER TABLE {plain} SET TBLPROPERTIES ('EXTERNAL'='FALSE', 'transactional'='true', "
        "'orc.compress'='zlib')"
    )
    assert lab.sql(f"SELECT * FROM {plain}") == [(1,)]
    properties = dict(lab.sql(f"SHOW TBLPROPERTIES {plain}"))
    assert properties["orc.compress"] == "zlib"
    assert {"EXTERNAL", "external"}.isdisjoint(properties)


@pytest.mark.parametrize(
    ("create", "reason"),
    [
        ("(id INT, v STRING) USING parquet", "its format is parquet, not ORC"),
        (
            "(id INT, v STRING) USING orc CLUSTERED BY (id) INTO 2 BUCKETS",
            "it has Spark's buckets, whose hash is not Hive's",
        ),
        (
            "(v STRING, id INT) USING orc TBLPROPERTIES ('transactional_properties'='insert_only')",
            "its rows would be in no delta",
        ),
        ("(v STRING, id INT) USING orc", "has the columns id, v, the table v, id"),
        ("(id INT, w STRING) USING orc", "has the columns id, v, the table id, w"),
    ],
)
def test_what_cannot_be_converted_stays_as_it_is(
    lab: Lab, plain: str, create: str, reason: str
) -> None:
    lab.sql(f"CREATE TABLE {plain} {create}")
    place = _place(lab.spark, plain)
    if "orc" in create:
        lab.frame("SELECT 1 AS id, 'a' AS v").write.mode("append").orc(str(place))
    before = _files(place), lab.spark.table(plain).collect()
    with pytest.raises(AcidAnalysisError, match=reason) as caught:
        lab.sql(TO_ACID.format(t=plain))
    assert caught.value.condition == "CANNOT_CONVERT_TABLE"
    assert (_files(place), lab.spark.table(plain).collect()) == before
    assert lab.session.metastore.find_table("default", plain) is None
    assert not lab.session.metastore.locks()


@pytest.mark.parametrize("stranger", ["_none", "delta_0000001_0000001_0000", "sub", "broken"])
def test_files_that_are_none_of_the_tables_are_named(lab: Lab, plain: str, stranger: str) -> None:
    lab.sql(f"CREATE TABLE {plain} (id INT) USING orc")
    lab.sql(f"INSERT INTO {plain} VALUES (1)")
    place = _place(lab.spark, plain)
    if stranger == "_none":
        lab.sql(TO_ACID.format(t=plain))
        assert lab.sql(f"SELECT * FROM {plain}") == [(1,)]
        return
    if stranger == "broken":
        (place / stranger).write_bytes(b"not ORC")
    else:
        (place / stranger).mkdir()
        (place / stranger / "file").write_bytes(b"")
    with pytest.raises((AcidAnalysisError, FormatError), match=f"{plain}/{stranger}"):
        lab.sql(TO_ACID.format(t=plain))
    assert len(list(place.glob("part-*"))) == 1
    assert lab.session.metastore.find_table("default", plain) is None


def test_timestamps_of_another_zone_are_refused(lab: Lab, plain: str) -> None:
    lab.sql(f"CREATE TABLE {plain} (id INT, t TIMESTAMP) USING orc")
    with (
        lab.settings(spark__sql__session__timeZone="Asia/Kolkata"),
        pytest.raises(AcidAnalysisError, match=r"the timestamps of t in .* Asia/Kolkata"),
    ):
        lab.sql(TO_ACID.format(t=plain))


def test_a_failure_in_the_middle_is_taken_back(
    lab: Lab, plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.sql(f"CREATE TABLE {plain} (id INT) USING orc")
    lab.sql(f"INSERT INTO {plain} VALUES (1)")
    place = _place(lab.spark, plain)
    before = sorted(p.name for p in place.glob("part-*"))

    def fail(*_: object) -> None:
        raise OSError("disk")

    monkeypatch.setattr(type(lab.session.metastore), "convert_table", fail)
    with pytest.raises(OSError, match="disk"):
        lab.sql(TO_ACID.format(t=plain))
    monkeypatch.undo()
    assert sorted(p.name for p in place.glob("part-*")) == before
    assert lab.spark.table(plain).collect() == [(1,)]


def test_other_properties_and_tables_are_sparks(lab: Lab, plain: str) -> None:
    lab.sql(f"CREATE TABLE {plain} (id INT) USING orc")
    lab.sql(f"ALTER TABLE {plain} SET TBLPROPERTIES ('transactional'='false', 'a'='b')")
    assert ("a", "b") in lab.sql(f"SHOW TBLPROPERTIES {plain}")
    with pytest.raises(AnalysisException, match="nowhere"):
        acidsql.sql(lab.spark, TO_ACID.format(t="nowhere"))


def test_names_that_say_their_buckets_are_kept() -> None:
    assert new_names(["000000_0_copy_1", "000001_0", "x", "a"]) == [
        ("a", "000000_0"),
        ("x", "000002_0"),
    ]
    many = [f"part-{i:05d}" for i in range(4098)]
    renamed = new_names(many)
    assert [new for _, new in renamed[-2:]] == ["000000_0_copy_1", "000001_0_copy_1"]
    assert len({new for _, new in renamed}) == len(many)
