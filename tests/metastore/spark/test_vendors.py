"""Servers that call themselves Hive 3 and are newer, as those of Cloudera Runtime 7 do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from acidsql.errors import MetastoreError, WriteConflictError
from acidsql.metastore.hive.connection import Connections
from acidsql.metastore.hive.server import Server
from tests.metastore.server.launcher import MetastoreServer
from tests.metastore.spark.conftest import Client
from tests.metastore.spark.test_conflicts import in_the_middle, made
from tests.scenario import core

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

_VERSION = "3.1.3000.7.1.9.0-387"


@pytest.fixture(autouse=True)
def renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all servers report the version of a vendor."""
    monkeypatch.setattr(Server, "version", property(lambda _: _VERSION))


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", ["4.1.0", "4.0.1"])
def test_core_statements(
    client: Callable[[str], Client],
    metastore_server: Callable[[str], MetastoreServer],
    version: str,
) -> None:
    ann = client(version)
    assert not ann.session.metastore.capabilities.readers_know_zstd
    core(ann.spark, f"file:{metastore_server(version).warehouse}/core")


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", ["4.1.0", "4.0.1"])
def test_no_update_is_lost(client: Callable[[str], Client], version: str) -> None:
    ann, bob = client(version), client(version)
    made(ann, partitioned=True)
    overtakes = partial(bob.sql, "UPDATE t SET v = 'bob' WHERE id = 1")
    with in_the_middle(ann, overtakes), pytest.raises(WriteConflictError):
        ann.sql("UPDATE t SET v = concat(v, '!') WHERE id < 3")
    ann.sql("UPDATE t SET v = concat(v, '!') WHERE id < 3")
    assert bob.sql("SELECT id, v FROM t") == [(1, "bob!"), (2, "b!"), (3, "c")]


def test_calls_that_the_server_has_not_yet(
    client: Callable[[str], Client],
    metastore_server: Callable[[str], MetastoreServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = {"get_all_table_constraints", "get_max_allocated_table_write_id"}
    asked = []
    call = Connections.call

    def without(self: Connections, method: str, *arguments: Any, **options: Any) -> Any:
        if method in later:
            asked.append(method)
            raise MetastoreError("METASTORE_VERSION", f"no call {method}")
        return call(self, method, *arguments, **options)

    monkeypatch.setattr(Connections, "call", without)
    core(client("4.1.0").spark, f"file:{metastore_server('4.1.0').warehouse}/core")
    assert sorted(asked) == sorted(later)  # each once


def test_hive_3_is_no_such_server(client: Callable[[str], Client]) -> None:
    ann = client("3.1.3")
    made(ann)
    ann.sql("UPDATE t SET v = 'x' WHERE id = 1")
    assert ann.sql("SELECT * FROM t") == [(1, "x"), (2, "b"), (3, "c")]
    assert not ann.session.metastore.capabilities.readers_know_zstd
    assert ann.sql("SHOW TABLES IN default") == []
