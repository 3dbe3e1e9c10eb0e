"""LOAD DATA: the bytes of files, and the rows that readers make of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.format.bucket_codec import encode
from tests.product.conditions import condition
from tests.product.test_layout import expected_tree

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

BeforeCommit = Callable[[Callable[[], Any]], None]


def orc(lab: Lab, path: Path, *values: str, columns: str = "id, s") -> list[Path]:
    """Write an ORC file for each list of rows; the files."""
    files = []
    for number, rows in enumerate(values):
        frame = lab.spark.sql(f"SELECT * FROM VALUES {rows} AS t({columns})")
        frame.coalesce(1).write.orc(f"{path}/written_{number}")
        (file,) = (path / f"written_{number}").glob("part-*")
        target = path / f"data_{number}.orc"
        file.rename(target)
        shutil.rmtree(path / f"written_{number}")
        files.append(target)
    return files


@pytest.mark.slow
def test_a_file_becomes_a_delta(lab: Lab, tmp_path: Path) -> None:
    t = lab.create("id int, s string", values="(1, 'a'), (2, 'b')")
    (file,) = orc(lab, tmp_path, "(50, 'l1'), (51, 'l2')")
    content = file.read_bytes()
    assert lab.sql(f"LOAD DATA INPATH '{file}' INTO TABLE {t}") == []
    assert not file.exists()
    loaded = ["delta_0000002_0000002_0000/", "delta_0000002_0000002_0000/000000_0"]
    assert lab.tree(t) == sorted([*expected_tree("delta_0000001_0000001_0000"), *loaded])
    assert (lab.root(t) / loaded[1]).read_bytes() == content
    bucket = encode(0, 0)
    assert lab.rows(t, "id, s, row__id") == [
        (1, "a", (1, bucket, 0)),
        (2, "b", (1, bucket, 1)),
        (50, "l1", (2, bucket, 0)),
        (51, "l2", (2, bucket, 1)),
    ]
    lab.sql(f"DELETE FROM {t} WHERE id IN (1, 51)")
    lab.sql(f"UPDATE {t} SET s = 'u' WHERE id = 50")
    assert lab.rows(t) == [(2, "b"), (50, "u")]
    lab.compact(t, "major")
    assert lab.rows(t) == [(2, "b"), (50, "u")]


def test_files_of_a_directory_are_copied_if_they_are_local(lab: Lab, tmp_path: Path) -> None:
    t = lab.create("id int, s string", values="(1, 'a')")
    files = orc(lab, tmp_path, "(50, 'x')", "(60, 'y'), (61, 'z')")
    (tmp_path / "_SUCCESS").touch()
    lab.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}' OVERWRITE INTO TABLE {t}")
    assert all(file.exists() for file in files)
    loaded = ["base_0000002/", "base_0000002/000000_0", "base_0000002/000001_0"]
    assert lab.tree(t) == sorted([*expected_tree("delta_0000001_0000001_0000"), *loaded])
    assert lab.rows(t, "id, row__id") == [
        (50, (2, encode(0, 0), 0)),
        (60, (2, encode(1, 0), 0)),
        (61, (2, encode(1, 0), 1)),
    ]


@pytest.mark.sample(1)
@pytest.mark.parametrize("existing", [True, False])
def test_files_go_to_one_partition(lab: Lab, tmp_path: Path, existing: bool) -> None:
    values = "(1, 'a', 7, 'q')" if existing else ""
    t = lab.create("id int, s string", partitioned="p int, q string", values=values)
    (file,) = orc(lab, tmp_path, "(50, 'x')")
    lab.sql(f"LOAD DATA INPATH '{file}' INTO TABLE {t} PARTITION (q = 'q', p = 7)")
    rows = [(1, "a", 7, "q")] if existing else []
    assert lab.rows(t) == [*rows, (50, "x", 7, "q")]
    assert lab.sql(f"SHOW PARTITIONS {t}") == [("p=7/q=q",)]
    (file,) = orc(lab, tmp_path, "(70, 'z')")
    lab.sql(f"LOAD DATA INPATH '{file}' OVERWRITE INTO TABLE {t} PARTITION (p = 7, q = 'q')")
    assert lab.rows(t) == [(70, "z", 7, "q")]


def test_columns_added_later_may_be_missing_and_narrow_types_are_widened(
    lab: Lab, tmp_path: Path
) -> None:
    t = lab.create("id bigint, s string, d date")
    (file,) = orc(lab, tmp_path, "(50, 'x')")
    lab.sql(f"LOAD DATA INPATH '{file}' INTO TABLE {t}")
    assert lab.rows(t) == [(50, "x", None)]


def test_a_failed_load_gives_the_files_back(
    lab: Lab, tmp_path: Path, before_commit: BeforeCommit
) -> None:
    t = lab.create("id int, s string", partitioned="p int")
    files = orc(lab, tmp_path, "(50, 'x')", "(51, 'y')")
    content = [file.read_bytes() for file in files]
    before = lab.state(t)

    def fail() -> None:
        raise KeyboardInterrupt

    for word in ("", "OVERWRITE"):
        before_commit(fail)
        with pytest.raises(KeyboardInterrupt):
            lab.sql(f"LOAD DATA INPATH '{tmp_path}' {word} INTO TABLE {t} PARTITION (p = 1)")
        assert lab.state(t) == before
        assert [file.read_bytes() for file in files] == content


@pytest.mark.slow
def test_what_is_refused_leaves_files_and_table(lab: Lab, tmp_path: Path) -> None:
    t = lab.create("id int, s string", values="(1, 'a')")
    parts = lab.create("id int, s string", partitioned="p int, q int")
    orc(lab, tmp_path / "good", "(1, 'x')")
    orc(lab, tmp_path / "names", "(1, 'x')", columns="id, other")
    orc(lab, tmp_path / "types", "('1', 'x')")
    orc(lab, tmp_path / "more", "(1, 'x', 2)", columns="id, s, n")
    orc(lab, tmp_path / "mixed", "(1, 'x')", "('y', 2)")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "data").write_text("1,x\n")
    (tmp_path / "empty" / "_hidden").mkdir(parents=True)
    shutil.copytree(tmp_path / "good", tmp_path / "nested" / "good")
    shutil.copytree(lab.root(t) / "delta_0000001_0000001_0000", tmp_path / "acid")
    before = lab.state(t), lab.state(parts)
    tree = sorted(tmp_path.rglob("*"))
    load = "LOAD DATA INPATH '{}' INTO TABLE {}"
    cases = {
        load.format(f"{tmp_path}/names", t): "LOAD_DATA_SCHEMA_MISMATCH",
        load.format(f"{tmp_path}/types", t): "LOAD_DATA_SCHEMA_MISMATCH",
        load.format(f"{tmp_path}/more", t): "LOAD_DATA_SCHEMA_MISMATCH",
        load.format(f"{tmp_path}/mixed", t): "LOAD_DATA_SCHEMA_MISMATCH",
        load.format(f"{tmp_path}/text", t): "INVALID_ORC_TAIL",
        load.format(f"{tmp_path}/acid", t): "LOAD_DATA_ACID_FILE",
        load.format(f"{tmp_path}/empty", t): "LOAD_DATA_PATH_NOT_EXISTS",
        load.format(f"{tmp_path}/nowhere", t): "LOAD_DATA_PATH_NOT_EXISTS",
        load.format(f"{tmp_path}/nested", t): "LOAD_DATA_DIRECTORY",
        load.format(f"{lab.root(t)}/delta_0000001_0000001_0000", t): "LOCATION_IN_USE",
        load.format(f"{tmp_path}/good", parts): "PARTITIONS_NOT_FOUND",
        load.format(f"{tmp_path}/good", f"{parts} PARTITION (p = 1)"): "PARTITIONS_NOT_FOUND",
        load.format(f"{tmp_path}/good", f"{parts} PARTITION (p = 1, q)"): "PARTITIONS_NOT_FOUND",
        load.format(f"{tmp_path}/good", f"{t} PARTITION (p = 1)"): "PARTITIONS_NOT_FOUND",
    }
    assert {text: condition(lab, text) for text in cases} == cases
    assert (lab.state(t), lab.state(parts)) == before
    assert sorted(tmp_path.rglob("*")) == tree


@pytest.mark.parametrize("clustered", ["", "(id) INTO 2 BUCKETS"])
def test_nulls_in_a_column_that_is_not_null_are_refused(
    lab: Lab, tmp_path: Path, clustered: str
) -> None:
    t = lab.create("id int NOT NULL, s string, n int NOT NULL", clustered=clustered)
    orc(lab, tmp_path / "null", "(1, 'x', 2), (CAST(NULL AS INT), 'y', 3)", columns="id, s, n")
    orc(lab, tmp_path / "lacking", "(1, 'x')")
    orc(lab, tmp_path / "good", "(1, CAST(NULL AS STRING), 2)", columns="id, s, n")
    before = lab.state(t)
    for place in ("null", "lacking"):
        text = f"LOAD DATA INPATH '{tmp_path}/{place}' INTO TABLE {t}"
        assert condition(lab, text) == "NOT_NULL_CONSTRAINT_VIOLATION"
    assert lab.state(t) == before
    lab.sql(f"LOAD DATA INPATH '{tmp_path}/good' INTO TABLE {t}")
    assert lab.rows(t) == [(1, None, 2)]


def test_files_of_an_acid_table_are_not_moved_into_another_one(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.sql("CREATE TABLE loaded_plain (id int) USING orc")
    text = f"LOAD DATA INPATH '{lab.root(t)}/delta_0000001_0000001_0000' INTO TABLE loaded_plain"
    assert condition(lab, text) == "LOCATION_IN_USE"
    assert lab.rows(t) == [(1,)]
    lab.sql("DROP TABLE loaded_plain")


def test_local_times_are_those_of_hive_and_not_the_numbers_of_spark(
    lab: Lab, tmp_path: Path
) -> None:
    t = lab.create("id int, n timestamp_ntz")
    wall = "2024-03-31 02:30:00"
    of_spark = lab.spark.sql(f"SELECT 1 AS id, TIMESTAMP_NTZ'{wall}' AS n")
    of_spark.coalesce(1).write.orc(f"{tmp_path}/spark")
    load = f"LOAD DATA INPATH '{tmp_path}/{{}}' INTO TABLE {t}"
    with pytest.raises(FormatError, match="LOAD_DATA_SCHEMA_MISMATCH"):
        lab.sql(load.format("spark"))
    of_hive = lab.spark.sql(f"SELECT 1 AS id, TIMESTAMP'{wall}' AS n")
    of_hive.coalesce(1).write.orc(f"{tmp_path}/hive")
    lab.sql(load.format("hive"))
    assert lab.sql(f"SELECT id, CAST(n AS STRING) FROM {t}") == [(1, wall)]
    lab.sql(f"UPDATE {t} SET n = n + INTERVAL 1 SECOND")
    assert lab.sql(f"SELECT id, CAST(n AS STRING) FROM {t}") == [(1, "2024-03-31 02:30:01")]
    with pytest.raises(AcidAnalysisError, match="UNSUPPORTED_DATATYPE"):
        lab.sql(f"EXPORT TABLE {t} TO '{tmp_path}/export'")


@pytest.mark.parametrize("overwrite", ["", "OVERWRITE "])
def test_rows_go_to_their_buckets_and_are_checked(lab: Lab, tmp_path: Path, overwrite: str) -> None:
    t = lab.create(
        "id int, s string, CONSTRAINT positive CHECK (id > p)",
        partitioned="p int",
        clustered="(id) INTO 3 BUCKETS",
    )
    lab.insert(t, "(9, 'old', 1), (8, 'other', 2)")
    orc(lab, tmp_path / "good", "(2, 'x'), (3, 'y'), (4, 'z')", "(5, CAST(NULL AS STRING))")
    orc(lab, tmp_path / "bad", "(1, 'x')")
    load = "LOAD DATA INPATH '{}' {}INTO TABLE {} PARTITION (p = 1)"
    assert condition(lab, load.format(tmp_path / "bad", overwrite, t)) == (
        "CHECK_CONSTRAINT_VIOLATION"
    )
    assert sorted(lab.rows(t)) == [(8, "other", 2), (9, "old", 1)]
    assert list((tmp_path / "bad").glob("*.orc"))
    lab.sql(load.format(tmp_path / "good", overwrite, t))
    loaded = [(2, "x", 1), (3, "y", 1), (4, "z", 1), (5, None, 1)]
    kept = [(8, "other", 2), *([] if overwrite else [(9, "old", 1)])]
    assert sorted(lab.rows(t)) == [*loaded, *kept]
    assert not list((tmp_path / "good").glob("*.orc"))
    assert lab.sql(f"CHECK TABLE {t} FULL") == []  # that rows are in their buckets, too
    lab.sql(f"UPDATE {t} SET s = 'u' WHERE id = 2")
    assert lab.sql(f"SELECT s FROM {t} WHERE id = 2") == [("u",)]
