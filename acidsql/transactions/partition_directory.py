"""Directories of new partitions."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import AcidAnalysisError
from acidsql.format.paths import can_exist, child
from acidsql.metastore.model import Table


def partition_directory(table: Table, values: Sequence[str]) -> str:
    """Return the directory in which a partition lies if it has no LOCATION.

    Raises:
        AcidAnalysisError: INVALID_PARTITION_NAME, its values do not fit into names of directories.
    """
    place = child(table.location, table.partition_name(values))
    if not can_exist(place):
        raise AcidAnalysisError(
            "INVALID_PARTITION_NAME",
            f"{table.partition_name(values)[:200]!r} cannot be a directory of {table.full_name}, "
            "because its name is too long, or has a character NUL: choose another value",
        )
    return place
