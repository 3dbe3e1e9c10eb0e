"""Statistics of relations over files, which Spark's optimiser asks for when it chooses joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.jvm import (
    CATALYST,
    SOURCES,
    JavaObject,
    LogicalPlan,
    java_type,
    jvm_class,
    scala_map,
    scala_object,
)
from acidsql.bridge.jvm_cache import cached_per_session

_CATALOG = f"{CATALYST}.catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationStatistics:
    """Statistics of a relation as ``CatalogStatistics`` has them.

    Attributes:
        table: parts of the table's name, which EXPLAIN shows: database and table.
        size: bytes; what Spark reckons with unless its cost-based optimiser is on.
        rows: number of rows; with the cost-based optimiser on, the size is that of so many rows.
    """

    table: tuple[str, str]
    size: int
    rows: int


def relation_with_statistics(
    spark: SparkSession, relation: JavaObject, statistics: RelationStatistics
) -> LogicalPlan:
    """Build the plan that reads a ``HadoopFsRelation``, with statistics.

    ``LogicalRelation`` takes them from the definition of a table in Spark's catalog. Apart from
    them, only the table's name is read from it.
    """
    before, after = _definition(spark, *statistics.table)
    numbers = jvm_class(spark, "java.util.List").of(str(statistics.size), str(statistics.rows))
    made = _statistics_of_texts(spark).invokeWithArguments(numbers)
    some = jvm_class(spark, "scala.Some")
    table = jvm_class(spark, f"{_CATALOG}.CatalogTable")(*before, some(made), *after)
    return scala_object(spark, f"{SOURCES}.LogicalRelation").apply(relation, table)


@cached_per_session(1)
def _statistics_of_texts(spark: SparkSession) -> JavaObject:
    """Build the ``MethodHandle`` that makes ``CatalogStatistics`` of a size and of a number of
    rows, given as text.

    Both are ``BigInt``, which py4j hands to Python as a number and never back.
    """
    handles = jvm_class(spark, "java.lang.invoke.MethodHandles")
    signature = jvm_class(spark, "java.lang.invoke.MethodType").methodType
    lookup = handles.publicLookup()
    load = scala_object(spark, f"{_CATALOG}.CatalogTable").getClass().getClassLoader().loadClass
    number, text, option = map(load, ("scala.math.BigInt", "java.lang.String", "scala.Option"))
    parse = lookup.findStatic(number, "apply", signature(number, text))
    some = lookup.unreflectConstructor(load("scala.Some").getConstructors()[0])
    optional = handles.filterReturnValue(parse, some.asType(signature(option, number)))
    make = lookup.unreflectConstructor(load(f"{_CATALOG}.CatalogStatistics").getConstructors()[0])
    no_columns = _array(spark, "java.lang.Object", [scala_map(spark, [])])
    without_columns = handles.insertArguments(make, 2, no_columns)
    filters = _array(spark, "java.lang.invoke.MethodHandle", [parse, optional])
    return handles.filterArguments(without_columns, 0, filters)


def _array(spark: SparkSession, kind: str, items: Sequence[JavaObject]) -> JavaObject:
    made = spark.sparkContext._gateway.new_array(jvm_class(spark, kind), len(items))
    for i, item in enumerate(items):
        made[i] = item
    return made


@cached_per_session(256)
def _definition(
    spark: SparkSession, database: str, name: str
) -> tuple[Sequence[JavaObject], Sequence[JavaObject]]:
    """Return the constructor arguments of a ``CatalogTable`` before its statistics, and those
    after them.
    """
    identifier = jvm_class(spark, f"{CATALYST}.TableIdentifier")(
        name, jvm_class(spark, "scala.Some")(database)
    )
    arguments = [identifier, *_of_every_table(spark)]
    return arguments[:_STATISTICS], arguments[_STATISTICS + 1 :]


# Position of the statistics among the constructor arguments of CatalogTable, in all releases.
_STATISTICS = 12


@cached_per_session(1)
def _of_every_table(spark: SparkSession) -> list[JavaObject]:
    """Return the constructor arguments of a ``CatalogTable`` after the identifier.

    Releases have different numbers of them, and default values for all but the first three.
    """
    companion = scala_object(spark, f"{_CATALOG}.CatalogTable")
    loader = companion.getClass().getClassLoader()
    constructor = loader.loadClass(f"{_CATALOG}.CatalogTable").getConstructors()[0]
    given = [
        scala_object(spark, f"{_CATALOG}.CatalogTableType").MANAGED(),
        scala_object(spark, f"{_CATALOG}.CatalogStorageFormat").empty(),
        java_type(spark, StructType()),
    ]
    numbers = range(len(given) + 2, constructor.getParameterCount() + 1)
    return [*given, *(getattr(companion, f"apply$default${i}")() for i in numbers)]
