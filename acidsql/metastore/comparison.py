"""Values that a client and a metastore exchange to compare changes by rows before a commit."""

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
    """Change of a table or partition that this transaction has changed too.

    The other transaction committed after this transaction was opened.

    Attributes:
        txn_id: id of the transaction that committed.
        write_id: its write id in the table.
        database: database of the table.
        table: name of the table.
        partition: name of the partition, None in a table without partitions.
        operation: operation of the committed transaction, UPDATE or DELETE.
        own_operation: operation of this transaction on the same table or partition.
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
    """Result of the comparison by rows that a client has made before a commit.

    Attributes:
        disjoint: ids of the transactions that changed none of the rows that this one changed.
        watched: tables whose rows the transaction depends on, with the write ids that it has seen.
            ``commit_txn`` returns False if another transaction has committed further ones.
    """

    disjoint: frozenset[int] = frozenset()
    watched: Mapping[TableName, ValidWriteIdList] = field(
        default_factory=lambda: MappingProxyType({})
    )
