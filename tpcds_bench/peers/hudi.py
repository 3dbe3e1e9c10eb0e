"""Engine: Apache Hudi."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from tpcds_bench.peers.engine import Engine, partitioning
from tpcds_bench.peers.statements import KEY

if TYPE_CHECKING:
    from pathlib import Path


class Hudi(Engine):
    """Parquet files and logs, merged on read."""

    label = "Hudi"
    package = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
    settings: ClassVar[Mapping[str, str]] = {
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    }

    def create(self, table: str, partitioned_by: str | None = None) -> Path:
        """Create a merge-on-read table with the key of store_sales."""
        root = self.fresh(table)
        self.sql(
            f"CREATE TABLE {table} ({self.declared()}) USING hudi"
            f"{partitioning(partitioned_by)}"
            f" TBLPROPERTIES (type = 'mor', primaryKey = '{','.join(KEY)}',"
            # Hudi's server listens on every interface, and compaction is a separate step.
            " 'hoodie.parquet.compression.codec' = 'zstd',"
            " 'hoodie.embed.timeline.server' = 'false', 'hoodie.compact.inline' = 'false')"
            f" LOCATION '{root.as_uri()}'"
        )
        return root

    def compact(self, table: str) -> None:
        """Plan a compaction and carry it out."""
        self.sql(f"CALL run_compaction(op => 'scheduleAndExecute', table => '{table}')").collect()

    def cluster(self, table: str, columns: Sequence[str]) -> None:
        """Plan a clustering and carry it out."""
        self.sql(
            f"CALL run_clustering(table => '{table}', op => 'scheduleAndExecute',"
            f" order => '{','.join(columns)}', order_strategy => 'z-order')"
        ).collect()
