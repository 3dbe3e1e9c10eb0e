"""Tests of the sink of Structured Streaming: modes, repeated batches, failures in between."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame

import acidsql
from acidsql.injection_points import Point
from acidsql.session.acid_session import AcidSession
from acidsql.stream_sink import BATCHES
from tests.injection import once
from tests.limits import set_limits
from tests.product.conditions import condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

SCHEMA = "id INT, v STRING, n INT, op STRING"


class Feed:
    """Stream of JSON files, a file a batch."""

    def __init__(self, lab: Lab, home: Path) -> None:
        self._lab, self._home, self._number = lab, home, 0
        (home / "in").mkdir()

    def add(self, *rows: dict[str, Any]) -> None:
        """Add a file."""
        self._number += 1
        lines = "\n".join(map(json.dumps, rows))
        (self._home / "in" / f"{self._number:04}.json").write_text(lines)

    @property
    def frame(self) -> DataFrame:
        """The streaming DataFrame."""
        reader = self._lab.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.json(str(self._home / "in"))

    @property
    def checkpoint(self) -> str:
        """Directory of the query's checkpoint."""
        return str(self._home / "checkpoint")

    def run(self, table: str, **options: Any) -> None:
        """Process what is there."""
        frame = options.pop("frame", self.frame)
        writer = acidsql.write_stream(frame, table, self.checkpoint, **options)
        writer.trigger(availableNow=True).start().awaitTermination()


@pytest.fixture
def feed(lab: Lab, tmp_path: Path) -> Iterator[Feed]:
    yield Feed(lab, tmp_path)
    lab.sql(f"DROP TABLE IF EXISTS {BATCHES}")


@contextmanager
def dropped_batches(lab: Lab) -> Iterator[None]:
    """Drop the table of batches after the block."""
    try:
        yield
    finally:
        lab.sql(f"DROP TABLE IF EXISTS {BATCHES}")


def change(number: int, value: str, position: int, op: str = "u") -> dict[str, Any]:
    return {"id": number, "v": value, "n": position, "op": op}


@pytest.mark.slow
def test_batches_are_appended_each_in_a_transaction(lab: Lab, feed: Feed) -> None:
    t = lab.create("id INT, v STRING, n INT, op STRING")
    feed.add(change(1, "a", 1), change(2, "b", 2))
    feed.add(change(3, "c", 3))
    feed.run(t)
    assert lab.sql(f"SELECT row__id.writeid, id FROM {t} ORDER BY id") == [(1, 1), (1, 2), (2, 3)]
    feed.add(change(4, "d", 4))
    feed.run(t)
    assert lab.sql(f"SELECT max(id), count(*) FROM {t}") == [(4, 4)]
    assert lab.sql(f"SELECT batch_id FROM {BATCHES} ORDER BY 1") == [(0,), (1,), (2,)]


@pytest.mark.slow
def test_changes_are_merged_the_newest_of_each_key(lab: Lab, feed: Feed) -> None:
    t = lab.create("id INT, v STRING", values="(1, 'old'), (2, 'old')")
    feed.add(change(1, "x", 1), change(1, "y", 2), change(2, "z", 3, "d"), change(3, "n", 4))
    feed.add(change(3, "gone", 5, "d"), change(4, "never", 6, "d"), change(1, "w", 7))
    feed.run(t, mode="merge", on="id", order_by="n", delete_when="op = 'd'")
    assert lab.rows(t) == [(1, "w")]


@pytest.mark.slow
def test_a_second_change_of_a_key_is_an_error_without_an_order(lab: Lab, feed: Feed) -> None:
    t = lab.create("id INT, v STRING", values="(1, 'old')")
    feed.add(change(1, "x", 1), change(1, "y", 2))
    with pytest.raises(StreamingQueryException, match="MERGE_CARDINALITY_VIOLATION"):
        feed.run(t, mode="merge", on="id")
    assert lab.rows(t) == [(1, "old")]
    assert lab.sql(f"SELECT * FROM {BATCHES}") == []


