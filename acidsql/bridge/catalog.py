"""Spark's own catalog: tables that are not the metastore's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.jvm import JavaObject, elements, field_names, jvm_class, session_state


@dataclass(frozen=True, kw_only=True)
class CatalogTable:
    """A table of Spark's catalog.

    Attributes:
        schema: all columns, CHAR and VARCHAR as such.
        partition_columns: their names; they are the last of the schema.
        provider: the format of its files, in lower case; of a Hive table its serde.
        created: milliseconds since 1970.
        partitions: the value of each partition column by its name, and the location.
    """

    schema: StructType
    partition_columns: Sequence[str]
    location: str
    provider: str
    external: bool
    bucketed: bool
    properties: Mapping[str, str]
    owner: str
    created: int
    comment: str | None
    partitions: Sequence[tuple[Mapping[str, str | None], str]]


def catalog_table(spark: SparkSession, database: str, name: str) -> CatalogTable | None:
    """A table of Spark's session catalog; None if it has none of this name, or a view."""
    catalog, identifier = _named(spark, database, name)
    if not catalog.tableExists(identifier):
        return None
    found = catalog.getTableMetadata(identifier)
    kind = found.tableType().name()
    if kind == "VIEW":
        return None
    chars = jvm_class(spark, "org.apache.spark.sql.catalyst.util.CharVarcharUtils")
    partition_columns = elements(found.partitionColumnNames())
    none = jvm_class(spark, "scala.Option").empty()
    partitions = elements(catalog.listPartitions(identifier, none)) if partition_columns else []
    return CatalogTable(
        schema=StructType.fromJson(json.loads(chars.getRawSchema(found.schema()).json())),
        partition_columns=partition_columns,
        location=_path(spark, found.location()),
        provider=_provider(found),
        external=kind == "EXTERNAL",
        bucketed=bool(found.bucketSpec().isDefined()),
        properties=dict(_pairs(found.properties())),
        owner=str(found.owner()),
        created=int(found.createTime()),
        comment=str(found.comment().get()) if found.comment().isDefined() else None,
        partitions=[(dict(_pairs(p.spec())), _path(spark, p.location())) for p in partitions],
    )


def forget_table(spark: SparkSession, database: str, name: str) -> None:
    """Drop a table of Spark's session catalog whose files stay: as an external one."""
    catalog, identifier = _named(spark, database, name)
    found = catalog.getTableMetadata(identifier)
    types = jvm_class(spark, "org.apache.spark.sql.catalyst.catalog.CatalogTableType")
    fields = [found.productElement(i) for i in range(found.productArity())]
    fields[field_names(spark, found).index("tableType")] = types.EXTERNAL()
    catalog.alterTable(found.copy(*fields))
    catalog.dropTable(identifier, False, False)


def _named(spark: SparkSession, database: str, name: str) -> tuple[JavaObject, JavaObject]:
    state = session_state(spark)
    return state.catalog(), state.sqlParser().parseTableIdentifier(f"`{database}`.`{name}`")


def _provider(found: JavaObject) -> str:
    provider = str(found.provider().get()).lower() if found.provider().isDefined() else "hive"
    serde = found.storage().serde()
    return str(serde.get()) if provider == "hive" and serde.isDefined() else provider


def _path(spark: SparkSession, uri: JavaObject) -> str:
    """A location as Hadoop spells paths: a URI escapes what is escaped in names already."""
    return str(jvm_class(spark, "org.apache.hadoop.fs.Path")(uri).toString())


def _pairs(scala_map: JavaObject) -> list[tuple[str, str]]:
    return [(pair._1(), pair._2()) for pair in elements(scala_map.toSeq())]
