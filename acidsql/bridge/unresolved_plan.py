"""Plans that are built step by step and analysed once. A DataFrame is analysed at each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import lit, raise_error
from pyspark.sql.types import StructType

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    elements,
    expression_of,
    jvm_class,
    scala_object,
    scala_seq,
    session_state,
)
from acidsql.bridge.jvm_cache import cached_per_session
from acidsql.bridge.jvm_planning import jvm_planning
from acidsql.bridge.plans import (
    alias_shows_hidden,
    aliases_are_fresh,
    analyze,
    frame_of,
    logical_plan,
    no_pushdown,
)
from acidsql.bridge.spark_versions import differences

_LOGICAL = f"{CATALYST}.plans.logical"


@dataclass(frozen=True, slots=True)
class NamedColumns:
    """Named columns, passed to the JVM once for many projections.

    Attributes:
        java: Scala ``Seq`` of column nodes. Before Spark 4, they are named expressions.
    """

    java: JavaObject


def named_columns(spark: SparkSession, columns: Sequence[Column]) -> NamedColumns:
    """Convert columns for ``UnresolvedPlan.project``; each must be an attribute or an alias."""
    if differences(spark).has_column_nodes:
        return NamedColumns(scala_seq(spark, [column._jc.node() for column in columns]))
    return NamedColumns(scala_seq(spark, [column._jc.named() for column in columns]))


def chosen_values(
    spark: SparkSession,
    assignments: JavaObject,
    numbers: str,
    number: int,
    names: Sequence[str],
) -> NamedColumns:
    """Build columns with the values of assignments, which are NULL in rows with another number.

    This takes one call into the JVM, regardless of the number of assignments.

    Args:
        spark: the session.
        assignments: Scala ``Seq`` of assignments.
        numbers: name of the column that contains the number of each row.
        number: number of the rows to which the assignments apply.
        names: names of the columns for the first assignments.
    """
    has_nodes = differences(spark).has_column_nodes
    made = jvm_planning(spark).chosen(assignments, numbers, number, list(names), has_nodes)
    return NamedColumns(made)


@dataclass(frozen=True, slots=True)
class UnresolvedPlan:
    """Logical plan that Spark may not have analysed yet, with methods like a DataFrame's.

    Attributes:
        spark: the session.
        plan: the plan.
        is_resolved: whether the plan is known to be resolved, so that Spark is not asked.
    """

    spark: SparkSession
    plan: LogicalPlan
    is_resolved: bool = False

    @classmethod
    def of(cls, frame: DataFrame) -> UnresolvedPlan:
        """Build a plan from a DataFrame, whose plan is already analysed."""
        return cls(frame.sparkSession, logical_plan(frame), is_resolved=True)

    def frame(self) -> DataFrame:
        """Analyse the plan and return its DataFrame."""
        return frame_of(self.spark, self.plan)

    def analyzed(self) -> LogicalPlan:
        """Return the analysed plan."""
        is_resolved = self.is_resolved or self.plan.resolved()
        return self.plan if is_resolved else analyze(self.spark, self.plan)

    def where(self, condition: Column | str) -> UnresolvedPlan:
        """Filter by a condition."""
        if isinstance(condition, str):
            expression = self._parser().parseExpression(condition)
        else:
            expression = expression_of(self.spark, condition)
        return self.filtered(expression)

    def filtered(self, condition: Expression, *, is_resolved: bool = False) -> UnresolvedPlan:
        """Filter by a Catalyst expression.

        Args:
            condition: the expression.
            is_resolved: whether the expression is known to be resolved.
        """
        made = jvm_class(self.spark, f"{_LOGICAL}.Filter")(condition, self.plan)
        return UnresolvedPlan(self.spark, made, is_resolved and self.is_resolved)

    def select(self, *expressions: str) -> UnresolvedPlan:
        """Project to SQL expressions, each a column, ``*``, or an expression with an alias."""
        # Spark's parser does not take a list of expressions, so a whole query is parsed.
        parsed = self._parser().parsePlan(f"SELECT {', '.join(expressions)} FROM nothing")
        return self._project(parsed.projectList())

    def project(self, columns: Sequence[NamedColumns]) -> UnresolvedPlan:
        """Project to columns."""
        if not differences(self.spark).has_column_nodes:
            expressions = [e for some in columns for e in elements(some.java)]
            return self._project(scala_seq(self.spark, expressions))
        nodes = columns[0].java
        for some in columns[1:]:
            nodes = nodes.concat(some.java)
        # The conversion gives aliases new expression ids, which each projection needs.
        convert = scala_object(
            self.spark, "org.apache.spark.sql.classic.ColumnNodeToExpressionConverter"
        )
        return self._project(nodes.map(convert))

    def described(self, fields: JavaObject, others: Sequence[str]) -> UnresolvedPlan:
        """Project to the first columns, with new names and metadata, and to other columns by name.

        Args:
            fields: names and metadata for the first columns, a Java ``StructType``.
            others: names of the other columns.
        """
        made = jvm_planning(self.spark).projected(self.analyzed(), fields, "\0".join(others))
        return UnresolvedPlan(self.spark, made, is_resolved=True)

    def union(self, others: Sequence[UnresolvedPlan]) -> UnresolvedPlan:
        """Append the rows of plans with the same columns (UNION ALL)."""
        if not others:
            return self
        plans = scala_seq(self.spark, [self.plan, *(other.plan for other in others)])
        whole = jvm_class(self.spark, f"{_LOGICAL}.Union")(plans, False, False)
        return UnresolvedPlan(self.spark, whole)

    def pushdown_barrier(self) -> UnresolvedPlan:
        """Return the same rows under new attributes, and stop Spark's pushdown of conditions."""
        plan = self.analyzed()
        rows = scala_seq(self.spark, [plan.output()])
        output = scala_seq(self.spark, [a.newInstance() for a in elements(plan.output())])
        expand = jvm_class(self.spark, f"{_LOGICAL}.Expand")
        return UnresolvedPlan(self.spark, expand(rows, output, plan))

    def _project(self, columns: JavaObject) -> UnresolvedPlan:
        made = jvm_class(self.spark, f"{_LOGICAL}.Project")(columns, self.plan)
        return UnresolvedPlan(self.spark, made)

    def _parser(self) -> JavaObject:
        return session_state(self.spark).sqlParser()


