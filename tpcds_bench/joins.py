"""Suite ``joins``: the joins in Spark's plans of the 99 TPC-DS queries."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tqdm import tqdm

from tpcds_bench import product, queries
from tpcds_bench.data import TABLES, duckdb_with
from tpcds_bench.report import Section, environment
from tpcds_bench.tables import databases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.session import Stage

MOST_DIFFERENT = 3
"""Number of queries that may have other joins over ACID tables."""

_OPERATORS = (
    "BroadcastHashJoin",
    "SortMergeJoin",
    "ShuffledHashJoin",
    "BroadcastNestedLoopJoin",
    "CartesianProduct",
)
_JOIN = re.compile(rf"^[ :+|-]*(?:\* ?\(\d+\) )?({'|'.join(_OPERATORS)})\b(.*)$", re.MULTILINE)
_EXPRESSION_ID = re.compile(r"#\d+L?")
# A column of an ACID table, in a join where Spark has inlined the column's computation.
_OF_ACID_TABLE = re.compile(r"known(?:not)?null(?:able)?\((?:_extract_)?([^()]+)\)")
_TYPE = re.compile(
    r"\b(Inner|Cross|LeftOuter|RightOuter|FullOuter|LeftSemi|LeftAnti|ExistenceJoin)\b"
)
_BUILD = re.compile(r"\bBuild(Left|Right)\b")
_COST_BASED = {
    "spark.sql.cbo.enabled": "true",
    "spark.sql.cbo.joinReorder.enabled": "true",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Join of a physical plan.

    Args:
        operator: Spark's operator, such as ``SortMergeJoin``.
        type: type of the join, such as ``Inner``.
        build: side that is broadcast or hashed, or an empty text.
        keys: text of the keys, without expression ids.
    """

    operator: str
    type: str
    build: str
    keys: str

    def __str__(self) -> str:
        build = f", build {self.build.lower()}" if self.build else ""
        return f"{self.operator} {self.type}{build} {self.keys}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryJoins:
    """Joins of a query, in the order of the plan's text.

    Args:
        query: number of the query.
        acid: joins over ACID tables.
        flat: joins over analysed flat ORC.
    """

    query: int
    acid: tuple[Join, ...]
    flat: tuple[Join, ...]

    @property
    def differs(self) -> bool:
        """Return whether operators, types, sides or keys differ."""
        return self.acid != self.flat


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Joins of all queries under the same settings.

    Args:
        cost_based: whether Spark's cost-based optimiser was on.
        found: joins of each query.
    """

    cost_based: bool
    found: tuple[QueryJoins, ...]

    @property
    def different(self) -> tuple[QueryJoins, ...]:
        """Return the queries whose joins differ."""
        return tuple(joins for joins in self.found if joins.differs)


def passed(comparisons: Sequence[Comparison]) -> bool:
    """Return whether few enough queries have other joins without the cost-based optimiser."""
    return all(len(c.different) <= MOST_DIFFERENT for c in comparisons if not c.cost_based)


def joins_of(plan: str) -> tuple[Join, ...]:
    """Parse the joins in the text of a physical plan, as EXPLAIN prints it."""
    return tuple(_joins(plan))


def _joins(plan: str) -> Iterator[Join]:
    for operator, rest in _JOIN.findall(plan):
        kind, build = _TYPE.search(rest), _BUILD.search(rest)
        keys = rest[: kind.start()] if kind else ""
        yield Join(
            operator=operator,
            type=kind[1] if kind else "",
            build=build[1] if build else "",
            keys=_OF_ACID_TABLE.sub(r"\1", _EXPRESSION_ID.sub("", keys)).strip(" ,"),
        )


def run(stage: Stage, *, numbers: Iterable[int], threshold: str) -> tuple[Comparison, ...]:
    """Load and analyse all tables, and plan the queries with the given numbers over both.

    Args:
        threshold: threshold for broadcasts. To get the plans of a larger scale factor, reduce the
            threshold by the ratio of the scale factors.
    """
    spark = stage.spark
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)
    databases(spark, stage.data, TABLES, acid=queries.ACID_DATABASE, flat=queries.FLAT_DATABASE)
    queries.load_flat(spark)
    queries.load_acid(spark, stage.data, duckdb_with(stage.data, TABLES))
    for table in tqdm(TABLES, unit="table", desc="ANALYZE"):
        analyze = f"ANALYZE TABLE {{}}.{table} COMPUTE STATISTICS FOR ALL COLUMNS"
        spark.sql(analyze.format(queries.FLAT_DATABASE))
        product.execute(spark, analyze.format(queries.ACID_DATABASE))
    return compare(spark, stage.data, tuple(numbers))


def compare(
    spark: SparkSession, data: Dataset, numbers: Sequence[int]
) -> tuple[Comparison, Comparison]:
    """Plan queries over both databases, without and with the cost-based optimiser."""
    without = _compared(spark, data, numbers, cost_based=False)
    for key, value in _COST_BASED.items():
        spark.conf.set(key, value)
    try:
        return without, _compared(spark, data, numbers, cost_based=True)
    finally:
        for key in _COST_BASED:
            spark.conf.unset(key)


def _compared(
    spark: SparkSession, data: Dataset, numbers: Sequence[int], *, cost_based: bool
) -> Comparison:
    description = "cost-based optimiser" if cost_based else "default"
    joins = tuple(
        QueryJoins(
            query=number,
            acid=_planned(spark, queries.ACID_DATABASE, data.queries[number]),
            flat=_planned(spark, queries.FLAT_DATABASE, data.queries[number]),
        )
        for number in tqdm(numbers, unit="query", desc=description)
    )
    return Comparison(cost_based=cost_based, found=joins)


def _planned(spark: SparkSession, database: str, text: str) -> tuple[Join, ...]:
    product.execute(spark, f"USE {database}")
    plan = product.query(spark, f"EXPLAIN {text}").collect()[0][0]
    return joins_of(plan)


def sections(data: Dataset, comparisons: Sequence[Comparison]) -> tuple[Section, ...]:
    """Return the report on a run: where joins differ, then the joins of every query."""
    return tuple(
        section
        for comparison in comparisons
        for section in (_differences(data, comparison), _all_joins(comparison))
    )


def _title(comparison: Comparison) -> str:
    return "with the cost-based optimiser" if comparison.cost_based else "by default"


def _differences(data: Dataset, comparison: Comparison) -> Section:
    different = comparison.different
    return Section(
        title=f"Joins {_title(comparison)}",
        text=(
            f"{environment(data.scale)} A tenth of the ACID tables' rows was updated; all tables"
            f" are analysed. {len(different)} of {len(comparison.found)} queries have other joins"
            " over ACID tables than over flat ORC."
        ),
        headers=("query", "ACID", "flat ORC"),
        rows=[
            (
                joins.query,
                _lines(_without(joins.acid, joins.flat)),
                _lines(_without(joins.flat, joins.acid)),
            )
            for joins in different
        ],
    )


def _without(joins: Sequence[Join], others: Sequence[Join]) -> list[Join]:
    """Return the joins that ``others`` lacks; all joins if only the order differs."""
    lacking = list((Counter(joins) - Counter(others)).elements())
    return list(joins) if not lacking and Counter(joins) == Counter(others) else lacking


def _all_joins(comparison: Comparison) -> Section:
    return Section(
        title=f"All joins {_title(comparison)}",
        text="From the top of the plan.",
        headers=("query", "differs", "ACID", "flat ORC"),
        rows=[
            (joins.query, "yes" if joins.differs else "", _lines(joins.acid), _lines(joins.flat))
            for joins in comparison.found
        ],
    )


def _lines(joins: Iterable[Join]) -> str:
    return "; ".join(map(str, joins))
