"""Parsing of a text with the settings of a session."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from acidsql.session.settings import makes_acid_tables
from acidsql.syntax import parse
from acidsql.syntax.statements import Statement

_MAY_CREATE_TABLE = re.compile(r"\b(CREATE|REPLACE)\b.*\bTABLE\b", re.IGNORECASE | re.DOTALL)


def parse_in_session(spark: SparkSession, text: str) -> Statement | None:
    """Parse one statement with ``acidsql.syntax.parse``.

    ``spark.acidsql.defaultTable`` decides whether a ``CREATE TABLE`` without a format creates an
    ACID table.

    Raises:
        AcidParseError: see ``acidsql.syntax.parse``.
        AcidAnalysisError: INVALID_CONF_VALUE.
    """
    statement = parse(text)
    if statement is None and _MAY_CREATE_TABLE.search(text) and makes_acid_tables(spark):
        return parse(text, acid_by_default=True)
    return statement
