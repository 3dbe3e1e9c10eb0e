"""Check that a transaction's write id is its own in the directory that it writes to."""

from __future__ import annotations

from collections.abc import Container, Sequence

from acidsql.errors import FormatError
from acidsql.format.names import DirectoryKind, parse_directory
from acidsql.format.paths import child
from acidsql.metastore.model import Table
from acidsql.metastore.protocol import Metastore


def check_write_id_is_new(
    metastore: Metastore,
    table: Table,
    location: str,
    names: Sequence[str],
    write_id: int,
    own: Container[str] = (),
) -> None:
    """Check that a partition has no directory with a transaction's write id by another writer, and
    none that would count as newer without being so.

    Deltas of transactions that began later are as they should be. A base above this write id would
    hide what is about to be written; the locks let no other writer make one meanwhile.

    Args:
        metastore: of the table.
        table: the table.
        location: of the partition.
        names: in that directory.
        write_id: of the transaction; the highest one of a batch.
        own: paths of the directories that the transaction itself has put there.

    Raises:
        FormatError: WRITE_ID_IN_USE.
    """
    above = [
        d
        for d in map(parse_directory, names)
        if d and d.max_write_id >= write_id and child(location, d.name) not in own
    ]
    if not above:
        return
    later = metastore.write_ids_after(table.database, table.name, write_id)
    for d in above:
        is_base = d.kind is DirectoryKind.BASE
        if is_base or d.min_write_id <= write_id or d.max_write_id not in later:
            reason = "a statement that began later has put it there. Run"
            if d.max_write_id not in later:
                highest = max(d.max_write_id for d in above)
                reason = _foreign(metastore, table, highest)
            raise FormatError(
                "WRITE_ID_IN_USE",
                f"{child(location, d.name)} has write id {d.max_write_id}, and the metastore "
                f"gave {write_id} to this transaction: {reason} the statement again",
            )


def _foreign(metastore: Metastore, table: Table, highest: int) -> str:
    """Return what to do about a write id that the metastore has not given; it gives none up to
    ``highest`` any more, unless it knows better.
    """
    if metastore.capabilities.is_id_authority:
        return "somebody has put it there without asking the metastore. Move it away, and run"
    metastore.seed_write_id(table.database, table.name, highest + 1)
    return "its file is older than the table. Run"
