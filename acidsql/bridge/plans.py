"""Logical plans: their table references, their analysis, and DataFrames built from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col

from acidsql.bridge.changes_call import renamed_changes, table_of_changes
from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    column,
    defined,
    elements,
    expression_of,
    java_list,
    jvm_class,
    scala_object,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_cache import cached_per_session
from acidsql.bridge.jvm_planning import copy_node, field_names, jvm_planning
from acidsql.bridge.spark_versions import differences
from acidsql.format.identifiers import lowered


@dataclass(frozen=True)
class Reference:
    """Reference to a relation in a statement.

    Attributes:
        parts: parts of the name.
        start: offset of the name in the text, in code points; None if not known.
        node: node of the plan to replace: the relation, or an alias over it.
        alias: name of the alias if ``node`` is an alias, otherwise None.
        version: text after VERSION AS OF, or None.
        timestamp: unresolved expression after TIMESTAMP AS OF, or None.
        options: options of the relation (``t WITH ('key' = 'value')``, from Spark 4 on), by name in
            lower case.
        changes: call of ``table_changes`` or clause CHANGES, if the reference is to the changes of
            the table; None if it is to the rows.
    """

    parts: tuple[str, ...]
    start: int | None
    node: LogicalPlan
    alias: str | None = None
    version: str | None = None
    timestamp: Expression | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    changes: LogicalPlan | None = None


def substitute_ctes(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Resolve the references to common table expressions by Spark's rule ``CTESubstitution``.

    Spark puts a recursive common table expression above the command that follows it. acidsql splits
    the command into separate queries, which could not refer to an expression in that place.
    """
    if simple_name(plan) == "UnresolvedWith" and _is_recursive_change(spark, plan):
        plan = jvm_planning(spark).withInside(plan)
    return jvm_class(spark, f"{CATALYST}.analysis.CTESubstitution").apply(plan)


def _is_recursive_change(spark: SparkSession, plan: LogicalPlan) -> bool:
    """Return whether WITH RECURSIVE precedes an UPDATE, DELETE or MERGE."""
    is_change = simple_name(plan.child()) in ("UpdateTable", "DeleteFromTable", "MergeIntoTable")
    return is_change and "allowRecursion" in field_names(spark, plan) and plan.allowRecursion()


def references(spark: SparkSession, plan: LogicalPlan) -> list[Reference]:
    """Return the unresolved relations of a plan and of all its subqueries."""
    # Before Spark 4.3, an alias does not expose the hidden columns of its child, so the alias must
    # be replaced too.
    java = jvm_planning(spark).references(plan, not alias_shows_hidden(spark))
    return [
        reference
        for number, facts in enumerate(json.loads(java.text()))
        for reference in _references_of(spark, java.node(number), facts)
    ]


def unqualified_functions(plan: LogicalPlan) -> list[tuple[str, int]]:
    """Return the functions with one-part names in an unresolved plan.

    Each comes with the offset of its name in the text, in code points.
    """
    nodes = [plan, *elements(plan.subqueriesAll())]
    calls = []
    for node in nodes:
        nodes += elements(node.children())
        calls += elements(node.expressions())
    functions = []
    for call in calls:
        calls += elements(call.children())
        start = call.origin().startIndex()
        if simple_name(call) == "UnresolvedFunction" and start.isDefined():
            parts = elements(call.nameParts())
            functions += [(str(parts[0]), int(start.get()))] if len(parts) == 1 else []
    return functions


def persistent_functions(spark: SparkSession, database: str) -> frozenset[str]:
    """Return the names of the functions of a database in Spark's catalog, in lower case."""
    catalog = _catalog(spark)
    if not catalog.databaseExists(database):
        return frozenset()
    names = elements(catalog.externalCatalog().listFunctions(database, "*"))
    return frozenset(lowered(str(name)) for name in names)


def is_session_function(spark: SparkSession, name: str) -> bool:
    """Return whether a name is one of Spark's own functions or a temporary function."""
    identifier = jvm_class(spark, f"{CATALYST}.FunctionIdentifier")(name)
    return bool(_catalog(spark).isRegisteredFunction(identifier))


