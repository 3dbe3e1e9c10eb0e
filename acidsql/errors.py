"""The errors that acidsql raises.

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
    """The text is not a statement: has 1-based ``line``, 1-based ``column`` and a ``context`` with
    a caret.
    """

    def __init__(self, message: str, *, line: int, column: int, context: str) -> None:
        super().__init__(
            "PARSE_SYNTAX_ERROR", f"{message} (line {line}, column {column})\n{context}"
        )
        self.line = line
        self.column = column
        self.context = context


class AcidAnalysisError(AcidSqlError, ValueError):
    """The statement is understood and cannot be done."""


class AcidLookupError(AcidAnalysisError, LookupError):
    """A table, partition or database does not exist."""


class ConcurrencyError(AcidSqlError, RuntimeError):
    """Another transaction stands in the way."""


class WriteConflictError(ConcurrencyError):
    """Two transactions changed the same partition; the later committer
    loses (first committer wins).
    """


class LockTimeoutError(ConcurrencyError):
    """A lock was not granted within the time allowed."""


class TransactionStateError(AcidSqlError, RuntimeError):
    """The transaction was aborted, or is unknown."""


class CardinalityError(AcidSqlError, RuntimeError):
    """MERGE matched one target row with more than one source row."""


class WriteJobError(AcidSqlError, RuntimeError):
    """Spark's job failed over the statement's rows, and Spark has no condition for the reason."""


class FormatError(AcidSqlError, RuntimeError):
    """A file or directory breaks the on-disk contract."""


class MetastoreError(AcidSqlError, RuntimeError):
    """The metastore cannot be reached or used."""
