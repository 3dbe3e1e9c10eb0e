"""COMPACT, SHOW COMPACTIONS, SHOW TRANSACTIONS, SHOW LOCKS and ABORT TRANSACTIONS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import acidsql
from acidsql.injection_points import Point
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import (
    CompactionType,
    LockRequest,
    LockState,
    LockType,
    Operation,
)
from tests.injection import once
from tests.product.conditions import condition as condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

COMPACTIONS = (
    "struct<compactionid:bigint,dbname:string,tabname:string,partname:string,type:string,"
    "state:string,workerid:string,enqueuetime:timestamp,starttime:timestamp,endtime:timestamp,"
    "txnid:bigint,highestwriteid:bigint,errormessage:string,poolname:string>"
)
NOTHING_TO_MERGE = "there is nothing to merge: none of the compaction thresholds is met"


def entries(lab: Lab, text: str) -> list[tuple[Any, ...]]:
    """Return partition, type, state, write id and error of each queue entry in a result."""
    frame = lab.frame(text)
    assert frame.schema.simpleString() == COMPACTIONS
    names = ("partname", "type", "state", "highestwriteid", "errormessage")
    return [tuple(row) for row in frame.select(*names).collect()]


def exclusive_lock(lab: Lab, table: str, partition: str | None = None) -> int:
    """Open a transaction that excludes all others from a table or partition."""
    txn_id = lab.session.metastore.open_txn("ann", "somewhere")
    request = LockRequest(
        database="default",
        table=table,
        partition=partition,
        type=LockType.EXCLUSIVE,
        operation=Operation.SELECT,
    )
    assert lab.session.metastore.lock(txn_id, [request]) is LockState.ACQUIRED
    return txn_id


def test_minor_then_major_and_what_they_leave(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.insert(t, "(2)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    before = lab.rows(t, "row__id, id")
    lab.session.leases.release()
    (row,) = lab.frame(f"ALTER TABLE {t} COMPACT 'minor'").collect()
    assert row.asDict() | {"txnid": 0, "compactionid": 0} == {
        "compactionid": 0,
        "dbname": "default",
        "tabname": t,
        "partname": None,
        "type": "minor",
        "state": "succeeded",
        "workerid": row.workerid,
        "enqueuetime": row.enqueuetime,
        "starttime": row.starttime,
        "endtime": row.endtime,
        "txnid": 0,
        "highestwriteid": 3,
        "errormessage": None,
        "poolname": None,
    }
    assert row.enqueuetime <= row.starttime <= row.endtime
    assert lab.directories(t) == [
        f"delete_delta_0000001_0000003_v{row.txnid:07}",
        f"delta_0000001_0000003_v{row.txnid:07}",
    ]
    assert entries(lab, f"ALTER TABLE {t} COMPACT 'MAJOR' AND WAIT") == [
        (None, "major", "succeeded", 3, None)
    ]
    assert [name[:12] for name in lab.directories(t)] == ["base_0000003"]
    assert lab.rows(t, "row__id, id") == before
    lab.session.leases.release()
    assert entries(lab, f"OPTIMIZE TABLE {t} REWRITE DATA") == [
        (None, "major", "refused", 3, NOTHING_TO_MERGE)
    ]
    assert entries(lab, f"SHOW COMPACTIONS {t}") == [
        (None, "major", "refused", 3, NOTHING_TO_MERGE),
        (None, "major", "succeeded", 3, None),
        (None, "minor", "succeeded", 3, None),
    ]


def test_partitions_are_compacted_and_shown_one_by_one(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p string", values="(1, 'a/b'), (2, 'c')")
    lab.insert(t, "(3, 'a/b')")
    merged = ("p=a%2Fb", "major", "succeeded", 2, None)
    refused = [(name, "major", "refused", 2, NOTHING_TO_MERGE) for name in ("p=a%2Fb", "p=c")]
    compact = f"ALTER TABLE {t} PARTITION (p = 'a/b') COMPACT 'major' AND WAIT"
    assert entries(lab, compact) == [merged]
    assert entries(lab, f"ALTER TABLE {t} COMPACT 'major'") == []  # no partition needs it
    every = [f"ALTER TABLE {t} PARTITION (p = '{p}') COMPACT 'major'" for p in ("a/b", "c")]
    assert [entries(lab, text) for text in every] == [[entry] for entry in refused]
    assert entries(lab, f"SHOW COMPACTIONS {t}") == [*refused[::-1], merged]
    assert entries(lab, f"SHOW COMPACTIONS {t} PARTITION (p = 'a/b')") == [refused[0], merged]
    assert entries(lab, f"SHOW COMPACTIONS {t} PARTITION (p = 'c')") == [refused[1]]
    assert entries(lab, f"SHOW COMPACTIONS {t} PARTITION (p = 'no')") == []
    assert entries(lab, f"SHOW COMPACTIONS {t}_missing") == []
    assert entries(lab, "SHOW COMPACTIONS SCHEMA no_such_schema") == []
    whole = lab.frame("SHOW COMPACTIONS").where(f"tabname = '{t}'")
    database = lab.frame("SHOW COMPACTIONS DATABASE default").where(f"tabname = '{t}'")
    shown = lab.frame(f"SHOW COMPACTIONS {t}")
    assert whole.collect() == database.collect() == shown.collect()
    assert lab.rows(t) == [(1, "a/b"), (2, "c"), (3, "a/b")]


def test_an_entry_that_nobody_works_at_is_done_first(lab: Lab) -> None:
    """Check what comes after a process that ended between its request and its work."""
    for waiting, done in (("minor", ["major", "minor"]), ("major", ["major"])):
        t = lab.create("id int", values="(1)")
        lab.insert(t, "(2)")
        lab.sql(f"DELETE FROM {t} WHERE id = 2")
        kind = CompactionType(waiting)
        lab.session.metastore.request_compaction("default", t, None, kind)
        assert lab.compact(t, "major").state == "succeeded"
        found = [(kind, state) for _, kind, state, _, _ in entries(lab, f"SHOW COMPACTIONS {t}")]
        assert found == [(kind, "succeeded") for kind in done]
        (base,) = (name for name in lab.directories(t) if not name.startswith("_"))
        assert base.startswith("base_0000003_v")


def test_an_entry_of_a_worker_that_has_ended_is_done_first(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.insert(t, "(2)")
    ended = EmbeddedMetastore(lab.session.settings.metastore)
    requested = ended.request_compaction("default", t, None, CompactionType.MAJOR)
    assert ended.next_compaction("worker", requested.compaction_id) is not None
    ended.close()
    assert lab.compact(t, "major").state == "succeeded"


def test_a_failed_compaction_is_in_the_history(lab: Lab, new_lab: Callable[..., Lab]) -> None:
    t = lab.create("id int", values="(1)")
    lab.insert(t, "(2)")
    impatient = new_lab(spark__acidsql__lock__timeout="0")
    txn_id = exclusive_lock(lab, t)
    assert condition_of(impatient, f"ALTER TABLE {t} COMPACT 'major'") == "LOCK_TIMEOUT"
    ((_, kind, state, _, error),) = entries(lab, f"SHOW COMPACTIONS {t}")
    assert (kind, state) == ("major", "failed")
    assert error.startswith("[LOCK_TIMEOUT]")
    lab.sql(f"ABORT TRANSACTIONS {txn_id}")
    assert lab.compact(t, "major").state == "succeeded"
    states = [state for _, _, state, _, _ in entries(lab, f"SHOW COMPACTIONS {t}")]
    assert states == ["succeeded", "failed"]
    assert lab.rows(t) == [(1,), (2,)]


def test_a_compaction_leaves_out_writers_that_opened_after_it(lab: Lab) -> None:
    """A reader of Hive may see the compactor's transaction, and not those after it."""
    t = lab.create("id int", values="(1)")
    lab.insert(t, "(2)")
    with once(Point.BEFORE_COMPACTING) as plan:
        plan(lambda: acidsql.sql(lab.spark.newSession(), f"INSERT INTO {t} VALUES (3)"))
        assert entries(lab, f"ALTER TABLE {t} COMPACT 'major'") == [
            (None, "major", "succeeded", 2, None)
        ]
    assert lab.rows(t, "id") == [(1,), (2,), (3,)]


