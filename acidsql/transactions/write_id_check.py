"""Check that no other writer has used a transaction's write id in a directory."""

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
    own_directories: Container[str] = (),
) -> None:
    """Check that no directory of another writer conflicts with a transaction's write id.

    A partition must not contain another writer's directory with this write id, or a directory that
    would wrongly count as newer. Deltas of transactions that began later are valid. A base above
    this write id would hide the rows that are about to be written. The locks let no other writer
    create such a base in the meantime.

    Args:
        metastore: metastore of the table.
        table: the table.
        location: directory of the partition.
        names: names in that directory.
        write_id: write id of the transaction, or the highest one of a batch.
        own_directories: paths of the directories that the transaction itself has put there.

    Raises:
        FormatError: WRITE_ID_IN_USE.
    """
    above = [
        d
        for d in map(parse_directory, names)
        if d and d.max_write_id >= write_id and child(location, d.name) not in own_directories
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
    """Return the advice for a write id that the metastore has not allocated.

    The metastore will allocate no more write ids up to ``highest``, unless it is their authority.
    """
    if metastore.capabilities.is_id_authority:
        return "somebody has put it there without asking the metastore. Move it away, and run"
    metastore.seed_write_id(table.database, table.name, highest + 1)
    return "its file is older than the table. Run"
