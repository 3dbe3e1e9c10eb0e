"""Statements of other dialects of SQL as statements of Spark.

A translated statement gives the rows that its own engine gives, where the text shows what these
are. What would give others is refused, with its place. sqlglot reads the texts, and is imported
when a dialect is requested. No call goes to Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from acidsql.dialects.translation import Translation
from acidsql.errors import AcidAnalysisError
from acidsql.syntax.lexer import Lexis

_MODULES = {"hive": "acidsql.dialects.hive", "trino": "acidsql.dialects.trino"}
DIALECTS = ("spark", *sorted(_MODULES))
"""The names of the dialects; ``spark`` leaves a text as it is."""

_LEXIS = {"hive": Lexis.HIVE, "spark": Lexis.SPARK, "trino": Lexis.TRINO}
# sqlglot knows no such dialect, and what Impala does was not compared.
_IMPALA = "Impala's dialect is not carried over"


def lexis_of(dialect: str) -> Lexis:
    """Return the rules by which the comments and strings of a dialect end."""
    return _LEXIS[dialect.lower()]


def check_dialect(name: str) -> None:
    """Refuse what is no name of a dialect.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.DIALECT.
    """
    if name.lower() not in DIALECTS:
        problem = _IMPALA if name.lower() == "impala" else f"there is no dialect {name!r}"
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE.DIALECT", f"{problem}: use one of {', '.join(DIALECTS)}"
        )


def translate(text: str, dialect: str, setting: Callable[[str], str | None]) -> Translation:
    """Return the statement of Spark that does what a statement of a dialect does.

    Args:
        text: one statement.
        dialect: one of ``DIALECTS``, in any case.
        setting: looks up a setting of the session, which the dialect may go by.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.DIALECT; FAILED_TO_PARSE_TOO_COMPLEX, it is
            nested too deeply.
        AcidDialectError: something in the text has no counterpart in Spark.
        AcidParseError: the text is no statement of the dialect.

    >>> translate("SELECT stddev(x) FROM t", "hive", {}.get).text
    'SELECT stddev_pop(x) FROM t'
    """
    check_dialect(dialect)
    if dialect.lower() == "spark":
        return Translation(text=text)
    module = import_module(_MODULES[dialect.lower()])
    try:
        translation: Translation = module.translated(text, setting)
    except RecursionError:
        raise AcidAnalysisError(
            "FAILED_TO_PARSE_TOO_COMPLEX",
            "the statement is nested too deeply to be translated: divide it into several ones, or "
            "write it in Spark's dialect",
        ) from None
    return translation
