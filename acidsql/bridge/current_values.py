"""Current time, user, catalog and database, fixed once for all plans of a statement.

Spark computes these values when it optimises a plan. acidsql plans a statement twice, and the day
can change in between. The second plan would then not fit the partitions that the first plan
selected. Both plans therefore use the values of one moment.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    JavaObject,
    LogicalPlan,
    elements,
    jvm_class,
    same,
    scala_map,
    scala_object,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_planning import copy_node
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
    """Values of ``current_date()`` and similar functions, computed once at the first use."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._values: JavaObject = None

    def put_into(self, plan: LogicalPlan) -> LogicalPlan:
        """Replace ``current_date()`` and similar functions in an analysed plan by values."""
        if not _names_any(self._spark, plan):
            return plan
        if self._values is None:
            self._values = _values(self._spark)
        return plan.transformAllExpressionsWithSubqueries(self._values)

    def optimize(self, plan: LogicalPlan) -> LogicalPlan | None:
        """Insert these values into a plan and optimise it.

        Args:
            plan: the plan, analysed or not. Commands in it do not run.

        Returns:
            None if its rows still depend on the time, user or database at which it runs.
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
        """Analyse and check the plan of a statement, and insert these values.

        For a CREATE TABLE AS SELECT, only the query is analysed. It replaces the query in a copy
        of the plan.
        """
        query = query_of(plan)
        if query is plan:
            return self.put_into(analyze(self._spark, plan))
        fixed = self.put_into(analyze(self._spark, query))
        return copy_node(self._spark, plan, {"query": fixed})


def query_of(plan: LogicalPlan) -> LogicalPlan:
    """Return the query of a CREATE or REPLACE TABLE AS SELECT, or any other plan unchanged.

    After Spark analyses the statement, the query is no longer part of its plan.
    """
    return plan.query() if simple_name(plan) in _AS_SELECT else plan


def _values(spark: SparkSession) -> JavaObject:
    """Build a Scala map from the functions to literals with their current values."""
    parsed = session_state(spark).sqlParser().parsePlan(f"SELECT {', '.join(_NAMES)}")
    functions = analyze(spark, parsed)
    rules = f"{CATALYST}.optimizer"
    with_time = jvm_class(spark, f"{rules}.ComputeCurrentTime").apply(functions)
    catalogs = session_state(spark).catalogManager()
    values = jvm_class(spark, f"{rules}.ReplaceCurrentLike")(catalogs).apply(with_time)
    lists = [elements(plan.projectList()) for plan in (functions, values)]
    return scala_map(spark, [(f.child(), v.child()) for f, v in zip(*lists, strict=True)])


def _names_any(spark: SparkSession, plan: LogicalPlan) -> bool:
    patterns = scala_object(spark, f"{CATALYST}.trees.TreePattern")
    return bool(plan.containsPattern(patterns.CURRENT_LIKE()))


def depends_on_now(spark: SparkSession, plan: LogicalPlan) -> bool:
    """Return whether the rows of an analysed plan depend on when, by whom or where it runs.

    They do if the plan calls a function of the current time, user or database, or if it casts a
    text such as ``'today'`` to a date. The optimizer replaces both by constants, so its result no
    longer shows the dependency.
    """
    if _names_any(spark, plan):
        return True
    rule = jvm_class(spark, f"{CATALYST}.optimizer.SpecialDatetimeValues")
    trees = [plan, *elements(plan.subqueriesAll())]
    return any(not same(rule.apply(tree), tree) for tree in trees)
