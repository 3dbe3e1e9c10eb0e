"""Errors of Spark's analyser, without the plan that they show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.captured import convert_exception
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import jvm_class, scala_map, simple_name
from acidsql.errors import condition_of, quoted_name

_WITH_PLAN = "ExtendedAnalysisException"
# What Spark calls the table of a relation that its catalog does not have.
_NAMELESS = ("unknown", "`unknown`", "", "``")
# In the output of every plan of a table with row ids.
_ROW_ID = "row__id"


@contextmanager
def without_plans(spark: SparkSession) -> Iterator[None]:
    """Leave the plan of an ACID table out of the messages of errors that Spark's analyser raises.

    Its scan and its events have columns that no statement names.
    """
    try:
        yield
    except AnalysisException as error:
        origin = getattr(error, "_origin", None)
        if origin is None or simple_name(origin) != _WITH_PLAN or _ROW_ID not in str(error):
            raise
        plain = jvm_class(spark, f"org.apache.spark.sql.catalyst.{_WITH_PLAN}")(origin, None)
        raise convert_exception(plain) from None


@contextmanager
def naming_table(spark: SparkSession, parts: Sequence[str]) -> Iterator[None]:
    """Name the table in errors of Spark's analyser about the table that a statement writes into.

    Args:
        parts: of the table's name.
    """
    try:
        yield
    except AnalysisException as error:
        parameters = dict(getattr(error, "getMessageParameters", dict)() or {})
        if getattr(error, "_origin", None) is None or parameters.get("tableName") not in _NAMELESS:
            raise
        parameters["tableName"] = quoted_name(parts)
        made = jvm_class(spark, "org.apache.spark.sql.AnalysisException")
        named = made(condition_of(error), scala_map(spark, list(parameters.items())))
        raise convert_exception(named) from None
