"""Two writers and readers, through two Spark sessions over one metastore."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import acidsql
from acidsql.compaction import cleaner
from acidsql.errors import WriteConflictError
from acidsql.injection_points import Point
from acidsql.metastore.model import TxnState
from tests.injection import once

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def partitioned(lab: Lab) -> str:
    return lab.create("id int, v int", partitioned="p int", values="(1, 10, 1), (2, 20, 2)")


def test_two_updates_of_different_partitions_both_commit(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    t = partitioned(lab)
    before_commit(lambda: other.sql(f"UPDATE {t} SET v = 22 WHERE p = 2"))
    assert lab.sql(f"UPDATE {t} SET v = 11 WHERE p = 1") == [(1, 1)]
    assert lab.rows(t) == [(1, 11, 1), (2, 22, 2)]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("late", "early"),
    [
        ("UPDATE {t} SET v = v + 1 WHERE id = 1", "UPDATE {t} SET v = v * 2 WHERE id = 1"),
        ("UPDATE {t} SET v = 0", "DELETE FROM {t} WHERE id = 1"),
        ("DELETE FROM {t} WHERE id = 1", "UPDATE {t} SET v = 7 WHERE id = 1"),
        ("DELETE FROM {t} WHERE id = 1", "DELETE FROM {t}"),
        (
            "MERGE INTO {t} USING (SELECT 1 AS id) s ON {t}.id = s.id WHEN MATCHED THEN DELETE",
            "MERGE INTO {t} USING (SELECT 1 AS id) s ON {t}.id = s.id "
            "WHEN MATCHED THEN UPDATE SET v = 5",
        ),
    ],
)
@pytest.mark.parametrize("by_partition", [False, True])
def test_of_two_changes_of_the_same_rows_the_first_to_commit_wins(
    lab: Lab,
    other: Lab,
    before_commit: Callable[[Callable[[], Any]], None],
    late: str,
    early: str,
    by_partition: bool,
) -> None:
    t = partitioned(lab) if by_partition else lab.create("id int, v int", values="(1, 10), (2, 20)")
    winner: list[Any] = []

    def win() -> None:
        other.sql(early.format(t=t))
        winner.extend([other.rows(t), other.state(t).tree])

    before_commit(win)
    with pytest.raises(WriteConflictError) as error:
        lab.sql(late.format(t=t))
    assert error.value.condition == "CONCURRENT_WRITE"
    rows, tree = winner
    assert lab.rows(t) == rows
    loser = "0000002_0000002"
    assert [p for p in lab.tree(t) if loser in p] == []
    assert [p for p in tree if loser in p and "_acidsql_staging_" not in p] != []
    assert sorted(lab.tree(t)) == sorted(
        p for p in tree if loser not in p and not p.startswith("_acidsql_staging_")
    )
    assert lab.sql(late.format(t=t))  # on a new snapshot it goes through


def test_the_loser_of_a_new_partition_leaves_the_winners(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    t = partitioned(lab)

    def win() -> None:
        other.insert(t, "(3, 30, 7)")
        other.sql(f"UPDATE {t} SET v = 11 WHERE p = 1")

    before_commit(win)
    with pytest.raises(WriteConflictError):
        lab.sql(f"UPDATE {t} SET p = 7 WHERE p = 1")
    assert lab.sql(f"SHOW PARTITIONS {t}") == [("p=1",), ("p=2",), ("p=7",)]
    assert lab.rows(t) == [(1, 11, 1), (2, 20, 2), (3, 30, 7)]


def test_inserts_conflict_with_nothing(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    t = lab.create("id int", values="(1)")

    def meanwhile() -> None:
        other.insert(t, "(2)")
        other.sql(f"UPDATE {t} SET id = 10 WHERE id = 1")

    before_commit(meanwhile)
    lab.insert(t, "(3)")
    assert lab.rows(t) == [(10,), (2,), (3,)]
    before_commit(lambda: other.insert(t, "(4)"))
    lab.sql(f"DELETE FROM {t} WHERE id < 100")
    assert lab.rows(t) == [(4,)]


def test_a_writer_does_not_see_what_commits_after_it_began(lab: Lab, other: Lab) -> None:
    t = lab.create("id int", values="(1)")
    copy = lab.create("id int")
    with once(Point.BEGUN) as plan:
        plan(lambda: other.insert(t, "(2)"))
        lab.sql(f"INSERT INTO {copy} SELECT id FROM {t}")
    assert lab.rows(copy) == [(1,)]
    assert lab.rows(t) == [(1,), (2,)]


@pytest.mark.slow
def test_writers_in_threads_lose_no_update(lab: Lab, other: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 0)")
    conflicts: list[int] = []
    errors: list[BaseException] = []

    def add(writer: Lab) -> None:
        done = 0
        while done < 3:
            try:
                writer.sql(f"UPDATE {t} SET v = v + 1")
                done += 1
            except WriteConflictError:
                conflicts.append(1)
            except BaseException as error:  # noqa: BLE001 - reported by the test's own thread
                errors.append(error)
                return

    threads = [threading.Thread(target=add, args=(writer,)) for writer in (lab, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert lab.rows(t) == [(1, 6)]
    writes = [name for name in lab.directories(t) if name.startswith("delta_")]
    assert len(writes) == 7  # one of the INSERT, one of each UPDATE that won


@pytest.mark.slow
def test_a_reader_keeps_its_snapshot_through_changes_and_a_compaction(lab: Lab, other: Lab) -> None:
    t = lab.create("id int, v string", values="(1, 'a'), (2, 'b')")
    lab.sql(f"UPDATE {t} SET v = 'B' WHERE id = 2")
    before = lab.directories(t)
    reader = lab.frame(f"SELECT id, v FROM {t}")
    derived = reader.where("id = 2").select("v")
    other.sql(f"UPDATE {t} SET v = 'x'")
    other.sql(f"DELETE FROM {t} WHERE id = 1")
    other.sql(f"ALTER TABLE {t} COMPACT 'major'")
    base = f"base_0000004_v{other.compaction(t).txnid:07d}"
    assert other.compaction(t).state == "ready for cleaning"
    assert set(before) < set(lab.directories(t))
    assert sorted(map(tuple, reader.collect())) == [(1, "a"), (2, "B")]
    assert other.rows(t) == [(2, "x")]

    del reader
    acidsql.release(other.spark)
    cleaner.clean(other.session)
    assert set(before) < set(lab.directories(t)), "the derived DataFrame needs them"
    assert derived.collect() == [("B",)]
    del derived
    wait_until(lambda: clean_both(lab, other) or lab.directories(t) == [base])
    assert other.compaction(t).state == "succeeded"
    assert lab.rows(t) == [(2, "x")]


def clean_both(lab: Lab, other: Lab) -> bool:
    """Look for unreachable plans, then clean; False, so that a condition can go on after it."""
    lab.session.leases.prune(collect=True)
    cleaner.clean(other.session)
    return False


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.repeated
def test_a_release_lets_the_cleaner_go_on(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.insert(t, "(2)")
    reader = lab.frame(f"SELECT id FROM {t}")
    lab.sql(f"ALTER TABLE {t} COMPACT 'major'")
    assert [d[:5] for d in lab.directories(t)] == ["base_", "delta", "delta"]
    acidsql.release(lab.spark)
    cleaner.clean(lab.session)
    assert [d[:5] for d in lab.directories(t)] == ["base_"]
    with pytest.raises(Exception, match="(?i)FileNotFound|does not exist|FILE_NOT_EXIST"):
        reader.collect()
    assert lab.rows(t) == [(1,), (2,)]


@pytest.mark.repeated
def test_temporary_views_and_caches_keep_what_they_read(lab: Lab, other: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    lab.frame(f"SELECT id FROM {t}").createOrReplaceTempView(f"{t}_frozen")
    other.sql(f"DELETE FROM {t} WHERE id = 1")
    other.sql(f"ALTER TABLE {t} COMPACT 'major'")
    clean_both(lab, other)
    assert lab.sql(f"SELECT count(*) FROM {t}_frozen") == [(2,)]
    lab.spark.catalog.dropTempView(f"{t}_frozen")
    wait_until(lambda: clean_both(lab, other) or len(lab.directories(t)) == 1)


@pytest.fixture
def impatient(new_lab: Callable[..., Lab]) -> Lab:
    """Return a session whose DataFrames can be read for only one second."""
    return new_lab(spark__acidsql__snapshot__maxAge="1")


@pytest.mark.slow
def test_a_snapshot_expires(lab: Lab, impatient: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    reader = impatient.frame(f"SELECT id FROM {t}")
    count = reader.groupBy().count()
    time.sleep(1.1)
    for frame in (reader, count):
        with pytest.raises(Exception, match="SNAPSHOT_EXPIRED"):
            frame.collect()
    assert impatient.rows(t) == [(1,), (2,)]


@pytest.mark.repeated
def test_an_expired_snapshot_holds_no_cleaning_back(lab: Lab, impatient: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    lab.insert(t, "(3)")
    reader = impatient.frame(f"SELECT id FROM {t}")
    time.sleep(1.1)
    lab.sql(f"ALTER TABLE {t} COMPACT 'major'")
    impatient.session.leases.prune()
    cleaner.clean(lab.session)
    assert [d[:5] for d in lab.directories(t)] == ["base_"]
    with pytest.raises(Exception, match="SNAPSHOT_EXPIRED"):
        reader.collect()


def test_a_writer_whose_transaction_timed_out_is_told_so(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    t = lab.create("id int", values="(1)")

    def expire() -> None:
        (open_,) = [
            txn for txn in other.session.metastore.open_txns()
            if txn.state is TxnState.OPEN and txn.type.value == "default"
        ]  # fmt: skip
        other.sql(f"ABORT TRANSACTIONS {open_.txn_id}")

    before_commit(expire)
    with pytest.raises(acidsql.AcidSqlError, match="TXN_ABORTED"):
        lab.sql(f"UPDATE {t} SET id = 2")
    assert lab.rows(t) == [(1,)]
    assert lab.directories(t) == ["delta_0000001_0000001_0000"]


def test_write_skew_is_possible(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    """Each reads the partition that the other one changes: one after the other, one would change
    nothing.
    """
    t = partitioned(lab)
    leave = f"DELETE FROM {t} WHERE p = {{p}} AND (SELECT count(*) FROM {t}) > 1"
    before_commit(lambda: other.sql(leave.format(p=2)))
    lab.sql(leave.format(p=1))
    assert lab.rows(t) == []


def test_a_query_from_before_a_drop_fails(lab: Lab, other: Lab) -> None:
    t = lab.create("id int", values="(1)")
    frame = lab.frame(f"SELECT * FROM {t}")
    other.sql(f"DROP TABLE {t}")
    with pytest.raises(Exception, match=r"FAILED_READ_FILE|FILE_NOT_EXIST|FileNotFound"):
        frame.collect()
