"""Current time, user, catalog and database of a statement, fixed once for all of its plans.

Spark computes them when a plan is optimised. A statement is planned twice, and the day may change
between the two: then the second plan would not fit the partitions that the first one chose. Both
plans are given the values of one moment.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    JavaObject,
    LogicalPlan,
    copy_node,
    elements,
    jvm_class,
    same,
    scala_map,
    scala_object,
    session_state,
    simple_name,
)
from acidsql.bridge.plans import analyze

_NAMES = (
    "current_timestamp()",
    "now()",
    "current_date()",
    "localtimestamp()",
    "current_timezone()",
    "current_catalog()",
    "current_database()",
    "current_user()",
)
# Unresolved plans of CREATE and REPLACE TABLE AS SELECT.
_AS_SELECT = ("CreateTableAsSelect", "ReplaceTableAsSelect")


class CurrentValues:
    """Values of ``current_date()`` and the like for one statement, computed when first needed."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._values: JavaObject = None

    def put_into(self, plan: LogicalPlan) -> LogicalPlan:
        """Replace the functions of the current time, user and database in an analysed plan by
        values.
        """
        if not _names_any(self._spark, plan):
            return plan
        if self._values is None:
            self._values = _values(self._spark)
        return plan.transformAllExpressionsWithSubqueries(self._values)

    def optimize(self, plan: LogicalPlan) -> LogicalPlan | None:
        """Optimise a plan with these values put in.

        Args:
            plan: analysed or not; a command is not run.

        Returns:
            None if its rows depend on the time, user or database at which it runs all the same.
        """
        skip = jvm_class(self._spark, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
        state = session_state(self._spark)
        execution = state.executePlan(query_of(plan), skip)
        analyzed = execution.analyzed()
        fixed = self.put_into(analyzed)
        if depends_on_now(self._spark, fixed):
            return None
        if fixed is not analyzed:
            execution = state.executePlan(fixed, skip)
        return execution.optimizedPlan()

    def resolve(self, plan: LogicalPlan) -> LogicalPlan:
        """Analyse and check the plan of a statement, with these values put in.

        Of a CREATE TABLE AS SELECT, only the query is analysed, and the plan is copied with it.
        """
        query = query_of(plan)
        if query is plan:
            return self.put_into(analyze(self._spark, plan))
        fixed = self.put_into(analyze(self._spark, query))
        return copy_node(self._spark, plan, {"query": fixed})


def query_of(plan: LogicalPlan) -> LogicalPlan:
    """Return the query of a CREATE or REPLACE TABLE AS SELECT; other plans as they are.

    Once such a statement is analysed, its query is no part of the plan any more.
    """
    return plan.query() if simple_name(plan) in _AS_SELECT else plan


def _values(spark: SparkSession) -> JavaObject:
    """Build a Scala map from the functions to literals with their current values."""
    parsed = session_state(spark).sqlParser().parsePlan(f"SELECT {', '.join(_NAMES)}")
    functions = analyze(spark, parsed)
    rules = f"{CATALYST}.optimizer"
    at_once = jvm_class(spark, f"{rules}.ComputeCurrentTime").apply(functions)
    catalogs = session_state(spark).catalogManager()
    values = jvm_class(spark, f"{rules}.ReplaceCurrentLike")(catalogs).apply(at_once)
    lists = [elements(plan.projectList()) for plan in (functions, values)]
    return scala_map(spark, [(f.child(), v.child()) for f, v in zip(*lists, strict=True)])


def _names_any(spark: SparkSession, plan: LogicalPlan) -> bool:
    patterns = scala_object(spark, f"{CATALYST}.trees.TreePattern")
    return bool(plan.containsPattern(patterns.CURRENT_LIKE()))


def depends_on_now(spark: SparkSession, plan: LogicalPlan) -> bool:
    """Return whether the rows of an analysed plan depend on the time, user or database at which it
    runs.

    That is so if it calls a function such as ``current_date()``, or casts a text such as
    ``'today'`` to a date. The optimizer replaces both by constants, so its result does not show it.
    """
    if _names_any(spark, plan):
        return True
    rule = jvm_class(spark, f"{CATALYST}.optimizer.SpecialDatetimeValues")
    trees = [plan, *elements(plan.subqueriesAll())]
    return any(not same(rule.apply(tree), tree) for tree in trees)
