"""Conditions on the target of a MERGE, derived from the values in its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from acidsql.bridge.conditions import coarse, parts, rebound
from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    alias,
    copy_node,
    jvm_class,
    scala_seq,
    simple_name,
)
from acidsql.bridge.plans import frame_of, logical_plan
from acidsql.bridge.row_level import MergePlan
from acidsql.bridge.rows import arrow_table
from acidsql.limits import limits
from acidsql.planning.value_predicates import OneOf, is_plain, one_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Condition that all rows of a target meet that match any row of the source.

    Attributes:
        columns: Catalyst attributes of the target (Scala ``Seq``).
        value: expression over these attributes.
        condition: condition on that value.
    """

    columns: JavaObject
    value: Expression
    condition: OneOf


def source_keys(spark: SparkSession, pieces: MergePlan, source: DataFrame) -> list[Key]:
    """Derive conditions on the target from the equalities of a MERGE's ON and the source's values.

    Args:
        source: rows that the driver holds, with the attributes of the source in ``pieces``.
    """
    pairs = list(_equal(pieces))
    if not pairs:
        return []
    named = [alias(spark, theirs, f"k{i}") for i, (_, theirs) in enumerate(pairs)]
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    found = arrow_table(frame_of(spark, project(scala_seq(spark, named), logical_plan(source))))
    columns = pieces.target.output()
    return [
        Key(
            columns=columns,
            value=ours,
            condition=one_of(values, str(ours.dataType().sql()), limits().merge_key_values),
        )
        for values, (ours, _) in zip(found.columns, pairs, strict=True)
    ]


def narrowed(spark: SparkSession, joined: LogicalPlan, keys: Sequence[Key]) -> LogicalPlan:
    """Filter the target of an analysed join with the source by the conditions of keys.

    Args:
        joined: join of a target with the same columns as the one that the keys were derived for.
    """
    if not keys or simple_name(joined) != "Join":
        return joined
    conditions = []
    for key in keys:
        value = rebound(spark, key.value, key.columns, joined.left().output())
        condition = key.condition.of(spark, value)
        conditions.append(coarse(spark, condition) if key.condition.coarse else condition)
    both = jvm_class(spark, f"{CATALYST}.expressions.And")
    kept = jvm_class(spark, f"{CATALYST}.plans.logical.Filter")
    return copy_node(spark, joined, {"left": kept(reduce(both, conditions), joined.left())})


def _equal(pieces: MergePlan) -> Iterator[tuple[JavaObject, JavaObject]]:
    """Yield the pairs of expressions, over target and source, that ON compares by ``=``."""
    target, source = pieces.target.outputSet(), pieces.source.outputSet()
    for condition in parts(pieces.condition):
        if simple_name(condition) != "EqualTo" or not condition.deterministic():
            continue
        left, right = condition.left(), condition.right()
        for ours, theirs in ((left, right), (right, left)):
            is_ours = ours.references().nonEmpty() and ours.references().subsetOf(target)
            if is_ours and theirs.references().subsetOf(source) and is_plain(ours):
                yield ours, theirs
