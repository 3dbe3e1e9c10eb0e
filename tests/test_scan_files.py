"""What is handed to Spark's scans, without Spark."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.bridge.bits import Words, _packed
from acidsql.bridge.relations import ScanFile, _root


@pytest.mark.parametrize(
    ("paths", "root"),
    [
        (["file:/w/t/base_1/bucket_00000"], "file:/w/t/base_1"),
        (["file:/w/t/base_1/b", "file:/w/t/delta_2/b"], "file:/w/t"),
        (["file:/w/t/delta_2/b", "file:/w/t/base_1/b", "file:/w/t/delta_1/b"], "file:/w/t"),
        (["hdfs://h:9000/w/t/p=1/base_1/b", "hdfs://h:9000/w/t/p=2/base_1/b"], "hdfs://h:9000/w/t"),
        # Of other places, and of another file system, the directory of a file.
        (["hdfs://h:9000/a/base_1/b", "hdfs://h:9000/c/base_1/b"], "hdfs://h:9000/a/base_1"),
        (["hdfs://h:9000/w/base_1/b", "s3a://h/w/base_1/b"], "hdfs://h:9000/w/base_1"),
    ],
)
def test_the_root_of_files_is_no_directory_that_is_there(paths: list[str], root: str) -> None:
    assert _root([ScanFile(path, 1) for path in paths]) == f"{root}/_acidsql_snapshot"


def unpacked(content: bytes, depth: int) -> dict[tuple[int, ...], list[int]]:
    """What Spark's ``UnsafeArrayData`` reads there."""
    (size,) = struct.unpack_from("=q", content)
    nulls = np.frombuffer(content, np.uint64, -(-size // 64), 8)
    is_null = [bool(int(nulls[i // 64]) >> i % 64 & 1) for i in range(size)]
    items = np.frombuffer(content, np.int64, size, 8 + nulls.nbytes).tolist()
    if not depth:
        assert not any(is_null)
        return {(): items}
    found = {}
    for index, (item, missing) in enumerate(zip(items, is_null, strict=True)):
        assert missing == (item == 0)
        if not missing:
            start, length = item >> 32, item & 0xFFFFFFFF
            assert start % 8 == 0
            inner = unpacked(content[start : start + length], depth - 1)
            found.update({(index, *rest): words for rest, words in inner.items()})
    return found


_number = st.integers(-(2**63), 2**63 - 1)


@given(
    words=st.dictionaries(
        st.tuples(st.integers(0, 130), st.integers(0, 70)),
        st.lists(_number, min_size=1, max_size=70),
        max_size=20,
    )
)
def test_packed_arrays_are_read_back(words: dict[tuple[int, int], list[int]]) -> None:
    given_words: Words = {key: struct.pack(f"={len(own)}q", *own) for key, own in words.items()}
    assert unpacked(_packed(given_words), 2) == words
