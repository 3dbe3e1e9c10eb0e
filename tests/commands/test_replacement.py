"""Definitions of tables that take the place of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from acidsql.commands.replace_table import keeps_layout, replacement
from acidsql.metastore.model import Column, FileFormat, Table

ID, V = Column(name="id", type="INT"), Column(name="v", type="STRING")
P = Column(name="p", type="INT")
OLD = Table(
    database="db",
    name="t",
    columns=(ID, V),
    partition_columns=(P,),
    location="file:/t",
    properties={"transactional": "true", "transactional_properties": "default", "mine": "1"},
    owner="ann",
    created=7,
    replaced_by=3,
)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"columns": (ID, V, Column(name="n", type="DATE"))}, True),
        ({"columns": (replace(ID, nullable=False, comment="key"), V)}, True),
        ({"columns": (replace(ID, name="ID"), V)}, True),
        ({"columns": (V, ID)}, False),
        ({"columns": (ID,)}, False),
        ({"columns": (replace(ID, type="BIGINT"), V)}, False),
        ({"columns": (replace(ID, name="other"), V)}, False),
        ({"partition_columns": ()}, False),
        ({"partition_columns": (replace(P, type="STRING"),)}, False),
        ({"num_buckets": 2, "bucket_columns": ("id",)}, False),
        ({"file_format": FileFormat.PARQUET}, False),
        ({"properties": {"transactional_properties": "insert_only"}}, False),
        ({"properties": {"bucketing_version": "2"}}, True),
    ],
)
def test_keeps_layout(changed: dict[str, Any], expected: bool) -> None:
    assert keeps_layout(OLD, replace(OLD, **changed)) is expected


def test_another_hash_of_the_buckets_is_another_layout() -> None:
    old = replace(OLD, num_buckets=2, bucket_columns=("id",))
    assert not keeps_layout(old, replace(old, properties={"bucketing_version": "2"}))


def test_what_a_replacement_keeps() -> None:
    made = Table(
        database="db",
        name="t",
        columns=(V,),
        location="file:/elsewhere",
        properties={"transactional": "true", "mine": "2", "new": "3"},
        owner="bob",
        created=9,
    )
    new = replacement(OLD, made)
    assert (new.owner, new.created, new.location, new.replaced_by) == ("ann", 7, "file:/t", 3)
    assert new.properties == {
        "transactional": "true",
        "transactional_properties": "default",
        "mine": "2",
        "new": "3",
    }
    assert (new.columns, new.partition_columns) == ((V,), ())


def test_another_kind_of_table_has_the_properties_of_its_own_kind() -> None:
    only = replace(
        OLD,
        properties={"transactional": "true", "transactional_properties": "insert_only"},
        file_format=FileFormat.TEXT,
        serde_properties={"field.delim": ","},
    )
    new = replacement(only, replace(OLD, properties={"transactional": "true"}))
    assert new.properties == {"transactional": "true"}
    assert new.serde_properties == {}


def test_the_hash_of_buckets_stays_as_long_as_the_buckets() -> None:
    old = replace(OLD, num_buckets=2, bucket_columns=("id",), properties={"bucketing_version": "1"})
    same = replace(old, properties={"bucketing_version": "2"})
    assert replacement(old, same).properties == {"bucketing_version": "1"}
    assert replacement(old, replace(same, num_buckets=3)).properties == {"bucketing_version": "2"}