@pytest.mark.slow
def test_complete_output_replaces_all_rows(lab: Lab, feed: Feed) -> None:
    t = lab.create("v STRING, total BIGINT")
    feed.add(change(1, "a", 1), change(2, "b", 5))
    feed.run(t, mode="complete", frame=feed.frame.groupBy("v").agg({"n": "sum"}).toDF("v", "total"))
    assert lab.rows(t) == [("a", 1), ("b", 5)]
    feed.add(change(1, "a", 2))
    feed.run(t, mode="complete", frame=feed.frame.groupBy("v").agg({"n": "sum"}).toDF("v", "total"))
    assert lab.rows(t) == [("a", 3), ("b", 5)]


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before the commit", "after the commit"])
def test_a_batch_that_is_repeated_after_a_crash_is_written_once(
    lab: Lab, feed: Feed, when: str
) -> None:
    t = lab.create("id INT, v STRING, n INT, op STRING")
    feed.add(change(1, "a", 1))
    feed.run(t)
    feed.add(change(2, "b", 2))
    write = acidsql.sink(t, spark=lab.spark)

    def failing(batch: DataFrame, batch_id: int) -> None:
        if when == "after the commit":
            write(batch, batch_id)
        raise RuntimeError("power failure")

    query = feed.frame.writeStream.foreachBatch(failing)
    with pytest.raises(StreamingQueryException, match="power failure"):
        query.option("checkpointLocation", feed.checkpoint).start().processAllAvailable()
    feed.run(t)
    assert [row[0] for row in lab.rows(t)] == [1, 2]
    # The rows of a batch that was aborted or cleaned before it is repeated are written again.
    lab.compact(t, "major")
    feed.run(t)
    assert [row[0] for row in lab.rows(t)] == [1, 2]


@pytest.mark.slow
def test_one_stream_writes_two_tables(lab: Lab, feed: Feed) -> None:
    one, two = lab.create("id INT, v STRING, n INT, op STRING"), lab.create("id INT, v STRING")
    first = acidsql.sink(one, spark=lab.spark)
    second = acidsql.sink(two, mode="merge", on="id", spark=lab.spark)
    feed.add(change(1, "a", 1))

    def each(batch: DataFrame, batch_id: int) -> None:
        first(batch, batch_id)
        second(batch, batch_id)
        first(batch, batch_id)

    query = feed.frame.writeStream.foreachBatch(each).option("checkpointLocation", feed.checkpoint)
    query.start().processAllAvailable()
    assert len(lab.rows(one)) == len(lab.rows(two)) == 1


@pytest.mark.slow
def test_a_batch_that_loses_a_conflict_is_written_again_whole(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    t = lab.create("id INT, v STRING", values="(1, 'old')")
    write = acidsql.sink(t, mode="merge", on="id", app_id="s", spark=lab.spark)
    try:
        with lab.settings(spark__acidsql__retries="1"):
            write(lab.spark.createDataFrame([(9, "z")], "id INT, v STRING"), 0)
            before_commit(lambda: other.sql(f"UPDATE {t} SET v = 'theirs' WHERE id = 1"))
            write(lab.spark.createDataFrame([(1, "ours"), (2, "new")], "id INT, v STRING"), 1)
    finally:
        lab.sql(f"DROP TABLE {BATCHES}")
    assert lab.rows(t) == [(1, "ours"), (2, "new"), (9, "z")]


@pytest.mark.slow
@pytest.mark.parametrize("retries", [0, 1])
def test_of_two_processes_with_one_checkpoint_one_writes_a_batch(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None], retries: int
) -> None:
    t = lab.create("id INT, v STRING")
    writes = {own: acidsql.sink(t, app_id="s", spark=own.spark) for own in (lab, other)}

    def write(own: Lab, number: int) -> None:
        rows = own.spark.createDataFrame([(number, "x")], "id INT, v STRING")
        writes[own](rows, number)

    with dropped_batches(lab), lab.settings(spark__acidsql__retries=str(retries)):
        write(lab, 0)
        before_commit(lambda: write(other, 1))
        if retries:
            write(lab, 1)  # it finds the batch when it is run again
        else:
            with pytest.raises(PySparkException) as caught:
                write(lab, 1)
            assert condition_of(caught.value) == "CONCURRENT_WRITE"
        write(lab, 1)
        assert lab.rows(t) == [(0, "x"), (1, "x")]
        assert lab.sql(f"SELECT batch_id FROM {BATCHES} ORDER BY 1") == [(0,), (1,)]


