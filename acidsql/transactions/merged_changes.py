"""Catalog changes of the statements of one transaction, merged for its commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acidsql.limits import limits
from acidsql.metastore.catalog_changes import AlterPartitions, CatalogChange, RecordWrites
from acidsql.metastore.history import RecordedStatement
from acidsql.transactions.recorded import cut

TRANSACTION = "TRANSACTION"
"""Operation in the history of a write id that several statements have used."""


def merged(changes: Sequence[CatalogChange]) -> list[CatalogChange]:
    """Merge changes of partitions so that each table and each of its partitions occurs once.

    Args:
        changes: changes of all statements in their order, which the result keeps.
    """
    by_key: dict[object, CatalogChange] = {}
    for number, change in enumerate(changes):
        match change:
            case RecordWrites(table=table) | AlterPartitions(table=table):
                key: object = type(change), table.full_name
            case _:
                key = number
        earlier = by_key.get(key)
        match earlier, change:
            case RecordWrites(), RecordWrites():
                written = {p.values: p for p in (*earlier.written, *change.written)}
                by_key[key] = replace(change, written=tuple(written.values()))
            case AlterPartitions(), AlterPartitions():
                by_key[key] = _altered(earlier, change)
            case _:
                by_key[key] = change
    return list(by_key.values())


def _altered(earlier: AlterPartitions, later: AlterPartitions) -> AlterPartitions:
    before = {p.values: p for p in (*later.before, *earlier.before)}
    after = {p.values: p for p in (*earlier.after, *later.after)}
    return replace(
        later, before=tuple(before[values] for values in after), after=tuple(after.values())
    )


def together(statements: Sequence[RecordedStatement]) -> RecordedStatement:
    r"""Merge the statements of a transaction into one statement for the history.

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
