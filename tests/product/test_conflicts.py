"""What conflicts and what does not: rows, whole partitions, keys and what was read; retries."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Observation
from pyspark.sql import functions as F

import acidsql
from acidsql.errors import AcidAnalysisError, LockTimeoutError, WriteConflictError
from acidsql.injection_points import Point, attached
from acidsql.transactions.comparison import Comparison
from acidsql.transactions.transaction import Transaction
from tests.limits import set_limits

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

BeforeCommit = Callable[[Callable[[], Any]], None]
ROWS = "(1, 10), (2, 20), (3, 30)"


def pairs(lab: Lab, **options: Any) -> str:
    return lab.create("id int, v int", values=ROWS, **options)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("late", "early", "expected"),
    [
        ("UPDATE {t} SET v = 11 WHERE id = 1", "UPDATE {t} SET v = 22 WHERE id = 2",
         [(1, 11), (2, 22), (3, 30)]),
        ("DELETE FROM {t} WHERE id = 1", "UPDATE {t} SET v = 22 WHERE id = 2",
         [(2, 22), (3, 30)]),
        ("UPDATE {t} SET v = 11 WHERE id = 1", "DELETE FROM {t} WHERE id > 1", [(1, 11)]),
        (
            "MERGE INTO {t} USING (SELECT * FROM VALUES (1, 11), (4, 40) AS s (id, v)) s "
            "ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
            "WHEN NOT MATCHED THEN INSERT *",
            "MERGE INTO {t} USING (SELECT 2 AS id) s ON {t}.id = s.id WHEN MATCHED THEN DELETE",
            [(1, 11), (3, 30), (4, 40)],
        ),
    ],
)  # fmt: skip
def test_changes_of_different_rows_both_commit(
    lab: Lab,
    other: Lab,
    before_commit: BeforeCommit,
    late: str,
    early: str,
    expected: list[tuple[int, int]],
) -> None:
    t = pairs(lab)
    before_commit(lambda: other.sql(early.format(t=t)))
    lab.sql(late.format(t=t))
    assert lab.rows(t) == expected


@pytest.mark.slow
def test_rows_that_an_update_moves_to_another_partition(
    lab: Lab, other: Lab, before_commit: BeforeCommit
) -> None:
    t = lab.create("id int", partitioned="p int", values="(1, 1), (2, 1), (3, 2)")
    before_commit(lambda: other.sql(f"UPDATE {t} SET p = 2 WHERE id = 1"))
    lab.sql(f"UPDATE {t} SET p = 3 WHERE id >= 2")
    assert lab.rows(t) == [(1, 2), (2, 3), (3, 3)]
    before_commit(lambda: other.sql(f"UPDATE {t} SET p = 4 WHERE id = 1"))
    with pytest.raises(WriteConflictError, match=rf"default\.{t}/p=2"):
        lab.sql(f"DELETE FROM {t} WHERE id = 1")
    assert lab.rows(t) == [(1, 4), (2, 3), (3, 3)]


def test_an_aborted_rival_is_none(lab: Lab, other: Lab, before_commit: BeforeCommit) -> None:
    t = pairs(lab)

    def abort() -> None:
        before_commit(lambda: other.sql(f"ABORT TRANSACTIONS {highest(other)}"))
        with pytest.raises(acidsql.errors.TransactionStateError):
            other.sql(f"UPDATE {t} SET v = 0")

    before_commit(abort)
    lab.sql(f"UPDATE {t} SET v = 11 WHERE id = 1")
    assert lab.rows(t) == [(1, 11), (2, 20), (3, 30)]


def highest(lab: Lab) -> int:
    return max(lab.session.metastore.valid_txns().open)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("kind", "lost", "conflicts"),
    [
        ("major", False, False),
        ("minor", False, False),
        ("minor", True, False),  # the compacted delete delta shows who deleted
        ("major", True, True),  # nothing that is unknown is taken for different
    ],
)
def test_a_compaction_between(
    lab: Lab, other: Lab, before_commit: BeforeCommit, kind: str, lost: bool, conflicts: bool
) -> None:
    """The cleaner waits for the late one, which compares the delete deltas that it kept."""
    t = pairs(lab)
    reached, go = threading.Event(), threading.Event()
    # It has the lower write id: a compaction does not go beyond those that are open.
    early = threading.Thread(target=other.sql, args=(f"UPDATE {t} SET v = 22 WHERE id = 2",))

    def pause() -> None:
        reached.set()
        go.wait(60)

    def compact() -> None:
        go.set()
        early.join()
        other.sql(f"ALTER TABLE {t} COMPACT '{kind}'")
        acidsql.run_cleaner(other.spark)
        assert any("0000002_v" in name for name in lab.directories(t))
        kept = lab.root(t) / "delete_delta_0000002_0000002_0000"
        assert kept.exists()
        if lost:
            shutil.rmtree(kept)

    before_commit(compact)
    before_commit(pause)
    early.start()
    assert reached.wait(60)
    if conflicts:
        with pytest.raises(WriteConflictError):
            lab.sql(f"UPDATE {t} SET v = 11 WHERE id = 1")
    else:
        lab.sql(f"UPDATE {t} SET v = 11 WHERE id = 1")
    assert lab.rows(t) == [(1, 10 if conflicts else 11), (2, 22), (3, 30)]


@pytest.mark.repeated
def test_too_many_events_to_compare_are_a_conflict(
    lab: Lab, other: Lab, before_commit: BeforeCommit, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = pairs(lab)
    set_limits(monkeypatch, compared_events=1)
    before_commit(lambda: other.sql(f"UPDATE {t} SET v = 22 WHERE id = 2"))
    with pytest.raises(WriteConflictError):
        lab.sql(f"UPDATE {t} SET v = 11 WHERE id = 1")


@pytest.mark.repeated
def test_who_commits_during_the_comparison_is_compared_too(lab: Lab, other: Lab) -> None:
    t = pairs(lab)
    left = [2, 3]

    def commit_another(comparison: Comparison) -> None:
        if comparison.session is lab.session and left:
            other.sql(f"UPDATE {t} SET v = v + 1 WHERE id = {left.pop(0)}")

    with attached(Point.COMPARED, commit_another):
        lab.sql(f"UPDATE {t} SET v = 11 WHERE id = 1")
    assert left == []
    assert lab.rows(t) == [(1, 11), (2, 21), (3, 31)]


# -- retries -----------------------------------------------------------------------------------


def test_the_loser_is_run_again_and_tells_it(
    lab: Lab, other: Lab, before_commit: BeforeCommit, caplog: pytest.LogCaptureFixture
) -> None:
    t = pairs(lab)
    before_commit(lambda: other.sql(f"UPDATE {t} SET v = v + 1 WHERE id = 1"))
    with (
        lab.settings(spark__acidsql__retries="3"),
        caplog.at_level(logging.INFO, "acidsql.metrics"),
    ):
        done = lab.frame(f"UPDATE {t} SET v = v * 2 WHERE id = 1")
    assert lab.rows(t) == [(1, 22), (2, 20), (3, 30)]
    found = acidsql.metrics(done)
    assert found is not None
    assert (found.retries, found.rows_updated, found.directories_written) == (1, 1, 2)
    assert any("retries: 1" in record.message for record in caplog.records)


@pytest.mark.slow
def test_threads_that_change_one_row_take_turns(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that one retry is enough with any other committer: no statement loses twice."""
    t = pairs(lab)
    threads, each = 4, 3
    meeting = threading.Barrier(threads)
    errors: list[Exception] = []
    set_limits(monkeypatch, turn_seconds=60)

    def change() -> None:
        meeting.wait()
        for _ in range(each):
            try:
                lab.sql(f"UPDATE {t} SET v = v + 1 WHERE id = 1")
            except WriteConflictError as error:
                errors.append(error)

    with lab.settings(spark__acidsql__retries="1"):
        running = [threading.Thread(target=change) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    assert errors == []
    assert lab.rows(t) == [(1, 10 + threads * each), (2, 20), (3, 30)]


@pytest.mark.repeated
def test_the_last_conflict_is_raised(lab: Lab, other: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    t = pairs(lab)
    set_limits(monkeypatch, first_retry_seconds=0.01)
    tries: list[int] = []

    def always(_: Transaction) -> None:
        tries.append(1)
        raise WriteConflictError("CONCURRENT_WRITE", "again")

    with attached(Point.BEFORE_COMMIT, always):
        with lab.settings(spark__acidsql__retries="2"), pytest.raises(WriteConflictError):
            lab.sql(f"UPDATE {t} SET v = 0")
        assert len(tries) == 3
        tries.clear()
        with pytest.raises(WriteConflictError):
            lab.sql(f"UPDATE {t} SET v = 0")
        assert len(tries) == 1
    assert other.rows(t) == [(1, 10), (2, 20), (3, 30)]


@pytest.mark.repeated
@pytest.mark.parametrize(
    "error",
    [
        acidsql.errors.MetastoreError("COMMIT_OUTCOME_UNKNOWN", "no answer"),
        acidsql.errors.TransactionStateError("TXN_ABORTED", "somebody aborted it"),
        LockTimeoutError("LOCK_TIMEOUT", "in the way"),
    ],
)
def test_other_errors_are_raised_at_once(lab: Lab, error: Exception) -> None:
    t = pairs(lab)
    tries: list[int] = []

    def fail(_: Transaction) -> None:
        tries.append(1)
        raise error

    with (
        attached(Point.BEFORE_COMMIT, fail),
        lab.settings(spark__acidsql__retries="3"),
        pytest.raises(type(error)),
    ):
        lab.sql(f"UPDATE {t} SET v = 0")
    assert len(tries) == 1


@pytest.mark.repeated
def test_observed_values_are_not_computed_again(
    lab: Lab, other: Lab, before_commit: BeforeCommit
) -> None:
    t = lab.create("id int, v double", values="(1, 0)")
    lose = f"UPDATE {t} SET v = v + 1"
    merge = (
        "MERGE INTO {t} USING {{source}} s ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v"
    )
    # The rows of a shuffle come in any order, so that their seeded numbers may be others.
    source = lab.spark.range(1, 2).repartition(2).select(F.col("id"), F.rand().alias("v"))
    with lab.settings(spark__acidsql__retries="3"):
        before_commit(lambda: other.sql(lose))
        lab.sql(merge.format(t=t), source=source)
        observation = Observation()
        observed = source.observe(observation, F.max("v").alias("v"))
        before_commit(lambda: other.sql(lose))
        with pytest.raises(WriteConflictError):
            lab.sql(merge.format(t=t), source=observed)


@pytest.mark.repeated
def test_a_data_frame_is_written_again(lab: Lab, other: Lab, before_commit: BeforeCommit) -> None:
    t = pairs(lab)
    table = acidsql.AcidTable.forName(lab.spark, t)
    source = lab.spark.createDataFrame([(1, 7)], "id int, v int")
    before_commit(lambda: other.sql(f"UPDATE {t} SET v = 0 WHERE id = 1"))
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll()
    with lab.settings(spark__acidsql__retries="3"):
        assert acidsql.metrics(merge.execute()).retries == 1  # type: ignore[union-attr]
    assert lab.rows(t) == [(1, 7), (2, 20), (3, 30)]


def test_bad_values_of_the_settings(lab: Lab) -> None:
    t = lab.create("id int")
    for key, value in (("retries", "-1"), ("retries", "many"), ("isolation", "read committed")):
        with (
            lab.settings(**{f"spark__acidsql__{key}": value}),
            pytest.raises(AcidAnalysisError, match="INVALID_CONF_VALUE"),
        ):
            lab.insert(t, "(1)")
    assert lab.directories(t) == []


# -- what was read -----------------------------------------------------------------------------

SKEW = (
    "UPDATE {t} SET on_call = false "
    "WHERE id = {id} AND (SELECT count(*) FROM {t} WHERE on_call) > 1"
)


def doctors(lab: Lab) -> str:
    return lab.create("id int, on_call boolean", values="(1, true), (2, true)")


@pytest.mark.slow
def test_write_skew_is_refused_if_serializable(
    lab: Lab, other: Lab, before_commit: BeforeCommit
) -> None:
    t = doctors(lab)
    before_commit(lambda: other.sql(SKEW.format(t=t, id=2)))
    with lab.settings(spark__acidsql__isolation="serializable"):
        with pytest.raises(WriteConflictError, match=rf"had read of default\.{t} has changed"):
            lab.sql(SKEW.format(t=t, id=1))
        lab.sql(SKEW.format(t=t, id=1))
    assert lab.rows(t) == [(1, True), (2, False)]


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("early", "conflicts"),
    [
        ("INSERT INTO {s} VALUES (3, 5, 1)", True),
        ("INSERT INTO {s} VALUES (3, 50, 1)", False),  # not v < 10
        ("INSERT INTO {s} VALUES (3, 5, 2)", False),  # another partition
        ("INSERT INTO {s} VALUES (3, 5, 9)", False),  # a new one, which is not p = 1
        ("UPDATE {s} SET id = 9 WHERE v = 1 AND p = 1", True),
        ("UPDATE {s} SET id = 9 WHERE v = 60", False),
        ("UPDATE {s} SET v = 5 WHERE v = 60", True),
        ("DELETE FROM {s} WHERE v = 1 AND p = 2", False),
        ("DELETE FROM {s} WHERE v = 1", True),
        ("INSERT OVERWRITE {s} PARTITION (p = 1) VALUES (7, 70)", True),
        ("INSERT OVERWRITE {s} PARTITION (p = 2) VALUES (7, 7)", False),
        ("ALTER TABLE {s} DROP PARTITION (p = 1)", True),
        ("ALTER TABLE {s} ADD PARTITION (p = 5)", False),
    ],
)
def test_what_a_serializable_insert_has_read(
    lab: Lab, other: Lab, before_commit: BeforeCommit, early: str, conflicts: bool
) -> None:
    s = lab.create("id int, v int", partitioned="p int", values="(1, 1, 1), (2, 60, 1), (1, 1, 2)")
    t = lab.create("n int")
    before_commit(lambda: other.sql(early.format(s=s)))
    with lab.settings(spark__acidsql__isolation="serializable"):
        insert = f"INSERT INTO {t} SELECT count(*) FROM {s} WHERE p = 1 AND v < 10"
        if conflicts:
            with pytest.raises(WriteConflictError):
                lab.sql(insert)
        else:
            lab.sql(insert)
    assert lab.rows(t) == ([] if conflicts else [(1,)])


@pytest.mark.repeated
def test_rows_that_came_and_went_have_not_changed(
    lab: Lab, other: Lab, before_commit: BeforeCommit
) -> None:
    s, t = pairs(lab), lab.create("n int")

    def early() -> None:
        other.insert(s, "(4, 5)")
        other.sql(f"DELETE FROM {s} WHERE id = 4")

    before_commit(early)
    with lab.settings(spark__acidsql__isolation="serializable"):
        lab.sql(f"INSERT INTO {t} SELECT count(*) FROM {s} WHERE v < 15")
    assert lab.rows(t) == [(1,)]


# -- unique keys -------------------------------------------------------------------------------

UPSERT = (
    "MERGE INTO {t} USING (SELECT {id} AS id, 1 AS p) s ON {t}.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = v + 1 "
    "WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, 30, s.p)"
)


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("unique", "id_", "expected"),
    [
        ("ID", 3, None),
        ("id", 4, [(1, 10, 1), (2, 20, 2), (3, 30, 1), (4, 30, 1)]),
        (None, 3, [(1, 10, 1), (2, 20, 2), (3, 30, 1), (3, 30, 1)]),
    ],
)
def test_two_merges_that_insert_the_same_key(
    lab: Lab,
    other: Lab,
    before_commit: BeforeCommit,
    unique: str | None,
    id_: int,
    expected: list[tuple[int, ...]] | None,
) -> None:
    t = lab.create(
        "id int, v int",
        partitioned="p int",
        properties={"acidsql.merge.unique": unique} if unique else None,
        values="(1, 10, 1), (2, 20, 2)",
    )
    before_commit(lambda: other.sql(UPSERT.format(t=t, id=id_)))
    merge = UPSERT.format(t=t, id=3)
    if expected is None:
        with pytest.raises(WriteConflictError, match=r"key \(id\)"):
            lab.sql(merge)
        lab.sql(merge)
        expected = [(1, 10, 1), (2, 20, 2), (3, 31, 1)]
    else:
        lab.sql(merge)
    assert lab.rows(t) == expected


@pytest.mark.repeated
def test_a_merge_and_an_insert_of_the_same_key(
    lab: Lab, other: Lab, before_commit: BeforeCommit
) -> None:
    t = lab.create(
        "id int, v int, p int", properties={"acidsql.merge.unique": "p, id"}, values="(1, 10, 1)"
    )
    before_commit(lambda: other.insert(t, "(3, 0, 2), (NULL, 0, 1)"))
    lab.sql(UPSERT.format(t=t, id=3))
    before_commit(lambda: other.insert(t, "(4, 0, 1)"))
    with pytest.raises(WriteConflictError):
        lab.sql(UPSERT.format(t=t, id=4))


@pytest.mark.parametrize(
    ("columns", "problem"), [("id, k", "no column"), ("m", "has the type MAP")]
)
def test_keys_that_cannot_be_compared(lab: Lab, columns: str, problem: str) -> None:
    t = lab.create(
        "id int, v int, p int, m map<string,int>", properties={"acidsql.merge.unique": columns}
    )
    with pytest.raises(AcidAnalysisError, match=rf"INVALID_TABLE_PROPERTY.*{problem}"):
        lab.sql(UPSERT.format(t=t, id=1))
    assert lab.directories(t) == []
