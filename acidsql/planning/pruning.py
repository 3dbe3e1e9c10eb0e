"""Pruning: the partitions and rows that a statement requires, found before any is fetched or
listed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from acidsql import bridge
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.planning.change_request import pushable
from acidsql.planning.generated_partitions import with_generated_conditions
from acidsql.planning.placeholder_relations import Occurrence
from acidsql.planning.plan_requirements import required_of_placeholders
from acidsql.planning.pruning_subqueries import evaluate
from acidsql.scan.required_rows import ALL_ROWS, RequiredRows
from acidsql.schema.columns import partition_schema
from acidsql.session.acid_session import AcidSession


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPartitions:
    """Values of the partitions of tables, fetched once.

    Attributes:
        session: the session.
        added: those that the metastore may not know yet, by a table's full name.
    """

    session: AcidSession
    added: Mapping[str, Collection[tuple[str, ...]]]
    _fetched: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    def of(self, table: Table) -> tuple[tuple[str, ...], ...]:
        """Return the values of all partitions of a table, sorted."""
        name = table.full_name
        if name not in self._fetched:
            found = self.session.metastore.partition_values(table.database, table.name)
            if self.added.get(name):
                found = tuple(sorted({*found, *self.added[name]}))
            self._fetched[name] = found
        return self._fetched[name]


def find_required_rows(
    session: AcidSession,
    plan: bridge.LogicalPlan,
    tables: Mapping[Occurrence, Table],
    current: bridge.CurrentValues,
    scan: Callable[[Table, RequiredRows], bridge.UnresolvedPlan | None],
    added: Mapping[str, Collection[tuple[str, ...]]],
) -> dict[Occurrence, RequiredRows]:
    """Find the rows that a statement requires of each occurrence of a table.

    Args:
        plan: the statement's plan over placeholders.
        tables: table of each placeholder.
        current: the statement's current time, user and database.
        scan: builds a plan of the required rows of a table; None if it would take too long to read
            them before the statement runs.
        added: values of partitions that the metastore may not know yet, by a table's full name.

    Returns:
        The required rows by occurrence. An occurrence may be left out if all of its rows are
        required.
    """
    known = KnownPartitions(session=session, added=added)
    plan_requires = required_of_placeholders(session.spark, plan, current)
    found = {
        occurrence: RequiredRows(count_only=True)
        for occurrence in plan_requires.count_only
        if not tables[occurrence].insert_only
    }
    for occurrence, copies in plan_requires.copies.items():
        table = tables[occurrence]
        given = pushable(table, [copy.conjuncts for copy in copies])
        conjuncts = with_generated_conditions(session, table, given)
        required = RequiredRows(conditions=_row_conditions(table, conjuncts))
        found[occurrence] = _pruned(session, table, required, conjuncts, known)
    for occurrence in plan_requires.distinct_partitions_only:
        if not tables[occurrence].insert_only:
            required = found.get(occurrence, ALL_ROWS)
            found[occurrence] = replace(required, distinct_partitions_only=True)
    for occurrence, columns in plan_requires.columns.items():
        found[occurrence] = replace(found.get(occurrence, ALL_ROWS), columns=columns)

    def scan_placeholder(occurrence: Occurrence) -> bridge.UnresolvedPlan | None:
        return scan(tables[occurrence], found.get(occurrence, ALL_ROWS))

    for occurrence, copies in plan_requires.copies.items():
        table, required = tables[occurrence], found[occurrence]
        has_few = (
            required.partitions is not None
            and len(required.partitions) < limits().pruning_partitions
        )
        is_paired = table.changes is not None and bool(table.changes.keys)
        if has_few or is_paired or not any(copy.lookups for copy in copies):
            continue
        conjuncts = []
        for copy in copies:
            with bridge.job_description(session.spark, f"values that prune {table.full_name}"):
                looked_up = [evaluate(session.spark, one, scan_placeholder) for one in copy.lookups]
            conjuncts.append((*copy.conjuncts, *filter(None, looked_up)))
        conjuncts = with_generated_conditions(session, table, conjuncts)
        found[occurrence] = _pruned(session, table, required, conjuncts, known)
    return found


def _row_conditions(
    table: Table, copies: Sequence[Sequence[bridge.Conjunct]]
) -> tuple[tuple[bridge.Conjunct, ...], ...]:
    """Return the conjuncts of each copy on stored columns; () if a copy has none."""
    stored = {c.name for c in table.columns}
    conditions = tuple(tuple(c for c in copy if c.columns.keys() <= stored) for copy in copies)
    return conditions if all(conditions) and not table.insert_only else ()


def _pruned(
    session: AcidSession,
    table: Table,
    required: RequiredRows,
    copies: Sequence[Sequence[bridge.Conjunct]],
    known: KnownPartitions,
) -> RequiredRows:
    """Return required rows in the partitions that meet the conjuncts of at least one copy; in all
    if a copy has no conjunct on partition columns.

    Args:
        known: values of all partitions.
    """
    names = {c.name for c in table.partition_columns}
    about_partitions = tuple(tuple(c for c in copy if c.columns.keys() <= names) for copy in copies)
    if not all(about_partitions):
        return replace(required, partitions=None)
    values = known.of(table)
    texts = [[None if v == DEFAULT_PARTITION else v for v in row] for row in values]
    schema = partition_schema(session.spark, table)
    chosen = {
        i for c in about_partitions for i in bridge.matching_rows(session.spark, c, schema, texts)
    }
    return replace(
        required,
        partitions=frozenset(values[i] for i in chosen),
        partition_conditions=about_partitions,
        of_partitions=len(values),
    )
