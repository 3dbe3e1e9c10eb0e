"""Tests of the problems of names, without files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.checking.names import (
    FileRules,
    KnownIds,
    directory_problems,
    file_problems,
    forgotten_problems,
    original_problems,
    staging_problems,
    state_problems,
)
from acidsql.checking.problems import Problem
from acidsql.format.names import (
    ASIDE,
    base_name,
    delete_delta_name,
    delta_name,
    is_hidden,
    parse_directory,
)
from acidsql.format.selection import AcidState, select
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.storage.directory import FileVersion, Listing

_KNOWN = KnownIds(write_id=9, txn_id=99, open_txns=frozenset({42}))


def _found(problems: Sequence[Problem]) -> list[tuple[str, str]]:
    return [(problem.name, problem.path.removeprefix("file:/t/")) for problem in problems]


def _state(names: Sequence[str], aborted: frozenset[int] = frozenset()) -> AcidState:
    write_ids = ValidWriteIdList(table="d.t", high_water_mark=9, aborted=aborted)
    return select(names, write_ids, ValidTxnList(high_water_mark=99))


def _directories(*names: str, insert_only: bool = False) -> list[tuple[str, str]]:
    return _found(list(directory_problems("file:/t", names, _KNOWN, insert_only=insert_only)))


def _together(*names: str, aborted: frozenset[int] = frozenset()) -> list[tuple[str, str]]:
    return _found(list(state_problems("file:/t", names, _state(names, aborted))))


@pytest.mark.parametrize("name", ["delta_x", "delta_5_3", "base_", "delete_delta_1", "base_1_v"])
def test_a_name_nearly_of_an_acid_directory(name: str) -> None:
    assert _directories(name) == [("INVALID_DIRECTORY_NAME", name)]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("delta_0000001_0000001_4096", "INVALID_STATEMENT_ID"),
        ("delta_0000001_0000002_0000", "INVALID_STATEMENT_ID"),
        ("delta_0000010_0000010_0000", "WRITE_ID_ABOVE_METASTORE"),
        ("base_0000010", "WRITE_ID_ABOVE_METASTORE"),
        ("base_0000009_v0000100", "TRANSACTION_ID_ABOVE_METASTORE"),
    ],
)
def test_an_id_that_cannot_be(name: str, problem: str) -> None:
    assert _directories(name) == [(problem, name)]


def test_names_at_the_limits() -> None:
    names = ("delta_0000009_0000009_4095", "base_0000009_v0000099", "base_-9223372036854775808")
    assert _directories(*names, "_tmp", "000000_0", "delta") == []


def test_a_write_id_that_was_given_meanwhile() -> None:
    known = KnownIds(write_id=9, txn_id=99, given=frozenset({10}))
    names = ["delta_0000010_0000010_0000", "delta_0000011_0000011_0000"]
    found = list(directory_problems("file:/t", names, known, insert_only=False))
    assert _found(found) == [("WRITE_ID_ABOVE_METASTORE", names[1])]


def test_delete_deltas_of_an_insert_only_table() -> None:
    name = delete_delta_name(1, 1, 0)
    assert _directories(name, insert_only=True) == [("UNEXPECTED_DELETE_DELTA", name)]


def test_staging_of_transactions_that_have_ended() -> None:
    names = ["_acidsql_staging_41", "_acidsql_staging_42", "_acidsql_staging_x", "_acidsql_owner"]
    found = list(staging_problems("file:/t", names, _KNOWN))
    assert _found(found) == [("DEAD_STAGING_DIRECTORY", "_acidsql_staging_41")]


def test_aborted_directories() -> None:
    names = [delta_name(1, 1, 0), delta_name(2, 2, 0), base_name(3)]
    found = _together(*names, aborted=frozenset({2, 3}))
    assert sorted(found) == [("ABORTED_DIRECTORY", base_name(3)), ("ABORTED_DIRECTORY", names[1])]


def test_two_names_of_one_directory() -> None:
    names = (delta_name(1, 1, 0), "delta_1_1_0")
    assert _together(*names) == [("DUPLICATE_DIRECTORY", "delta_1_1_0")]


def test_two_compactions_of_the_same_write_ids() -> None:
    names = (delta_name(1, 5, visibility_txn_id=7), delta_name(1, 5, visibility_txn_id=8))
    assert _together(*names) == [("DUPLICATE_COMPACTION", names[0])]
    # A compaction that includes another one is as it should be.
    assert _together(names[0], delta_name(1, 6, visibility_txn_id=8)) == []


def test_ranges_with_a_part_in_common() -> None:
    names = (delta_name(1, 5), delta_name(4, 7))
    assert _together(*names) == [("OVERLAPPING_WRITE_IDS", names[1])]


@given(st.lists(st.integers(min_value=1, max_value=9), unique=True), st.integers(0, 2), st.data())
def test_what_writers_and_compactors_leave_has_no_problem(
    written: list[int], statements: int, data: st.DataObject
) -> None:
    """Check deltas of statements, with compactions of any range before the old ones are gone."""
    names = [delta_name(w, w, s) for w in written for s in range(statements + 1)]
    names += [delete_delta_name(w, w, s) for w in written for s in range(statements)]
    if written:
        top = data.draw(st.sampled_from(written))
        minor = data.draw(st.booleans())
        names += (
            [
                delta_name(1, top, visibility_txn_id=9),
                delete_delta_name(1, top, visibility_txn_id=9),
            ]
            if minor
            else [base_name(top, visibility_txn_id=9)]
        )
    assert _directories(*names) == []
    assert _together(*names) == []


def test_what_is_moved_aside_is_hidden_from_every_reader() -> None:
    """Check Hive's ``hiddenFileFilter``: names that begin with an underscore or a dot."""
    assert is_hidden(ASIDE)
    assert _directories(ASIDE) == _together(ASIDE, delta_name(1, 1, 0)) == []


