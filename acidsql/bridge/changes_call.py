"""Calls of ``table_changes`` in unresolved plans."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    LogicalPlan,
    elements,
    scala_object,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.jvm_planning import copy_node

_TABLE_CHANGES = "table_changes"


def table_of_changes(spark: SparkSession, call: LogicalPlan) -> tuple[str, ...] | None:
    """Return the table name in a call of ``table_changes``, split into its parts.

    The name is the first argument. Return None for other calls, or if it is not a literal.
    """
    names = elements(call.name())
    arguments = elements(call.functionArgs())
    is_ours = len(names) == 1 and str(names[0]).lower() == _TABLE_CHANGES and arguments
    if not is_ours or simple_name(arguments[0]) != "Literal":
        return None
    if str(arguments[0].dataType().typeName()) != "string" or arguments[0].value() is None:
        return None
    text = str(arguments[0].value())
    return tuple(elements(session_state(spark).sqlParser().parseMultipartIdentifier(text)))


def renamed_changes(spark: SparkSession, call: LogicalPlan, name: Sequence[str]) -> LogicalPlan:
    """Replace the table name in a call of ``table_changes``."""
    quoted = ".".join(f"`{part.replace('`', '``')}`" for part in name)
    literal = scala_object(spark, f"{CATALYST}.expressions.Literal").apply(quoted)
    arguments = scala_seq(spark, [literal, *elements(call.functionArgs())[1:]])
    return copy_node(spark, call, {"functionArgs": arguments})
