"""Tests that leases end with their DataFrames, and never block other statements."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql import bridge
from acidsql.errors import MetastoreError
from acidsql.metastore.model import TxnState
from acidsql.session.acid_session import AcidSession

pytestmark = pytest.mark.spark


@pytest.fixture
def leased(spark: SparkSession) -> Iterator[str]:
    """Yield a table of one row, without a lease."""
    acidsql.sql(
        spark,
        "CREATE TABLE leased (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    )
    acidsql.sql(spark, "INSERT INTO leased VALUES (1)")
    acidsql.release(spark)
    yield "leased"
    acidsql.sql(spark, "DROP TABLE leased")


def _open(session: AcidSession) -> set[int]:
    return {t.txn_id for t in session.metastore.open_txns() if t.state is TxnState.OPEN}


@pytest.mark.slow
def test_a_lease_lives_as_long_as_a_derived_frame(spark: SparkSession, leased: str) -> None:
    session = AcidSession.of(spark)
    before = _open(session)
    frame = acidsql.table(spark, leased)
    derived = frame.where("id > 0")
    (txn_id,) = _open(session) - before
    del frame
    session.leases.prune(collect=True)
    assert txn_id in _open(session)
    assert derived.count() == 1
    acidsql.release(spark)
    assert txn_id not in _open(session)


def test_statements_that_run_at_once_leave_no_lease(spark: SparkSession, leased: str) -> None:
    session = AcidSession.of(spark)
    before = _open(session)
    acidsql.sql(
        spark,
        "CREATE TABLE copied STORED AS ORC TBLPROPERTIES ('transactional'='true') "
        f"AS SELECT * FROM {leased}",
    )
    acidsql.sql(spark, f"CHECK TABLE {leased} FULL")
    acidsql.sql(spark, "DROP TABLE copied")
    assert _open(session) == before


def test_leases_end_when_the_metastore_is_away(
    spark: SparkSession, leased: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = AcidSession.of(spark)
    before = _open(session)
    frames = [acidsql.table(spark, leased) for _ in range(2)]
    left = _open(session) - before

    def away(txn_id: int) -> None:
        raise MetastoreError("METASTORE_UNAVAILABLE", f"{txn_id}: start the server")

    with monkeypatch.context() as patched:
        patched.setattr(session.metastore, "commit_txn", away)
        acidsql.release(spark)
    assert _open(session) - before == left
    assert [frame.count() for frame in frames] == [1, 1]
    for txn_id in left:
        session.metastore.abort_txn(txn_id)
    acidsql.release(spark)


def test_a_lease_that_was_reaped_does_not_disturb_later_statements(
    spark: SparkSession, leased: str
) -> None:
    session = AcidSession.of(spark)
    before = _open(session)
    frame = acidsql.table(spark, leased)
    (txn_id,) = _open(session) - before
    session.metastore.abort_txn(txn_id)
    acidsql.release(spark)
    assert frame.count() == 1
    assert acidsql.table(spark, leased).count() == 1


@pytest.mark.slow
def test_a_view_of_the_cache_keeps_its_lease(spark: SparkSession, leased: str) -> None:
    session = AcidSession.of(spark)
    before = _open(session)
    acidsql.table(spark, leased).createOrReplaceTempView("kept")
    (txn_id,) = _open(session) - before
    session.leases.prune(collect=True)
    assert txn_id in _open(session)
    assert spark.sql("SELECT count(*) FROM kept").head()[0] == 1
    spark.catalog.dropTempView("kept")


def test_frames_are_asked_about_only_when_some_were_collected(
    spark: SparkSession, leased: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    acidsql.release(spark)
    frames = [acidsql.sql(spark, f"SELECT * FROM {leased}") for _ in range(3)]
    asked: list[object] = []

    def reachable(reference: object) -> bool:
        asked.append(reference)
        return True

    monkeypatch.setattr(bridge, "reachable", reachable)
    for collected, expected in ((False, 0), (True, 3)):
        monkeypatch.setattr(
            bridge.RelationWatch, "has_unreachable", lambda _, found=collected: found
        )
        AcidSession.of(spark).leases.prune()
        assert len(asked) == expected
    assert [frame.count() for frame in frames] == [1, 1, 1]
