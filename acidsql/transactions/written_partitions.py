"""Partitions that a statement writes to: their lookup, creation and early report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from acidsql.metastore.model import Operation, Partition, Table
from acidsql.session.table_owner import TableWriter
from acidsql.storage.publication import Publication
from acidsql.transactions.partition_directory import add_beforehand, make_partition, take_back
from acidsql.transactions.write_intent import WriteIntent

# For each operation, the recorded operations that make it unnecessary to record this one for a
# partition. If two transactions update or delete there, one fails; if two insert, none fails.
_AS_STRONG = {
    Operation.SELECT: frozenset(Operation),
    Operation.INSERT: frozenset({Operation.INSERT, Operation.UPDATE, Operation.DELETE}),
    Operation.UPDATE: frozenset({Operation.UPDATE, Operation.DELETE}),
    Operation.DELETE: frozenset({Operation.UPDATE, Operation.DELETE}),
}


@dataclass(slots=True, kw_only=True)
class WrittenPartitions:
    """Partitions of one table that a statement writes to.

    Attributes:
        writer: writer that owns the transaction.
        txn_id: transaction id.
        table: the table.
        intent: operation on the table.
        publication: publication that records the names of new directories.
        earlier: partitions that earlier statements of the transaction have created or changed.
        added: partitions that this statement has created directories for.
        touched: partitions that were written to, by values.
        named: operations and partitions that were reported to the metastore.
    """

    writer: TableWriter
    txn_id: int
    table: Table
    intent: WriteIntent
    publication: Publication
    earlier: Mapping[tuple[str, ...], Partition]
    added: list[Partition] = field(default_factory=list)
    touched: dict[tuple[str, ...], Partition] = field(default_factory=dict)
    named: set[tuple[Operation, tuple[str, ...]]] = field(default_factory=set)
    _known: dict[tuple[str, ...], Partition] = field(default_factory=dict)

    def location(self, values: tuple[str, ...]) -> str:
        """Return the directory of a partition that was announced."""
        return self._known[values].location

    def announce(self, operation: Operation, places: Iterable[tuple[str, ...]]) -> None:
        """Report the partitions that are about to be written to the metastore.

        A Hive Metastore must know them beforehand. If this client is killed, the cleaner searches
        for leftovers only in partitions that were recorded for the transaction. If none was
        recorded, the metastore forgets the aborted transaction, and its files would become visible.

        Args:
            operation: operation in the partitions.
            places: values of the partitions; new partitions are created.
        """
        fresh = sorted(
            v for v in places if not self.named & {(o, v) for o in _AS_STRONG[operation]}
        )
        self._find(fresh)
        missing = [values for values in fresh if values not in self._known]
        for values in missing:
            self._known[values] = make_partition(self.writer, self.table, values, self.publication)
            self.added.append(self._known[values])
        made = [self._known[values] for values in missing]
        add_beforehand(self.writer, self.table, made, self.publication)
        self.touched.update({v: self._known[v] for v in fresh})
        if fresh and self.intent.names_partitions_late:
            self._name(operation, fresh)
        self.named.update((operation, v) for v in fresh)

    def replace_placeholder(self) -> None:
        """Remove a change of the whole table from the write set if no partition was changed."""
        if not self.intent.names_partitions_late:
            return
        operation = self.intent.operation
        if self.writer.metastore.capabilities.compares_rows:
            is_left = operation not in {operation for operation, _ in self.named}
        else:
            is_left = not self.touched
        if is_left:
            self._name(operation, [])

    def _name(self, operation: Operation, places: Sequence[tuple[str, ...]]) -> None:
        names = [self.table.partition_name(values) for values in places]
        self.writer.metastore.add_dynamic_partitions(
            self.txn_id, self.table.database, self.table.name, names, operation
        )

    def _find(self, places: Sequence[tuple[str, ...]]) -> None:
        """Look partitions up in the metastore, and remember those that exist."""
        table = self.table
        if not table.partition_columns:
            self._known[()] = Partition(values=(), location=table.location)
            return
        self._known.update(self.earlier)
        wanted = [values for values in places if values not in self._known]
        if self.intent.replaces_table:
            return  # the partitions in the metastore belong to the old definition
        if wanted:
            partitions = self.writer.metastore.partitions(table.database, table.name, wanted)
            self._known.update({p.values: p for p in partitions})

    def undo(self, known: Collection[tuple[str, ...]]) -> None:
        """Remove the new partitions, unless another transaction uses them; see ``take_back``."""
        take_back(self.writer, self.table, self.added, known)
