"""Conditions that Spark's optimizer brings down to a relation, and which partitions meet them.

A statement is planned over outlines first: relations with the columns of a table and no files. What
the optimizer leaves above an outline is all that the statement asks of that occurrence of a table:
conditions of joins and subqueries are there as well, where they can be.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from acidsql.bridge.drafts import Draft
from acidsql.bridge.jvm import (
    CATALYST,
    JavaObject,
    alias,
    elements,
    jvm_class,
    major,
    scala_map,
    scala_object,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.plans import frame_of, logical_plan
from acidsql.bridge.relations import file_relation, rows_of

# Option of an outline: which occurrence of a table it stands for.
_OCCURRENCE = "acidsql.occurrence"
# Words that Spark casts to dates and timestamps.
_NOW = re.compile(r"\b(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
# What a condition is wrapped in that is not to be compared with rows: it means nothing to Spark.
_COARSE = "KnownNullable"
# Nodes of plans that give the same rows each time if their expressions do.
_REPEATABLE = ("Project", "Filter", "Join", "Union", "Aggregate", "LogicalRelation")
_NODE_LINE = re.compile(r"^(\d+) [ :+|-]*(Filter|Aggregate) ", re.MULTILINE)


@dataclass(frozen=True)
class Conjunct:
    """One of the conditions that hold of all rows that a plan needs of an outline.

    Attributes:
        expression: Java expression; deterministic, without subqueries.
        columns: the Java attributes that it names, by name.
        coarse: it may hold of all rows: row groups are to be compared with it, not rows.
    """

    expression: JavaObject
    columns: Mapping[str, JavaObject]
    coarse: bool = False


def outline(
    spark: SparkSession, schema: StructType, partitions: StructType, occurrence: int
) -> Draft:
    """A relation of these columns without files.

    Args:
        partitions: those of the columns that are the same in all rows of a partition.
    """
    return rows_of(spark, _without_files(spark, schema, partitions, occurrence))


@lru_cache(maxsize=256)
def _without_files(
    spark: SparkSession, schema: StructType, partitions: StructType, occurrence: int
) -> JavaObject:
    options = {_OCCURRENCE: str(occurrence)}
    return file_relation(spark, [], schema, options, partitions)[0]


@dataclass(frozen=True)
class Lookup:
    """Rows that a plan needs of an outline have a value that another part of the plan gives.

    Attributes:
        value: Java expression over the partition columns of the outline.
        columns: all attributes of the outline.
        query: the other part: an optimised plan.
        key: its value: Java expression over its attributes.
        outlines: the leaves of that part, and the number of each.
    """

    value: JavaObject
    columns: JavaObject
    query: JavaObject
    key: JavaObject
    outlines: Sequence[tuple[JavaObject, int]]


@dataclass(frozen=True)
class Copy:
    """What a plan asks of a copy of an outline: all of it holds of the rows that it needs."""

    conjuncts: tuple[Conjunct, ...]
    lookups: tuple[Lookup, ...]


@dataclass(frozen=True)
class Asked:
    """What a plan asks of its outlines.

    The optimizer makes copies of an outline where a common table expression is used several times;
    what is asked is what any of them asks.

    Attributes:
        copies: by the number of an outline, what is asked of each of its copies; outlines with a
            copy of which everything is asked are left out.
        counted: the numbers of those of which only the number of rows is asked.
    """

    copies: Mapping[int, Sequence[Copy]]
    counted: frozenset[int]


def asked_of_outlines(spark: SparkSession, plan: JavaObject) -> Asked:
    """What a plan asks of its outlines: nothing is known if that depends on when it runs.

    Args:
        plan: any plan, analysed or not; a command is not run.
    """
    skip = jvm_class(spark, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = session_state(spark).executePlan(plan, skip)
    if _depends_on_now(spark, execution.analyzed()):
        return Asked(copies={}, counted=frozenset())
    plan, lookups = _without_lookups(spark, execution.optimizedPlan())
    copies = _copies(plan)
    found: dict[int, list[Copy]] = {}
    for node in _filters(plan):
        leaf = node.child()
        occurrence = copies.get(_identity(leaf))
        if occurrence is None:
            continue
        # A reference has the case that it is written in.
        condition = rebound(spark, node.condition(), leaf.output(), leaf.output())
        copy = Copy(
            conjuncts=tuple(_conjuncts(spark, condition)),
            lookups=tuple(lookups.get(_identity(leaf), ())),
        )
        if copy.conjuncts or copy.lookups:
            found.setdefault(occurrence, []).append(copy)
    counts = Counter(copies.get(_identity(leaf)) for leaf in _counted(plan))
    number = Counter(copies.values())
    return Asked(
        copies={n: own for n, own in found.items() if len(own) == number[n]},
        counted=frozenset(n for n in number if counts[n] == number[n]),
    )


def _without_lookups(
    spark: SparkSession, plan: JavaObject
) -> tuple[JavaObject, dict[int, list[Lookup]]]:
    """A plan without the subqueries by which Spark would choose partitions when it runs, and these
    by the identity of the relation that each is about.
    """
    patterns = scala_object(spark, f"{CATALYST}.trees.TreePattern")
    if not plan.containsPattern(patterns.DYNAMIC_PRUNING_SUBQUERY()):
        return plan, {}
    found: dict[int, list[Lookup]] = {}
    always = jvm_class(spark, f"{CATALYST}.expressions.Literal").TrueLiteral()
    dropped: list[tuple[JavaObject, JavaObject]] = []
    for node in _filters(plan):
        for part in parts(node.condition()):
            if simple_name(part) != "DynamicPruningSubquery":
                continue
            if not any(part == other for other, _ in dropped):
                dropped.append((part, always))
            query = part.buildQuery()
            outlines = _outlines_of(query)
            if outlines and query.subqueriesAll().isEmpty() and _is_repeatable(query):
                lookup = Lookup(
                    value=part.pruningKey(),
                    columns=node.child().output(),
                    query=query,
                    key=_build_key(spark, part),
                    outlines=outlines,
                )
                found.setdefault(_identity(node.child()), []).append(lookup)
    return plan.transformAllExpressionsWithSubqueries(scala_map(spark, dropped)), found


def _build_key(spark: SparkSession, pruning: JavaObject) -> JavaObject:
    """The value of the other part."""
    if major(spark) >= 4:
        return pruning.buildKeys().apply(pruning.broadcastKeyIndices().head())
    return pruning.buildKeys().apply(pruning.broadcastKeyIndex())


def _outlines_of(plan: JavaObject) -> list[tuple[JavaObject, int]]:
    """The leaves of a plan, each once, with their numbers; none if one of them is no outline."""
    found = {}
    for leaf in elements(plan.collectLeaves()):
        number = leaf.relation().options().get(_OCCURRENCE) if _is_over_files(leaf) else None
        if number is None or number.isEmpty():
            return []
        found[_identity(leaf)] = leaf, int(number.get())
    return list(found.values())


def _is_repeatable(plan: JavaObject) -> bool:
    """Whether a plan gives the same rows each time: rows that are chosen by their order may be
    others, and so may sums of floating-point numbers.
    """
    kind = simple_name(plan)
    if kind == "Aggregate" and any(
        str(a.dataType().sql()) in ("FLOAT", "DOUBLE") for a in elements(plan.output())
    ):
        return False
    return (
        kind in _REPEATABLE
        and bool(plan.deterministic())
        and all(map(_is_repeatable, elements(plan.children())))
    )


def _copies(plan: JavaObject) -> dict[int, int]:
    """The outlines in a plan and its subqueries: the number of each by the copy's identity."""
    found: dict[int, int] = {}
    twice = set()
    for tree in [plan, *elements(plan.subqueriesAll())]:
        for leaf in filter(_is_over_files, elements(tree.collectLeaves())):
            number = leaf.relation().options().get(_OCCURRENCE)
            if number.isDefined():
                twice |= {int(number.get())} if _identity(leaf) in found else set()
                found[_identity(leaf)] = int(number.get())
    # Copies that cannot be told apart are not known to have conditions.
    return {identity: n for identity, n in found.items() if n not in twice}


