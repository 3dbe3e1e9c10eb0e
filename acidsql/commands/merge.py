"""MERGE INTO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.commands import events, result, write_schema
from acidsql.commands.identity_columns import refuse_update
from acidsql.commands.row_level import free_prefix, row_intent, value_names
from acidsql.commands.schema_evolution import evolve, evolving_intent, merge_target
from acidsql.commands.unique_inserts import UniqueInserts, unique_columns
from acidsql.commands.write_schema import WriteSchema
from acidsql.limits import limits
from acidsql.metastore.history import WriteCounts
from acidsql.metastore.model import Operation, Table
from acidsql.planning.merge_keys import Key, narrowed, narrowed_join, source_keys
from acidsql.planning.prepared import Prepared, over_scans, prepare
from acidsql.planning.statement import StatementSnapshot
from acidsql.schema.acid_file import ROW_ID_COLUMN
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase
from acidsql.storage.finalize import DuplicateKeys
from acidsql.storage.staging import named_sql
from acidsql.syntax.lexer import quote
from acidsql.syntax.merge import add_insert_columns
from acidsql.syntax.statements import Merge
from acidsql.transactions.write_transaction import write_transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Target and source of a MERGE, with added columns.

    Attributes:
        target: rows of the target.
        source: rows of the source.
        prefix: prefix of the added columns. ``_row_id`` is the row id of the target's row, null
            without a row of the target. ``_source`` is null without a row of the source.
        old: names of the columns with the target's partition values.
    """

    target: DataFrame
    source: DataFrame
    prefix: str
    old: Sequence[str]


def merge(session: AcidSession, table: Table, statement: Merge) -> DataFrame:
    """Run a MERGE as one join, with a different statement id for each WHEN clause."""
    # The clauses are not known yet, so the lock is that of an UPDATE. The write set is exact.
    intent = row_intent(table, Operation.UPDATE, "MERGE", statement.text)
    unique = unique_columns(session, table)
    target = merge_target(session, table, statement)
    intent = evolving_intent(session, intent, table, target)
    prepared = prepared_merge(session, target, statement)
    with write_transaction(session, intent) as transaction:
        evolve(transaction, lambda now: merge_target(session, now, statement))
        shape = write_schema.write_schema_of(session, transaction.table, transaction)
        seen = events.snapshot_of(transaction)
        if not prepared.is_current(session, shape.table):
            prepared = prepared_merge(session, shape.table, statement, seen)
        with phase(Phase.PLAN):
            pieces, sides, rows = _joined_at_best(shape, seen, prepared)
        clauses = clauses_of(pieces)
        ids = {kind: _ids(clauses, kind) for kind in ("update", "delete", "insert")}
        inserting = [*ids["update"], *ids["insert"]]
        if unique and ids["insert"]:
            transaction.conflict_checks.append(
                UniqueInserts(
                    write=transaction,
                    columns=unique,
                    statement_ids=ids["insert"],
                    compared=transaction.seen,
                )
            )
        duplicate_keys = (
            DuplicateKeys.AS_ONE if _is_lone_delete(pieces.matched) else DuplicateKeys.AN_ERROR
        )
        with phase(Phase.PLAN):
            staged = _merge_events(shape, pieces, sides, rows)
        outcome = events.write(
            transaction,
            shape,
            staged,
            inserting,
            seen=seen,
            duplicate_keys=duplicate_keys,
            likely=likely_events(pieces, sides),
        )
        changed = [
            outcome.changed(Operation.UPDATE, deletes=True, statement_ids=ids["update"]),
            outcome.changed(Operation.DELETE, deletes=True, statement_ids=ids["delete"]),
            outcome.changed(Operation.INSERT, deletes=False),
        ]
        updated = outcome.events(deletes=True, statement_ids=ids["update"])
        deleted = outcome.events(deletes=True, statement_ids=ids["delete"])
        inserted = outcome.events(deletes=False, statement_ids=ids["insert"])
        counts = WriteCounts(inserted=inserted, updated=updated, deleted=deleted)
        transaction.commit(changed, counts)
    return result.counts(
        session.spark,
        affected=updated + deleted + inserted,
        updated=updated,
        deleted=deleted,
        inserted=inserted,
    )


def likely_events(pieces: bridge.MergePlan, sides: Sides) -> int | None:
    """Estimate the number of events of a MERGE: its source's rows, if each matches one row.

    The number of rows in the source is the largest number that Spark knows without running it.

    Returns:
        None if Spark does not know a number, or a clause acts on rows without a match in the
        source.
    """
    if pieces.not_matched_by_source:
        return None
    return bridge.largest_number_of_rows(sides.source)


def clauses_of(pieces: bridge.MergePlan) -> list[bridge.Clause]:
    """Return the clauses of a MERGE; the position of a clause is its statement id."""
    return [*pieces.matched, *pieces.not_matched, *pieces.not_matched_by_source]


