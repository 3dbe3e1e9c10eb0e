"""Results of commands, as small DataFrames that need no Spark job."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from acidsql.session.metrics import current
from acidsql.syntax.literals import literal


def counts(spark: SparkSession, **numbers: int) -> DataFrame:
    """Return one row with numbers of rows, named as in Delta Lake.

    ``affected=3`` becomes the column ``num_affected_rows``.
    """
    # Not a projection of literals, for which Spark would compile new code each time.
    values = ", ".join(f"{n}L" for n in numbers.values())
    names = ", ".join(f"num_{name}_rows" for name in numbers)
    frame = spark.sql(f"SELECT * FROM VALUES ({values}) AS t({names})")
    recording = current()
    recording.rows.update({word: n for word, n in numbers.items() if word != "affected"})
    recording.result = frame
    return frame


def nothing(spark: SparkSession) -> DataFrame:
    """Return the result of a statement that has none: no rows and no columns, as of Spark's DDL."""
    return spark.sql("SELECT 1 WHERE false").select()


def table(
    spark: SparkSession, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[object]]
) -> DataFrame:
    """Return a DataFrame of literals.

    Args:
        columns: name and SQL type of each column.
    """
    casts = ", ".join(f"CAST(c{i} AS {t}) AS {name}" for i, (name, t) in enumerate(columns))
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    if not rows:
        nulls = ", ".join(f"NULL AS c{i}" for i in range(len(columns)))
        return spark.sql(f"SELECT {casts} FROM (SELECT {nulls}) WHERE false")
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    return spark.sql(f"SELECT {casts} FROM VALUES {values} AS t({names})")