def _identity(leaf: JavaObject) -> int:
    """What tells a copy of a relation from another one: the id of its first column."""
    return int(leaf.output().head().exprId().id())


def _is_over_files(leaf: JavaObject) -> bool:
    relation = simple_name(leaf) == "LogicalRelation" and leaf.relation()
    return bool(relation) and simple_name(relation) == "HadoopFsRelation"


def _depends_on_now(spark: SparkSession, plan: JavaObject) -> bool:
    """Whether a plan names the current time, user or database, which may be others when it runs.

    The optimizer puts constants in their place, so a condition that it leaves does not tell.
    """
    patterns = scala_object(spark, f"{CATALYST}.trees.TreePattern")
    return plan.containsPattern(patterns.CURRENT_LIKE()) or bool(_NOW.search(str(plan.toString())))


def _filters(plan: JavaObject) -> Iterator[JavaObject]:
    """Filters directly above relations, in subqueries too."""
    return (node for node in _nodes(plan, "Filter") if _is_over_files(node.child()))


def _counted(plan: JavaObject) -> Iterator[JavaObject]:
    """Relations whose rows are aggregated without a look at any value.

    Not those whose rows have a projection above them only: Spark looks for columns that a step
    added to a DataFrame names below its projections, but not below aggregates.
    """
    for node in _nodes(plan, "Aggregate"):
        leaf = node.child()
        if simple_name(leaf) == "Project" and leaf.projectList().isEmpty():
            leaf = leaf.child()
        is_plain = node.references().isEmpty() and node.deterministic()
        if is_plain and _is_over_files(leaf):
            yield leaf


