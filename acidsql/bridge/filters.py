"""Conditions that Spark's optimizer brings down to a relation, and which partitions meet them.

A statement is planned over outlines first: relations with the columns of a table and no files. What
the optimizer leaves above an outline is all that the statement asks of that occurrence of a table:
conditions of joins and subqueries are there as well, where they can be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from acidsql.bridge.jvm import (
    CATALYST,
    JavaObject,
    elements,
    jvm_class,
    scala_object,
    scala_seq,
    simple_name,
)
from acidsql.bridge.plans import frame_of, logical_plan
from acidsql.bridge.relations import file_relation

# Option of an outline: which occurrence of a table it stands for.
_OCCURRENCE = "acidsql.occurrence"
# Words that Spark casts to dates and timestamps.
_NOW = re.compile(r"\b(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
_FILTER_LINE = re.compile(r"^(\d+) [ :+|-]*Filter ", re.MULTILINE)


@dataclass(frozen=True)
class PartitionFilter:
    """The condition on the partition columns of one occurrence of a table.

    Attributes:
        occurrence: number of the outline.
        condition: Java expression.
        columns: the Java attributes of the partition columns that it names, by name.
    """

    occurrence: int
    condition: JavaObject
    columns: Mapping[str, JavaObject]


def outline(spark: SparkSession, schema: StructType, occurrence: int) -> DataFrame:
    """A relation of these columns without files."""
    options = {_OCCURRENCE: str(occurrence)}
    relation, _ = file_relation(spark, [], schema, options, StructType([]))
    return DataFrame(spark._jsparkSession.baseRelationToDataFrame(relation), spark)


def partition_filters(
    spark: SparkSession, plan: JavaObject, partition_columns: Mapping[int, Sequence[str]]
) -> list[PartitionFilter]:
    """The conditions on partition columns above each outline of a plan.

    Args:
        plan: any plan, analysed or not; a command is not run.
        partition_columns: names of the partition columns of each outline, by its number.

    Returns:
        None of a plan whose conditions depend on when it runs.
    """
    skip = jvm_class(spark, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = spark._jsparkSession.sessionState().executePlan(plan, skip)
    if _depends_on_now(spark, execution.analyzed()):
        return []
    found = []
    for node in _filters(execution.optimizedPlan()):
        relation = node.child().relation()
        number = relation.options().get(_OCCURRENCE)
        if number.isEmpty():
            continue
        occurrence = int(number.get())
        wanted = set(partition_columns.get(occurrence, ()))
        columns = {a.name(): a for a in elements(node.child().output()) if a.name() in wanted}
        condition = _about(spark, node.condition(), columns)
        if condition is not None:
            found.append(
                PartitionFilter(occurrence=occurrence, condition=condition, columns=columns)
            )
    return found


def _depends_on_now(spark: SparkSession, plan: JavaObject) -> bool:
    """Whether a plan names the current time, user or database, which may be others when it runs.

    The optimizer puts constants in their place, so a condition that it leaves does not tell.
    """
    patterns = scala_object(spark, f"{CATALYST}.trees.TreePattern")
    return plan.containsPattern(patterns.CURRENT_LIKE()) or bool(_NOW.search(str(plan.toString())))


def _filters(plan: JavaObject) -> Iterator[JavaObject]:
    """The filters directly above relations, in subqueries too."""
    text = str(plan.numberedTreeString())
    for match in _FILTER_LINE.finditer(text):
        node = plan.apply(int(match[1]))
        # A literal of the statement may look like a line of the plan.
        if simple_name(node) == "Filter" and simple_name(node.child()) == "LogicalRelation":
            relation = node.child().relation()
            if simple_name(relation) == "HadoopFsRelation":
                yield node


def _about(
    spark: SparkSession, condition: JavaObject, columns: Mapping[str, JavaObject]
) -> JavaObject | None:
    """The part of a condition that is about some columns alone and always gives the same."""
    known = {a.exprId().id() for a in columns.values()}
    subqueries = scala_object(spark, f"{CATALYST}.expressions.SubqueryExpression")
    chosen: JavaObject | None = None
    for part in _conjuncts(condition):
        named = {a.exprId().id() for a in elements(part.references().toSeq())}
        if named and named <= known and part.deterministic() and not subqueries.hasSubquery(part):
            both = jvm_class(spark, f"{CATALYST}.expressions.And")
            chosen = part if chosen is None else both(chosen, part)
    return chosen


def _conjuncts(condition: JavaObject) -> Iterator[JavaObject]:
    if simple_name(condition) == "And":
        yield from _conjuncts(condition.left())
        yield from _conjuncts(condition.right())
    else:
        yield condition


def chosen_rows(
    spark: SparkSession,
    found: PartitionFilter,
    schema: StructType,
    values: Sequence[Sequence[str | None]],
) -> list[int]:
    """The positions of the value lists for which a condition holds.

    Args:
        schema: of the partition columns.
        values: of all partition columns, as text.
    """
    texts = StructType([StructField(f"v{i}", StringType()) for i in range(len(schema.fields))])
    rows = [dict(zip(texts.names, row, strict=True)) for row in values]
    array = F.from_json(F.lit(json.dumps(rows)), ArrayType(texts))
    listed = spark.range(1).select(F.posexplode(array).alias("position", "row"))
    typed = listed.select(
        "position",
        *[F.col(f"row.v{i}").cast(f.dataType).alias(f"c{i}") for i, f in enumerate(schema.fields)],
    )
    output = elements(logical_plan(typed).output())
    by_name = dict(zip(schema.names, output[1:], strict=True))
    expressions, option = f"{CATALYST}.expressions", jvm_class(spark, "scala.Option")
    nothing = scala_seq(spark, [])
    renamed = [
        jvm_class(spark, f"{expressions}.Alias")(
            by_name[name], name, attribute.exprId(), nothing, option.empty(), nothing
        )
        for name, attribute in found.columns.items()
    ]
    logical = f"{CATALYST}.plans.logical"
    columns = scala_seq(spark, [output[0], *renamed])
    project = jvm_class(spark, f"{logical}.Project")(columns, logical_plan(typed))
    filtered = jvm_class(spark, f"{logical}.Filter")(found.condition, project)
    return [row[0] for row in frame_of(spark, filtered).select("position").collect()]
