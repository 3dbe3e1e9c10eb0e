"""Writes of a transaction's statements, which its later statements must know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from acidsql.format.names import parse_directory
from acidsql.metastore.catalog_changes import AlterPartitions, CatalogChange, RecordWrites
from acidsql.metastore.model import Operation, Partition, Table

if TYPE_CHECKING:
    from acidsql.transactions.write_transaction import TableWrite


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Writes of the earlier statements of a transaction to a table.

    Attributes:
        statement_ids: number of statement ids that the statements have used.
        directories: paths of the directories that the statements have put into the table.
        partitions: partitions that were created or got all columns of the table, by values.
    """

    statement_ids: int = 0
    directories: frozenset[str] = frozenset()
    partitions: Mapping[tuple[str, ...], Partition] = field(default_factory=dict)

    def __add__(self, later: Written) -> Written:
        """Return the writes of both."""
        return Written(
            statement_ids=max(self.statement_ids, later.statement_ids),
            directories=self.directories | later.directories,
            partitions={**self.partitions, **later.partitions},
        )


NOTHING_WRITTEN = Written()


def written_by(write: TableWrite) -> Written:
    """Return the writes of one statement to a table."""
    widened = (p for p in write.places.touched.values() if p.columns is not None)
    return Written(
        statement_ids=next_statement_id(write.publication.placed),
        directories=frozenset(write.publication.placed),
        partitions={p.values: replace(p, columns=None) for p in (*write.places.added, *widened)},
    )


def recorded_writes(
    table: Table,
    touched: Collection[Partition],
    *,
    before: Table | None = None,
    mark: int | None = None,
) -> list[CatalogChange]:
    """Return the changes of the catalog that a commit of rows makes.

    Partitions with fewer columns than the table (ALTER TABLE … RESTRICT) get all columns. Otherwise
    readers would not see the additional columns of the new rows.

    Args:
        table: the table, with the columns that were written.
        touched: partitions that were written to.
        before: definition of the table before, if the commit changes its columns.
        mark: see ``RecordWrites``.
    """
    changes: list[CatalogChange] = [RecordWrites(table=table, written=tuple(touched), mark=mark)]
    outdated = tuple(p for p in touched if p.columns not in (None, table.columns))
    if before is not None and table.partition_columns:
        outdated = tuple(replace(p, columns=p.columns or before.columns) for p in touched)
    if outdated:
        after = tuple(replace(p, columns=None) for p in outdated)
        changes.append(AlterPartitions(table=table, before=outdated, after=after))
    return changes


def next_statement_id(paths: Iterable[str]) -> int:
    """Return the lowest statement id that is above all statement ids in names of directories.

    >>> next_statement_id(["/t/delta_0000005_0000005_0002"])
    3
    """
    parsed = (parse_directory(path.rpartition("/")[2]) for path in paths)
    return max((d.statement_id or 0 for d in parsed if d), default=-1) + 1


def changes_whole_table(write: TableWrite) -> bool:
    """Return whether a statement conflicts with all changes of its table though it changed no rows.

    This is a MERGE that only inserted, if the metastore compares partitions.
    """
    changes = {Operation.UPDATE, Operation.DELETE}
    if not write.places.touched or not write.intent.names_partitions_late:
        return False
    if write.session.metastore.capabilities.compares_rows:
        return False
    return write.intent.operation in changes and changes.isdisjoint(
        o for o, _ in write.places.named
    )
