"""Errors of acidsql.

Each error has a condition name as in Spark (``getCondition``), an SQLSTATE, and a message that says
what to do next. The second column lists additional base classes from PySpark and Python::

    AcidSqlError                PySparkException                     root of all
    ├── AcidTextError           -                                    error at a place in the text
    │   └── AcidParseError      ParseException, ValueError           the text is not a statement
    ├── AcidAnalysisError       AnalysisException, ValueError        the statement cannot run
    │   ├── AcidDialectError    AcidTextError                        Spark has no such thing
    │   └── AcidLookupError     LookupError                          no such table or partition
    ├── ConcurrencyError        RuntimeError                         another transaction won
    │   ├── WriteConflictError  -                                    it changed the same rows
    │   ├── TableReplacedError  -                                    it replaced the table
    │   └── LockTimeoutError    -                                    it kept its lock for too long
    ├── TransactionStateError   RuntimeError                         the transaction is closed
    ├── CardinalityError        SparkRuntimeException, RuntimeError  MERGE matched a row twice
    ├── WriteJobError           SparkRuntimeException, RuntimeError  Spark's job failed
    ├── FormatError             RuntimeError                         a file or name is not Hive's
    └── MetastoreError          RuntimeError                         the metastore cannot be used

Errors of users' expressions keep Spark's classes and conditions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from pyspark.errors import (
    AnalysisException,
    ParseException,
    PySparkException,
    SparkRuntimeException,
)

from acidsql.sqlstates import sqlstate

try:
    from pyspark.errors import QueryContext, QueryContextType
except ImportError:  # PySpark 3.5 has no query contexts
    QueryContext, QueryContextType = object, None


# Address of the documentation, the same as in ``pyproject.toml``.
_PAGES = "https://github.com/acidsql/acidsql/blob/main/docs"


class AcidSqlError(PySparkException):  # type: ignore[misc] # PySpark is not checked
    """Root of all errors of acidsql.

    Args:
        condition: upper-case condition name, as in Spark's error classes.
        message: one sentence that says what failed and what to do next.
        parameters: the values in the message by name; a condition of Spark uses Spark's names.
    """

    def __init__(
        self, condition: str, message: str, parameters: Mapping[str, str] | None = None
    ) -> None:
        # All releases of PySpark accept a message, but no other common argument. The getters here
        # return the other values.
        super().__init__(message)
        self.args = (condition, message)
        self.condition = condition
        self.message = message
        self.parameters = dict(parameters or {})

    def getCondition(self) -> str:  # noqa: N802 - PySpark's spelling, as below
        """Return the condition name."""
        return self.condition

    def getErrorClass(self) -> str:  # noqa: N802
        """Return the condition name under the name that PySpark 3.5 uses."""
        return self.condition

    def getSqlState(self) -> str | None:  # noqa: N802
        """Return the five characters of the condition's SQLSTATE."""
        return sqlstate(self.condition)

    def getMessageParameters(self) -> dict[str, str]:  # noqa: N802
        """Return the values in the message by name; empty if the condition names none."""
        return dict(self.parameters)

    def getMessage(self) -> str:  # noqa: N802
        """Return the condition name in brackets, and the message."""
        return f"[{self.condition}] {self.message}"

    def getQueryContext(self) -> list[Any]:  # noqa: N802
        """Return the places in the statement that caused the error, if there are any."""
        return []

    def __str__(self) -> str:
        return self.getMessage()

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle only these arguments: PySpark's part of an error contains all its conditions.
        return type(self), (self.condition, self.message, self.parameters)


class AcidTextError(AcidSqlError):
    """Error at a place in the text of a statement.

    Attributes:
        line: 1-based line of the error.
        column: 1-based column of the error.
        context: the line, with a caret below the error.
        offset: 0-based position of the error in the statement.
        fragment: the word at this position; empty at the end of the text.
    """

    _CONDITION: ClassVar[str] = "PARSE_SYNTAX_ERROR"

    def __init__(
        self,
        message: str,
        *,
        line: int,
        column: int,
        context: str,
        offset: int = 0,
        fragment: str = "",
    ) -> None:
        super().__init__(self._CONDITION, f"{message} (line {line}, column {column})\n{context}")
        self.line = line
        self.column = column
        self.context = context
        self.offset = offset
        self.fragment = fragment
        self._sentence = message

    def getQueryContext(self) -> list[Any]:  # noqa: N802
        """Return the place of the error; PySpark 3.5 has no query contexts."""
        return [] if QueryContextType is None else [_Place(self)]

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("line", "column", "context", "offset", "fragment")
        place = {name: getattr(self, name) for name in names}
        return partial(type(self), **place), (self._sentence,)


