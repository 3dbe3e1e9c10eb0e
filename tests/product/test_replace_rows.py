"""Tests of INSERT … REPLACE WHERE, REPLACE ON and REPLACE USING."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

import acidsql
from acidsql.acid_table import AcidTable
from acidsql.errors import AcidAnalysisError, AcidParseError, WriteConflictError, condition_of
from tests.product.refusals import refusal

if TYPE_CHECKING:
    from tests.injection import Plan
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ROWS = "(1, 'a'), (2, 'b'), (3, 'c')"


def test_replace_where_is_a_delete_and_an_insert_of_one_write(lab: Lab) -> None:
    t = lab.create("id INT, v STRING", values=ROWS)
    before = lab.frame(f"SELECT * FROM {t}")
    text = f"INSERT INTO {t} REPLACE WHERE id >= 2 AND v IS DISTINCT FROM 'c' SELECT 5, 'x'"
    assert lab.sql(text) == [(2, 1, 1)]
    assert lab.rows(t) == [(1, "a"), (3, "c"), (5, "x")]
    assert lab.directories(t) == [
        "delete_delta_0000002_0000002_0000",
        "delta_0000001_0000001_0000",
        "delta_0000002_0000002_0000",
    ]
    assert sorted(map(tuple, before.collect())) == [(1, "a"), (2, "b"), (3, "c")]
    newest = lab.frame(f"DESCRIBE HISTORY {t} LIMIT 1").first()
    assert newest is not None
    assert (newest.operation, newest.numInsertedRows, newest.numDeletedRows) == (
        "REPLACE WHERE",
        1,
        1,
    )


@pytest.mark.parametrize("row", ["(9, 'c')", "(NULL, 'c')"])
def test_a_new_row_that_does_not_meet_the_condition_is_refused(lab: Lab, row: str) -> None:
    t = lab.create("id INT, v STRING", values=ROWS)
    before = lab.state(t)
    with pytest.raises(AcidAnalysisError) as caught:
        lab.sql(f"INSERT INTO {t} REPLACE WHERE {t}.ID < 3 VALUES (1, 'z'), {row}")
    assert condition_of(caught.value) == "REPLACE_WHERE_MISMATCH"
    assert caught.value.getSqlState() == "44000"
    assert lab.state(t) == before


def test_replace_where_of_partitions(lab: Lab) -> None:
    t = lab.create("v INT", partitioned="p INT", values="(1, 1), (2, 1), (3, 2)")
    text = (
        f"INSERT INTO {t} (p, v) REPLACE WHERE p = 1 WITH c AS (SELECT 1 AS p) SELECT p, 9 FROM c"
    )
    assert lab.sql(text) == [(3, 2, 1)]
    assert lab.rows(t) == [(3, 2), (9, 1)]


def test_replace_where_reads_the_table_itself(lab: Lab) -> None:
    t = lab.create("id INT, v STRING", values=ROWS)
    lab.sql(
        f"INSERT INTO {t} BY NAME REPLACE WHERE id < 3 "
        f"SELECT upper(v) AS v, id FROM {t} WHERE id < 3"
    )
    assert lab.rows(t) == [(1, "A"), (2, "B"), (3, "c")]


def test_replace_using_replaces_the_rows_of_the_new_keys(lab: Lab) -> None:
    t = lab.create(
        "day INT, shop STRING, n INT", values="(1,'a',1), (1,'a',2), (1,'b',3), (2,'a',4)"
    )
    text = (
        f"INSERT INTO {t} REPLACE USING (day, shop) SELECT * FROM VALUES (1, 'a', 7), (1, 'a', 8), "
        "(3, 'c', 9) AS s(day, shop, n)"
    )
    assert lab.sql(text) == [(5, 2, 3)]
    assert lab.rows(t) == [(1, "a", 7), (1, "a", 8), (1, "b", 3), (2, "a", 4), (3, "c", 9)]


def test_replace_using_compares_nulls_as_equality_does_and_replace_on_may_not(lab: Lab) -> None:
    t = lab.create("k INT, v STRING", values="(NULL, 'old'), (1, 'old')")
    lab.sql(f"INSERT INTO {t} REPLACE USING (k) SELECT CAST(NULL AS INT) AS k, 'new' AS v")
    assert lab.rows(t) == [(1, "old"), (None, "new"), (None, "old")]
    lab.sql(
        f"INSERT INTO {t} AS o REPLACE ON o.k <=> s.k (SELECT CAST(NULL AS INT) AS k, 'newer') AS s"
    )
    assert lab.rows(t) == [(1, "old"), (None, "newer")]


def test_replace_on_of_partitions_with_a_join_in_a_with(lab: Lab) -> None:
    t = lab.create("v INT", partitioned="p INT", values="(1, 1), (2, 2), (3, 3)")
    lab.sql(
        f"WITH n AS (SELECT 20 AS v, 2 AS p UNION ALL SELECT 40, 4) INSERT INTO TABLE {t} "
        f"REPLACE ON ({t}.p = s.p AND s.v > 10) (SELECT * FROM n) s"
    )
    assert lab.rows(t) == [(1, 1), (20, 2), (3, 3), (40, 4)]


@pytest.mark.parametrize(
    ("clause", "condition"),
    [
        ("REPLACE WHERE id IN (SELECT 1) VALUES (1, 'x')", "UNSUPPORTED_FEATURE.REPLACE_WHERE"),
        ("REPLACE WHERE row__id.writeid = 1 VALUES (1, 'x')", "UNSUPPORTED_FEATURE.REPLACE_WHERE"),
        (
            "REPLACE USING (id) SELECT CAST(rand() AS INT) AS id, 'x' AS v",
            "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
        ),
    ],
)
def test_what_replaces_nothing(lab: Lab, clause: str, condition: str) -> None:
    t = lab.create("id INT, v STRING", values=ROWS)
    before = lab.state(t)
    assert refusal(lab, f"INSERT INTO {t} {clause}") == condition
    assert lab.state(t) == before


def test_a_condition_without_a_query_and_an_unknown_column(lab: Lab) -> None:
    t = lab.create("id INT, v STRING", values=ROWS)
    with pytest.raises(AcidParseError, match="REPLACE WHERE needs a condition and then a query"):
        lab.sql(f"INSERT INTO {t} REPLACE WHERE id = 1")
    with pytest.raises(AnalysisException, match="nothing"):
        lab.sql(f"INSERT INTO {t} REPLACE WHERE nothing = 1 VALUES (1, 'x')")
    only = lab.create("id INT", properties={"transactional_properties": "insert_only"})
    text = f"INSERT INTO {only} REPLACE WHERE id = 1 SELECT 1"
    assert refusal(lab, text) == "UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE"


def test_a_transaction_of_several_statements_has_replacements(lab: Lab) -> None:
    t = lab.create("id INT, v STRING", values=ROWS)
    with acidsql.transaction(lab.spark):
        lab.sql(f"INSERT INTO {t} REPLACE WHERE id = 1 VALUES (1, 'first')")
        lab.sql(f"INSERT INTO {t} REPLACE USING (id) SELECT 1 AS id, 'second' AS v")
        assert lab.rows(t) == [(1, "second"), (2, "b"), (3, "c")]
    assert lab.rows(t) == [(1, "second"), (2, "b"), (3, "c")]


def test_a_replacement_conflicts_with_a_change_of_the_same_row(
    lab: Lab, other: Lab, before_commit: Plan
) -> None:
    t = lab.create("id INT, v STRING", values=ROWS)
    before_commit(lambda: other.sql(f"UPDATE {t} SET v = 'winner' WHERE id = 1"))
    with lab.settings(spark__acidsql__retries="0"), pytest.raises(WriteConflictError):
        lab.sql(f"INSERT INTO {t} REPLACE WHERE id = 1 VALUES (1, 'loser')")
    assert lab.rows(t) == [(1, "winner"), (2, "b"), (3, "c")]


def test_explain_shows_both_events(lab: Lab) -> None:
    t = lab.create("id INT, v STRING", values=ROWS)
    text = lab.sql(f"EXPLAIN INSERT INTO {t} REPLACE WHERE id = 1 VALUES (1, 'x')")[0][0]
    assert "REPLACE WHERE" in text


def test_replace_where_of_dataframes(on: Lab) -> None:
    t = on.create("id INT, v STRING", values=ROWS)
    rows = on.spark.createDataFrame([("x", 1)], "v STRING, id INT")
    writer = rows.write.mode("overwrite").option("replaceWhere", "id < 3")
    writer.saveAsTable(t)
    assert on.rows(t) == [(1, "x"), (3, "c")]
    rows.select("id", "v").write.mode("overwrite").option("replaceWhere", "id = 1").insertInto(t)
    AcidTable.forName(on.spark, t).overwrite(rows, replace_where=F.col("id") < 2)
    assert on.rows(t, "id, v, row__id.writeid") == [(1, "x", 4), (3, "c", 1)]
    wrong = rows.write.mode("overwrite").option("replaceWhere", "id > 1")
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: wrong.saveAsTable(t), "REPLACE_WHERE_MISMATCH"),
        (lambda: wrong.mode("append").saveAsTable(t), "UNSUPPORTED_FEATURE.WRITE_OPTION"),
        (
            lambda: rows.writeTo(t).option("replaceWhere", "id = 1").append(),
            "UNSUPPORTED_FEATURE.WRITE_OPTION",
        ),
    ]
    for write, condition in cases:
        with pytest.raises(AcidAnalysisError) as caught:
            write()
        assert condition_of(caught.value) == condition
    with pytest.raises(TypeError):
        AcidTable.forName(on.spark, t).overwrite(rows, {"id": 1}, replace_where="id = 1")
    assert on.rows(t) == [(1, "x"), (3, "c")]
