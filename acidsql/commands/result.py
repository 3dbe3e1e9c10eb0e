"""Results of commands as small DataFrames that need no Spark job."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from acidsql.schema.columns import literal


def counts(spark: SparkSession, **numbers: int) -> DataFrame:
    """One row of numbers of rows, under Delta Lake's names
    (``affected=3`` is ``num_affected_rows``).
    """
    # Not a projection of literals: it would be a program for Spark to compile, each time another.
    values = ", ".join(f"{n}L" for n in numbers.values())
    names = ", ".join(f"num_{name}_rows" for name in numbers)
    return spark.sql(f"SELECT * FROM VALUES ({values}) AS t({names})")


def nothing(spark: SparkSession) -> DataFrame:
    """The result of a statement that has none: no rows, no columns, as Spark's DDL has it."""
    return spark.sql("SELECT 1 WHERE false").select()


def table(
    spark: SparkSession, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[object]]
) -> DataFrame:
    """Rows of literals.

    Args:
        columns: name and SQL type of each.
    """
    casts = ", ".join(f"CAST(c{i} AS {t}) AS {name}" for i, (name, t) in enumerate(columns))
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    if not rows:
        nulls = ", ".join(f"NULL AS c{i}" for i in range(len(columns)))
        return spark.sql(f"SELECT {casts} FROM (SELECT {nulls}) WHERE false")
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    return spark.sql(f"SELECT {casts} FROM VALUES {values} AS t({names})")
