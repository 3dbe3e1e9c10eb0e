"""Types of SQLAlchemy and of Spark, and the conversion between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import types as sa
from sqlalchemy.engine.interfaces import Dialect


class SparkType(sa.UserDefinedType[Any]):
    """Type of Spark without a counterpart in SQLAlchemy, such as ``array<int>``.

    Attributes:
        text: the type in SQL.
    """

    cache_ok = True

    def __init__(self, text: str) -> None:
        self.text = text

    def get_col_spec(self, **_: Any) -> str:
        """Return the type in SQL."""
        return self.text

    def __repr__(self) -> str:
        return f"SparkType({self.text!r})"


class SparkBinary(sa.LargeBinary):
    """Bytes, which PySpark returns as ``bytearray``."""

    def result_processor(
        self,
        dialect: Dialect,  # noqa: ARG002
        coltype: object,  # noqa: ARG002
    ) -> Callable[[Any], bytes | None]:
        """Return a function that converts a value to ``bytes``."""
        return lambda value: None if value is None else bytes(value)


class SparkInterval(sa.Interval):
    """Duration; a column stores it as a time after 1970, because tables have no such type."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: Any) -> Callable[[Any], Any]:
        """Return a function that converts a column's value, or a difference of two times."""
        of_time = super().result_processor(dialect, coltype)
        return lambda value: value if isinstance(value, timedelta) else of_time(value)


class Duration(sa.TypeEngine[timedelta]):
    """Duration of Spark in an expression."""


COLSPECS: Mapping[type[sa.TypeEngine[Any]], type[sa.TypeEngine[Any]]] = {
    sa.LargeBinary: SparkBinary,
    sa.Interval: SparkInterval,
}

_SIMPLE: Mapping[str, Callable[[], sa.TypeEngine[Any]]] = {
    "tinyint": sa.SmallInteger,
    "smallint": sa.SMALLINT,
    "int": sa.INTEGER,
    "bigint": sa.BIGINT,
    "float": lambda: sa.FLOAT(precision=24),
    "double": sa.DOUBLE,
    "boolean": sa.BOOLEAN,
    "string": sa.TEXT,
    "binary": sa.LargeBinary,
    "date": sa.DATE,
    "timestamp": sa.TIMESTAMP,
    "timestamp_ntz": sa.DATETIME,
}
_WITH_ARGUMENTS = re.compile(r"(decimal|char|varchar)\((\d+)(?:,\s*(\d+))?\)")


def type_of(text: str) -> sa.TypeEngine[Any]:
    """Return SQLAlchemy's type for a type of Spark.

    >>> type_of("decimal(10,2)"), type_of("array<int>")
    (NUMERIC(precision=10, scale=2), SparkType('array<int>'))
    """
    made = _SIMPLE.get(text)
    if made is not None:
        return made()
    match = _WITH_ARGUMENTS.fullmatch(text)
    if match is None:
        return SparkType(text)
    kind, first, second = match.groups()
    if kind == "decimal":
        return sa.NUMERIC(int(first), int(second or 0))
    return sa.CHAR(int(first)) if kind == "char" else sa.VARCHAR(int(first))
