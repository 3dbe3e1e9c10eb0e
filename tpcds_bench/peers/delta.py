"""Engine: Delta Lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from tpcds_bench.peers.engine import Engine, partitioning
from tpcds_bench.session import SETTINGS

if TYPE_CHECKING:
    from pathlib import Path


class Delta(Engine):
    """Parquet files with deletion vectors."""

    label = "Delta Lake"
    package = "io.delta:delta-spark_4.0_2.13:4.4.0"
    settings: ClassVar[Mapping[str, str]] = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.parquet.compression.codec": "zstd",
        # Partitions of Delta Lake's internal shuffles, 50 by default: use the same for all engines.
        "spark.databricks.delta.snapshotPartitions": SETTINGS["spark.sql.shuffle.partitions"],
    }

    def create(self, table: str, partitioned_by: str | None = None) -> Path:
        """Create a table with deletion vectors."""
        root = self.fresh(table)
        self.sql(
            f"CREATE TABLE {table} ({self.declared()}) USING delta"
            f"{partitioning(partitioned_by)} LOCATION '{root.as_uri()}'"
            " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        )
        return root

    def reopen(self, table: str, root: Path) -> None:
        """Register the directory again, because Spark's catalog is in memory."""
        self.sql(f"CREATE TABLE {table} USING delta LOCATION '{root.as_uri()}'")

    def compact(self, table: str) -> None:
        """Merge small files, then purge the remaining deletion vectors."""
        self.sql(f"OPTIMIZE {table}").collect()
        self.sql(f"REORG TABLE {table} APPLY (PURGE)").collect()

    def cluster(self, table: str, columns: Sequence[str]) -> None:
        """Cluster by ``OPTIMIZE … ZORDER BY``."""
        self.sql(f"OPTIMIZE {table} ZORDER BY ({', '.join(columns)})").collect()

    def maintain(self, table: str) -> None:
        """Merge small files (``OPTIMIZE``); this also rewrites files with many deleted rows."""
        self.sql(f"OPTIMIZE {table}").collect()
