"""Errors of acidsql.

Each has a condition name as Spark's have (``getCondition``), an SQLSTATE, a sentence and a next
step. The second column has the classes of PySpark and of Python that it is one of as well::

    AcidSqlError                PySparkException                     root of all
    ├── AcidTextError           -                                    a place in the text is at fault
    │   └── AcidParseError      ParseException, ValueError           the text is not a statement
    ├── AcidAnalysisError       AnalysisException, ValueError        the statement cannot be done
    │   ├── AcidDialectError    AcidTextError                        Spark has no such thing
    │   └── AcidLookupError     LookupError                          no such table or partition
    ├── ConcurrencyError        RuntimeError                         another transaction won
    │   ├── WriteConflictError  -                                    it changed the same rows
    │   ├── TableReplacedError  -                                    it replaced the table
    │   └── LockTimeoutError    -                                    it kept its lock for too long
    ├── TransactionStateError   RuntimeError                         the transaction is open no more
    ├── CardinalityError        SparkRuntimeException, RuntimeError  MERGE matched a row twice
    ├── WriteJobError           SparkRuntimeException, RuntimeError  Spark's job failed
    ├── FormatError             RuntimeError                         a file or name is not Hive's
    └── MetastoreError          RuntimeError                         the metastore cannot be used

Errors of users' expressions keep Spark's own classes and conditions.
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


# Where the pages of the documentation are, as ``pyproject.toml`` has it.
_PAGES = "https://github.com/acidsql/acidsql/blob/main/docs"


class AcidSqlError(PySparkException):  # type: ignore[misc] # PySpark is not checked
    """Root of all errors of acidsql.

    Args:
        condition: upper-case condition name, as in Spark's error classes.
        message: one sentence that says what failed and what to do next.
        parameters: the values in the message by name: Spark's names if the condition is Spark's.
    """

    def __init__(
        self, condition: str, message: str, parameters: Mapping[str, str] | None = None
    ) -> None:
        # Only a message is taken by every release of PySpark. The getters here know the rest.
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
        """Return the places in the statement that the error is about, where it is about one."""
        return []

    def __str__(self) -> str:
        return self.getMessage()

    def __reduce__(self) -> tuple[Any, ...]:
        # PySpark's part of an error holds the table of all its conditions, and is made again.
        return type(self), (self.condition, self.message, self.parameters)


class AcidTextError(AcidSqlError):
    """Error at a place in the text of a statement.

    Attributes:
        line: 1-based line of the place.
        column: 1-based column of that place.
        context: that line, with a caret below the place.
        offset: 0-based position of that place in the statement.
        fragment: the word there, empty at the end of the text.
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
        """Return the place; PySpark 3.5 has no such thing."""
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
    """Error of a text that is not a statement, at the word that should not stand there."""


class AcidAnalysisError(AcidSqlError, AnalysisException, ValueError):  # type: ignore[misc]
    """Error of a statement that is understood and cannot be executed."""


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
    """Replacement of a table that a statement has looked up already, or that its snapshot does not
    show.
    """


class LockTimeoutError(ConcurrencyError):
    """Failure to get a lock within the time allowed."""


class TransactionStateError(AcidSqlError, RuntimeError):
    """Error of a transaction that was aborted, or is not known."""


class CardinalityError(AcidSqlError, SparkRuntimeException, RuntimeError):  # type: ignore[misc]
    """Match of one target row with more than one source row in a MERGE."""


class WriteJobError(AcidSqlError, SparkRuntimeException, RuntimeError):  # type: ignore[misc]
    """Failure of Spark's job on the statement's rows, for which PySpark has no exception."""

    def getSqlState(self) -> str | None:  # noqa: N802
        """Return the SQLSTATE of the condition; of one of Spark's, the one in its message."""
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
    """Return the address of what the documentation says about a condition.

    >>> condition_page("INVALID_DEFAULT_VALUE.TOO_LONG").rpartition("/")[2]
    'conditions.md#invalid_default_valuetoo_long'
    >>> condition_page("UNSUPPORTED_FEATURE.SORTED_BY").rpartition("/")[2]
    'limits.md#refused-statements'
    """
    if condition.startswith("UNSUPPORTED_FEATURE."):
        return f"{page('limits')}#refused-statements"
    return f"{page('reference/conditions')}#{condition.lower().replace('.', '')}"


def condition_of(error: PySparkException) -> str | None:
    """Return the condition name of an error of PySpark's, in every release."""
    name = "getCondition" if hasattr(error, "getCondition") else "getErrorClass"
    condition = getattr(error, name)()
    return None if condition is None else str(condition)


def quoted_name(parts: Sequence[str]) -> str:
    """Return a name as Spark has it in the parameters of its errors.

    >>> quoted_name(["db", "t"])
    '`db`.`t`'
    """
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def invalid_setting(name: str, value: str, instead: str) -> AcidAnalysisError:
    """Return the error of a setting that has a value which it cannot have."""
    return AcidAnalysisError(
        "INVALID_CONF_VALUE",
        f"{name} is {value!r}: {instead}",
        {"confName": name, "confValue": value},
    )