@pytest.mark.slow
def test_streams_that_commit_at_the_same_time_are_not_in_each_others_way(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    t = lab.create("id INT")
    one = acidsql.sink(t, app_id="one", spark=lab.spark)
    two = acidsql.sink(t, app_id="two", spark=other.spark)
    with dropped_batches(lab), lab.settings(spark__acidsql__retries="0"):
        one(lab.spark.createDataFrame([(1,)], "id INT"), 0)
        before_commit(lambda: two(other.spark.createDataFrame([(2,)], "id INT"), 0))
        one(lab.spark.createDataFrame([(3,)], "id INT"), 1)
        assert lab.rows(t) == [(1,), (2,), (3,)]


@pytest.mark.slow
def test_no_session_is_left_of_batches_and_old_ones_are_forgotten(
    lab: Lab, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, kept_batches=2)
    t = lab.create("id INT, v STRING, n INT, op STRING")
    for number in range(5):
        feed.add(change(number, "a", number))
    AcidSession.of(lab.spark)
    before = len(AcidSession.open_sessions)
    feed.run(t)
    assert len(AcidSession.open_sessions) == before
    assert lab.sql(f"SELECT batch_id FROM {BATCHES} ORDER BY 1") == [(2,), (3,), (4,)]
    assert lab.sql(f"SELECT count(*) FROM {t}") == [(5,)]


@pytest.mark.parametrize(
    "options",
    [{"mode": "upsert"}, {"mode": "merge"}, {"on": "id"}, {"mode": "complete", "order_by": "n"}],
)
def test_options_that_do_not_fit_are_refused(lab: Lab, options: dict[str, Any]) -> None:
    with pytest.raises(PySparkException) as caught:
        acidsql.sink("t", spark=lab.spark, **options)
    assert condition_of(caught.value) == "INVALID_PARAMETER_VALUE.SINK"


def test_a_batch_of_no_stream_needs_a_name(lab: Lab) -> None:
    t = lab.create("id INT")
    write = acidsql.sink(t, spark=lab.spark)
    with pytest.raises(PySparkException) as caught:
        write(lab.spark.range(1), 0)
    assert condition_of(caught.value) == "INVALID_PARAMETER_VALUE.SINK"


@pytest.mark.slow
def test_a_stream_holds_its_table_whatever_becomes_of_the_name(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    def rows(number: int) -> DataFrame:
        return lab.spark.createDataFrame([(number,)], "id INT")

    t = lab.create("id INT")
    with dropped_batches(lab):
        lab.sql("CREATE DATABASE elsewhere")
        lab.sql(
            f"CREATE TABLE elsewhere.{t} (id INT) STORED AS ORC"
            " TBLPROPERTIES ('transactional'='true')"
        )
        try:
            write = acidsql.sink(t, app_id="s", spark=lab.spark)
            write(rows(0), 0)
            # The session's current database.
            lab.sql("USE elsewhere")
            write(rows(1), 1)
            with caplog.at_level("WARNING", "acidsql.stream_sink"):
                write(rows(1), 1)
            lab.sql("USE default")
            assert [record.levelname for record in caplog.records] == ["WARNING"]
            assert f"batch 1 of stream s is left out: default.{t}" in caplog.text
            assert lab.rows(f"elsewhere.{t}") == []
            # A new name, in another database too: what runs ends, what begins there goes on.
            for renamed in (f"{t}_new", f"elsewhere.{t}_new"):
                lab.sql(f"ALTER TABLE {write.target.full_name} RENAME TO {renamed}")
                refused(partial(write, rows(2), 2), "HELD_TABLE_CHANGED")
                write = acidsql.sink(renamed, app_id="s", spark=lab.spark)
                write(rows(1), 1)
                assert lab.rows(renamed) == [(0,), (1,)]
            write(rows(2), 2)
            assert lab.rows(f"elsewhere.{t}_new") == [(0,), (1,), (2,)]
            # Another table of the old name begins with nothing.
            other = acidsql.sink(f"elsewhere.{t}", app_id="s", spark=lab.spark)
            other(rows(0), 0)
            lab.sql(f"DROP TABLE elsewhere.{t}")
            refused(lambda: other(rows(1), 1), "HELD_TABLE_CHANGED")
            lab.sql(
                f"CREATE TABLE elsewhere.{t} (id INT) STORED AS ORC"
                " TBLPROPERTIES ('transactional'='true')"
            )
            refused(lambda: other(rows(1), 1), "HELD_TABLE_CHANGED")
            once = acidsql.sink(f"elsewhere.{t}", app_id="s", spark=lab.spark)
            once(rows(0), 0)
            assert lab.rows(f"elsewhere.{t}") == [(0,)]
        finally:
            lab.sql("USE default")
            lab.sql("DROP DATABASE elsewhere CASCADE")


def test_a_table_that_is_replaced_while_a_batch_is_written_gets_none_of_it(lab: Lab) -> None:
    t = lab.create("id INT")
    write = acidsql.sink(t, app_id="s", exactly_once=False, spark=lab.spark)
    definition = lab.session.metastore.table("default", t)

    def replace_table() -> None:
        lab.session.metastore.drop_table("default", t)
        lab.session.metastore.create_table(replace(definition, location=f"{definition.location}_2"))

    with once(Point.BEFORE_BATCH) as plan:
        plan(replace_table)
        refused(lambda: write(lab.spark.range(1), 0), "HELD_TABLE_CHANGED")
    assert lab.rows(t) == []


def refused(action: Callable[[], Any], condition: str) -> None:
    with pytest.raises(PySparkException) as caught:
        action()
    assert condition_of(caught.value) == condition