def _references_of(
    spark: SparkSession, node: LogicalPlan, facts: Mapping[str, Any]
) -> list[Reference]:
    """Return the reference of a leaf in a list, which is empty if the leaf is not a reference.

    A ``RelationTimeTravel`` (VERSION and TIMESTAMP AS OF) or ``RelationChanges`` (CHANGES) is a
    leaf that contains the relation.

    Args:
        spark: the session.
        node: the leaf, or the alias over it.
        facts: properties of the relation.
    """
    alias, kind = facts["alias"], facts["kind"]
    if kind == "UnresolvedRelation":
        return [_reference(node, facts)]
    leaf = node if alias is None else node.child()
    if kind == "UnresolvedTableValuedFunction":
        name = table_of_changes(spark, leaf)
        return [Reference(name, None, node, alias, changes=leaf)] if name else []
    if kind == "RelationChanges":
        return [replace(_reference(node, facts), changes=leaf)]
    versions, times = defined(leaf.version()), defined(leaf.timestamp())
    return [
        replace(
            _reference(node, facts),
            version=str(versions[0]) if versions else None,
            timestamp=times[0] if times else None,
        )
    ]


def _reference(node: LogicalPlan, facts: Mapping[str, Any]) -> Reference:
    return Reference(
        parts=tuple(facts["parts"]),
        start=facts["start"],
        node=node,
        alias=facts["alias"],
        options=facts["options"],
    )


_MORE_THAN_ALL = 2**30  # tasks
# Plans that create a table, with the name of their field for IF NOT EXISTS.
_CREATING = {
    "CreateTable": "ignoreIfExists",
    "CreateTableAsSelect": "ignoreIfExists",
    "CreateTableLike": "ifNotExists",
    "ReplaceTable": None,
    "ReplaceTableAsSelect": None,
}


def created_table(plan: LogicalPlan) -> tuple[tuple[str, ...], bool] | None:
    """Return the parts of the name in a CREATE or REPLACE TABLE, and whether it has IF NOT EXISTS.

    Return None for other statements.
    """
    kind = simple_name(plan)
    if kind == "CreateTableLikeCommand":  # CreateTableLike from Spark 4.1 on
        target = plan.targetTable()
        database = [target.database().get()] if target.database().isDefined() else []
        return (*database, target.table()), bool(plan.ifNotExists())
    if kind not in _CREATING:
        return None
    exists = _CREATING[kind]
    parts = tuple(elements(plan.name().nameParts()))
    return parts, exists is not None and bool(getattr(plan, exists)())


def renamed_reference(
    spark: SparkSession, reference: Reference, name: Sequence[str]
) -> LogicalPlan:
    """Return the unresolved node of a reference with another table name and the same alias."""
    node = reference.node
    leaf = node if reference.alias is None else node.child()
    if reference.changes is not None and simple_name(leaf) != "RelationChanges":
        call = renamed_changes(spark, leaf, name)
        return call if reference.alias is None else copy_node(spark, node, {"child": call})
    travels = simple_name(leaf) in ("RelationTimeTravel", "RelationChanges")
    relation = leaf.relation() if travels else leaf
    renamed = copy_node(spark, relation, {"multipartIdentifier": scala_seq(spark, list(name))})
    if travels:
        renamed = copy_node(spark, leaf, {"relation": renamed})
    return renamed if reference.alias is None else copy_node(spark, node, {"child": renamed})


def replace_relations(
    spark: SparkSession, plan: LogicalPlan, relations: Sequence[tuple[JavaObject, JavaObject]]
) -> LogicalPlan:
    """Replace unresolved relations of a plan and of its subqueries.

    Args:
        spark: the session.
        plan: the plan.
        relations: pairs of a node of this plan and its replacement. A node that is equal to it is
            not replaced.
    """
    nodes = java_list(spark, [node for node, _ in relations])
    plans = java_list(spark, [made for _, made in relations])
    return jvm_planning(spark).replaced(plan, nodes, plans)


