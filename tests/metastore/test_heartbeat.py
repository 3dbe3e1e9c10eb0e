from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

import pytest

from acidsql.errors import MetastoreError, TransactionStateError
from acidsql.metastore.protocol import Metastore
from acidsql.session.heartbeat import Heartbeater
from tests.limits import set_limits


@pytest.mark.parametrize("beats", [1, 3])
def test_heartbeats_keep_transactions_open(
    metastore: Metastore,
    advance: Callable[[float], None],
    reap: Callable[[], tuple[int, ...]],
    beats: int,
) -> None:
    heartbeater = Heartbeater(metastore)
    kept, left = (metastore.open_txn("ann", "host") for _ in range(2))
    heartbeater.add(kept)
    heartbeater.add(left)
    heartbeater.remove(left)
    for _ in range(beats):
        advance(metastore.txn_timeout * 0.9)
        assert heartbeater.beat()
    advance(metastore.txn_timeout * 0.9)
    assert reap() == (left,)
    assert heartbeater.lost() == frozenset()
    heartbeater.stop()


def test_aborted_transactions_are_lost(
    metastore: Metastore, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeater = Heartbeater(metastore)
    lost, kept = (metastore.open_txn("ann", "host") for _ in range(2))
    heartbeater.add(lost)
    heartbeater.add(kept)
    metastore.abort_txn(lost)
    assert heartbeater.beat()
    assert heartbeater.lost() == {lost}
    assert f"[{lost}]" in caplog.text
    heartbeater.remove(lost)
    assert heartbeater.lost() == frozenset()
    heartbeater.stop()


def test_failed_heartbeat_is_logged_and_sent_again(
    metastore: Metastore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Sequence[int]) -> tuple[int, ...]:
        raise MetastoreError("METASTORE_BUSY", "the metastore is locked")

    heartbeater = Heartbeater(metastore)
    txn_id = metastore.open_txn("ann", "host")
    heartbeater.add(txn_id)
    with monkeypatch.context() as patch:
        patch.setattr(metastore, "heartbeat", fail)
        assert not heartbeater.beat()
    assert "the metastore is locked" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert heartbeater.lost() == frozenset()
    assert heartbeater.beat()
    heartbeater.stop()


def test_nothing_to_keep_alive(metastore: Metastore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metastore, "heartbeat", None)
    heartbeater = Heartbeater(metastore)
    assert heartbeater.beat()
    heartbeater.stop()


def test_thread_beats_until_stopped_and_may_start_again(
    metastore: Metastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats: list[Sequence[int]] = []
    enough = threading.Event()

    def record(txn_ids: Sequence[int]) -> tuple[int, ...]:
        beats.append(txn_ids)
        if len(beats) == 1:
            raise MetastoreError("METASTORE_BUSY", "the metastore is locked")
        if len(beats) >= 3:
            enough.set()
        return ()

    monkeypatch.setattr(metastore, "heartbeat", record)
    others = set(threading.enumerate())
    heartbeater = Heartbeater(metastore, interval=0.001)
    for _ in range(2):
        heartbeater.add(7)
        assert enough.wait(30)
        heartbeater.stop()
        heartbeater.stop()
        started = set(threading.enumerate()) - others
        assert not any(t.name == "acidsql-heartbeat" for t in started)
        enough.clear()
    assert set(map(tuple, beats)) == {(7,)}


def test_no_heartbeats_are_sent_for_a_thread_that_has_ended(
    metastore: Metastore,
    advance: Callable[[float], None],
    reap: Callable[[], tuple[int, ...]],
) -> None:
    heartbeater = Heartbeater(metastore)
    left, kept, disowned = (metastore.open_txn("ann", "host") for _ in range(3))
    ended = threading.Thread(target=lambda: None)
    ended.start()
    ended.join()
    heartbeater.add(left, ended)
    heartbeater.add(kept, threading.current_thread())
    heartbeater.add(disowned, ended)
    heartbeater.add(disowned)
    for _ in range(2):
        advance(metastore.txn_timeout * 0.9)
        assert heartbeater.beat()
    assert reap() == (left,)
    heartbeater.stop()


def test_a_session_looks_at_its_leases_between_heartbeats(
    metastore: Metastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, lease_look_seconds=0.001)
    beats: list[Sequence[int]] = []
    monkeypatch.setattr(metastore, "heartbeat", beats.append)
    heartbeater = Heartbeater(metastore, interval=3600)
    looked = threading.Semaphore(0)
    heartbeater.look = looked.release
    heartbeater.add(7)
    assert looked.acquire(timeout=30)
    assert looked.acquire(timeout=30)
    heartbeater.stop()
    assert beats == []


def test_what_could_not_be_aborted_is_aborted_later(
    metastore: Metastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = [True]
    abort = metastore.abort_txn

    def abort_txn(txn_id: int) -> None:
        if failing:
            raise MetastoreError("METASTORE_BUSY", "the disk is full")
        abort(txn_id)

    heartbeater = Heartbeater(metastore)
    left, ended = (metastore.open_txn("ann", "host") for _ in range(2))
    abort(ended)
    monkeypatch.setattr(metastore, "abort_txn", abort_txn)
    for txn_id in (left, ended):
        heartbeater.abort_later(txn_id)
    heartbeater.abort_failed()
    metastore.require_open(left)
    failing.clear()
    for _ in range(2):
        heartbeater.abort_failed()
        with pytest.raises(TransactionStateError):
            metastore.require_open(left)
