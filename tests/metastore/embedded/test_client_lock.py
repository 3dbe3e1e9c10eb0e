"""Clients whose processes have ended: what they left open ends at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import acidsql
from acidsql.errors import TransactionStateError
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import (
    Column,
    CompactionState,
    CompactionType,
    LockRequest,
    LockState,
    LockType,
    Operation,
    Table,
)

PROGRAM = Path(__file__).parent.parent / "process_program.py"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(acidsql.__path__[0]).parent)}
INSERT = LockRequest(
    database="default",
    table="t",
    partition=None,
    type=LockType.SHARED_READ,
    operation=Operation.INSERT,
)


@pytest.fixture
def store(path: str) -> Iterator[EmbeddedMetastore]:
    store = EmbeddedMetastore(path)
    columns = (Column(name="a", type="int"),)
    store.create_table(Table(database="default", name="t", columns=columns))
    yield store
    store.close()


@contextmanager
def other_client(path: str, task: str = "hold") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a process that has a transaction, and what it says; kill it at the end."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), path, task],
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        kill(process)


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(60)


def client_files(path: str) -> list[str]:
    return [file.name for file in Path(path).parent.glob("*-client-*")]


def test_transactions_of_a_killed_process_end_at_once(store: EmbeddedMetastore, path: str) -> None:
    with other_client(path):
        store.open_txn("ann", "host")
        assert store.valid_txns().open == {1, 2}
    store.open_txn("ann", "host")
    assert store.valid_txns().open == {2, 3}
    assert store.valid_txns().aborted == {1}
    with pytest.raises(TransactionStateError, match="the process that ran it had ended"):
        store.require_open(1)


def test_locks_of_a_killed_process_are_released_while_another_waits(
    store: EmbeddedMetastore, path: str
) -> None:
    mine = store.open_txn("ann", "host")
    with other_client(path) as (process, _):
        assert store.lock(mine, [INSERT]) is LockState.WAITING
        assert store.check_lock(mine) is LockState.WAITING
        kill(process)
        assert store.check_lock(mine) is LockState.ACQUIRED


def test_an_entry_that_a_killed_worker_took_goes_back_to_the_queue(
    store: EmbeddedMetastore, path: str
) -> None:
    store.request_compaction("default", "t", None, CompactionType.MINOR)
    with other_client(path):
        assert [entry.state for entry in store.compactions()] == [CompactionState.WORKING]
    store.reap()
    assert [entry.state for entry in store.compactions()] == [CompactionState.INITIATED]
    taken = store.next_compaction("another")
    assert taken is not None
    assert taken.worker == "another"


def test_a_suspended_process_keeps_its_transaction(store: EmbeddedMetastore, path: str) -> None:
    with other_client(path) as (process, _):
        process.send_signal(signal.SIGSTOP)
        assert store.reap() == ()


def test_a_forked_child_does_not_keep_the_transactions_of_its_parent(
    store: EmbeddedMetastore, path: str
) -> None:
    with other_client(path, "fork") as (process, child):
        try:
            kill(process)
            # The child may not have let go of its parent's file yet.
            deadline = time.monotonic() + 30
            reaped = store.reap()
            while not reaped and time.monotonic() < deadline:
                time.sleep(0.05)
                reaped = store.reap()
            assert reaped == (1,)
        finally:
            os.kill(int(child), signal.SIGKILL)


# A test session may have threads of other tests; this child touches nothing but the store.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_is_a_client_of_its_own(store: EmbeddedMetastore) -> None:
    mine = store.open_txn("ann", "host")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            store.open_txn("child", "host")
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.reap() == (mine + 1,)
    assert store.valid_txns().open == {mine}


def test_a_client_that_closes_leaves_no_file(store: EmbeddedMetastore, path: str) -> None:
    store.commit_txn(store.open_txn("ann", "host"))
    assert len(client_files(path)) == 1
    store.close()
    assert client_files(path) == []


def test_what_a_closed_client_left_open_is_aborted(store: EmbeddedMetastore, path: str) -> None:
    left = store.open_txn("ann", "host")
    store.close()
    again = EmbeddedMetastore(path)
    assert again.reap() == (left,)
    again.close()


def test_a_new_client_deletes_the_files_of_those_that_have_ended(
    store: EmbeddedMetastore, path: str
) -> None:
    with other_client(path), other_client(path):
        pass
    assert len(client_files(path)) == 2
    store.open_txn("ann", "host")
    assert len(client_files(path)) == 1


def test_a_client_that_begins_with_a_compaction_deletes_them_too(
    store: EmbeddedMetastore, path: str
) -> None:
    with other_client(path):
        pass
    store.request_compaction("default", "t", None, CompactionType.MAJOR)
    assert store.next_compaction("worker") is not None
    store.open_txn("ann", "host")
    assert len(client_files(path)) == 1


def test_a_symbolic_link_leads_to_the_same_clients(store: EmbeddedMetastore, path: str) -> None:
    link = Path(path).with_name("link")
    link.mkdir()
    (link / "metastore").symlink_to(path)
    with other_client(str(link / "metastore")):
        pass
    assert store.reap() == (1,)


def test_only_the_time_out_ends_a_transaction_whose_client_cannot_be_told(
    store: EmbeddedMetastore, path: str
) -> None:
    with other_client(path):
        for name in client_files(path):
            Path(path).with_name(name).unlink()
    assert store.reap() == ()
