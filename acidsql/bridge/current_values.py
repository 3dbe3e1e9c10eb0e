"""What a statement takes for the current time, user and database.

Spark computes them when a plan is optimised. A statement is planned twice, and the second plan may
run on another day than the first one chose partitions for: both have the values of one moment.
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
# Plans, not analysed, that create a table of the rows of a query.
_AS_SELECT = ("CreateTableAsSelect", "ReplaceTableAsSelect")


class CurrentValues:
    """The current time, user and database of one statement: those of when they are first asked."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._values: JavaObject = None

    def put_into(self, plan: LogicalPlan) -> LogicalPlan:
        """An analysed plan with these values in place of the functions that give them."""
        if not _names_any(self._spark, plan):
            return plan
        if self._values is None:
            self._values = _values(self._spark)
        return plan.transformAllExpressionsWithSubqueries(self._values)

    def resolve(self, plan: LogicalPlan) -> LogicalPlan:
        """The analysed and checked plan of a statement, with these values."""
        query = query_of(plan)
        if query is plan:
            return self.put_into(analyze(self._spark, plan))
        fixed = self.put_into(analyze(self._spark, query))
        return copy_node(self._spark, plan, {"query": fixed})


def query_of(plan: LogicalPlan) -> LogicalPlan:
    """The query of a statement that creates a table of its rows; other statements as they are.

    Once analysed, the query is no part of the plan.
    """
    return plan.query() if simple_name(plan) in _AS_SELECT else plan


def _values(spark: SparkSession) -> JavaObject:
    """A Scala map from functions to their values of now."""
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
    """Whether an analysed plan names a current value, which may be another when it runs; as a
    function or as the text of a date.

    The optimizer puts constants in their place, so a condition that it leaves does not tell.
    """
    if _names_any(spark, plan):
        return True
    rule = jvm_class(spark, f"{CATALYST}.optimizer.SpecialDatetimeValues")
    trees = [plan, *elements(plan.subqueriesAll())]
    return any(not same(rule.apply(tree), tree) for tree in trees)
