"""Tests of the exceptions and type objects of the DB-API."""

from __future__ import annotations

import pytest

from acidsql import dbapi
from acidsql.dbapi.exceptions import error_class, translated
from acidsql.errors import AcidAnalysisError, WriteConflictError
from acidsql.sqlstates import SQLSTATES


@pytest.mark.parametrize(
    ("sqlstate", "expected"),
    [
        ("22012", dbapi.DataError),
        ("40001", dbapi.OperationalError),
        ("42P01", dbapi.ProgrammingError),
        ("0A000", dbapi.NotSupportedError),
        ("23K01", dbapi.IntegrityError),
        ("XX000", dbapi.InternalError),
        ("ZZZZZ", dbapi.DatabaseError),
    ],
)
def test_classes_of_sqlstates(sqlstate: str, expected: type) -> None:
    assert error_class(sqlstate) is expected


def test_each_condition_of_acidsql_has_a_class_of_its_own() -> None:
    plain = {state for state in SQLSTATES.values() if error_class(state) is dbapi.DatabaseError}
    assert plain == set()


def test_condition_and_sqlstate_are_kept() -> None:
    lost = WriteConflictError("CONCURRENT_WRITE", "another one was first")
    with pytest.raises(dbapi.OperationalError) as caught, translated():
        raise lost
    assert (caught.value.condition, caught.value.sqlstate) == ("CONCURRENT_WRITE", "40001")
    assert str(caught.value) == "[CONCURRENT_WRITE] another one was first"
    assert caught.value.__cause__ is lost


def test_errors_of_python_pass() -> None:
    with pytest.raises(ZeroDivisionError), translated():
        _ = 1 / 0


def test_unsupported_is_not_supported() -> None:
    with pytest.raises(dbapi.NotSupportedError), translated():
        raise AcidAnalysisError("UNSUPPORTED_FEATURE.CREATE_VIEW", "no")


def test_module_interface() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    assert issubclass(dbapi.DatabaseError, dbapi.Error)
    assert not issubclass(dbapi.Warning, dbapi.Error)
    assert dbapi.DateFromTicks(0).year in (1969, 1970)
    assert dbapi.Binary(b"a") == b"a"


def test_type_objects_equal_type_codes() -> None:
    assert dbapi.NUMBER == "decimal(10,2)"
    assert dbapi.STRING == "varchar(3)"
    assert dbapi.STRING != "array<string>"
    assert dbapi.DATETIME == "timestamp_ntz"
    assert dbapi.ROWID == "struct<writeid:bigint,bucketid:int,rowid:bigint>"
    assert dbapi.NUMBER != dbapi.STRING
