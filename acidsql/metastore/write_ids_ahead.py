"""Keeping a metastore's write ids above those in the directories of its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from acidsql.format.paths import can_exist, child
from acidsql.format.selection import max_write_id
from acidsql.metastore.model import Table
from acidsql.metastore.protocol import Metastore


class FileLister(Protocol):
    """File system that lists the files of tables."""

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory."""


class Learner(Protocol):
    """Client that allocates write ids: an ``AcidSession``, a streaming client."""

    @property
    def metastore(self) -> Metastore:
        """The metastore."""

    @property
    def files(self) -> FileLister:
        """File system of the tables."""

    @property
    def learnt_places(self) -> set[str]:
        """Directories that were compared with the metastore's write ids."""


def learn_write_ids(learner: Learner, table: Table, partition: tuple[str, ...] | None) -> None:
    """Raise the table's write ids above those of its directories, once per directory and learner.

    A metastore whose file was restored from an older copy would allocate used ids a second time.
    If the statement does not name the partition, publishing detects this (WRITE_ID_IN_USE).

    Args:
        partition: values of the only partition that is written to; None for dynamic partitions, and
            for a table without partitions.
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
    """Raise the table's next write id above the write ids in the names of its directories.

    The metastore can be behind its directories if its file was lost, or restored from an older
    copy. A write id must never be allocated twice.

    Returns:
        True if the metastore was behind.
    """
    highest = max_write_id(names)
    is_behind = highest >= metastore.next_write_id(table.database, table.name)
    if is_behind:
        metastore.seed_write_id(table.database, table.name, highest + 1)
    return is_behind
