"""Write ids of a metastore that is behind the directories of its tables."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.format.selection import max_write_id
from acidsql.metastore.model import Table
from acidsql.metastore.protocol import Metastore


def keep_write_ids_ahead(metastore: Metastore, table: Table, names: Sequence[str]) -> None:
    """Raise the table's next write id above those in the names of its directories.

    The metastore can be behind its directories if its file was lost, or restored from an older
    copy; a write id must not be allocated twice.
    """
    highest = max_write_id(names)
    if highest >= metastore.next_write_id(table.database, table.name):
        metastore.seed_write_id(table.database, table.name, highest + 1)
