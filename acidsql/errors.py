"""Errors of acidsql.

Every error has a condition name as Spark's have (``err.getCondition()``), a sentence and a next
step::

    AcidSqlError
    ├── AcidParseError            the text is not a statement (line, column, caret)
    ├── AcidAnalysisError         the statement cannot be done: names, types, unsupported features
    │   └── AcidLookupError       no such table, partition, database
    ├── ConcurrencyError          another transaction won
    │   ├── WriteConflictError    two transactions changed the same rows
    │   └── LockTimeoutError      a lock was not granted in time
    ├── TransactionStateError     the transaction is not open any more
    ├── CardinalityError          MERGE matched one target row more than once
    ├── WriteJobError             Spark's job failed on the statement's rows
    ├── FormatError               a file or directory breaks the on-disk contract
    └── MetastoreError            the metastore cannot be reached or used

Errors of users' expressions keep Spark's own classes and conditions.
"""

from __future__ import annotations


class AcidSqlError(Exception):
    """Root of all errors of acidsql.

    Args:
        condition: upper-case condition name, as in Spark's error classes.
        message: one sentence that says what failed and what to do next.
    """

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(f"[{condition}] {message}")
        self.condition = condition
        self.message = message

    def getCondition(self) -> str:  # noqa: N802 - PySpark's spelling
        """Return the condition name, as PySpark's exceptions do."""
        return self.condition

    def getErrorClass(self) -> str:  # noqa: N802 - PySpark 3.5's spelling
        """Return the condition name under the name that PySpark 3.5 uses."""
        return self.condition


class AcidParseError(AcidSqlError, ValueError):
    """Error of a text that is not a statement.

    It has a 1-based ``line``, a 1-based ``column`` and a ``context`` with a caret.
    """

    def __init__(self, message: str, *, line: int, column: int, context: str) -> None:
        super().__init__(
            "PARSE_SYNTAX_ERROR", f"{message} (line {line}, column {column})\n{context}"
        )
        self.line = line
        self.column = column
        self.context = context


class AcidAnalysisError(AcidSqlError, ValueError):
    """Error of a statement that is understood and cannot be executed."""


class AcidLookupError(AcidAnalysisError, LookupError):
    """Error of a table, partition or database that does not exist."""


class ConcurrencyError(AcidSqlError, RuntimeError):
    """Failure because of another transaction."""


class WriteConflictError(ConcurrencyError):
    """Conflict of two transactions that changed the same partition; the first to commit wins."""


class LockTimeoutError(ConcurrencyError):
    """Failure to get a lock within the time allowed."""


class TransactionStateError(AcidSqlError, RuntimeError):
    """Error of a transaction that was aborted, or is not known."""


class CardinalityError(AcidSqlError, RuntimeError):
    """Match of one target row with more than one source row in a MERGE."""


class WriteJobError(AcidSqlError, RuntimeError):
    """Failure of Spark's job on the statement's rows, for which Spark has no condition."""


class FormatError(AcidSqlError, RuntimeError):
    """Violation of the on-disk contract by a file or directory."""


class MetastoreError(AcidSqlError, RuntimeError):
    """Failure to reach or use the metastore."""
