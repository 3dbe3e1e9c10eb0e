"""Errors of Spark's analyser, without plans of ACID tables and with the names of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.captured import convert_exception
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import jvm_class, scala_map, simple_name
from acidsql.errors import condition_of, quoted_name

_WITH_PLAN = "ExtendedAnalysisException"
# Names that Spark gives to a relation whose table is not in its catalog.
_NAMELESS = ("unknown", "`unknown`", "", "``")
# Column in the output of every plan of a table with row ids.
_ROW_ID = "row__id"


@contextmanager
def without_plans(spark: SparkSession) -> Iterator[None]:
    """Remove the plan of an ACID table from the messages of Spark's analysis errors.

    The scan and the events of the table have columns that no statement names.
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
    """Put the name of a statement's target table into analysis errors that lack it.

    Args:
        spark: the session.
        parts: parts of the table's name.
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