@pytest.mark.repeated
def test_old_directories_wait_for_readers(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.insert(t, "(2)")
    reader = lab.frame(f"SELECT * FROM {t}")
    waiting = (None, "major", "ready for cleaning", 2, None)
    assert entries(lab, f"ALTER TABLE {t} COMPACT 'major'") == [waiting]
    # Requested again, the answer is the entry that stands in the way.
    assert entries(lab, f"ALTER TABLE {t} COMPACT 'major'") == [waiting]
    assert entries(lab, f"SHOW COMPACTIONS {t}") == [waiting]
    assert len(lab.directories(t)) == 3
    assert sorted(row.id for row in reader.collect()) == [1, 2]
    other = lab.create("id int")
    lab.compact(other, "minor")
    assert entries(lab, f"SHOW COMPACTIONS {t}") == [(None, "major", "succeeded", 2, None)]
    assert len(lab.directories(t)) == 1


@pytest.mark.slow
def test_compactions_that_somebody_else_requested(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p int", values="(1, 1)")
    lab.insert(t, "(2, 1)")
    reader = lab.frame(f"SELECT * FROM {t}")
    queue = lab.session.metastore
    done, refused = (
        queue.request_compaction("default", t, partition, CompactionType.MAJOR).compaction_id
        for partition in ("p=1", None)
    )
    assert [acidsql.run_compaction(lab.spark) for _ in range(3)] == [done, refused, None]
    states = [state for _, _, state, *_ in entries(lab, f"SHOW COMPACTIONS {t}")]
    assert states == ["refused", "ready for cleaning"]
    assert acidsql.run_cleaner(lab.spark) == []
    assert sorted(reader.collect()) == [(1, 1), (2, 1)]
    acidsql.release(lab.spark)
    assert acidsql.run_cleaner(lab.spark) == [done]
    assert [path.name[:5] for path in (lab.root(t) / "p=1").iterdir()] == ["base_"]
    assert lab.rows(t) == [(1, 1), (2, 1)]


def test_the_history_keeps_three_entries_of_a_state(lab: Lab) -> None:
    t = lab.create("id int")
    for _ in range(4):
        lab.compact(t, "minor")
    shown = lab.frame(f"SHOW COMPACTIONS {t}").collect()
    assert [row.state for row in shown] == ["refused"] * 3
    ids = [row.compactionid for row in shown]
    assert ids == sorted(ids, reverse=True)
    lab.sql(f"DROP TABLE {t}")
    assert entries(lab, f"SHOW COMPACTIONS {t}") == []


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("ALTER TABLE {t} COMPACT 'full'", "INVALID_COMPACTION_TYPE"),
        ("ALTER TABLE {t} PARTITION (p = 2) COMPACT 'minor'", "PARTITIONS_NOT_FOUND"),
        ("ALTER TABLE {t} PARTITION (q = 1) COMPACT 'minor'", "PARTITIONS_NOT_FOUND"),
        ("ALTER TABLE {t}_missing COMPACT 'minor'", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ALTER TABLE {t} COMPACT 'minor' ORDER BY id", "UNSUPPORTED_FEATURE.COMPACT"),
        ("SHOW COMPACTIONS ORDER BY nothing", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ABORT TRANSACTIONS 1", "TXN_COMMITTED"),
        ("ABORT TRANSACTIONS 999999999", "NO_SUCH_TXN"),
    ],
)
def test_statements_that_are_refused(lab: Lab, text: str, condition: str) -> None:
    t = lab.create("id int", partitioned="p int", values="(1, 1)")
    assert condition_of(lab, text.format(t=t)) == condition
    assert entries(lab, f"SHOW COMPACTIONS {t}") == []


def test_tables_that_cannot_be_compacted(lab: Lab) -> None:
    t = lab.create("id int")
    lab.spark.sql(f"CREATE TABLE {t}_plain (id INT) USING orc")
    lab.sql(f"CREATE VIEW {t}_view AS SELECT * FROM {t}")
    for text, condition in {
        f"ALTER TABLE {t}_plain COMPACT 'major'": "NOT_A_TRANSACTIONAL_TABLE",
        f"ALTER TABLE {t}_view COMPACT 'major'": "EXPECT_TABLE_NOT_VIEW",
        f"ALTER TABLE {t} PARTITION (p = 1) COMPACT 'major'": (
            "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY"
        ),
    }.items():
        assert condition_of(lab, text) == condition
    lab.spark.sql(f"DROP TABLE {t}_plain")
    lab.sql(f"DROP VIEW {t}_view")


def test_transactions_and_locks_are_shown_until_they_end(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p int", values="(1, 1), (2, 2)")
    txn_id = exclusive_lock(lab, t, "p=1")
    (lock,) = [lock for lock in lab.session.metastore.locks() if lock.txn_id == txn_id]
    transactions = lab.frame("SHOW TRANSACTIONS")
    assert transactions.schema.simpleString() == (
        "struct<txnid:bigint,state:string,type:string,started:bigint,lastheartbeat:bigint,"
        "user:string,host:string>"
    )
    (info,) = transactions.where(f"txnid = {txn_id}").collect()
    assert (info.state, info.type, info.user, info.host) == ("open", "default", "ann", "somewhere")
    assert info.started <= info.lastheartbeat
    locks = lab.frame("SHOW LOCKS")
    assert locks.schema.simpleString() == (
        "struct<lockid:bigint,database:string,table:string,partition:string,lock_state:string,"
        "lock_type:string,transaction_id:bigint,user:string,hostname:string>"
    )
    shown = (
        lock.lock_id, "default", t, "p=1", "acquired", "exclusive", txn_id, "ann", "somewhere"
    )  # fmt: skip
    assert [tuple(row) for row in locks.collect()] == [shown]
    for scope, expected in {
        t: [shown],
        f"{t} PARTITION (p = 1)": [shown],
        f"{t} PARTITION (p = 2)": [],
        f"{t} EXTENDED": [shown],
        "DATABASE default": [shown],
        "SCHEMA no_such_schema": [],
        f"{t}_missing": [],
    }.items():
        assert lab.sql(f"SHOW LOCKS {scope}") == expected, scope
    second = lab.session.metastore.open_txn("ann", "somewhere")
    assert lab.sql(f"ABORT TRANSACTIONS {txn_id} {second}") == []
    assert lab.sql("SHOW LOCKS") == []
    states = {row.txnid: row.state for row in lab.frame("SHOW TRANSACTIONS").collect()}
    assert (states[txn_id], states[second]) == ("aborted", "aborted")
    assert lab.sql(f"ABORT TRANSACTIONS {txn_id}") == []
    assert lab.sql(f"UPDATE {t} SET id = 3 WHERE p = 1") == [(1, 1)]
