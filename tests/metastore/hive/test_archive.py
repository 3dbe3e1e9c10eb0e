"""Tests of Thrift's JSON and of the definitions in archives, without a server."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import FormatError
from acidsql.metastore.hive.archive import archive_text, read_archive
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.thrift_json import decode, encode
from acidsql.metastore.model import Column, FileFormat, Partition, Table

_WORDS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8)


def test_the_form_is_that_of_hive() -> None:
    made = hms.StorageDescriptor(
        cols=[hms.FieldSchema(name="a", type="int")],
        compressed=False,
        numBuckets=-1,
        bucketCols=["a"],
        parameters={"k": "v"},
        serdeInfo=hms.SerDeInfo(parameters={}),
    )
    assert encode(made) == (
        '{"1":{"lst":["rec",1,{"1":{"str":"a"},"2":{"str":"int"}}]},"5":{"tf":0},"6":{"i32":-1},'
        '"7":{"rec":{"3":{"map":["str","str",0,{}]}}},"8":{"lst":["str",1,"a"]},'
        '"10":{"map":["str","str",1,{"k":"v"}]}}'
    )


def test_unknown_fields_are_left_out() -> None:
    found = decode(hms.FieldSchema, '{"1":{"str":"a"},"99":{"lst":["i64",2,1,2]},"2":{"i32":5}}')
    assert (found.name, found.type) == ("a", None)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"1":"a"}', '{"x":{"str":"a"}}', '{"1":{}}'])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        decode(hms.FieldSchema, text)


@given(
    comment=st.none() | _WORDS,
    properties=st.dictionaries(_WORDS, _WORDS),
    partitions=st.lists(_WORDS, max_size=3),
    buckets=st.integers(0, 3),
)
def test_what_is_written_is_read(
    comment: str | None, properties: dict[str, str], partitions: list[str], buckets: int
) -> None:
    table = Table(
        database="d",
        name="t",
        columns=(Column(name="a", type="int", comment=comment), Column(name="b", type="string")),
        partition_columns=(Column(name="p", type="string"),),
        properties={**properties, "transactional": "true", "bucketing_version": "2"},
        bucket_columns=("b",) if buckets else (),
        num_buckets=buckets,
        file_format=FileFormat.ORC,
        owner="ann",
        created=5,
    )
    made = [
        Partition(values=(value,), location=f"file:/x/{i}") for i, value in enumerate(partitions)
    ]
    found = read_archive("file:/x", archive_text(table, made))
    assert found.table == table
    assert found.transactional
    assert found.partitions == tuple(partition.values for partition in made)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"version":"0.2"}', '{"version":"1.0"}', '{"version":"0.2","table":"x"}'],
)
def test_other_files_are_refused(content: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_archive("file:/x", content)
    assert caught.value.getCondition() == "INVALID_ARCHIVE"


def test_the_table_of_a_replication_is_refused() -> None:
    with pytest.raises(FormatError, match="replication"):
        read_archive("file:/x", json.dumps({"version": "0.1", "repl.scope": "all"}))
