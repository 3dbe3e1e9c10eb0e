"""Changes of the catalog by the statements of one transaction, merged into those of its commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidsql.limits import limits
from acidsql.metastore.changes import (
    AlterPartitions,
    CatalogChange,
    RecordCounts,
    RecordWrites,
)
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import Partition, Table
from acidsql.transactions.recorded import cut

TRANSACTION = "TRANSACTION"
"""Operation in the history of a write id under which several statements wrote."""


def merged(
    changes: Sequence[CatalogChange], statements: Mapping[str, Sequence[RecordedStatement]]
) -> list[CatalogChange]:
    """Merge changes so that each table, and each partition of it, occurs once per kind.

    Args:
        changes: of all statements, in their order.
        statements: those that wrote to a table, by its full name.
    """
    tables: dict[str, Table] = {}
    counts: dict[str, WriteCounts] = {}
    written: dict[str, dict[tuple[str, ...], Partition]] = {}
    before: dict[str, dict[tuple[str, ...], Partition]] = {}
    after: dict[str, dict[tuple[str, ...], Partition]] = {}
    others: list[CatalogChange] = []
    for change in changes:
        match change:
            case RecordCounts(table=table):
                name = table.full_name
                counts[name] = counts.get(name, WriteCounts()) + change.counts
            case RecordWrites(table=table):
                written.setdefault(table.full_name, {}).update(
                    {p.values: p for p in change.written}
                )
            case AlterPartitions(table=table):
                for old, new in zip(change.before, change.after, strict=True):
                    before.setdefault(table.full_name, {}).setdefault(old.values, old)
                    after.setdefault(table.full_name, {})[old.values] = new
            case _:
                others.append(change)
                continue
        tables[table.full_name] = table
    return [
        *(
            RecordCounts(
                table=tables[name], counts=own, statement=together(statements.get(name, ()))
            )
            for name, own in counts.items()
        ),
        *(
            RecordWrites(table=tables[name], written=tuple(own.values()))
            for name, own in written.items()
        ),
        *(
            AlterPartitions(
                table=tables[name],
                before=tuple(own.values()),
                after=tuple(after[name].values()),
            )
            for name, own in before.items()
        ),
        *others,
    ]


def together(statements: Sequence[RecordedStatement]) -> RecordedStatement:
    r"""Return one statement for the history in the place of those of a transaction.

    >>> insert = RecordedStatement(operation="INSERT", text="INSERT INTO t VALUES (1)")
    >>> together([insert, RecordedStatement(operation="DELETE")])
    RecordedStatement(operation='TRANSACTION', text='INSERT INTO t VALUES (1);\nDELETE')
    """
    if len(statements) == 1:
        return statements[0]
    if all(statement.text is None for statement in statements):
        return RecordedStatement(operation=TRANSACTION)
    texts = (statement.text or statement.operation for statement in statements)
    text = cut(";\n".join(texts), limits().statement_characters)
    return RecordedStatement(operation=TRANSACTION, text=text)
