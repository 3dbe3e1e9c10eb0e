"""Leases of several threads: no Spark, a real embedded metastore."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from acidsql import bridge
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import TxnType
from acidsql.session.heartbeat import Heartbeater
from acidsql.session.leases import Lease, Leases, collection_interval


class Watch:
    """Watch over indexes that all are reachable."""

    def __init__(self, _: object) -> None:
        pass

    def reference(self, index: object) -> object:
        return index

    def has_unreachable(self) -> bool:
        return True


@pytest.fixture
def metastore(tmp_path: Path) -> Iterator[EmbeddedMetastore]:
    store = EmbeddedMetastore(str(tmp_path / "metastore.sqlite"))
    yield store
    store.close()


@pytest.fixture
def leases(metastore: EmbeddedMetastore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Leases]:
    monkeypatch.setattr(bridge, "RelationWatch", Watch)
    monkeypatch.setattr(bridge, "reachable", lambda _: True)
    heartbeater = Heartbeater(metastore)
    yield Leases(cast(Any, None), metastore, heartbeater, max_age=3600)
    heartbeater.stop()


def begun(leases: Leases, metastore: EmbeddedMetastore) -> Lease:
    txn_id = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
    return leases.begin(txn_id)


@pytest.mark.parametrize("end", ["prune", "release"])
def test_other_threads_leave_a_statement_that_is_being_planned(
    leases: Leases, metastore: EmbeddedMetastore, end: str
) -> None:
    planned, ended = threading.Event(), threading.Event()

    def plan() -> int:
        lease = begun(leases, metastore)
        planned.set()
        assert ended.wait(30)
        metastore.require_open(lease.txn_id)
        leases.watch(cast(bridge.JavaObject, "index"))
        leases.end_statement(lease)
        leases.prune()
        return lease.txn_id

    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(plan)
        assert planned.wait(30)
        getattr(leases, end)()
        ended.set()
        txn_id = result.result(30)
    metastore.require_open(txn_id)
    leases.release()
    assert metastore.open_txns() == ()


def test_a_statement_that_reads_nothing_keeps_no_lease(
    leases: Leases, metastore: EmbeddedMetastore
) -> None:
    leases.end_statement(begun(leases, metastore))
    leases.prune()
    assert metastore.open_txns() == ()


def test_closing_ends_all_leases(leases: Leases, metastore: EmbeddedMetastore) -> None:
    begun(leases, metastore)
    leases.end_statement(begun(leases, metastore))
    leases.close()
    assert metastore.open_txns() == ()


@pytest.mark.parametrize(
    ("taken", "fruitless", "seconds"),
    [(0.2, 0, 60.0), (3.0, 0, 150.0), (0.2, 1, 120.0), (0.2, 4, 960.0), (0.2, 2000, 960.0)],
)
def test_collections_for_cleaners_take_a_bounded_part_of_the_time(
    taken: float, fruitless: int, seconds: float
) -> None:
    assert collection_interval(taken, fruitless) == pytest.approx(seconds)
