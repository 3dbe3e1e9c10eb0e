"""Tests of streaming clients of a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import AcidAnalysisError, LockTimeoutError, TransactionStateError
from acidsql.metastore.model import Column, LockState, Table
from acidsql.streaming import StreamingConnection, connect
from tests.metastore.subjects import TIMEOUT, HiveSubject, only
from tests.streaming.committed_rows import committed_rows
from tests.streaming.dying_client import killed

pytestmark = pytest.mark.metastore
every_kind = only("4.1.0", "3.1.3")
of_hive4 = only("4.1.0", "4.0.1")


@pytest.fixture
def root(subject: HiveSubject) -> Path:
    """Create a table ``t`` with the column ``id``; return its directory."""
    root = subject.server.warehouse / "t"
    root.mkdir()
    subject.store.create_table(
        Table(
            database="default",
            name="t",
            columns=(Column(name="id", type="int"),),
            location=root.as_uri().replace("file://", "file:"),
            properties={"transactional": "true"},
        )
    )
    return root


def _connect(subject: HiveSubject, **options: Any) -> StreamingConnection:
    return connect(metastore=subject.server.uri, table="t", synchronous=False, **options)


@every_kind
def test_a_killed_client_leaves_what_it_committed(subject: HiveSubject, root: Path) -> None:
    left_open = killed(subject.server.uri, "t")
    assert len(left_open) == 3
    assert committed_rows(subject.store, "t", root) == [(1,), (2,)]
    assert set(left_open) <= subject.store.valid_txns().open
    subject.advance(2 * TIMEOUT)
    assert set(left_open) <= set(subject.reap())
    with _connect(subject) as connection, connection.transaction():
        connection.write((4,))
    assert committed_rows(subject.store, "t", root) == [(1,), (2,), (4,)]
    assert [path.name for path in sorted(root.glob("delta_*"))] == [
        "delta_0000001_0000005",
        "delta_0000006_0000015",
    ]


@of_hive4
def test_the_server_keeps_offsets_with_commits(subject: HiveSubject, root: Path) -> None:
    with _connect(subject, stream="lines", transaction_batch_size=2) as connection:
        offsets = [connection.offset]
        for number in (1, 2, 3):
            with connection.transaction():
                connection.write((number,))
                connection.commit(offset=number)
        connection.begin()
        connection.write((4,))
        connection.abort()
        assert [*offsets, connection.offset] == [None, 3]
    with _connect(subject, stream="others") as connection:
        assert connection.offset is None
        with connection.transaction():
            connection.write((10,))
            connection.commit(offset=1)
    with _connect(subject, stream="lines") as connection:
        assert connection.offset == 3
        with connection.transaction():
            connection.write((4,))  # a commit that says nothing leaves the offset
    with _connect(subject, stream="lines") as connection:
        assert connection.offset == 3
    assert committed_rows(subject.store, "t", root) == [(1,), (10,), (2,), (3,), (4,)]


@of_hive4
def test_two_clients_of_a_stream_are_noticed(subject: HiveSubject, root: Path) -> None:
    first, second = (_connect(subject, stream="lines", lock_timeout=0.5) for _ in range(2))
    with first, second:
        for connection in (first, second):
            connection.begin()
            connection.write((1,))
        first.commit(offset=1)
        with pytest.raises(TransactionStateError) as raised:
            second.commit(offset=1)
        assert raised.value.condition == "STREAM_OFFSET_CHANGED"
        # No one commits between the look at the offset and the commit of another one.
        store = subject.store
        committing = store.open_txn("ann", "host")
        lock = store.stream_lock("default", "t", "lines")
        assert lock is not None
        assert store.lock(committing, [lock]) is LockState.ACQUIRED
        first.begin()
        first.write((2,))
        with pytest.raises(LockTimeoutError):
            first.commit(offset=2)
        store.abort_txn(committing)
        assert first.offset == 1
    assert committed_rows(subject.store, "t", root) == [(1,)]


@of_hive4
def test_a_new_table_of_the_name_begins_anew(subject: HiveSubject, root: Path) -> None:
    with _connect(subject, stream="lines") as connection, connection.transaction():
        connection.commit(offset=5)
    table = subject.store.table("default", "t")
    subject.store.drop_table("default", "t")
    root.mkdir(exist_ok=True)
    subject.store.create_table(table)
    with _connect(subject, stream="lines") as connection:
        assert connection.offset is None
        with connection.transaction():
            connection.commit(offset=7)
    with _connect(subject, stream="lines") as connection:
        assert connection.offset == 7


@only("3.1.3")
def test_hive_3_keeps_no_offsets(subject: HiveSubject, root: Path) -> None:
    del root
    with pytest.raises(AcidAnalysisError, match=r"UNSUPPORTED_FEATURE\.STREAM_OFFSET"):
        _connect(subject, stream="lines")
