"""Two clients at once, clients that die, and cleaners that must wait."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import (
    AcidAnalysisError,
    LockTimeoutError,
    TransactionStateError,
    WriteConflictError,
)
from acidsql.injection_points import Point, attached
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import (
    CompactionState,
    LockRequest,
    LockType,
    Operation,
    TxnState,
    TxnType,
)
from acidsql.transactions.transaction import Transaction
from acidsql.transactions.write_intent import change_intent
from acidsql.transactions.write_transaction import write_transaction
from tests.metastore.server import launcher
from tests.metastore.server.launcher import VERSIONS, MetastoreServer
from tests.metastore.spark.conftest import Client
from tests.metastore.subjects import SERVER_SETTINGS

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
_REAPER_SECONDS = 30
_CLEANER_SECONDS = 60


def made(client: Client, *, partitioned: bool = False) -> Path:
    """Create a table ``t`` with three rows; return its directory."""
    part = "PARTITIONED BY (p INT)" if partitioned else ""
    client.sql(f"CREATE TABLE t (id INT, v STRING) {part} {ACID}")
    rows = (
        "(1, 'a', 1), (2, 'b', 1), (3, 'c', 2)" if partitioned else "(1, 'a'), (2, 'b'), (3, 'c')"
    )
    client.sql(f"INSERT INTO t VALUES {rows}")
    return Path(acidsql.location(client.spark, "t").removeprefix("file:"))


@contextmanager
def in_the_middle(client: Client, then: Callable[[], object]) -> Iterator[None]:
    """Have something happen just before a client commits."""
    planned = [then]

    def act(transaction: Transaction) -> None:
        if planned and transaction.session is client.session:
            planned.pop()()

    with attached(Point.BEFORE_COMMIT, act):
        yield


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", ["4.1.0", "4.0.1"])
def test_later_committer_of_a_partition_loses(
    client: Callable[[str], Client], version: str
) -> None:
    ann, bob = client(version), client(version)
    place = made(ann, partitioned=True)
    before = sorted(path.name for path in (place / "p=1").iterdir())
    winner: list[int] = []

    def overtake() -> None:
        bob.sql("UPDATE t SET v = 'bob' WHERE id = 1")
        winner.append(ann.session.metastore.valid_txns().high_water_mark)

    with (
        in_the_middle(ann, overtake),
        pytest.raises(WriteConflictError, match="CONCURRENT_WRITE") as caught,
    ):
        ann.sql("DELETE FROM t WHERE id = 2")
    assert f"transaction {winner[0]}" in caught.value.message
    assert "t/p=1" in caught.value.message
    assert bob.sql("SELECT id, v FROM t") == [(1, "bob"), (2, "b"), (3, "c")]
    after = {path.name for path in (place / "p=1").iterdir()} - set(before)
    assert len(after) == 2  # those of bob; ann took hers away
    ann.sql("DELETE FROM t WHERE id = 2")
    assert bob.sql("SELECT id, v FROM t") == [(1, "bob"), (3, "c")]


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", ["4.1.0", "4.0.1"])
def test_other_partitions_and_inserts_do_not_conflict(
    client: Callable[[str], Client], version: str
) -> None:
    ann, bob = client(version), client(version)
    made(ann, partitioned=True)

    def beside() -> None:
        bob.sql("UPDATE t SET v = 'bob' WHERE id = 3")
        bob.sql("INSERT INTO t VALUES (4, 'd', 1), (5, 'e', 9)")

    with in_the_middle(ann, beside):
        ann.sql("UPDATE t SET v = 'ann' WHERE id = 1")
    expected = [(1, "ann"), (2, "b"), (3, "bob"), (4, "d"), (5, "e")]
    assert ann.sql("SELECT id, v FROM t") == expected


def test_second_writer_waits_in_hive_3_and_loses_nothing(client: Callable[[str], Client]) -> None:
    ann, bob = client("3.1.3"), client("3.1.3")
    made(ann)
    updated = threading.Thread(target=bob.sql, args=("UPDATE t SET v = concat(v, '!')",))

    def come_later() -> None:
        updated.start()
        deadline = time.monotonic() + 60
        while len(ann.session.metastore.locks()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    with in_the_middle(ann, come_later):
        ann.sql("UPDATE t SET v = 'ann' WHERE id < 3")
    updated.join(120)
    assert ann.sql("SELECT v FROM t") == [("ann!",), ("ann!",), ("c!",)]


@pytest.mark.sample("4.1.0", "3.1.3")
@pytest.mark.parametrize("version", VERSIONS)
def test_statement_that_waited_sees_what_it_waited_for(
    client: Callable[[str], Client], version: str
) -> None:
    ann, bob = client(version), client(version)
    made(ann)
    store, database = bob.session.metastore, bob.spark.catalog.currentDatabase()
    holder = store.open_txn("bob", "host")
    exclusive = LockRequest(
        database=database,
        table="t",
        partition=None,
        type=LockType.EXCLUSIVE,
        operation=Operation.UPDATE,
    )
    store.allocate_write_id(holder, database, "t")
    store.lock(holder, [exclusive])
    done: list[object] = []
    thread = threading.Thread(
        target=lambda: done.append(ann.sql("UPDATE t SET v = concat(v, '+') WHERE id = 1"))
    )
    thread.start()
    time.sleep(1)
    assert not done
    waiting = {lock.txn_id for lock in store.locks()} - {holder}
    store.commit_txn(holder)
    thread.join(120)
    assert done == [[(1, 1)]]
    # It began again: what waited is aborted, and another transaction did it.
    assert waiting <= store.valid_txns().aborted
    assert ann.sql("SELECT v FROM t WHERE id = 1") == [("a+",)]


def test_lock_timeout_names_who_holds_what(client: Callable[[str], Client]) -> None:
    ann, bob = client("4.1.0"), client("4.1.0")
    made(ann)
    ann.close()
    ann.spark.conf.set("spark.acidsql.lock.timeout", "1")
    table = bob.session.metastore.table(*_name(bob))
    intent = change_intent(table, Operation.UPDATE, RecordedStatement(operation="UPDATE"))
    with write_transaction(bob.session, intent) as held:
        with pytest.raises(LockTimeoutError) as caught:
            ann.sql("TRUNCATE TABLE t")
        held.commit([])
    user = bob.session.user
    assert (
        f"shared_write lock on {table.full_name} by transaction {held.txn_id} of {user}@"
        in caught.value.message
    )
    assert ann.session.metastore.locks() == ()
    assert len(ann.sql("SELECT * FROM t")) == 3


def _name(client: Client) -> tuple[str, str]:
    return client.spark.catalog.currentDatabase(), "t"


def _grow_old(server: MetastoreServer, store: HiveMetastore, txn_id: int) -> None:
    """Let a transaction time out, and the server's reaper meet it."""
    server.sql(f'UPDATE "APP"."TXNS" SET "TXN_LAST_HEARTBEAT" = 1 WHERE "TXN_ID" = {txn_id}')
    deadline = time.monotonic() + _REAPER_SECONDS
    while txn_id not in store.valid_txns().aborted:
        assert time.monotonic() < deadline, server.said()
        time.sleep(0.2)


