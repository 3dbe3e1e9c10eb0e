"""Results of commands, as small DataFrames that need no Spark job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from pyspark.sql import DataFrame, SparkSession

from acidsql.metastore.moments import microseconds
from acidsql.session.metrics import current
from acidsql.syntax.values import literal

# A result with more values is sent as data, not written as literals.
_MOST_LITERALS = 2_000


def counts(spark: SparkSession, **numbers: int) -> DataFrame:
    """Return one row with numbers of rows, named as in Delta Lake.

    ``affected=3`` becomes the column ``num_affected_rows``.
    """
    # For a projection of literals, Spark would compile new code each time.
    values = ", ".join(f"{n}L" for n in numbers.values())
    names = ", ".join(f"num_{name}_rows" for name in numbers)
    frame = spark.sql(f"SELECT * FROM VALUES ({values}) AS t({names})")
    recording = current()
    recording.rows.update({word: n for word, n in numbers.items() if word != "affected"})
    recording.result = frame
    return frame


def nothing(spark: SparkSession) -> DataFrame:
    """Return an empty result without rows or columns, as Spark's DDL statements do."""
    return spark.sql("SELECT 1 WHERE false").select()


def table(
    spark: SparkSession, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[object]]
) -> DataFrame:
    """Return a DataFrame of rows; if there are few values, it needs no Spark job.

    Args:
        spark: the session.
        columns: name and SQL type of each column; a TIMESTAMP is given in seconds since 1970.
        rows: values; a tuple becomes an array of texts, and a mapping becomes a map of texts.
    """
    casts = [f"{_cast(f'c{i}', t)} AS {name}" for i, (name, t) in enumerate(columns)]
    types = [sql_type for _, sql_type in columns]
    if len(rows) * len(columns) > _MOST_LITERALS:
        return _sent(spark, types, rows).selectExpr(*casts)
    select = f"SELECT {', '.join(casts)} FROM"
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    if not rows:
        nulls = ", ".join(f"NULL AS c{i}" for i in range(len(columns)))
        return spark.sql(f"{select} (SELECT {nulls}) WHERE false")
    written = [[_value(v, t) for v, t in zip(row, types, strict=True)] for row in rows]
    values = ", ".join(f"({', '.join(row)})" for row in written)
    return spark.sql(f"{select} VALUES {values} AS t({names})")


def _sent(spark: SparkSession, types: Sequence[str], rows: Sequence[Sequence[object]]) -> DataFrame:
    """Return a DataFrame of many rows; as SQL text, Spark would need seconds to parse them."""
    raw = ["BIGINT" if t == "TIMESTAMP" else t for t in types]
    schema = ", ".join(f"c{i} {t}" for i, t in enumerate(raw))
    sent = [tuple(_plain(v, t) for v, t in zip(row, types, strict=True)) for row in rows]
    return spark.createDataFrame(sent, schema)


def _plain(value: object, sql_type: str) -> object:
    if isinstance(value, int | float) and sql_type == "TIMESTAMP":
        return microseconds(value)
    if isinstance(value, tuple):
        return list(value)
    return value


def _cast(value: str, sql_type: str) -> str:
    if sql_type == "TIMESTAMP":
        return f"timestamp_micros({value})"
    return f"CAST({value} AS {sql_type})"


def _value(value: object, sql_type: str) -> str:
    """Return the SQL of a value; ``_cast`` converts it to ``sql_type``."""
    if value is not None and sql_type == "TIMESTAMP":
        return f"{_plain(value, sql_type)}L"
    if isinstance(value, Mapping):
        return literal({str(key): str(text) for key, text in value.items()})
    if isinstance(value, tuple):
        return literal([str(text) for text in value])
    return literal(value if value is None or isinstance(value, int | Decimal) else str(value))
