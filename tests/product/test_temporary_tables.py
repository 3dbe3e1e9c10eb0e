"""CREATE TEMPORARY TABLE: a table of one session, which every statement can use."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import acidsql
from acidsql.session.acid_session import AcidSession
from tests.product.conditions import condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

HIDDEN = "acidsql_temporary_"


def hidden(lab: Lab) -> list[str]:
    """Return the temporary tables of all sessions in the metastore."""
    names = lab.session.metastore.tables("default")
    return [name for name in names if name.startswith(HIDDEN)]


@pytest.fixture
def t(lab: Lab) -> Iterator[None]:
    """Create the temporary table t, and drop it after the test."""
    lab.sql("CREATE TEMPORARY TABLE t (id INT, v STRING)")
    lab.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    yield
    lab.sql("DROP TABLE IF EXISTS t")
    assert hidden(lab) == []


@pytest.mark.usefixtures("t")
def test_every_statement_uses_it(lab: Lab) -> None:
    lab.sql("UPDATE t SET v = upper(t.v) WHERE t.id = 1")
    lab.sql("DELETE FROM t WHERE id = 2")
    lab.sql(
        "MERGE INTO t USING (SELECT 3 AS id UNION ALL SELECT 4) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = concat(t.v, '!') WHEN NOT MATCHED THEN INSERT VALUES "
        "(s.id, 'new')"
    )
    assert lab.sql("SELECT t.id, v FROM T ORDER BY id") == [(1, "A"), (3, "c!"), (4, "new")]
    assert lab.sql("SELECT row__id.writeid FROM t WHERE id = 4") == [(4,)]
    lab.sql("ALTER TABLE t ADD COLUMNS (w INT)")
    lab.sql("INSERT INTO t VALUES (5, 'e', 50)")
    lab.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert lab.sql("SELECT count(*), sum(w) FROM t") == [(4, 50)]
    assert lab.sql("SHOW COLUMNS IN t") == [("id",), ("v",), ("w",)]
    ((text,),) = lab.sql("SHOW CREATE TABLE t")
    assert text.startswith("CREATE TEMPORARY TABLE `t` (\n  `id` INT,")
    assert "acidsql" not in text
    lab.sql("CREATE DATABASE IF NOT EXISTS gone")
    lab.sql("USE gone")
    lab.sql(text.replace("`t`", "`u`"))
    assert lab.sql("SELECT * FROM u") == []
    lab.sql("USE default")
    lab.sql("DROP DATABASE gone CASCADE")
    lab.sql("INSERT OVERWRITE t SELECT id + 1, v, w FROM t WHERE id > 3")
    lab.sql("CREATE TEMPORARY VIEW above AS SELECT id FROM t")
    assert lab.sql("SELECT * FROM above ORDER BY id") == [(5,), (6,)]
    lab.sql("TRUNCATE TABLE t")
    assert lab.sql("SELECT * FROM above") == []
    lab.sql("DROP VIEW above")


def test_it_takes_precedence_and_only_its_session_sees_it(
    lab: Lab, new_lab: Callable[..., Lab]
) -> None:
    name = lab.create("id INT", values="(1)")
    lab.sql(f"CREATE TEMP TABLE {name} AS SELECT 7 AS id, 'p' AS p")
    other = new_lab()
    assert lab.sql(f"SELECT * FROM {name}") == [(7, "p")]
    assert other.sql(f"SELECT * FROM {name}") == [(1,)]
    assert lab.sql(f"SELECT * FROM default.{name}") == [(1,)]
    shown = [row for row in lab.sql("SHOW TABLES") if row[1] == name]
    assert shown == [("default", name, False), ("", name, True)]
    assert not any(row[1].startswith(HIDDEN) for row in other.sql("SHOW TABLES"))
    listed = other.sql("SHOW TABLES LIKE 'acidsql_temporary*'")
    assert listed == [("default", one, False) for one in hidden(lab)]
    other.sql("CREATE TEMPORARY TABLE own (a INT)")
    assert condition(lab, "SELECT * FROM own") == "TABLE_OR_VIEW_NOT_FOUND"
    other.sql("DROP TABLE own")
    lab.sql(f"DROP TABLE {name}")
    assert lab.sql(f"SELECT * FROM {name}") == [(1,)]
    assert hidden(lab) == []


@pytest.mark.usefixtures("t")
def test_other_ways_to_create_one(lab: Lab) -> None:
    lab.sql("CREATE TEMPORARY TABLE IF NOT EXISTS t (z DOUBLE)")
    assert lab.sql("SELECT count(*) FROM t") == [(3,)]
    lab.sql(
        "CREATE OR REPLACE TEMPORARY TABLE t PARTITIONED BY (v) AS SELECT id * 2 AS n, v FROM t"
    )
    assert lab.sql("SELECT n, v FROM t ORDER BY n") == [(2, "a"), (4, "b"), (6, "c")]
    assert lab.sql("SHOW PARTITIONS t") == [("v=a",), ("v=b",), ("v=c",)]
    assert len(hidden(lab)) == 1
    lab.sql("CREATE TEMPORARY TABLE alike LIKE t")
    lab.sql("CREATE TEMPORARY TABLE twin CLONE t")
    lab.sql("INSERT INTO alike SELECT * FROM twin WHERE n > 2")
    assert lab.sql("SELECT * FROM alike ORDER BY n") == [(4, "b"), (6, "c")]
    lab.sql("CREATE TABLE stays LIKE t")
    lab.sql("DROP TABLE alike")
    lab.sql("DROP TABLE twin")
    lab.sql("DROP TABLE stays")


@pytest.mark.usefixtures("t")
def test_transactions(lab: Lab) -> None:
    lab.sql("START TRANSACTION")
    lab.sql("DELETE FROM t WHERE id < 3")
    assert lab.sql("SELECT id FROM t") == [(3,)]
    lab.sql("ROLLBACK")
    assert lab.sql("SELECT count(*) FROM t") == [(3,)]


@pytest.mark.usefixtures("t")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE TEMPORARY TABLE t (a INT)", "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("CREATE TEMPORARY TABLE default.t2 (a INT)", "TEMP_VIEW_NAME_TOO_MANY_NAME_PARTS"),
        (
            "CREATE TEMPORARY TABLE t2 (a INT) LOCATION '/x'",
            "UNSUPPORTED_FEATURE.TEMPORARY_TABLE_LOCATION",
        ),
        ("CREATE TEMPORARY TABLE t2 (a INT) STORED AS PARQUET", "UNSUPPORTED_FEATURE.STORED_AS"),
        ("CREATE TEMPORARY TABLE t2 LIKE nothing", "UNSUPPORTED_FEATURE.LIKE"),
        ("CREATE TEMPORARY TABLE t2 AS SELECT missing", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
        ("ALTER TABLE t RENAME TO t2", "UNSUPPORTED_FEATURE.TEMPORARY_TABLE_RENAME"),
        ("CREATE VIEW v AS SELECT * FROM t", "INVALID_TEMP_OBJ_REFERENCE"),
        ("DROP VIEW t", "EXPECT_VIEW_NOT_TABLE"),
    ],
)
def test_what_is_refused(lab: Lab, text: str, expected: str) -> None:
    assert condition(lab, text) == expected
    assert lab.sql("SELECT count(*) FROM t") == [(3,)]
    assert len(hidden(lab)) == 1


@pytest.mark.usefixtures("t")
@pytest.mark.parametrize("text", ["SELECT * FROM t", "SELECT count(*) FROM t", "SELECT 1 FROM t"])
def test_spark_alone_does_not_show_an_empty_table(lab: Lab, text: str) -> None:
    message = "t is a temporary table of acidsql: read it with"
    # PySpark 3.5 does not convert the errors of tasks.
    with pytest.raises((PySparkException, Py4JJavaError), match=message):
        lab.spark.sql(text).collect()


def test_enabled_sessions(lab: Lab, new_lab: Callable[..., Lab]) -> None:
    own = new_lab()
    acidsql.enable(own.spark)
    own.spark.sql("CREATE TEMPORARY TABLE e (id INT)")
    own.spark.range(3).selectExpr("CAST(id AS INT)").write.insertInto("e")
    own.spark.sql("DELETE FROM e WHERE id = 1")
    assert sorted(own.spark.table("e").collect()) == [(0,), (2,)]
    catalog = own.spark.catalog
    assert catalog.tableExists("e")
    assert catalog.getTable("e").isTemporary
    assert [c.name for c in catalog.listColumns("e")] == ["id"]
    assert [t.name for t in catalog.listTables() if t.isTemporary] == ["e"]
    assert acidsql.AcidTable.forName(own.spark, "e").toDF().count() == 2
    AcidSession.of(own.spark).close()
    assert hidden(lab) == []


def test_it_ends_with_its_session(lab: Lab, new_lab: Callable[..., Lab]) -> None:
    own = new_lab()
    own.sql("CREATE TEMPORARY TABLE ends AS SELECT 1 AS a")
    own.sql("CREATE TEMPORARY TABLE hidden AS SELECT 1 AS a")
    own.sql("CREATE OR REPLACE TEMPORARY VIEW hidden AS SELECT 2 AS b")
    own.sql("START TRANSACTION")
    own.sql("DELETE FROM ends")
    assert len(hidden(lab)) == 2
    own.session.close()
    assert hidden(lab) == []
    assert condition(own, "SELECT * FROM ends") == "TABLE_OR_VIEW_NOT_FOUND"
    own.sql("CREATE TEMPORARY TABLE ends AS SELECT 3 AS a")
    assert own.sql("SELECT * FROM ends") == [(3,)]
    own.sql("DROP TABLE ends")


@pytest.mark.slow
def test_a_lock_delays_the_end_of_a_session_only_briefly(
    lab: Lab, new_lab: Callable[..., Lab], caplog: pytest.LogCaptureFixture
) -> None:
    own, other = new_lab(), new_lab()
    own.sql("CREATE TEMPORARY TABLE held AS SELECT 1 AS a")
    (name,) = hidden(lab)
    other.sql("START TRANSACTION")
    other.sql(f"DELETE FROM {name}")
    own.session.close()
    assert f"the temporary table default.{name} is left" in caplog.text
    other.sql("ROLLBACK")
    lab.sql(f"DROP TABLE {name}")


def test_tables_of_a_killed_process_are_dropped(lab: Lab, new_lab: Callable[..., Lab]) -> None:
    own = new_lab()
    own.sql("CREATE TEMPORARY TABLE left AS SELECT 1 AS a")
    (name,) = hidden(lab)
    text = "from acidsql.session.process_identity import this_process; print(this_process())"
    ended = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True
    ).stdout.strip()
    lab.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('acidsql.temporary.process' = '{ended}')")
    lab.sql(f"CREATE TABLE kept LIKE {name}")  # has the property too
    own.sql("CREATE TEMPORARY TABLE next AS SELECT 1 AS a")
    assert name not in hidden(lab)
    assert lab.sql("SELECT * FROM kept") == []
    lab.sql("DROP TABLE kept")
    own.session.close()
