"""Translation of statements of other SQL dialects to Spark.

A translated statement returns the same rows in Spark as the original in its engine, where the text
determines them. A construct that would return different rows is refused, and the error shows its
place. sqlglot parses the texts; it is imported when a dialect is requested. Translation does not
call Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from acidsql.dialects.translation import Translation
from acidsql.errors import AcidAnalysisError
from acidsql.syntax.lexer import Lexis

_MODULES = {"hive": "acidsql.dialects.hive", "trino": "acidsql.dialects.trino"}
DIALECTS = ("spark", *sorted(_MODULES))
"""Names of the dialects; ``spark`` leaves a text unchanged."""

_LEXIS = {"hive": Lexis.HIVE, "spark": Lexis.SPARK, "trino": Lexis.TRINO}
# sqlglot does not know this dialect, and Impala was not compared with Spark.
_IMPALA = "Impala's dialect is not carried over"


def lexis_of(dialect: str) -> Lexis:
    """Return the lexical rules of a dialect, which determine where comments and strings end."""
    return _LEXIS[dialect.lower()]


def check_dialect(name: str) -> None:
    """Check that a dialect exists.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.DIALECT.
    """
    if name.lower() not in DIALECTS:
        problem = _IMPALA if name.lower() == "impala" else f"there is no dialect {name!r}"
        raise AcidAnalysisError(
            "INVALID_PARAMETER_VALUE.DIALECT", f"{problem}: use one of {', '.join(DIALECTS)}"
        )


def translate(text: str, dialect: str, setting: Callable[[str], str | None]) -> Translation:
    """Translate a statement of a dialect to Spark.

    Args:
        text: one statement.
        dialect: one of ``DIALECTS``, in any case.
        setting: function that looks up a setting of the session, because the meaning of a statement
            can depend on settings.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.DIALECT; FAILED_TO_PARSE_TOO_COMPLEX, the
            statement is nested too deeply.
        AcidDialectError: a construct has no counterpart in Spark.
        AcidParseError: the text is not a statement of the dialect.

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
