"""Java sources next to this module, which Janino compiles in the driver.

Spark includes Janino for its generated code, so acidsql needs no jar. Classes that were compiled
for a release of Spark and Java are cached in the user's cache directory (``class_jars``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from platformdirs import user_cache_path
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from acidsql.bridge.class_jars import digest_of, kept_jar
from acidsql.bridge.jvm import JavaObject, jvm_class, simple_name
from acidsql.bridge.jvm_cache import JvmCache
from acidsql.bridge.spark_versions import missing_internal

PACKAGE = "acidsql.bridge"
_UTILS = "org.apache.spark.util.Utils"
_RESOURCES = "org.codehaus.commons.compiler.util.resource"
_SCRATCH = "directory of compiled classes"
_VERSIONS = "versions of what is compiled against"


def class_loader(spark: SparkSession) -> JavaObject:
    """Return the class loader of Spark's classes."""
    return jvm_class(spark, _UTILS).getContextOrSparkClassLoader()


def loaded(spark: SparkSession, name: str) -> JavaObject:
    """Load a class of Spark.

    Raises:
        Py4JJavaError: the class does not exist.
    """
    return class_loader(spark).loadClass(name)


def source_text(source: str, names: Mapping[str, str]) -> str:
    """Return the text of a source.

    Args:
        source: file name.
        names: replacements for placeholders in the source.
    """
    text = (Path(__file__).parent / source).read_text("utf-8")
    for placeholder, replacement in names.items():
        text = text.replace(placeholder, replacement)
    return text


def compiled(spark: SparkSession, text: str, below: str | None = None) -> JavaObject:
    """Return the loader of a text's classes, which are loaded once in each JVM.

    py4j caches methods by class name. If two loaders had classes of the same name, py4j would call
    the methods of one class on objects of the other class.

    Args:
        spark: the session.
        text: Java source, which can use classes of Spark and of ``below``.
        below: another Java source, whose classes ``text`` uses.

    Raises:
        AcidAnalysisError: this release of Spark lacks a class or method that the text uses
            (UNSUPPORTED_SPARK_VERSION).
    """
    cache = JvmCache.of(spark.sparkContext._gateway)
    key = text if below is None else f"{text}\0{below}"
    with cache.mutex:
        if key not in cache.loaders:
            parent = class_loader(spark) if below is None else compiled(spark, below)
            texts = {"Source.java": text}
            jar = compiled_jar(spark, texts, parent, () if below is None else (below,))
            cache.loaders[key] = _loader(spark, jar, parent)
        return cache.loaders[key]


def compiled_jar(
    spark: SparkSession, texts: Mapping[str, str], parent: JavaObject, others: Sequence[str] = ()
) -> Path:
    """Return the jar of compiled sources; compile them unless the user's cache has the jar.

    The caller holds the mutex of the gateway's ``JvmCache``.

    Args:
        spark: the session.
        texts: sources by path, relative to the root of all packages. They can use each other's
            classes.
        parent: loader of the other classes that they use.
        others: sources of those other classes that are not part of a release.

    Raises:
        AcidAnalysisError: see ``compiled``.
    """
    flat = [part for path in sorted(texts) for part in (path, texts[path])]
    return kept_jar(
        digest_of([*_versions(spark), *flat, *others]),
        lambda: _compile(spark, texts, parent),
        user_cache_path("acidsql") / "classes",
        partial(scratch_directory, spark),
    )


def scratch_directory(spark: SparkSession) -> Path:
    """Return a directory that only this user can enter; Spark removes it when its JVM ends."""
    context = spark.sparkContext
    cache = JvmCache.of(context._gateway)
    with cache.mutex:
        if _SCRATCH not in cache.objects:
            files = jvm_class(spark, _UTILS)
            above = files.getLocalDir(context._jsc.sc().conf())
            made = Path(str(files.createTempDir(above, "acidsql-classes").getAbsolutePath()))
            made.chmod(0o700)  # Spark leaves the mode to the umask
            cache.objects[_SCRATCH] = made
        directory: Path = cache.objects[_SCRATCH]
        return directory


