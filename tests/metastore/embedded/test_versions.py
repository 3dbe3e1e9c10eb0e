"""Versions of tables: what had committed, in the order of the commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.errors import AcidAnalysisError, AcidLookupError
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, Table
from acidsql.metastore.moments import (
    BeforeTransactionMoment,
    TableVersion,
    TagMoment,
    TimeMoment,
    TransactionMoment,
    WriteIdMoment,
)

T = Table(database="default", name="t", columns=(Column(name="id", type="int"),), location="f:/t")


@contextmanager
def opened(now: list[float]) -> Iterator[EmbeddedMetastore]:
    with TemporaryDirectory() as home:
        store = EmbeddedMetastore(f"{home}/m.sqlite", synchronous=False, clock=lambda: now[0])
        store.create_table(T)
        yield store
        store.close()


def visible(version: TableVersion) -> set[int]:
    """Return the write ids that a version has."""
    ids = version.write_ids
    return {w for w in range(1, ids.high_water_mark + 1) if ids.is_valid(w)}


Step = tuple[str, int, float]
steps = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "commit", "commit", "abort"]),
        st.integers(0, 5),
        st.sampled_from([0.0, 1.0, 2.5, -7.0]),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_a_version_is_what_had_committed(history: list[Step]) -> None:
    """Whatever commits first, and however the clock is set back."""
    now, running = [1000.0], dict[int, int]()
    committed: list[tuple[int, int, float]] = []  # write id, transaction, time
    with opened(now) as store:
        for kind, choice, pause in history:
            now[0] = max(now[0] + pause, 1.0)
            if kind == "write":
                txn_id = store.open_txn("ann", "host")
                running[txn_id] = store.allocate_write_id(txn_id, "default", "t")
            elif running:
                txn_id = sorted(running)[choice % len(running)]
                write_id = running.pop(txn_id)
                if kind == "commit":
                    store.commit_txn(txn_id)
                    committed.append((write_id, txn_id, now[0]))
                else:
                    store.abort_txn(txn_id)
        now[0] = 10_000.0
        for number, (write_id, txn_id, ended) in enumerate(committed, 1):
            known = {w for w, _, _ in committed[:number]}
            version = store.find_version("default", "t", WriteIdMoment(write_id=write_id))
            assert (version.write_id, version.committed, visible(version)) == (
                write_id,
                ended,
                known,
            )
            assert version.complete_up_to < min(
                {w for w, _, _ in committed[number:]} | {*running.values()} | {10**6}
            )
            by_txn = store.find_version("default", "t", TransactionMoment(txn_id=txn_id))
            assert visible(by_txn) == known
            before = store.find_version("default", "t", BeforeTransactionMoment(txn_id=txn_id))
            assert visible(before) == known - {write_id}
            at = TimeMoment(microseconds=round(ended * 1_000_000))
            last = max(i for i, (_, _, time) in enumerate(committed, 1) if time <= ended)
            by_time = store.find_version("default", "t", at)
            assert visible(by_time) == {w for w, _, _ in committed[:last]}
        assert not visible(store.find_version("default", "t", WriteIdMoment(write_id=0)))


def test_what_a_cleaner_removes_is_told_to_later_readers() -> None:
    with opened([1000.0]) as store:
        for _ in range(3):
            txn_id = store.open_txn("ann", "host")
            store.allocate_write_id(txn_id, "default", "t")
            store.commit_txn(txn_id)
        first = store.find_version("default", "t", WriteIdMoment(write_id=1))
        last = store.find_version("default", "t", WriteIdMoment(write_id=3))
        reader = store.open_txn("ann", "host")
        assert store.hold_history(reader, "default", "t", first) == {}
        assert not store.start_removal("default", "t", None, 2)
        assert store.start_removal("default", "t", None, 1)
        store.commit_txn(reader)
        assert store.start_removal("default", "t", None, 3)
        reader = store.open_txn("ann", "host")
        assert store.hold_history(reader, "default", "t", last) == {None: 3}
        assert store.start_removal("default", "t", None, 3)
        store.abort_txn(reader)
        assert store.oldest_version("default", "t", 3) == 3


def test_directories_of_others_may_have_been_cleaned_by_them() -> None:
    with opened([1000.0]) as store:
        store.seed_write_id("default", "t", 8)
        version = store.find_version("default", "t", WriteIdMoment(write_id=5))
        assert visible(version) == {1, 2, 3, 4, 5}
        reader = store.open_txn("ann", "host")
        assert store.hold_history(reader, "default", "t", version) is None
        with pytest.raises(AcidAnalysisError, match="VERSION_NOT_FOUND"):
            store.find_version("default", "t", WriteIdMoment(write_id=8))


def test_times_of_others_writes_are_not_known() -> None:
    now = [1000.0]
    with opened(now) as store:
        txn_id = store.open_txn("ann", "host")
        store.allocate_write_id(txn_id, "default", "t")
        store.commit_txn(txn_id)
        store.seed_write_id("default", "t", 8)
        for moment in (
            TimeMoment(microseconds=1_000_000_000),
            TransactionMoment(txn_id=txn_id),
        ):
            with pytest.raises(AcidAnalysisError, match="HISTORY_NOT_AVAILABLE"):
                store.find_version("default", "t", moment)


def test_a_tag_that_a_cleaner_has_not_considered_holds_it_back() -> None:
    now = [1000.0]
    with opened(now) as store:
        for _ in range(3):
            txn_id = store.open_txn("ann", "host")
            store.allocate_write_id(txn_id, "default", "t")
            store.commit_txn(txn_id)
        tag = store.create_tag("default", "t", "q", WriteIdMoment(write_id=1), 50.0)
        assert (tag.name, tag.version.write_id, tag.created, tag.expires) == ("q", 1, 1000, 1050)
        assert store.tags("default", "t") == (tag,)
        assert not store.start_removal("default", "t", None, 2)
        assert store.start_removal("default", "t", None, 2, [tag.tag_id])
        reader = store.open_txn("ann", "host")
        tagged = store.find_version("default", "t", TagMoment(name="q"))
        assert tagged == store.find_version("default", "t", WriteIdMoment(write_id=1))
        # It is there although directories were removed that other versions need.
        assert store.hold_history(reader, "default", "t", tagged) == {}
        second = store.find_version("default", "t", WriteIdMoment(write_id=2))
        assert store.hold_history(reader, "default", "t", second) == {None: 2}
        store.commit_txn(reader)
        now[0] = 1050.0
        reader = store.open_txn("ann", "host")
        assert store.hold_history(reader, "default", "t", tagged) == {None: 2}
        store.commit_txn(reader)
        assert store.start_removal("default", "t", None, 3)
        store.drop_tag("default", "t", "q")
        with pytest.raises(AcidLookupError, match="TAG_NOT_FOUND"):
            store.drop_tag("default", "t", "q")
        newest = store.create_tag("default", "t", "q", None, None)
        assert newest.tag_id > tag.tag_id
        assert (newest.version.write_id, newest.expires) == (3, None)
        with pytest.raises(AcidAnalysisError, match="TAG_ALREADY_EXISTS"):
            store.create_tag("default", "t", "q", None, None)
