"""Tables of Hive, as its metastore describes them, and their adoption by acidsql."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

import acidsql
from acidsql.bridge import parse_type
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.model import Column, Partition
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

# What a metastore computes or notes by itself.
_NOTES = frozenset(
    {
        "COLUMN_STATS_ACCURATE",
        "last_modified_by",
        "last_modified_time",
        "numFiles",
        "numFilesErasureCoded",
        "numRows",
        "rawDataSize",
        "totalSize",
        "transient_lastDdlTime",
    }
)
# Name and type.
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HivePartition:
    """Partition: values, directory (in a golden table relative to the table's), columns."""

    values: tuple[str, ...]
    location: str
    columns: tuple[Pair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveTable:
    """Table of Hive with a snapshot of one moment; ``file_format`` is the word of STORED AS."""

    name: str
    columns: tuple[Pair, ...]
    partition_columns: tuple[Pair, ...]
    bucket_columns: tuple[str, ...]
    buckets: int
    properties: Mapping[str, str]
    file_format: str
    valid_write_ids: str
    valid_txns: str
    partitions: tuple[HivePartition, ...]

    @property
    def insert_only(self) -> bool:
        """Return whether its rows have no row ids."""
        return self.properties["transactional_properties"] == "insert_only"

    @property
    def all_committed(self) -> bool:
        """Return whether all write ids are committed.

        Adoption, which takes every write id in a directory's name for committed, then gives this
        snapshot.
        """
        write_ids = ValidWriteIdList.from_string(self.valid_write_ids)
        return not write_ids.open and not write_ids.aborted

    def types(self, spark: SparkSession) -> list[DataType]:
        """Return the types of all columns, partition columns last."""
        return [parse_type(spark, kind) for _, kind in (*self.columns, *self.partition_columns)]


def hive_table(name: str, described: Mapping[str, Any], file_format: str) -> HiveTable:
    """Convert a description: the result of ``MetastoreCalls.java`` and the valid lists."""
    return HiveTable(
        name=name,
        columns=_pairs(described["columns"]),
        partition_columns=_pairs(described["partition_columns"]),
        bucket_columns=tuple(described["bucket_columns"]),
        buckets=described["buckets"],
        properties={k: v for k, v in described["parameters"].items() if k not in _NOTES},
        file_format=file_format,
        valid_write_ids=described["valid_write_ids"],
        valid_txns=described["valid_txns"],
        partitions=tuple(
            HivePartition(
                values=tuple(p["values"]), location=p["location"], columns=_pairs(p["columns"])
            )
            for p in described["partitions"]
        ),
    )


def _pairs(columns: list[list[str]]) -> tuple[Pair, ...]:
    return tuple((name, kind) for name, kind in columns)


def create(spark: SparkSession, table: HiveTable, root: Path) -> None:
    """Create ``default.t`` over a directory."""
    columns = ", ".join(f"{quote(name)} {kind}" for name, kind in table.columns)
    partitioned = ", ".join(f"{quote(name)} {kind}" for name, kind in table.partition_columns)
    buckets = ", ".join(map(quote, table.bucket_columns))
    properties = ", ".join(f"'{k}'='{v}'" for k, v in table.properties.items())
    acidsql.sql(
        spark,
        f"CREATE TABLE t ({columns})"
        + (f" PARTITIONED BY ({partitioned})" if partitioned else "")
        + (f" CLUSTERED BY ({buckets}) INTO {table.buckets} BUCKETS" if buckets else "")
        + f" STORED AS {table.file_format} LOCATION '{root}' TBLPROPERTIES ({properties})",
    )


def adopt(spark: SparkSession, table: HiveTable, root: Path) -> None:
    """Create ``default.t`` over a copy of the table's directory, and compare its partitions."""
    create(spark, table, root)
    metastore = AcidSession.of(spark).metastore
    found = {p.values: p for p in metastore.partitions("default", "t")}
    assert found.keys() == {p.values for p in table.partitions}
    # ALTER TABLE … ADD COLUMNS changes the table and leaves its partitions: no directory shows it.
    metastore.alter_partitions(
        "default",
        "t",
        [
            Partition(
                values=p.values,
                location=found[p.values].location,
                columns=tuple(Column(name=name, type=kind) for name, kind in p.columns),
            )
            for p in table.partitions
            if p.columns != table.columns
        ],
    )
