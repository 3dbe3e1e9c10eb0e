"""Write ids of a metastore that is behind the directories of its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from acidsql.format.paths import can_exist, child
from acidsql.format.selection import max_write_id
from acidsql.metastore.model import Table
from acidsql.metastore.protocol import Metastore


class Names(Protocol):
    """Names of the files of tables."""

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory."""


class Learner(Protocol):
    """Client that allocates write ids: an ``AcidSession``, a streaming client."""

    @property
    def metastore(self) -> Metastore:
        """The metastore."""

    @property
    def files(self) -> Names:
        """File system of the tables."""

    @property
    def learnt_places(self) -> set[str]:
        """Directories whose write ids the metastore has been compared with."""


def learn_write_ids(learner: Learner, table: Table, partition: tuple[str, ...] | None) -> None:
    """Raise the table's write ids above those of its directories, once for a place and learner.

    A metastore's file that was restored from an older copy would give ids again that were used. In
    partitions that are not named, publishing finds that out (WRITE_ID_IN_USE).

    Args:
        partition: values of the one partition that is written to; None for dynamic ones, and
            without partitions.
    """
    place = table.location
    if table.partition_columns:
        if partition is None:
            return
        place = child(place, table.partition_name(partition))
        if not can_exist(place):
            return
    if learner.metastore.capabilities.is_id_authority or place in learner.learnt_places:
        return
    keep_write_ids_ahead(learner.metastore, table, learner.files.names(place))
    learner.learnt_places.add(place)


def keep_write_ids_ahead(metastore: Metastore, table: Table, names: Sequence[str]) -> bool:
    """Raise the table's next write id above those in the names of its directories.

    The metastore can be behind its directories if its file was lost, or restored from an older
    copy; a write id must not be allocated twice.

    Returns:
        Whether it was behind.
    """
    highest = max_write_id(names)
    is_behind = highest >= metastore.next_write_id(table.database, table.name)
    if is_behind:
        metastore.seed_write_id(table.database, table.name, highest + 1)
    return is_behind
