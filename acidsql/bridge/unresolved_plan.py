"""Plans that are built before Spark analyses them; a DataFrame is analysed at every step."""

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
    java_type,
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
    """Named columns, handed to the JVM once for many projections.

    Attributes:
        java: Scala ``Seq`` of column nodes, before Spark 4 of named expressions.
    """

    java: JavaObject


def named_columns(spark: SparkSession, columns: Sequence[Column]) -> NamedColumns:
    """Convert columns for ``UnresolvedPlan.project``; each is an attribute or has an alias."""
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
    """Build the columns of the values of assignments, which are NULL in rows of another number.

    It takes one call, however many there are.

    Args:
        assignments: Scala ``Seq`` of them.
        numbers: name of the column with the number of each row.
        number: of the rows that the assignments are for.
        names: of the columns of the first assignments.
    """
    has_nodes = differences(spark).has_column_nodes
    made = jvm_planning(spark).chosen(assignments, numbers, number, list(names), has_nodes)
    return NamedColumns(made)


@dataclass(frozen=True, slots=True)
class UnresolvedPlan:
    """Logical plan that Spark has not analysed yet, with methods like those of a DataFrame."""

    spark: SparkSession
    plan: LogicalPlan

    @classmethod
    def of(cls, frame: DataFrame) -> UnresolvedPlan:
        """Build the plan of a DataFrame, which is analysed already."""
        return cls(frame.sparkSession, logical_plan(frame))

    def frame(self) -> DataFrame:
        """Analyse the plan and return its DataFrame."""
        return frame_of(self.spark, self.plan)

    def analyzed(self) -> LogicalPlan:
        """Return the analysed plan."""
        return self.plan if self.plan.resolved() else analyze(self.spark, self.plan)

    def where(self, condition: Column | str) -> UnresolvedPlan:
        """Filter by a condition."""
        if isinstance(condition, str):
            expression = self._parser().parseExpression(condition)
        else:
            expression = expression_of(self.spark, condition)
        return self.filtered(expression)

    def filtered(self, condition: Expression) -> UnresolvedPlan:
        """Filter by a Catalyst expression."""
        made = jvm_class(self.spark, f"{_LOGICAL}.Filter")(condition, self.plan)
        return UnresolvedPlan(self.spark, made)

    def select(self, *expressions: str) -> UnresolvedPlan:
        """Project to SQL expressions, each a column, ``*``, or with an alias."""
        # Spark has no parser of a list of expressions, so a whole query is parsed.
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

    def described(self, fields: StructType, others: Sequence[str]) -> UnresolvedPlan:
        """Project to the first columns, with the names and metadata of fields, and to others by
        name.
        """
        plan = self.analyzed()
        kinds = java_type(self.spark, fields)
        made = jvm_planning(self.spark).projected(plan, kinds, "\0".join(others))
        return UnresolvedPlan(self.spark, made)

    def union(self, others: Sequence[UnresolvedPlan]) -> UnresolvedPlan:
        """Append the rows of plans with the same columns (UNION ALL)."""
        if not others:
            return self
        plans = scala_seq(self.spark, [self.plan, *(other.plan for other in others)])
        whole = jvm_class(self.spark, f"{_LOGICAL}.Union")(plans, False, False)
        return UnresolvedPlan(self.spark, whole)

    def pushdown_barrier(self) -> UnresolvedPlan:
        """Return the same rows under new attributes, by a node that Spark pushes no condition
        through.
        """
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


# Column of ``count_only_rows`` with the number of a row, from 0.
BARE_NUMBER = "id"


def count_only_rows(
    spark: SparkSession, number: int, schema: StructType, known: Mapping[str, Column] | None = None
) -> UnresolvedPlan:
    """Build a plan with a number of rows, whose columns raise an error when they are evaluated.

    Args:
        number: of rows.
        schema: names and types of the columns.
        known: columns that have values, by name; they are computed from ``BARE_NUMBER``.
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
    """Hide the last columns of a plan: they can be selected by name but are not in ``*``.

    Spark resolves hidden columns of a projection as it does those of a USING join.

    Args:
        hidden: number of columns to hide.
        name: parts of the table's name, which qualifies the columns.
    """
    spark, parts = rows.spark, "\0".join(name)
    shows = alias_shows_hidden(spark)
    return jvm_planning(spark).hideColumns(rows.analyzed(), hidden, parts, shows)
