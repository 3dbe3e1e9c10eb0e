"""Conflicts by row: what the embedded metastore has a client compare, and what a commit checks."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule

from acidsql.errors import TransactionStateError, WriteConflictError
from acidsql.metastore.comparison import Compared
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, LockRequest, LockType, Operation, Table

U, D = Operation.UPDATE, Operation.DELETE
NOTHING = Compared()


def changing(table: str, operation: Operation = U, *, dynamic: bool = False) -> LockRequest:
    """The lock of UPDATE, DELETE and MERGE."""
    return LockRequest(
        database="db",
        table=table,
        partition=None,
        type=LockType.SHARED_WRITE,
        operation=operation,
        dynamic_partitions=dynamic,
    )


def replacing(table: str, partition: str | None = None) -> LockRequest:
    """The operation of INSERT OVERWRITE, under a lock that lets both run."""
    return LockRequest(
        database="db", table=table, partition=partition, type=LockType.SHARED_READ, operation=U
    )


def opened(store: EmbeddedMetastore, *requests: LockRequest) -> int:
    txn_id = store.open_txn("ann", "host")
    for table in {request.table for request in requests}:
        store.allocate_write_id(txn_id, "db", table)
    store.lock(txn_id, requests)
    return txn_id


@pytest.mark.usefixtures("tables")
class TestRivals:
    def test_a_change_of_the_same_table_is_to_be_compared(self, store: EmbeddedMetastore) -> None:
        first, second = opened(store, changing("t")), opened(store, changing("t", D))
        assert store.commit_txn(first, NOTHING)
        (other,) = store.concurrent_writes(second)
        assert (other.txn_id, other.write_id, other.place) == (first, 1, (("db", "t"), None))
        assert (other.operation, other.own_operation) == (U, D)
        assert not store.commit_txn(second, NOTHING)
        assert store.valid_txns().open == {second}
        assert store.commit_txn(second, Compared(disjoint=frozenset({first})))
        assert store.valid_txns().is_valid(second)

    def test_without_a_comparison_the_partition_is_the_unit(self, store: EmbeddedMetastore) -> None:
        first, second = opened(store, changing("t")), opened(store, changing("t"))
        store.commit_txn(first)
        with pytest.raises(WriteConflictError, match=rf"by transaction {first}\b"):
            store.commit_txn(second)

    def test_who_commits_after_the_comparison_is_compared_too(
        self, store: EmbeddedMetastore
    ) -> None:
        first, second, last = (opened(store, changing("t")) for _ in range(3))
        store.commit_txn(first, NOTHING)
        compared = Compared(disjoint=frozenset({first}))
        assert store.commit_txn(second, compared)
        assert not store.commit_txn(last, compared)
        assert {other.txn_id for other in store.concurrent_writes(last)} == {first, second}

    def test_partitions_are_compared_one_by_one(self, store: EmbeddedMetastore) -> None:
        first, second = (opened(store, changing("p", dynamic=True)) for _ in range(2))
        store.add_dynamic_partitions(first, "db", "p", ["year=1", "year=2"], U)
        store.add_dynamic_partitions(second, "db", "p", ["year=2", "year=3"], U)
        store.commit_txn(first, NOTHING)
        assert [other.partition for other in store.concurrent_writes(second)] == ["year=2"]

    def test_what_replaces_rows_is_never_compared(self, store: EmbeddedMetastore) -> None:
        first, second = opened(store, replacing("t")), opened(store, changing("t"))
        store.commit_txn(first, NOTHING)
        assert store.concurrent_writes(second) == ()
        with pytest.raises(WriteConflictError):
            store.commit_txn(second, Compared(disjoint=frozenset({first})))

    def test_partitions_that_were_not_named_count_as_the_whole_table(
        self, store: EmbeddedMetastore
    ) -> None:
        first, second = (opened(store, changing("p", dynamic=True)) for _ in range(2))
        store.add_dynamic_partitions(first, "db", "p", ["year=1"], U)
        store.commit_txn(first, NOTHING)
        assert store.concurrent_writes(second) == ()
        with pytest.raises(WriteConflictError):
            store.commit_txn(second, Compared(disjoint=frozenset({first})))

    def test_aborted_and_open_transactions_are_no_rivals(self, store: EmbeddedMetastore) -> None:
        first, _, last = (opened(store, changing("t")) for _ in range(3))
        store.abort_txn(first)
        assert store.concurrent_writes(last) == ()
        assert store.commit_txn(last, NOTHING)

    def test_an_aborted_transaction_does_not_commit(self, store: EmbeddedMetastore) -> None:
        first, second = opened(store, changing("t")), opened(store, changing("t"))
        store.commit_txn(first, NOTHING)
        store.abort_txns([second])
        with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
            store.commit_txn(second, NOTHING)


@pytest.mark.usefixtures("tables")
def test_a_watched_table_must_not_have_others_write_ids(store: EmbeddedMetastore) -> None:
    watcher = opened(store, changing("t"))
    inserter = opened(store, replacing("p", "year=1"))
    seen = store.valid_write_ids("db", "p", store.valid_txns())
    watched = Compared(watched={("db", "p"): seen})
    store.commit_txn(inserter)
    assert not store.commit_txn(watcher, watched)
    seen = store.valid_write_ids("db", "p", store.valid_txns())
    assert store.commit_txn(watcher, Compared(watched={("db", "p"): seen}))


@pytest.mark.usefixtures("tables")
def test_own_and_aborted_write_ids_do_not_count(store: EmbeddedMetastore) -> None:
    seen = store.valid_write_ids("db", "t", store.valid_txns())
    gone, watcher = opened(store, changing("t")), opened(store, changing("t"))
    store.abort_txn(gone)
    assert store.commit_txn(watcher, Compared(watched={("db", "t"): seen}))


@dataclass
class ModelTxn:
    """A transaction with the rows that it changes, each in a partition."""

    rows: frozenset[tuple[str, int]]
    began: int
    compared: set[int] = field(default_factory=set)


class FirstCommitterWins(RuleBasedStateMachine):
    """Transactions that change rows, compare and commit, in any order."""

    at_work = Bundle("at_work")

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.store = EmbeddedMetastore(
            str(Path(self.directory.name) / "metastore.db"), synchronous=False
        )
        self.store.create_database("db", "")
        column = Column(name="c", type="int")
        self.store.create_table(
            Table(database="db", name="p", columns=(column,), partition_columns=(column,))
        )
        self.txns: dict[int, ModelTxn] = {}
        self.commits: list[int] = []

    def teardown(self) -> None:
        self.store.close()
        self.directory.cleanup()

    @rule(
        target=at_work,
        rows=st.frozensets(
            st.tuples(st.sampled_from(["c=1", "c=2"]), st.integers(0, 3)), max_size=3
        ),
    )
    def change(self, rows: frozenset[tuple[str, int]]) -> int:
        txn_id = opened(self.store, changing("p", dynamic=True))
        places = sorted({partition for partition, _ in rows})
        self.store.add_dynamic_partitions(txn_id, "db", "p", places, U)
        self.txns[txn_id] = ModelTxn(rows=rows, began=len(self.commits))
        return txn_id

    @rule(txn_id=at_work)
    def compare(self, txn_id: int) -> None:
        """Compare as a client does, and perhaps commit later."""
        self.compared(txn_id)

    def compared(self, txn_id: int) -> bool:
        """Compare rows; whether none is another one's too."""
        own = self.txns[txn_id]
        for other in self.store.concurrent_writes(txn_id):
            theirs = {r for r in self.txns[other.txn_id].rows if r[0] == other.partition}
            if theirs & own.rows:
                return False
            # The rows of its other partitions are those of other rivals.
            if not self.txns[other.txn_id].rows & own.rows:
                own.compared.add(other.txn_id)
        return True

    @rule(txn_id=consumes(at_work))
    def commit(self, txn_id: int) -> None:
        own = self.txns[txn_id]
        since = self.commits[own.began :]
        loses = any(self.txns[other].rows & own.rows for other in since)
        done = self.store.commit_txn(txn_id, Compared(disjoint=frozenset(own.compared)))
        if not done:
            assert self.compared(txn_id) is not loses
            if loses:
                self.store.abort_txn(txn_id)
                return
            assert self.store.commit_txn(txn_id, Compared(disjoint=frozenset(own.compared)))
        assert not loses
        self.commits.append(txn_id)

    @rule(txn_id=consumes(at_work))
    def abort(self, txn_id: int) -> None:
        self.store.abort_txn(txn_id)


TestFirstCommitterWins = FirstCommitterWins.TestCase
