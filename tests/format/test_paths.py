"""Paths as texts."""

from __future__ import annotations

import pytest

from acidsql.format.paths import parent


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("file:/a/b", "file:/a"),
        ("file:/a", "file:/"),
        ("file:///a/b", "file:///a"),
        ("hdfs://host:8020/a/b", "hdfs://host:8020/a"),
        ("hdfs://host:8020/a", "hdfs://host:8020/"),
        ("s3a://bucket/t", "s3a://bucket/"),
    ],
)
def test_parents(path: str, expected: str) -> None:
    assert parent(path) == expected
