"""Rows that a task computes differently when it runs again.

Spark runs a task again if the output of its shuffle is lost, for the tasks that have not read that
output yet; the others have read what it computed the first time. If the values differ, rows that a
value sends to another task are lost or written twice.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql.bridge.jobs import job_errors
from acidsql.bridge.jvm import Expression, LogicalPlan, elements, simple_name
from acidsql.bridge.plans import logical_plan

# Expressions that are not deterministic, but depend only on a seed, the number of the task, and the
# order of its rows.
_SEEDED = frozenset(
    {
        "InputFileBlockLength",
        "InputFileBlockStart",
        "InputFileName",
        "MonotonicallyIncreasingID",
        "Rand",
        "Randn",
        "RandStr",
        "Shuffle",
        "SparkPartitionID",
        "Uuid",
    }
)
# Calls of functions that may not be deterministic themselves, whatever their arguments are.
_CALLS = frozenset(
    {
        "ApplyFunctionExpression",
        "CallMethodViaReflection",
        "HiveGenericUDF",
        "HiveSimpleUDF",
        "Invoke",
        "PythonUDF",
        "ScalaUDF",
        "StaticInvoke",
    }
)
# Plans that give each task its rows in the same order each time.
_ORDERED = frozenset(
    {
        "Expand",
        "Filter",
        "Generate",
        "LocalRelation",
        "LogicalRelation",
        "OneRowRelation",
        "Project",
        "Range",
        "SubqueryAlias",
        "Union",
        "View",
    }
)


def computed_once(frame: DataFrame) -> DataFrame:
    """Return a DataFrame whose rows are the same each time that they are read.

    If a task that runs again could compute others, a job of their own computes them now, and the
    executors keep them on their disks. Where they are lost, reading them fails.

    Raises:
        WriteJobError: that job failed (see ``job_errors``).
    """
    if is_repeatable(logical_plan(frame)):
        return frame
    with job_errors():
        return frame.localCheckpoint()


def has_same_values(plan: LogicalPlan) -> bool:
    """Return whether all values of an analysed plan are the same each time that it runs."""
    return bool(plan.deterministic())


def is_observed_once(frame: DataFrame) -> bool:
    """Return whether a DataFrame hands values to the program when it is computed
    (``DataFrame.observe``), and others if it is computed again.
    """
    plan = logical_plan(frame)
    return _observes(plan) and not is_repeatable(plan)


def _observes(plan: LogicalPlan) -> bool:
    if simple_name(plan) == "CollectMetrics":
        return True
    return any(map(_observes, elements(plan.children())))


def is_repeatable(plan: LogicalPlan) -> bool:
    """Return whether a task of an analysed plan computes the same rows when it runs again."""
    if plan.deterministic():
        return True
    own = [e for e in elements(plan.expressions()) if not e.deterministic()]
    if own and not (_is_ordered(plan) and all(map(_is_seeded, own))):
        return False
    return all(map(is_repeatable, elements(plan.children())))


def _is_ordered(plan: LogicalPlan) -> bool:
    kind = simple_name(plan)
    is_narrow = kind in _ORDERED or (kind == "Repartition" and not plan.shuffle())
    if kind == "DataSourceV2Relation":
        # Each task of a scan of ours reads given parts of files, one after the other.
        is_narrow = plan.table().getClass().getName().startswith("acidsql.")
    return is_narrow and all(map(_is_ordered, elements(plan.children())))


def _is_seeded(expression: Expression) -> bool:
    """Return whether all of an expression that is not deterministic is seeded."""
    kind = simple_name(expression)
    children = [c for c in elements(expression.children()) if not c.deterministic()]
    if not children:
        return kind in _SEEDED
    return kind not in _CALLS and all(map(_is_seeded, children))