@pytest.mark.sample("4.1.0", "3.1.3")
@pytest.mark.parametrize("version", VERSIONS)
def test_commit_after_the_reaper(
    client: Callable[[str], Client],
    metastore_server: Callable[[str], MetastoreServer],
    version: str,
) -> None:
    ann = client(version)
    place = made(ann)
    before = sorted(place.iterdir())
    store = ann.session.metastore
    assert isinstance(store, HiveMetastore)

    def reap() -> None:
        running = [t.txn_id for t in store.open_txns() if t.state is TxnState.OPEN]
        ann.session.heartbeater.stop()
        _grow_old(metastore_server(version), store, max(running))

    with (
        in_the_middle(ann, reap),
        pytest.raises(TransactionStateError, match=r"TXN_ABORTED.*no heartbeat"),
    ):
        ann.sql("UPDATE t SET v = 'late'")
    assert ann.sql("SELECT v FROM t") == [("a",), ("b",), ("c",)]
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize("version", ["4.1.0", "3.1.3"])
def test_killed_client_leaves_nothing_visible(
    client: Callable[[str], Client],
    metastore_server: Callable[[str], MetastoreServer],
    version: str,
) -> None:
    ann, server = client(version), metastore_server(version)
    place = made(ann, partitioned=True)
    store = ann.session.metastore
    assert isinstance(store, HiveMetastore)
    expected = ann.sql("SELECT * FROM t")
    program = Path(__file__).with_name("killed_client.py")
    statement = (
        "MERGE INTO t USING (SELECT 1 AS id UNION ALL SELECT 9) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 'dead' WHEN NOT MATCHED THEN INSERT VALUES (9, 'dead', 9)"
    )
    database, _ = _name(ann)
    command = [sys.executable, str(program), server.uri, database, "commit_txn", statement]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == -9, done.stderr[-2000:]
    # All of it was in place already.
    left = sorted(p.relative_to(place).as_posix() for p in place.glob("p=*/*_0000002_0000002_*"))
    assert [name.split("/")[0] for name in left] == ["p=1", "p=1", "p=9"]
    assert ann.sql("SELECT * FROM t") == expected
    (dead,) = [
        t.txn_id
        for t in store.open_txns()
        if t.state is TxnState.OPEN and t.txn_id not in ann.session.leases._leases
    ]
    _grow_old(server, store, dead)
    assert ann.sql("SELECT * FROM t") == expected
    # The server knows where it was, and does not forget it before that is cleaned up.
    noted = server.sql(
        f'SELECT "TC_PARTITION" FROM "APP"."TXN_COMPONENTS" WHERE "TC_TXNID" = {dead}'
    )
    assert {name for (name,) in noted} == {"p=1", "p=9"}
    ann.sql("UPDATE t SET v = 'alive' WHERE id = 1")
    ann.sql("INSERT INTO t VALUES (8, 'new', 9)")
    assert ann.sql("SELECT id, v FROM t") == [(1, "alive"), (2, "b"), (3, "c"), (8, "new")]


