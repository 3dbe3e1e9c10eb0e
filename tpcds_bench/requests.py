"""Number of requests of statements on an object store, against flat ORC in the same bucket.

The times on an emulated store do not apply to a real store, but the number of requests does. S3A
counts the requests of a JVM, including those of Spark's tasks in local mode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse
from uuid import uuid4

import acidsql
from tpcds_bench.report import Section

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TOTAL = "store_io_request"
# S3A's counters for each kind of request.
_COUNTERS = {
    "LIST": ("object_list_request", "object_continue_list_request"),
    "HEAD": ("action_http_head_request",),
    "GET": ("action_http_get_request",),
    "PUT": ("object_put_request",),
    "DELETE": ("object_delete_request", "object_bulk_delete_request"),
}
KINDS = (*_COUNTERS, "others")
_ROWS, _PARTS = 200_000, 10


class NotCountedError(Exception):
    """Error of a location on a file system that does not count requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Statement on a partitioned table, ``{t}``, and its equivalent on flat ORC.

    Attributes:
        acid: statement for acidsql.
        flat: statement for Spark, if it differs; ``{new}`` is the place for a copy.
    """

    name: str
    acid: str
    flat: str = ""


_COPY = "INSERT OVERWRITE DIRECTORY '{new}' USING orc SELECT"
STATEMENTS = (
    Statement(
        name="INSERT of all rows",
        acid=f"INSERT INTO {{t}} SELECT id, 'a', id % {_PARTS} FROM range({_ROWS})",
    ),
    Statement(
        name="append of 100 rows to a partition",
        acid=f"INSERT INTO {{t}} PARTITION (p = 1) SELECT id + {_ROWS}, 'b' FROM range(100)",
    ),
    Statement(
        name="UPDATE of one row",
        acid="UPDATE {t} SET v = 'c' WHERE id = 55 AND p = 5",
        flat=f"{_COPY} id, IF(id = 55, 'c', v) AS v FROM {{t}} WHERE p = 5",
    ),
    Statement(
        name="DELETE of 1 % of the rows",
        acid="DELETE FROM {t} WHERE id % 100 = 7",
        flat=f"{_COPY} * FROM {{t}} WHERE id % 100 <> 7",
    ),
    Statement(name="count and sum of all rows", acid="SELECT count(*), sum(id) FROM {t}"),
    Statement(name="one row of one partition", acid="SELECT v FROM {t} WHERE p = 3 AND id = 33"),
    Statement(
        name="major compaction of a partition",
        acid="ALTER TABLE {t} PARTITION (p = 1) COMPACT 'major' AND WAIT",
        flat=f"{_COPY} /*+ COALESCE(1) */ id, v FROM {{t}} WHERE p = 1",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Requests of a statement, by kind: on an ACID table, and on flat ORC."""

    statement: str
    acid: Mapping[str, int]
    flat: Mapping[str, int]

    @property
    def ratio(self) -> float:
        """Number of requests on the ACID table, divided by the number on flat ORC."""
        return sum(self.acid.values()) / max(sum(self.flat.values()), 1)


def run(spark: SparkSession, location: str) -> list[Cost]:
    """Create a table of each kind, and count the requests of each statement.

    Args:
        spark: session that can read and write the location, with local tasks.
        location: directory in a bucket; directories created below it are deleted.

    Raises:
        NotCountedError: the location is not on S3A.
    """
    place = f"{location.rstrip('/')}/requests-{uuid4().hex}"
    counted = _Counted(spark, place)
    columns = "(id BIGINT, v STRING, p INT) USING orc PARTITIONED BY (p)"
    spark.sql(f"CREATE TABLE requests_flat {columns} LOCATION '{place}/flat'")
    acidsql.sql(
        spark,
        "CREATE TABLE requests_acid (id BIGINT, v STRING) PARTITIONED BY (p INT) STORED AS ORC "
        f"LOCATION '{place}/acid' TBLPROPERTIES ('transactional' = 'true')",
    )
    try:
        return list(_costs(spark, counted, f"{place}/new"))
    finally:
        acidsql.release(spark)
        acidsql.sql(spark, "DROP TABLE requests_acid")
        spark.sql("DROP TABLE requests_flat")
        counted.delete(place)


def _costs(spark: SparkSession, counted: _Counted, new: str) -> Iterator[Cost]:
    for number, statement in enumerate(STATEMENTS):
        with_acid = counted.now()
        acidsql.sql(spark, statement.acid.format(t="requests_acid")).collect()
        acidsql.release(spark)
        with_flat = counted.now()
        text = statement.flat or statement.acid
        spark.sql(text.format(t="requests_flat", new=f"{new}/{number}")).collect()
        yield Cost(
            statement=statement.name,
            acid=difference(with_acid, with_flat),
            flat=difference(with_flat, counted.now()),
        )


def difference(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return the number of requests of each kind between two readings of S3A's counters."""
    made = Counter({name: after[name] - before.get(name, 0) for name in after})
    kinds = {kind: sum(made[name] for name in names) for kind, names in _COUNTERS.items()}
    others = max(made[_TOTAL] - sum(kinds.values()), 0)
    return {**kinds, "others": others}


class _Counted:
    """S3A's counters of one bucket."""

    def __init__(self, spark: SparkSession, place: str) -> None:
        jvm: Any = spark._jvm
        self._paths = jvm.org.apache.hadoop.fs.Path
        conf = spark._jsc.hadoopConfiguration()
        self._files = self._paths(place).getFileSystem(conf)
        if self._files.getClass().getSimpleName() != "S3AFileSystem":
            raise NotCountedError(
                f"requests to {urlparse(place).scheme} are not counted: give a location on s3a"
            )

    def now(self) -> dict[str, int]:
        """Return all counters."""
        counters = self._files.getIOStatistics().counters()
        return {str(name): int(counters.get(name)) for name in counters.keySet().toArray()}

    def delete(self, place: str) -> None:
        """Delete a directory."""
        self._files.delete(self._paths(place), True)


def sections(costs: Sequence[Cost]) -> list[Section]:
    """Return the report."""
    kinds = ", ".join(KINDS)
    rows = [
        (
            cost.statement,
            " + ".join(str(cost.acid[kind]) for kind in KINDS),
            sum(cost.acid.values()),
            " + ".join(str(cost.flat[kind]) for kind in KINDS),
            sum(cost.flat.values()),
            round(cost.ratio, 2),
        )
        for cost in costs
    ]
    return [
        Section(
            title="Requests",
            text=f"Of a table of {_ROWS:,} rows in {_PARTS} partitions. The sums are of {kinds}. "
            "Flat ORC is changed by rewriting what a change touches.",
            headers=("statement", "acidsql", "all", "flat ORC", "all", "ratio"),
            rows=rows,
        )
    ]
