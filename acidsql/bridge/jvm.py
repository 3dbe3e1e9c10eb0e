"""Access to Scala and Java values, classes and tree nodes through py4j."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NewType

from py4j.java_gateway import JavaClass, JavaMember
from py4j.protocol import STATIC_PREFIX
from pyspark.sql import Column, SparkSession
from pyspark.sql.types import DataType

from acidsql.bridge.jvm_cache import JvmCache, cached_per_session
from acidsql.bridge.spark_versions import differences, missing_internal

if TYPE_CHECKING:
    # True when mypy checks that no code outside this package calls a method of a Java object.
    JAVA_IS_CLOSED = False

    if JAVA_IS_CLOSED:

        class JavaObject:
            """Java object that code outside this package can only pass on."""

        class TreeNode(JavaObject):
            """Node of a Catalyst tree that code outside this package can only pass on."""

    else:
        JavaObject = Any  # py4j has no static types

        class TreeNode:
            """Node of a Catalyst tree."""

            def __getattr__(self, name: str) -> Any: ...

else:
    JavaObject = TreeNode = object

# Distinct types, so that mypy distinguishes plans from expressions. Both are Java objects at run
# time.
LogicalPlan = NewType("LogicalPlan", TreeNode)
Expression = NewType("Expression", TreeNode)
CATALYST = "org.apache.spark.sql.catalyst"
SOURCES = "org.apache.spark.sql.execution.datasources"
_PYTHON = "org.apache.spark.api.python.PythonUtils"
# Attribute of a JavaObject with its simple name, which saves further calls.
_SIMPLE_NAME = "_acidsql_simple_name"
_CLASS_NAMES = f"{STATIC_PREFIX}org.apache.commons.lang3.ClassUtils"
# Largest number of items for List.of, and of pairs for Map.of.
_FEW = 10


class _KnownClass(JavaClass):  # type: ignore[misc]
    """Java class that caches its static members; py4j would query the JVM for each access."""

    def __getattr__(self, name: str) -> JavaObject:
        member = super().__getattr__(name)
        if isinstance(member, JavaMember):
            self.__dict__[name] = member
        return member


def _jvm(spark: SparkSession) -> JavaObject:
    return spark.sparkContext._jvm


def jvm_class(spark: SparkSession, name: str) -> JavaObject:
    """Return a Java class, or the static forwarders of a Scala object, by its full name.

    The class is cached for each JVM, because py4j makes a round trip for every part of the name.

    Raises:
        AcidAnalysisError: this release of Spark lacks the class (UNSUPPORTED_SPARK_VERSION).
    """
    known = JvmCache.of(spark.sparkContext).classes
    if name not in known:
        java_class = _jvm(spark)
        for part in name.split("."):
            java_class = getattr(java_class, part)
        if not isinstance(java_class, JavaClass):
            raise missing_internal(spark.version, name)
        known[name] = _KnownClass(name, java_class._gateway_client)
    return known[name]


def scala_object(spark: SparkSession, name: str) -> JavaObject:
    """Return the singleton instance of a Scala object, cached for each JVM."""
    known = JvmCache.of(spark.sparkContext).objects
    if name not in known:
        known[name] = getattr(jvm_class(spark, name + "$"), "MODULE$")
    return known[name]


def scala_seq(spark: SparkSession, items: Sequence[Any]) -> JavaObject:
    """Build a Scala ``Seq``; see ``java_list``."""
    return jvm_class(spark, _PYTHON).toSeq(java_list(spark, items))


def java_list(spark: SparkSession, items: Sequence[Any]) -> JavaObject | list[Any]:
    """Build a Java ``List`` as an argument of a call.

    Up to ten items without None take one call into the JVM. Otherwise, each item takes a call.
    """
    is_short = len(items) <= _FEW and all(item is not None for item in items)
    return jvm_class(spark, "java.util.List").of(*items) if is_short else list(items)


def appended(spark: SparkSession, seq: JavaObject, more: Sequence[JavaObject]) -> JavaObject:
    """Append elements to a Scala ``Seq``."""
    converters = jvm_class(spark, "scala.collection.JavaConverters")
    listed = jvm_class(spark, "java.util.ArrayList")(converters.seqAsJavaList(seq))
    for element in more:
        listed.add(element)
    return jvm_class(spark, _PYTHON).toSeq(listed)


def scala_map(spark: SparkSession, pairs: Sequence[tuple[Any, Any]]) -> JavaObject:
    """Build a Scala ``Map`` from pairs without nulls and with distinct keys.

    The argument is not a ``dict``, which would call the JVM for the hash of each Java object.
    """
    return jvm_class(spark, _PYTHON).toScalaMap(java_map(spark, pairs))


def java_map(spark: SparkSession, pairs: Sequence[tuple[Any, Any]]) -> JavaObject:
    """Build a Java ``Map`` from pairs without nulls and with distinct keys.

    Up to ten pairs take one call into the JVM. Otherwise, each pair takes a call.
    """
    if len(pairs) <= _FEW:
        flat = [part for pair in pairs for part in pair]
        return jvm_class(spark, "java.util.Map").of(*flat)
    made = jvm_class(spark, "java.util.HashMap")()
    for key, value in pairs:
        made[key] = value
    return made


def java_strings(spark: SparkSession, texts: Sequence[str]) -> JavaObject:
    """Build a Java array of strings with one call; py4j would make a call for each string.

    Args:
        spark: the session.
        texts: strings without NUL.
    """
    return _separator(spark).split(_NUL.join(texts))


def long_array(spark: SparkSession, packed: bytes) -> JavaObject:
    """Build a Java ``long[]`` from 64-bit integers in big-endian order, passed as one value."""
    made = spark.sparkContext._gateway.new_array(_jvm(spark).long, len(packed) // 8)
    jvm_class(spark, "java.nio.ByteBuffer").wrap(packed).asLongBuffer().get(made)
    return made


_NUL = "\0"


@cached_per_session(1)
def _separator(spark: SparkSession) -> JavaObject:
    return jvm_class(spark, "java.util.regex.Pattern").compile(_NUL)


def elements(seq: JavaObject) -> list[Any]:
    """Return the elements of a Scala ``Seq`` as a list."""
    return [seq.apply(i) for i in range(seq.size())]


def java_type(spark: SparkSession, data_type: DataType) -> JavaObject:
    """Return the Java ``DataType`` of a type, or the ``StructType`` of a schema."""
    return _java_type(spark, data_type.json())


@cached_per_session(256)
def _java_type(spark: SparkSession, json_text: str) -> JavaObject:
    return jvm_class(spark, "org.apache.spark.sql.types.DataType").fromJson(json_text)


@cached_per_session(1)
def session_state(spark: SparkSession) -> JavaObject:
    """Return the ``SessionState`` of a session (parser, analyser, catalog, settings)."""
    return spark._jsparkSession.sessionState()


def setting_names(spark: SparkSession, prefix: str) -> list[str]:
    """Return the names of a session's settings that begin with ``prefix``."""
    names = str(spark._jsparkSession.conf().getAll().keys().mkString("\n"))
    return [name for name in names.split("\n") if name.startswith(prefix)]


