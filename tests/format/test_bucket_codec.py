from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import FormatError
from acidsql.format.bucket_codec import (
    MAX_BUCKET_ID,
    MAX_STATEMENT_ID,
    decode_bucket,
    decode_bucket_sql,
    decode_statement,
    encode,
)

BUCKET_IDS = st.integers(min_value=0, max_value=MAX_BUCKET_ID)
STATEMENT_IDS = st.integers(min_value=0, max_value=MAX_STATEMENT_ID)


@pytest.mark.parametrize(
    ("bucket_id", "statement_id", "value"),
    [
        (0, 0, 536870912),
        (0, 1, 536870913),
        (1, 0, 536936448),
        (1, 1, 536936449),
        (2, 0, 537001984),
        (4095, 4095, 805244927),
    ],
)
def test_values_are_those_of_hive(bucket_id: int, statement_id: int, value: int) -> None:
    assert encode(bucket_id, statement_id) == value


@given(BUCKET_IDS, STATEMENT_IDS)
def test_round_trip(bucket_id: int, statement_id: int) -> None:
    value = encode(bucket_id, statement_id)
    assert (decode_bucket(value), decode_statement(value)) == (bucket_id, statement_id)
    assert 0 < value < 2**31


@given(BUCKET_IDS)
def test_version_0_is_the_bare_bucket_id(bucket_id: int) -> None:
    assert (decode_bucket(bucket_id), decode_statement(bucket_id)) == (bucket_id, 0)


@pytest.mark.parametrize(("bucket_id", "statement_id"), [(-1, 0), (4096, 0), (0, -1), (0, 4096)])
def test_ids_that_do_not_fit_are_refused(bucket_id: int, statement_id: int) -> None:
    with pytest.raises(FormatError) as error:
        encode(bucket_id, statement_id)
    assert error.value.getCondition() == "BUCKET_OUT_OF_RANGE"


@pytest.mark.parametrize("value", [2 << 29, 7 << 29, -1, -(2**31)])
def test_unknown_versions_are_refused(value: int) -> None:
    for decode in (decode_bucket, decode_statement):
        with pytest.raises(FormatError) as error:
            decode(value)
        assert error.value.getCondition() == "INVALID_BUCKET_PROPERTY"


def _evaluate(value: int | None) -> object:
    """Run the SQL text in SQLite, with the functions that only Spark has."""

    def shiftrightunsigned(number: int | None, bits: int) -> int | None:
        return None if number is None else (number & 0xFFFF_FFFF) >> bits

    def raise_error(message: str) -> None:
        raise ValueError(message)

    with sqlite3.connect(":memory:") as connection:
        connection.create_function("shiftrightunsigned", 2, shiftrightunsigned)
        connection.create_function("raise_error", 1, raise_error)
        connection.create_function("concat", 2, lambda text, number: f"{text}{number}")
        query = f"SELECT {decode_bucket_sql('b')} FROM (SELECT ? AS b)"
        (answer,) = connection.execute(query, (value,)).fetchone()
    connection.close()
    return answer


@given(BUCKET_IDS, STATEMENT_IDS)
def test_sql_text_agrees_with_the_function(bucket_id: int, statement_id: int) -> None:
    assert _evaluate(encode(bucket_id, statement_id)) == bucket_id
    assert _evaluate(bucket_id) == bucket_id


def test_sql_text_keeps_null_and_fails_on_unknown_versions() -> None:
    assert _evaluate(None) is None
    with pytest.raises(sqlite3.OperationalError, match="user-defined function"):
        _evaluate(2 << 29)
