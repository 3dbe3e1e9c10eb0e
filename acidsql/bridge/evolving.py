"""Columns that MERGE and INSERT WITH SCHEMA EVOLUTION add, and ``*`` of a MERGE as assignments.

The rules follow ``ResolveMergeIntoSchemaEvolution`` of Spark 4.1, which acts only on tables of
Spark's own catalogs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.assignments import never_resolved
from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    elements,
    jvm_class,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_planning import copy_node
from acidsql.format.identifiers import folded

_LOGICAL = f"{CATALYST}.plans.logical"
# Fields of MergeIntoTable that contain the WHEN clauses for rows of the source.
_ACTIONS = ("matchedActions", "notMatchedActions")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSource:
    """Columns that the clauses of a MERGE take from its source.

    Attributes:
        schema: schema of the source.
        has_star: whether a clause has UPDATE SET * or INSERT *, which takes all columns.
        named: other assignments of one name to another. Each is the parts of the target column's
            name, and the parts of the source column's name.
    """

    schema: StructType
    has_star: bool
    named: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def merge_source(spark: SparkSession, plan: LogicalPlan) -> MergeSource | None:
    """Return the columns that the clauses of a parsed MERGE take from its source.

    Return None if Spark cannot resolve the source. The analysis of the statement reports the error.
    """
    schema = query_schema(spark, plan.sourceTable())
    if schema is None:
        return None
    has_star, named = False, []
    for field in _ACTIONS:
        for action in elements(getattr(plan, field)()):
            kind = simple_name(action)
            has_star |= kind.endswith("StarAction")
            if kind not in ("UpdateAction", "InsertAction"):
                continue
            for assignment in elements(action.assignments()):
                key, value = assignment.key(), assignment.value()
                if {simple_name(key), simple_name(value)} == {"UnresolvedAttribute"}:
                    named.append((_parts(key), _parts(value)))
    return MergeSource(schema=schema, has_star=has_star, named=tuple(named))


def insert_source(spark: SparkSession, plan: LogicalPlan) -> StructType | None:
    """Return the schema of the query of a parsed INSERT; see ``query_schema``."""
    return query_schema(spark, plan.query())


def query_schema(spark: SparkSession, query: LogicalPlan) -> StructType | None:
    """Return the schema of a query.

    Return None if the query cannot be resolved on its own, for example DEFAULT in VALUES.
    """
    analyzed = session_state(spark).analyzer().execute(query)
    if not analyzed.resolved():
        return None
    return StructType.fromJson(json.loads(analyzed.schema().json()))


def _parts(attribute: Expression) -> tuple[str, ...]:
    return tuple(str(part) for part in elements(attribute.nameParts()))


def without_stars(spark: SparkSession, plan: LogicalPlan, columns: Sequence[str]) -> LogicalPlan:
    """Replace UPDATE SET * and INSERT * in a parsed MERGE by assignments of common columns.

    Other columns of the target keep their values or get their defaults.

    Args:
        spark: the session.
        plan: the parsed MERGE.
        columns: names of the target's columns.
    """
    actions = {field: elements(getattr(plan, field)()) for field in _ACTIONS}
    if not any(simple_name(a).endswith("StarAction") for part in actions.values() for a in part):
        return plan
    bare = {field: scala_seq(spark, []) for field in (*_ACTIONS, "notMatchedBySourceActions")}
    held = copy_node(spark, plan, {**bare, "mergeCondition": never_resolved(spark)})
    # Resolve both sides first, so that values always refer to the source and not to the target.
    partly = session_state(spark).analyzer().execute(held)
    if not (partly.targetTable().resolved() and partly.sourceTable().resolved()):
        return plan  # the analysis reports the error
    target, source = _by_name(partly.targetTable()), _by_name(partly.sourceTable())
    made = {}
    for field, with_stars in actions.items():
        replaced = [_without_star(spark, a, columns, target, source) for a in with_stars]
        made[field] = scala_seq(spark, replaced)
    others = {
        "notMatchedBySourceActions": plan.notMatchedBySourceActions(),
        "mergeCondition": plan.mergeCondition(),
    }
    return copy_node(spark, partly, {**made, **others})


def _by_name(side: LogicalPlan) -> dict[str, list[JavaObject]]:
    attributes: dict[str, list[JavaObject]] = {}
    for attribute in elements(side.output()):
        attributes.setdefault(folded(str(attribute.name())), []).append(attribute)
    return attributes


def _without_star(
    spark: SparkSession,
    action: LogicalPlan,
    columns: Sequence[str],
    target: dict[str, list[JavaObject]],
    source: dict[str, list[JavaObject]],
) -> LogicalPlan:
    kind = simple_name(action)
    if not kind.endswith("StarAction"):
        return action
    parser = session_state(spark).sqlParser()
    assign = jvm_class(spark, f"{_LOGICAL}.Assignment")
    assignments = []
    for name in map(folded, columns):
        values = source.get(name, [])
        if len(values) > 1:
            return action  # Spark reports that the name is ambiguous
        if values:
            assignments.append(assign(target[name][0], values[0]))
        elif kind == "InsertStarAction":
            assignments.append(assign(target[name][0], parser.parseExpression("DEFAULT")))
    plain = f"{_LOGICAL}.{kind.replace('Star', '')}"
    java_class = jvm_class(spark, "java.lang.Class").forName(plain)
    arity = java_class.getConstructors()[0].getParameterCount()
    # Later releases have a flag that describes the origin of the assignments.
    flags = [False] * (arity - 2)
    made = scala_seq(spark, assignments)
    return jvm_class(spark, plain)(action.condition(), made, *flags)
