"""Write ids whose changes a feed reports, and the directories that contain them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import AcidAnalysisError
from acidsql.format.change_selection import change_segments, compactions_between
from acidsql.format.changed_write_ids import (
    ChangedWriteIds,
    highest_valid,
    nothing,
    shows_all_of,
    without,
)
from acidsql.format.checkpoints import Checkpoint
from acidsql.format.valid_lists import RangeValidity, ValidTxnList, ValidWriteIdList

TXNS = ValidTxnList(high_water_mark=1000)
MOST = 9


def shown(*valid: int) -> ValidWriteIdList:
    """Return the list that shows some write ids; others up to the highest one are open."""
    mark = max(valid, default=0)
    hidden = frozenset(range(1, mark + 1)) - set(valid)
    return ValidWriteIdList(table="db.t", high_water_mark=mark, open=hidden)


sets = st.frozensets(st.integers(1, MOST))


@given(seen=sets, later=sets)
def test_changed_write_ids(seen: frozenset[int], later: frozenset[int]) -> None:
    old, new = shown(*seen), shown(*seen | later)
    changed = ChangedWriteIds.between(old, new)
    expected = later - seen
    assert {w for w in range(1, MOST + 3) if changed.is_valid(w)} == expected
    assert set(changed.listed(100) or ()) == expected
    assert shows_all_of(new, old)
    assert shows_all_of(old, new) == (not expected)
    assert highest_valid(new) == max(seen | later, default=0)
    assert all(changed.lowest <= w for w in expected)
    for low in range(1, MOST + 1):
        for high in range(low, MOST + 1):
            count = len(expected & set(range(low, high + 1)))
            share = RangeValidity.NONE if not count else RangeValidity.SOME
            share = RangeValidity.ALL if count == high - low + 1 else share
            assert changed.range_validity(low, high) is share


def test_nothing_is_less_than_original_files() -> None:
    changed = ChangedWriteIds.between(nothing("db.t"), shown(1))
    assert changed.is_valid(0)
    assert changed.is_valid(1)
    assert not ChangedWriteIds.between(shown(), shown(1)).is_valid(0)
    assert without(shown(1, 2), 2).open == {2}
    assert changed.listed(1) is None


def segments(names: list[str], seen: ValidWriteIdList, now: ValidWriteIdList) -> list[object]:
    return [
        (s.replaced_by, [d.name for d in s.state.directories])
        for s in change_segments(names, seen, now, TXNS, {})
    ]


def test_bases_of_compactions_with_changes_are_left_out() -> None:
    names = ["delta_0000001_0000001_0000", "delta_0000002_0000002_0000", "base_0000002_v0000009"]
    names += ["delete_delta_0000003_0000003_0000"]
    first, second = names[:2]
    assert segments(names, shown(1), shown(1, 2, 3)) == [(None, [first, second, names[3]])]
    assert segments(names, shown(1, 2), shown(1, 2, 3)) == [(None, [names[2], names[3]])]
    (merged,) = compactions_between(names, shown(1), shown(1, 2, 3), TXNS, {})
    assert merged.visibility_txn_id == 9
    assert compactions_between(names, shown(1, 2), shown(1, 2, 3), TXNS, {}) == []


def test_bases_that_replace_rows_end_a_segment() -> None:
    names = ["delta_0000001_0000001_0000", "base_0000002", "delta_0000003_0000003_0000"]
    names += ["base_0000004", "delta_0000005_0000005_0000"]
    assert segments(names, shown(1), shown(1, 2, 3, 4, 5)) == [
        (2, names[:1]),
        (4, names[1:3]),
        (None, names[3:]),
    ]
    assert segments(names, shown(1, 2, 3), shown(1, 2, 3, 4, 5)) == [
        (4, names[1:3]),
        (None, names[3:]),
    ]
    # A base that was aborted replaces nothing, nor does one below a base that was there.
    assert segments(names, shown(1, 2), shown(1, 2, 3)) == [(None, names[1:3])]
    assert segments(names, shown(1, 4), shown(1, 2, 3, 4, 5)) == [(None, names[3:])]


def test_checkpoints() -> None:
    checkpoint = Checkpoint(write_ids=shown(1, 3), table_id="x/7")
    text = checkpoint.to_string()
    assert text == "db.t:3:2:2:;table=x/7"
    assert Checkpoint.from_string(text) == checkpoint
    for bad in ("", "7", "db.t:3:2:2:", "db.t:x;table=y"):
        with pytest.raises(AcidAnalysisError) as caught:
            Checkpoint.from_string(bad)
        assert caught.value.condition == "INVALID_CHECKPOINT"
