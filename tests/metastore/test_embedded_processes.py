"""Several processes on one file."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import acidsql
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, CompactionType, Table, TxnState

PROGRAM = Path(__file__).with_name("process_program.py")
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(acidsql.__path__[0]).parent)}


def started(path: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), path, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


def output(processes: list[subprocess.Popen[str]]) -> list[str]:
    lines: list[str] = []
    for process in processes:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        lines += out.splitlines()
    return lines


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "metastore.db")


@pytest.fixture
def store(path: str) -> Iterator[EmbeddedMetastore]:
    store = EmbeddedMetastore(path)
    for name in ("t", "u"):
        store.create_table(
            Table(database="default", name=name, columns=(Column(name="a", type="int"),))
        )
    yield store
    store.close()


def test_ordinals_are_unique_and_contiguous(store: EmbeddedMetastore, path: str) -> None:
    lines = output([started(path, "number", "15") for _ in range(2)])
    assert sorted(map(int, lines)) == list(range(0, 90, 3))
    assert store.reserve_ordinals("default", "t", 0) == 90


def test_ids_are_unique_and_contiguous(store: EmbeddedMetastore, path: str) -> None:
    lines = output([started(path, "write", "15") for _ in range(3)])
    pairs = [tuple(map(int, line.split())) for line in lines]
    assert sorted(txn_id for txn_id, _ in pairs) == list(range(1, 46))
    assert sorted(write_id for _, write_id in pairs) == list(range(1, 46))
    snapshot = store.valid_write_ids("default", "t", store.valid_txns())
    assert snapshot.to_string() == "default.t:45:9223372036854775807::"


def test_new_file_is_made_once(path: str) -> None:
    assert output([started(path, "take") for _ in range(4)]) == []
    store = EmbeddedMetastore(path)
    assert store.databases() == ("default",)
    store.close()


@pytest.mark.repeated
def test_compaction_is_never_given_to_two_workers(store: EmbeddedMetastore, path: str) -> None:
    requested = [
        store.request_compaction("default", "t", f"p={i}", CompactionType.MINOR).compaction_id
        for i in range(30)
    ]
    taken = output([started(path, "take") for _ in range(3)])
    assert sorted(map(int, taken)) == requested


def test_killed_process_leaves_the_file_usable(store: EmbeddedMetastore, path: str) -> None:
    process = started(path, "hang")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.communicate(timeout=60)
    assert store.next_write_id("default", "t") == 1
    assert [(txn.txn_id, txn.state) for txn in store.open_txns()] == [(1, TxnState.OPEN)]
    assert store.open_txn("ann", "host") == 2
    again = EmbeddedMetastore(path)
    assert again.valid_txns().open == {2}
    again.close()


# A test session may have threads of other tests; this child touches nothing but the store.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_between_two_uses(store: EmbeddedMetastore) -> None:
    before = store.open_txn("ann", "host")
    child = os.fork()
    if child == 0:
        # The child may not return into pytest.
        status = 1
        try:
            assert store.database._connection is None  # no connection crosses a fork
            store.commit_txn(before)
            status = 0 if store.open_txn("child", "host") == before + 1 else 2
            store.close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.valid_txns().is_valid(before)
    assert [txn.user for txn in store.open_txns()] == ["child"]
    assert store.open_txn("ann", "host") == before + 2


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_waits_for_the_transaction_of_another_thread(store: EmbeddedMetastore) -> None:
    inside, release = threading.Event(), threading.Event()

    def hold() -> None:
        with store.database.write() as connection:
            inside.set()
            assert release.wait(30)
            connection.execute("UPDATE tables SET next_write_id = 8")

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(30)
    threading.Timer(0.05, release.set).start()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if store.next_write_id("default", "t") == 8 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    holder.join()
    assert store.next_write_id("default", "t") == 8
