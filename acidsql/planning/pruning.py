"""Which partitions and rows a statement needs, found before any is fetched or listed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from acidsql import bridge
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.model import Table
from acidsql.planning.pruning_subqueries import evaluate
from acidsql.planning.required_rows import required_of_placeholders
from acidsql.schema.acid_file import ROW_ID_COLUMN
from acidsql.schema.columns import data_schema, partition_schema
from acidsql.session.acid_session import AcidSession

# Of fewer partitions none is looked for by reading another table.
_MANY_PARTITIONS = 8
Wanted = frozenset[tuple[str, ...]]

_ROW_ID = StructType(
    [
        StructField("writeid", LongType()),
        StructField("bucketid", IntegerType()),
        StructField("rowid", LongType()),
    ]
)


def placeholder_schema(spark: SparkSession, table: Table) -> StructType:
    """The columns that a scan of a table gives, ``row__id`` last if its rows have one."""
    fields = [*data_schema(spark, table).fields, *partition_schema(spark, table).fields]
    row_id = [] if table.insert_only else [StructField(ROW_ID_COLUMN, _ROW_ID, nullable=False)]
    return StructType([*fields, *row_id])


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a statement needs of one occurrence of a table.

    Attributes:
        partitions: the values of its partitions, None for all.
        rows: alternatives, of each the conditions that all hold of its rows; none if it needs all.
        counted: it needs no values, only to know how many rows there are.
        once: it needs the partition columns only, and of equal rows one.
    """

    partitions: Wanted | None = None
    rows: tuple[tuple[bridge.Conjunct, ...], ...] = ()
    counted: bool = False
    once: bool = False


EVERYTHING = Needs()


def find_needs(
    session: AcidSession,
    plan: bridge.JavaObject,
    tables: Sequence[Table],
    current: bridge.Current,
    scan: Callable[[Table, Needs], bridge.Draft | None],
) -> dict[int, Needs]:
    """What a statement needs of each occurrence of a table.

    Args:
        plan: the statement's plan over placeholders.
        tables: the table of each placeholder, by its number.
        current: what the statement takes for the current time, user and database.
        scan: the rows of a table that are needed; None if it takes too long to read them before
            the statement runs.

    Returns:
        Occurrences that need everything are left out.
    """
    known: dict[str, tuple[tuple[str, ...], ...]] = {}
    asked = required_of_placeholders(session.spark, plan, current)
    found = {
        number: Needs(counted=True) for number in asked.counted if not tables[number].insert_only
    }
    conditions = {n: [copy.conjuncts for copy in copies] for n, copies in asked.copies.items()}
    for number, copies in conditions.items():
        table = tables[number]
        stored = {c.name for c in table.columns}
        about_rows = tuple(tuple(c for c in copy if c.columns.keys() <= stored) for copy in copies)
        rows = about_rows if all(about_rows) and not table.insert_only else ()
        found[number] = Needs(partitions=_partitions(session, table, copies, known), rows=rows)

    for number in asked.once:
        if not tables[number].insert_only:
            found[number] = replace(found.get(number, EVERYTHING), once=True)

    def scan_placeholder(number: int) -> bridge.Draft | None:
        return scan(tables[number], found.get(number, EVERYTHING))

    for number, own in asked.copies.items():
        if not any(copy.lookups for copy in own):
            continue
        table, needs = tables[number], found[number]
        if needs.partitions is not None and len(needs.partitions) < _MANY_PARTITIONS:
            continue
        more = [
            [evaluate(session.spark, one, scan_placeholder) for one in copy.lookups] for copy in own
        ]
        copies = [
            (*copy.conjuncts, *filter(None, added)) for copy, added in zip(own, more, strict=True)
        ]
        found[number] = replace(needs, partitions=_partitions(session, table, copies, known))
    return found


def _partitions(
    session: AcidSession,
    table: Table,
    copies: Sequence[Sequence[bridge.Conjunct]],
    known: dict[str, tuple[tuple[str, ...], ...]],
) -> Wanted | None:
    """The partitions in which the conditions of some copy hold; None if that may be all.

    Args:
        known: the values of all partitions of a table, by its full name; more are added.
    """
    names = {c.name for c in table.partition_columns}
    about_partitions = [[c for c in copy if c.columns.keys() <= names] for copy in copies]
    if not all(about_partitions):
        return None
    if table.full_name not in known:
        found = session.metastore.partition_values(table.database, table.name)
        known[table.full_name] = found
    values = known[table.full_name]
    texts = [[None if v == DEFAULT_PARTITION else v for v in row] for row in values]
    schema = partition_schema(session.spark, table)
    chosen = {
        i for c in about_partitions for i in bridge.chosen_rows(session.spark, c, schema, texts)
    }
    return frozenset(values[i] for i in chosen)
