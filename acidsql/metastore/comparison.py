"""Comparison of changes by rows before a commit: what a metastore returns and what it receives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.model import Operation

TableName = tuple[str, str]
"""Database and name of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrentWrite:
    """Change of a place by a transaction that committed after another one was opened, which has
    changed the same place.

    Attributes:
        txn_id: of the transaction that committed.
        write_id: its write id in the table.
        database: of the table.
        table: name of the table.
        partition: name of the partition, None in a table without partitions.
        operation: what it did, UPDATE or DELETE.
        own_operation: what the other transaction did there.
    """

    txn_id: int
    write_id: int
    database: str
    table: str
    partition: str | None
    operation: Operation
    own_operation: Operation

    @property
    def place(self) -> tuple[TableName, str | None]:
        """Table and partition."""
        return (self.database, self.table), self.partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Comparison that the client of a transaction has made before its commit.

    Attributes:
        disjoint: ids of transactions with whose changed rows it has none in common.
        watched: tables whose rows the transaction depends on. No other transaction may have
            committed a write id there that these lists do not show.
    """

    disjoint: frozenset[int] = frozenset()
    watched: Mapping[TableName, ValidWriteIdList] = field(
        default_factory=lambda: MappingProxyType({})
    )