@pytest.fixture(scope="module")
def cleaning_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreServer]:
    """Yield a server whose cleaner runs every second; with 4.0.1 it does not find its database
    here.
    """
    settings = {
        **SERVER_SETTINGS,
        "metastore.compactor.cleaner.on": "true",
        "hive.compactor.cleaner.on": "true",
        "metastore.compactor.cleaner.run.interval": "1s",
        "hive.compactor.cleaner.run.interval": "1s",
    }
    with launcher.running("4.1.0", tmp_path_factory.mktemp("cleaning"), settings) as server:
        yield server


def test_cleaner_of_the_server_waits_for_our_readers(
    spark: SparkSession, cleaning_server: MetastoreServer
) -> None:
    ann = Client(spark, cleaning_server.uri, "cleaned")
    bob = Client(spark, cleaning_server.uri, "cleaned")
    place = made(ann)
    ann.sql("INSERT INTO t VALUES (4, 'd')")
    old = {path.name for path in place.iterdir()}
    frame = acidsql.sql(bob.spark, "SELECT * FROM t")
    ((*_, state, _, _, _, _, txn_id, _, _, _),) = ann.sql("ALTER TABLE t COMPACT 'major'")
    assert state == "ready for cleaning"
    base = f"base_0000002_v{txn_id:07d}"
    time.sleep(4)  # a few rounds of the cleaner
    assert {path.name for path in place.iterdir()} == {*old, base}
    assert len(frame.collect()) == 4
    del frame
    acidsql.release(bob.spark)
    acidsql.release(ann.spark)
    deadline = time.monotonic() + _CLEANER_SECONDS
    while {path.name for path in place.iterdir()} != {base}:
        assert time.monotonic() < deadline, cleaning_server.said()
        time.sleep(0.5)
    assert len(ann.sql("SELECT * FROM t")) == 4
    while ann.session.metastore.compactions()[0].state is not CompactionState.SUCCEEDED:
        assert time.monotonic() < deadline, cleaning_server.said()
        time.sleep(0.5)
    ann.close()
    bob.close()


