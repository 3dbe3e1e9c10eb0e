"""Arguments of ``table_changes``, and the clause CHANGES of Spark 4.3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    Expression,
    JavaObject,
    LogicalPlan,
    elements,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_planning import copy_node
from acidsql.bridge.plans import analyze, frame_of
from acidsql.bridge.time_travel import timestamp_of

WithCurrent = Callable[[LogicalPlan], LogicalPlan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timestamp:
    """Timestamp argument: microseconds since 1970 in UTC."""

    microseconds: int


# Value of an argument; other types have Python's values.
Argument = int | str | bool | None | Timestamp | object


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesCall:
    """Arguments of a call of ``table_changes``, after the name of the table.

    Attributes:
        positional: values of the arguments without names, in order.
        named: values of the other arguments, by name in lower case.
    """

    positional: tuple[Argument, ...]
    named: dict[str, Argument]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesClause:
    """Clause CHANGES of Spark 4.3.

    Attributes:
        first: first version, as Spark's text, or start time; None if the range is unbounded.
        last: last version or end time; None if the range has no end.
        includes_first: whether the range includes the changes of ``first``.
        includes_last: whether the range includes the changes of ``last``.
        net: whether the clause requests net changes.
    """

    first: str | Timestamp | None
    last: str | Timestamp | None
    includes_first: bool
    includes_last: bool
    net: bool


def changes_of(
    spark: SparkSession,
    node: LogicalPlan,
    with_current: WithCurrent,
    is_version: Callable[[str], bool],
) -> ChangesCall | ChangesClause:
    """Read the arguments of a reference to changes (``Reference.changes``).

    Args:
        spark: the session.
        node: the node of the reference.
        with_current: puts the current time of a statement into an analysed plan.
        is_version: returns whether a text names a version. Other texts are times.

    Raises:
        AnalysisException: an argument cannot be evaluated, or must be a timestamp and is not.
    """
    if simple_name(node) == "RelationChanges":
        return _clause(node)
    positional: list[Argument] = []
    named: dict[str, Argument] = {}
    for argument in elements(node.functionArgs())[1:]:
        if simple_name(argument) == "NamedArgumentExpression":
            value = _value(spark, argument.value(), with_current)
            named[str(argument.key()).lower()] = value
        else:
            value = _value(spark, argument, with_current)
            if isinstance(value, str) and not is_version(value):
                value = Timestamp(microseconds=timestamp_of(spark, argument, with_current))
            positional.append(value)
    return ChangesCall(positional=tuple(positional), named=named)


def _value(spark: SparkSession, expression: Expression, with_current: WithCurrent) -> Argument:
    """Evaluate an expression without columns."""
    one_row = session_state(spark).sqlParser().parsePlan("SELECT 1")
    (column,) = elements(one_row.projectList())
    value = copy_node(spark, column, {"child": expression})
    plan = copy_node(spark, one_row, {"projectList": scala_seq(spark, [value])})
    argument = frame_of(spark, with_current(analyze(spark, plan))).collect()[0][0]
    if isinstance(argument, datetime | date):
        return Timestamp(microseconds=timestamp_of(spark, expression, with_current))
    return argument


def _clause(node: LogicalPlan) -> ChangesClause:
    context = node.changelogContext()
    limits = context.range()
    kind = simple_name(limits)
    first: str | Timestamp | None = None
    last: str | Timestamp | None = None
    if kind == "VersionRange":
        first, end = str(limits.startingVersion()), limits.endingVersion()
        last = str(end.get()) if end.isPresent() else None
    elif kind == "TimestampRange":
        first, end = Timestamp(microseconds=limits.startingTimestamp()), limits.endingTimestamp()
        last = Timestamp(microseconds=end.get()) if end.isPresent() else None
    return ChangesClause(
        first=first,
        last=last,
        includes_first=_flag(limits, "startingBoundInclusive"),
        includes_last=_flag(limits, "endingBoundInclusive"),
        net=str(context.deduplicationMode().name()) == "NET_CHANGES",
    )


def _flag(limits: JavaObject, name: str) -> bool:
    if simple_name(limits) == "UnboundedRange":
        return True
    return bool(getattr(limits, name)())
