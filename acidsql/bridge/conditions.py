"""Conditions that a plan has of a table, and which partitions meet them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    alias,
    elements,
    jvm_class,
    scala_map,
    scala_seq,
    simple_name,
)
from acidsql.bridge.plans import frame_of, logical_plan

# What a condition is wrapped in that is not to be compared with rows: it means nothing to Spark.
_COARSE = "KnownNullable"


@dataclass(frozen=True)
class Conjunct:
    """One of the conditions that hold of all rows that a plan needs of a placeholder.

    Attributes:
        expression: Java expression; deterministic, without subqueries.
        columns: the Java attributes that it names, by name.
        coarse: it may hold of all rows: row groups are to be compared with it, not rows.
    """

    expression: Expression
    columns: Mapping[str, JavaObject]
    coarse: bool = False


def parts(condition: Expression) -> Iterator[JavaObject]:
    """The conditions that all hold where one does."""
    if simple_name(condition) == "And":
        yield from parts(condition.left())
        yield from parts(condition.right())
    else:
        yield condition


def conjunct(expression: Expression, *, coarse: bool = False) -> Conjunct:
    """A deterministic condition without subqueries."""
    columns = {str(a.name()): a for a in elements(expression.references().toSeq())}
    return Conjunct(expression=expression, columns=columns, coarse=coarse)


def bare(condition: Expression) -> tuple[JavaObject, bool]:
    """A condition, and whether it was made coarse."""
    is_coarse = simple_name(condition) == _COARSE
    return (condition.child() if is_coarse else condition), is_coarse


def coarse(spark: SparkSession, condition: Expression) -> Expression:
    """A condition for which ``required_of_placeholders`` gives a coarse conjunct."""
    return jvm_class(spark, f"{CATALYST}.expressions.{_COARSE}")(condition)


def all_of(spark: SparkSession, conjuncts: Sequence[Conjunct]) -> Expression:
    """The expression that all of some conditions, at least one, hold."""
    both = jvm_class(spark, f"{CATALYST}.expressions.And")
    return reduce(both, [c.expression for c in conjuncts])


def rebound(
    spark: SparkSession, expression: Expression, output: JavaObject, other: JavaObject
) -> Expression:
    """An expression over the attributes of an output, over those at the same places of another.

    One attribute may stand in an expression in several forms, of other case, qualifier or
    nullability; all are replaced.
    """
    catalyst = f"{CATALYST}.expressions"
    place = jvm_class(spark, f"{catalyst}.BoundReference")
    columns, others = (
        jvm_class(spark, f"{catalyst}.package$AttributeSeq")(seq) for seq in (output, other)
    )
    binding = jvm_class(spark, f"{catalyst}.BindReferences")
    bound = binding.bindReference(expression, columns, False)
    pairs = []
    for attribute in elements(expression.references().toSeq()):
        i = columns.indexOf(attribute.exprId())
        own = columns.apply(i)
        pairs.append((place(i, attribute.dataType(), own.nullable()), others.apply(i)))
    return bound.transform(scala_map(spark, pairs))


def matching_rows(
    spark: SparkSession,
    conjuncts: Sequence[Conjunct],
    schema: StructType,
    values: Sequence[Sequence[str | None]],
) -> list[int]:
    """The positions of the value lists for which conditions hold.

    Args:
        conjuncts: conditions on partition columns, at least one.
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
    renamed = [
        alias(spark, by_name[name], name, attribute.exprId())
        for name, attribute in {n: a for c in conjuncts for n, a in c.columns.items()}.items()
    ]
    logical = f"{CATALYST}.plans.logical"
    columns = scala_seq(spark, [output[0], *renamed])
    project = jvm_class(spark, f"{logical}.Project")(columns, logical_plan(typed))
    filtered = jvm_class(spark, f"{logical}.Filter")(all_of(spark, conjuncts), project)
    return [row[0] for row in frame_of(spark, filtered).select("position").collect()]
