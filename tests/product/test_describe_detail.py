"""DESCRIBE DETAIL and DESCRIBE HEALTH."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import acidsql
from acidsql.metastore.model import CompactionType, TxnType
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

DETAIL = (
    "struct<format:string,id:string,name:string,description:string,location:string,"
    "createdAt:timestamp,lastModified:timestamp,partitionColumns:array<string>,"
    "bucketColumns:array<string>,numBuckets:int,numPartitions:bigint,numFiles:bigint,"
    "sizeInBytes:bigint,properties:map<string,string>,owner:string,guarantee:string,"
    "nextWriteId:bigint>"
)


def health(lab: Lab, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of DESCRIBE HEALTH."""
    return [tuple(r) for r in lab.frame(f"DESCRIBE HEALTH {table}").select(*columns).collect()]


def test_detail(lab: Lab) -> None:
    t = lab.create(
        "id int, s string",
        partitioned="p int",
        clustered="(id) INTO 2 BUCKETS",
        properties={"comment": "pets", "a": "b"},
        values="(1, 'a', 1), (2, 'b', 2)",
    )
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    frame = lab.frame(f"DESCRIBE DETAIL {t}")
    assert frame.schema.simpleString() == DETAIL
    (row,) = frame.collect()
    found = row.asDict()
    sizes = [path.stat().st_size for path in lab.root(t).rglob("bucket_*")]
    table = lab.session.metastore.table("default", t)
    owner = lab.session.metastore.table_owner("default", t)
    (newest,) = lab.frame(f"DESCRIBE HISTORY {t} LIMIT 1").collect()
    assert owner is not None
    assert found.pop("createdAt").timestamp() == table.created
    assert found.pop("lastModified") == newest.timestamp
    assert found == {
        "format": "orc",
        "id": f"{owner.metastore_id}/{owner.table_id}",
        "name": f"default.{t}",
        "description": "pets",
        "location": acidsql.location(lab.spark, t),
        "partitionColumns": ["p"],
        "bucketColumns": ["id"],
        "numBuckets": 2,
        "numPartitions": 2,
        "numFiles": 3,
        "sizeInBytes": sum(sizes),
        "properties": dict(table.properties),
        "owner": lab.session.user,
        "guarantee": "full ACID",
        "nextWriteId": 3,
    }
    assert len(sizes) == 3


@pytest.mark.repeated
def test_detail_of_an_empty_table(lab: Lab) -> None:
    t = lab.create("id int")
    (row,) = lab.frame(f"DESCRIBE DETAIL {t}").collect()
    assert (row.numFiles, row.sizeInBytes, row.lastModified) == (0, 0, None)
    assert (row.partitionColumns, row.bucketColumns, row.numPartitions) == ([], [], None)


def test_health_of_partitions(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p string")
    lab.insert(t, "(1, 'a'), (2, 'a'), (3, 'it''s')")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    files = {path.parts[-3]: path for path in lab.root(t).rglob("delta_*/bucket_*")}
    columns = (
        "partition", "base", "numDeltas", "numDeleteDeltas", "numStoredRows", "numDeleteEvents",
        "deletedShare", "numFiles", "numSmallFiles", "advice",
    )  # fmt: skip
    run = f"run ALTER TABLE default.{t} PARTITION (p = 'a') COMPACT 'major'."
    deleted = f"50% of the stored rows are deleted and still read: {run}"
    assert health(lab, t, *columns) == [
        ("p=a", None, 1, 1, 2, 1, 0.5, 2, 1, [deleted]),
        ("p=it%27s", None, 1, 0, 1, 0, 0.0, 1, 1, []),
    ]
    whole = f"{t} PARTITION (p = 'it''s')"
    assert health(lab, whole, "deltaBytes") == [(files["p=it%27s"].stat().st_size,)]
    lab.sql(run.removeprefix("run ").removesuffix("."))  # the advice is a statement
    acidsql.run_cleaner(lab.spark)
    assert health(lab, f"{t} PARTITION (p = 'a')", *columns[2:7], "advice") == [
        (0, 0, 1, 0, 0.0, [])
    ]
    found = acidsql.health(lab.spark, f"default.{t}")
    assert [(one.partition, one.stored_rows) for one in found] == [("p=a", 1), ("p=it%27s", 1)]
    assert condition(lab, f"DESCRIBE HEALTH {t} PARTITION (p = 'b')") == "PARTITIONS_NOT_FOUND"


def test_who_holds_back_the_cleaning(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.insert(t, "(2)")
    metastore = lab.session.metastore
    reader = metastore.open_txn("ann", "north", TxnType.READ_ONLY)
    try:
        lab.sql(f"ALTER TABLE {t} COMPACT 'major'")
        (one,) = acidsql.health(lab.spark, t)
        assert one.oldest is not None
        assert (one.oldest.txn_id, one.oldest.user, one.oldest.host) == (reader, "ann", "north")
        assert (one.uncleaned, one.held_back, one.obsolete) == (1, 1, 2)
        (sentence,) = one.advice
        assert sentence.startswith(f"Transaction {reader} of ann on north, open since ")
        assert sentence.endswith(
            f"holds back the cleaning after 1 compaction: end it, or ABORT TRANSACTIONS {reader}."
        )
        lab.sql(f"ABORT TRANSACTIONS {reader}")
        (one,) = acidsql.health(lab.spark, t)
        assert (one.uncleaned, one.held_back) == (1, 0)
        assert one.advice == ("2 old directories can be removed: run acidsql.run_cleaner(spark).",)
    finally:
        metastore.abort_txn(reader)
    acidsql.run_cleaner(lab.spark)
    assert acidsql.health(lab.spark, t)[0].advice == ()


@pytest.mark.repeated
def test_queue_and_writers(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    metastore = lab.session.metastore
    entry = metastore.request_compaction("default", t, None, CompactionType.MAJOR)
    writer = metastore.open_txn("ann", "north")
    metastore.allocate_write_id(writer, "default", t)
    (one,) = acidsql.health(lab.spark, t)
    assert (one.pending, one.open_write_ids) == (1, 1)
    assert one.advice == ("1 compaction is on the way: see SHOW COMPACTIONS.",)
    metastore.next_compaction("worker", entry.compaction_id)
    metastore.compaction_failed(entry.compaction_id, "no space left")
    metastore.abort_txn(writer)
    assert health(lab, t, "numPendingCompactions", "numOpenWriteIds", "lastFailure") == [
        (0, 0, "no space left")
    ]


@pytest.mark.repeated
def test_originals_and_insert_only_tables(lab: Lab) -> None:
    lab.spark.sql("CREATE TABLE health_of_converted USING orc AS SELECT 1 AS id")
    lab.sql("ALTER TABLE health_of_converted SET TBLPROPERTIES ('transactional'='true')")
    (one,) = acidsql.health(lab.spark, "health_of_converted")
    assert (one.originals, one.stored_rows, one.deltas) == (1, 1, 0)
    lab.sql("DROP TABLE health_of_converted")
    lab.sql(
        "CREATE TABLE health_of_insert_only (id INT) STORED AS PARQUET TBLPROPERTIES "
        "('transactional'='true', 'transactional_properties'='insert_only')"
    )
    lab.insert("health_of_insert_only", "(1)")
    (one,) = acidsql.health(lab.spark, "health_of_insert_only")
    assert (one.stored_rows, one.deleted_share, one.files) == (None, None, 1)
    lab.sql("DROP TABLE health_of_insert_only")
