from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acidsql.errors import FormatError
from acidsql.storage import sync
from acidsql.storage.filesystem import FileSystem
from acidsql.storage.publication import Publication, sync_all
from acidsql.storage.sync import make_directory

pytestmark = pytest.mark.spark


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the path of each file and directory that is synced."""
    found: list[str] = []
    original = os.fsync

    def fsync(descriptor: int) -> None:
        original(descriptor)
        found.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_a_name_is_found_through_all_directories_up_to_the_table() -> None:
    publication = Publication(root="file:/w/t")
    publication.add_name("file:/w/t/p=1/q=2/delta")
    assert publication.names == {"file:/w/t/p=1/q=2", "file:/w/t/p=1", "file:/w/t"}
    assert not publication.trees


def test_a_partition_elsewhere_is_a_directory_of_its_own() -> None:
    publication = Publication(root="file:/w/t")
    publication.add("file:/elsewhere/p/delta")
    publication.add("file:/w/table/delta")
    assert publication.names == {"file:/elsewhere/p", "file:/w/table"}
    assert publication.trees == {"file:/elsewhere/p/delta", "file:/w/table/delta"}


def test_all_files_of_a_tree_are_synced_once(
    spark: SparkSession, tmp_path: Path, synced: list[str]
) -> None:
    delta = tmp_path / "t" / "delta"
    (delta / "inside").mkdir(parents=True)
    for name in ("a", ".a.crc", "inside/b"):
        (delta / name).touch()
    publication = Publication(root=f"file:{tmp_path}/t")
    publication.add(f"file:{delta}")
    publication.add(f"file:{delta}/a")
    files = FileSystem(spark)
    sync_all(files, [publication])
    below = ["", "/.a.crc", "/a", "/inside", "/inside/b"]
    assert sorted(synced) == [f"{tmp_path}/t", *(f"{delta}{name}" for name in below)]
    sync_all(files, [publication])
    assert len(synced) == 6


def test_nothing_is_synced_where_it_is_off_or_not_local(
    spark: SparkSession, tmp_path: Path, synced: list[str]
) -> None:
    sync.sync(FileSystem(spark, synchronous=False), [f"file:{tmp_path}"], [f"file:{tmp_path}"])
    sync.sync(FileSystem(spark), ["hdfs://host/t/delta"], ["hdfs://host/t"])
    assert synced == []


def test_the_names_of_new_directories_are_synced(
    spark: SparkSession, tmp_path: Path, synced: list[str]
) -> None:
    files = FileSystem(spark)
    make_directory(files, f"file:{tmp_path}/a/b/c")
    assert sorted(synced) == [f"{tmp_path}{name}" for name in ("", "/a", "/a/b")]
    synced.clear()
    make_directory(files, f"file:{tmp_path}/a/b/c")
    assert synced == [f"{tmp_path}/a/b"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EINVAL])
def test_a_directory_that_cannot_be_synced_is_passed_over(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Check that a file system without syncs of directories is no error, and a broken disk is."""

    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    (tmp_path / "file").touch()
    files = FileSystem(spark)
    for path, passes in ((tmp_path, number == errno.EINVAL), (tmp_path / "file", False)):
        if passes:
            sync.sync(files, directories=[f"file:{path}"])
            continue
        with pytest.raises(FormatError, match=f"^.SYNC_FAILED. {path} could not be written"):
            sync.sync(files, [f"file:{path}"])