def prepared_merge(
    session: AcidSession,
    table: Table,
    statement: Merge,
    snapshot: StatementSnapshot | None = None,
) -> Prepared:
    """Analyse a MERGE into a table; see ``prepare``."""
    columns = [c.name for c in (*table.columns, *table.partition_columns)]
    text = add_insert_columns(statement.plain_text, [quote(name) for name in columns])

    evolves = statement.schema_evolution is not None

    def analysis(plan: bridge.LogicalPlan) -> bridge.LogicalPlan:
        if evolves:
            plan = bridge.without_stars(session.spark, plan, columns)
        return bridge.analyze_merge(session.spark, plan)

    return prepare(session, table, text, analysis, snapshot, changes_columns=evolves)


def merge_pieces(
    shape: WriteSchema, snapshot: StatementSnapshot, prepared: Prepared, keys: Sequence[Key] = ()
) -> bridge.MergePlan:
    """Return the parts of a MERGE; they scan only the partitions and rows that it requires.

    Args:
        shape: write schema of the table.
        snapshot: snapshot that the statement reads.
        prepared: the analysed MERGE.
        keys: conditions that every target row with a match in the source meets.
    """
    spark = shape.session.spark

    def requested(plan: bridge.LogicalPlan) -> bridge.LogicalPlan:
        return narrowed_join(spark, bridge.merge_query(spark, plan), keys)

    plan = over_scans(snapshot, prepared, requested, whole_rows=True)
    pieces = bridge.merge_pieces(spark, snapshot.current.put_into(plan))
    return replace(pieces, target=narrowed(spark, pieces.target, keys))


def planned_merge(shape: WriteSchema, snapshot: StatementSnapshot, prepared: Prepared) -> DataFrame:
    """Plan the events of an analysed MERGE; scan only the partitions and rows that it requires."""
    with phase(Phase.PLAN):
        pieces, sides, rows = _joined_at_best(shape, snapshot, prepared)
        return _merge_events(shape, pieces, sides, rows)


def merge_events(
    shape: WriteSchema, pieces: bridge.MergePlan, sides: Sides | None = None
) -> DataFrame:
    """Plan the events of a MERGE."""
    sides = sides or merge_sides(shape, pieces)
    return _merge_events(shape, pieces, sides, _joined(pieces, sides))


def _of_clause(clause: str, made: Sequence[dict[str, str]]) -> dict[str, str]:
    """Return the event of the clause that acts on a row, as SQL of the event's columns by name.

    Args:
        clause: name of the column with the number of the clause.
        made: event of each clause; all events have the same columns.
    """
    chosen = {}
    for name in made[0]:
        values = [event[name] for event in made]
        cases = " ".join(f"WHEN {number} THEN {value}" for number, value in enumerate(values))
        is_same = len(set(values)) == 1
        chosen[name] = values[0] if is_same else f"CASE {clause} {cases} END"
    return chosen


def _ids(clauses: Sequence[bridge.Clause], kind: str) -> list[int]:
    return [i for i, clause in enumerate(clauses) if clause.kind == kind]


def _is_lone_delete(matched: Sequence[bridge.Clause]) -> bool:
    """Return whether the only WHEN MATCHED clause is a DELETE without a condition.

    A row can then have several matches, as in Spark, because it is deleted in any case.
    """
    return len(matched) == 1 and matched[0].kind == "delete" and matched[0].condition is None


def merge_sides(shape: WriteSchema, pieces: bridge.MergePlan) -> Sides:
    """Return the two sides of a MERGE with the added columns."""
    spark = shape.session.spark
    target = bridge.frame_of(spark, pieces.target)
    source = bridge.frame_of(spark, pieces.source)
    prefix = free_prefix([*target.columns, *source.columns])
    old = [f"{prefix}_old_{i}" for i in range(len(shape.partitions.fields))]
    parts = [f"{p} AS {name}" for p, name in zip(shape.current_parts(), old, strict=True)]
    return Sides(
        target=bridge.select(target, "*", f"{ROW_ID_COLUMN} AS {prefix}_row_id", *parts),
        source=bridge.select(source, "*", f"true AS {prefix}_source"),
        prefix=prefix,
        old=old,
    )


def _joined(pieces: bridge.MergePlan, sides: Sides) -> DataFrame:
    """Join target and source with the join type that the clauses need; run no job."""
    return bridge.merge_join(sides.target.sparkSession, pieces, sides.target, sides.source)


def _joined_at_best(
    shape: WriteSchema, snapshot: StatementSnapshot, prepared: Prepared
) -> tuple[bridge.MergePlan, Sides, DataFrame]:
    """Return the parts of a MERGE, its two sides and their join; compute a small source first.

    acidsql computes the source first if the source has few rows and the target is large. The keys
    of the source then show which partitions and rows of the target can match, and Spark does not
    shuffle the target.
    """
    spark = shape.session.spark
    pieces = merge_pieces(shape, snapshot, prepared)
    sides = merge_sides(shape, pieces)
    if not may_compute_source(pieces, sides):
        return pieces, sides, _joined(pieces, sides)
    name = f"MERGE {shape.table.full_name} (source)"
    with phase(Phase.EXECUTE), bridge.job_description(spark, name):
        held = _collected_source(sides)
    if held is None:
        return pieces, sides, _joined(pieces, sides)
    keys = source_keys(spark, pieces, held)
    if keys:
        snapshot.scans.clear()  # the scans are planned again, for fewer rows
        pieces = merge_pieces(shape, snapshot, prepared, keys)
        sides = merge_sides(shape, pieces)
        held = bridge.replace_by_collected(_numbered(sides), held)
    join = bridge.merge_with_broadcast_source if pieces.not_matched else bridge.merge_join
    return pieces, replace(sides, source=held), join(spark, pieces, sides.target, held)


