"""Targets ``names`` and ``lists``: names of files and partitions, texts of valid lists."""

from __future__ import annotations

from functools import partial

from hypothesis import strategies as st

from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.format.acid_metadata import parse_key_index, parse_stats
from acidsql.format.names import (
    LONG_MAX,
    is_hidden,
    is_original_file,
    parse_bucket_file,
    parse_directory,
)
from acidsql.format.partitions import (
    DEFAULT_PARTITION,
    escape,
    parse_partition_name,
    partition_name,
    unescape,
)
from acidsql.format.selection import select
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from tests.fuzz.broken import broken_texts
from tests.fuzz.target import Target

_NAMES = (
    *("base_0000001", "base_-9223372036854775808", "base_5_v0000007", "delta_0000001_0000001_0000"),
    *("delta_0000001_0000005_v0000009", "delete_delta_0000002_0000002_0000", "bucket_00000"),
    *("bucket_00001_0", "bucket_00000_flush_length", "000000_0_copy_1", "_orc_acid_version"),
    *("_metadata_acid", "_acidsql_staging_1", ".hive-staging", "p=1", "p=a%2Fb", DEFAULT_PARTITION),
    *("base_9223372036854775807", "base_9223372036854775808", "p=%00", "p=%", "p=%2", "p=%2f"),
)
_PARTS = (
    *(
        "base",
        "delta",
        "delete",
        "bucket",
        "copy",
        "_",
        "-",
        "v",
        "0",
        "1",
        "9",
        "00000",
        "%",
        "=",
        "/",
    ),
    *("%00", "%2F", "%2f", "%+1", "..", ".", " ", "\n", "\0", "\x7f", "९", "İ", "ſ", "\ud800", "𝟗"),
    *("9" * 19, "9" * 40, "9" * 5000, "\u0301", "\u202e", "😀", DEFAULT_PARTITION),
)
_LISTS = (
    *("default.t:5:9223372036854775807::", "5:3:3,4:1", "20:6:6-9:1,2,3", "t:1:2:3:4:5", "0:1::"),
    *("a:b:1:1:1-1:", "9:3:3-2:", "5:1:1-99999999999:", "1_0:11::", "\u0665:6::", " 5 : 6 : : "),
)
_LIST_PARTS = (
    *":,-_",
    *("0", "1", "12", "default.t", "9" * 19, "1-99999999999", "-1", " ", "+", "\u0665"),
)


def _check_names(text: str) -> None:
    directory = parse_directory(text)
    if directory is not None:
        assert directory.min_write_id <= directory.max_write_id <= LONG_MAX
        assert text.isascii()
    bucket = parse_bucket_file(text)
    assert bucket is None or (text.isascii() and bucket.bucket_id >= 0)
    is_hidden(text)
    is_original_file(text)
    assert unescape(escape(text)) == text
    assert "/" not in escape(text)
    assert "=" not in escape(text)
    assert escape(text) not in (".", "..") or text in (".", "..")
    name = partition_name(["p", "q"], [text, "x"])
    assert parse_partition_name(name) == (("p", text or DEFAULT_PARTITION), ("q", "x"))
    content = text.encode("utf-8", "surrogatepass")
    for parse in (
        partial(parse_partition_name, text),
        partial(parse_key_index, content),
        partial(parse_stats, content),
    ):
        try:
            parse()
        except FormatError as error:
            assert error.getSqlState()


def _check_directories(names: list[str]) -> None:
    found = [parsed for name in names if (parsed := parse_directory(name)) is not None]
    valid = ValidWriteIdList(table="t", high_water_mark=3, open=frozenset({2}))
    try:
        selected = select(names, valid, ValidTxnList(high_water_mark=8, aborted=frozenset({7})))
    except (FormatError, AcidAnalysisError) as error:
        assert error.getSqlState()
        return
    assert set(selected.directories) <= set(found)
    assert not set(selected.originals) & {directory.name for directory in found}


def _check_list(text: str) -> None:
    for kind in (ValidTxnList, ValidWriteIdList):
        try:
            parsed = kind.from_string(text)
        except FormatError as error:
            assert error.getCondition() == "INVALID_SNAPSHOT_TEXT"
            assert len(str(error)) < 1000
        else:
            assert kind.from_string(parsed.to_string()) == parsed


NAMES = Target(
    name="names",
    summary="names of directories, files and partitions",
    inputs=broken_texts(_NAMES, _PARTS),
    check=_check_names,
)
DIRECTORIES = Target(
    name="directories",
    summary="listings of tables",
    inputs=st.lists(broken_texts(_NAMES, _PARTS), max_size=6, unique=True),
    check=_check_directories,
)
LISTS = Target(
    name="lists",
    summary="valid lists of transactions and write ids",
    inputs=broken_texts(_LISTS, _LIST_PARTS).map(lambda text: text.replace(": ", ":")),
    check=_check_list,
)
