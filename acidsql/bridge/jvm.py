"""Scala and Java values, classes and tree nodes through py4j."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NewType

from py4j.java_gateway import JavaClass, JavaMember
from py4j.protocol import STATIC_PREFIX
from pyspark.sql import Column, SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.jvm_cache import JvmCache, cached_per_session
from acidsql.bridge.spark_versions import differences, missing_internal

JavaObject = Any  # py4j has no static types

if TYPE_CHECKING:

    class TreeNode:
        """A node of a Catalyst tree, whose methods only the bridge calls."""

        def __getattr__(self, name: str) -> Any: ...

else:
    TreeNode = object

# A plan of Spark's and an expression in one are told apart by mypy: a Java object is either.
LogicalPlan = NewType("LogicalPlan", TreeNode)
Expression = NewType("Expression", TreeNode)
CATALYST = "org.apache.spark.sql.catalyst"
SOURCES = "org.apache.spark.sql.execution.datasources"
_PYTHON = "org.apache.spark.api.python.PythonUtils"
_CLASS_NAMES = f"{STATIC_PREFIX}org.apache.commons.lang3.ClassUtils"
# As many as List.of and Map.of take.
_FEW = 10


class _KnownClass(JavaClass):  # type: ignore[misc]
    """A class whose static methods are looked up once: py4j asks the JVM each time."""

    def __getattr__(self, name: str) -> JavaObject:
        found = super().__getattr__(name)
        if isinstance(found, JavaMember):
            self.__dict__[name] = found
        return found


def _jvm(spark: SparkSession) -> JavaObject:
    return spark.sparkContext._jvm


def jvm_class(spark: SparkSession, name: str) -> JavaObject:
    """A class, or the Scala object of that name, by its full name; looked up once.

    py4j asks the JVM about every part of the name, a round trip each.
    """
    known = JvmCache.of(spark.sparkContext).classes
    if name not in known:
        found = _jvm(spark)
        for part in name.split("."):
            found = getattr(found, part)
        if not isinstance(found, JavaClass):
            raise missing_internal(spark.version, name)
        known[name] = _KnownClass(name, found._gateway_client)
    return known[name]


def scala_object(spark: SparkSession, name: str) -> JavaObject:
    """The singleton instance of a Scala object."""
    known = JvmCache.of(spark.sparkContext).objects
    if name not in known:
        known[name] = getattr(jvm_class(spark, name + "$"), "MODULE$")
    return known[name]


def scala_seq(spark: SparkSession, items: Sequence[Any]) -> JavaObject:
    """A Scala ``Seq``, of a Java list that takes one call if it is short, else one per item."""
    is_short = len(items) <= _FEW and all(item is not None for item in items)
    listed = jvm_class(spark, "java.util.List").of(*items) if is_short else list(items)
    return jvm_class(spark, _PYTHON).toSeq(listed)


def scala_map(spark: SparkSession, pairs: Sequence[tuple[Any, Any]]) -> JavaObject:
    """A Scala ``Map`` of pairs without nulls, no key twice.

    They are no ``dict``: its hashes of Java objects would be calls.
    """
    if len(pairs) <= _FEW:
        flat = [part for pair in pairs for part in pair]
        return jvm_class(spark, _PYTHON).toScalaMap(jvm_class(spark, "java.util.Map").of(*flat))
    java_map = jvm_class(spark, "java.util.HashMap")()
    for key, value in pairs:
        java_map[key] = value
    return jvm_class(spark, _PYTHON).toScalaMap(java_map)


def java_strings(spark: SparkSession, texts: Sequence[str]) -> JavaObject:
    """A Java array of texts, none with a NUL, made by one call: py4j would take one for each."""
    return _separator(spark).split(_NUL.join(texts))


def long_array(spark: SparkSession, packed: bytes) -> JavaObject:
    """A Java array of 64-bit numbers, big-endian, handed over at once."""
    made = spark.sparkContext._gateway.new_array(_jvm(spark).long, len(packed) // 8)
    jvm_class(spark, "java.nio.ByteBuffer").wrap(packed).asLongBuffer().get(made)
    return made


_NUL = "\0"


@cached_per_session(1)
def _separator(spark: SparkSession) -> JavaObject:
    return jvm_class(spark, "java.util.regex.Pattern").compile(_NUL)


def elements(seq: JavaObject) -> list[Any]:
    """The elements of a Scala ``Seq``."""
    return [seq.apply(i) for i in range(seq.size())]


def java_type(spark: SparkSession, schema: StructType) -> JavaObject:
    """Spark's ``StructType`` of a schema."""
    return jvm_class(spark, "org.apache.spark.sql.types.DataType").fromJson(schema.json())


