"""Tests of the changes that ``format("acidsql")`` reads: those of ``table_changes``, as a batch and
as a stream.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark.sql.datasource")

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

import acidsql
from acidsql.datasource import AcidDataSource
from acidsql.errors import AcidSqlError
from tests.product.conditions import condition_of
from tests.product.data_source_changes import options_of, rows_of, told_by_source, told_by_spark

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

KEPT = {"acidsql.history.retention": "1d"}
INSERT, DELETE, PREIMAGE, POSTIMAGE = "insert", "delete", "update_preimage", "update_postimage"


class Stream:
    """Reader of a stream as Spark uses it: a new one for each batch, as after a restart."""

    def __init__(self, lab: Lab, table: str, **options: str) -> None:
        self._source: Any = AcidDataSource(options_of(lab, table, **options))
        self._schema: StructType = lab.spark.createDataFrame([], self._source.schema()).schema
        self.offset = self._sent(self._reader().initialOffset())

    def _reader(self) -> Any:
        return self._source.streamReader(self._schema)

    @staticmethod
    def _sent(offset: Any) -> Any:
        return json.loads(json.dumps(offset))

    def next(self) -> list[tuple[Any, ...]]:
        """Return the changes of the next batch, without the time of their commits."""
        reader = self._reader()
        start, self.offset = self.offset, self._sent(reader.latestOffset())
        parts = self._reader().partitions(start, self.offset)
        found = rows_of(reader, parts)
        again = self._reader()
        assert sorted(rows_of(again, again.partitions(start, self.offset))) == sorted(found)
        again.commit(self.offset)
        return sorted(row[:-1] for row in found)


@pytest.mark.slow
def test_changes_are_those_of_table_changes(lab: Lab) -> None:
    t = lab.create("id int, v string, at timestamp", partitioned="p int", properties=KEPT)
    lab.insert(t, "(1, 'a', TIMESTAMP'2024-07-01 12:00:00', 1), (2, 'b', NULL, 2)")
    lab.insert(t, "(3, 'c', NULL, 1), (4, NULL, NULL, NULL)")
    lab.sql(f"UPDATE {t} SET v = 'x', p = 2 WHERE id = 1")
    lab.sql(
        f"MERGE INTO {t} USING (SELECT 2 AS id UNION ALL SELECT 3 UNION ALL SELECT 5) AS s"
        f" ON {t}.id = s.id WHEN MATCHED AND s.id = 2 THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET v = 'm'"
        " WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, 'n', 1)"
    )
    lab.compact(t, "minor", "p=1")
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 2) SELECT 6, 'o', NULL")
    lab.sql(f"DELETE FROM {t} WHERE id = 4")
    for arguments, options in (
        ("1", {"startingVersion": "1"}),
        ("1, net => true", {"startingVersion": "1", "deduplicationMode": "netChanges"}),
        ("2, 4, keys => 'ID'", {"startingVersion": "2", "endingVersion": "4", "keys": "ID"}),
        (
            "1, starting_bound_inclusive => false, keys => 'id', net => true",
            {
                "startingVersion": "1",
                "startingBoundInclusive": "false",
                "keys": "id",
                "deduplicationMode": "netChanges",
            },
        ),
    ):
        expected = told_by_spark(lab, t, arguments)
        assert expected
        assert told_by_source(lab, t, **options) == expected, arguments
    chosen = told_by_source(lab, t, startingVersion="6", columns="_commit_version, V, row__id")
    assert [row[0] for row in chosen] == [6]
    (own,) = lab.sql(f"SELECT v, row__id FROM table_changes('{t}', 6)")
    assert chosen == [(6, own[0], own[1].asDict())]


def test_a_stream_loses_nothing_when_a_later_write_id_commits_first(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1)")
    stream, later = Stream(lab, t), Stream(lab, t, startingVersion="latest")
    assert stream.offset == {"checkpoint": None}
    assert stream.next() == [(1, 1, INSERT, 1)]
    between: list[list[tuple[Any, ...]]] = []

    def commit_first() -> None:
        other.insert(t, "(3, 3)")
        between.append(stream.next())

    before_commit(commit_first)
    lab.insert(t, "(2, 2)")
    assert between == [[(3, 3, INSERT, 3)]]
    assert stream.next() == [(2, 2, INSERT, 2)]
    assert stream.next() == []
    lab.sql(f"UPDATE {t} SET v = 9 WHERE id < 3")
    told = [(1, 1, PREIMAGE, 4), (1, 9, POSTIMAGE, 4), (2, 2, PREIMAGE, 4), (2, 9, POSTIMAGE, 4)]
    assert stream.next() == told
    assert later.next() == sorted([(2, 2, INSERT, 2), (3, 3, INSERT, 3), *told])
    assert Stream(lab, t, startingVersion="4").next() == told


def test_what_cannot_be_told_is_refused(lab: Lab) -> None:
    t = lab.create("id int, x double", properties=KEPT, values="(1, 1), (2, 2)")
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    stream = Stream(lab, t, startingVersion="2")
    for options, condition in (
        ({"startingVersion": "9"}, "VERSION_NOT_FOUND"),
        ({"startingVersion": "1", "keys": "y"}, "INVALID_PARAMETER_VALUE.CHANGES"),
        ({"startingVersion": "1", "keys": "x"}, "INVALID_PARAMETER_VALUE.CHANGES"),
        ({}, "INVALID_PARAMETER_VALUE.CHANGES"),
    ):
        with pytest.raises(AcidSqlError) as caught:
            told_by_source(lab, t, **options)
        assert condition_of(caught.value) == condition, options
    for asked in ({"readChangeFeed": "false"}, {"endingVersion": "2"}):
        with pytest.raises(AcidSqlError) as caught:
            Stream(lab, t, **asked)
        assert condition_of(caught.value) == "INVALID_PARAMETER_VALUE.CHANGES"
    delta = next(d for d in lab.directories(t) if d.startswith("delta_"))
    kept = lab.root(t).with_name("kept")
    shutil.move(lab.root(t) / delta, kept)
    with pytest.raises(AcidSqlError, match=r'"rowid":1\}.*CHECK TABLE') as caught:
        stream.next()
    assert condition_of(caught.value) == "DELETE_EVENT_WITHOUT_ROW"
    shutil.move(kept, lab.root(t) / delta)
    lab.sql(f"DROP TABLE {t}")
    lab.sql(
        f"CREATE TABLE {t} (id int, x double) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    with pytest.raises(AcidSqlError) as caught:
        stream.next()
    assert condition_of(caught.value) == "INVALID_CHECKPOINT"


@pytest.mark.repeated
def test_a_stream_that_is_stopped_goes_on_where_it_was(
    lab: Lab,
    other: Lab,
    tmp_path: Path,
    before_commit: Callable[[Callable[[], Any]], None],
) -> None:
    acidsql.register(lab.spark)
    t = lab.create("id int, v int", properties=KEPT, values="(1, 1), (2, 2)")

    def run() -> None:
        reader = lab.spark.readStream.format("acidsql").option("readChangeFeed", "true")
        frame = reader.load(f"{lab.spark.catalog.currentDatabase()}.{t}")
        writer = frame.writeStream.format("parquet").option("path", str(tmp_path / "told"))
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    def told() -> list[tuple[Any, ...]]:
        frame = lab.spark.read.parquet(str(tmp_path / "told"))
        times = "_commit_timestamp IS NOT NULL AS known"
        columns = ("id", "v", "_change_type", "_commit_version", times)
        return sorted(map(tuple, frame.selectExpr(*columns).collect()))

    run()
    first = [(1, 1, INSERT, 1, True), (2, 2, INSERT, 1, True)]
    assert told() == first

    def commit_first() -> None:
        other.insert(t, "(4, 4)")
        run()

    before_commit(commit_first)
    lab.insert(t, "(3, 3)")
    assert told() == sorted([*first, (4, 4, INSERT, 3, True)])
    lab.sql(f"UPDATE {t} SET v = 9 WHERE id IN (1, 4)")
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    run()
    lab.sql(f"DELETE FROM {t} WHERE id = 99")  # a write id that changes nothing
    run()
    assert told() == sorted(
        [
            *first,
            (3, 3, INSERT, 2, True),
            (4, 4, INSERT, 3, True),
            *((i, v, PREIMAGE, 4, True) for i, v in ((1, 1), (4, 4))),
            *((i, 9, POSTIMAGE, 4, True) for i in (1, 4)),
            (2, 2, DELETE, 5, True),
        ]
    )
    frame = lab.spark.readStream.format("acidsql").load(
        f"{lab.spark.catalog.currentDatabase()}.{t}"
    )
    query = frame.writeStream.format("noop").start()
    with pytest.raises(PySparkException, match="readChangeFeed"):
        query.awaitTermination()
