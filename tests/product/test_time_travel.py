"""VERSION and TIMESTAMP AS OF, and blocks that read all tables as of a moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import acidsql
from acidsql.errors import AcidAnalysisError
from tests.product.conditions import condition, condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

KEPT = {"acidsql.history.retention": "1d"}


def ids(lab: Lab, text: str) -> list[tuple[object, ...]]:
    return sorted(lab.sql(text))


@pytest.mark.slow
def test_versions_of_one_table_in_one_statement(lab: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 1), (2, 2)")
    lab.sql(f"UPDATE {t} SET v = 9 WHERE id = 2")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    lab.sql(f"INSERT INTO {t} VALUES (3, 3)")
    assert ids(lab, f"SELECT * FROM {t} VERSION AS OF 0") == []
    assert ids(lab, f"SELECT * FROM {t} VERSION AS OF 1") == [(1, 1), (2, 2)]
    assert ids(lab, f"SELECT * FROM {t} FOR VERSION AS OF '2'") == [(1, 1), (2, 9)]
    assert ids(lab, f"SELECT x.* FROM {t} FOR SYSTEM_VERSION AS OF 3 x") == [(2, 9)]
    joined = (
        f"SELECT a.id, a.v, b.v, {t}.v FROM {t} VERSION AS OF 1 a JOIN {t} VERSION AS OF 2 AS b"
        f" ON a.id = b.id LEFT JOIN {t} ON a.id = {t}.id"
        f" WHERE a.id IN (SELECT id FROM {t} VERSION AS OF 2)"
    )
    assert ids(lab, joined) == [(1, 1, 1, None), (2, 2, 9, 9)]
    assert lab.sql(f"SELECT count(*) FROM {t} VERSION AS OF 3") == [(1,)]
    write_ids = f"SELECT row__id.writeid FROM {t} VERSION AS OF 2 ORDER BY 1"
    assert lab.sql(write_ids) == [(1,), (2,)]
    assert acidsql.table(lab.spark, t, version=2).collect() == [(1, 1), (2, 9)]


@pytest.mark.slow
def test_versions_in_other_statements(lab: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 1), (2, 2)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    view, new = f"{t}_view", f"{t}_new"
    lab.sql(f"CREATE VIEW {view} AS SELECT id FROM {t} VERSION AS OF 1")
    assert ids(lab, f"SELECT * FROM {view}") == [(1,), (2,)]
    lab.sql(
        f"CREATE TABLE {new} STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        f" AS SELECT * FROM {t} VERSION AS OF 1"
    )
    assert ids(lab, f"SELECT * FROM {new}") == [(1, 1), (2, 2)]
    lab.sql(
        f"MERGE INTO {t} USING (SELECT * FROM {t} VERSION AS OF 1) AS old ON {t}.id = old.id"
        " WHEN MATCHED THEN UPDATE SET v = 7 WHEN NOT MATCHED THEN INSERT *"
    )
    assert ids(lab, f"SELECT * FROM {t}") == [(1, 1), (2, 7)]
    lab.sql(f"INSERT INTO {t} SELECT id + 10, v FROM {t} VERSION AS OF 2")
    assert ids(lab, f"SELECT * FROM {t}") == [(1, 1), (2, 7), (12, 2)]
    assert (
        condition(lab, f"SELECT * FROM {view} VERSION AS OF 1") == "UNSUPPORTED_FEATURE.TIME_TRAVEL"
    )
    plan = lab.frame(f"EXPLAIN SELECT * FROM {t} VERSION AS OF 1").first().plan
    assert "  Version: 1, committed 2" in plan


@pytest.mark.slow
def test_partitions_and_merged_deltas(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p int", values="(1, 1), (2, 2)")
    for number in (3, 4):
        lab.sql(f"INSERT INTO {t} VALUES ({number}, 1)")
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    lab.compact(t, "minor", "p=1")
    lab.sql(f"INSERT INTO {t} VALUES (5, 5)")
    found = [ids(lab, f"SELECT id FROM {t} VERSION AS OF {n} WHERE p < 9") for n in range(1, 6)]
    assert found == [
        [(1,), (2,)],
        [(1,), (2,), (3,)],
        [(1,), (2,), (3,), (4,)],
        [(1,), (2,), (4,)],
        [(1,), (2,), (4,), (5,)],
    ]
    assert lab.sql(f"SELECT max(p) FROM {t} VERSION AS OF 4") == [(2,)]


@pytest.mark.slow
def test_a_cleaner_waits_for_readers_and_is_told_of_afterwards(lab: Lab) -> None:
    t = lab.create("id int", properties=KEPT, values="(1)")
    lab.insert(t, "(2)")
    lab.sql(f"INSERT OVERWRITE {t} VALUES (3)")
    lab.compact(t, "major")
    lab.insert(t, "(4)")
    reading = lab.frame(f"SELECT * FROM {t} VERSION AS OF 1")
    assert lab.sql(f"VACUUM {t} RETAIN 0 HOURS") == []
    assert reading.collect() == [(1,)]
    del reading
    acidsql.release(lab.spark)
    assert len(lab.sql(f"VACUUM {t} RETAIN 0 HOURS")) == 2
    with pytest.raises(AcidAnalysisError, match="oldest version that is there is 3") as caught:
        lab.sql(f"SELECT * FROM {t} VERSION AS OF 2")
    assert caught.value.condition == "HISTORY_NOT_AVAILABLE"
    assert ids(lab, f"SELECT * FROM {t} VERSION AS OF 3") == [(3,)]


def test_times(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.insert(t, "(2)")
    history = lab.frame(f"DESCRIBE HISTORY {t}").selectExpr(
        "writeId", "CAST(timestamp AS STRING)", "timestamp"
    )
    first, second = history.orderBy("writeId").collect()
    assert ids(lab, f"SELECT * FROM {t} TIMESTAMP AS OF '{first[1]}'") == [(1,)]
    assert ids(lab, f"SELECT * FROM {t} TIMESTAMP AS OF TIMESTAMP '{second[1]}'") == [(1,), (2,)]
    earlier = f"TIMESTAMP '{second[1]}' - INTERVAL 1 MICROSECOND"
    assert ids(lab, f"SELECT * FROM {t} FOR SYSTEM_TIME AS OF {earlier}") == [(1,)]
    assert len(ids(lab, f"SELECT * FROM {t} TIMESTAMP AS OF current_timestamp()")) == 2
    assert acidsql.table(lab.spark, t, timestamp=first[2]).collect() == [(1,)]
    for text, expected in (
        ("'1999-01-01'", "VERSION_NOT_FOUND"),
        ("current_timestamp() + INTERVAL 1 DAY", "VERSION_NOT_FOUND"),
        ("CAST(NULL AS TIMESTAMP)", "INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT"),
        ("'yesterday night'", "INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT"),
        ("array(1)", "INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT"),
        (
            "now() + make_dt_interval(0, 0, 0, rand())",
            "INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.NON_DETERMINISTIC",
        ),
        ("(SELECT current_timestamp())", "UNSUPPORTED_FEATURE.TIME_TRAVEL"),
    ):
        assert condition(lab, f"SELECT * FROM {t} TIMESTAMP AS OF {text}") == expected


@pytest.mark.slow
def test_all_tables_as_one_transaction_left_them(lab: Lab) -> None:
    t, u = lab.create("id int", values="(1)"), lab.create("id int", values="(1)")
    with acidsql.transaction(lab.spark) as transaction:
        transaction.sql(f"INSERT INTO {t} VALUES (2)")
        transaction.sql(f"INSERT INTO {u} VALUES (2)")
    lab.insert(t, "(3)")
    lab.insert(u, "(3)")
    view = f"{t}_both"
    lab.sql(f"CREATE VIEW {view} AS SELECT {t}.id FROM {t} JOIN {u} ON {t}.id = {u}.id")
    with acidsql.as_of(lab.spark, transaction=transaction.txn_id):
        assert ids(lab, f"SELECT * FROM {t} UNION ALL SELECT * FROM {u}") == [
            (1,),
            (1,),
            (2,),
            (2,),
        ]
        assert ids(lab, f"SELECT * FROM {view}") == [(1,), (2,)]
        assert ids(lab, f"SELECT * FROM {t} VERSION AS OF 1") == [(1,)]
        for text in (
            f"INSERT INTO {t} VALUES (9)",
            f"UPDATE {t} SET id = 0",
            f"CREATE TABLE {t}_other (id int)",
            "START TRANSACTION",
            f"INSERT OVERWRITE DIRECTORY '/nowhere' SELECT * FROM {t}",
        ):
            assert condition(lab, text) == "NOT_ALLOWED_AS_OF"
        with pytest.raises(AcidAnalysisError, match="NOT_ALLOWED_AS_OF"):
            acidsql.AcidTable(lab.spark, t).delete("id = 1")
    assert len(lab.rows(t)) == 3
    now = datetime.now().astimezone()
    with acidsql.as_of(lab.spark, timestamp=now - timedelta(days=9)):
        assert condition(lab, f"SELECT * FROM {t}") == "VERSION_NOT_FOUND"
    text = f"SELECT * FROM {t} VERSION AS OF 'txn {transaction.txn_id}'"
    assert ids(lab, text) == [(1,), (2,)]
    with pytest.raises(AcidAnalysisError) as caught, acidsql.as_of(lab.spark):
        pass
    assert condition_of(caught.value) == "INVALID_TIME_TRAVEL_SPEC"
    with pytest.raises(AcidAnalysisError) as caught:
        acidsql.table(lab.spark, t, version=1, timestamp=now)
    assert condition_of(caught.value) == "INVALID_TIME_TRAVEL_SPEC"


@pytest.mark.parametrize("version", ["99", "'-1'", "'main'", "'txn 1000000'"])
def test_versions_that_never_were(lab: Lab, version: str) -> None:
    t = lab.create("id int", values="(1)")
    assert condition(lab, f"SELECT * FROM {t} VERSION AS OF {version}") == "VERSION_NOT_FOUND"


def test_versions_before_a_change_of_partitions(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p int", values="(1, 1), (2, 2)")
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (p = 2)")
    assert condition(lab, f"SELECT * FROM {t} VERSION AS OF 1") == "HISTORY_NOT_AVAILABLE"
    assert ids(lab, f"SELECT * FROM {t} VERSION AS OF 2") == [(1, 1)]
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (v int)")
    assert ids(lab, f"SELECT * FROM {t} VERSION AS OF 2") == [(1, 1)]
    assert ids(lab, f"SELECT id, v FROM {t} VERSION AS OF 3") == [(1, None)]


def test_a_later_write_id_may_commit_first(
    lab: Lab, other: Lab, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    t = lab.create("id int", properties=KEPT, values="(1)")
    before_commit(lambda: other.insert(t, "(3)"))
    lab.insert(t, "(2)")
    for kind in ("", "minor", "major"):
        if kind:
            lab.compact(t, kind)
        assert ids(lab, f"SELECT * FROM {t} VERSION AS OF 3") == [(1,), (3,)]
        assert ids(lab, f"SELECT * FROM {t} VERSION AS OF 2") == [(1,), (2,), (3,)]


def test_versions_of_an_insert_only_table(lab: Lab) -> None:
    properties = {"transactional_properties": "insert_only"}
    t = lab.create("id int", properties=properties, values="(1)")
    lab.sql(f"INSERT INTO {t} VALUES (2)")
    assert ids(lab, f"SELECT * FROM {t} VERSION AS OF 1") == [(1,)]
    lab.compact(t, "major")
    acidsql.release(lab.spark)
    lab.sql(f"VACUUM {t}")
    assert condition(lab, f"SELECT * FROM {t} VERSION AS OF 1") == "HISTORY_NOT_AVAILABLE"
    assert ids(lab, f"SELECT * FROM {t} VERSION AS OF 2") == [(1,), (2,)]
