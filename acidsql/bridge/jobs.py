"""Errors of Spark jobs, including those that PySpark leaves as Java exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import SparkRuntimeException
from pyspark.errors.exceptions.captured import UnknownException, convert_exception
from pyspark.sql import SparkSession

from acidsql.bridge.jvm import JavaObject
from acidsql.bridge.row_conditions import check_violation, violation_in
from acidsql.errors import WriteJobError, condition_of

_READING = ("[FAILED_READ_FILE", "Encountered error while reading file")
_NULL_IN_NOT_NULL = "Null value appeared in non-nullable field"
_SQLSTATE = "SQLSTATE:"
# Condition and message of a Spark exception.
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] (.*)", re.DOTALL)


_DESCRIPTION = "spark.job.description"
_OURS = "acidsql: "


@contextmanager
def job_description(spark: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs that this thread starts in the block, for Spark's UI.

    A description that the user has set takes precedence.
    """
    context = spark.sparkContext._jsc
    if context is None:  # the application was stopped, and the block starts no jobs
        yield
        return
    before = context.getLocalProperty(_DESCRIPTION)
    if before is not None and not before.startswith(_OURS):
        yield
        return
    context.setLocalProperty(_DESCRIPTION, f"{_OURS}{text}")
    try:
        yield
    finally:
        # If the JVM has ended, it has no properties, and an error already reports this.
        with suppress(Py4JNetworkError, ConnectionError):
            context.setLocalProperty(_DESCRIPTION, before)


@contextmanager
def naming_column(table: str) -> Iterator[None]:
    """Name the table and the column, or the CHECK and its values, that a row violates.

    The column is named for a NOT NULL. The table, constraint and values are named for a CHECK.

    Raises:
        WriteJobError: NOT_NULL_ASSERT_VIOLATION, CHECK_CONSTRAINT_VIOLATION.
    """
    try:
        yield
    except (SparkRuntimeException, WriteJobError) as error:
        violation = violation_in(str(error))
        if violation is not None:
            raise check_violation(table, violation) from error
        if condition_of(error) != "NOT_NULL_ASSERT_VIOLATION":
            raise
        path = (error.getMessageParameters() or {}).get("walkedTypePath", "")
        column = ".".join(path.split())
        raise WriteJobError(
            "NOT_NULL_ASSERT_VIOLATION",
            f"NULL was given for column {column} of {table}, which is NOT NULL: give a value, or "
            "COALESCE it",
            {"walkedTypePath": column},
        ) from error


@contextmanager
def job_errors() -> Iterator[None]:
    """Raise a Java exception of the block as a ``WriteJobError``.

    PySpark has no class for Spark's general exception, whose message begins with the condition.
    Spark 3.5 has no condition for a NULL in a NOT NULL column or for ``raise_error``.

    Raises:
        WriteJobError: NOT_NULL_ASSERT_VIOLATION, Spark's condition, or WRITE_JOB_FAILED.
    """
    try:
        yield
    except Py4JJavaError as error:
        message = root_message(error.java_exception)
        if message.startswith(_NULL_IN_NOT_NULL):
            column = message.splitlines()[1]
            raise WriteJobError(
                "NOT_NULL_ASSERT_VIOLATION",
                f"NULL was given for {column}, which is NOT NULL: give a value, or COALESCE it",
                {"walkedTypePath": column},
            ) from error
        named = _CONDITION.fullmatch(message)
        if named is not None:
            condition, text = named.groups()
            raise WriteJobError(condition, text + _sqlstate(error.java_exception, text)) from error
        raise WriteJobError(
            "WRITE_JOB_FAILED", f"Spark could not write the rows of the statement: {message}"
        ) from error


@contextmanager
def awaited_errors() -> Iterator[None]:
    """Raise the error of a job in another JVM thread like an error of a job in this thread.

    ``toLocalIterator`` raises the exception of a future, whose causes contain the condition.
    """
    try:
        yield
    except Py4JJavaError as error:
        cause = error.java_exception.getCause()
        if cause is None:
            raise
        while True:
            converted = convert_exception(cause)
            if not isinstance(converted, UnknownException):
                raise converted from None
            if cause.getCause() is None:
                raise Py4JJavaError(error.errmsg, cause) from None
            cause = cause.getCause()


def _sqlstate(exception: JavaObject, message: str) -> str:
    """Return the SQLSTATE of a Spark exception, formatted as in messages of Spark 4 and later.

    The text is empty if the message already contains a SQLSTATE, or if the exception has none.
    """
    if _SQLSTATE in message:
        return ""
    while exception.getCause() is not None:
        exception = exception.getCause()
    states = [m for m in exception.getClass().getMethods() if m.getName() == "getSqlState"]
    state = exception.getSqlState() if states else None
    return "" if state is None else f" {_SQLSTATE} {state}"


def root_message(exception: JavaObject) -> str:
    """Return the message of an exception's root cause.

    If Spark failed while it read a file, the path of the file comes first.
    """
    file = ""
    while exception.getCause() is not None:
        message = str(exception.getMessage() or "")
        if message.startswith(_READING):
            file = message.partition("reading file ")[2].split()[0].rstrip(".") + ": "
        exception = exception.getCause()
    return file + str(exception.getMessage() or exception.toString())
