"""Engine: acidsql."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tpcds_bench import product
from tpcds_bench.peers.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Acid(Engine):
    """Full-ACID ORC tables."""

    label = "acidsql"

    def create(self, table: str, partitioned_by: str | None = None) -> Path:
        """Create an ACID table; acidsql chooses the directory of its files."""
        product.execute(self.spark, f"DROP TABLE IF EXISTS {table}")
        product.create_table(self.spark, table, self.columns, partitioned_by=partitioned_by)
        return product.root(self.spark, table)

    def compact(self, table: str) -> None:
        """Run a major compaction and wait for the cleaner."""
        product.compact(self.spark, table, "major")

    def cluster(self, table: str, columns: Sequence[str]) -> None:
        """Cluster by ``OPTIMIZE … ZORDER BY``, and wait for the cleaner."""
        product.cluster(self.spark, table, columns)

    def sql(self, text: str) -> DataFrame:
        """Run a statement through acidsql."""
        return product.query(self.spark, text)
