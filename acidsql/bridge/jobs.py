"""Failures of Spark jobs that PySpark leaves as Java exceptions."""

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
# Condition and message of an exception of Spark's.
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] (.*)", re.DOTALL)


_DESCRIPTION = "spark.job.description"
_OURS = "acidsql: "


@contextmanager
def job_description(spark: SparkSession, text: str) -> Iterator[None]:
    """Have Spark's UI show a description of the jobs that this thread starts in the block, unless
    the user has set one.
    """
    context = spark.sparkContext._jsc
    if context is None:  # the application was stopped, and what follows starts no jobs
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
        # A JVM that is gone has no properties, and the error that reports it is raised already.
        with suppress(Py4JNetworkError, ConnectionError):
            context.setLocalProperty(_DESCRIPTION, before)


@contextmanager
def naming_column(table: str) -> Iterator[None]:
    """Name what a row of the block violates: table and column of a NOT NULL, or table, constraint
    and values of a CHECK.

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

    PySpark has no exception for Spark's general one, whose message begins with the condition. Spark
    3.5 has no condition for a NULL in a NOT NULL column, nor for ``raise_error``.

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
    """Raise the error of a job that another thread of the JVM ran, as a job of this one has it.

    ``toLocalIterator`` hands on the exception of a future, whose causes have the condition.
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
    """Return the SQLSTATE of an exception of Spark's, as messages have it from Spark 4 on.

    The text is empty if the message has it already, or there is none.
    """
    if _SQLSTATE in message:
        return ""
    while exception.getCause() is not None:
        exception = exception.getCause()
    states = [m for m in exception.getClass().getMethods() if m.getName() == "getSqlState"]
    state = exception.getSqlState() if states else None
    return "" if state is None else f" {_SQLSTATE} {state}"


def root_message(exception: JavaObject) -> str:
    """Return the message of an exception's root cause, after the path of the file that Spark was
    reading if the failure came while reading one.
    """
    file = ""
    while exception.getCause() is not None:
        message = str(exception.getMessage() or "")
        if message.startswith(_READING):
            file = message.partition("reading file ")[2].split()[0].rstrip(".") + ": "
        exception = exception.getCause()
    return file + str(exception.getMessage() or exception.toString())
