"""DESCRIBE HISTORY."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import acidsql
from acidsql.commands import result
from acidsql.errors import WriteConflictError
from acidsql.metastore.history import HistoryEntry, RecordedStatement
from acidsql.metastore.model import TxnState
from acidsql.scan.file_history import history_of_files
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

HISTORY = (
    "struct<writeId:bigint,timestamp:timestamp,userName:string,host:string,operation:string,"
    "statement:string,state:string,numInsertedRows:bigint,numUpdatedRows:bigint,"
    "numDeletedRows:bigint,numFiles:bigint,numBytes:bigint,transactionId:bigint,"
    "startedAt:timestamp,partition:string,firstWriteId:bigint>"
)
COUNTS = ("numInsertedRows", "numUpdatedRows", "numDeletedRows", "numFiles")


def history(lab: Lab, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of a table's history."""
    frame = lab.frame(f"DESCRIBE HISTORY {table}")
    assert frame.schema.simpleString() == HISTORY
    return [tuple(row) for row in frame.select(*columns).collect()]


def size(lab: Lab, table: str, *directories: str) -> int:
    """Return the bytes of the files with rows or events in some directories."""
    places = [lab.root(table) / name for name in directories]
    return sum(f.stat().st_size for place in places for f in place.glob("bucket_*"))


def test_statements_and_what_they_changed(lab: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 1), (2, 2), (3, 3)")
    update = f"UPDATE {t} SET v = 0 WHERE id < 3"
    merge = (
        f"MERGE INTO {t} USING (SELECT * FROM VALUES (1), (3), (4) AS s(k)) ON id = k"
        " WHEN MATCHED AND k = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 9"
        " WHEN NOT MATCHED THEN INSERT VALUES (k, k)"
    )
    for text in (update, merge, f"DELETE FROM {t} WHERE id = 77"):
        lab.sql(text)
    changes = ("delta_0000002_0000002_0000", "delete_delta_0000002_0000002_0000")
    before = size(lab, t, *changes)
    lab.sql(f"INSERT OVERWRITE {t} VALUES (5, 5)")
    lab.sql(f"TRUNCATE TABLE {t}")
    found = history(lab, t, "writeId", "operation", "statement", "state", *COUNTS)
    assert found == [
        (6, "TRUNCATE", f"TRUNCATE TABLE {t}", "committed", 0, 0, None, 0),
        (5, "INSERT OVERWRITE", f"INSERT OVERWRITE {t} VALUES (5, 5)", "committed", 1, 0, None, 1),
        (4, "DELETE", f"DELETE FROM {t} WHERE id = 77", "committed", 0, 0, 0, 0),
        (3, "MERGE", merge, "committed", 1, 1, 1, 4),
        (2, "UPDATE", update, "committed", 0, 2, 0, 2),
        (1, "INSERT", f"INSERT INTO {t} SELECT  * FROM VALUES (1, 1), (2, 2), (3, 3)",
         "committed", 3, 0, 0, 1),
    ]  # fmt: skip
    assert dict(history(lab, t, "writeId", "numBytes"))[2] == before


