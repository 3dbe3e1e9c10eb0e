"""Suite ``clustering``: how much of store_sales conditions on two columns read.

It measures before and after ``OPTIMIZE … ZORDER BY``.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tqdm import tqdm

from tpcds_bench import product
from tpcds_bench.measure import WARM_UP, Sample, measured
from tpcds_bench.report import Section, environment
from tpcds_bench.tables import names, source_views

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.session import Stage

COLUMNS = ("ss_item_sk", "ss_customer_sk")
"""Columns that the table is clustered by."""
GOAL = 0.1
"""Largest share of the row groups that a condition on one of these columns may read."""
_TABLE, _SOURCE = "clustered_sales", "source_store_sales"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Cost of a condition on one column.

    Args:
        column: name of the column.
        rows: number of rows that match.
        share_before: share of the row groups that a condition on one value reads after loading.
        share_after: the same share after the rows were clustered.
        cpu_before: processor seconds of ``count(*)`` with the condition after loading.
        cpu_after: the same after the rows were clustered.
        optimize: cost of the statement that clusters the rows.
    """

    column: str
    rows: int
    share_before: float
    share_after: float
    cpu_before: float
    cpu_after: float
    optimize: Sample


class ClusteringError(RuntimeError):
    """Error of a clustering that changed rows or did not happen."""


def run(stage: Stage, *, rounds: int) -> tuple[Result, ...]:
    """Load the table, and measure a condition on each column before and after clustering.

    Args:
        stage: environment of the suite.
        rounds: rounds of each query after the warm-up rounds.

    Raises:
        ClusteringError: the table was not clustered, or its rows changed.
    """
    spark, data = stage.spark, stage.data
    source_views(spark, data, ["store_sales"])
    product.create_database(spark, "clustering")
    columns = data.columns["store_sales"]
    product.create_table(spark, _TABLE, columns)
    product.execute(
        spark,
        f"ALTER TABLE {_TABLE} SET TBLPROPERTIES ('acidsql.zorder.columns'='{','.join(COLUMNS)}')",
    )
    product.execute(spark, f"INSERT OVERWRITE {_TABLE} SELECT {names(columns)} FROM {_SOURCE}")
    before = _state(spark, rounds)
    optimize = measured(lambda: product.cluster(spark, _TABLE, COLUMNS))[1]
    after = _state(spark, rounds)
    if [rows for rows, _, _ in before] != [rows for rows, _, _ in after]:
        raise ClusteringError(f"counts were {before} and are {after}")
    return tuple(
        Result(
            column=column,
            rows=one[0],
            share_before=one[1],
            share_after=other[1],
            cpu_before=one[2],
            cpu_after=other[2],
            optimize=optimize,
        )
        for column, one, other in zip(COLUMNS, before, after, strict=True)
    )


def sections(data: Dataset, results: Sequence[Result]) -> tuple[Section, ...]:
    """Return the report on a run."""
    rows = [
        (
            result.column,
            f"{result.rows:,}",
            f"{result.share_before:.1%}",
            f"{result.share_after:.1%}",
            "yes" if result.share_after <= GOAL else "no",
            f"{result.cpu_before:.2f}",
            f"{result.cpu_after:.2f}",
        )
        for result in results
    ]
    cost = results[0].optimize
    text = (
        f"{environment(data.scale)} store_sales is clustered by {' and '.join(COLUMNS)}, "
        f"which took {cost.wall:.1f} s and {cost.cpu:.1f} s of processor time. A condition asks "
        "for one value of a column."
    )
    headers = (
        "column", "rows", "row groups read", "clustered", f"at most {GOAL:.0%}",
        "CPU of count(*)", "clustered",
    )  # fmt: skip
    return (Section(title="Clustering", text=text, headers=headers, rows=rows),)


def _state(spark: SparkSession, rounds: int) -> list[tuple[int, float, float]]:
    """Return row count, share of row groups and processor seconds of a condition per column."""
    shares = product.point_read_shares(spark, _TABLE)
    states = []
    for column in tqdm(COLUMNS, desc="conditions"):
        middle = spark.sql(f"SELECT percentile_approx({column}, 0.4) FROM {_SOURCE}")
        text = f"SELECT count(*) FROM {_TABLE} WHERE {column} = {middle.collect()[0][0]}"
        done = [measured(partial(_count, spark, text)) for _ in range(WARM_UP + rounds)]
        (rows,) = {count for count, _ in done}
        cpu = statistics.median(sample.cpu for _, sample in done[WARM_UP:])
        states.append((rows, shares[column], cpu))
    return states


def _count(spark: SparkSession, text: str) -> int:
    return int(product.query(spark, text).collect()[0][0])
