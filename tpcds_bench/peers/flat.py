"""Engine: plain ORC, where a change of rows rewrites the whole table."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tpcds_bench.peers.engine import Engine, partitioning
from tpcds_bench.peers.statements import (
    KEY,
    Change,
    Delete,
    Insert,
    Merge,
    Update,
    change_sql,
    on_key,
)
from tpcds_bench.tables import CODEC, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Column


class Flat(Engine):
    """Tables of flat ORC; each version of the files has a separate directory."""

    label = "ORC"

    def __init__(self, spark: SparkSession, work: Path, columns: Sequence[Column]) -> None:
        super().__init__(spark, work, columns)
        self._files: dict[str, Path] = {}

    def create(self, table: str, partitioned_by: str | None = None) -> Path:
        """Create a table of flat ORC."""
        root = self.fresh(table)
        self._files[table] = root / "0"
        self.sql(
            f"CREATE TABLE {table} ({self.declared()}) USING orc"
            f"{partitioning(partitioned_by)}"
            f" OPTIONS (compression '{CODEC}') LOCATION '{self._files[table].as_uri()}'"
        )
        return root

    def reopen(self, table: str, root: Path) -> None:
        """Register the last version's directory again, because Spark's catalog is in memory."""
        self._files[table] = max(root.iterdir(), key=lambda version: int(version.name))
        self.sql(
            f"CREATE TABLE {table} ({self.declared()}) USING orc"
            f" OPTIONS (compression '{CODEC}') LOCATION '{self._files[table].as_uri()}'"
        )

    def compact(self, table: str) -> None:
        """Rewrite the table."""
        self._write(table, f"SELECT {names(self.columns)} FROM {table}")

    def cluster(self, table: str, columns: Sequence[str]) -> None:
        """Rewrite the table sorted by the first column, because plain ORC has no other order."""
        self._write(table, f"SELECT {names(self.columns)} FROM {table} SORT BY {columns[0]}")

    def change(self, change: Change) -> None:
        """Add files for an INSERT; rewrite the table for other changes."""
        if isinstance(change, Insert):
            self.sql(change_sql(change, change.table, self.columns))
        else:
            self._write(change.table, rewritten_sql(change, self.columns))

    def _write(self, table: str, rows: str) -> None:
        """Write the rows of a query, and make them the table's content."""
        old = self._files[table]
        new = old.with_name(str(int(old.name) + 1))
        self.sql(rows).write.option("compression", CODEC).orc(new.as_uri())
        self.sql(f"ALTER TABLE {table} SET LOCATION '{new.as_uri()}'")
        self._files[table] = new
        shutil.rmtree(old)


def rewritten_sql(change: Update | Delete | Merge, columns: Sequence[Column]) -> str:
    """Return the query of all rows that a table has after a change.

    The conditions must not be NULL for any row.
    """
    if isinstance(change, Delete):
        return f"SELECT {names(columns)} FROM {change.table} WHERE NOT ({change.where})"
    if isinstance(change, Update):
        new = f"IF({change.where}, {change.value}, {change.column}) AS {change.column}"
        kept = (new if c.name == change.column else c.name for c in columns)
        return f"SELECT {', '.join(kept)} FROM {change.table}"
    there, given = f"t.{KEY[0]} IS NOT NULL", f"s.{KEY[0]} IS NOT NULL"
    merged = (f"IF({given}, s.{c.name}, t.{c.name}) AS {c.name}" for c in columns)
    return (
        f"SELECT {', '.join(merged)} FROM {change.table} t"
        f" FULL OUTER JOIN {change.source} s ON {on_key()}"
        f" WHERE NOT ({given} AND {there} AND {change.deleted})"
    )
