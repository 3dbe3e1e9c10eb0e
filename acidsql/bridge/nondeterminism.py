"""Detection of rows that a task computes differently when it runs again.

Spark repeats a task if its shuffle output is lost and other tasks have yet to read it. Some tasks
have then read the first output, and others read the second. If a value differs between the two, it
may send a row to another task, and the row is lost or written twice.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from acidsql.bridge.jobs import job_errors
from acidsql.bridge.jvm import Expression, LogicalPlan, elements, simple_name
from acidsql.bridge.plans import logical_plan

# Nondeterministic expressions that depend only on a seed, the number of the task, and the order of
# its rows.
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
# Calls of functions that may be nondeterministic, regardless of their arguments.
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
# Plans that give each task its rows in the same order whenever it runs.
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
    """Return a DataFrame whose rows are the same whenever they are read.

    If a repeated task could compute other rows, a separate job computes the rows now. The executors
    hold them on their disks, and a later read fails if they are lost.

    Raises:
        WriteJobError: that job failed (see ``job_errors``).
    """
    if is_repeatable(logical_plan(frame)):
        return frame
    with job_errors():
        return frame.localCheckpoint()


def has_same_values(plan: LogicalPlan) -> bool:
    """Return whether all values of an analysed plan are the same whenever it runs."""
    return bool(plan.deterministic())


def is_observed_once(frame: DataFrame) -> bool:
    """Return whether ``DataFrame.observe`` would report other values in a second computation."""
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
    changing = [e for e in elements(plan.expressions()) if not e.deterministic()]
    if changing and not (_is_ordered(plan) and all(map(_is_seeded, changing))):
        return False
    return all(map(is_repeatable, elements(plan.children())))


def _is_ordered(plan: LogicalPlan) -> bool:
    kind = simple_name(plan)
    is_narrow = kind in _ORDERED or (kind == "Repartition" and not plan.shuffle())
    if kind == "DataSourceV2Relation":
        # Each task of acidsql's scan reads given parts of files, one after the other.
        is_narrow = plan.table().getClass().getName().startswith("acidsql.")
    return is_narrow and all(map(_is_ordered, elements(plan.children())))


def _is_seeded(expression: Expression) -> bool:
    """Return whether all nondeterministic parts of an expression are seeded."""
    kind = simple_name(expression)
    children = [c for c in elements(expression.children()) if not c.deterministic()]
    if not children:
        return kind in _SEEDED
    return kind not in _CALLS and all(map(_is_seeded, children))
