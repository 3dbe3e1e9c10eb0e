"""Tests of random histories of transactions against a model of their states and writes."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    precondition,
    rule,
)

from acidsql.errors import WriteConflictError
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, LockRequest, LockType, Operation, Table, TxnState

TABLES = ("a", "b")
CHANGES = {Operation.UPDATE, Operation.DELETE}


@dataclass
class ModelTxn:
    """State of one transaction in the model."""

    state: TxnState = TxnState.OPEN
    committed_after: int = 0
    write_ids: dict[str, int] = field(default_factory=dict)
    writes: set[tuple[str, str | None, Operation]] = field(default_factory=set)


@dataclass(frozen=True)
class Snapshot:
    """Snapshot of a transaction with the write ids that it saw when it was taken."""

    of: int
    txns: ValidTxnList
    seen: dict[str, frozenset[int]]


class MetastoreMachine(RuleBasedStateMachine):
    """Open, write, commit, abort and look, in any order."""

    open_txns = Bundle("open_txns")
    snapshots = Bundle("snapshots")

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.store = EmbeddedMetastore(str(Path(self.directory.name) / "metastore.db"))
        for name in TABLES:
            self.store.create_table(
                Table(database="default", name=name, columns=(Column(name="c", type="int"),))
            )
        self.txns: dict[int, ModelTxn] = {}
        self.seeded: dict[str, set[int]] = {name: set() for name in TABLES}

    def teardown(self) -> None:
        self.store.close()
        self.directory.cleanup()

    @rule(target=open_txns)
    def open(self) -> int:
        txn_id = self.store.open_txn("ann", "host")
        assert txn_id == len(self.txns) + 1
        self.txns[txn_id] = ModelTxn()
        return txn_id

    @rule(txn_id=open_txns, table=st.sampled_from(TABLES))
    def allocate(self, txn_id: int, table: str) -> None:
        expected = self.txns[txn_id].write_ids.setdefault(table, self.next_write_id(table))
        assert self.store.allocate_write_id(txn_id, "default", table) == expected

    @rule(table=st.sampled_from(TABLES), ahead=st.integers(-2, 4))
    def seed(self, table: str, ahead: int) -> None:
        following = self.next_write_id(table)
        self.store.seed_write_id("default", table, following + ahead)
        self.seeded[table].update(range(following, following + ahead))

    @rule(
        txn_id=open_txns,
        table=st.sampled_from(TABLES),
        partition=st.sampled_from([None, "p=1", "p=2"]),
        operation=st.sampled_from(Operation),
    )
    def write(self, txn_id: int, table: str, partition: str | None, operation: Operation) -> None:
        request = LockRequest(
            database="default",
            table=table,
            partition=partition,
            type=LockType.SHARED_READ,
            operation=operation,
        )
        self.store.lock(txn_id, [request])
        self.txns[txn_id].writes.add((table, partition, operation))

    @rule(txn_id=consumes(open_txns))
    def commit(self, txn_id: int) -> None:
        txn = self.txns[txn_id]
        if any(self.conflict(txn_id, txn, other) for other in self.txns.values()):
            txn.state = TxnState.ABORTED
            try:
                self.store.commit_txn(txn_id)
            except WriteConflictError:
                return
            raise AssertionError(f"transaction {txn_id} should have lost")
        self.store.commit_txn(txn_id)
        txn.state = TxnState.COMMITTED
        txn.committed_after = len(self.txns)

    @rule(txn_id=consumes(open_txns))
    def abort(self, txn_id: int) -> None:
        self.store.abort_txn(txn_id)
        self.txns[txn_id].state = TxnState.ABORTED

    @rule(target=snapshots, txn_id=open_txns)
    def take_snapshot(self, txn_id: int) -> Snapshot:
        return Snapshot(
            of=txn_id,
            txns=self.store.valid_txns(txn_id),
            seen={table: self.visible_to(txn_id, table) for table in TABLES},
        )

    @precondition(lambda self: not any(self.seeded.values()))
    @rule(snapshot=consumes(snapshots))
    def look_again(self, snapshot: Snapshot) -> None:
        """Check that a snapshot still sees the same, beside later writes of its own transaction."""
        own = self.txns[snapshot.of]
        for table in TABLES:
            seen = self.seen(table, snapshot.txns)
            assert seen == snapshot.seen[table] | {own.write_ids.get(table, 0)} - {0}

    @rule(txn_id=open_txns)
    def look(self, txn_id: int) -> None:
        for table in TABLES:
            assert self.seen(table, self.store.valid_txns(txn_id)) == self.visible_to(txn_id, table)

    @invariant()
    def snapshot_of_now_is_right(self) -> None:
        states = {txn_id: txn.state for txn_id, txn in self.txns.items()}
        assert self.store.valid_txns() == ValidTxnList(
            high_water_mark=len(self.txns),
            open=frozenset(t for t, state in states.items() if state is TxnState.OPEN),
            aborted=frozenset(t for t, state in states.items() if state is TxnState.ABORTED),
        )

    @staticmethod
    def conflict(txn_id: int, txn: ModelTxn, other: ModelTxn) -> bool:
        return other.committed_after >= txn_id and any(
            mine == theirs and (p is None or q is None or p == q) and {o, r} <= CHANGES
            for mine, p, o in txn.writes
            for theirs, q, r in other.writes
        )

    def next_write_id(self, table: str) -> int:
        given = {txn.write_ids[table] for txn in self.txns.values() if table in txn.write_ids}
        return max(given | self.seeded[table] | {0}) + 1

    def visible_to(self, txn_id: int, table: str) -> frozenset[int]:
        return frozenset(self.seeded[table]) | {
            txn.write_ids[table]
            for other, txn in self.txns.items()
            if table in txn.write_ids and (other == txn_id or txn.state is TxnState.COMMITTED)
        }

    def seen(self, table: str, txns: ValidTxnList) -> frozenset[int]:
        snapshot = self.store.valid_write_ids("default", table, txns)
        return frozenset(w for w in range(1, self.next_write_id(table)) if snapshot.is_valid(w))


TestMetastoreModel = MetastoreMachine.TestCase
TestMetastoreModel.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, derandomize=True
)
