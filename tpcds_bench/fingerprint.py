"""Fingerprints of tables: equal if two engines have the same rows, in any order.

Numbers are summed exactly as decimals. For text and dates, the first 60 bits of the MD5 of their
text are summed; both engines spell these texts alike. A pseudo-column ``(row)`` hashes whole rows,
so that a swap of values between rows is detected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tpcds_bench.data import Column

ROW = "(row)"
"""Name of the pseudo-column of whole rows."""

Dialect = Callable[[str], str]
"""Function from the SQL of a text to the SQL of its 60-bit hash as a number."""

Fingerprint = Mapping[tuple[str, str], Decimal | None]
"""Value by (column, measure); the row count is under :data:`ROW`."""

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT"})
_DECIMAL = re.compile(r"DECIMAL\(\d+,(\d+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Measure of a column that differs between two engines.

    Args:
        column: column name, or :data:`ROW`.
        measure: ``count``, ``sum`` or ``hash``.
        expected: DuckDB's value.
        actual: value of the table under test.
    """

    column: str
    measure: str
    expected: Decimal | None
    actual: Decimal | None


def spark_hash(text: str) -> str:
    """Return Spark's SQL for the hash of a text."""
    return f"CAST(conv(substr(md5({text}), 1, 15), 16, 10) AS DECIMAL(38,0))"


def duckdb_hash(text: str) -> str:
    """Return DuckDB's SQL for the hash of a text."""
    return f"CAST('0x' || substr(md5({text}), 1, 15) AS BIGINT)"


def fingerprint_sql(table: str, columns: Sequence[Column], hash_of: Dialect) -> str:
    """Return the query that computes the fingerprint of a table in one row.

    Raises:
        ValueError: a column has a type that the engines do not spell alike as text.
    """
    texts = [f"coalesce(CAST({column.name} AS STRING), '~')" for column in columns]
    measures = ["count(*)", f"sum({hash_of(f'''concat_ws('|', {', '.join(texts)})''')})"]
    for column in columns:
        measures += [f"count({column.name})", _sum_sql(column, hash_of)]
    return f"SELECT {', '.join(measures)} FROM {table}"


def fingerprint(columns: Sequence[Column], row: Sequence[Any]) -> Fingerprint:
    """Name the values of the row that the query of :func:`fingerprint_sql` returned."""
    names = [(ROW, "count"), (ROW, "hash")]
    for column in columns:
        names += [
            (column.name, "count"),
            (column.name, "sum" if _scale(column) is not None else "hash"),
        ]
    return {
        name: None if value is None else Decimal(value)
        for name, value in zip(names, row, strict=True)
    }


def differences(expected: Fingerprint, actual: Fingerprint) -> tuple[Difference, ...]:
    """Return the differences between two fingerprints of one table, in column order."""
    return tuple(
        Difference(column=column, measure=measure, expected=value, actual=actual[column, measure])
        for (column, measure), value in expected.items()
        if value != actual[column, measure]
    )


def _sum_sql(column: Column, hash_of: Dialect) -> str:
    scale = _scale(column)
    if scale is not None:
        return f"sum(CAST({column.name} AS DECIMAL(38,{scale})))"
    if column.type in {"VARCHAR", "DATE"}:
        return f"sum({hash_of(f'CAST({column.name} AS STRING)')})"
    raise ValueError(f"column {column.name!r} has type {column.type}, which has no fingerprint")


def _scale(column: Column) -> int | None:
    if column.type in _INTEGERS:
        return 0
    decimal = _DECIMAL.fullmatch(column.type)
    return int(decimal.group(1)) if decimal else None
