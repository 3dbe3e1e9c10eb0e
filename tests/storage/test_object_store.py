"""Tests of the choice of how files of a store are written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acidsql.storage.object_store import ACLS, APPEND, is_written_whole

_SCHEMES = frozenset({"s3a", "gs"})


def having(*capabilities: str) -> Callable[[str], bool]:
    return lambda asked: asked in capabilities


@pytest.mark.parametrize("scheme", ["hdfs", "o3fs", "viewfs", "abfss"])
def test_a_store_without_append_is_written_whole(scheme: str) -> None:
    assert is_written_whole(scheme, _SCHEMES, having())
    assert is_written_whole(scheme, _SCHEMES, having(ACLS))


def test_a_store_that_appends_is_used_like_hdfs() -> None:
    assert not is_written_whole("hdfs", _SCHEMES, having(APPEND))
    assert not is_written_whole("webhdfs", (), having(APPEND))


@pytest.mark.parametrize("scheme", ["abfs", "abfss"])
def test_an_account_of_azure_needs_a_hierarchical_namespace(scheme: str) -> None:
    assert not is_written_whole(scheme, _SCHEMES, having(APPEND, ACLS))
    assert is_written_whole(scheme, _SCHEMES, having(APPEND))
    assert is_written_whole(scheme, {scheme}, having(APPEND, ACLS))


def test_a_scheme_that_is_set_needs_no_question() -> None:
    def never(capability: str) -> bool:
        raise AssertionError(capability)

    assert is_written_whole("s3a", _SCHEMES, never)
    assert not is_written_whole("s3a", (), having(APPEND))