def test_a_server_cleans_partitions_and_leaves_staging_to_us(
    spark: SparkSession, cleaning_server: MetastoreServer
) -> None:
    ann = Client(spark, cleaning_server.uri, "staged")
    store, place = ann.session.metastore, made(ann, partitioned=True)
    assert store.cleans_compactions
    ann.sql("INSERT INTO t VALUES (4, 'd', 1)")
    ann.sql("DELETE FROM t WHERE id = 1")
    other = {path.name for path in (place / "p=2").iterdir()}
    dead, alive = store.open_txn("ann", "host"), store.open_txn("ann", "host")
    staging = {txn_id: place / f"_acidsql_staging_{txn_id}" for txn_id in (dead, alive)}
    for path in staging.values():
        (path / "0").mkdir(parents=True)
    store.abort_txn(dead)
    acidsql.release(ann.spark)
    ((*_, state, _, _, _, _, txn_id, _, _, _),) = ann.sql(
        "ALTER TABLE t PARTITION (p = 1) COMPACT 'major'"
    )
    assert state == "ready for cleaning"
    assert [path.exists() for path in staging.values()] == [False, True]
    assert acidsql.run_cleaner(ann.spark) == []
    assert staging[alive].exists()
    store.abort_txn(alive)
    assert acidsql.run_cleaner(ann.spark) == []
    assert not staging[alive].exists()
    base = {f"base_0000003_v{txn_id:07d}"}
    deadline = time.monotonic() + _CLEANER_SECONDS
    while {path.name for path in (place / "p=1").iterdir()} != base or (
        store.compactions()[0].state is not CompactionState.SUCCEEDED
    ):
        assert time.monotonic() < deadline, cleaning_server.said()
        time.sleep(0.5)
    assert {path.name for path in (place / "p=2").iterdir()} == other
    assert ann.sql("SELECT id, v FROM t") == [(2, "b"), (3, "c"), (4, "d")]
    ann.close()


def test_our_cleaner_waits_for_readers_of_others(client: Callable[[str], Client]) -> None:
    ann, bob = client("4.1.0"), client("4.1.0")
    place = made(ann)
    ann.sql("INSERT INTO t VALUES (4, 'd')")
    reader = bob.session.metastore.open_txn("hive", "host", TxnType.READ_ONLY)
    ((*_, state, _, _, _, _, _, _, _, _),) = ann.sql("ALTER TABLE t COMPACT 'major'")
    assert state == "ready for cleaning"
    assert len(list(place.iterdir())) == 3
    bob.session.metastore.commit_txn(reader)
    ann.session.leases.release()
    bob.session.leases.release()
    ann.sql("INSERT INTO t VALUES (5, 'e')")
    ann.session.leases.release()
    ann.sql("ALTER TABLE t COMPACT 'major'")
    states = [c.state for c in ann.session.metastore.compactions()]
    assert states == [CompactionState.SUCCEEDED] * 2
    (base,) = place.iterdir()
    assert base.name.startswith("base_0000003_v")
    assert len(ann.sql("SELECT * FROM t")) == 5


def test_the_loser_on_a_server_is_run_again(client: Callable[[str], Client]) -> None:
    ann, bob = client("4.1.0"), client("4.1.0")
    made(ann)
    ann.spark.conf.set("spark.acidsql.retries", "3")
    with in_the_middle(ann, lambda: bob.sql("UPDATE t SET v = 'bob' WHERE id = 1")):
        ann.sql("UPDATE t SET v = concat(v, '!') WHERE id < 3")
    assert ann.sql("SELECT id, v FROM t") == [(1, "bob!"), (2, "b!"), (3, "c")]


def test_what_a_server_cannot_compare_is_refused(client: Callable[[str], Client]) -> None:
    ann = client("4.1.0")
    made(ann)
    ann.spark.conf.set("spark.acidsql.isolation", "serializable")
    with pytest.raises(AcidAnalysisError, match=r"UNSUPPORTED_FEATURE\.SERIALIZABLE"):
        ann.sql("DELETE FROM t")
    ann.spark.conf.unset("spark.acidsql.isolation")
    ann.sql("ALTER TABLE t SET TBLPROPERTIES ('acidsql.merge.unique' = 'id')")
    with pytest.raises(AcidAnalysisError, match=r"UNSUPPORTED_FEATURE\.UNIQUE_INSERTS"):
        ann.sql(
            "MERGE INTO t USING (SELECT 4 AS id, 'd' AS v) s ON t.id = s.id "
            "WHEN NOT MATCHED THEN INSERT *"
        )
