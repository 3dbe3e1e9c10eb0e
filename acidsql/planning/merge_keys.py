"""Conditions on the target of a MERGE, derived from the values in its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from acidsql import bridge
from acidsql.limits import limits
from acidsql.planning.value_predicates import OneOf, is_plain, one_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Condition that a target row must meet to match any row of the source.

    Attributes:
        columns: Catalyst attributes of the target (Scala ``Seq``).
        value: expression over these attributes.
        condition: condition on that value.
    """

    columns: bridge.JavaObject
    value: bridge.Expression
    condition: OneOf


def source_keys(spark: SparkSession, pieces: bridge.MergePlan, source: DataFrame) -> list[Key]:
    """Derive conditions on the target from the equalities of a MERGE's ON and the source's values.

    Args:
        source: rows that the driver holds, with the attributes of the source in ``pieces``.
    """
    pairs = list(_equal(pieces))
    if not pairs:
        return []
    theirs = [source_value for _, source_value in pairs]
    key_values = bridge.arrow_table(
        bridge.compute_values(spark, theirs, bridge.logical_plan(source))
    )
    columns = bridge.output_of(pieces.target)
    return [
        Key(
            columns=columns,
            value=ours,
            condition=one_of(values, bridge.data_type_of(ours), limits().merge_key_values),
        )
        for values, (ours, _) in zip(key_values.columns, pairs, strict=True)
    ]


def narrowed(
    spark: SparkSession, target: bridge.LogicalPlan, keys: Sequence[Key]
) -> bridge.LogicalPlan:
    """Filter a target by the conditions of keys.

    Args:
        spark: the session.
        target: analysed plan with the same columns as the target that ``keys`` were derived for.
        keys: the keys.
    """
    columns = bridge.output_of(target)
    values = [bridge.rebound(spark, key.value, key.columns, columns) for key in keys]
    rows = bridge.UnresolvedPlan(spark, target)
    for key, value in zip(keys, values, strict=True):
        rows = rows.filtered(key.condition.of(spark, value))
    return rows.plan


def narrowed_join(
    spark: SparkSession, joined: bridge.LogicalPlan, keys: Sequence[Key]
) -> bridge.LogicalPlan:
    """Filter the target of its analysed join with the source; see ``narrowed``."""
    if not keys or bridge.simple_name(joined) != "Join":
        return joined
    return bridge.with_left(spark, joined, narrowed(spark, bridge.left_of(joined), keys))


def _equal(pieces: bridge.MergePlan) -> Iterator[tuple[bridge.Expression, bridge.Expression]]:
    """Yield the pairs of a target expression and a source expression that ON equates."""
    target, source = pieces.target, pieces.source
    for condition in bridge.split_and(pieces.condition):
        if bridge.simple_name(condition) != "EqualTo" or not bridge.is_deterministic(condition):
            continue
        left, right = bridge.operands(condition)
        for ours, theirs in ((left, right), (right, left)):
            is_ours = bridge.refers_to_columns(ours) and bridge.refers_only_to(ours, target)
            if is_ours and bridge.refers_only_to(theirs, source) and is_plain(ours):
                yield ours, theirs
