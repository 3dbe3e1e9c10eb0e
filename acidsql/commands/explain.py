"""EXPLAIN: Spark's plan of a statement, and its reads and writes of ACID tables.

The functions that plan a statement when it runs also build this plan. EXPLAIN runs only the queries
that prune partitions. It takes no lock and no write id, and leaves no transaction open.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import (
    create,
    insert,
    merge,
    multi_insert,
    replace_rows,
    replace_table,
    restore,
    result,
    row_level,
    write_schema,
)
from acidsql.commands.acid_plan import PlannedWrite, acid_section
from acidsql.commands.protect_acid_tables import refuse_damage
from acidsql.commands.schema_evolution import (
    evolving_intent,
    insert_target,
    merge_target,
)
from acidsql.commands.targets import branches_of, target_of, written_table
from acidsql.insert_only.write import refuse_row_changes
from acidsql.limits import limits
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import Operation, Table
from acidsql.planning.name_resolution import acid_table
from acidsql.planning.parsed_statement import parse_and_resolve
from acidsql.planning.statement import StatementSnapshot
from acidsql.planning.statement_snapshots import latest_snapshot, leased_snapshot
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase
from acidsql.session.parsing import parse_in_session
from acidsql.storage.driver_writer import may_stage_on_driver, most_keys, most_rows
from acidsql.storage.staging import Target
from acidsql.syntax import maintenance_statements, show_statements
from acidsql.syntax import statements as ast
from acidsql.transactions.write_intent import (
    WriteIntent,
    change_intent,
    insert_intent,
    replace_intent,
    restore_intent,
)

_JOB = "a Spark job"
# No history records this: the statement does not run.
_NOT_RUN = RecordedStatement(operation="EXPLAIN")
_ROWS = Target(deletes=False, statement_id=0)
_DELETES = Target(deletes=True, statement_id=0)


def explain(session: AcidSession, statement: show_statements.Explain) -> DataFrame | None:
    """Run EXPLAIN; for a statement that writes, explain the plan of its events."""
    explained = statement.statement.of(statement.text)
    with leased_snapshot(session, kept=False) as snapshot, phase(Phase.PLAN):
        planned = _planned_writes(session, snapshot, explained)
        if planned is None:
            parsed = parse_and_resolve(session, explained)
            if not parsed.tables:
                return None
            refuse_damage(session, parsed.plan)
            planned = [snapshot.resolved(parsed)], []
        plans, writes = planned
        texts = [bridge.explain(session.spark, plan, statement.mode) for plan in plans]
        whole = statement.mode == "extended"
        texts.append(acid_section(session, snapshot.scans, writes, whole=whole))
    return result.table(session.spark, [("plan", "STRING")], [("\n".join(texts),)])


_Planned = tuple[list[bridge.LogicalPlan], list[PlannedWrite]]


def _planned_writes(
    session: AcidSession, snapshot: StatementSnapshot, text: str
) -> _Planned | None:
    """Plan a statement that writes to ACID tables; return None for other statements."""
    statement = parse_in_session(session.spark, text)
    if isinstance(statement, ast.MultiInsert):
        branches = branches_of(session, statement)
        return None if branches is None else _multi_insert(session, snapshot, branches)
    if isinstance(statement, ast.CreateTable) and statement.query is not None:
        return _create(session, snapshot, statement)
    if isinstance(statement, maintenance_statements.Restore):
        return _restore(session, snapshot, statement)
    if isinstance(statement, maintenance_statements.UndoWrite):
        return _undo_write(session, snapshot, statement)
    if not isinstance(statement, ast.Insert | ast.Update | ast.Delete | ast.Merge):
        return None
    table = target_of(session, statement)
    if table is None:
        return None
    snapshot.expires = None  # the plan of a statement that writes runs immediately
    snapshot.changed = frozenset({table.full_name})
    if isinstance(statement, ast.Insert) and statement.replaces:
        return _replace(session, snapshot, table, statement)
    if isinstance(statement, ast.Insert):
        static = insert.static_values(session, table, statement)
        intent = insert_intent(table, _NOT_RUN, static or None, overwrite=statement.overwrite)
        target = insert_target(session, table, statement)
        plan, writer = _insert(session, snapshot, target, statement)
        notes = ("Nothing is written if the partition exists",) * statement.if_not_exists
        notes = (*notes, *_evolution(table, target))
        intent = evolving_intent(session, intent, table, target)
        return [plan], [_insert_write(intent, writer, (_ROWS,), notes)]
    if isinstance(statement, ast.Merge):
        return _merge(session, table, snapshot, statement)
    shape = write_schema.write_schema_of(session, table)
    is_update = isinstance(statement, ast.Update)
    make = row_level.update_events if is_update else row_level.delete_events
    analysis = bridge.analyze_update if is_update else bridge.analyze_delete
    prepared = row_level.prepared_change(session, table, statement.text, analysis, snapshot)
    frame = row_level.planned(make, shape, snapshot, prepared)
    write = PlannedWrite(
        operation="UPDATE" if is_update else "DELETE",
        intent=change_intent(table, Operation.UPDATE if is_update else Operation.DELETE, _NOT_RUN),
        targets=(_DELETES, _ROWS) if is_update else (_DELETES,),
        writer=_writer_of_events(frame, shape, snapshot)
        if is_update
        else _writer_of_deletes(frame, table),
    )
    return [bridge.logical_plan(frame)], [write]


def _replace(
    session: AcidSession, snapshot: StatementSnapshot, table: Table, statement: ast.Insert
) -> _Planned:
    """Plan INSERT … REPLACE."""
    shape = write_schema.write_schema_of(session, table)
    replacement = replace_rows.replacement_of(session, table, statement)
    frame = replace_rows.planned(shape, snapshot, replacement)
    write = PlannedWrite(
        operation=replacement.recorded.operation,
        intent=change_intent(table, Operation.UPDATE, _NOT_RUN),
        targets=(_DELETES, _ROWS),
        writer=_writer_of_events(frame, shape, snapshot),
    )
    return [bridge.logical_plan(frame)], [write]


def _restore(
    session: AcidSession, snapshot: StatementSnapshot, statement: maintenance_statements.Restore
) -> _Planned | None:
    table = written_table(session, statement.name)
    if table is None:
        return None
    refuse_row_changes(table, restore.RESTORE)
    snapshot.expires = None
    shape = write_schema.write_schema_of(session, table)
    frame = restore.restore_events(shape, snapshot, restore.moment_of(session, table, statement))
    if frame is None:
        return [], []
    write = PlannedWrite(
        operation=restore.RESTORE,
        intent=restore_intent(table, _NOT_RUN),
        targets=(_DELETES, _ROWS),
        writer=_writer_of_events(frame, shape, snapshot),
    )
    return [bridge.logical_plan(frame)], [write]


def _undo_write(
    session: AcidSession, snapshot: StatementSnapshot, statement: maintenance_statements.UndoWrite
) -> _Planned:
    written_table(session, statement.name)  # refuses a view
    table, write_id = acid_table(session, statement.name), statement.write_id
    snapshot.expires = None
    restore.check_undo(table, write_id, latest_snapshot(session))
    shape = write_schema.write_schema_of(session, table)
    planned = restore.plan_undo(shape, snapshot, write_id)
    if planned.events is None:
        return [], []
    conflicts = "none, as the names of directories and delete events show"
    if planned.changed_later is not None:
        conflicts = f"rows of write id {write_id} that were changed later are looked for first"
    write = PlannedWrite(
        operation=restore.undo_of(write_id),
        intent=restore_intent(table, _NOT_RUN),
        targets=(_DELETES, _ROWS),
        writer=_writer_of_events(planned.events, shape, snapshot),
        notes=(f"Conflicts: {conflicts}",),
    )
    return [bridge.logical_plan(planned.events)], [write]


def _multi_insert(
    session: AcidSession,
    snapshot: StatementSnapshot,
    branches: list[tuple[Table, ast.Insert]],
) -> _Planned:
    snapshot.expires = None
    plans, writes = [], []
    for of_table in multi_insert.by_tables(session, branches):
        intent = multi_insert.intent_of(of_table)
        writers = []
        for branch in of_table:
            plan, writer = _insert(session, snapshot, branch.table, branch.statement)
            plans.append(plan)
            writers.append(writer)
        targets = tuple(Target(deletes=False, statement_id=i) for i in range(len(of_table)))
        writes.append(_insert_write(intent, ", then ".join(dict.fromkeys(writers)), targets))
    return plans, writes


def _insert(
    session: AcidSession,
    snapshot: StatementSnapshot,
    table: Table,
    statement: ast.Insert,
) -> tuple[bridge.LogicalPlan, str]:
    """Plan an INSERT; return the plan of its rows, and a description of their writer."""
    shape = write_schema.write_schema_of(session, table)
    prepared = insert.prepared_insert(session, table, statement, snapshot)
    rows = insert.query(shape, snapshot, statement, prepared)
    return bridge.logical_plan(rows), _writer_of_rows(table, rows)


def _insert_write(
    intent: WriteIntent, writer: str, targets: tuple[Target, ...], notes: tuple[str, ...] = ()
) -> PlannedWrite:
    operation = "INSERT OVERWRITE" if intent.overwrite else "INSERT INTO"
    return PlannedWrite(
        operation=operation, intent=intent, targets=targets, writer=writer, notes=notes
    )


def _create(
    session: AcidSession, snapshot: StatementSnapshot, statement: ast.CreateTable
) -> _Planned:
    """Plan CREATE TABLE … AS SELECT, or its variants that replace a table."""
    old = replace_table.replaced_table(session, statement) if statement.replaces else None
    if old is not None:
        create.check_clauses(session, statement)
        new, replacing = replace_table.planned(session, snapshot, statement, old)
        assert replacing is not None  # the statement has a query
        replacement = PlannedWrite(
            operation=replace_table.operation_of(statement),
            intent=replace_intent(old, _NOT_RUN),
            targets=(_ROWS,),
            writer=_writer_of_rows(new, replacing),
        )
        return [bridge.logical_plan(replacing)], [replacement]
    defined = create.defined_by_query(session, snapshot, statement)
    if defined is None:
        return [], []
    table, rows = defined
    write = PlannedWrite(
        operation="CREATE TABLE",
        intent=insert_intent(table, _NOT_RUN),
        targets=(_ROWS,),
        writer=_writer_of_rows(table, rows),
        notes=("The table is visible when it has its rows",),
    )
    return [bridge.logical_plan(rows)], [write]


def _evolution(table: Table, target: Table) -> tuple[str, ...]:
    """Return a note that lists the columns that a statement adds or changes, if any."""
    new = [f"{c.name} {c.type}" for c in target.columns if c not in table.columns]
    return (f"Columns: {', '.join(new)}",) if new else ()


def _merge(
    session: AcidSession, table: Table, snapshot: StatementSnapshot, statement: ast.Merge
) -> _Planned:
    target = merge_target(session, table, statement)
    shape = write_schema.write_schema_of(session, target)
    prepared = merge.prepared_merge(shape.session, shape.table, statement, snapshot)
    pieces = merge.merge_pieces(shape, snapshot, prepared)
    sides = merge.merge_sides(shape, pieces)
    frame = merge.merge_events(shape, pieces, sides)
    targets = []
    for number, clause in enumerate(merge.clauses_of(pieces)):
        for deletes, kinds in ((True, ("update", "delete")), (False, ("update", "insert"))):
            if clause.kind in kinds:
                targets.append(Target(deletes=deletes, statement_id=number))
    notes = list(_evolution(table, target))
    if merge.may_compute_source(pieces, sides):
        notes.append(
            "Source: computed first if the driver can hold it; its keys then choose the partitions "
            "and rows of the target that are read"
        )
    write = PlannedWrite(
        operation="MERGE",
        intent=evolving_intent(
            session, change_intent(table, Operation.UPDATE, _NOT_RUN), table, target
        ),
        targets=tuple(targets),
        writer=_writer_of_events(frame, shape, snapshot, likely=merge.likely_events(pieces, sides)),
        notes=tuple(notes),
    )
    return [bridge.logical_plan(frame)], [write]


def _writer_of_rows(table: Table, rows: DataFrame) -> str:
    return "the driver" if insert.is_written_by_driver(table, rows) else _JOB


def _writer_of_events(
    frame: DataFrame,
    shape: write_schema.WriteSchema,
    snapshot: StatementSnapshot,
    likely: int | None = None,
) -> str:
    most = most_rows(frame, len(snapshot.partitions(shape.table)))
    if not may_stage_on_driver(frame, most, likely):
        return _JOB
    return f"the driver if there are fewer than {most} events, else {_JOB}"


def _writer_of_deletes(frame: DataFrame, table: Table) -> str:
    most = most_keys(frame, table)
    if most is None:
        return _JOB
    events_of_all = limits().driver_events
    return (
        f"the driver if there are fewer than {events_of_all} delete events, and fewer than {most} "
        f"in each task, else {_JOB}"
    )
