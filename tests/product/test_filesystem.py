"""Tests of rules for every file system; the tests on HDFS run the same steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acidsql.errors import FormatError
from acidsql.storage.filesystem import FileSystem, child

pytestmark = pytest.mark.spark


def odd_names(spark: SparkSession, root: str) -> None:
    """Check that directories listed together or one by one give the same, with any file names."""
    files = FileSystem(spark)
    names = ["a, b", "c; isDirectory=true; length=9;", "plain"]
    full, empty, missing = child(root, "full"), child(root, "empty"), child(root, "missing")
    for number, name in enumerate(names):
        files.write(child(full, name), b"x" * number)
    files.make_directory(child(full, "directory"))
    files.make_directory(empty)
    for paths in ([full, empty], [empty, full, missing], [full]):
        listed = files.list_all(paths)
        assert [listing.path for listing in listed] == paths
        for listing in listed:
            alone = files.list(listing.path)
            assert listing == alone
            assert listing.exists == (listing.path != missing)
        found = next(listing for listing in listed if listing.path == full)
        assert found.names == tuple(sorted([*names, "directory"]))
        sizes = {name: version.size for name, version in found.files.items()}
        assert sizes == {name: number for number, name in enumerate(names)}
        path = files.hadoop_path(child(full, "plain"))[1]
        filesystem = files.hadoop_path(full)[0]
        modified = filesystem.getFileStatus(path).getModificationTime()
        unit = 1_000_000 if full.startswith("file:") else 1
        assert found.files["plain"].modified // unit == modified


def file_operations(spark: SparkSession, root: str) -> None:
    """Take the steps in a directory that does not exist."""
    files = FileSystem(spark)
    directory, other = child(root, "a b", "d=1%2F"), child(root, "other")
    path = child(directory, "file")
    assert (*files.list(directory).names, *files.names(directory)) == ()
    files.write(path, b"0123")
    files.append(path, b"456")
    assert (files.size(path), files.read(path), files.read(path, 2, 3)) == (7, b"0123456", b"234")
    with files.open(path) as stream:
        stream.seek(-2, 2)
        assert stream.read() == b"56"
    assert set(files.list(directory).files) == set(files.names(directory)) == {"file"}
    with pytest.raises(Exception, match=r"file"):
        files.write(path, b"again")
    files.make_directory(other)
    # A rename onto a directory would move into it on HDFS, one onto a file replace it locally.
    for source, target in ((directory, other), (path, path)):
        with pytest.raises(FormatError, match="PATH_ALREADY_EXISTS"):
            files.rename(source, target)
    assert (list(files.names(other)), files.read(path)) == ([], b"0123456")
    assert not files.delete_if_empty(directory)
    files.rename(directory, child(other, "deep", "d"))
    assert not files.exists(directory)
    assert files.read(child(other, "deep", "d", "file")) == b"0123456"
    files.delete(child(other, "deep"))
    files.delete(child(other, "deep"))
    assert files.delete_if_empty(other)
    assert files.delete_if_empty(other)
    assert not files.exists(other)


def test_files_of_the_local_disk(spark: SparkSession, tmp_path: Path) -> None:
    file_operations(spark, f"file:{tmp_path}/files")
    odd_names(spark, f"file:{tmp_path}/odd")


def test_what_a_local_directory_is_not_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    files = FileSystem(spark)
    (tmp_path / ".b.crc").write_bytes(b"Hadoop's")
    (tmp_path / "b").write_bytes(b"12")
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    listing = files.list(f"file:{tmp_path}")
    assert listing.names == ("a", "b")
    assert [(name, version.size) for name, version in listing.files.items()] == [("a", 1), ("b", 2)]
    of_a_file = files.list(f"file:{tmp_path}/a")
    assert (of_a_file.names, of_a_file.exists) == ((), True)
