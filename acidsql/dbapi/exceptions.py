"""Exceptions of the DB-API; errors of acidsql and Spark map to them by their SQLSTATE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import PySparkException

from acidsql.bridge import GatewayError


class Warning(Exception):  # noqa: A001, N818 - the PEP's name
    """Important warning, which acidsql never raises."""


class Error(Exception):
    """Root of all errors of the DB-API; its ``__cause__`` is the error of acidsql or Spark.

    Attributes:
        condition: condition name of the cause; None if it has none.
        sqlstate: SQLSTATE of the cause; None if it has none.
    """

    def __init__(
        self, message: str, *, condition: str | None = None, sqlstate: str | None = None
    ) -> None:
        super().__init__(message)
        self.condition = condition
        self.sqlstate = sqlstate


class InterfaceError(Error):
    """Wrong use of a connection or a cursor, for example after it is closed."""


class DatabaseError(Error):
    """Error of a statement."""


class DataError(DatabaseError):
    """Value that cannot be computed or stored: division by zero, overflow, a failed cast."""


class OperationalError(DatabaseError):
    """Failure outside the program: a conflict, a lock, the metastore, a file system."""


class IntegrityError(DatabaseError):
    """Violation of a constraint."""


class InternalError(DatabaseError):
    """Error within Spark or acidsql."""


class ProgrammingError(DatabaseError):
    """Error in the statement: its syntax, a name, a type, the number of values."""


class NotSupportedError(DatabaseError):
    """Statement or method that is not supported."""


# The keys are SQLSTATE classes, the first two characters of the SQLSTATE. They come from the SQL
# standard, PostgreSQL (53 to 58, XX) and Spark (K…).
_BY_CLASS: Mapping[str, type[DatabaseError]] = {
    "08": OperationalError,
    "0A": NotSupportedError,
    "21": ProgrammingError,
    "22": DataError,
    "23": IntegrityError,
    "25": ProgrammingError,
    "28": OperationalError,
    "2B": ProgrammingError,
    "3D": ProgrammingError,
    "3F": ProgrammingError,
    "40": OperationalError,
    "42": ProgrammingError,
    "44": IntegrityError,
    "53": OperationalError,
    "54": OperationalError,
    "55": OperationalError,
    "57": OperationalError,
    "58": OperationalError,
    "72": OperationalError,
    "HY": OperationalError,
    "KD": OperationalError,
    "XX": InternalError,
}


def error_class(sqlstate: str | None) -> type[DatabaseError]:
    """Return the exception class of an SQLSTATE.

    >>> error_class("40001").__name__, error_class(None).__name__
    ('OperationalError', 'DatabaseError')
    """
    return _BY_CLASS.get((sqlstate or "")[:2], DatabaseError)


@contextmanager
def translated() -> Iterator[None]:
    """Translate errors of acidsql and Spark within the block to errors of the DB-API."""
    try:
        yield
    except PySparkException as error:
        sqlstate = error.getSqlState()
        raise error_class(sqlstate)(
            str(error), condition=_condition(error), sqlstate=sqlstate
        ) from error
    except GatewayError as error:
        raise InternalError(str(error)) from error


def _condition(error: PySparkException) -> str | None:
    # PySpark 3.5 has only the older name of the method.
    getter = getattr(error, "getCondition", None) or error.getErrorClass
    name = getter()
    return None if name is None else str(name)