def test_who_and_when(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    ((user, host, started, ended, txn_id),) = history(
        lab, t, "userName", "host", "startedAt", "timestamp", "transactionId"
    )
    assert (user, host) == (lab.session.user, lab.session.host)
    assert isinstance(started, datetime)
    assert started <= ended <= datetime.now()  # noqa: DTZ005 - Spark returns local times
    assert txn_id > 0
    lab.insert(t, "(2)")
    assert [row[0] for row in lab.sql(f"DESC HISTORY {t} LIMIT 1")] == [2]
    assert lab.sql(f"DESCRIBE HISTORY {t} LIMIT 0") == []


@pytest.mark.repeated
def test_open_and_aborted_transactions(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    t = lab.create("id int", values="(1)")
    columns = ("writeId", "operation", "state", *COUNTS)
    seen: list[tuple[Any, ...]] = []

    def meanwhile() -> None:
        other.sql(f"UPDATE {t} SET id = 3")
        seen.extend(history(other, t, *columns))

    before_commit(meanwhile)
    with pytest.raises(WriteConflictError):
        lab.sql(f"DELETE FROM {t}")
    unknown = (None,) * len(COUNTS)
    updated = (3, "UPDATE", "committed", 0, 1, 0, 2)
    inserted = (1, "INSERT", "committed", 1, 0, 0, 1)
    assert seen == [updated, (2, "DELETE", "open", *unknown), inserted]
    found = history(lab, t, *columns)
    assert found == [updated, (2, "DELETE", "aborted", *unknown), inserted]


@pytest.mark.repeated
def test_texts_of_statements(lab: Lab) -> None:
    t = lab.create("id int, s string")
    secret = f"INSERT INTO {t} VALUES (1, 'token-123 and token-4')"
    with lab.settings(spark__sql__redaction__string__regex="token-[0-9]+"):
        lab.sql(secret)
    with lab.settings(spark__acidsql__history__statements="off"):
        lab.sql(secret)
    lab.sql(f"INSERT INTO {t} VALUES (1, '{'x' * 5000}')")
    lab.frame(f"INSERT INTO {t} SELECT :a, :b", args={"a": 1, "b": "q"})
    acidsql.AcidTable.forName(lab.spark, t).update("id = 1", {"s": "'u'"})
    long, short = f"INSERT INTO {t} VALUES (1, '", "*********(redacted)"
    texts = [text for (text,) in history(lab, t, "statement")]
    assert texts[0].startswith("UPDATE ")
    assert texts[1:] == [
        f"INSERT INTO {t} SELECT 1, 'q'",
        long + "x" * (3999 - len(long)) + "…",
        None,
        f"INSERT INTO {t} VALUES (1, '{short} and {short}')",
    ]


def test_wrong_switch_is_refused_before_anything_is_written(lab: Lab) -> None:
    t = lab.create("id int")
    with lab.settings(spark__acidsql__history__statements="maybe"):
        assert condition(lab, f"INSERT INTO {t} VALUES (1)") == "INVALID_CONF_VALUE"
    assert history(lab, t, "writeId") == []


def test_compactions_beside_the_writes_that_they_merged(lab: Lab) -> None:
    t = lab.create("id int, p int", partitioned="", values="(1, 1)")
    lab.insert(t, "(2, 2)")
    lab.compact(t, "minor")
    lab.insert(t, "(3, 3)")
    lab.compact(t, "major")
    (base,) = (name for name in lab.directories(t) if name.startswith("base"))
    columns = ("writeId", "firstWriteId", "operation", "statement", "state", *COUNTS)
    unknown = (None, None, None)
    assert [row for row in history(lab, t, *columns) if row[2] == "COMPACT"] == [
        (3, 1, "COMPACT", "COMPACT 'major'", "committed", *unknown, 1),
        (2, 1, "COMPACT", "COMPACT 'minor'", "committed", *unknown, 1),
    ]
    operations = history(lab, t, "operation", "numBytes")
    assert [name for name, _ in operations] == ["COMPACT", "INSERT", "COMPACT", "INSERT", "INSERT"]
    assert operations[0][1] == size(lab, t, base)


@pytest.mark.repeated
def test_many_rows_are_not_literals(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    t = lab.create("id int", values="(1)")
    lab.sql(f"UPDATE {t} SET id = 2")
    columns = HISTORY.removeprefix("struct<").removesuffix(">").split(",")
    names = [column.partition(":")[0] for column in columns]
    expected = history(lab, t, *names)
    detail = lab.frame(f"DESCRIBE DETAIL {t}")
    monkeypatch.setattr(result, "_MOST_LITERALS", 0)
    assert history(lab, t, *names) == expected
    assert len(expected) == 2
    sent = lab.frame(f"DESCRIBE DETAIL {t}")
    assert (sent.schema.simpleString(), sent.collect()) == (
        detail.schema.simpleString(),
        detail.collect(),
    )


def of_files(lab: Lab, table: str) -> list[HistoryEntry]:
    definition = lab.session.metastore.table("default", table)
    return list(history_of_files(lab.session, definition, below=None, most=None))


@pytest.mark.repeated
def test_files_tell_what_a_metastore_does_not(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p int", values="(1, 1), (2, 2)")
    lab.sql(f"UPDATE {t} SET id = 0")
    lab.sql(f"DELETE FROM {t} WHERE p = 1")
    lab.compact(t, "minor", "p = 1")
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 2) VALUES (7)")
    lab.sql(f"TRUNCATE TABLE {t} PARTITION (p = 1)")
    table = lab.session.metastore.table("default", t)
    kept = {e.write_id: e for e in lab.session.metastore.history("default", t, None)}
    found = of_files(lab, t)
    assert [(e.write_id, e.operation) for e in found] == [
        (5, "TRUNCATE"),
        (4, "INSERT OVERWRITE"),
        (3, "COMPACT"),
        (2, "UPDATE or MERGE"),
        (1, "INSERT"),
    ]
    by_id = {e.write_id: e for e in found}
    for write_id in (5, 4):
        assert by_id[write_id].counts.inserted == kept[write_id].counts.inserted
        assert by_id[write_id].counts.deleted == kept[write_id].counts.deleted
    # The compaction of the other partition took its row.
    assert (by_id[1].counts.inserted, kept[1].counts.inserted) == (1, 2)
    update = by_id[2].counts
    assert (update.inserted, update.updated, update.deleted) == (1, None, 1)
    assert all(e.state is TxnState.COMMITTED for e in found)
    assert all(abs((e.ended or 0) - (kept[e.write_id].ended or 0)) < 60 for e in found)
    newest = history_of_files(lab.session, table, below=5, most=1)
    assert [e.write_id for e in newest] == [4]


@pytest.mark.repeated
def test_directories_of_open_and_aborted_transactions(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    metastore = lab.session.metastore
    statement = RecordedStatement(operation="INSERT")
    made = []
    for _ in range(2):
        txn_id = metastore.open_txn("ann", "north")
        write_id = metastore.allocate_write_id(txn_id, "default", t, statement)
        place = lab.root(t) / f"delta_{write_id:07d}_{write_id:07d}_0000"
        place.mkdir()
        (place / "bucket_00000").write_bytes(b"half a file")
        made.append(txn_id)
    metastore.abort_txn(made[1])
    found = of_files(lab, t)
    unknown = found[0].counts
    assert (unknown.inserted, unknown.files, unknown.size) == (None, 1, 11)
    assert [(e.write_id, e.state.value, e.operation) for e in found] == [
        (3, "aborted", None),
        (2, "open", None),
        (1, "committed", "INSERT"),
    ]
    metastore.abort_txn(made[0])


@pytest.mark.repeated
def test_write_ids_from_before_a_table_was_adopted(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.insert(t, "(2)")
    place, copy = lab.root(t), lab.root(t).with_name(f"{t}_copy")
    copy.mkdir()
    for name in lab.directories(t):
        (place / name).rename(copy / name)
    lab.sql(
        f"CREATE TABLE {t}_copy (id int) STORED AS ORC LOCATION '{copy}'"
        " TBLPROPERTIES ('transactional'='true')"
    )
    lab.insert(f"{t}_copy", "(3)")
    assert history(lab, f"{t}_copy", "writeId", "operation", "userName", "numInsertedRows") == [
        (3, "INSERT", lab.session.user, 1),
        (2, "INSERT", None, 1),
        (1, "INSERT", None, 1),
    ]
    assert len(lab.sql(f"DESCRIBE HISTORY {t}_copy LIMIT 2")) == 2


@pytest.mark.repeated
def test_other_statements(lab: Lab, tmp_path: Path) -> None:
    t = lab.create("id int", partitioned="p int")
    u = lab.create("id int")
    lab.sql(
        f"FROM VALUES (1), (2) AS s(i) INSERT INTO {u} SELECT i"
        f" INSERT INTO {t} PARTITION (p=1) SELECT i"
    )
    lab.spark.range(3).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.orc(
        str(tmp_path / "o")
    )
    lab.sql(f"LOAD DATA INPATH '{tmp_path / 'o'}' INTO TABLE {u}")
    lab.sql(f"ALTER TABLE {u} ADD COLUMNS (b int)")
    lab.sql(f"ALTER TABLE {u} RENAME TO {u}_new")
    lab.sql(f"ALTER TABLE {t} ADD PARTITION (p=2)")
    lab.sql(
        f"CREATE TABLE {u}_as STORED AS ORC TBLPROPERTIES ('transactional'='true') AS SELECT 1 AS a"
    )
    table = acidsql.AcidTable.forName(lab.spark, f"{u}_as")
    columns = ("operation", "numInsertedRows", "numDeletedRows", "numFiles")
    assert history(lab, f"{u}_new", *columns) == [
        ("RENAME TABLE", 0, 0, 0),
        ("ADD COLUMNS", 0, 0, 0),
        ("LOAD DATA", 3, 0, 1),
        ("INSERT", 2, 0, 1),
    ]
    assert history(lab, t, *columns) == [("ADD PARTITION", 0, 0, 0), ("INSERT", 2, 0, 1)]
    assert history(lab, f"{u}_as", *columns) == [("CREATE TABLE AS SELECT", 1, 0, 1)]
    assert table.toDF().count() == 1


@pytest.mark.repeated
def test_writes_of_dataframes(on: Lab) -> None:
    t = on.create("id int", values="(1), (2)")
    frame = on.spark.createDataFrame([(5,)], "id INT")
    frame.writeTo(t).append()
    frame.write.insertInto(t, overwrite=True)
    assert history(on, t, "operation", "statement", "numInsertedRows")[:2] == [
        ("INSERT OVERWRITE", None, 1),
        ("INSERT", None, 1),
    ]


@pytest.mark.repeated
def test_other_tables(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.sql(f"CREATE VIEW {t}_view AS SELECT * FROM {t}")
    lab.spark.sql(f"CREATE TABLE {t}_plain (id INT) USING parquet")
    for word in ("HISTORY", "DETAIL", "HEALTH"):
        describe = f"DESCRIBE {word} {t}"
        assert condition(lab, f"{describe}_view") == "EXPECT_TABLE_NOT_VIEW"
        assert condition(lab, f"{describe}_plain") == "NOT_A_TRANSACTIONAL_TABLE"
        assert condition(lab, f"{describe}_none") == "TABLE_OR_VIEW_NOT_FOUND"
    lab.sql(f"DROP VIEW {t}_view")
    lab.spark.sql(f"DROP TABLE {t}_plain")


@pytest.mark.repeated
def test_column_of_a_table_that_is_called_history(lab: Lab) -> None:
    lab.spark.sql("CREATE TABLE history (id INT) USING parquet")
    try:
        assert lab.sql("DESCRIBE HISTORY id")[1] == ("data_type", "int")
        assert lab.sql("DESCRIBE history") == [("id", "int", None)]
    finally:
        lab.spark.sql("DROP TABLE history")
    lab.sql("CREATE TABLE health (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    try:
        assert lab.sql("DESCRIBE HEALTH id")[1] == ("data_type", "int")
        assert lab.sql("DESCRIBE HEALTH health")[0][0] is None
    finally:
        lab.sql("DROP TABLE health")


def test_texts_name_frames_and_the_stream_that_they_are_of(lab: Lab) -> None:
    t = lab.create("id INT, v STRING")
    row = lab.spark.createDataFrame([(1, "a")], "id INT, v STRING")
    acidsql.sql(lab.spark, f"INSERT INTO {t} SELECT n.* FROM {{news}} AS n", news=row)
    acidsql.sink(t, app_id="pets", exactly_once=False)(row, 3)
    acidsql.consume_changes(
        lab.spark,
        t,
        lambda txn, new: txn.sql(f"INSERT INTO {t} SELECT id + 1, v FROM {{new}}", new=new),
        consumer="copies",
    )
    lab.sql("DROP TABLE acidsql_change_checkpoints")
    assert history(lab, t, "statement")[::-1] == [
        (f"INSERT INTO {t} SELECT n.* FROM {{news}} AS n",),
        (
            "/* batch 3 of stream pets */ "
            f"INSERT INTO `spark_catalog`.`default`.`{t}` BY NAME SELECT * FROM {{rows}}",
        ),
        (f"/* consumer copies */ INSERT INTO {t} SELECT id + 1, v FROM {{new}}",),
    ]
