"""Plans: the references in them, relations put in their place, DataFrames made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    column,
    copy_node,
    elements,
    expression_of,
    jvm_class,
    scala_map,
    scala_object,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.spark_versions import differences


@dataclass(frozen=True)
class Reference:
    """A reference to a relation in a statement: its name's parts and where the name stands.

    ``start`` and ``end`` (exclusive) are offsets in code points of the text, None where unknown.
    ``node`` is to be replaced; where it is an alias over the relation, ``alias`` is its name.
    """

    parts: tuple[str, ...]
    start: int | None
    end: int | None
    node: LogicalPlan
    alias: str | None = None


def substitute_ctes(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """The plan with the references to its common table expressions resolved by Spark's own rule."""
    return jvm_class(spark, f"{CATALYST}.analysis.CTESubstitution").apply(plan)


def references(spark: SparkSession, plan: LogicalPlan) -> list[Reference]:
    """The unresolved relations of a plan and of all its subqueries."""
    trees = [plan, *elements(plan.subqueriesAll())]
    if alias_shows_hidden(spark):
        leaves = [leaf for tree in trees for leaf in elements(tree.collectLeaves())]
        return [_reference(leaf) for leaf in leaves if simple_name(leaf) == "UnresolvedRelation"]
    return [reference for tree in trees for reference in _aliased_references(tree)]


def _reference(leaf: LogicalPlan) -> Reference:
    origin = leaf.origin()
    start, stop = origin.startIndex(), origin.stopIndex()
    known = start.isDefined() and stop.isDefined()
    return Reference(
        parts=tuple(elements(leaf.multipartIdentifier())),
        start=start.get() if known else None,
        end=stop.get() + 1 if known else None,
        node=leaf,
    )


def _aliased_references(tree: LogicalPlan) -> list[Reference]:
    """References with their aliases: before Spark 4.3 an alias shows no hidden columns."""
    if simple_name(tree) == "UnresolvedRelation":
        return [_reference(tree)]
    if simple_name(tree) == "SubqueryAlias" and simple_name(tree.child()) == "UnresolvedRelation":
        return [replace(_reference(tree.child()), node=tree, alias=str(tree.alias()))]
    return [r for child in elements(tree.children()) for r in _aliased_references(child)]


_MORE_THAN_ALL = 2**30  # tasks
# Plans that create a table, with the name of their IF NOT EXISTS.
_CREATING = {
    "CreateTable": "ignoreIfExists",
    "CreateTableAsSelect": "ignoreIfExists",
    "CreateTableLike": "ifNotExists",
    "ReplaceTable": None,
    "ReplaceTableAsSelect": None,
}


def created_table(plan: LogicalPlan) -> tuple[tuple[str, ...], bool] | None:
    """The name of the table that a statement creates, and whether IF NOT EXISTS is there."""
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
    """The node of a reference, not resolved either, under another name; its alias stays."""
    node = reference.node
    relation = node if reference.alias is None else node.child()
    renamed = copy_node(spark, relation, {"multipartIdentifier": scala_seq(spark, list(name))})
    return renamed if reference.alias is None else copy_node(spark, node, {"child": renamed})


def replace_relations(
    spark: SparkSession, plan: LogicalPlan, relations: Sequence[tuple[JavaObject, JavaObject]]
) -> LogicalPlan:
    """The plan with these unresolved relations replaced, in its subqueries too.

    Args:
        relations: each with what takes its place.
    """
    return plan.transformDownWithSubqueries(scala_map(spark, relations))


def logical_plan(frame: DataFrame) -> LogicalPlan:
    """The analysed plan of a DataFrame."""
    return frame._jdf.queryExecution().analyzed()


def frame_of(spark: SparkSession, plan: LogicalPlan) -> DataFrame:
    """The DataFrame of a plan; analyses it, and runs it if it is a command."""
    return DataFrame(java_frame(spark, spark._jsparkSession, plan), spark)


def java_frame(spark: SparkSession, session: JavaObject, plan: LogicalPlan) -> JavaObject:
    """The Java DataFrame of a plan in a Java session, as ``frame_of`` has it."""
    dataset = jvm_class(spark, f"{differences(spark).sql_package}.Dataset")
    return dataset.ofRows(session, plan)


