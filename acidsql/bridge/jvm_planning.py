"""Parts of planning that run in the JVM, each in one call."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from acidsql.bridge.java_sources import PACKAGE, class_loader, compiled, source_text
from acidsql.bridge.jvm import Expression, JavaObject, simple_name
from acidsql.bridge.jvm_cache import JvmCache
from acidsql.bridge.spark_versions import missing_internal

_SOURCE = "Planning.java"
_CLASS = f"{PACKAGE}.Planning"


def jvm_planning(spark: SparkSession) -> JavaObject:
    """Return the object whose methods they are; it is compiled once for each JVM.

    Raises:
        AcidAnalysisError: this release of Spark lacks what it uses (UNSUPPORTED_SPARK_VERSION).
    """
    known = JvmCache.of(spark.sparkContext._gateway).objects
    if _CLASS not in known:
        try:
            loader = compiled(spark, class_loader(spark), source_text(_SOURCE, {}))
        except Py4JJavaError as error:
            if simple_name(error.java_exception) != "CompileException":
                raise
            lacking = str(error.java_exception.getMessage())
            what = f"class or method that {_SOURCE} uses ({lacking})"
            raise missing_internal(spark.version, what) from error
        known[_CLASS] = loader.loadClass(_CLASS).getConstructors()[0].newInstance(None)
    return known[_CLASS]


def rebound(
    spark: SparkSession, expression: Expression, output: JavaObject, other: JavaObject
) -> Expression:
    """Replace the attributes of an output in an expression by those at the same positions of
    another.

    One attribute may occur in an expression in several forms, of other case, qualifier or
    nullability; all of them are replaced.

    Args:
        output: Scala ``Seq`` of attributes, which the expression refers to.
        other: Scala ``Seq`` of attributes, as many.
    """
    return jvm_planning(spark).rebound(expression, output, other)