# Column of ``count_only_rows`` that contains the number of a row, from 0.
BARE_NUMBER = "id"


def count_only_rows(
    spark: SparkSession, number: int, schema: StructType, known: Mapping[str, Column] | None = None
) -> UnresolvedPlan:
    """Build a plan with a number of rows whose columns raise an error when they are evaluated.

    Args:
        spark: the session.
        number: number of rows.
        schema: names and types of the columns.
        known: values of columns that have values, by name, as functions of ``BARE_NUMBER``.
    """
    if not known:
        columns = (_known_bare_columns if aliases_are_fresh(spark) else _bare_columns)(
            spark, schema
        )
        return UnresolvedPlan.of(spark.range(number)).project([columns])
    whole = {**_bare_values(spark, schema), **known}
    return UnresolvedPlan.of(spark.range(number)).project(
        [named_columns(spark, list(whole.values()))]
    )


def _bare_columns(spark: SparkSession, schema: StructType) -> NamedColumns:
    return named_columns(spark, list(_bare_values(spark, schema).values()))


def _bare_values(spark: SparkSession, schema: StructType) -> dict[str, Column]:
    failing = raise_error(lit("only the number of rows is known"))
    values = {kind: failing.cast(kind) for kind in {field.dataType for field in schema.fields}}
    columns = {}
    for field in schema.fields:
        value = values[field.dataType]
        if not field.nullable:
            value = no_pushdown(spark, value, nullable=False)
        columns[field.name] = value.alias(field.name)
    return columns


_known_bare_columns = cached_per_session(256)(_bare_columns)


def hide_columns(rows: UnresolvedPlan, hidden: int, name: Sequence[str]) -> LogicalPlan:
    """Hide the last columns of a plan: a query can select them by name, but ``*`` omits them.

    Spark resolves hidden columns of a projection like the hidden columns of a USING join.

    Args:
        rows: the plan.
        hidden: number of columns to hide.
        name: parts of the table's name, which qualifies the columns.
    """
    spark, parts = rows.spark, "\0".join(name)
    shows = alias_shows_hidden(spark)
    return jvm_planning(spark).hideColumns(rows.analyzed(), hidden, parts, shows)
