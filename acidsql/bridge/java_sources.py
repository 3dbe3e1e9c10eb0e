"""Java sources beside this module, compiled in the driver by Janino.

Spark has Janino for the code that it generates, so no jar is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import JavaObject, jvm_class, simple_name
from acidsql.bridge.jvm_cache import JvmCache
from acidsql.bridge.spark_versions import missing_internal

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

    Raises:
        AcidAnalysisError: this release of Spark lacks what the text uses
            (UNSUPPORTED_SPARK_VERSION).
    """
    cache = JvmCache.of(spark.sparkContext._gateway)
    with cache.mutex:
        if text not in cache.loaders:
            cache.loaders[text] = _compile(spark, parent, text)
        return cache.loaders[text]


def _compile(spark: SparkSession, parent: JavaObject, text: str) -> JavaObject:
    compiler = jvm_class(spark, "org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(parent)
    try:
        compiler.cook(text)
    except Py4JJavaError as error:
        if simple_name(error.java_exception) != "CompileException":
            raise
        lacking = str(error.java_exception.getMessage())
        what = f"class or method that a Java source uses ({lacking})"
        raise missing_internal(spark.version, what) from error
    return compiler.getClassLoader()


def only_object(
    spark: SparkSession, source: str, name: str, arguments: Sequence[JavaObject] = ()
) -> JavaObject:
    """Return the object of a class in a source, of which there is one in each JVM.

    Args:
        source: file name; its text names classes of Spark and py4j alone.
        name: of the class, without its package; it has one constructor.
        arguments: what the constructor takes.

    Raises:
        AcidAnalysisError: see ``compiled``.
    """
    cache = JvmCache.of(spark.sparkContext._gateway)
    with cache.mutex:
        if name not in cache.objects:
            loader = compiled(spark, class_loader(spark), source_text(source, {}))
            constructor = loader.loadClass(f"{PACKAGE}.{name}").getConstructors()[0]
            listed = jvm_class(spark, "java.util.List").of(*arguments)
            cache.objects[name] = constructor.newInstance(listed.toArray())
        return cache.objects[name]
