"""Analysis of INSERT statements: Spark's analyser resolves the columns and casts the values."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.file_statuses import ScanFile
from acidsql.bridge.jvm import (
    CATALYST,
    LogicalPlan,
    copy_node,
    elements,
    jvm_class,
    session_state,
)
from acidsql.bridge.plans import frame_of
from acidsql.bridge.relations import file_relation, rows_of
from acidsql.bridge.spark_versions import differences
from acidsql.syntax.lexer import quote


def insert_into_files(
    spark: SparkSession,
    plan: LogicalPlan,
    location: str,
    schema: StructType,
    partitions: StructType,
) -> LogicalPlan:
    """Replace the target of an ``InsertIntoStatement`` by an empty file relation with these
    columns.

    The result is analysed and never run: Spark's analyser resolves partition values, column lists
    and defaults, and casts by its store-assignment policy. OVERWRITE and IF NOT EXISTS are left
    out: they do not concern the rows, and Spark refuses the latter for file relations.

    Args:
        plan: parsed, not analysed.
        location: directory of the table; no file below it is opened.
        schema: all columns but the partition columns.
        partitions: partition columns.
    """
    # Spark inserts into relations with one path only.
    nothing = ScanFile(f"{location}/nothing", size=0)
    relation = file_relation(spark, [nothing], schema, {}, partitions)[0]
    target = rows_of(spark, relation).plan
    return copy_node(
        spark, plan, {"table": target, "overwrite": False, "ifPartitionNotExists": False}
    )


def insert_query(spark: SparkSession, plan: LogicalPlan) -> DataFrame:
    """Return the query of an analysed INSERT: columns in the table's order, cast by the
    store-assignment policy.
    """
    query = plan.query()
    if differences(spark).keeps_char_of_omitted_columns:
        query = _without_char(spark, query)
    return frame_of(spark, query)


def _without_char(spark: SparkSession, query: LogicalPlan) -> LogicalPlan:
    """Cast the CHAR and VARCHAR columns of an INSERT's query to strings.

    Spark 3.5 gives an omitted column NULL of its declared type, and has no encoder for that type.
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
