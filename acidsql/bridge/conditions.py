"""Conditions on a table's columns as Catalyst expressions, and the partitions that meet them."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from acidsql.bridge.java_sources import only_object
from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    LogicalPlan,
    alias,
    column,
    elements,
    jvm_class,
    scala_map,
    scala_object,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_cache import cached_per_session
from acidsql.bridge.jvm_planning import rebound
from acidsql.bridge.plans import analyze, frame_of, logical_plan
from acidsql.format.identifiers import folded


@dataclass(frozen=True)
class Conjunct:
    """Deterministic condition without subqueries that all required rows of a table meet.

    A plan is required to read only rows that meet all of its conjuncts.

    Attributes:
        expression: Catalyst expression of type BOOLEAN.
        columns: SQL types of the columns in the expression, by column name.
    """

    expression: Expression
    columns: Mapping[str, str]


def split_and(condition: Expression) -> Iterator[Expression]:
    """Yield the conjuncts of a condition: the operands of its ANDs, from left to right."""
    if simple_name(condition) == "And":
        yield from split_and(condition.left())
        yield from split_and(condition.right())
    else:
        yield condition


def conjunct(expression: Expression) -> Conjunct:
    """Build a ``Conjunct`` of a deterministic expression without subqueries."""
    columns = {name: str(a.dataType().sql()) for name, a in attributes_in(expression).items()}
    return Conjunct(expression=expression, columns=columns)


def attributes_in(expression: Expression) -> dict[str, Expression]:
    """Return the attributes in an expression by name."""
    return {str(a.name()): a for a in elements(expression.references().toSeq())}


def all_of(spark: SparkSession, conjuncts: Sequence[Conjunct]) -> Expression:
    """Combine one or more conditions by AND."""
    both = jvm_class(spark, f"{CATALYST}.expressions.And")
    return reduce(both, [c.expression for c in conjuncts])


@cached_per_session(16)
def constant_condition(spark: SparkSession, text: str) -> Expression:
    """Analyse a condition without columns; any number of plans can use the result."""
    query = session_state(spark).sqlParser().parsePlan(f"SELECT {text}")
    (shown,) = elements(analyze(spark, query).projectList())
    return shown.child()


def condition_of(
    spark: SparkSession, conditions: Sequence[Sequence[Conjunct]], values: Mapping[str, str]
) -> Column:
    """Build the condition that all conjuncts of at least one alternative hold.

    Args:
        spark: the session.
        conditions: alternatives (OR), each a list of conjuncts (AND).
        values: SQL that replaces each column, by column name.
    """
    parser = session_state(spark).sqlParser()
    either = jvm_class(spark, f"{CATALYST}.expressions.Or")
    whole = reduce(either, [all_of(spark, one) for one in conditions])
    attributes = elements(whole.references().toSeq())
    places = [(a, parser.parseExpression(values[a.name()])) for a in attributes]
    return column(spark, whole.transform(scala_map(spark, places)))


def deletes_by_columns(spark: SparkSession, plan: LogicalPlan, names: Container[str]) -> bool:
    """Return whether a ``DeleteFromTable`` has a condition on columns of the table only.

    The condition must not have a subquery.

    Args:
        spark: the session.
        plan: result of ``analyze_delete``.
        names: the folded names of the table's columns.
    """
    condition = plan.condition()
    subqueries = scala_object(spark, f"{CATALYST}.expressions.SubqueryExpression")
    named = elements(condition.references().toSeq())
    return not subqueries.hasSubquery(condition) and all(
        folded(str(a.name())) in names for a in named
    )


def delete_condition(plan: LogicalPlan, rows: DataFrame) -> Column:
    """Apply the condition of a ``DeleteFromTable`` to other rows.

    Args:
        plan: a plan for which ``deletes_by_columns`` returns True.
        rows: rows with the names and types of the table's columns.
    """
    spark, condition = rows.sparkSession, plan.condition()
    by_name = {folded(str(a.name())): a for a in elements(logical_plan(rows).output())}
    named = elements(condition.references().toSeq())
    places = [by_name[folded(str(a.name()))] for a in named]
    bound = rebound(spark, condition, scala_seq(spark, named), scala_seq(spark, places))
    return column(spark, bound)


def conditions_text(conditions: Sequence[Sequence[Conjunct]]) -> str:
    """Return conditions as readable SQL.

    Args:
        conditions: alternatives (OR), each a list of conjuncts (AND).
    """
    alternatives = [" AND ".join(str(c.expression.sql()) for c in one) for one in conditions]
    if len(alternatives) == 1:
        return alternatives[0]
    return " OR ".join(f"({one})" for one in dict.fromkeys(alternatives))


def comparisons(
    spark: SparkSession, conjuncts: Sequence[Conjunct]
) -> list[tuple[str, str, tuple[int | str | date, ...]]]:
    """Return those conditions that compare a column with constants.

    Returns:
        The column's name, the operator and the constants of each. Several constants are
        alternatives of ``=``.
    """
    finder = only_object(spark, "Comparisons.java", "Comparisons")
    listed = json.loads(finder.among([c.expression for c in conjuncts]))
    return [
        (column, operator, tuple(map(_constant, constants)))
        for column, operator, constants in listed
    ]


def _constant(value: int | str | dict[str, str]) -> int | str | date:
    return date.fromisoformat(value["date"]) if isinstance(value, dict) else value


def matching_rows(
    spark: SparkSession,
    conjuncts: Sequence[Conjunct],
    schema: StructType,
    values: Sequence[Sequence[str | None]],
) -> list[int]:
    """Return the positions of the partitions that meet all conditions.

    A small query on the driver evaluates the conditions.

    Args:
        spark: the session.
        conjuncts: conditions on partition columns, at least one.
        schema: schema of the partition columns.
        values: for each partition, the values of all partition columns as text. The query casts
            them.
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
    whole = all_of(spark, conjuncts)
    renamed = [
        alias(spark, by_name[name], name, attribute.exprId())
        for name, attribute in attributes_in(whole).items()
    ]
    logical = f"{CATALYST}.plans.logical"
    columns = scala_seq(spark, [output[0], *renamed])
    project = jvm_class(spark, f"{logical}.Project")(columns, logical_plan(typed))
    filtered = jvm_class(spark, f"{logical}.Filter")(whole, project)
    return [row[0] for row in frame_of(spark, filtered).select("position").collect()]
