"""Initiator, worker and cleaner, without and with a thread of their own; OPTIMIZE and VACUUM."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from pyspark.errors import AnalysisException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

import acidsql
from acidsql.bridge import JavaObject
from acidsql.compaction import cleaner
from acidsql.compaction.rounds import Maintenance
from acidsql.metastore.model import (
    CompactionState,
    CompactionType,
    LockRequest,
    LockType,
    Operation,
)
from acidsql.session.acid_session import AcidSession
from tests.limits import set_limits
from tests.product.conditions import condition_of
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

MAJOR, MINOR, CLEANUP = CompactionType.MAJOR, CompactionType.MINOR, CompactionType.CLEANUP
READY = CompactionState.READY_FOR_CLEANING
MANUAL = {"compactorthreshold.hive.compactor.delta.pct.threshold": "1000"}


@pytest.fixture
def own(empty: SparkSession) -> Lab:
    """Return a lab with a metastore of its own, which nothing compacts by itself."""
    return Lab(empty)


def maintained(lab: Lab) -> Maintenance:
    acidsql.release(lab.spark)
    return acidsql.maintenance(lab.spark)


def types(lab: Lab, table: str) -> list[tuple[CompactionType, CompactionState]]:
    """Return the queue's entries of a table without partitions, oldest first."""
    entries = lab.session.metastore.compactions_of("default", table, None)
    return [(c.type, c.state) for c in reversed(entries)]


def test_many_deltas_are_merged_and_the_old_ones_removed(own: Lab) -> None:
    t = own.create("id INT", properties=MANUAL, values="(-1)")
    own.insert(t, "(0)")
    own.compact(t, "major")
    for i in range(1, 12):
        own.insert(t, f"({i})")
    done = maintained(own)
    assert (len(done.requested), len(done.compacted), len(done.cleaned)) == (1, 1, 1)
    assert own.directories(t) == ["base_0000002_v0000003", "delta_0000003_0000013_v0000015"]
    assert own.rows(t) == sorted(((i,) for i in range(-1, 12)), key=repr)
    assert maintained(own) == Maintenance()


def test_ten_deltas_are_left(own: Lab) -> None:
    t = own.create("id INT", values="(0)")
    for i in range(1, 10):
        own.insert(t, f"({i})")
    assert maintained(own) == Maintenance()
    own.insert(t, "(10)")
    assert len(maintained(own).compacted) == 1
    assert types(own, t) == [(MAJOR, CompactionState.SUCCEEDED)]


def test_large_deltas_make_a_new_base(own: Lab) -> None:
    t = own.create("id INT", values="(0)")
    own.insert(t, "(1)")
    own.compact(t, "major")
    own.insert(t, "(2)")
    assert len(maintained(own).compacted) == 1
    assert own.directories(t) == ["base_0000003_v0000005"]


def test_only_partitions_that_were_written_to_are_looked_at(own: Lab) -> None:
    t = own.create("id INT", partitioned="p INT", values="(0, 1), (0, 2)")
    maintained(own)
    own.sql(f"INSERT INTO {t} VALUES (1, 2)")
    (candidate,) = own.session.metastore.compaction_candidates(written_before=1e12)
    assert (candidate.partition, candidate.writes) == ("p=2", 1)


@pytest.mark.parametrize("text", ["TRUNCATE TABLE {t}", "INSERT OVERWRITE {t} VALUES (7)"])
def test_what_was_overwritten_is_removed(own: Lab, text: str) -> None:
    t = own.create("id INT", values="(0)")
    own.sql(text.format(t=t))
    assert own.directories(t) == ["base_0000002", "delta_0000001_0000001_0000"]
    maintained(own)
    assert own.directories(t) == ["base_0000002"]
    assert own.rows(t) == ([] if "TRUNCATE" in text else [(7,)])


def test_what_an_aborted_transaction_left_is_removed(own: Lab) -> None:
    t = own.create("id INT", partitioned="p INT", values="(0, 1)")
    store = own.session.metastore
    txn_id = store.open_txn("ann", "host")
    write_id = store.allocate_write_id(txn_id, "default", t)
    for p in (1, 2):  # the second is no partition yet
        left = own.root(t) / f"p={p}" / f"delta_{write_id:07}_{write_id:07}_0000"
        left.mkdir(parents=True)
        (left / "bucket_00000").write_bytes(b"half a file")
    names = [f"p={p}" for p in (1, 2)]
    lock = LockRequest(
        database="default",
        table=t,
        partition=None,
        type=LockType.SHARED_READ,
        operation=Operation.INSERT,
        dynamic_partitions=True,
    )
    store.lock(txn_id, [lock])
    store.add_dynamic_partitions(txn_id, "default", t, names, Operation.INSERT)
    staging = own.root(t) / f"_acidsql_staging_{txn_id}"
    staging.mkdir()
    store.abort_txn(txn_id)
    done = maintained(own)
    assert len(done.requested) == len(done.cleaned) == 2
    assert not list(own.root(t).glob(f"p=*/delta_{write_id:07}*"))
    assert not staging.exists()
    assert [t.txn_id for t in store.open_txns()] in ([], [txn_id])
    assert write_id not in store.valid_write_ids("default", t, store.valid_txns()).aborted
    assert own.rows(t) == [(0, 1)]


