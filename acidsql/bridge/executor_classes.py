"""Java classes that executors run: the driver compiles them, and Spark sends them with the tasks.

The driver's class loader gets them too. The driver can then read the objects that tasks send back.
In local mode, tasks use the same loader or a child of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from acidsql.bridge.java_sources import (
    class_loader,
    compiled_jar,
    scratch_directory,
    url_of,
)
from acidsql.bridge.jvm import JavaObject
from acidsql.bridge.jvm_cache import JvmCache
from acidsql.bridge.spark_versions import missing_internal

_TAKES_JARS = "org.apache.spark.util.MutableURLClassLoader"


def maker(spark: SparkSession, package: str, name: str) -> JavaObject:
    """Return the single factory object of a Java package.

    The package's classes are then available to the driver and to tasks.

    Args:
        spark: the session.
        package: directory next to this module that contains the Java sources of the package
            ``acidsql.<package>``. They are compiled together.
        name: name of the factory class, without its package.

    Raises:
        AcidAnalysisError: this release of Spark lacks a class or method that the sources use
            (UNSUPPORTED_SPARK_VERSION).
    """
    cache = JvmCache.of(spark.sparkContext._gateway)
    key = f"maker of {package}"
    with cache.mutex:
        if key not in cache.objects:
            jar, loader = _loaded_package(spark, package)
            made = loader.loadClass(f"acidsql.{package}.{name}").getConstructors()[0]
            cache.objects[key] = jar, made.newInstance(None)
        jar, factory = cache.objects[key]
        _send_to_executors(spark, jar)
    return factory


def _loaded_package(spark: SparkSession, package: str) -> tuple[Path, JavaObject]:
    """Compile a package and add it to the driver's loader; return its jar and that loader."""
    jar = compiled_jar(spark, package_texts(package), class_loader(spark))
    loader = _lowest_common(spark)
    loader.addURL(url_of(spark, jar))
    return jar, loader


def package_texts(package: str) -> Mapping[str, str]:
    """Return the sources of a package by path, relative to the root of all packages."""
    directory = Path(__file__).parent / package
    return {
        f"acidsql/{package}/{path.name}": path.read_text("utf-8")
        for path in sorted(directory.glob("*.java"))
    }


def _lowest_common(spark: SparkSession) -> JavaObject:
    """Return the class loader of ``spark-submit``.

    It takes jars and is an ancestor of the loaders of all sessions and threads.

    Raises:
        AcidAnalysisError: that loader does not exist (UNSUPPORTED_SPARK_VERSION).
    """
    taking = class_loader(spark).loadClass(_TAKES_JARS)
    topmost, loader = None, class_loader(spark)
    while loader is not None:
        if taking.isInstance(loader):
            topmost = loader
        loader = loader.getParent()
    if topmost is None:
        raise missing_internal(spark.version, f"{_TAKES_JARS} (the driver was started without it)")
    return topmost


def _send_to_executors(spark: SparkSession, jar: Path) -> None:
    """Make a Spark context send a jar to its executors once; the caller holds the mutex.

    Spark sends a copy that belongs to this process, because an executor may start and fetch the
    jar after the user has emptied the cache.
    """
    context = spark.sparkContext
    sent = JvmCache.of(context).objects
    if jar.name in sent:
        return
    if not context._jsc.isLocal():
        copy = scratch_directory(spark) / jar.name
        if not copy.exists():
            shutil.copy(jar, copy)
        context._jsc.addJar(str(copy))
    sent[jar.name] = True
