"""Names in errors: the table, the column and the text that the user has written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkException

import acidsql
from acidsql.errors import AcidAnalysisError, AcidParseError, WriteJobError, page
from tests.product.conditions import condition_of
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def _error(lab: Lab, text: str) -> PySparkException:
    with pytest.raises(PySparkException) as caught:
        lab.sql(text)
    return caught.value


def test_errors_of_writes_name_the_table(lab: Lab) -> None:
    t = lab.create("id int, v string", partitioned="p string")
    texts = (
        f"INSERT INTO {t} SELECT 1",
        f"INSERT INTO {t} VALUES (1, 2, 3, 4)",
        f"INSERT INTO {t} BY NAME SELECT 1 AS id, 2 AS zz",
        f"INSERT INTO {t} PARTITION (zz = 1) SELECT 1, 'a'",
        f"INSERT INTO {t} VALUES (array(1), 'a', 'x')",
        f"INSERT INTO {t} PARTITION (p = 'x') SELECT 1, 2, 3",
        f"UPDATE {t} SET id = array(1)",
        f"MERGE INTO {t} USING (SELECT 1 AS n) ON id = n WHEN MATCHED THEN UPDATE SET id = map()",
        f"MERGE INTO {t} USING (SELECT 1 AS n) ON id = n WHEN NOT MATCHED THEN "
        "INSERT (id, v, p) VALUES (array(n), 'v', 'p')",
    )
    database = lab.spark.catalog.currentDatabase()
    for text in texts:
        first = str(_error(lab, text)).strip().splitlines()[0]
        assert f"`spark_catalog`.`{database}`.`{t}`" in first, (text, first)


def test_errors_of_not_null_name_table_and_column(lab: Lab) -> None:
    t = lab.create("id int, v int not null, s struct<a: int not null>")
    lab.sql(f"INSERT INTO {t} VALUES (1, 1, NULL)")
    source = "(SELECT 1 AS n, CAST(NULL AS INT) AS v) ON id = n"
    texts = {
        f"INSERT INTO {t} VALUES (2, NULL, NULL)": "v",
        f"INSERT INTO {t} SELECT id, CAST(NULL AS INT), NULL FROM {t}": "v",
        f"UPDATE {t} SET v = NULL": "v",
        f"MERGE INTO {t} USING {source} WHEN MATCHED THEN UPDATE SET {t}.v = NULL": "v",
    }
    if pyspark.__version__ >= "4":  # Spark 3.5 takes NULL for a NOT NULL field of a struct
        texts[f"UPDATE {t} SET s = named_struct('a', CAST(NULL AS INT))"] = "s.a"
    for text, column in texts.items():
        error = _error(lab, text)
        assert isinstance(error, WriteJobError)
        assert condition_of(error) == "NOT_NULL_ASSERT_VIOLATION"
        assert f"column {column} of " in str(error), (text, str(error))
        assert f".{t}, which is NOT NULL" in str(error), (text, str(error))
        assert "Scala" not in str(error)
    assert lab.sql(f"SELECT id, v FROM {t}") == [(1, 1)]


def test_a_temporary_view_is_refused_as_a_view(lab: Lab) -> None:
    t = lab.create("id int")
    lab.sql(f"INSERT INTO {t} VALUES (1)")
    lab.spark.sql("SELECT 99 AS id").createOrReplaceTempView(t)
    try:
        for view in (
            lab.spark.sql("SELECT 99 AS id"),
            acidsql.table(lab.spark, f"default.{t}"),
        ):
            view.createOrReplaceTempView(t)
            for text in (
                f"DELETE FROM {t}",
                f"UPDATE {t} SET id = 2",
                f"MERGE INTO {t} USING (SELECT 1 AS n) ON id = n WHEN MATCHED THEN DELETE",
                f"TRUNCATE TABLE {t}",
                f"INSERT INTO {t} VALUES (1)",
                f"INSERT OVERWRITE {t} SELECT 1",
                f"ALTER TABLE {t} COMPACT 'major'",
                f"OPTIMIZE {t}",
                f"VACUUM {t}",
                f"RESTORE TABLE {t} TO VERSION AS OF 1",
                f"CHECK TABLE {t}",
                f"DESCRIBE HISTORY {t}",
            ):
                assert condition_of(_error(lab, text)) == "EXPECT_TABLE_NOT_VIEW", text
    finally:
        lab.spark.catalog.dropTempView(t)
    assert lab.sql(f"SELECT id FROM {t}") == [(1,)]


def test_a_temporary_view_of_files_is_spark_s_to_insert_into(lab: Lab, tmp_path: Path) -> None:
    lab.spark.range(1).write.parquet(str(tmp_path / "rows"))
    lab.spark.sql(
        f"CREATE TEMPORARY VIEW error_names_files USING parquet OPTIONS (path '{tmp_path}/rows')"
    )
    try:
        lab.sql("INSERT INTO error_names_files VALUES (7)")
        assert lab.sql("SELECT id FROM error_names_files ORDER BY id") == [(0,), (7,)]
    finally:
        lab.spark.catalog.dropTempView("error_names_files")


def test_statements_that_spark_does_not_have_say_what_is_wrong_with_their_table(lab: Lab) -> None:
    lab.spark.sql("CREATE TABLE error_names_plain (id INT) USING parquet")
    try:
        for text in ("OPTIMIZE {}", "VACUUM {}", "RESTORE TABLE {} TO VERSION AS OF 1"):
            for table, condition in (
                ("error_names_plain", "NOT_A_TRANSACTIONAL_TABLE"),
                ("error_names_nope", "TABLE_OR_VIEW_NOT_FOUND"),
            ):
                error = _error(lab, text.format(table))
                assert condition_of(error) == condition, text
                assert table in str(error)
    finally:
        lab.spark.sql("DROP TABLE error_names_plain")


def test_errors_quote_the_text_of_the_user(lab: Lab) -> None:
    create = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    error = _error(lab, f"CREATE TABLE words (id INT, ts TIMESTAMP extra) {create}")
    assert isinstance(error, AcidParseError)
    assert "id INT, ts TIMESTAMP extra\n" in str(error)
    assert "CREATE TABLE t " not in str(error)
    error = _error(lab, f"CREATE TABLE words (id INT, ts nonsense) {create}")
    assert condition_of(error) == "UNSUPPORTED_DATATYPE"
    assert "'id INT, ts nonsense'" in str(error)
    error = _error(lab, f"CREATE TABLE words (id INT) PARTITIONED BY (days(ts)) {create}")
    assert condition_of(error) == "UNSUPPORTED_FEATURE.PARTITION_TRANSFORM"
    assert "days(ts)" in str(error)


def test_errors_name_what_is_missing(lab: Lab) -> None:
    t = lab.create("id int")
    for text in (
        "SELECT * FROM table_changes('nope', 1)",
        f"INSERT INTO {t} SELECT id FROM table_changes('nope', 1)",
    ):
        error = _error(lab, text)
        assert condition_of(error) == "TABLE_OR_VIEW_NOT_FOUND"
        assert "nope" in str(error)
    error = _error(lab, f"OPTIMIZE {t} WHERE id > 1 ZORDER BY (nope)")
    assert condition_of(error) == "INVALID_SORT_ORDER"
    assert f"nope is no column of default.{t}" in str(error)
    for text in (
        f"ALTER TABLE {t} SET SERDE 'x'",
        f"ALTER VIEW {t} RENAME TO {t}_2",
    ):
        assert page("limits") in str(_error(lab, text))


def test_what_is_no_session_is_refused_in_a_sentence(lab: Lab) -> None:
    calls: tuple[Callable[[], object], ...] = (
        lambda: acidsql.sql("select 1", lab.spark),
        lambda: acidsql.table(None, "t"),
        lambda: acidsql.location("t", "t"),
    )
    for call in calls:
        with pytest.raises(AcidAnalysisError) as caught:
            call()
        assert caught.value.getCondition() == "UNSUPPORTED_SESSION"
        assert "must be" in str(caught.value)
