"""Tests of MSCK REPAIR TABLE, which takes partitions and write ids from the directories."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import acidsql
from tests.product.conditions import condition
from tests.product.conftest import Lab as SessionLab
from tests.product.test_alter_partitions import partitions

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture
def written(lab: Lab) -> str:
    """Return a table with rows, deletes and a compaction in its partitions."""
    t = lab.create("v int", partitioned="p int, q string")
    lab.insert(t, "(1, 1, 'a'), (2, 1, 'b/c'), (3, 2, NULL)")
    lab.insert(t, "(4, 1, 'a')")
    lab.sql(f"DELETE FROM {t} WHERE v = 1")
    lab.compact(t, "major", "p = 1, q = 'a'")
    return t


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "text",
    [
        "MSCK REPAIR TABLE {t}",
        "REPAIR TABLE {t} ADD PARTITIONS",
        "ALTER TABLE {t} RECOVER PARTITIONS",
        "MSCK REPAIR TABLE {t} SYNC PARTITIONS",
    ],
)
def test_partitions_of_a_copied_table_are_found(
    lab: Lab, written: str, tmp_path: Path, text: str
) -> None:
    """Check a metastore that knows neither the write ids nor the compaction."""
    other = SessionLab(lab.spark.newSession())
    other.spark.conf.set("spark.acidsql.metastore", str(tmp_path / "other.sqlite"))
    acidsql.sql(
        other.spark,
        f"CREATE TABLE copy (v int) PARTITIONED BY (p int, q string) STORED AS ORC "
        f"LOCATION '{tmp_path}/copy' TBLPROPERTIES ('transactional'='true')",
    )
    other.insert("copy", "(10, 3, 'own')")
    for place in ("p=1", "p=2"):
        shutil.copytree(lab.root(written) / place, tmp_path / "copy" / place)
    (tmp_path / "copy" / "_hidden").mkdir()
    assert other.rows("copy") == [(10, 3, "own")]
    assert other.sql(text.format(t="copy")) == []
    assert partitions(other, "copy") == [*partitions(lab, written), "p=3/q=own"]
    rows = sorted(
        [
            *lab.rows(written, "v, p, q, row__id"),
            *other.rows("copy WHERE p = 3", "v, p, q, row__id"),
        ],
        key=repr,
    )
    assert other.rows("copy", "v, p, q, row__id") == rows
    other.insert("copy", "(11, 1, 'a')")
    assert other.rows("copy WHERE v = 11", "row__id.writeid") == [(4,)]
    other.session.close()


def test_what_is_known_already_stays(lab: Lab, written: str) -> None:
    before = lab.rows(written, "*, row__id"), partitions(lab, written)
    lab.sql(f"MSCK REPAIR TABLE {written} SYNC PARTITIONS")
    assert (lab.rows(written, "*, row__id"), partitions(lab, written)) == before


def test_directories_that_are_gone(lab: Lab, written: str) -> None:
    shutil.rmtree(lab.root(written) / "p=1" / "q=a")
    lab.sql(f"MSCK REPAIR TABLE {written}")
    assert len(partitions(lab, written)) == 3
    lab.sql(f"MSCK REPAIR TABLE {written} DROP PARTITIONS")
    assert partitions(lab, written) == ["p=1/q=b%2Fc", "p=2/q=__HIVE_DEFAULT_PARTITION__"]
    assert lab.rows(written) == [(2, 1, "b/c"), (3, 2, None)]


@pytest.mark.slow
def test_directories_that_are_no_partitions_are_refused(lab: Lab, written: str) -> None:
    for stray, expected in {
        "x=1": "UNEXPECTED_PARTITION_DIRECTORY",
        "p=1/x": "UNEXPECTED_PARTITION_DIRECTORY",
        "p=5/q=e/part-00000": "INVALID_ORIGINAL_FILE_NAME",
    }.items():
        path = lab.root(written) / stray
        path.mkdir(parents=True)
        (path / "file").touch()
        before = lab.state(written)
        assert condition(lab, f"MSCK REPAIR TABLE {written}") == expected, stray
        assert lab.state(written) == before
        shutil.rmtree(path if "/" not in stray or stray == "p=1/x" else path.parents[1])


def test_other_columns_are_refused(lab: Lab, written: str) -> None:
    t = lab.create("other string", partitioned="p int, q string")
    shutil.copytree(lab.root(written) / "p=1", lab.root(t) / "p=1")
    before = lab.state(t)
    assert condition(lab, f"MSCK REPAIR TABLE {t}") == "ADOPTED_SCHEMA_MISMATCH"
    assert lab.state(t) == before


def test_a_table_without_partitions_learns_its_write_ids(lab: Lab) -> None:
    written = lab.create("v int", values="(1)")
    lab.insert(written, "(2)")
    t = lab.create("v int")
    shutil.copytree(lab.root(written), lab.root(t), dirs_exist_ok=True)
    lab.sql(f"MSCK REPAIR TABLE {t}")
    assert lab.rows(t) == [(1,), (2,)]
    lab.insert(t, "(3)")
    # 3 is that of MSCK REPAIR TABLE itself.
    assert lab.rows(t, "v, row__id.writeid") == [(1, 1), (2, 2), (3, 4)]
