"""Tests of the DB-API over a session: results, counts, transactions, errors."""

from __future__ import annotations

import datetime as dt
import gc
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

import acidsql
from acidsql import dbapi
from acidsql.metastore.model import TxnState, TxnType

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture
def connection(lab: Lab) -> Iterator[dbapi.Connection]:
    made = acidsql.connect(lab.spark)
    yield made
    made.close()


def writers(lab: Lab) -> int:
    """Return the number of open transactions that may write."""
    found = lab.session.metastore.open_txns()
    return sum(t.type is not TxnType.READ_ONLY and t.state is TxnState.OPEN for t in found)


def test_a_change_begins_a_transaction_that_others_see_after_its_commit(
    lab: Lab, connection: dbapi.Connection
) -> None:
    t = lab.create("id INT, name STRING")
    cursor = connection.cursor()
    cursor.execute(f"INSERT INTO {t} VALUES (?, ?), (3, 'c')", (1, "it's"))
    assert (cursor.rowcount, cursor.description, cursor.rownumber) == (2, None, None)
    assert [connection.in_transaction] == [True]
    cursor.execute(f"UPDATE {t} SET name = :name WHERE id = :id", {"id": 3, "name": "d"})
    assert cursor.rowcount == 1
    assert cursor.execute(f"SELECT * FROM {t} ORDER BY id").fetchall() == [(1, "it's"), (3, "d")]
    assert cursor.rowcount == -1
    assert lab.rows(t) == []  # another one's
    connection.commit()
    assert not connection.in_transaction
    assert sorted(lab.rows(t)) == [(1, "it's"), (3, "d")]
    cursor.execute(f"DELETE FROM {t}")
    connection.rollback()
    assert sorted(lab.rows(t)) == [(1, "it's"), (3, "d")]


