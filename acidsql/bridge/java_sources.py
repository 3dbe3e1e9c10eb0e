"""Java sources beside this module, compiled in the driver by Janino.

Spark has Janino for the code that it generates, so no jar is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import JavaObject, jvm_class
from acidsql.bridge.jvm_cache import JvmCache

PACKAGE = "acidsql.bridge"
_UTILS = "org.apache.spark.util.Utils"


def class_loader(spark: SparkSession) -> JavaObject:
    """Return the class loader of Spark's classes."""
    return jvm_class(spark, _UTILS).getContextOrSparkClassLoader()


def loaded(spark: SparkSession, name: str) -> JavaObject:
    """Load a class of Spark's.

    Raises:
        Py4JJavaError: there is no such class.
    """
    return class_loader(spark).loadClass(name)


def source_text(source: str, names: Mapping[str, str]) -> str:
    """Return the text of a source.

    Args:
        source: file name.
        names: texts that stand in the source for others.
    """
    text = Path(__file__).with_name(source).read_text("utf-8")
    for name, meant in names.items():
        text = text.replace(name, meant)
    return text


def compiled(spark: SparkSession, parent: JavaObject, text: str) -> JavaObject:
    """Return the loader of the classes of a text, which is compiled once for each JVM.

    py4j remembers methods by the names of their classes. It would call those of one class on the
    objects of another that has the same name and another loader.

    Args:
        parent: loader of the classes that the text names.
    """
    known = JvmCache.of(spark.sparkContext._gateway).loaders
    if text not in known:
        compiler = jvm_class(spark, "org.codehaus.janino.SimpleCompiler")()
        compiler.setParentClassLoader(parent)
        compiler.cook(text)
        known[text] = compiler.getClassLoader()
    return known[text]