@pytest.mark.slow
def test_nothing_goes_that_a_reader_needs(own: Lab) -> None:
    t = own.create("id INT", values="(0)")
    before = own.frame(f"SELECT * FROM {t}")
    own.sql(f"TRUNCATE TABLE {t}")
    assert acidsql.maintenance(own.spark).cleaned == ()
    assert before.collect() == [(0,)]
    del before
    assert len(acidsql.maintenance(own.spark).cleaned) == 1


class SlowListener:
    """Spark listener that takes a second and a half for the end of a query."""

    def onOtherEvent(self, event: JavaObject) -> None:  # noqa: N802, Spark's name
        if event.getClass().getSimpleName() == "SparkListenerSQLExecutionEnd":
            time.sleep(1.5)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None

    class Java:
        implements: ClassVar = ["org.apache.spark.scheduler.SparkListenerInterface"]


@pytest.fixture
def slow_listener(own: Lab) -> Iterator[None]:
    context = own.spark.sparkContext
    ensure_callback_server_started(context._gateway)
    bus, listener = context._jsc.sc().listenerBus(), SlowListener()
    bus.addToSharedQueue(listener)
    yield
    listeners = bus.listeners()
    names = [listeners.get(i).getClass().getSimpleName() for i in range(listeners.size())]
    [place] = [i for i, name in enumerate(names) if name.startswith("$Proxy")]
    # A listener that goes through Python is another Java object.
    remove = next(m for m in bus.getClass().getMethods() if m.getName() == "removeListener")
    remove.invoke(bus, listeners.subList(place, place + 1).toArray())


@pytest.mark.slow
@pytest.mark.usefixtures("slow_listener")
def test_a_plan_is_held_until_the_listeners_know_of_its_end(own: Lab) -> None:
    t = own.create("id INT", values="(0)")
    own.frame(f"SELECT * FROM {t}").collect()
    own.sql(f"TRUNCATE TABLE {t}")
    assert len(acidsql.maintenance(own.spark).cleaned) == 1


