"""FROM … INSERT … INSERT …: inserts into one or more tables, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import events, result, write_schema
from acidsql.commands.insert import (
    insert_counts,
    prepared_insert,
    publish_empty,
    query,
    recorded_insert,
    stage_query,
    static_values,
)
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Table
from acidsql.planning.prepared import Prepared
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.statements import Insert
from acidsql.transactions.write_intent import WriteIntent, insert_intent
from acidsql.transactions.write_transaction import (
    Change,
    TableWrite,
    commit_all,
    write_transactions,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One INSERT of the statement.

    Attributes:
        table: the table that it writes.
        statement: the INSERT.
        static: values of its partition if it names them all, otherwise None.
        prepared: the analysed statement.
    """

    table: Table
    statement: Insert
    static: tuple[str, ...] | None
    prepared: Prepared


def multi_insert(session: AcidSession, branches: Sequence[tuple[Table, Insert]]) -> DataFrame:
    """Run the INSERTs of one FROM in one transaction.

    All branches see the same snapshot and the same current time. Every branch into a table has a
    different statement id, so that row ids stay unique. (Hive refuses two branches into one table
    without partitions.)
    """
    by_table = by_tables(session, branches)
    intents = [intent_of(of_table) for of_table in by_table]
    inserted, current = 0, bridge.CurrentValues(session.spark)
    with write_transactions(session, intents) as transactions:
        changes: list[tuple[TableWrite, Sequence[Change]]] = []
        for transaction, of_table in zip(transactions, by_table, strict=True):
            written, changed = _write(transaction, of_table, current)
            inserted += written
            changes.append((transaction, changed))
        commit_all(changes)
    return result.counts(session.spark, affected=inserted, inserted=inserted)


def by_tables(session: AcidSession, branches: Sequence[tuple[Table, Insert]]) -> list[list[Branch]]:
    """Return the branches, grouped by their tables."""
    groups: dict[str, list[Branch]] = {}
    for table, statement in branches:
        static = static_values(session, table, statement)
        prepared = prepared_insert(session, table, statement)
        branch = Branch(table=table, statement=statement, static=static, prepared=prepared)
        groups.setdefault(table.full_name, []).append(branch)
    return list(groups.values())


def intent_of(branches: Sequence[Branch]) -> WriteIntent:
    """Return the write intent of the branches into one table.

    Raises:
        AcidAnalysisError: one branch would replace the rows of another branch
            (UNSUPPORTED_FEATURE.MULTI_INSERT_OVERWRITE).
    """
    table = branches[0].table
    overwrites = [b.statement.overwrite for b in branches]
    text = "\n".join(b.statement.text for b in branches)
    source = recorded_insert(text, overwrite=any(overwrites))
    if len(branches) == 1:
        return insert_intent(table, source, branches[0].static or None, overwrite=overwrites[0])
    if any(overwrites):
        places = [b.static for b in branches]
        if not all(overwrites) or not all(places) or len(set(places)) < len(places):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.MULTI_INSERT_OVERWRITE",
                f"INSERT OVERWRITE of {table.full_name} would replace what another branch writes "
                "into it: give each branch a PARTITION of its own, with all values, or write "
                "INSERT INTO",
            )
    return insert_intent(table, source, overwrite=any(overwrites))


def _write(
    transaction: TableWrite, branches: Sequence[Branch], current: bridge.CurrentValues
) -> tuple[int, Sequence[Change]]:
    """Write the branches into one table; return the number of rows and the changes."""
    session = transaction.session
    shape = write_schema.write_schema_of(session, transaction.table, transaction)
    known = {p.values for p in transaction.partitions()} if shape.partitions.fields else set()
    snapshot = events.snapshot_of(transaction)
    snapshot.current = current
    overwrite = transaction.intent.overwrite
    replaced: set[tuple[str, ...]] = set()
    for number, branch in enumerate(branches):
        if branch.statement.if_not_exists and branch.static in known:
            continue
        rows = query(shape, snapshot, branch.statement, branch.prepared)
        # Each branch that overwrites has a different partition, so one statement id is enough.
        with events.executing(transaction):
            stage_query(transaction, shape, rows, branch.static, 0 if overwrite else number)
        if overwrite and branch.static is not None:
            replaced.add(branch.static)
    outcome = events.finish(transaction, shape)
    inserted = outcome.events(deletes=False)
    transaction.count(insert_counts(inserted, overwrite=overwrite))
    return inserted, publish_empty(transaction, outcome, replaced)


def check_targets(tables: Mapping[str, Table | None], *, directories: bool) -> None:
    """Refuse transactional tables together with other targets, which cannot commit together.

    Args:
        tables: targets by their names as written, None for tables of Spark's.
        directories: whether the statement also writes directories.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.MULTI_INSERT_MIXED.
    """
    others = [name for name, table in tables.items() if table is None]
    if others or directories:
        transactional = next(name for name, table in tables.items() if table is not None)
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.MULTI_INSERT_MIXED",
            f"{transactional} is transactional and {others[0] if others else 'a directory'} is "
            "not, so that the branches could not be written as one: write an INSERT for each",
        )
