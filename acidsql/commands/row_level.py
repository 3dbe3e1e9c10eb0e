"""UPDATE, DELETE and MERGE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.commands import events, result
from acidsql.commands.events import Shape
from acidsql.intents import change_intent
from acidsql.metastore.model import Operation, Table
from acidsql.resolution import StatementSnapshot
from acidsql.schema import ROW_ID_COLUMN, quote
from acidsql.session import AcidSession
from acidsql.syntax.merge import add_insert_columns
from acidsql.transaction import write_transaction

_EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joined:
    """Target and source of a MERGE side by side.

    Attributes:
        row_id: identity of the target's row; null if there is none.
        from_source: null if there is no row of the source.
        old: the texts of the target's partition values.
    """

    rows: DataFrame
    row_id: Column
    from_source: Column
    old: Sequence[Column]


def update(session: AcidSession, table: Table, text: str) -> DataFrame:
    """Run an UPDATE: each matched row becomes a delete event and a row, both of statement id 0."""
    with write_transaction(session, change_intent(table, Operation.UPDATE)) as transaction:
        shape = events.shape_of(session, transaction.table)
        staged = planned(update_events, shape, events.snapshot_of(transaction), text)
        outcome = events.write(transaction, shape, staged, inserting=[0])
        kinds = [(Operation.UPDATE, [0], True), (Operation.INSERT, [0], False)]
        transaction.commit(events.changes(outcome, kinds))
    updated = outcome.events(deletes=True)
    return result.counts(session.spark, affected=updated, updated=updated)


def planned(
    make: Callable[[Shape, bridge.JavaObject], DataFrame],
    shape: Shape,
    snapshot: StatementSnapshot,
    text: str,
) -> DataFrame:
    """The events that ``make`` makes of a statement, over the partitions that it needs."""
    return make(shape, snapshot.plan(text, lambda plan: bridge.logical_plan(make(shape, plan))))


def update_events(shape: Shape, plan: bridge.JavaObject) -> DataFrame:
    """The events of an UPDATE."""
    spark = shape.session.spark
    rows, values = bridge.update_pieces(spark, bridge.analyze_update(spark, plan))
    old = shape.parts(shape.current())
    pair = F.array(
        events.delete_event(shape, 0, events.row_id(), old),
        events.insert_event(shape, 0, values),
    )
    return _exploded(rows, pair)


def delete(session: AcidSession, table: Table, text: str) -> DataFrame:
    """Run a DELETE: each matched row becomes a delete event."""
    with write_transaction(session, change_intent(table, Operation.DELETE)) as transaction:
        shape = events.shape_of(session, transaction.table)
        staged = planned(delete_events, shape, events.snapshot_of(transaction), text)
        outcome = events.write(transaction, shape, staged, inserting=[])
        transaction.commit(events.changes(outcome, [(Operation.DELETE, [0], True)]))
    deleted = outcome.events(deletes=True)
    return result.counts(session.spark, affected=deleted, deleted=deleted)


def delete_events(shape: Shape, plan: bridge.JavaObject) -> DataFrame:
    """The events of a DELETE."""
    spark = shape.session.spark
    rows = bridge.delete_rows(spark, bridge.analyze(spark, plan))
    old = shape.parts(shape.current())
    return rows.select(events.delete_event(shape, 0, events.row_id(), old).alias(_EVENT))


def merge(session: AcidSession, table: Table, text: str) -> DataFrame:
    """Run a MERGE: one join, each WHEN clause with a statement id of its own."""
    # Before the clauses are known, the lock is that of an UPDATE; the write set is told the truth.
    with write_transaction(session, change_intent(table, Operation.UPDATE)) as transaction:
        shape = events.shape_of(session, transaction.table)
        pieces = merge_pieces(shape, events.snapshot_of(transaction), text)
        clauses = [*pieces.matched, *pieces.not_matched, *pieces.not_matched_by_source]
        ids = {kind: _ids(clauses, kind) for kind in ("update", "delete", "insert")}
        inserting = [*ids["update"], *ids["insert"]]
        once = not _is_lone_delete(pieces.matched)
        staged = merge_events(shape, pieces)
        outcome = events.write(transaction, shape, staged, inserting, once=once)
        kinds = [
            (Operation.UPDATE, ids["update"], True),
            (Operation.DELETE, ids["delete"], True),
            (Operation.INSERT, inserting, False),
        ]
        transaction.commit(events.changes(outcome, kinds))
    updated = outcome.events(deletes=True, statement_ids=ids["update"])
    deleted = outcome.events(deletes=True, statement_ids=ids["delete"])
    inserted = outcome.events(deletes=False, statement_ids=ids["insert"])
    return result.counts(
        session.spark,
        affected=updated + deleted + inserted,
        updated=updated,
        deleted=deleted,
        inserted=inserted,
    )


def merge_pieces(shape: Shape, snapshot: StatementSnapshot, text: str) -> bridge.MergePlan:
    """The parts of a MERGE, analysed."""
    spark = shape.session.spark
    columns = [quote(f.name) for f in [*shape.data.fields, *shape.partitions.fields]]

    def pieces(plan: bridge.JavaObject) -> bridge.MergePlan:
        return bridge.merge_pieces(spark, bridge.analyze_merge(spark, plan))

    def made(plan: bridge.JavaObject) -> bridge.JavaObject:
        return bridge.logical_plan(merge_events(shape, pieces(plan)))

    return pieces(snapshot.plan(add_insert_columns(text, columns), made))


def merge_events(shape: Shape, pieces: bridge.MergePlan) -> DataFrame:
    """The events of a MERGE."""
    return _merge_events(shape, pieces, _joined(shape.session, shape, pieces))


def _exploded(rows: DataFrame, made: Column) -> DataFrame:
    """The events of each row, if it has any.

    They are made in a projection of their own, where Spark allows correlated subqueries. A plain
    ``explode`` would have Spark push its "not empty" below the projection and make them twice.
    """
    exploded = rows.select(made.alias("events")).select(F.explode_outer("events").alias(_EVENT))
    return exploded.where(F.col(_EVENT).isNotNull())


def _ids(clauses: Sequence[bridge.Clause], kind: str) -> list[int]:
    return [i for i, clause in enumerate(clauses) if clause.kind == kind]


def _is_lone_delete(matched: Sequence[bridge.Clause]) -> bool:
    """Whether matching a row twice is harmless, as in Spark: it is deleted,
    whichever match does it.
    """
    return len(matched) == 1 and matched[0].kind == "delete" and matched[0].condition is None


def _joined(session: AcidSession, shape: Shape, pieces: bridge.MergePlan) -> _Joined:
    """Target and source side by side, as far as the clauses need them."""
    spark = session.spark
    target = bridge.frame_of(spark, pieces.target)
    source = bridge.frame_of(spark, pieces.source)
    prefix = "__acidsql"
    while any(name.lower().startswith(prefix) for name in [*target.columns, *source.columns]):
        prefix += "_"
    parts = shape.parts(shape.current())
    old = [f"{prefix}_old_{i}" for i in range(len(parts))]
    target = target.select(
        "*",
        F.col(ROW_ID_COLUMN).alias(f"{prefix}_row_id"),
        *[part.alias(name) for part, name in zip(parts, old, strict=True)],
    )
    source = source.select("*", F.lit(True).alias(f"{prefix}_source"))
    unmatched_source, unmatched_target = pieces.not_matched, pieces.not_matched_by_source
    if unmatched_source and unmatched_target:
        kind = "fullouter"
    elif unmatched_source:
        kind = "rightouter"
    elif unmatched_target:
        kind = "leftouter"
    else:
        kind = "inner"
    return _Joined(
        rows=bridge.join(spark, target, source, kind, pieces.condition),
        row_id=F.col(f"{prefix}_row_id"),
        from_source=F.col(f"{prefix}_source"),
        old=[F.col(name) for name in old],
    )


def _merge_events(shape: Shape, pieces: bridge.MergePlan, joined: _Joined) -> DataFrame:
    """The events of each joined row: those of the first clause whose condition holds."""
    in_target, in_source = joined.row_id.isNotNull(), joined.from_source.isNotNull()
    groups = [
        (in_target & in_source, pieces.matched),
        (~in_target & in_source, pieces.not_matched),
        (in_target & ~in_source, pieces.not_matched_by_source),
    ]
    branches: list[tuple[Column, list[Column]]] = []
    statement_id = 0
    for place, clauses in groups:
        for clause in clauses:
            condition = place if clause.condition is None else place & clause.condition
            branches.append((condition, _clause_events(shape, clause, statement_id, joined)))
            statement_id += 1
    if pieces.matched and not _is_lone_delete(pieces.matched):
        # A match that no clause acts on still counts in the cardinality check.
        check = events.check_event(shape, joined.row_id, joined.old)
        branches.append((in_target & in_source, [check]))
    arrays = [(condition, F.array(*made)) for condition, made in branches]
    first, made = arrays[0]
    chosen = reduce(lambda case, branch: case.when(*branch), arrays[1:], F.when(first, made))
    return _exploded(joined.rows, chosen)


def _clause_events(
    shape: Shape, clause: bridge.Clause, statement_id: int, joined: _Joined
) -> list[Column]:
    made = []
    if clause.kind in ("update", "delete"):
        made.append(events.delete_event(shape, statement_id, joined.row_id, joined.old))
    if clause.kind in ("update", "insert"):
        made.append(events.insert_event(shape, statement_id, clause.values))
    return made