def logical_plan(frame: DataFrame) -> LogicalPlan:
    """Return the analysed plan of a DataFrame."""
    return frame._jdf.queryExecution().analyzed()


def qualifier_of(frame: DataFrame) -> str | None:
    """Return the name of the single table or view to which all columns of a DataFrame belong.

    The name is without its database. Return None if the columns belong to several or none.
    """
    names = {
        str(qualifier.last()) if (qualifier := column.qualifier()).nonEmpty() else None
        for column in elements(logical_plan(frame).output())
    }
    return names.pop() if len(names) == 1 else None


def frame_of(spark: SparkSession, plan: LogicalPlan) -> DataFrame:
    """Build the DataFrame of a plan; this analyses the plan, and runs it if it is a command."""
    return DataFrame(java_frame(spark, spark._jsparkSession, plan), spark)


def frame_in(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """Return a DataFrame of another session of the application as a DataFrame of this session."""
    return frame_of(spark, logical_plan(frame))


def java_frame(spark: SparkSession, session: JavaObject, plan: LogicalPlan) -> JavaObject:
    """Build the Java ``Dataset`` of a plan in a Java session.

    This analyses the plan, and runs it if it is a command.
    """
    dataset = jvm_class(spark, f"{differences(spark).sql_package}.Dataset")
    return dataset.ofRows(session, plan)


def analyze(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Analyse and check a plan without executing it, even if it is a command.

    Raises:
        AnalysisException: the plan is invalid.
    """
    skip = jvm_class(spark, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = session_state(spark).executePlan(plan, skip)
    execution.assertAnalyzed()
    return execution.analyzed()


def aliases_are_fresh(spark: SparkSession) -> bool:
    """Return whether each use of an aliased PySpark column makes a new attribute in the plan."""
    return differences(spark).has_column_nodes


def alias_shows_hidden(spark: SparkSession) -> bool:
    """Return whether an alias exposes the hidden columns of the projection below it."""
    return differences(spark).alias_shows_hidden_columns


def exposed(spark: SparkSession, table: LogicalPlan) -> LogicalPlan:
    """Return the analysed plan of ``hide_columns`` with its hidden columns in its output.

    The output of the projection's child contains all columns. Spark 3.5 loses the projection's tag
    during the analysis.
    """
    if simple_name(table) == "SubqueryAlias":
        return copy_node(spark, table, {"child": exposed(spark, table.child())})
    return copy_node(spark, table, {"projectList": table.child().output()})


def no_pushdown(spark: SparkSession, value: Column, *, nullable: bool) -> Column:
    """Wrap a value so that Spark cannot push a condition on it into a scan.

    The wrapper costs nothing at run time. Without it, Spark would push ``row.c = 5`` with a name
    that ORC does not know in ACID files. An empty scalar subquery becomes NULL, and ORC fails on a
    comparison with NULL.

    Args:
        spark: the session.
        value: the value.
        nullable: whether the value can be NULL.
    """
    tag = "KnownNullable" if nullable else "KnownNotNull"
    tagged = jvm_class(spark, f"{CATALYST}.expressions.{tag}")(expression_of(spark, value))
    return column(spark, tagged)


def join(
    spark: SparkSession, left: LogicalPlan, right: LogicalPlan, kind: str, condition: Expression
) -> LogicalPlan:
    """Build the ``Join`` of two plans.

    Args:
        spark: the session.
        left: the left plan.
        right: the right plan.
        kind: Spark's name of the join type, such as ``leftouter``.
        condition: the join condition.
    """
    logical = f"{CATALYST}.plans.logical"
    return jvm_class(spark, f"{logical}.Join")(
        left,
        right,
        jvm_class(spark, f"{CATALYST}.plans.JoinType").apply(kind),
        jvm_class(spark, "scala.Some")(condition),
        scala_object(spark, f"{logical}.JoinHint").NONE(),
    )


def rebalance(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Shuffle by columns into partitions of a reasonable size (the hint ``rebalance``).

    PySpark 3.5's ``DataFrame.hint`` does not accept columns.
    """
    spark = frame.sparkSession
    has_nodes = differences(spark).has_column_nodes
    names = [col(c)._jc if has_nodes else col(c)._jc.expr() for c in columns]
    hinted = frame._jdf.hint("rebalance", scala_seq(spark, names))
    return DataFrame(hinted, spark)


def coalesce_tasks(frame: DataFrame, most: int) -> DataFrame:
    """Limit the number of tasks of a DataFrame.

    ``coalesce`` splits the generated program, and Spark copies rows between its two parts. It is
    omitted if the plan has no shuffle and no more tasks than the limit.

    Args:
        frame: the DataFrame.
        most: largest number of tasks.
    """
    spark = frame.sparkSession
    plan = frame._jdf.queryExecution().executedPlan()
    is_adaptive = str(spark.conf.get("spark.sql.adaptive.enabled")).lower() == "true"
    if is_adaptive and simple_name(plan) == "WholeStageCodegenExec":
        inputs = elements(plan.child().inputRDDs())
        if len(inputs) == 1 and inputs[0].getNumPartitions() <= most:
            return frame
    return frame.coalesce(most)


def codegen_barrier(rows: DataFrame) -> DataFrame:
    """Return the same rows from a plan whose generated program ends here.

    Spark generates one program for all steps between two shuffles. If a filter retains few of many
    rows, Java would compile the steps for the few rows within the loop over all rows. A
    ``coalesce`` to more tasks than the plan has splits the program and retains all tasks.
    """
    return rows.coalesce(_MORE_THAN_ALL)


def input_bytes(frame: DataFrame) -> int:
    """Return Spark's estimate of the bytes that a plan reads.

    It is the sum over the leaves of the plan and of its subqueries. A relation counts with the
    sizes of all its files.
    """
    plan = logical_plan(frame)
    trees = [plan, *elements(plan.subqueriesAll())]
    leaves = [leaf for tree in trees for leaf in elements(tree.collectLeaves())]
    # Spark 4 does not evaluate VALUES with functions of the current time, so it has no statistics.
    sized = [leaf for leaf in leaves if simple_name(leaf) != "ResolvedInlineTable"]
    return sum(map(_leaf_bytes, sized))


def _leaf_bytes(leaf: LogicalPlan) -> int:
    if simple_name(leaf) == "LogicalRelation":  # its statistics cover only the columns in use
        return int(leaf.relation().sizeInBytes())
    return int(str(leaf.stats().sizeInBytes()))


def current_namespace(spark: SparkSession) -> tuple[str, str]:
    """Return the session's current catalog and its current database."""
    catalog, *namespace = jvm_planning(spark).currentNamespace(_catalogs(spark)).split("\0")
    return catalog, ".".join(namespace)


def is_temp_view(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Return whether a name is a temporary view, or a global one if it includes its database."""
    return bool(jvm_planning(spark).isTempView(_catalog(spark), "\0".join(parts)))


@cached_per_session(1)
def _catalog(spark: SparkSession) -> JavaObject:
    return session_state(spark).catalog()


@cached_per_session(1)
def _catalogs(spark: SparkSession) -> JavaObject:
    return session_state(spark).catalogManager()


def temp_view(spark: SparkSession, parts: Sequence[str]) -> JavaObject | None:
    """Return Spark's definition of a temporary view, or None if the view does not exist.

    Two results are equal if the view was not redefined in between.

    Args:
        spark: the session.
        parts: parts of the view's name. A global view's name begins with the database of global
            views.
    """
    view = _catalog(spark).getRawLocalOrGlobalTempView(scala_seq(spark, list(parts)))
    return view.get() if view.isDefined() else None


def global_temp_database(spark: SparkSession) -> str:
    """Return the name of the database of global temporary views."""
    return str(spark.conf.get("spark.sql.globalTempDatabase"))
