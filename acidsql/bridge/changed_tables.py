"""Tables that UPDATE, DELETE and MERGE change, in plans as Spark has parsed them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import LogicalPlan, copy_node, elements, scala_seq, simple_name
from acidsql.bridge.plans import replace_relations

# Child of a statement that is the table which it changes.
_TARGETS = {
    "DeleteFromTable": "table",
    "MergeIntoTable": "targetTable",
    "UpdateTable": "table",
}
_SESSION_CATALOG = "spark_catalog"


def qualify_target(spark: SparkSession, plan: LogicalPlan) -> LogicalPlan:
    """Name the table that an UPDATE, DELETE or MERGE after WITH changes with its database.

    ``CTESubstitution`` would take a common table expression of the same name for the table.
    """
    if simple_name(plan) != "UnresolvedWith":
        return plan
    statement = plan.child()
    side = _TARGETS.get(simple_name(statement))
    if side is None or spark.catalog.currentCatalog() != _SESSION_CATALOG:
        return plan
    target = getattr(statement, side)()
    leaf = target.collectLeaves().head()
    if simple_name(leaf) != "UnresolvedRelation" or leaf.multipartIdentifier().size() != 1:
        return plan
    (own,) = elements(leaf.multipartIdentifier())
    name = [_SESSION_CATALOG, spark.catalog.currentDatabase(), str(own)]
    named = copy_node(spark, leaf, {"multipartIdentifier": scala_seq(spark, name)})
    changed = copy_node(spark, statement, {side: replace_relations(spark, target, [(leaf, named)])})
    return copy_node(spark, plan, {"child": changed})