class _Place(QueryContext):  # type: ignore[misc]
    """Place of an error in a statement, in the form of PySpark 4."""

    def __init__(self, error: AcidTextError) -> None:
        self._error = error

    def contextType(self) -> Any:  # noqa: N802
        return QueryContextType.SQL

    def objectType(self) -> str:  # noqa: N802
        return ""

    def objectName(self) -> str:  # noqa: N802
        return ""

    def startIndex(self) -> int:  # noqa: N802
        return self._error.offset

    def stopIndex(self) -> int:  # noqa: N802
        return self._error.offset + max(len(self._error.fragment), 1) - 1

    def fragment(self) -> str:
        return self._error.fragment

    def callSite(self) -> str:  # noqa: N802
        return ""

    def summary(self) -> str:
        error = self._error
        return f"== SQL (line {error.line}, position {error.column}) ==\n{error.context}\n"


class AcidParseError(AcidTextError, ParseException, ValueError):  # type: ignore[misc]
    """Error of a text that is not a statement, at the first unexpected word."""


class AcidAnalysisError(AcidSqlError, AnalysisException, ValueError):  # type: ignore[misc]
    """Error of a statement that was parsed but cannot be executed."""


class AcidDialectError(AcidAnalysisError, AcidTextError):
    """Error of a text of another dialect that contains something Spark cannot express."""

    _CONDITION = "UNSUPPORTED_DIALECT_FEATURE"


class AcidLookupError(AcidAnalysisError, LookupError):
    """Error of a table, partition or database that does not exist."""


class ConcurrencyError(AcidSqlError, RuntimeError):
    """Failure because of another transaction."""


class WriteConflictError(ConcurrencyError):
    """Conflict of two transactions that changed the same rows; the first to commit wins."""


class TableReplacedError(ConcurrencyError):
    """Replacement of a table after a statement looked it up or took its snapshot."""


class LockTimeoutError(ConcurrencyError):
    """Failure to get a lock within the time allowed."""


class TransactionStateError(AcidSqlError, RuntimeError):
    """Error of a transaction that was aborted or is unknown."""


class CardinalityError(AcidSqlError, SparkRuntimeException, RuntimeError):  # type: ignore[misc]
    """Match of one target row with more than one source row in a MERGE."""


class WriteJobError(AcidSqlError, SparkRuntimeException, RuntimeError):  # type: ignore[misc]
    """Failure of Spark's job on the statement's rows, for which PySpark has no exception."""

    def getSqlState(self) -> str | None:  # noqa: N802
        """Return the SQLSTATE of the condition; for a Spark condition, take it from the message."""
        of_spark = re.search(r"SQLSTATE: (\w{5})", self.message)
        return sqlstate(self.condition) or (of_spark[1] if of_spark else None)


class FormatError(AcidSqlError, RuntimeError):
    """Violation of the on-disk contract by a file or directory."""


class MetastoreError(AcidSqlError, RuntimeError):
    """Failure to reach or use the metastore."""


def page(name: str) -> str:
    """Return the address of a page of the documentation.

    >>> page("limits")
    'https://github.com/acidsql/acidsql/blob/main/docs/limits.md'
    """
    return f"{_PAGES}/{name}.md"


def condition_page(condition: str) -> str:
    """Return the address of the documentation of a condition.

    >>> condition_page("INVALID_DEFAULT_VALUE.TOO_LONG").rpartition("/")[2]
    'conditions.md#invalid_default_valuetoo_long'
    >>> condition_page("UNSUPPORTED_FEATURE.SORTED_BY").rpartition("/")[2]
    'limits.md#refused-statements'
    """
    if condition.startswith("UNSUPPORTED_FEATURE."):
        return f"{page('limits')}#refused-statements"
    return f"{page('reference/conditions')}#{condition.lower().replace('.', '')}"


def condition_of(error: PySparkException) -> str | None:
    """Return the condition name of a PySpark error, in every release of PySpark."""
    name = "getCondition" if hasattr(error, "getCondition") else "getErrorClass"
    condition = getattr(error, name)()
    return None if condition is None else str(condition)


def quoted_name(parts: Sequence[str]) -> str:
    """Return a name in the form that Spark uses in the parameters of its errors.

    >>> quoted_name(["db", "t"])
    '`db`.`t`'
    """
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def invalid_setting(name: str, value: str, instead: str) -> AcidAnalysisError:
    """Build the error of a setting with an invalid value."""
    return AcidAnalysisError(
        "INVALID_CONF_VALUE",
        f"{name} is {value!r}: {instead}",
        {"confName": name, "confValue": value},
    )
