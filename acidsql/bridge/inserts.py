"""Analysis of INSERT statements: Spark's analyser resolves the columns and casts the values."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.file_statuses import ScanFile
from acidsql.bridge.jvm import (
    CATALYST,
    JavaObject,
    LogicalPlan,
    elements,
    java_type,
    jvm_class,
    scala_object,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_cache import cached_per_session
from acidsql.bridge.jvm_planning import copy_node
from acidsql.bridge.plans import analyze, logical_plan
from acidsql.bridge.relations import file_relation, rows_of
from acidsql.bridge.spark_versions import differences
from acidsql.syntax.lexer import quote


def insert_into_files(
    spark: SparkSession,
    plan: LogicalPlan,
    name: tuple[str, str],
    location: str,
    schema: StructType,
    partitions: StructType,
) -> LogicalPlan:
    """Replace the target of an ``InsertIntoStatement`` by an empty file relation.

    The result is analysed but never runs. Spark's analyser resolves partition values, column lists
    and defaults, and casts by its store-assignment policy. OVERWRITE and IF NOT EXISTS are removed,
    because they do not affect the rows and Spark rejects IF NOT EXISTS for file relations.

    Args:
        spark: the session.
        plan: the parsed statement.
        name: database and name of the table, for Spark's errors.
        location: directory of the table. Spark opens no file below it.
        schema: all columns except the partition columns.
        partitions: partition columns.
    """
    # Spark inserts only into relations with exactly one path.
    nothing = ScanFile(f"{location}/nothing", size=0)
    relation = file_relation(spark, [nothing], schema, {}, partitions)[0]
    named = jvm_class(spark, "scala.Some")(_catalog_table(spark, *name))
    target = copy_node(spark, rows_of(spark, relation).plan, {"catalogTable": named})
    return copy_node(
        spark, plan, {"table": target, "overwrite": False, "ifPartitionNotExists": False}
    )


@cached_per_session(256)
def _catalog_table(spark: SparkSession, database: str, name: str) -> JavaObject:
    """Build an entry of Spark's catalog that has only a name."""
    catalog = f"{CATALYST}.catalog"
    some = jvm_class(spark, "scala.Some")
    values = [
        jvm_class(spark, f"{CATALYST}.TableIdentifier")(
            name, some(database), some("spark_catalog")
        ),
        jvm_class(spark, f"{catalog}.CatalogTableType").MANAGED(),
        jvm_class(spark, f"{catalog}.CatalogStorageFormat").empty(),
        java_type(spark, StructType([])),
    ]
    companion = scala_object(spark, f"{catalog}.CatalogTable")
    java_class = jvm_class(spark, "java.lang.Class").forName(f"{catalog}.CatalogTable")
    arity = java_class.getConstructors()[0].getParameterCount()
    defaults = [getattr(companion, f"apply$default${i}")() for i in range(5, arity + 1)]
    return companion.apply(*values, *defaults)


def insert_query(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Return the query of an analysed INSERT.

    Its columns are in the table's order and cast by the store-assignment policy.
    """
    query = plan.query()
    if differences(spark).keeps_char_of_omitted_columns:
        return analyze(spark, _without_char(spark, query))
    return query


def _without_char(spark: SparkSession, query: LogicalPlan) -> LogicalPlan:
    """Cast the CHAR and VARCHAR columns of an INSERT's query to strings.

    Spark 3.5 gives an omitted column a NULL of its declared type, for which it has no encoder.
    """
    types = jvm_class(spark, f"{CATALYST}.util.CharVarcharUtils")
    values = [
        f"CAST({name} AS {types.replaceCharVarcharWithString(a.dataType()).sql()}) AS {name}"
        if types.hasCharVarchar(a.dataType())
        else name
        for a in elements(query.output())
        for name in [quote(a.name())]
    ]
    parsed = session_state(spark).sqlParser().parsePlan(f"SELECT {', '.join(values)}")
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    return project(parsed.projectList(), query)


# Nodes that Spark can insert into, and nodes that only name them.
_RELATIONS = frozenset({"LogicalRelation", "DataSourceV2Relation", "HiveTableRelation"})
_NAMING = frozenset({"SubqueryAlias", "View"})


def is_temp_view_of_query(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Return whether a temporary view is defined by a query.

    Spark can insert into other temporary views, for example one with USING (``PreWriteCheck``).
    """
    view = ".".join(map(quote, parts))
    plan = logical_plan(spark.table(view))
    while simple_name(plan) in _NAMING:
        plan = plan.children().head()
    return simple_name(plan) not in _RELATIONS
