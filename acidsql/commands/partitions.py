"""Partitions named by a PARTITION clause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.types import StructField

from acidsql import bridge
from acidsql.commands.partition_normalization import VALUE, typed, usual
from acidsql.errors import AcidAnalysisError, AcidLookupError, quoted_name
from acidsql.format.identifiers import folded
from acidsql.metastore.model import Partition, Table
from acidsql.schema.columns import partition_schema
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import name_key
from acidsql.storage.staging import partition_text
from acidsql.syntax.lexer import quote
from acidsql.syntax.nodes import PartitionFilter, PartitionSpec

# Maximum number of values that one query computes.
_TOGETHER = 1000
_POSITION = "acidsql_position"


def _given(
    session: AcidSession, table: Table, specs: Sequence[PartitionSpec]
) -> list[dict[int, tuple[str, str | None]]]:
    """Return the values of each specification, by the position of their partition column.

    Each value is a pair: its text as Hive stores it, and its text as the statement spells it.
    """
    wanted: list[dict[int, tuple[str, str | None]]] = [{} for _ in specs]
    places: list[tuple[int, int]] = []
    texts: list[str] = []
    for number, spec in enumerate(specs):
        for name, text in spec.values:
            position, field = _column(session, table, name)
            if text is not None:
                kept = partition_text(_typed(session, text, field), field)
                places.append((number, position))
                texts += (kept, f"CAST({text} AS STRING)")
    values = _computed(session, texts)
    for (number, position), kept, spelled in zip(places, values[::2], values[1::2], strict=True):
        wanted[number][position] = kept, spelled
    return wanted


def _computed(session: AcidSession, texts: Sequence[str]) -> list[Any]:
    """Return the values of SQL expressions of type STRING."""
    computed: list[Any] = []
    for begin in range(0, len(texts), _TOGETHER):
        together = f"array({', '.join(texts[begin : begin + _TOGETHER])})"
        ((values,),) = bridge.select(session.spark.sql("SELECT 1"), together).collect()
        computed += values
    return computed


def _column(session: AcidSession, table: Table, name: str) -> tuple[int, StructField]:
    """Find a partition column; return its position and field.

    Raises:
        AcidAnalysisError: PARTITIONS_NOT_FOUND.
    """
    fields = partition_schema(session.spark, table).fields
    key = name_key(session.spark)
    for position, field in enumerate(fields):
        if key(field.name) == key(name):
            return position, field
    raise AcidAnalysisError(
        "PARTITIONS_NOT_FOUND",
        f"{table.full_name} has no partition column {name}: it has "
        f"{', '.join(field.name for field in fields) or 'none'}",
    )


def _typed(session: AcidSession, text: str, field: StructField) -> str:
    return f"CAST({text} AS {bridge.type_sql(session.spark, field.dataType)})"


def full_values(session: AcidSession, table: Table, spec: PartitionSpec) -> tuple[str, ...] | None:
    """Return the values of a specification, or None if it has no value for a partition column."""
    return all_full_values(session, table, [spec])[0]


def all_full_values(
    session: AcidSession, table: Table, specs: Sequence[PartitionSpec]
) -> list[tuple[str, ...] | None]:
    """Return ``full_values`` of each specification, with few queries."""
    count = len(table.partition_columns)
    return [
        tuple(given[i][0] for i in range(count)) if len(given) == count else None
        for given in _given(session, table, specs)
    ]


def matching(session: AcidSession, table: Table, spec: PartitionSpec | None) -> list[Partition]:
    """Find the partitions that a specification matches; without a specification, all partitions.

    If partitions are spelled as in the statement, others with equal values do not match.

    Raises:
        AcidAnalysisError: PARTITIONS_NOT_FOUND, the specification names a column that is not a
            partition column.
    """
    partitions = list(session.metastore.partitions(table.database, table.name))
    if spec is None:
        return partitions
    (given,) = _given(session, table, [spec])

    def equal(values: Sequence[tuple[str, ...]], *, as_given: bool) -> list[Partition]:
        return [
            partition
            for partition, texts in zip(partitions, values, strict=True)
            if all(texts[i] == text[as_given] for i, text in given.items())
        ]

    spelled = [p.values for p in partitions]
    return (
        equal(spelled, as_given=True)
        or equal(spelled, as_given=False)
        or equal(usual(session, table, spelled), as_given=False)
    )


def meeting(
    session: AcidSession, table: Table, wanted: PartitionFilter, *, if_exists: bool
) -> list[Partition]:
    """Find the partitions whose values satisfy comparisons; NULL never satisfies them.

    Spark compares the values.

    Args:
        session: the session.
        table: the table.
        wanted: the comparisons.
        if_exists: whether to return an empty list, rather than raise, if no partition matches.

    Raises:
        AcidAnalysisError: PARTITIONS_NOT_FOUND, a compared column is not a partition column.
        AcidLookupError: PARTITIONS_NOT_FOUND, no partition matches.
    """
    conditions = []
    for name, operator, text in wanted.comparisons:
        position, field = _column(session, table, name)
        if operator is not None and text is not None:
            conditions.append(f"{VALUE}{position} {operator} {_typed(session, text, field)}")
    partitions = list(session.metastore.partitions(table.database, table.name))
    rows = typed(session, table, [p.values for p in partitions])
    met = rows.where(" AND ".join(conditions)).select(bridge.BARE_NUMBER).collect()
    if not met and not if_exists:
        texts = (f"{name} {operator} {text}" for name, operator, text in wanted.comparisons if text)
        raise _no_such_partition(table, ", ".join(texts))
    return [partitions[row[0]] for row in met]


def satisfying(
    session: AcidSession, table: Table, partitions: Sequence[Partition], condition: str
) -> list[Partition]:
    """Return the partitions whose values satisfy a condition.

    Args:
        session: the session.
        table: the table.
        partitions: the partitions to check.
        condition: SQL condition on the partition columns; Spark refuses other names.
    """
    names = [
        f"{VALUE}{position} AS {quote(field.name)}"
        for position, field in enumerate(partition_schema(session.spark, table).fields)
    ]
    rows = typed(session, table, [p.values for p in partitions])
    named = bridge.select(rows, f"{bridge.BARE_NUMBER} AS {_POSITION}", *names)
    # Below an alias, Spark does not find the other columns of the rows.
    met = named.alias("partitions").where(f"{condition}\n").select(_POSITION).collect()
    return [partitions[row[0]] for row in met]


def required(session: AcidSession, table: Table, spec: PartitionSpec | None) -> list[Partition]:
    """Find the partitions that a specification matches; at least one must exist.

    Raises:
        AcidLookupError: PARTITIONS_NOT_FOUND.
    """
    partitions = matching(session, table, spec)
    if spec is not None and not partitions:
        raise _no_such_partition(table, ", ".join(f"{name}={value}" for name, value in spec.values))
    return partitions


def named_partitions(
    session: AcidSession, table: Table, spec: PartitionSpec | None
) -> list[Partition] | None:
    """Find the partitions that an optional PARTITION clause names; return None without a clause.

    Raises:
        AcidAnalysisError: INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY, the table is not
            partitioned; PARTITIONS_NOT_FOUND.
        AcidLookupError: PARTITIONS_NOT_FOUND.
    """
    if spec is None:
        return None
    if not table.partition_columns:
        raise AcidAnalysisError(
            "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY",
            f"{table.full_name} has no partitions: leave PARTITION out",
        )
    return required(session, table, spec)


def _no_such_partition(table: Table, wanted: str) -> AcidLookupError:
    return AcidLookupError(
        "PARTITIONS_NOT_FOUND",
        f"{table.full_name} has no partition ({wanted}): see SHOW PARTITIONS {table.full_name}",
        {"partitionList": wanted, "tableName": quoted_name([table.database, table.name])},
    )


def the_one(session: AcidSession, table: Table, spec: PartitionSpec) -> Partition:
    """Find the one partition that a specification names with a value for each partition column.

    Raises:
        AcidAnalysisError: PARTITIONS_NOT_FOUND, a value is missing; AMBIGUOUS_PARTITION, several
            partitions have these values, and none is spelled as in the statement.
        AcidLookupError: PARTITIONS_NOT_FOUND, no partition has these values.
    """
    partitions = required(session, table, spec)
    if len({folded(name) for name, _ in spec.values}) < len(table.partition_columns):
        raise AcidAnalysisError(
            "PARTITIONS_NOT_FOUND",
            f"{table.full_name} is partitioned by "
            f"{', '.join(c.name for c in table.partition_columns)}: give a value for each",
        )
    if len(partitions) > 1:
        names = " and ".join(sorted(table.partition_name(p.values) for p in partitions))
        raise AcidAnalysisError(
            "AMBIGUOUS_PARTITION",
            f"{table.full_name} has partitions {names} with equal values: write the value as a "
            "string, spelled as in the partition's name",
        )
    return partitions[0]