def _numbered(sides: Sides) -> DataFrame:
    """Add a unique number to each row of the source."""
    return bridge.select(
        sides.source, "*", f"monotonically_increasing_id() AS {sides.prefix}_number"
    )


def _collected_source(sides: Sides) -> DataFrame | None:
    """Compute the source of a MERGE with numbered rows; None if the driver cannot hold it."""
    if not bridge.fits_in_driver(sides.source, most_read=bridge.input_bytes(sides.target)):
        return None
    return bridge.collect_to_driver(_numbered(sides))


def may_compute_source(pieces: bridge.MergePlan, sides: Sides) -> bool:
    """Return whether to compute the source of a MERGE first, if the driver can hold it.

    That pays off if reading the whole target costs more than the additional jobs.
    """
    if pieces.not_matched_by_source:
        return False
    return bridge.input_bytes(sides.target) > limits().merge_shuffle_bytes


def _merge_events(
    shape: WriteSchema, pieces: bridge.MergePlan, sides: Sides, rows: DataFrame
) -> DataFrame:
    """Plan the events of each joined row: the events of the first clause with a true condition.

    The clause is determined first, so that the values of other clauses are not computed.
    """
    prefix = sides.prefix
    row_id, clause_column = f"{prefix}_row_id", f"{prefix}_clause"
    in_target, in_source = F.col(row_id).isNotNull(), F.col(f"{prefix}_source").isNotNull()
    groups = [
        (in_target & in_source, pieces.matched),
        (~in_target & in_source, pieces.not_matched),
        (in_target & ~in_source, pieces.not_matched_by_source),
    ]
    clauses = [(place, clause) for place, of_group in groups for clause in of_group]
    conditions = [
        place if clause.condition is None else place & clause.condition for place, clause in clauses
    ]
    made = []
    for number, (_, clause) in enumerate(clauses):
        names = value_names(shape, f"{prefix}_{number}")
        bucket = f"{prefix}_{number}_bucket"
        match clause.kind:
            case "update":
                event = events.update_event(shape, number, row_id, sides.old, names, bucket)
            case "delete":
                event = events.delete_event(shape, number, row_id, sides.old)
            case _:
                event = events.insert_event(shape, number, names, bucket)
        made.append(event)
    if pieces.matched and not _is_lone_delete(pieces.matched):
        # The cardinality check also counts a match on which no clause acts.
        conditions.append(in_target & in_source)
        made.append(events.check_event(shape, row_id, sides.old))
    rows = _with_values(shape, sides, rows, conditions, [clause for _, clause in clauses])
    acted = rows.where(f"{clause_column} IS NOT NULL")
    return bridge.select(acted, *named_sql(_of_clause(clause_column, made)))


def _with_values(
    shape: WriteSchema,
    sides: Sides,
    rows: DataFrame,
    conditions: Sequence[Column],
    clauses: Sequence[bridge.Clause],
) -> DataFrame:
    """Add the number of the acting clause, and the new values, to each joined row."""
    prefix = sides.prefix
    clause_column = f"{prefix}_clause"
    first, *others = [(condition, F.lit(i)) for i, condition in enumerate(conditions)]
    chosen = reduce(lambda case, branch: case.when(*branch), others, F.when(*first))
    rows = rows.select("*", chosen.alias(clause_column))
    computed = [
        (attribute, F.when(F.col(clause_column) == number, value))
        for number, clause in enumerate(clauses)
        for attribute, value in clause.computed
    ]
    rows = bridge.with_attributes(rows, computed)
    spark = shape.session.spark
    names, values = {}, []
    for i, clause in enumerate(clauses):
        if clause.assignments is not None:
            names[i] = value_names(shape, f"{prefix}_{i}")
            made = bridge.chosen_values(spark, clause.assignments, clause_column, i, names[i])
            values.append(made)
    kept = [F.col(name) for name in (f"{prefix}_row_id", clause_column, *sides.old)]
    columns = [bridge.named_columns(spark, kept), *values]
    rows = bridge.UnresolvedPlan.of(rows).project(columns).frame()
    for number, of_clause in names.items():
        acting = f"{clause_column} = {number}"
        given = clauses[number].assignments
        assigned, updates = None, clauses[number].kind == "update"
        if updates and (shape.table.generated_columns or shape.table.identity_columns):
            assigned = bridge.assigned_columns(spark, given)
            refuse_update(shape.table, assigned)
        bucket = f"{prefix}_{number}_bucket"
        rows = shape.stored(rows, of_clause, bucket, acting, assigned, adds_rows=not updates)
    return rows
