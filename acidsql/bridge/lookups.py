"""What other parts of a plan say of the partitions that it needs of a table."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession

from acidsql.bridge.drafts import Draft
from acidsql.bridge.filters import Conjunct, Lookup, conjunct, rebound
from acidsql.bridge.jvm import (
    CATALYST,
    alias,
    elements,
    jvm_class,
    scala_map,
    scala_seq,
)
from acidsql.bridge.plans import frame_of
from acidsql.bridge.rows import arrow_table
from acidsql.bridge.values import is_plain, one_of

# As many values as these choose partitions; of more a range does.
_MOST_VALUES = 10_000


def looked_up(
    spark: SparkSession, lookup: Lookup, scan: Callable[[int], Draft | None]
) -> Conjunct | None:
    """The condition on partitions that a lookup makes, for which its query is run; None if the
    values are of a type that is not compared, or the query takes too long.

    Args:
        scan: the rows that an outline stands for, by its number, with the same columns; None if
            there are many.
    """
    if not is_plain(lookup.value):
        return None
    rows = {}
    for _, number in lookup.outlines:
        found = scan(number)
        if found is None:
            return None
        rows[number] = found
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    scans = []
    for leaf, number in lookup.outlines:
        plan = rows[number].analyzed()
        columns = zip(elements(plan.output()), elements(leaf.output()), strict=True)
        named = [alias(spark, own, str(a.name()), a.exprId()) for own, a in columns]
        scans.append((leaf, project(scala_seq(spark, named), plan)))
    query = lookup.query.transform(scala_map(spark, scans))
    key = scala_seq(spark, [alias(spark, lookup.key, "k")])
    values = arrow_table(frame_of(spark, project(key, query)).distinct()).column(0)
    condition = one_of(values, str(lookup.value.dataType().sql()), _MOST_VALUES)
    value = rebound(spark, lookup.value, lookup.columns, lookup.columns)
    return conjunct(condition.of(spark, value))