def session_key(spark: SparkSession) -> str:
    """Return the application id and the UUID of a session.

    Python sessions for the same JVM session have the same key.
    """
    return f"{spark.sparkContext.applicationId}/{spark._jsparkSession.sessionUUID()}"


def simple_name(node: JavaObject) -> str:
    """Return the class name of a Java object without its package."""
    known: str | None = node.__dict__.get(_SIMPLE_NAME)
    if known is None:
        # The member is not looked up, because the lookup would be another round trip.
        name_of = JavaMember("getSimpleName", None, _CLASS_NAMES, node._gateway_client)
        known = node.__dict__[_SIMPLE_NAME] = str(name_of(node, ""))
    return known


def defined(option: JavaObject) -> list[Expression]:
    """Return the value of a Scala ``Option`` in a list, which is empty for ``None``."""
    return [option.get()] if option.isDefined() else []


def expression_of(spark: SparkSession, value: Column) -> Expression:
    """Return the Catalyst expression of a PySpark column."""
    if differences(spark).has_column_nodes:
        converter = scala_object(
            spark, "org.apache.spark.sql.classic.ColumnNodeToExpressionConverter"
        )
        return converter.apply(value._jc.node())
    return value._jc.expr()


def column(spark: SparkSession, expression: Expression) -> Column:
    """Build a PySpark column from a resolved Catalyst expression."""
    if differences(spark).has_column_nodes:
        return Column(
            scala_object(spark, "org.apache.spark.sql.classic.ExpressionUtils").column(expression)
        )
    return Column(jvm_class(spark, "org.apache.spark.sql.Column")(expression))