def _listing(files: Mapping[str, int], directories: Sequence[str] = ()) -> Listing:
    return Listing(
        path="file:/t/d",
        names=tuple(sorted([*files, *directories])),
        files={name: FileVersion(size, 0) for name, size in files.items()},
    )


def _files(
    directory: str,
    files: Mapping[str, int],
    directories: Sequence[str] = (),
    *,
    buckets: int = 0,
    is_raw: bool = False,
) -> list[tuple[str, str]]:
    parsed = parse_directory(directory)
    assert parsed is not None
    listing = _listing({"_orc_acid_version": 1, **files}, directories)
    rules = FileRules(buckets=buckets)
    return [
        (name, path.removeprefix("d/"))
        for name, path in _found(list(file_problems(parsed, listing, rules, is_raw=is_raw)))
    ]


_DELTA = delta_name(1, 1, 0)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"bucket_00000": 9, "bucket_00001_7": 9, "_side": 1, ".x": 1}, []),
        ({"part-0": 9}, [("FOREIGN_FILE", "part-0")]),
        ({"bucket_00000.orc": 9}, [("FOREIGN_FILE", "bucket_00000.orc")]),
        ({"bucket_1": 9}, [("INVALID_BUCKET_FILE_NAME", "bucket_1")]),
        ({"bucket_04096": 9}, [("BUCKET_OUT_OF_RANGE", "bucket_04096")]),
        (
            {"bucket_00000": 9, "bucket_00000_1": 9},
            [("DUPLICATE_BUCKET_FILE", "bucket_00000_1")],
        ),
        ({"bucket_00000": 0}, [("EMPTY_FILE", "bucket_00000")]),
        (
            {"bucket_00000": 9, "bucket_00000_flush_length": 8},
            [("STRAY_SIDE_FILE", "bucket_00000_flush_length")],
        ),
    ],
)
def test_files_of_a_delta(files: Mapping[str, int], expected: list[tuple[str, str]]) -> None:
    assert _files(_DELTA, files) == expected


def test_directories_in_a_delta() -> None:
    assert _files(_DELTA, {"bucket_00000": 9}, ["x", "_y"]) == [("FOREIGN_FILE", "x")]


def test_a_bucket_that_the_table_does_not_have() -> None:
    files = {"bucket_00001": 9, "bucket_00002": 9}
    assert _files(_DELTA, files, buckets=2) == [("TOO_MANY_BUCKETS", "bucket_00002")]


def test_files_of_a_streaming_client() -> None:
    """Check that it may have empty files, and side files beside those that are open."""
    files = {"bucket_00000": 0, "bucket_00001": 9, "bucket_00001_flush_length": 8}
    assert _files("delta_0000001_0000002", files) == []


def test_empty_files_lose_delete_events_whoever_wrote_them() -> None:
    for name in (delete_delta_name(1, 2), delete_delta_name(1, 1, 0)):
        assert _files(name, {"bucket_00000": 0}) == [("EMPTY_FILE", "bucket_00000")]


def test_files_without_row_ids_in_a_directory() -> None:
    files = {"000000_0": 9, "000000_0_copy_1": 9, "bucket": 9}
    assert _files(_DELTA, files, is_raw=True) == [("INVALID_ORIGINAL_FILE_NAME", "bucket")]


def test_a_version_file_that_is_missing() -> None:
    for name, expected in {_DELTA: ["NO_VERSION_FILE"], base_name(2, 7): []}.items():
        parsed = parse_directory(name)
        assert parsed is not None
        listing = _listing({"bucket_00000": 9})
        found = list(file_problems(parsed, listing, FileRules(), is_raw=False))
        assert [problem.name for problem in found] == expected


@pytest.mark.parametrize(
    ("path", "rules", "expected"),
    [
        ("000000_0", FileRules(), []),
        ("HIVE_UNION_SUBDIR_1/000001_0", FileRules(buckets=2), []),
        ("000002_0", FileRules(buckets=2), ["TOO_MANY_BUCKETS"]),
        ("part-00000", FileRules(), ["INVALID_ORIGINAL_FILE_NAME"]),
        ("000000_0", FileRules(insert_only=True), ["UNSUPPORTED_ORIGINAL_FILES"]),
    ],
)
def test_original_files(path: str, rules: FileRules, expected: list[str]) -> None:
    found = list(original_problems("file:/t", [path], rules))
    assert [problem.name for problem in found] == expected


def test_files_that_a_base_hides() -> None:
    listing = Listing(
        path="file:/t",
        names=("000000_0", "base_0000001", "notes.txt", "sub"),
        files={"000000_0": FileVersion(1, 0), "notes.txt": FileVersion(1, 0)},
    )
    state = _state(listing.names)
    found = list(forgotten_problems(listing, state, insert_only=False))
    assert _found(found) == [("FOREIGN_FILE", "notes.txt")]
