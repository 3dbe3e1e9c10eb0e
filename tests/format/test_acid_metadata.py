from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import (
    KEY_INDEX,
    STATS,
    VERSION,
    AcidStats,
    footer_items,
    key_index,
    parse_key_index,
    parse_stats,
    stats,
)

KEYS = st.tuples(st.integers(min_value=0), st.integers(), st.integers(min_value=0))


def test_items_of_a_file_that_hive_wrote() -> None:
    last_keys = [(2, 536870912, row_id) for row_id in (4999, 9999)]
    assert footer_items(last_keys, inserts=10_000, deletes=0) == {
        "hive.acid.key.index": b"2,536870912,4999;2,536870912,9999;",
        "hive.acid.stats": b"10000,0,0",
        "hive.acid.version": b"2",
    }


def test_items_of_an_empty_file() -> None:
    assert footer_items([], inserts=0, deletes=0) == {
        KEY_INDEX: b"",
        STATS: b"0,0,0",
        VERSION: b"2",
    }
    assert parse_key_index(b"") == ()


@given(st.lists(KEYS))
def test_key_index_round_trip(keys: list[tuple[int, int, int]]) -> None:
    assert parse_key_index(key_index(keys)) == tuple(keys)


@given(st.integers(min_value=0), st.integers(min_value=0), st.integers(min_value=0))
def test_stats_round_trip(inserts: int, updates: int, deletes: int) -> None:
    assert parse_stats(stats(inserts, updates, deletes)) == AcidStats(inserts, updates, deletes)


@pytest.mark.parametrize("value", [b"1,2,3", b"1,2;", b";", b"1,2,x;", b"1,2,3;;", b"\xff"])
def test_damaged_key_indexes_are_refused(value: bytes) -> None:
    with pytest.raises(FormatError) as error:
        parse_key_index(value)
    assert error.value.getCondition() == "INVALID_KEY_INDEX"


@pytest.mark.parametrize("value", [b"", b"1,2", b"1,2,3,4", b"a,b,c", b"\xff"])
def test_damaged_stats_are_refused(value: bytes) -> None:
    with pytest.raises(FormatError) as error:
        parse_stats(value)
    assert error.value.getCondition() == "INVALID_ACID_STATS"