def _versions(spark: SparkSession) -> Sequence[str]:
    """Return the versions of all libraries that a source can be compiled against.

    They include ORC, because a vendor's Spark can have another ORC than the release of that name.
    """
    cache = JvmCache.of(spark.sparkContext._gateway)
    if _VERSIONS not in cache.objects:
        orc = loaded(spark, "org.apache.orc.OrcFile").getProtectionDomain().getCodeSource()
        cache.objects[_VERSIONS] = (
            spark.version,
            str(jvm_class(spark, "java.lang.System").getProperty("java.version")),
            str(jvm_class(spark, "org.apache.hadoop.util.VersionInfo").getVersion()),
            str(orc.getLocation()),
        )
    known: Sequence[str] = cache.objects[_VERSIONS]
    return known


def _compile(spark: SparkSession, texts: Mapping[str, str], parent: JavaObject) -> dict[str, bytes]:
    """Compile sources; return the content of the class files by name."""
    sources, classes = (jvm_class(spark, "java.util.HashMap")() for _ in range(2))
    for path, text in texts.items():
        sources.put(path, text.encode())
    finder = jvm_class(spark, f"{_RESOURCES}.MapResourceFinder")(sources)
    compiler = jvm_class(spark, "org.codehaus.janino.Compiler")()
    # Class files are stored only in the map, and the compiler does not search the disk for any.
    compiler.setSourceFinder(finder)
    compiler.setClassFileFinder(getattr(jvm_class(spark, f"{_RESOURCES}.ResourceFinder"), _EMPTY))
    compiler.setClassFileCreator(jvm_class(spark, f"{_RESOURCES}.MapResourceCreator")(classes))
    compiler.setIClassLoader(
        jvm_class(spark, "org.codehaus.janino.ClassLoaderIClassLoader")(parent)
    )
    compiler.setDebugLines(True)
    compiler.setDebugSource(True)
    resource = loaded(spark, f"{_RESOURCES}.Resource")
    units = jvm_class(spark, "java.lang.reflect.Array").newInstance(resource, len(texts))
    for i, path in enumerate(sorted(texts)):
        units[i] = finder.findResource(path)
    try:
        compiler.compile(units)
    except Py4JJavaError as error:
        if simple_name(error.java_exception) != "CompileException":
            raise
        lacking = str(error.java_exception.getMessage())
        what = f"class or method that a Java source uses ({lacking})"
        raise missing_internal(spark.version, what) from error
    return {str(name): bytes(classes.get(name)) for name in classes.keySet().toArray()}


_EMPTY = "EMPTY_RESOURCE_FINDER"


def _loader(spark: SparkSession, jar: Path, parent: JavaObject) -> JavaObject:
    urls = jvm_class(spark, "java.lang.reflect.Array").newInstance(loaded(spark, "java.net.URL"), 1)
    urls[0] = url_of(spark, jar)
    return jvm_class(spark, "java.net.URLClassLoader")(urls, parent)


def url_of(spark: SparkSession, path: Path) -> JavaObject:
    """Return the ``java.net.URL`` of a local file."""
    return jvm_class(spark, "java.io.File")(str(path)).toURI().toURL()


def only_object(
    spark: SparkSession, source: str, name: str, arguments: Sequence[JavaObject] = ()
) -> JavaObject:
    """Return the JVM's single object of a class in a source.

    The first call makes the object by ``new_object``.
    """
    cache = JvmCache.of(spark.sparkContext._gateway)
    with cache.mutex:
        if name not in cache.objects:
            cache.objects[name] = new_object(spark, source, name, arguments)
        return cache.objects[name]


def new_object(
    spark: SparkSession, source: str, name: str, arguments: Sequence[JavaObject] = ()
) -> JavaObject:
    """Make an object of a class in a source.

    Args:
        spark: the session.
        source: file name of a source that uses only classes of Spark and py4j.
        name: name of the class, without its package. The class has one constructor.
        arguments: arguments of the constructor.

    Raises:
        AcidAnalysisError: see ``compiled``.
    """
    loader = compiled(spark, source_text(source, {}))
    constructor = loader.loadClass(f"{PACKAGE}.{name}").getConstructors()[0]
    listed = jvm_class(spark, "java.util.List").of(*arguments)
    return constructor.newInstance(listed.toArray())