def alias(
    spark: SparkSession, expression: Expression, name: str, expr_id: JavaObject | None = None
) -> Expression:
    """Build the ``Alias`` of a Catalyst expression.

    Args:
        spark: the session.
        expression: the expression.
        name: the alias.
        expr_id: id of the attribute that the alias defines; a new id by default.
    """
    nothing = scala_object(spark, "scala.collection.immutable.Nil")
    if expr_id is None:
        expr_id = jvm_class(spark, f"{CATALYST}.expressions.NamedExpression").newExprId()
    none = scala_object(spark, "scala.None")
    return jvm_class(spark, f"{CATALYST}.expressions.Alias")(
        expression, name, expr_id, nothing, none, nothing
    )


def has_jvm(spark: SparkSession) -> bool:
    """Return whether the JVM of a session is running, without a call into it."""
    gateway = spark.sparkContext._gateway
    if gateway is None:
        return False
    process = getattr(gateway, "proc", None)
    if process is not None:
        return process.poll() is None
    parameters = gateway.gateway_parameters
    try:  # another program started the JVM
        with socket.create_connection((parameters.address, parameters.port)):
            return True
    except ConnectionRefusedError:
        return False


def is_stopped(spark: SparkSession) -> bool:
    """Return whether the application of a session was stopped."""
    context = spark.sparkContext._jsc
    return context is None or bool(context.sc().isStopped())


@contextmanager
def active(spark: SparkSession) -> Iterator[None]:
    """Make a session the active session of the JVM's thread in the block.

    Spark's parser takes its settings from the active session.
    """
    sessions = jvm_class(spark, f"{differences(spark).sql_package}.SparkSession")
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def cloned_session(spark: SparkSession, settings: Mapping[str, str | None]) -> JavaObject:
    """Clone a session with changed settings.

    Args:
        settings: values by key; None unsets a key.

    Returns:
        A Java ``SparkSession``.
    """
    session = spark._jsparkSession.cloneSession()
    for key, value in settings.items():
        if value is None:
            session.conf().unset(key)
        else:
            session.conf().set(key, value)
    return session


def default_parallelism(spark: SparkSession) -> int:
    """Return the default minimum number of tasks of a scan: the tasks that can run in parallel."""
    return int(spark._jsparkSession.leafNodeDefaultParallelism())


def same(one: JavaObject, other: JavaObject) -> bool:
    """Return whether two Java objects are equal (``equals``)."""
    return bool(one.equals(other))


def session_time_zone(spark: SparkSession) -> str:
    """Return the current time zone of the session."""
    return str(spark.conf.get("spark.sql.session.timeZone"))


def jvm_time_zone(spark: SparkSession) -> str:
    """Return the JVM's default time zone, whose local times Spark's ORC writer stores."""
    return str(jvm_class(spark, "java.util.TimeZone").getDefault().getID())


def jvm_memory(spark: SparkSession) -> int:
    """Return the maximum heap size of the driver's JVM in bytes."""
    return int(jvm_class(spark, "java.lang.Runtime").getRuntime().maxMemory())
