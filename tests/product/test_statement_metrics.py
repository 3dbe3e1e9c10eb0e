"""Tests of the metrics of statements, and of the names of their jobs in Spark's UI."""

from __future__ import annotations

import logging
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import acidsql
from acidsql.session.metrics import StatementMetrics
from tests.limits import set_limits

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def run(lab: Lab, statement: str) -> StatementMetrics:
    found = acidsql.metrics(lab.frame(statement))
    assert found is not None
    return found


def descriptions(lab: Lab) -> dict[int, str | None]:
    """Return the descriptions of the jobs that Spark still knows, by their ids, the oldest first.

    It forgets old ones for new ones.
    """
    context = lab.spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    jobs = context.statusStore().jobsList(None)
    found = {int(jobs.apply(i).jobId()): jobs.apply(i).description() for i in range(jobs.size())}
    return {i: text.get() if text.isDefined() else None for i, text in sorted(found.items())}


def descriptions_since(lab: Lab, before: dict[int, str | None]) -> list[str | None]:
    return [text for i, text in descriptions(lab).items() if i > max(before, default=-1)]


@pytest.mark.slow
def test_metrics_of_each_kind_of_statement(lab: Lab) -> None:
    t = lab.create("id INT, s STRING")
    name = f"default.{t}"
    inserted = run(lab, f"INSERT INTO {t} VALUES (1, 'a'), (2, 'b')")
    assert (inserted.operation, inserted.tables, inserted.write_ids) == (
        "INSERT",
        (name,),
        {name: 1},
    )
    assert (inserted.rows_inserted, inserted.directories_written, inserted.files_written) == (
        2,
        1,
        1,
    )
    file = lab.root(t) / "delta_0000001_0000001_0000" / "bucket_00000"
    assert inserted.bytes_written == file.stat().st_size
    assert inserted.error is None
    phases = ["parse", "begin", "lock_wait", "plan", "execute", "publish", "commit"]
    assert list(inserted.seconds) == phases
    assert sum(inserted.seconds.values()) <= inserted.total_seconds
    updated = run(lab, f"UPDATE {t} SET s = 'u' WHERE id = 2")
    assert (updated.rows_inserted, updated.rows_updated, updated.rows_deleted) == (0, 1, 0)
    assert (updated.directories_read, updated.files_read) == (1, 1)
    assert updated.bytes_read == file.stat().st_size
    assert (updated.directories_written, updated.files_written) == (2, 2)
    assert list(updated.seconds) == [*phases[:3], "snapshot", *phases[3:]]
    txns = {txn.txn_id for txn in lab.session.metastore.open_txns()}
    assert updated.txn_id is not None
    assert updated.txn_id not in txns
    merged = run(
        lab,
        f"MERGE INTO {t} USING (SELECT explode(array(1, 7)) AS k) ON id = k "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (k)",
    )
    assert (merged.rows_inserted, merged.rows_updated, merged.rows_deleted) == (1, 0, 1)
    query = run(lab, f"SELECT * FROM {t}")
    assert (query.operation, query.tables, query.write_ids) == ("QUERY", (name,), {})
    assert (query.directories_read, query.files_read, query.files_written) == (5, 3, 0)
    assert list(query.seconds) == ["parse", "begin", "snapshot", "plan"]
    made = f"CREATE TABLE {t}_2 STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    assert run(lab, f"{made} AS SELECT 1 AS i").write_ids == {f"{name}_2": 1}
    assert run(lab, f"DELETE FROM {t}").rows_deleted == 2
    acidsql.release(lab.spark)
    compacted = run(lab, f"ALTER TABLE {t} COMPACT 'major'")
    assert (compacted.operation, compacted.tables) == ("COMPACT", (name,))
    assert compacted.directories_written == 1


@pytest.mark.repeated
def test_dataframes_without_metrics(lab: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    assert acidsql.metrics(lab.frame("SELECT 1")) is None
    query = lab.frame(f"SELECT * FROM {t}")
    assert acidsql.metrics(query.where("id = 1")) is None
    assert acidsql.metrics(acidsql.table(lab.spark, t)) is not None
    rows = lab.spark.range(2).toDF("id")
    appended = acidsql.metrics(acidsql.AcidTable.forName(lab.spark, t).append(rows))
    assert appended is not None
    assert (appended.operation, appended.rows_inserted) == ("INSERT", 2)


def test_each_statement_is_one_record(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "acidsql.metrics")
    t = lab.create("id INT", values="(1)")
    caplog.clear()
    lab.sql(f"DELETE FROM {t}")
    with pytest.raises(PySparkException):
        lab.sql(f"INSERT INTO {t} SELECT assert_true(id > 5) FROM range(1)")
    lab.sql("SELECT 1")
    deleted, failed = caplog.records
    assert vars(deleted)["rows_deleted"] == 1
    assert vars(deleted)["tables"] == (f"default.{t}",)
    assert vars(failed)["error"]
    assert vars(failed)["rows_inserted"] == 0


@pytest.mark.slow
def test_jobs_have_names(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    t = lab.create("id INT, s STRING", values="(1, 'a')")
    context = lab.spark.sparkContext
    before = descriptions(lab)
    updated = run(lab, f"UPDATE {t} SET s = 'u'")
    set_limits(monkeypatch, driver_read_bytes=0, driver_events=0)
    deleted = run(lab, f"DELETE FROM {t}")
    own = descriptions_since(lab, before)
    write = f"acidsql: UPDATE default.{t} (write), txn {updated.txn_id}"
    delete = f"acidsql: DELETE default.{t} (write), txn {deleted.txn_id}"
    assert own[0] == write
    assert len(own) > 2  # a job that finds the rows, and one that sorts the delete events
    assert set(own[1:]) == {delete}
    assert context.getLocalProperty("spark.job.description") is None
    with pytest.raises(PySparkException):
        lab.sql(f"INSERT INTO {t} SELECT assert_true(id > 5), 'x' FROM range(1)")
    assert context.getLocalProperty("spark.job.description") is None


def test_a_description_of_the_user_stays(lab: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    context = lab.spark.sparkContext
    before = descriptions(lab)
    other: list[str | None] = []

    def in_another_thread() -> None:
        lab.sql(f"INSERT INTO {t} SELECT id FROM range(3)")
        other.append(context.getLocalProperty("spark.job.description"))

    context.setJobDescription("nightly load")
    try:
        lab.sql(f"INSERT INTO {t} SELECT id FROM range(2)")
        thread = Thread(target=in_another_thread)
        thread.start()
        thread.join()
        assert context.getLocalProperty("spark.job.description") == "nightly load"
    finally:
        context.setLocalProperty("spark.job.description", None)
    mine, *others = descriptions_since(lab, before)
    assert mine == "nightly load"
    assert others
    assert all(str(text).startswith(f"acidsql: INSERT default.{t} (write)") for text in others)
    assert other == [None]
