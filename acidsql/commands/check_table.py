"""CHECK TABLE: problems of a table, with their places, severities and remedies."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from acidsql.checking.check import find_problems
from acidsql.checking.problems import Problem
from acidsql.commands import repair_problems, result
from acidsql.commands.partitions import named_partitions
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Partition, Table
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.maintenance_statements import CheckTable
from acidsql.transactions.write_intent import alter_intent
from acidsql.transactions.write_transaction import write_transaction

_COLUMNS = (
    ("problem", "STRING"),
    ("severity", "STRING"),
    ("partition", "STRING"),
    ("path", "STRING"),
    ("bucket", "INT"),
    ("row__id", "STRING"),
    ("detail", "STRING"),
    ("remedy", "STRING"),
)
_REPAIR_COLUMNS = (("repair", "STRING"), ("repaired", "BOOLEAN"))


def check_table(session: AcidSession, table: Table, statement: CheckTable) -> DataFrame:
    """Run CHECK TABLE; without REPAIR, or with DRY RUN, it changes nothing.

    Returns:
        A row for each problem, the worst first.

    Raises:
        AcidAnalysisError: INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY,
            PARTITIONS_NOT_FOUND.
        AcidLookupError: PARTITIONS_NOT_FOUND.
    """
    partitions = named_partitions(session, table, statement.partition)
    full = statement.mode == "full"
    if statement.repair and not statement.dry_run:
        return _repaired(session, table, statement.text, partitions, full=full)
    with leased_snapshot(session, kept=False) as snapshot:
        problems = find_problems(
            session, table, snapshot.txns, snapshot.listings, partitions, full=full
        )
    rows = [_row(problem) for problem in problems]
    if not statement.repair:
        return result.table(session.spark, _COLUMNS, rows)
    answers = [(*row, p.kind.repair, False) for row, p in zip(rows, problems, strict=True)]
    return result.table(session.spark, (*_COLUMNS, *_REPAIR_COLUMNS), answers)


def _repaired(
    session: AcidSession,
    table: Table,
    text: str,
    partitions: Sequence[Partition] | None,
    *,
    full: bool,
) -> DataFrame:
    """Check and repair a table under an EXCLUSIVE lock, which waits for all writers."""
    # Read before the transaction, which raises the write id above those in the table's names and
    # so repairs one problem already.
    write_id = session.metastore.next_write_id(table.database, table.name) - 1
    source = RecordedStatement(operation="REPAIR", text=text)
    with write_transaction(session, alter_intent(table, source)) as transaction:
        problems = find_problems(
            session,
            transaction.table,
            transaction.txns,
            transaction.listings,
            partitions,
            full=full,
            known_write_id=write_id,
        )
        done = repair_problems.repair(transaction, problems)
        transaction.commit([])
    rows = [
        (*_row(problem), how or problem.kind.repair, how is not None)
        for problem, how in zip(problems, done, strict=True)
    ]
    return result.table(session.spark, (*_COLUMNS, *_REPAIR_COLUMNS), rows)


def _row(problem: Problem) -> tuple[object, ...]:
    return (
        problem.name,
        problem.kind.severity.value,
        problem.partition,
        problem.path,
        problem.bucket,
        None if problem.row_id is None else str(problem.row_id),
        problem.detail,
        problem.kind.remedy,
    )
