"""Partitions that a statement has made, and takes back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from acidsql.errors import AcidLookupError
from acidsql.metastore.model import Partition, Table
from acidsql.session.acid_session import AcidSession


def take_back(session: AcidSession, table: Table, added: Sequence[Partition]) -> None:
    """Remove partitions with their directories, unless another transaction uses them."""
    if session.metastore.capabilities.learns_writes_from_locks:
        _forget(session, table, added)
        return
    for partition in added:
        _delete_empty(session, table, partition.location)


def _forget(session: AcidSession, table: Table, added: Sequence[Partition]) -> None:
    """Drop partitions that were added to the metastore, unless another transaction uses them.

    Another transaction may be publishing into them; it adds its partitions after that. So they are
    dropped first, and those that are not empty by then are added again.
    """
    metastore = session.metastore
    for partition in added:
        with suppress(AcidLookupError):  # it failed before they were added, or another dropped it
            metastore.drop_partitions(table.database, table.name, [partition.values])
    used = [p for p in added if not _delete_empty(session, table, p.location)]
    metastore.add_partitions(table.database, table.name, used)


def _delete_empty(session: AcidSession, table: Table, location: str) -> bool:
    """Delete the directory of a partition if it is empty, and those above it that are empty then.

    Returns:
        Whether it was deleted.
    """
    gone = session.files.delete_if_empty(location)
    if gone:
        delete_empty_above(session, table, location)
    return gone


def delete_empty_above(session: AcidSession, table: Table, location: str) -> None:
    """Delete the empty directories between a table's directory and a partition's."""
    above = location.rpartition("/")[0]
    if above.startswith(f"{table.location}/"):
        _delete_empty(session, table, above)
