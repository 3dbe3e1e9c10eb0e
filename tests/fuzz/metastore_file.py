"""Target ``metastore``: files of the embedded metastore."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from acidsql.errors import AcidSqlError, MetastoreError
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import (
    Column,
    CompactionType,
    LockRequest,
    LockType,
    Operation,
    Partition,
    Table,
)
from tests.fuzz.broken import broken_bytes
from tests.fuzz.target import Target

_place: list[Path] = []
_TABLE = Table(
    database="default",
    name="t",
    columns=(Column(name="c", type="int"), Column(name="d", type="struct<a:int>", default="1")),
    partition_columns=(Column(name="p", type="string"),),
    location="file:/nowhere/t",
    properties={"transactional": "true"},
)


def _fill(store: EmbeddedMetastore) -> None:
    places = [Partition(values=(v,), location=f"file:/nowhere/t/p={v}") for v in "abc"]
    store.create_table(_TABLE, places)
    store.create_database("other", "file:/nowhere/other")
    for ends in (store.commit_txn, store.abort_txn, lambda _: None):
        txn_id = store.open_txn("ann", "host")
        store.allocate_write_id(txn_id, "default", "t")
        store.lock(txn_id, [_request()])
        ends(txn_id)
    store.request_compaction("default", "t", "p=a", CompactionType.MAJOR)


def _request() -> LockRequest:
    return LockRequest(
        database="default",
        table="t",
        partition=None,
        type=LockType.SHARED_READ,
        operation=Operation.INSERT,
    )


def _whole() -> list[bytes]:
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "metastore.db"
        empty = EmbeddedMetastore(str(path), synchronous=False)
        empty.close()
        contents = [path.read_bytes()]
        store = EmbeddedMetastore(str(path), synchronous=False)
        _fill(store)
        store.close()
        return [path.read_bytes(), *contents]


@contextmanager
def _a_place() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="acidsql-fuzz-") as home:
        _place[:] = [Path(home)]
        yield


def _check(drawn: tuple[bytes, bytes | None]) -> None:
    content, log = drawn
    for old in _place[0].iterdir():
        old.unlink()
    path = _place[0] / "metastore.db"
    path.write_bytes(content)
    if log is not None:
        path.with_name("metastore.db-wal").write_bytes(log)
    try:
        store = EmbeddedMetastore(str(path), synchronous=False)
    except MetastoreError as error:
        assert error.getSqlState()
        return
    try:
        for use in _uses(store):
            try:
                use()
            except AcidSqlError as error:
                assert error.getSqlState(), error
    finally:
        store.close()


def _uses(store: EmbeddedMetastore) -> list[Callable[[], Any]]:
    def write() -> None:
        txn_id = store.open_txn("ann", "host")
        store.allocate_write_id(txn_id, "default", "t")
        store.lock(txn_id, [_request()])
        store.heartbeat([txn_id])
        store.commit_txn(txn_id)

    def look() -> None:
        store.valid_write_ids("default", "t", store.valid_txns())

    return [
        store.databases,
        lambda: [store.table(d, t) for d in ("default", "other") for t in store.tables(d)],
        lambda: store.partitions("default", "t"),
        lambda: store.table_at("file:/nowhere/t", "default"),
        store.open_txns,
        store.locks,
        store.compactions,
        look,
        lambda: store.write_ids_after("default", "t", 0),
        write,
        store.reap,
        lambda: store.next_compaction("worker"),
        lambda: store.drop_table("default", "t"),
    ]


_CONTENT = broken_bytes(_whole())

METASTORE = Target(
    name="metastore",
    summary="files of the embedded metastore",
    inputs=st.tuples(_CONTENT, st.one_of(st.none(), st.none(), st.binary(max_size=200))),
    check=_check,
    around=_a_place,
)
