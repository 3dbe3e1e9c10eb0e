"""Tests of the initiator's rules, as tables of examples."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.compaction.thresholds import (
    PartitionSizes,
    is_backing_off,
    is_waiting,
    may_compact,
    next_look,
    wanted,
)
from acidsql.errors import AcidAnalysisError
from acidsql.format.thresholds import Thresholds, duration_seconds, of_table
from acidsql.metastore.model import Compaction, CompactionState, CompactionType

MINOR, MAJOR = CompactionType.MINOR, CompactionType.MAJOR
FAILED, SUCCEEDED = CompactionState.FAILED, CompactionState.SUCCEEDED


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({}, None),
        ({"base_bytes": 100}, None),
        ({"base_bytes": 100, "delta_bytes": 10, "insert_deltas": 1}, None),
        ({"base_bytes": 100, "delta_bytes": 11, "insert_deltas": 1}, MAJOR),
        ({"base_bytes": 1000, "delta_bytes": 10, "insert_deltas": 10}, None),
        ({"base_bytes": 1000, "delta_bytes": 10, "insert_deltas": 11}, MINOR),
        ({"base_bytes": 1000, "delta_bytes": 10, "insert_deltas": 5, "delete_deltas": 6}, MINOR),
        ({"delta_bytes": 10, "insert_deltas": 10}, None),
        ({"delta_bytes": 10, "insert_deltas": 11}, MAJOR),
        ({"base_bytes": 100, "obsolete": 1}, None),
        ({"base_bytes": 100, "obsolete": 1, "obsolete_bases": 1}, MAJOR),
        ({"base_bytes": 100, "delta_bytes": 1, "insert_deltas": 1, "obsolete_bases": 1}, None),
        # Directories without files, as of an INSERT without rows.
        ({"insert_deltas": 11}, MINOR),
    ],
)
def test_what_a_partition_needs(sizes: dict[str, int], expected: CompactionType | None) -> None:
    assert wanted(PartitionSizes(**sizes), Thresholds()) is expected


def test_an_insert_only_table_needs_no_minor_compaction() -> None:
    sizes = PartitionSizes(base_bytes=1000, delta_bytes=10, insert_deltas=11)
    assert wanted(sizes, Thresholds(), insert_only=True) is MAJOR


@given(inserts=st.integers(0, 10), deletes=st.integers(0, 10), updates=st.booleans())
def test_no_look_comes_too_late(inserts: int, deletes: int, *, updates: bool) -> None:
    """Looks come before, or with, the first write by which there are too many deltas."""
    count = inserts + deletes
    while count <= Thresholds().delta_num:
        after = next_look(PartitionSizes(insert_deltas=count), Thresholds())
        assert after >= 1
        assert count + (2 if updates else 1) * (after - 1) <= Thresholds().delta_num
        count += (2 if updates else 1) * after


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ([{}], True),
        ([{"NO_AUTO_COMPACTION": "true"}], False),
        ([{"no_auto_compaction": "TRUE"}], False),
        ([{"no_auto_compaction": "false"}, {"no_auto_compaction": "true"}], True),
        ([{}, {"no_auto_compaction": "true"}], False),
    ],
)
def test_who_may_be_compacted(properties: list[dict[str, str]], expected: bool) -> None:
    assert may_compact(*properties) is expected


def entry(state: CompactionState, ended: int | None = None) -> Compaction:
    return Compaction(
        compaction_id=1,
        database="d",
        table="t",
        partition=None,
        type=MAJOR,
        state=state,
        ended=ended,
    )


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], False),
        ([(FAILED, 100)], False),
        ([(FAILED, 100), (FAILED, 90)], True),
        ([(FAILED, 100), (SUCCEEDED, 95), (FAILED, 90)], False),
        ([(FAILED, 100), (CompactionState.REFUSED, 95), (FAILED, 90)], True),
        ([(FAILED, 100 - 8 * 86400), (FAILED, 90 - 8 * 86400)], False),
    ],
)
def test_backing_off_after_failures(
    history: list[tuple[CompactionState, int]], expected: bool
) -> None:
    entries = [entry(state, ended) for state, ended in history]
    assert is_backing_off(entries, Thresholds(), now=100) is expected


def test_nothing_is_requested_while_an_entry_waits() -> None:
    waiting = (CompactionState.INITIATED, CompactionState.WORKING)
    assert [state for state in CompactionState if is_waiting([entry(state)])] == list(waiting)


def test_properties_of_a_table() -> None:
    properties = {
        "compactorthreshold.hive.compactor.delta.num.threshold": "4",
        "compactorthreshold.hive.compactor.delta.pct.threshold": "0.5",
        "compactorthreshold.hive.compactor.aborted.txn.time.threshold": "2h",
        "compactorthreshold.of.something.else": "no number",
        "hive.compactor.abortedtxn.threshold": "5",
    }
    assert of_table(Thresholds(), properties) == Thresholds(
        delta_num=4, delta_pct=0.5, aborted_seconds=7200
    )
    with pytest.raises(AcidAnalysisError) as caught:
        of_table(Thresholds(), {"compactorthreshold.hive.compactor.delta.num.threshold": "ten"})
    assert caught.value.condition == "INVALID_CONF_VALUE"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("90", 90),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("interval 30 days", 30 * 86400),
        ("INTERVAL 1 week", 7 * 86400),
        ("2 Hours", 7200),
        ("", None),
        ("-1d", None),
        ("1 fortnight", None),
        ("interval", None),
    ],
)
def test_times(text: str, expected: float | None) -> None:
    actual: Any
    try:
        actual = duration_seconds(text)
    except ValueError:
        actual = None
    assert actual == expected
