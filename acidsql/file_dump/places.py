"""Files of a table, in its directory and in the directories of its partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidsql.file_dump.description import FileDescription, UnreadableFile, describe_or_explain
from acidsql.file_dump.finding import FoundFile, find_files
from acidsql.metastore.catalog_protocol import CatalogProtocol
from acidsql.metastore.model import Table
from acidsql.storage.parallel import in_parallel
from acidsql.storage.readable_files import ReadableFiles


def is_path(place: str) -> bool:
    """Return whether a text is a path rather than a table name.

    >>> is_path("shop.pet"), is_path("pet/delta_0000001_0000001_0000"), is_path(".")
    (False, True, True)
    """
    return "/" in place or place in (".", "..")


def files_of_table(
    files: ReadableFiles, metastore: CatalogProtocol, table: Table
) -> list[FoundFile]:
    """Find the files of a table; its partitions can be in any directories.

    Raises:
        FormatError: OPEN_STREAMING_FILE.
    """
    places: Sequence[tuple[str, str]] = [(table.location, "")]
    if table.partition_columns:
        places = [
            (partition.location, table.partition_name(partition.values))
            for partition in metastore.partitions(table.database, table.name)
        ]
    return list(_existing(files, places))


def _existing(files: ReadableFiles, places: Sequence[tuple[str, str]]) -> Iterator[FoundFile]:
    for location, partition in places:
        if files.is_directory(location):  # CHECK TABLE reports missing directories
            yield from find_files(files, location, partition)


def describe_files(
    files: ReadableFiles, selected: Sequence[FoundFile]
) -> tuple[FileDescription | UnreadableFile, ...]:
    """Describe files, in the given order.

    Raises:
        AcidAnalysisError: PYORC_MISSING.
    """
    return tuple(in_parallel(lambda one: describe_or_explain(files, one), selected))
