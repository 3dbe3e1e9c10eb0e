"""Staged bucket files become finished directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from acidsql.errors import FormatError
from acidsql.storage.finalize import Staging, finished_directories
from acidsql.storage.object_store import WholeFile
from acidsql.storage.staging_place import StagedFile, StagingPlace
from tests.metastore.local_files import LocalFiles

_ANY: Any = None


def staged(target: str, bucket: int, *, values: tuple[str, ...] = (), path: str = "") -> StagedFile:
    rows = 3 if target.startswith("i") else 0
    return StagedFile(
        target=target,
        values=values,
        bucket=bucket,
        rows=rows,
        deletes=0 if rows else 2,
        size=4,
        path=path or None,
        content=b"" if path else b"made",
    )


def staging(place: StagingPlace) -> Staging:
    return Staging(files=LocalFiles(), place=place, table=_ANY, row=StructType([]), write_id=1)


def test_files_of_each_target_and_partition_get_a_directory(tmp_path: Path) -> None:
    part = tmp_path / "part-1-17-0"
    part.write_bytes(b"rows")
    left = tmp_path / "part-1-16-0"  # of an attempt that failed
    left.write_bytes(b"some")
    found = finished_directories(
        staging(StagingPlace(tmp_path.as_uri())),
        [
            staged("i0", 1, values=("b",), path=part.as_uri()),
            staged("i0", 0, values=("b",)),
            staged("i0", 0, values=("a",)),
            staged("d1", 7, values=("a",)),
        ],
        "rows",
    )
    told = [(d.values, d.deletes, d.statement_id, d.events, d.files, d.size) for d in found]
    assert told == [
        (("a",), True, 1, 2, 1, 4),
        (("a",), False, 0, 3, 1, 4),
        (("b",), False, 0, 6, 2, 8),
    ]
    names = [sorted(p.name for p in Path(d.path.removeprefix("file:")).iterdir()) for d in found]
    assert names == [["bucket_00007"], ["bucket_00000"], ["bucket_00000", "bucket_00001"]]
    last = Path(found[2].path.removeprefix("file:"))
    assert (last / "bucket_00001").read_bytes() == b"rows"
    assert (last / "bucket_00000").read_bytes() == b"made"
    assert left.exists()


def test_on_an_object_store_it_is_told_what_is_to_be_written(tmp_path: Path) -> None:
    place = StagingPlace("s3a://b/t/_acidsql_staging_7", tmp_path / "local")
    path = "s3a://b/t/_acidsql_staging_7/part-0-1-0"
    (found,) = finished_directories(
        staging(place), [staged("i0", 0, path=path), staged("i0", 1)], "rows"
    )
    assert [tuple(file) for file in found.unwritten] == [
        ("bucket_00000", WholeFile(path, 4), b""),
        ("bucket_00001", None, b"made"),
    ]
    assert list(tmp_path.iterdir()) == []


def test_two_files_of_one_bucket_are_refused_before_anything_is_moved(tmp_path: Path) -> None:
    part = tmp_path / "part-1-17-0"
    part.write_bytes(b"rows")
    files = [staged("i0", 1, path=part.as_uri()), staged("i0", 1)]
    with pytest.raises(FormatError, match="UNEXPECTED_STAGED_FILE"):
        finished_directories(staging(StagingPlace(tmp_path.as_uri())), files, "rows")
    assert [path.name for path in tmp_path.iterdir()] == ["part-1-17-0"]
