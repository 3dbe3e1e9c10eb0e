"""Tests that files to scan arrive in the JVM as they are."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import StructType

from acidsql.bridge.file_statuses import (
    IS_FILE,
    MODIFIED,
    PATH,
    SIZE,
    TYPE,
    ScanFile,
    encode,
)
from acidsql.bridge.relations import file_relation
from acidsql.format.protobuf import integer, octets, read_fields

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = st.lists(
    st.builds(
        ScanFile,
        path=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        size=st.integers(0, 2**62),
        ordinal=st.integers(0, 2**31 - 1),
    )
)


def decoded(data: bytes) -> Iterator[ScanFile]:
    """Decode what ``encode`` made, as ``ObjectWritable`` and ``FileStatusProto`` say."""
    position = 0

    def take(size: int) -> bytes:
        nonlocal position
        position += size
        assert position <= len(data)
        return data[position - size : position]

    def text() -> str:
        return take(struct.unpack(">H", take(2))[0]).decode()

    assert text() == "[Lorg.apache.hadoop.fs.FileStatus;"
    for _ in range(struct.unpack(">i", take(4))[0]):
        assert [text(), text()] == ["org.apache.hadoop.fs.FileStatus"] * 2
        message = take(struct.unpack(">i", take(4))[0])
        fields = {field.number: field for field in read_fields(message)}
        assert fields.keys() == {TYPE, PATH, SIZE, MODIFIED}
        assert integer(fields[TYPE]) == IS_FILE
        yield ScanFile(
            octets(fields[PATH]).decode(), integer(fields[SIZE]), integer(fields[MODIFIED])
        )
    assert position == len(data)


@given(FILES)
def test_files_are_encoded_as_hadoop_reads_them(files: Sequence[ScanFile]) -> None:
    assert list(decoded(encode(files))) == files


@pytest.mark.slow
@pytest.mark.spark
def test_files_arrive_in_the_jvm(spark: SparkSession) -> None:
    files = [
        ScanFile("file:/w/t/p=a b%2Fé😀/base_0000001/bucket_00000", 2**40, 7),
        ScanFile("hdfs://h:9000/w/t/delta_0000002_0000002_0000/bucket_00001", 0, 0),
    ]
    _, index = file_relation(spark, files, StructType(), {}, StructType())
    found = index.allFiles()
    arrived = [
        (status.getPath().toString(), status.getLen(), status.getModificationTime())
        for status in (found.apply(i) for i in range(found.size()))
        if status.isFile()
    ]
    assert arrived == [tuple(file) for file in files]