def analyze(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """The analysed and checked plan, not executed even if it is a command."""
    skip = jvm_class(spark, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = session_state(spark).executePlan(plan, skip)
    execution.assertAnalyzed()
    return execution.analyzed()


def aliases_are_fresh(spark: SparkSession) -> bool:
    """Whether a PySpark column with an alias is another column of the plan each time it is used."""
    return differences(spark).has_column_nodes


def alias_shows_hidden(spark: SparkSession) -> bool:
    """Whether hidden columns of a projection are found through an alias above it."""
    return differences(spark).alias_shows_hidden_columns


def exposed(spark: SparkSession, table: LogicalPlan) -> LogicalPlan:
    """The analysed plan of ``hide_columns`` with its hidden columns in its output.

    Spark 3.5 loses the mark of the projection when it analyses it.
    """
    if simple_name(table) == "SubqueryAlias":
        return copy_node(spark, table, {"child": exposed(spark, table.child())})
    return copy_node(spark, table, {"projectList": table.child().output()})


def no_pushdown(spark: SparkSession, value: Column, *, nullable: bool) -> Column:
    """The same value, as an expression that Spark cannot push into a scan, at no cost when it runs.

    Spark would push ``row.c = 5``, under a name that ORC does not know in ACID files, and ORC fails
    on a comparison with NULL, which an empty scalar subquery becomes.
    """
    tag = "KnownNullable" if nullable else "KnownNotNull"
    tagged = jvm_class(spark, f"{CATALYST}.expressions.{tag}")(expression_of(spark, value))
    return column(spark, tagged)


def join(
    spark: SparkSession, left: LogicalPlan, right: LogicalPlan, kind: str, condition: Expression
) -> LogicalPlan:
    """The plan that joins two plans on a condition (``kind``: Spark's name, as ``leftouter``)."""
    logical = f"{CATALYST}.plans.logical"
    return jvm_class(spark, f"{logical}.Join")(
        left,
        right,
        jvm_class(spark, f"{CATALYST}.plans.JoinType").apply(kind),
        jvm_class(spark, "scala.Some")(condition),
        scala_object(spark, f"{logical}.JoinHint").NONE(),
    )


def rebalance(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Shuffle by columns into partitions of sensible size (PySpark 3.5's hint takes no columns)."""
    spark = frame.sparkSession
    has_nodes = differences(spark).has_column_nodes
    names = [col(c)._jc if has_nodes else col(c)._jc.expr() for c in columns]
    hinted = frame._jdf.hint("rebalance", scala_seq(spark, names))
    return DataFrame(hinted, spark)


def coalesce_tasks(frame: DataFrame, most: int) -> DataFrame:
    """The rows of a DataFrame, in at most so many tasks.

    A ``coalesce`` parts the generated program in two, and each row is copied in between. It is left
    out where the plan, without a shuffle, tells its tasks.
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
    """The same rows, from which what is made of them is parted.

    Spark makes one program of all steps between two shuffles. Where a filter leaves few rows of
    many, Java would compile all that is made of the few within the loop over the many; a
    ``coalesce`` to more tasks than there are parts the program in two.
    """
    return rows.coalesce(_MORE_THAN_ALL)


def input_bytes(frame: DataFrame) -> int:
    """Spark's estimate of what a plan reads: the bytes of its leaves, and of its subqueries'."""
    plan = logical_plan(frame)
    trees = [plan, *elements(plan.subqueriesAll())]
    leaves = [leaf for tree in trees for leaf in elements(tree.collectLeaves())]
    # Spark 4 keeps VALUES with functions of the current time as they are written, and knows no size
    # of them.
    sized = [leaf for leaf in leaves if simple_name(leaf) != "ResolvedInlineTable"]
    return sum(int(str(leaf.stats().sizeInBytes())) for leaf in sized)


def is_temp_view(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Whether the name is a temporary view (or a global one, with its database)."""
    return bool(session_state(spark).catalog().isTempView(scala_seq(spark, list(parts))))


def temp_view(spark: SparkSession, name: str) -> JavaObject | None:
    """Spark's definition of a local temporary view, to be compared with a later one."""
    found = session_state(spark).catalog().getRawTempView(name)
    return found.get() if found.isDefined() else None
