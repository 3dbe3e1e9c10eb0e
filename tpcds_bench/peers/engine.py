"""Base class of all engines; each engine has a module in this package."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tpcds_bench.peers.statements import (
    Change,
    Cluster,
    Compact,
    Count,
    Maxima,
    Statement,
    change_sql,
    checksum_sql,
    read_sql,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Column

Row = tuple[Any, ...]


def partitioning(column: str | None) -> str:
    """Return the clause of CREATE TABLE for a partition column."""
    return f" PARTITIONED BY ({column})" if column else ""


class Engine(ABC):
    """Table format in a separate Spark session.

    Attributes:
        label: name in reports.
        package: Maven coordinates of the engine's jar; None if Spark needs no other jar.
        settings: Spark settings in addition to those of every engine.
    """

    label: ClassVar[str]
    package: ClassVar[str | None] = None
    settings: ClassVar[Mapping[str, str]] = {}

    def __init__(self, spark: SparkSession, work: Path, columns: Sequence[Column]) -> None:
        """Make the session ready.

        Args:
            spark: session.
            work: directory for tables.
            columns: columns of every table.
        """
        self.spark = spark
        self.work = work
        self.columns = columns
        self._created = 0
        self._roots: dict[str, Path] = {}

    @abstractmethod
    def create(self, table: str, partitioned_by: str | None = None) -> Path:
        """Create an empty table, replacing one of this name; return the directory of its files."""

    def reopen(self, table: str, root: Path) -> None:  # noqa: B027 - most catalogs are on the disk
        """Open a table that another process created.

        Args:
            table: name of the table.
            root: directory of its files, as ``create`` returned it.
        """

    @abstractmethod
    def compact(self, table: str) -> None:
        """Bring a table into the state as if it had been written in one step."""

    @abstractmethod
    def cluster(self, table: str, columns: Sequence[str]) -> None:
        """Order the rows of a table along a Z-order curve of some columns."""

    def maintain(self, table: str) -> None:  # noqa: B027 - most need nothing
        """Do the regular maintenance that the engine's documentation recommends, if any."""

    def target(self, table: str) -> str:
        """Return the table's name in SQL."""
        return table

    def sql(self, text: str) -> DataFrame:
        """Run a statement of SQL."""
        return self.spark.sql(text)

    def change(self, change: Change) -> None:
        """Change a table."""
        self.sql(change_sql(change, self.target(change.table), self.columns)).collect()

    def run(self, statement: Statement) -> Row:
        """Run any statement; return the row of a query, or an empty row."""
        if isinstance(statement, (Count, Maxima)):
            text = read_sql(statement, self.target(statement.table), self.columns)
            return tuple(self.sql(text).collect()[0])
        if isinstance(statement, Compact):
            self.compact(statement.table)
        elif isinstance(statement, Cluster):
            self.cluster(statement.table, statement.columns)
        else:
            self.change(statement)
        return ()

    def checksum(self, table: str) -> Row:
        """Return the number of rows and a hash of the rows."""
        return tuple(self.sql(checksum_sql(self.target(table), self.columns)).collect()[0])

    def declared(self) -> str:
        """Return names and types of the columns, in the form of CREATE TABLE."""
        return ", ".join(f"{column.name} {column.spark_type}" for column in self.columns)

    def fresh(self, table: str) -> Path:
        """Drop a table if it exists; return an empty directory for a new table of this name.

        Each call returns another directory, because engines cache information about a path.
        """
        self.sql(f"DROP TABLE IF EXISTS {self.target(table)}")
        if table in self._roots:
            shutil.rmtree(self._roots[table], ignore_errors=True)
        self._created += 1
        self._roots[table] = self.work / "tables" / f"{table}-{self._created}"
        self._roots[table].mkdir(parents=True)
        return self._roots[table]
