"""Tests of the directories of a partitioned table."""

from __future__ import annotations

from acidsql.checking.layout import level, shared_locations
from acidsql.metastore.model import Column, Partition, Table
from acidsql.storage.directory import FileVersion, Listing


def test_directories_of_a_partition_column() -> None:
    listing = Listing(
        path="file:/t",
        names=("P=b%2Fc", "_hidden", "file=1", "p=", "p=1", "p=file", "q=1"),
        files={"file=1": FileVersion(1, 0), "p=file": FileVersion(1, 0)},
    )
    found = level("p", [(("x",), listing)])
    assert found.deeper == ((("x", "b/c"), "file:/t/P=b%2Fc"), (("x", "1"), "file:/t/p=1"))
    assert [problem.path for problem in found.problems] == [
        "file:/t/file=1",
        "file:/t/p=",
        "file:/t/p=file",
        "file:/t/q=1",
    ]
    assert {problem.name for problem in found.problems} == {"UNEXPECTED_PARTITION_DIRECTORY"}


def test_partitions_of_one_directory() -> None:
    column = Column(name="p", type="string")
    table = Table(database="d", name="t", columns=(), partition_columns=(column,))
    places = [("a", "file:/t/p=a"), ("b", "file:/t/p=a"), ("c", "file:/t/p=c")]
    partitions = [Partition(values=(value,), location=place) for value, place in places]
    (found,) = shared_locations(table, partitions)
    assert (found.name, found.partition) == ("SHARED_PARTITION_LOCATION", "p=b")
    assert found.detail == "it is the directory of p=a too"
