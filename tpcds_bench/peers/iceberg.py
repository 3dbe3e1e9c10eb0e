"""Engine: Apache Iceberg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from tpcds_bench.peers.engine import Engine, partitioning

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Column

_CATALOG, _SCHEMA = "iceberg", "peers"


class Iceberg(Engine):
    """Parquet files with deletion vectors, in format version 3."""

    label = "Iceberg"
    package = "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0"
    settings: ClassVar[Mapping[str, str]] = {
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        f"spark.sql.catalog.{_CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{_CATALOG}.type": "hadoop",
    }

    def __init__(self, spark: SparkSession, work: Path, columns: Sequence[Column]) -> None:
        super().__init__(spark, work, columns)
        # The catalog is created when it is first used.
        spark.conf.set(f"spark.sql.catalog.{_CATALOG}.warehouse", (work / "tables").as_uri())

    def create(self, table: str, partitioned_by: str | None = None) -> Path:
        """Create a merge-on-read table."""
        self.sql(f"DROP TABLE IF EXISTS {self.target(table)} PURGE")
        modes = ", ".join(
            f"'write.{statement}.mode' = 'merge-on-read'"
            for statement in ("delete", "update", "merge")
        )
        self.sql(
            f"CREATE TABLE {self.target(table)} ({self.declared()}) USING iceberg"
            f"{partitioning(partitioned_by)}"
            f" TBLPROPERTIES ('format-version' = '3', {modes})"
        )
        return self.work / "tables" / _SCHEMA / table

    def compact(self, table: str) -> None:
        """Rewrite all data files."""
        self.sql(
            f"CALL {_CATALOG}.system.rewrite_data_files(table => '{_SCHEMA}.{table}',"
            " options => map('rewrite-all', 'true'))"
        ).collect()

    def cluster(self, table: str, columns: Sequence[str]) -> None:
        """Rewrite all data files in a sort order, as Iceberg's page on procedures shows."""
        self.sql(
            f"CALL {_CATALOG}.system.rewrite_data_files(table => '{_SCHEMA}.{table}',"
            f" strategy => 'sort', sort_order => 'zorder({', '.join(columns)})',"
            " options => map('rewrite-all', 'true'))"
        ).collect()

    def maintain(self, table: str) -> None:
        """Merge small files and expire snapshots, as Iceberg's page on maintenance recommends."""
        for procedure in ("rewrite_data_files", "expire_snapshots", "rewrite_manifests"):
            call = f"CALL {_CATALOG}.system.{procedure}(table => '{_SCHEMA}.{table}')"
            self.sql(call).collect()

    def target(self, table: str) -> str:
        """Return the table's name in Iceberg's catalog."""
        return f"{_CATALOG}.{_SCHEMA}.{table}"
