"""After ``AcidSession.close`` nothing of a session is kept."""

from __future__ import annotations

import gc
import time
import weakref
from typing import TYPE_CHECKING, Any

import pytest

import acidsql
from acidsql import bridge
from acidsql.bridge import JvmCache
from acidsql.session.acid_session import AcidSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def use(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    """Run what fills the caches of a session: a scan with deleted rows, a MERGE, a view."""
    acidsql.sql(spark, f"DELETE FROM {table} WHERE id = 2")
    acidsql.sql(spark, f"MERGE INTO {table} t USING (SELECT 3 AS id) s ON t.id = s.id"
                " WHEN MATCHED THEN UPDATE SET v = 'm'")  # fmt: skip
    acidsql.sql(spark, f"CREATE TEMPORARY VIEW seen AS SELECT * FROM {table}")
    acidsql.sql(spark, f"ALTER TABLE {table} COMPACT 'minor'")
    rows = acidsql.sql(spark, f"SELECT id, v, p FROM {table} JOIN seen USING (id, v, p)")
    return list(map(tuple, rows.collect()))


@pytest.mark.slow
def test_nothing_of_a_closed_session_is_kept(lab: Lab) -> None:
    t = lab.create(
        "id int, v string", partitioned="p int", values="(1, 'a', 1), (2, 'b', 1), (3, 'c', 2)"
    )
    spark: Any = lab.spark.newSession()
    assert sorted(use(spark, t)) == [(1, "a", 1), (3, "m", 2)]
    session: Any = AcidSession.of(spark)
    assert JvmCache.has(session.spark)
    kept = {"spark": weakref.ref(spark), "session": weakref.ref(session)}
    session.close()
    assert not JvmCache.has(spark)
    assert not JvmCache.has(session.spark)
    assert not JvmCache.has(session)
    assert JvmCache.has(lab.spark.sparkContext)  # another session is open
    lab.spark.newSession()  # PySpark itself keeps the one that was made last
    del spark, session
    gc.collect()
    assert {name for name, reference in kept.items() if reference() is not None} == set()


@pytest.mark.slow
def test_a_closed_session_can_be_used_again(lab: Lab) -> None:
    t = lab.create("id int, v string, p int", values="(1, 'a', 1), (3, 'c', 2)")
    spark = lab.spark.newSession()
    for rows in ([(1, "a", 1), (3, "m", 2)], [(1, "a", 1), (3, "m", 2)]):
        spark.catalog.dropTempView("seen")
        assert sorted(use(spark, t)) == rows
        AcidSession.of(spark).close()


def wait_for_leases(session: AcidSession) -> None:
    """Wait until no lease is left: Spark's threads hold a plan for a moment after its result."""
    deadline = time.monotonic() + 30
    while len(session.leases):
        assert time.monotonic() < deadline
        session.leases.prune(collect=True)


def create_another(spark: SparkSession) -> None:
    """Use a new session, when what is not reachable any more has been collected."""
    later = spark.newSession()  # PySpark itself keeps the one that was made last
    bridge.collect_garbage(spark)
    AcidSession.of(later)


@pytest.mark.slow
def test_sessions_that_nobody_reaches_end_when_another_is_created(lab: Lab) -> None:
    t = lab.create(
        "id int, v string", partitioned="p int", values="(1, 'a', 1), (2, 'b', 1), (3, 'c', 2)"
    )
    kept: list[weakref.ref[Any]] = []
    for _ in range(2):
        spark: Any = lab.spark.newSession()
        use(spark, t)
        kept += [weakref.ref(spark), weakref.ref(AcidSession.of(spark))]
        del spark
        create_another(lab.spark)
    assert [reference() is None for reference in kept] == [True, False] * 2  # they have views
    for number in (1, 3):
        session: Any = kept[number]()
        session.spark.catalog.dropTempView("seen")
        wait_for_leases(session)
        del session
    create_another(lab.spark)
    assert [reference() is None for reference in kept] == [True] * 4


@pytest.mark.repeated
def test_a_frame_keeps_its_session(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    frame = acidsql.table(lab.spark.newSession(), t)
    session = AcidSession.of(frame.sparkSession)
    create_another(lab.spark)
    assert session in AcidSession.open_sessions.values()
    assert frame.count() == 1
    del frame
    wait_for_leases(session)
    create_another(lab.spark)
    assert session not in AcidSession.open_sessions.values()
