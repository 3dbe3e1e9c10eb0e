"""Tests of files without row ids: rows are identified by their positions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.errors import AcidSqlError
from acidsql.format.bucket_codec import encode
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

# In the order of their paths, which is that of their row ids: copy_10 comes before copy_2.
FILES = [
    "000000_0",
    "000000_0_copy_1",
    "000000_0_copy_10",
    "000000_0_copy_2",
    "000001_0",
    "HIVE_UNION_SUBDIR_1/000000_0",
    "HIVE_UNION_SUBDIR_2/000001_0_copy_1",
]
ROWS = 5_000


def _write(path: Path, first: int, names: tuple[str, str] = ("id", "s")) -> None:
    """Write a file of many stripes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = pa.array(range(first, first + ROWS), pa.int32())
    texts = pa.array([f"{i:064d}" for i in range(first, first + ROWS)])
    table = pa.table(dict(zip(names, (ids, texts), strict=True)))
    pa_orc.write_table(table, path, stripe_size=16_384, batch_size=256, compression="uncompressed")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory of a table that was never transactional."""
    for number, name in enumerate(FILES):
        _write(tmp_path / "plain" / name, number * ROWS)
    return tmp_path / "plain"


@pytest.fixture(params=["one split", "many splits"])
def splits(request: pytest.FixtureRequest, lab: Lab) -> Iterator[None]:
    many = {
        "spark__sql__files__maxPartitionBytes": "50000",
        "spark__sql__files__openCostInBytes": "0",
    }
    with lab.settings(**(many if request.param == "many splits" else {})):
        yield


def _adopt(lab: Lab, place: Path, name: str, columns: str = "id INT, s STRING") -> str:
    lab.sql(
        f"CREATE TABLE {name} ({columns}) STORED AS ORC LOCATION '{place}' "
        "TBLPROPERTIES ('transactional'='true')"
    )
    return name


@pytest.fixture
def table(lab: Lab, place: Path) -> Iterator[str]:
    yield _adopt(lab, place, "plain")
    lab.sql("DROP TABLE plain")


def _identities() -> dict[int, tuple[int, int, int]]:
    """Return the expected row id of each id."""
    found, rows = {}, {0: 0, 1: 0}
    for number, name in enumerate(FILES):
        bucket = int(name.rpartition("/")[2].split("_")[0])
        for i in range(ROWS):
            found[number * ROWS + i] = (0, encode(bucket), rows[bucket] + i)
        rows[bucket] += ROWS
    return found


def _ids(lab: Lab, table: str, where: str = "true") -> dict[int, tuple[Any, ...]]:
    rows = lab.sql(f"SELECT id, row__id FROM {table} WHERE {where}")
    return {i: tuple(row_id) for i, row_id in rows}


@pytest.mark.slow
@pytest.mark.usefixtures("splits")
def test_row_ids_are_positions(lab: Lab, table: str) -> None:
    assert _ids(lab, table) == _identities()


@pytest.mark.repeated
@pytest.mark.usefixtures("splits")
def test_row_ids_stay_with_their_rows_below_filters_and_limits(lab: Lab, table: str) -> None:
    expected = _identities()
    chosen = {i: key for i, key in expected.items() if i % 4999 == 7}
    assert _ids(lab, table, "id % 4999 = 7") == chosen
    frame = lab.frame(f"SELECT row__id, s, id FROM {table}").where("s LIKE '%0123'")
    found = {row.id: tuple(row.row__id) for row in frame.collect()}
    assert found == {i: key for i, key in expected.items() if i % 10_000 == 123}
    key = expected[12_345]
    by_row_id = lab.sql(f"SELECT id FROM {table} WHERE row__id.rowid = {key[2]}")
    assert sorted(i for (i,) in by_row_id) == sorted(
        i for i, k in expected.items() if k[2] == key[2]
    )
    limited = lab.sql(f"SELECT id, row__id FROM {table} LIMIT 10")
    assert [expected[i] for i, _ in limited] == [tuple(row_id) for _, row_id in limited]
    assert lab.sql(f"SELECT count(*) FROM {table}") == [(len(expected),)]
    assert lab.sql(f"SELECT count(DISTINCT row__id) FROM {table}") == [(len(expected),)]


@pytest.mark.repeated
@pytest.mark.usefixtures("splits")
def test_dml_and_compaction_keep_row_ids(lab: Lab, table: str) -> None:
    assert lab.sql(f"UPDATE {table} SET s = 'u' WHERE id IN (1, 5000, 34999)") == [(3, 3)]
    assert lab.sql(f"DELETE FROM {table} WHERE id % 1000 = 999") == [(35, 35)]
    expected = {i: key for i, key in _identities().items() if i % 1000 != 999}
    expected.pop(1), expected.pop(5000)
    new = _ids(lab, table, "s = 'u'")
    assert new.keys() == {1, 5000}
    assert {key[0] for key in new.values()} == {10_000_001}
    assert _ids(lab, table) == expected | new
    lab.compact(table, "minor")
    assert _ids(lab, table) == expected | new
    assert sorted(n for n in lab.directories(table) if n.startswith(("0", "H"))) == sorted(
        {name.partition("/")[0] for name in FILES}
    )
    lab.compact(table, "major")
    assert _ids(lab, table) == expected | new
    base = [n for n in lab.directories(table) if n.startswith("base")]
    assert lab.directories(table) == base
    assert base[0].startswith("base_10000002_v")


@pytest.mark.repeated
def test_a_table_that_was_never_changed_is_compacted(lab: Lab, table: str) -> None:
    before = _ids(lab, table)
    lab.compact(table, "major")
    names = lab.directories(table)
    assert len(names) == 1
    assert names[0].startswith("base_-9223372036854775808_v")
    assert _ids(lab, table) == before
    assert lab.sql(f"DELETE FROM {table} WHERE id < 10") == [(10, 10)]
    assert _ids(lab, table) == {i: key for i, key in before.items() if i >= 10}
    assert "delete_delta_10000001_10000001_0000" in lab.directories(table)


def test_columns_are_matched_by_position(lab: Lab, tmp_path: Path) -> None:
    _write(tmp_path / "old" / "000000_0", 0, names=("_col0", "_col1"))
    _write(tmp_path / "old" / "000000_0_copy_1", ROWS, names=("id", "was_s"))
    table = _adopt(lab, tmp_path / "old", "old", "id INT, s STRING, later DOUBLE")
    rows = lab.sql(f"SELECT * FROM {table} WHERE id IN (3, {ROWS + 3})")
    assert sorted(rows) == [(i, f"{i:064d}", None) for i in (3, ROWS + 3)]
    lab.sql(f"DROP TABLE {table}")


def test_empty_files_have_no_rows(lab: Lab, tmp_path: Path) -> None:
    _write(tmp_path / "some" / "000000_0", 0)
    (tmp_path / "some" / "000001_0").touch()
    table = _adopt(lab, tmp_path / "some", "some")
    assert lab.sql(f"SELECT count(*) FROM {table}") == [(ROWS,)]
    lab.sql(f"DROP TABLE {table}")


def test_files_of_other_names_are_refused(lab: Lab, place: Path) -> None:
    (place / "000001_0").rename(place / "part-00000-x.snappy.orc")
    with pytest.raises(AcidSqlError, match=r"part-00000-x.* rename it") as caught:
        _adopt(lab, place, "foreign")
    assert caught.value.getCondition() == "INVALID_ORIGINAL_FILE_NAME"


def test_a_file_that_came_later_under_another_name_is_refused(lab: Lab, table: str) -> None:
    (lab.root(table) / "000001_0").rename(lab.root(table) / "stranger.orc")
    with pytest.raises(AcidSqlError, match=r"stranger\.orc") as caught:
        lab.sql(f"SELECT * FROM {table}")
    assert caught.value.getCondition() == "INVALID_ORIGINAL_FILE_NAME"


@pytest.mark.slow
def test_raw_directories_have_their_write_id(lab: Lab) -> None:
    table = lab.create("id INT, s STRING", values="(1, 'a')")
    _write(lab.root(table) / "delta_0000002_0000002_0001" / "000003_0", 0)
    _write(lab.root(table) / "delta_0000002_0000002_0001" / "000003_0_copy_1", ROWS)
    lab.session.metastore.seed_write_id("default", table, 3)
    found = _ids(lab, table)
    assert found.pop(1) is not None
    assert found[2 * ROWS - 1] == (2, encode(3, 1), 2 * ROWS - 1)
    assert lab.sql(f"DELETE FROM {table} WHERE id >= 100") == [(2 * ROWS - 100, 2 * ROWS - 100)]
    before = lab.rows(table, "*, row__id")
    lab.compact(table, "minor")
    assert lab.rows(table, "*, row__id") == before
    lab.compact(table, "major")
    assert lab.rows(table, "*, row__id") == before
