"""Tests of Hadoop's checksum files."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st

from acidsql.checking.checksums import checksum_name, file_of_checksum, mismatch


def _checksums(content: bytes, chunk: int = 512) -> bytes:
    parts = [content[i : i + chunk] for i in range(0, len(content), chunk)]
    sums = b"".join(struct.pack(">I", zlib.crc32(part)) for part in parts)
    return b"crc\0" + struct.pack(">i", chunk) + sums


@given(st.binary(max_size=3000), st.sampled_from([1, 7, 512]))
def test_a_file_matches_its_own_checksums(content: bytes, chunk: int) -> None:
    checksums = _checksums(content, chunk)
    assert mismatch(checksums, len(content)) is None
    assert mismatch(checksums, len(content), BytesIO(content)) is None


@given(st.binary(min_size=1, max_size=3000), st.data())
def test_a_changed_byte_is_found_by_the_content_alone(content: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[place] ^= 1
    checksums = _checksums(content)
    assert mismatch(checksums, len(changed)) is None
    found = mismatch(checksums, len(changed), BytesIO(changed))
    assert found == f"the 512 bytes from {place // 512 * 512} on have another checksum"


def test_another_number_of_chunks_is_found_by_the_size() -> None:
    content = bytes(1024)
    assert mismatch(_checksums(content), 1025) == ("it has checksums of 2 chunks, the file has 3")


def test_what_is_no_checksum_file() -> None:
    assert mismatch(b"", 0) == "the checksum file is cut off"
    assert mismatch(b"crc\1" + bytes(4), 0) == "the checksum file does not begin like one"
    assert mismatch(b"crc\0" + bytes(4), 0) == "the checksum file does not begin like one"


def test_names() -> None:
    assert file_of_checksum(checksum_name("bucket_00000")) == "bucket_00000"
    assert [file_of_checksum(n) for n in (".crc", "a.crc", ".a", "..crc")] == [None] * 4