def test_description_and_values(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute(
        "SELECT 1 AS i, CAST(1.5 AS DECIMAL(5,2)) AS d, DATE '2020-02-29' AS day, X'01' AS b,"
        " CAST(NULL AS STRING) AS s, true AS t, TIMESTAMP '2020-02-29 01:02:03' AS at"
    )
    assert cursor.description is not None
    assert [column[:6] for column in cursor.description] == [
        ("i", "int", None, None, None, None),
        ("d", "decimal(5,2)", None, None, 5, 2),
        ("day", "date", None, None, None, None),
        ("b", "binary", None, None, None, None),
        ("s", "string", None, None, None, None),
        ("t", "boolean", None, None, None, None),
        ("at", "timestamp", None, None, None, None),
    ]
    assert [cursor.description[i][6] for i in (0, 4)] == [False, True]
    row = cursor.fetchone()
    assert row is not None
    assert type(row) is tuple
    assert row[:3] == (1, Decimal("1.50"), dt.date(2020, 2, 29))
    assert (bytes(row[3]), *row[4:6]) == (b"\x01", None, True)
    assert cursor.fetchone() is None


def test_rows_are_fetched_one_after_the_other(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("SELECT id FROM range(0, 10, 1, 2) ORDER BY id")
    assert cursor.fetchone() == (0,)
    assert cursor.fetchmany() == [(1,)]
    assert cursor.fetchmany(3) == [(2,), (3,), (4,)]
    assert cursor.rownumber == 5
    assert next(iter(cursor)) == (5,)
    assert cursor.fetchall() == [(6,), (7,), (8,), (9,)]
    assert (cursor.fetchmany(2), cursor.fetchall()) == ([], [])


def test_executemany_is_one_write(lab: Lab, connection: dbapi.Connection) -> None:
    t = lab.create("id BIGINT, name STRING, price DECIMAL(8,2), at TIMESTAMP, empty INT")
    at = dt.datetime(2020, 1, 2, 3, 4, 5, 6000)  # noqa: DTZ001 - local, as PySpark's are
    rows = [(i, None if i == 1 else f"n{{{i}}}", Decimal(i), at, None) for i in range(3)]
    cursor = connection.cursor()
    cursor.executemany(f"INSERT INTO {t} VALUES (?, ?, ? / 2, ?, ?)", rows)
    assert cursor.rowcount == 3
    connection.commit()
    expected = [(i, name, price / 2, at, None) for i, name, price, _, _ in rows]
    assert sorted(lab.rows(t)) == expected
    assert len(lab.directories(t)) == 1
    cursor.executemany(
        f"INSERT INTO {t} (id, name) VALUES (:id, :name)",
        [{"id": 8, "name": "x"}, {"id": Decimal(9), "name": "y"}],  # not of one type
    )
    assert cursor.rowcount == 2
    connection.commit()
    assert sorted(lab.rows(t))[3:] == [(8, "x", None, None, None), (9, "y", None, None, None)]


def test_executemany_with_autocommit_is_one_transaction(lab: Lab) -> None:
    t = lab.create("id INT, n INT", values="(1, 1), (2, 2)")
    with acidsql.connect(lab.spark, autocommit=True) as connection:
        cursor = connection.cursor()
        update = f"UPDATE {t} SET n = 10 / ? WHERE id = ?"
        with pytest.raises(dbapi.DataError) as caught:
            cursor.executemany(update, [(1, 1), (0, 2)])
        # Spark says so of every arithmetic error in a value that is stored.
        assert caught.value.condition == "CAST_OVERFLOW_IN_TABLE_INSERT"
        assert caught.value.sqlstate == "22003"
        assert sorted(lab.rows(t)) == [(1, 1), (2, 2)]
        assert cursor.executemany(update, [(1, 1), (2, 2), (5, 3)]).rowcount == 2
        assert sorted(lab.rows(t)) == [(1, 10), (2, 5)]
        assert cursor.executemany(f"INSERT INTO {t} VALUES (?, ?)", []).rowcount == 0
        with pytest.raises(dbapi.ProgrammingError, match="executemany"):
            cursor.executemany("SELECT ?", [(1,)])


@pytest.mark.slow
def test_each_connection_has_its_own_transaction(lab: Lab) -> None:
    t = lab.create("id INT, n INT", values="(1, 1)")
    first, second = acidsql.connect(lab.spark), acidsql.connect(lab.spark)
    first.cursor().execute(f"UPDATE {t} SET n = 2")
    second.cursor().execute(f"UPDATE {t} SET n = 3")
    thread = threading.Thread(target=first.commit)
    thread.start()
    thread.join()
    with pytest.raises(dbapi.OperationalError) as caught:
        second.commit()
    assert (caught.value.condition, caught.value.sqlstate) == ("CONCURRENT_WRITE", "40001")
    assert not second.in_transaction
    assert lab.rows(t) == [(1, 2)]
    with first:
        first.cursor().execute(f"UPDATE {t} SET n = 4")
    assert lab.rows(t) == [(1, 4)]
    with pytest.raises(dbapi.InterfaceError):
        first.commit()
    second.cursor().execute(f"DELETE FROM {t}")
    second.close()
    assert lab.rows(t) == [(1, 4)]
    assert writers(lab) == 0


def test_a_forgotten_connection_is_rolled_back(lab: Lab) -> None:
    t = lab.create("id INT")
    forgotten = acidsql.connect(lab.spark)
    forgotten.cursor().execute(f"INSERT INTO {t} VALUES (1)")
    assert writers(lab) == 1
    del forgotten
    gc.collect()
    lab.sql("SHOW TRANSACTIONS")
    assert (writers(lab), lab.rows(t)) == (0, [])


def test_what_cannot_be_rolled_back_commits_by_itself(
    lab: Lab, connection: dbapi.Connection
) -> None:
    t = lab.create("id INT", values="(1)")
    cursor = connection.cursor()
    cursor.execute(f"INSERT OVERWRITE {t} VALUES (2)")
    assert (cursor.rowcount, connection.in_transaction) == (1, False)
    cursor.execute("CREATE TEMPORARY VIEW v_dbapi AS SELECT 1")
    assert (cursor.description, cursor.rowcount) == (None, -1)
    cursor.execute("DROP VIEW v_dbapi")
    cursor.execute(f"INSERT INTO {t} VALUES (3)")
    with pytest.raises(dbapi.ProgrammingError) as caught:
        cursor.execute(f"TRUNCATE TABLE {t}")
    assert caught.value.condition == "NOT_ALLOWED_IN_TRANSACTION"
    with pytest.raises(dbapi.ProgrammingError, match="commit it"):
        connection.autocommit = True
    connection.rollback()
    connection.autocommit = True
    cursor.execute(f"INSERT INTO {t} VALUES (4)")
    assert sorted(lab.rows(t)) == [(2,), (4,)]


def test_errors(lab: Lab, connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    with pytest.raises(dbapi.InterfaceError, match="no rows"):
        cursor.fetchone()
    for text, kind, condition in [
        ("SELECT ? FROM nowhere", dbapi.ProgrammingError, "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELEC ?", dbapi.ProgrammingError, "PARSE_SYNTAX_ERROR"),
        ("SELECT ?, ?", dbapi.ProgrammingError, "UNBOUND_SQL_PARAMETER"),
    ]:
        with pytest.raises(kind) as caught:
            cursor.execute(text, (1,))
        assert caught.value.condition == condition
    cursor.execute("SELECT 1 / id FROM range(2)")
    with pytest.raises(dbapi.DatabaseError, match="DIVIDE_BY_ZERO"):
        cursor.fetchall()
    with pytest.raises(dbapi.NotSupportedError):
        cursor.callproc("p")
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="cursor is closed"):
        cursor.execute("SELECT 1")
    connection.close()
    with pytest.raises(dbapi.InterfaceError, match="connection is closed"):
        connection.cursor()
    with pytest.raises(dbapi.Error):
        acidsql.connect(lab.spark, database="no_such_database")
