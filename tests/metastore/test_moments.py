"""Tests of moments: times are shown and compared alike."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from acidsql.metastore.moments import MICROSECONDS_SQL, microseconds


@given(st.floats(0, 4e9))
def test_sqlite_and_python_take_a_time_for_the_same_microsecond(seconds: float) -> None:
    connection = sqlite3.connect(":memory:")
    ((found,),) = connection.execute(
        f"SELECT {MICROSECONDS_SQL} FROM (SELECT ? AS ended)", [seconds]
    )
    connection.close()
    assert found == microseconds(seconds)
