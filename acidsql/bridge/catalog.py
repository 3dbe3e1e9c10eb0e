"""Tables of Spark's session catalog, which are not in acidsql's metastore."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.jvm import JavaObject, elements, jvm_class, session_state
from acidsql.bridge.jvm_planning import field_names


@dataclass(frozen=True, kw_only=True)
class CatalogTable:
    """Definition of a table in Spark's session catalog.

    Attributes:
        schema: all columns, CHAR and VARCHAR with their lengths.
        partition_columns: names of the partition columns, which are the last of the schema.
        location: path of the table, as Hadoop spells it.
        provider: data source of the files, in lower case (``orc``); for a Hive table, the class of
            its serde.
        external: whether DROP TABLE retains the files.
        bucketed: whether the table is CLUSTERED BY columns.
        created: milliseconds since 1970.
        partitions: for each partition, the values by column name, and the location.
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
    """Return the definition of a table in Spark's session catalog.

    Return None if the table does not exist or is a view.
    """
    catalog, identifier = _named(spark, database, name)
    if not catalog.tableExists(identifier):
        return None
    table = catalog.getTableMetadata(identifier)
    kind = table.tableType().name()
    if kind == "VIEW":
        return None
    chars = jvm_class(spark, "org.apache.spark.sql.catalyst.util.CharVarcharUtils")
    partition_columns = elements(table.partitionColumnNames())
    none = jvm_class(spark, "scala.Option").empty()
    partitions = elements(catalog.listPartitions(identifier, none)) if partition_columns else []
    return CatalogTable(
        schema=StructType.fromJson(json.loads(chars.getRawSchema(table.schema()).json())),
        partition_columns=partition_columns,
        location=_path(spark, table.location()),
        provider=_provider(table),
        external=kind == "EXTERNAL",
        bucketed=bool(table.bucketSpec().isDefined()),
        properties=dict(_pairs(table.properties())),
        owner=str(table.owner()),
        created=int(table.createTime()),
        comment=str(table.comment().get()) if table.comment().isDefined() else None,
        partitions=[(dict(_pairs(p.spec())), _path(spark, p.location())) for p in partitions],
    )


def forget_table(spark: SparkSession, database: str, name: str) -> None:
    """Remove a table from Spark's session catalog and retain its files.

    The table becomes external first, because Spark deletes the files of a managed table.
    """
    catalog, identifier = _named(spark, database, name)
    table = catalog.getTableMetadata(identifier)
    types = jvm_class(spark, "org.apache.spark.sql.catalyst.catalog.CatalogTableType")
    fields = [table.productElement(i) for i in range(table.productArity())]
    fields[field_names(spark, table).index("tableType")] = types.EXTERNAL()
    catalog.alterTable(table.copy(*fields))
    catalog.dropTable(identifier, False, False)


def _named(spark: SparkSession, database: str, name: str) -> tuple[JavaObject, JavaObject]:
    state = session_state(spark)
    return state.catalog(), state.sqlParser().parseTableIdentifier(f"`{database}`.`{name}`")


def _provider(table: JavaObject) -> str:
    provider = str(table.provider().get()).lower() if table.provider().isDefined() else "hive"
    serde = table.storage().serde()
    return str(serde.get()) if provider == "hive" and serde.isDefined() else provider


def _path(spark: SparkSession, uri: JavaObject) -> str:
    """Return a location as Hadoop spells paths.

    Names of partition directories contain escaped characters, which the URI escapes again.
    """
    return str(jvm_class(spark, "org.apache.hadoop.fs.Path")(uri).toString())


def _pairs(scala_map: JavaObject) -> list[tuple[str, str]]:
    return [(pair._1(), pair._2()) for pair in elements(scala_map.toSeq())]
