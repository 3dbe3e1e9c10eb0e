"""Value that a new column has in existing rows: its DEFAULT, which is evaluated once."""

from __future__ import annotations

from pyspark.sql.types import (
    BooleanType,
    CharType,
    DateType,
    NumericType,
    StringType,
    VarcharType,
)

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Column
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

INITIAL_TYPES = (NumericType, BooleanType, DateType, StringType, CharType, VarcharType)
"""Types for which a text means the same value in every time zone."""


def initial_value(session: AcidSession, column: Column) -> str | None:
    """Evaluate a column's DEFAULT now; return it as a partition value is written, None for NULL.

    Raises:
        AcidAnalysisError: INVALID_DEFAULT_VALUE.TOO_LONG.
        AnalysisException: Spark cannot compute the DEFAULT.
    """
    declared = bridge.parse_type(session.spark, column.type)
    is_padded = isinstance(declared, CharType | VarcharType)
    kind = "STRING" if is_padded else column.type
    text = f"SELECT CAST(CAST(({column.default}) AS {kind}) AS STRING) AS v"
    row = session.spark.sql(text).head()
    value: str | None = None if row is None else row.v
    if value is None or not isinstance(declared, CharType | VarcharType):
        return value
    if len(value.rstrip(" ")) > declared.length:
        raise AcidAnalysisError(
            "INVALID_DEFAULT_VALUE.TOO_LONG",
            f"the DEFAULT {column.default} of column {quote(column.name)} has more than "
            f"{declared.length} characters: give a shorter one",
            {"colName": quote(column.name), "defaultValue": str(column.default)},
        )
    value = value[: declared.length] if len(value) > declared.length else value
    return value.ljust(declared.length) if isinstance(declared, CharType) else value
