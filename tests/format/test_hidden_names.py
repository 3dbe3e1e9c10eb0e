"""Tests of the reasons why a snapshot does not read a name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.errors import AcidAnalysisError
from acidsql.format.hidden_names import Reason, hidden_names
from acidsql.format.names import parse_directory
from acidsql.format.selection import select
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from tests.format.test_selection_properties import directory_names, snapshots

WRITE_IDS = ValidWriteIdList(
    table="db.t", high_water_mark=10, open=frozenset({7}), aborted=frozenset({6})
)
TXNS = ValidTxnList(high_water_mark=50, open=frozenset({45}), aborted=frozenset({40}))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("base_0000003", Reason.OBSOLETE),
        ("delta_0000004_0000004_0000", Reason.OBSOLETE),
        ("000000_0", Reason.OBSOLETE),
        ("delta_0000006_0000006_0000", Reason.ABORTED),
        ("delta_0000001_0000008_v0000040", Reason.ABORTED),
        ("delta_0000007_0000007_0000", Reason.OPEN),
        ("base_0000007", Reason.OPEN),
        ("base_0000008_v0000045", Reason.OPEN),
        ("delta_0000011_0000011_0000", Reason.LATER),
        ("base_0000011", Reason.LATER),
        ("base_0000008_v0000051", Reason.LATER),
        ("_acidsql_staging_44", Reason.STAGING),
        ("_tmp", Reason.HIDDEN),
        (".hive-staging_1", Reason.HIDDEN),
    ],
)
def test_reasons(name: str, reason: Reason) -> None:
    names = ["base_0000005", "delta_0000008_0000008_0000", name]
    state = select(names, WRITE_IDS, TXNS)
    assert hidden_names(names, state, WRITE_IDS, TXNS) == ((name, reason),)


def test_a_delta_of_which_only_what_the_base_has_is_valid() -> None:
    names = ["base_0000005", "delta_0000004_0000006"]
    state = select(names, WRITE_IDS, TXNS)
    assert hidden_names(names, state, WRITE_IDS, TXNS) == ((names[1], Reason.ABORTED),)


def test_an_open_delta_below_the_base_of_an_overwrite() -> None:
    names = ["base_0000008", "delta_0000007_0000007"]
    write_ids = ValidWriteIdList(
        table="db.t", high_water_mark=8, open=frozenset({7}), aborted=frozenset()
    )
    state = select(names, write_ids, TXNS)
    assert hidden_names(names, state, write_ids, TXNS) == ((names[1], Reason.OPEN),)


def test_a_directory_with_originals_is_read_and_one_without_files_has_none() -> None:
    state = select(["1/000000_0"], WRITE_IDS, TXNS)
    assert hidden_names(["1", "2"], state, WRITE_IDS, TXNS) == (("2", Reason.EMPTY),)


@given(st.sets(directory_names(), max_size=12), snapshots())
@settings(max_examples=200)
def test_every_name_is_read_or_has_a_reason(
    names: set[str], snapshot: tuple[ValidWriteIdList, ValidTxnList]
) -> None:
    write_ids, txns = snapshot
    try:
        state = select(names, write_ids, txns)
    except AcidAnalysisError:
        return
    found = hidden_names(sorted(names), state, write_ids, txns)
    read = [directory.name for directory in state.directories]
    assert sorted([*read, *(name for name, _ in found)]) == sorted(names)
    for name, reason in found:
        directory = parse_directory(name)
        assert directory is not None
        ids = range(max(1, directory.min_write_id), directory.max_write_id + 1)
        is_later = directory.max_write_id > write_ids.high_water_mark
        if reason is Reason.LATER:
            assert is_later or directory.visibility_txn_id > txns.high_water_mark
        elif reason is Reason.OPEN:
            is_open = directory.visibility_txn_id in txns.open
            assert is_open or write_ids.open & set(ids) or directory.visibility_txn_id
        elif name not in state.obsolete:
            assert reason in (Reason.ABORTED, Reason.OBSOLETE)
