"""Java classes that executors run: compiled in the driver, and sent to them with their tasks.

The driver's own loader gets them too, so that an object which a task sends back is of the class
that the driver knows. In local mode tasks use the same loader, or one below it.
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
    """Return the only object of a class that makes objects of its package, whose classes the driver
    has and tasks will find.

    Args:
        spark: the session.
        package: directory beside this module with the Java sources of the package
            ``acidsql.<package>``, which is compiled as a whole.
        name: of the class, without its package.

    Raises:
        AcidAnalysisError: this release of Spark lacks what the sources use
            (UNSUPPORTED_SPARK_VERSION).
    """
    cache = JvmCache.of(spark.sparkContext._gateway)
    key = f"maker of {package}"
    with cache.mutex:
        if key not in cache.objects:
            jar, loader = _loaded_package(spark, package)
            made = loader.loadClass(f"acidsql.{package}.{name}").getConstructors()[0]
            cache.objects[key] = jar, made.newInstance(None)
        jar, found = cache.objects[key]
        _send_to_executors(spark, jar)
    return found


def _loaded_package(spark: SparkSession, package: str) -> tuple[Path, JavaObject]:
    """Compile a package and give it to the driver's loader; return its jar and that loader."""
    jar = compiled_jar(spark, package_texts(package), class_loader(spark))
    loader = _lowest_common(spark)
    loader.addURL(url_of(spark, jar))
    return jar, loader


def package_texts(package: str) -> Mapping[str, str]:
    """Return the sources of a package by their paths below the root of the packages."""
    directory = Path(__file__).parent / package
    return {
        f"acidsql/{package}/{path.name}": path.read_text("utf-8")
        for path in sorted(directory.glob("*.java"))
    }


def _lowest_common(spark: SparkSession) -> JavaObject:
    """Return the class loader that takes jars and is above those of all sessions and threads: the
    one that ``spark-submit`` has made.

    Raises:
        AcidAnalysisError: there is none (UNSUPPORTED_SPARK_VERSION).
    """
    taking = class_loader(spark).loadClass(_TAKES_JARS)
    found, loader = None, class_loader(spark)
    while loader is not None:
        if taking.isInstance(loader):
            found = loader
        loader = loader.getParent()
    if found is None:
        raise missing_internal(spark.version, f"{_TAKES_JARS} (the driver was started without it)")
    return found


def _send_to_executors(spark: SparkSession, jar: Path) -> None:
    """Have a Spark context send a jar to its executors, once; the caller holds a mutex.

    It is sent from a copy of this process: an executor may start, and ask for it, when the user's
    cache was emptied.
    """
    context = spark.sparkContext
    sent = JvmCache.of(context).objects
    if jar.name in sent or context._jsc.isLocal():
        return
    copy = scratch_directory(spark) / jar.name
    if not copy.exists():
        shutil.copy(jar, copy)
    context._jsc.addJar(str(copy))
    sent[jar.name] = True
