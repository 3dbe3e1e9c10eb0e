"""Tests of ``acidsql serve`` with Hive's JDBC driver."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyspark
import pytest

from tests.serve.conftest import url
from tests.serve.jdbc import Driver, JdbcConnection, JdbcError, beeline

pytestmark = [pytest.mark.spark, pytest.mark.serve]

_ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
_SECONDS = 60


@pytest.fixture
def other(port: int, jdbc: Driver) -> Iterator[JdbcConnection]:
    """Yield a second connection."""
    connection = jdbc.connect(url(port), "another")
    yield connection
    connection.close()


@pytest.fixture
def pet(client: JdbcConnection) -> Iterator[str]:
    """Return a table with two rows."""
    client.execute(f"CREATE TABLE pet (id INT, name STRING) {_ACID}")
    client.execute("INSERT INTO pet VALUES (1, 'Rex'), (2, 'Tom')")
    yield "pet"
    client.execute("DROP TABLE pet")


def open_transactions(client: JdbcConnection) -> list[list[str]]:
    """Return the open transactions that may write."""
    rows = client.execute("SHOW TRANSACTIONS")
    return [row for row in rows if row[1:3] == ["open", "default"]]


@pytest.mark.usefixtures("pet")
def test_statements_change_rows_once(client: JdbcConnection) -> None:
    assert client.execute("UPDATE pet SET id = id + 10 WHERE id = 2") == [["1", "1"]]
    assert client.prepared("UPDATE pet SET id = id + 10 WHERE name = ?", "Tom") == [["1", "1"]]
    (plan,) = client.execute("EXPLAIN DELETE FROM pet")
    assert "Write default.pet by DELETE" in plan[0]
    assert client.execute("SELECT row__id.writeid, * FROM pet ORDER BY id") == [
        ["1", "1", "Rex"],
        ["3", "22", "Tom"],
    ]
    assert client.execute(
        "MERGE INTO pet USING (SELECT explode(array(1, 5)) AS id) s ON pet.id = s.id"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    ) == [["2", "0", "1", "1"]]
    assert client.execute("SELECT * FROM pet ORDER BY id") == [["5", None], ["22", "Tom"]]
    assert client.execute("SHOW TABLES LIKE 'p*'") == [["default", "pet", "false"]]


@pytest.mark.usefixtures("pet")
def test_beeline_runs_statements(port: int) -> None:
    text = "UPDATE pet SET name = 'Max' WHERE id = 1; SELECT id, name FROM pet ORDER BY id;"
    assert beeline(url(port), text).splitlines() == [
        "num_affected_rows\tnum_updated_rows",
        "1\t1",
        "id\tname",
        "1\tMax",
        "2\tTom",
    ]


@pytest.mark.usefixtures("pet")
@pytest.mark.parametrize(
    ("text", "condition", "state"),
    [
        ("SELEC 1", "PARSE_SYNTAX_ERROR", "42601"),
        ("SELECT * FROM nowhere", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        ("SELECT 1 / 0 FROM pet", "DIVIDE_BY_ZERO", "22012"),
        ("ALTER TABLE pet COMPACT 'nonsense'", "INVALID_COMPACTION_TYPE", "22023"),
        ("UPDATE pet SET age = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
        ("COMMIT", "NO_ACTIVE_TRANSACTION", "25P01"),
    ],
)
def test_errors_have_condition_and_sqlstate(
    client: JdbcConnection, text: str, condition: str, state: str
) -> None:
    client.execute("SET spark.sql.ansi.enabled = true")
    with pytest.raises(JdbcError) as raised:
        client.execute(text)
    assert f"[{condition}]" in str(raised.value)
    assert raised.value.state == state


@pytest.mark.usefixtures("pet")
def test_transactions_are_of_sessions(client: JdbcConnection, other: JdbcConnection) -> None:
    client.execute("START TRANSACTION")
    client.execute("INSERT INTO pet VALUES (3, 'Kim')")
    client.execute("DELETE FROM pet WHERE id = 1")
    ids = "SELECT id FROM pet ORDER BY id"
    assert client.execute(ids) == [["2"], ["3"]]
    assert other.execute(ids) == [["1"], ["2"]]
    client.execute("COMMIT")
    assert other.execute(ids) == [["2"], ["3"]]
    other.execute("START TRANSACTION")
    assert other.execute("DELETE FROM pet WHERE id = 3") == [["1", "1"]]
    other.execute("ROLLBACK")
    assert other.execute(ids) == [["2"], ["3"]]


@pytest.mark.usefixtures("pet")
def test_a_session_that_ends_rolls_back(client: JdbcConnection, port: int, jdbc: Driver) -> None:
    leaving = jdbc.connect(url(port))
    leaving.execute("START TRANSACTION")
    leaving.execute("DELETE FROM pet")
    leaving.close()
    assert client.execute("SELECT count(*) FROM pet") == [["2"]]
    assert not open_transactions(client)
    assert client.execute("INSERT INTO pet VALUES (3, 'Kim')") == [["1", "1"]]


def test_sessions_have_their_own_settings_and_database(
    client: JdbcConnection, port: int, jdbc: Driver
) -> None:
    client.execute("CREATE DATABASE sales")
    client.execute(f"CREATE TABLE sales.sold (n INT) {_ACID}")
    client.execute("SET spark.sql.session.timeZone = Asia/Tokyo")
    client.execute("CREATE TEMPORARY VIEW mine AS SELECT * FROM sales.sold")
    seller = jdbc.connect(url(port, "sales"))
    seller.execute("INSERT INTO sold VALUES (7)")
    assert seller.execute("SELECT current_database(), n FROM sold") == [["sales", "7"]]
    assert seller.execute("SELECT current_timezone()") != [["Asia/Tokyo"]]
    with pytest.raises(JdbcError, match="TABLE_OR_VIEW_NOT_FOUND"):
        seller.execute("SELECT * FROM mine")
    seller.close()
    assert client.execute("SELECT current_database(), current_timezone(), * FROM mine") == [
        ["default", "Asia/Tokyo", "7"]
    ]
    client.execute("DROP DATABASE sales CASCADE")


def test_statements_of_spark_are_sparks(client: JdbcConnection) -> None:
    client.execute("CREATE TABLE plain (id INT) USING parquet")
    client.execute("INSERT INTO plain VALUES (1), (2)")
    client.execute("CREATE VIEW large AS SELECT * FROM plain WHERE id > 1")
    assert client.execute("SELECT * FROM large") == [["2"]]
    assert client.execute("SELECT count(*) FROM plain") == [["2"]]
    client.execute("DROP VIEW large")
    client.execute("DROP TABLE plain")


@pytest.mark.usefixtures("pet")
def test_a_change_is_cancelled(client: JdbcConnection) -> None:
    client.execute("SELECT 1")  # the session is there before the clock runs
    text = "INSERT INTO pet SELECT max(id), 'x' FROM range(0, 1000000000000, 1, 2)"
    begun = time.monotonic()
    with pytest.raises(JdbcError, match="(?i)cancel"):
        client.cancel(text, 4000)
    assert time.monotonic() - begun < _SECONDS
    deadline = time.monotonic() + _SECONDS
    while open_transactions(client):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert client.execute("SELECT count(*) FROM pet") == [["2"]]


@pytest.mark.usefixtures("pet")
def test_a_query_is_cancelled(client: JdbcConnection) -> None:
    text = "SELECT max(r.id) FROM range(0, 1000000000000, 1, 2) r, pet"
    with pytest.raises(JdbcError, match="(?i)cancel"):
        client.cancel(text, 4000)
    assert client.execute("SELECT count(*) FROM pet") == [["2"]]


@pytest.mark.usefixtures("pet")
def test_metadata_has_tables_and_columns(client: JdbcConnection) -> None:
    client.execute("CREATE DATABASE sales")
    client.execute(
        "CREATE TABLE sales.sold (day DATE, price DECIMAL(10,2) COMMENT 'in EUR', code CHAR(2),"
        " note VARCHAR(20))"
        f" COMMENT 'what was sold' PARTITIONED BY (shop STRING) {_ACID}"
    )
    client.execute("CREATE VIEW names AS SELECT name FROM pet")
    client.execute(
        "CREATE VIEW sales.w (x COMMENT 'own', y, z) COMMENT 'a view' AS"
        " SELECT day, price, code FROM sales.sold"
    )
    client.execute("CREATE TABLE plain (id INT, c_c CHAR(2), c_v VARCHAR(20)) USING parquet")
    assert client.schemas() == ["default", "global_temp", "sales"]
    assert client.schemas("s%") == ["sales"]
    assert client.tables("default", "p%") == [
        ("default", "pet", "TABLE", ""),
        ("default", "plain", "TABLE", ""),
    ]
    assert client.tables("sales") == [
        ("sales", "sold", "TABLE", "what was sold"),
        ("sales", "w", "VIEW", "a view"),
    ]
    assert client.tables(None, "n%", "VIEW") == [("default", "names", "VIEW", "")]
    # Older releases of Spark report these as strings.
    char, varchar = (column[2] for column in client.columns("default", "plain", "c_%"))
    assert client.columns("sales", "sold") == [
        ("sold", "day", "DATE", ""),
        ("sold", "price", "DECIMAL(10,2)", "in EUR"),
        ("sold", "code", char, ""),
        ("sold", "note", varchar, ""),
        ("sold", "shop", "STRING", ""),
    ]
    assert client.columns("sales", "w") == [
        ("w", "x", "DATE", "own"),
        ("w", "y", "DECIMAL(10,2)", "in EUR"),
        ("w", "z", char, ""),
    ]
    plain, sold = client.sizes("default", "plain"), client.sizes("sales", "sold")
    assert (sold["code"], sold["note"]) == (plain["c_c"], plain["c_v"])
    if pyspark.__version__ >= "4.3":
        assert (char, varchar) == ("CHAR(2)", "VARCHAR(20)")
        assert (sold["code"], sold["note"]) == (("1", "2"), ("12", None))
    client.execute(
        "CREATE TABLE sales.keyed (id INT, day DATE, CONSTRAINT k PRIMARY KEY (day, id)) "
        "USING acidsql"
    )
    assert [row[1:] for row in client.keys("sales", "keyed", "sold")] == [
        ["sales", "keyed", "day", "1", "k"],
        ["sales", "keyed", "id", "2", "k"],
    ]
    client.execute("DROP TABLE sales.keyed")
    assert client.keys("sales", "sold", "w") == []
    assert client.keys("default", "plain", "pet") == []
    assert client.columns("default", "names", "n%") == [("names", "name", "STRING", "")]
    client.execute("DROP VIEW names")
    client.execute("DROP TABLE plain")
    client.execute("DROP DATABASE sales CASCADE")
