"""Comparison of the partitions in the metastore with the directories of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acidsql.checking.problems import Problem
from acidsql.format.identifiers import lowered
from acidsql.format.names import is_hidden
from acidsql.format.partitions import unescape
from acidsql.metastore.model import Partition, Table
from acidsql.storage.directory import Listing, child


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Directories of one level of a partitioned table.

    Attributes:
        deeper: values and path of each directory of the next level.
        problems: files and directories that cannot belong to a partition.
    """

    deeper: tuple[tuple[tuple[str, ...], str], ...]
    problems: tuple[Problem, ...]


def level(column: str, places: Sequence[tuple[tuple[str, ...], Listing]]) -> Level:
    """Find the directories of one partition column.

    Args:
        column: name of the partition column.
        places: values of the preceding columns, with the listing of their directory.
    """
    deeper: list[tuple[tuple[str, ...], str]] = []
    problems: list[Problem] = []
    for values, listing in places:
        for name in listing.names:
            if is_hidden(name):
                continue
            key, equals, value = name.partition("=")
            is_file = name in listing.files
            if equals and value and lowered(unescape(key)) == lowered(column) and not is_file:
                deeper.append(((*values, unescape(value)), child(listing.path, name)))
            else:
                detail = f"it is no directory of the partition column {column}"
                path = child(listing.path, name)
                problems.append(
                    Problem(name="UNEXPECTED_PARTITION_DIRECTORY", path=path, detail=detail)
                )
    return Level(deeper=tuple(deeper), problems=tuple(problems))


def shared_locations(table: Table, partitions: Sequence[Partition]) -> Iterator[Problem]:
    """Find partitions that share a directory, so that each row is in both partitions."""
    seen: dict[str, Partition] = {}
    for partition in partitions:
        first = seen.setdefault(partition.location, partition)
        if first is not partition:
            yield Problem(
                name="SHARED_PARTITION_LOCATION",
                path=partition.location,
                detail=f"it is the directory of {table.partition_name(first.values)} too",
                partition=table.partition_name(partition.values),
            )