def _nodes(plan: JavaObject, kind: str) -> Iterator[JavaObject]:
    """Nodes of a kind, in subqueries too.

    Those behind a literal of several lines may be missing, as lines are counted.
    """
    lines = _NODE_LINE.findall(str(plan.numberedTreeString()))
    for number in sorted({int(n) for n, name in lines if name == kind}):
        node = plan.apply(number)
        if node is not None and simple_name(node) == kind:
            yield node


def _conjuncts(spark: SparkSession, condition: JavaObject) -> Iterator[Conjunct]:
    """The parts of a condition that always give the same."""
    subqueries = scala_object(spark, f"{CATALYST}.expressions.SubqueryExpression")
    for part in parts(condition):
        coarse = simple_name(part) == _COARSE
        expression = part.child() if coarse else part
        if expression.deterministic() and not subqueries.hasSubquery(expression):
            found = conjunct(expression, coarse=coarse)
            yield from [found] if found.columns else []


def parts(condition: JavaObject) -> Iterator[JavaObject]:
    """The conditions that all hold where one does."""
    if simple_name(condition) == "And":
        yield from parts(condition.left())
        yield from parts(condition.right())
    else:
        yield condition


def conjunct(expression: JavaObject, *, coarse: bool = False) -> Conjunct:
    """A deterministic condition without subqueries."""
    columns = {str(a.name()): a for a in elements(expression.references().toSeq())}
    return Conjunct(expression=expression, columns=columns, coarse=coarse)


def coarse(spark: SparkSession, condition: JavaObject) -> JavaObject:
    """A condition for which ``asked_of_outlines`` gives a coarse conjunct."""
    return jvm_class(spark, f"{CATALYST}.expressions.{_COARSE}")(condition)


def all_of(spark: SparkSession, conjuncts: Sequence[Conjunct]) -> JavaObject:
    """The expression that all of some conditions, at least one, hold."""
    both = jvm_class(spark, f"{CATALYST}.expressions.And")
    return reduce(both, [c.expression for c in conjuncts])


def rebound(
    spark: SparkSession, expression: JavaObject, output: JavaObject, other: JavaObject
) -> JavaObject:
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


def chosen_rows(
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