@cached_per_session(1)
def session_state(spark: SparkSession) -> JavaObject:
    """Spark's parser, analyser, catalog and settings of a session, which it has one of."""
    return spark._jsparkSession.sessionState()


def simple_name(node: JavaObject) -> str:
    """The class of a Java object, without its package."""
    # Not looked up: that would be another call.
    name_of = JavaMember("getSimpleName", None, _CLASS_NAMES, node._gateway_client)
    return str(name_of(node, ""))


def field_names(spark: SparkSession, node: JavaObject) -> list[str]:
    """Return the names of the constructor arguments of a case class, in their order.

    Scala 2.12 does not tell them. There they are the first final fields of the class.
    """
    name = str(node.getClass().getName())
    known = JvmCache.of(spark.sparkContext).fields
    if name not in known:
        arity = node.productArity()
        if differences(spark).has_named_fields:
            known[name] = [str(node.productElementName(i)) for i in range(arity)]
        else:
            modifiers = jvm_class(spark, "java.lang.reflect.Modifier")
            finals = [
                str(f.getName())
                for f in node.getClass().getDeclaredFields()
                if modifiers.isFinal(f.getModifiers()) and not modifiers.isStatic(f.getModifiers())
            ]
            known[name] = finals[:arity]
    return known[name]


def copy_node(spark: SparkSession, node: JavaObject, changes: Mapping[str, Any]) -> JavaObject:
    """Copy a tree node with other values of some fields.

    Raises:
        AcidAnalysisError: this release of Spark has no such field (UNSUPPORTED_SPARK_VERSION).
    """
    fields = field_names(spark, node)
    for field in changes:
        if field not in fields:
            raise missing_internal(spark.version, f"{simple_name(node)}.{field}")
    arguments = spark.sparkContext._gateway.new_array(
        jvm_class(spark, "java.lang.Object"), len(fields)
    )
    for i, field in enumerate(fields):
        arguments[i] = changes[field] if field in changes else node.productElement(i)
    return node.makeCopy(arguments)


def expression_of(spark: SparkSession, value: Column) -> Expression:
    """The Catalyst expression of a column."""
    if differences(spark).has_column_nodes:
        converter = scala_object(
            spark, "org.apache.spark.sql.classic.ColumnNodeToExpressionConverter"
        )
        return converter.apply(value._jc.node())
    return value._jc.expr()


def column(spark: SparkSession, expression: Expression) -> Column:
    """A PySpark column of a resolved Catalyst expression."""
    if differences(spark).has_column_nodes:
        return Column(
            scala_object(spark, "org.apache.spark.sql.classic.ExpressionUtils").column(expression)
        )
    return Column(jvm_class(spark, "org.apache.spark.sql.Column")(expression))


def alias(
    spark: SparkSession, expression: Expression, name: str, expr_id: JavaObject | None = None
) -> Expression:
    """A Catalyst expression under a name, and an id if it is to be that of an attribute."""
    nothing = scala_object(spark, "scala.collection.immutable.Nil")
    if expr_id is None:
        expr_id = jvm_class(spark, f"{CATALYST}.expressions.NamedExpression").newExprId()
    none = scala_object(spark, "scala.None")
    return jvm_class(spark, f"{CATALYST}.expressions.Alias")(
        expression, name, expr_id, nothing, none, nothing
    )


@contextmanager
def active(spark: SparkSession) -> Iterator[None]:
    """Make a session the active one of the JVM's thread, whose settings Spark's parser goes by."""
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
    """A Java session with the settings of another but for these; None unsets one."""
    session = spark._jsparkSession.cloneSession()
    for key, value in settings.items():
        if value is None:
            session.conf().unset(key)
        else:
            session.conf().set(key, value)
    return session


def default_parallelism(spark: SparkSession) -> int:
    """The tasks that a scan has at least, by default: those that run at once."""
    return int(spark._jsparkSession.leafNodeDefaultParallelism())


def same(one: JavaObject, other: JavaObject) -> bool:
    """Whether two Java objects are equal."""
    return bool(one.equals(other))


def jvm_time_zone(spark: SparkSession) -> str:
    """The JVM's default time zone, in which Spark's ORC writer stores wall clocks."""
    return str(jvm_class(spark, "java.util.TimeZone").getDefault().getID())


def jvm_memory(spark: SparkSession) -> int:
    """The bytes that the driver's JVM may take for its heap."""
    return int(jvm_class(spark, "java.lang.Runtime").getRuntime().maxMemory())
