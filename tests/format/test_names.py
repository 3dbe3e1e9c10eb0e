from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.format.names import (
    LONG_MAX,
    LONG_MIN,
    AcidDirectory,
    BucketFile,
    DirectoryKind,
    base_name,
    bucket_file_name,
    delete_delta_name,
    delta_name,
    is_hidden,
    is_original_file,
    parse_bucket_file,
    parse_directory,
)

BASE, DELTA, DELETE_DELTA = DirectoryKind
WRITE_IDS = st.integers(min_value=0, max_value=LONG_MAX)
STATEMENT_IDS = st.none() | st.integers(min_value=0, max_value=20_000)


@pytest.mark.parametrize(
    ("name", "kind", "minimum", "maximum", "statement_id", "visibility_txn_id"),
    [
        ("base_123", BASE, 123, 123, None, 0),
        ("base_0000123_v0000456", BASE, 123, 123, None, 456),
        ("base_-9223372036854775808", BASE, LONG_MIN, LONG_MIN, None, 0),
        ("base_-9223372036854775808_v7", BASE, LONG_MIN, LONG_MIN, None, 7),
        ("base_10000001_v0000005", BASE, 10_000_001, 10_000_001, None, 5),
        ("delta_1_1", DELTA, 1, 1, None, 0),
        ("delta_12_34", DELTA, 12, 34, None, 0),
        ("delta_12_34_56", DELTA, 12, 34, 56, 0),
        ("delta_12_34_v78", DELTA, 12, 34, None, 78),
        ("delta_12_34_56_v78", DELTA, 12, 34, 56, 78),
        ("delta_0000062_62_0", DELTA, 62, 62, 0, 0),
        ("delete_delta_0000005_0000005_0001", DELETE_DELTA, 5, 5, 1, 0),
        ("delete_delta_1_5_v0000009", DELETE_DELTA, 1, 5, None, 9),
    ],
)
def test_directory_names_of_every_hive_are_parsed(
    name: str,
    kind: DirectoryKind,
    minimum: int,
    maximum: int,
    statement_id: int | None,
    visibility_txn_id: int,
) -> None:
    assert parse_directory(name) == AcidDirectory(
        name=name,
        kind=kind,
        min_write_id=minimum,
        max_write_id=maximum,
        statement_id=statement_id,
        visibility_txn_id=visibility_txn_id,
    )


@pytest.mark.parametrize(
    "name",
    [
        "",
        "base_",
        "base_x",
        "base_-5",
        "base_5_",
        "base_5_6",
        "base_5\n",
        "base_\u0665",
        "base_9223372036854775808",
        "base_" + "9" * 5000,
        "delta_1_" + "9" * 5000,
        "delta_1",
        "delta_5_4",
        "delta_1_2_3_4",
        "delta_1_2_v",
        "delta_-1_2",
        "_delta_1_1",
        "delete_delta_1",
        "bucket_00000",
        "000000_0",
    ],
)
def test_other_names_are_not_acid_directories(name: str) -> None:
    assert parse_directory(name) is None


def test_ids_wider_than_their_padding_are_printed_whole() -> None:
    assert delta_name(10_000_001, 10_000_001, 12_345) == "delta_10000001_10000001_12345"
    assert base_name(LONG_MIN, 3) == "base_-9223372036854775808_v0000003"


@given(WRITE_IDS, WRITE_IDS, STATEMENT_IDS, WRITE_IDS, st.booleans())
def test_delta_names_round_trip(
    one: int, other: int, statement_id: int | None, txn_id: int, delete: bool
) -> None:
    minimum, maximum = sorted((one, other))
    name = (delete_delta_name if delete else delta_name)(minimum, maximum, statement_id, txn_id)
    assert parse_directory(name) == AcidDirectory(
        name=name,
        kind=DELETE_DELTA if delete else DELTA,
        min_write_id=minimum,
        max_write_id=maximum,
        statement_id=statement_id,
        visibility_txn_id=txn_id,
    )


@given(WRITE_IDS | st.just(LONG_MIN), WRITE_IDS)
def test_base_names_round_trip(write_id: int, txn_id: int) -> None:
    parsed = parse_directory(base_name(write_id, txn_id))
    assert parsed is not None
    assert (parsed.min_write_id, parsed.max_write_id) == (write_id, write_id)
    assert parsed.visibility_txn_id == txn_id


@given(st.text(max_size=20) | st.from_regex(r"(delete_)?(delta|base)_[0-9_v-]{0,12}"))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    parsed = parse_directory(text)
    assert parsed is None or parsed.name == text


@pytest.mark.parametrize(
    ("name", "bucket_id", "attempt_id"),
    [("bucket_00000", 0, None), ("bucket_00012_3", 12, 3), ("bucket_4", 4, None)],
)
def test_bucket_files_are_parsed(name: str, bucket_id: int, attempt_id: int | None) -> None:
    assert parse_bucket_file(name) == BucketFile(
        name=name, bucket_id=bucket_id, attempt_id=attempt_id
    )


@pytest.mark.parametrize(
    "name",
    [
        "bucket_00000_flush_length",
        "bucket_00000.orc",
        "bucket_00000_0_1",
        "bucket_",
        "bucket_00000\n",
        "bucket_" + "9" * 5000,
        "000000_0",
        "_bucket_00000",
    ],
)
def test_other_files_are_not_bucket_files(name: str) -> None:
    assert parse_bucket_file(name) is None


@given(st.integers(min_value=0, max_value=4095))
def test_bucket_file_names_round_trip(bucket_id: int) -> None:
    parsed = parse_bucket_file(bucket_file_name(bucket_id))
    assert parsed is not None
    assert (parsed.bucket_id, parsed.attempt_id) == (bucket_id, None)


def test_hidden_names() -> None:
    assert is_hidden("_orc_acid_version")
    assert is_hidden(".bucket_00000.crc")
    assert not is_hidden("delta_1_1")


def test_original_files() -> None:
    assert all(map(is_original_file, ("000000_0", "000001_1", "000002_0_copy_10")))
    assert not any(map(is_original_file, ("bucket_00000", "000000", "000000_0_copy_", "0_0.orc")))
