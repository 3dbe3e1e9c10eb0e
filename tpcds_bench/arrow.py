"""Suite ``arrow``: Arrow reads ACID tables without Spark, and the same rows from flat ORC.

A Spark session creates the table: rows of ``store_sales``, one in a hundred updated. The measured
reads need no Spark.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as pa_orc
from pyspark.sql import SparkSession

import acidsql
from tpcds_bench.cases import AnswerError
from tpcds_bench.report import Section

_METASTORE = "acidsql_metastore.sqlite"  # next to the warehouse
_TABLE = "arrow_sales"
_ROWS = 1_000_000
_FEW = ["id", "ss_item_sk", "ss_net_paid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Times of one read, in seconds of wall-clock time.

    Args:
        name: name of the read.
        acid: seconds of each round, from the ACID table.
        flat: seconds of each round, from flat ORC.
    """

    name: str
    acid: tuple[float, ...]
    flat: tuple[float, ...]

    @property
    def medians(self) -> tuple[float, float]:
        """Medians of both times."""
        return statistics.median(self.acid), statistics.median(self.flat)


def run(spark: SparkSession, work: Path, sales: Path, *, rounds: int) -> tuple[Result, ...]:
    """Read a whole table of a million rows, some of its columns, and one row.

    Args:
        spark: session with its warehouse in ``work``.
        work: directory of the warehouse.
        sales: Parquet files of ``store_sales``.
        rounds: rounds after one warm-up round.

    Raises:
        AnswerError: the rows of the ACID table and of the flat file differ.
    """
    flat = work / "flat.orc"
    wanted = pc.field("id") == _make(spark, sales, flat) // 2
    metastore = work / _METASTORE
    readings: Sequence[tuple[str, list[str] | None, pc.Expression | None]] = (
        ("all columns", None, None),
        ("three columns", _FEW, None),
        ("one row, all columns", None, wanted),
        ("one row, three columns", _FEW, wanted),
    )
    reads = [
        _measured(
            name,
            partial(acidsql.read_arrow, _TABLE, columns=names, filter=rows, metastore=metastore),
            partial(_read_flat, flat, names, rows),
            rounds,
        )
        for name, names, rows in readings
    ]
    options = f"filter=[('id', '=', 5)], metastore={str(metastore)!r}"
    begun = _measured(
        "one row, in a new process",
        lambda: _process(f"import acidsql; acidsql.read_arrow({_TABLE!r}, {options})"),
        lambda: _process(
            "import pyarrow.orc, pyarrow.compute as pc;"
            f"pyarrow.orc.read_table({str(flat)!r}).filter(pc.field('id') == 5)"
        ),
        rounds,
    )
    return (*reads, begun)


def sections(results: Sequence[Result]) -> tuple[Section, ...]:
    """Return the report on a run."""
    return (
        Section(
            title="Arrow without Spark",
            text=(
                f"Up to {_ROWS:,} rows of store_sales with an id, one in a hundred updated, "
                "compressed with zstd; beside pyarrow.orc on a flat file of the same rows. Medians "
                "of rounds, in seconds."
            ),
            headers=("read", "ACID", "flat ORC", "ratio"),
            rows=[
                (result.name, *result.medians, result.medians[0] / result.medians[1])
                for result in results
            ],
        ),
    )


def _make(spark: SparkSession, sales: Path, flat: Path) -> int:
    """Create the ACID table and a flat file with its rows; return the number of rows."""
    spark.read.parquet(str(sales)).limit(_ROWS).createOrReplaceTempView("sales_rows")
    number = "row_number() OVER (ORDER BY ss_ticket_number, ss_item_sk)"
    acidsql.sql(
        spark,
        f"CREATE TABLE {_TABLE} STORED AS ORC TBLPROPERTIES ('transactional' = 'true', "
        f"'orc.compress' = 'ZSTD') AS SELECT {number} AS id, * FROM sales_rows",
    )
    acidsql.sql(spark, f"UPDATE {_TABLE} SET ss_quantity = 0 WHERE id % 100 = 1")
    whole = acidsql.read_arrow(_TABLE, metastore=flat.parent / _METASTORE)
    pa_orc.write_table(whole, str(flat), compression="zstd")
    summed = "SELECT count(*), sum(ss_quantity), sum(ss_net_paid)"
    (total,) = acidsql.sql(spark, f"{summed} FROM {_TABLE}").collect()
    sums = (pc.sum(whole[name]).as_py() for name in ("ss_quantity", "ss_net_paid"))
    expected = (whole.num_rows, *sums)
    if tuple(total) != expected:
        raise AnswerError(f"Spark's count and sums are {tuple(total)}, Arrow's {expected}")
    return int(whole.num_rows)


def _read_flat(flat: Path, columns: list[str] | None, rows: pc.Expression | None) -> pa.Table:
    table = pa_orc.read_table(str(flat), columns=columns)
    return table if rows is None else table.filter(rows)


def _measured(
    name: str, acid: Callable[[], object], flat: Callable[[], object], rounds: int
) -> Result:
    """Run both actions in turns: one warm-up round, then ``rounds`` rounds."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(1 + rounds):
        for action, seconds in zip((acid, flat), times, strict=True):
            begun = time.perf_counter()
            action()
            seconds.append(time.perf_counter() - begun)
    return Result(name=name, acid=tuple(times[0][1:]), flat=tuple(times[1][1:]))


def _process(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)
