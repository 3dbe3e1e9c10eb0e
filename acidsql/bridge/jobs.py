"""Errors of Spark's jobs that PySpark does not translate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError

from acidsql.bridge.jvm import JavaObject
from acidsql.errors import WriteJobError

_READING = ("[FAILED_READ_FILE", "Encountered error while reading file")
_NULL_IN_NOT_NULL = "Null value appeared in non-nullable field"


@contextmanager
def job_errors() -> Iterator[None]:
    """Raise what PySpark leaves as a Java exception as an error of ours.

    Spark 3.5 has no condition for a NULL in a NOT NULL column, nor for ``raise_error``.

    Raises:
        WriteJobError: NOT_NULL_ASSERT_VIOLATION, WRITE_JOB_FAILED.
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
        raise WriteJobError(
            "WRITE_JOB_FAILED", f"Spark could not write the rows of the statement: {message}"
        ) from error


def root_message(exception: JavaObject) -> str:
    """What went wrong first, after the file that Spark was reading if it was reading one."""
    file = ""
    while exception.getCause() is not None:
        message = str(exception.getMessage() or "")
        if message.startswith(_READING):
            file = message.partition("reading file ")[2].split()[0].rstrip(".") + ": "
        exception = exception.getCause()
    return file + str(exception.getMessage() or exception.toString())