@pytest.mark.slow
def test_an_idle_reader_lets_a_cleaner_go_on(own: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    t = own.create("id INT", values="(0)")
    leases = own.session.leases
    set_limits(monkeypatch, lease_collection_seconds=0.0, collection_part=1e9)
    before = own.frame(f"SELECT * FROM {t}")
    before.collect()
    leases.prune_for_cleaners()
    assert len(leases) == 1
    own.sql(f"TRUNCATE TABLE {t}")
    assert acidsql.maintenance(own.spark).cleaned == ()
    leases.prune_for_cleaners()
    assert len(leases) == 1  # the DataFrame may run again
    del before
    # On a busy machine py4j's own thread may be about to release the proxy: the next look finds it.
    deadline = time.monotonic() + 30
    leases.prune_for_cleaners()
    while len(leases) and time.monotonic() < deadline:
        time.sleep(0.1)
        leases.prune_for_cleaners()
    assert len(leases) == 0


@pytest.mark.parametrize("of", ["table", "database", "altered database"])
def test_who_is_left_alone(own: Lab, of: str, tmp_path: Path) -> None:
    properties = "('no_auto_compaction'='true')" if of == "database" else "('a'='b')"
    own.sql(f"CREATE DATABASE d LOCATION '{tmp_path / 'd'}' WITH DBPROPERTIES {properties}")
    if of == "altered database":
        own.sql("ALTER DATABASE d SET DBPROPERTIES ('no_auto_compaction'='true')")
        described = own.sql("DESCRIBE DATABASE EXTENDED d")
        assert "(no_auto_compaction,true)" in str(described)
    own.sql(
        "CREATE TABLE d.t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true',"
        f"'no_auto_compaction'='{'true' if of == 'table' else 'false'}')"
    )
    for i in range(11):
        own.sql(f"INSERT INTO d.t VALUES ({i})")
    # The table's own property comes first.
    assert len(maintained(own).compacted) == (0 if of == "table" else 1)


def test_failed_compactions_are_not_repeated_for_ever(own: Lab) -> None:
    t = own.create("id INT", values="(8)")
    own.insert(t, "(9)")
    own.compact(t, "major")
    broken = own.root(t) / "base_0000002_v0000003" / "bucket_00000"
    content = broken.read_bytes()
    broken.write_bytes(content[:-20])
    failed = []
    for i in range(3):
        own.insert(t, f"({i})")
        failed.append(len(maintained(own).failed))
    assert failed == [1, 1, 0]
    broken.write_bytes(content)
    assert len(own.rows(t)) == 5


def test_old_versions_are_kept_for_the_retention(own: Lab) -> None:
    t = own.create("id INT", properties={"acidsql.history.retention": "1d"}, values="(0), (1)")
    own.sql(f"DELETE FROM {t} WHERE id = 0")
    own.compact(t, "major")
    kept = [
        "base_0000002_v0000003",
        "delete_delta_0000002_0000002_0000",
        "delta_0000001_0000001_0000",
    ]
    maintained(own)
    assert own.directories(t) == kept
    assert own.sql(f"VACUUM {t} DRY RUN") == []
    paths = [(f"file:{own.root(t) / name}",) for name in kept[1:]]
    assert sorted(own.sql(f"VACUUM {t} RETAIN 0 HOURS DRY RUN")) == paths
    assert own.directories(t) == kept
    assert sorted(own.sql(f"VACUUM {t} RETAIN 0 HOURS")) == paths
    assert own.directories(t) == kept[:1]
    assert own.rows(t) == [(1,)]


def test_no_file_has_a_value_that_was_deleted_and_vacuumed(own: Lab) -> None:
    secret = "secret-7f3a"
    t = own.create(
        "id INT, s STRING",
        properties={"acidsql.history.retention": "30d", "orc.compress": "NONE"},
        values=f"(0, '{secret}'), (1, 'b')",
    )

    def holding() -> list[str]:
        files = [path for path in own.root(t).rglob("*") if path.is_file()]
        return [str(path) for path in files if secret.encode() in path.read_bytes()]

    assert holding()
    own.sql(f"DELETE FROM {t} WHERE id = 0")
    own.compact(t, "major")
    assert holding()
    own.sql(f"VACUUM {t} RETAIN 0 HOURS")
    assert holding() == []
    assert own.rows(t) == [(1, "b")]


def test_a_retention_that_is_no_time(own: Lab) -> None:
    t = own.create("id INT", properties={"acidsql.history.retention": "for ever"}, values="(0)")
    with pytest.raises(AnalysisException) as caught:
        own.sql(f"VACUUM {t}")
    assert condition_of(caught.value) == "INVALID_TABLE_PROPERTY"


def test_optimize_compacts_partitions_that_need_it(own: Lab) -> None:
    t = own.create("id INT", partitioned="p INT", values="(0, 1), (0, 2), (0, 3)")
    own.sql(f"INSERT INTO {t} VALUES (1, 1), (1, 2)")
    acidsql.release(own.spark)
    columns = ("partname", "type", "state")
    done = own.frame(f"OPTIMIZE {t} WHERE p = 1").select(*columns).collect()
    assert done == [("p=1", "major", "succeeded")]
    done = own.frame(f"OPTIMIZE {t}").select(*columns).collect()
    assert done == [("p=2", "major", "succeeded")]
    with pytest.raises(AnalysisException) as caught:
        own.sql(f"OPTIMIZE {t} WHERE id = 1")
    assert condition_of(caught.value).startswith("UNRESOLVED_COLUMN")


def test_compactions_of_a_pool_wait_for_its_workers(own: Lab) -> None:
    t = own.create("id INT", values="(0)")
    own.insert(t, "(1)")
    own.sql(f"ALTER TABLE {t} COMPACT 'major' POOL 'night'")
    assert maintained(own).compacted == ()
    assert own.sql("SHOW COMPACTIONS POOL 'night' TYPE 'MAJOR' STATUS 'initiated'")
    assert own.sql("SHOW COMPACTIONS POOL 'day'") == []
    assert len(acidsql.maintenance(own.spark, pool="night").compacted) == 1


def test_compactions_that_are_too_large_wait(own: Lab) -> None:
    t = own.create("id INT")
    for i in range(11):
        own.insert(t, f"({i})")
    acidsql.release(own.spark)
    assert acidsql.maintenance(own.spark, max_bytes=100).compacted == ()
    (entry,) = own.session.metastore.compactions_of("default", t, None)
    assert (entry.state, entry.size) == (CompactionState.INITIATED, own_size(own, t))
    assert acidsql.maintenance(own.spark, max_bytes=own_size(own, t)).compacted == (
        entry.compaction_id,
    )


def own_size(lab: Lab, table: str) -> int:
    files = lab.root(table).glob("delta_*/*")
    return sum(path.stat().st_size for path in files if not path.name.endswith(".crc"))


def test_entries_are_aborted_and_shown_in_an_order(own: Lab) -> None:
    t = own.create("id INT", values="(0)")
    own.insert(t, "(1)")
    first = own.sql(f"ALTER TABLE {t} COMPACT 'major' POOL 'night'")[0][0]
    assert own.sql(f"ABORT COMPACTIONS {first} 99") == [
        (first, "aborted", None),
        (99, "not found", "the queue has no such compaction"),
    ]
    second = own.compact(t, "major").compactionid
    assert own.sql(f"ABORT COMPACTIONS {second}") == [(second, "not eligible", "it is succeeded")]

    def ids(rest: str) -> list[int]:
        return [row[0] for row in own.sql(f"SHOW COMPACTIONS {rest}")]

    assert ids("") == [second, first]
    assert ids("ORDER BY compactionid") == [first, second]
    assert ids("ORDER BY state, compactionid LIMIT 1") == [first]
    assert ids("LIMIT 1") == [second]
    assert ids(f"COMPACTIONID = {first}") == [first]


@pytest.fixture
def automatic(spark: SparkSession, tmp_path: Path) -> Iterator[Lab]:
    """Yield a lab whose session compacts by itself."""
    session = spark.newSession()
    session.conf.set("spark.acidsql.metastore", str(tmp_path / "metastore.sqlite"))
    session.conf.set("spark.acidsql.compaction.auto", "on")
    yield Lab(session)
    AcidSession.of(session).close()


@pytest.mark.slow
def test_a_session_compacts_by_itself(automatic: Lab) -> None:
    t = automatic.create("id INT, v INT", values="(0, 0), (1, 0)")
    for i in range(1, 13):
        automatic.sql(f"UPDATE {t} SET v = {i} WHERE id = 1")
    root = automatic.root(t)
    automatic.session.close()
    left = [path.name for path in root.iterdir() if path.name.startswith(("base", "de"))]
    assert len(left) <= 13
    assert any(name.startswith("base") for name in left)
    assert automatic.rows(t) == [(0, 0), (1, 12)]


def test_a_session_that_only_initiates(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.acidsql.metastore", str(tmp_path / "metastore.sqlite"))
    session.conf.set("spark.acidsql.compaction.auto", "initiate-only")
    lab = Lab(session)
    t = lab.create("id INT")
    for i in range(11):
        lab.insert(t, f"({i})")
    lab.session.close()
    assert types(lab, t) == [(MAJOR, CompactionState.INITIATED)]
    lab.session.close()


@pytest.mark.repeated
def test_many_sessions_of_one_insert_leave_few_deltas(spark: SparkSession, tmp_path: Path) -> None:
    for i in range(40):
        session = spark.newSession()
        session.conf.set("spark.acidsql.metastore", str(tmp_path / "metastore.sqlite"))
        session.conf.set("spark.acidsql.compaction.auto", "on")
        lab = Lab(session)
        if i == 0:
            t = lab.create("id INT")
        lab.insert(t, f"({i})")
        root = lab.root(t)
        lab.session.close()
        assert len(list(root.glob("delta_*"))) <= 12


@pytest.mark.parametrize("value", ["sometimes", "true"])
def test_a_setting_that_is_none(spark: SparkSession, tmp_path: Path, value: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.acidsql.metastore", str(tmp_path / "metastore.sqlite"))
    session.conf.set("spark.acidsql.compaction.auto", value)
    with pytest.raises(AnalysisException) as caught:
        acidsql.sql(session, "SHOW COMPACTIONS")
    assert condition_of(caught.value) == "INVALID_CONF_VALUE"


def keys_of(lab: Lab, table: str) -> dict[str, list[tuple[int, int, int]]]:
    """Return the keys in each file of the only base of a table."""
    (base,) = (name for name in lab.directories(table) if name.startswith("base"))
    return {name: f.keys for name, f in sorted(lab.files(table).items()) if base in name}


@pytest.mark.slow
def test_a_rebalance_makes_files_of_the_same_size(own: Lab) -> None:
    t = own.create("id INT, s STRING", values="(0, 'a')")
    own.sql(f"INSERT INTO {t} SELECT id, concat('x', id) FROM range(1, 101)")
    own.sql(f"DELETE FROM {t} WHERE id >= 96")
    acidsql.release(own.spark)
    before = own.rows(t)
    acidsql.release(own.spark)
    (state,) = (
        own.frame(f"ALTER TABLE {t} COMPACT 'rebalance' CLUSTERED INTO 4 BUCKETS")
        .select("state")
        .first()
    )
    assert state == "succeeded"
    assert own.rows(t) == before
    keys = keys_of(own, t)
    assert len(keys) == 4
    assert all(abs(len(each) - 24) <= 3 for each in keys.values())
    every = [key for each in keys.values() for key in each]
    assert len(set(every)) == 96
    assert {write_id for write_id, _, _ in every} == {3}
    assert all(each == sorted(each) for each in keys.values())
    own.sql(f"UPDATE {t} SET s = 'new' WHERE id = 7")
    own.sql(f"DELETE FROM {t} WHERE id < 5")
    assert own.sql(f"SELECT count(*), count_if(s = 'new') FROM {t}") == [(91, 1)]


def test_a_rebalance_sorts(own: Lab) -> None:
    t = own.create("id INT, `order` STRING", partitioned="p INT", values="(3, 'c', 1), (1, 'a', 1)")
    own.sql(f"INSERT INTO {t} VALUES (2, 'b', 1), (4, NULL, 1), (9, 'z', 2)")
    acidsql.release(own.spark)
    own.sql(
        f"ALTER TABLE {t} PARTITION (p = 1) COMPACT 'rebalance' CLUSTERED INTO 1 BUCKETS"
        " ORDER BY `order` DESC NULLS FIRST, id"
    )
    rows = own.sql(f"SELECT row__id.rowid, id FROM {t} WHERE p = 1")
    assert sorted(rows) == [(0, 4), (1, 3), (2, 2), (3, 1)]
    assert own.sql(f"SELECT id FROM {t} WHERE p = 2") == [(9,)]


@pytest.mark.parametrize(
    ("clause", "condition"),
    [
        ("ORDER BY nothing", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ORDER BY id LIMIT 1", "INVALID_SORT_ORDER"),
        ("CLUSTERED INTO 0 BUCKETS", "INVALID_BUCKET_COUNT"),
        ("CLUSTERED INTO 4097 BUCKETS", "INVALID_BUCKET_COUNT"),
    ],
)
def test_rebalances_that_are_refused(own: Lab, clause: str, condition: str) -> None:
    t = own.create("id INT", values="(1)")
    tree = own.directories(t)
    with pytest.raises(AnalysisException) as caught:
        own.sql(f"ALTER TABLE {t} COMPACT 'rebalance' {clause}")
    assert condition_of(caught.value) == condition
    assert own.directories(t) == tree


def test_a_rebalance_waits_for_writers_and_lets_inserts_go_on(own: Lab) -> None:
    t = own.create("id INT", values="(1)")
    store = own.session.metastore
    txn_id = store.open_txn("ann", "host")
    store.allocate_write_id(txn_id, "default", t)
    (row,) = own.frame(f"ALTER TABLE {t} COMPACT 'rebalance'").collect()
    assert row.state == "refused"
    assert "a transaction that writes to the table is open" in row.errormessage
    store.abort_txn(txn_id)
    (row,) = own.frame(f"ALTER TABLE {t} COMPACT 'rebalance'").collect()
    assert row.state in ("succeeded", "ready for cleaning")
    assert own.rows(t) == [(1,)]


def test_bucketed_tables_are_not_rebalanced(own: Lab) -> None:
    t = own.create("id INT", clustered="(id) INTO 2 BUCKETS", values="(1)")
    (row,) = own.frame(f"ALTER TABLE {t} COMPACT 'rebalance'").collect()
    assert (row.state, row.errormessage[:31]) == ("refused", "the rows of a bucketed table ar")


@pytest.mark.slow
def test_two_cleaners_are_in_nobodys_way(own: Lab, caplog: pytest.LogCaptureFixture) -> None:
    t = own.create("id INT", values="(0)")
    own.insert(t, "(1)")
    before = own.frame(f"SELECT * FROM {t}")
    own.sql(f"TRUNCATE TABLE {t}")
    assert acidsql.maintenance(own.spark).cleaned == ()
    del before
    acidsql.release(own.spark)
    entries = own.session.metastore.ready_to_clean()
    assert len(entries) == 1
    assert acidsql.run_cleaner(own.spark) == [entries[0].compaction_id]
    # Another cleaner has read the queue before this one was done.
    assert list(cleaner._cleaned(own.session, entries)) == []
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert own.directories(t) == ["base_0000003"]
