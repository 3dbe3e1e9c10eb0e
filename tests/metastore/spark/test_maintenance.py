"""Maintenance on a Hive Metastore: acidsql takes the parts that the server leaves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import acidsql
from acidsql.compaction.rounds import Maintenance
from acidsql.metastore.model import CompactionOptions, CompactionState, CompactionType
from tests.metastore.spark.conftest import Client

pytestmark = [pytest.mark.spark, pytest.mark.metastore]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def _many_deltas(client: Client) -> str:
    client.sql(f"CREATE TABLE t (id INT) {ACID}")
    for i in range(11):
        client.sql(f"INSERT INTO t VALUES ({i})")
    acidsql.release(client.spark)
    return str(client.spark.catalog.currentDatabase())


def test_initiator_worker_and_cleaner_where_hive_4_has_none(
    client: Callable[[str], Client],
) -> None:
    ann = client("4.1.0")
    database = _many_deltas(ann)
    assert not ann.session.metastore.initiates_compactions
    done = acidsql.maintenance(ann.spark, database=database)
    assert (len(done.requested), done.compacted, done.failed) == (1, done.requested, ())
    (entry,) = ann.session.metastore.compactions_of(database, "t", None)
    assert entry.type is CompactionType.MAJOR
    assert done.cleaned == ((entry.compaction_id,) if _cleans(entry.state) else ())
    assert acidsql.maintenance(ann.spark, database=database).requested == ()
    assert len(ann.sql("SELECT * FROM t")) == 11


def _cleans(state: CompactionState) -> bool:
    return state is CompactionState.SUCCEEDED


def test_hive_3_does_what_is_requested_itself(client: Callable[[str], Client]) -> None:
    ann = client("3.1.3")
    database = _many_deltas(ann)
    done = acidsql.maintenance(ann.spark, database=database)
    assert done == Maintenance(requested=done.requested)
    (entry,) = ann.session.metastore.compactions_of(database, "t", None)
    assert entry.state is CompactionState.INITIATED
    assert done.requested == (entry.compaction_id,)
    assert acidsql.maintenance(ann.spark, database=database) == Maintenance()


def test_pools_and_aborted_entries(client: Callable[[str], Client]) -> None:
    ann = client("4.1.0")
    database = _many_deltas(ann)
    store = ann.session.metastore
    options = CompactionOptions(pool="night")
    first = store.request_compaction(database, "t", None, CompactionType.MAJOR, options=options)
    assert first.pool == "night"
    assert acidsql.maintenance(ann.spark, database="no_such_database") == Maintenance()
    rows = ann.sql(f"ABORT COMPACTIONS {first.compaction_id}")
    assert rows == [(first.compaction_id, "aborted", None)]
    second = store.request_compaction(database, "t", None, CompactionType.MAJOR, options=options)
    done = acidsql.maintenance(ann.spark, database="no_such_database", pool="night")
    assert done.compacted == (second.compaction_id,)


@pytest.mark.parametrize("version", ["3.1.3", "4.1.0"])
def test_check_finds_statistics_of_analyze_as_they_should_be(
    client: Callable[[str], Client], version: str
) -> None:
    ann = client(version)
    ann.sql(f"CREATE TABLE t (id INT) PARTITIONED BY (p INT) {ACID}")
    ann.sql("INSERT INTO t VALUES (1, 1), (2, 1), (3, 2)")
    ann.sql("DELETE FROM t WHERE id = 1")
    ann.sql("ANALYZE TABLE t PARTITION (p) COMPUTE STATISTICS")
    assert ann.sql("CHECK TABLE t FULL") == []
