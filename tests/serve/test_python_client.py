"""Tests of ``acidsql serve`` with PyHive, a client of Python's DB-API."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.requirements import unavailable

pytestmark = [pytest.mark.spark, pytest.mark.serve]

_CLIENTS, _EACH = 4, 3
_SECONDS = 60
_ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def connect(port: int) -> Any:
    """Return a connection of PyHive's."""
    try:
        from pyhive import hive  # noqa: PLC0415 - not in every environment
    except ImportError as error:
        unavailable(f"PyHive is not installed: {error}")
    return hive.connect(host="127.0.0.1", port=port, username="somebody", auth="NONE")


@pytest.fixture
def cursor(port: int) -> Iterator[Any]:
    """Yield a cursor of a connection of its own."""
    connection = connect(port)
    yield connection.cursor()
    connection.close()


def test_statements_of_clients_at_once_run_once_each(port: int, cursor: Any) -> None:
    cursor.execute(f"CREATE TABLE written (client INT, n INT) {_ACID}")
    failed: list[BaseException] = []

    def write(client: int) -> None:
        try:
            connection = connect(port)
            own = connection.cursor()
            for n in range(_EACH):
                own.execute("INSERT INTO written VALUES (%d, %d)", (client, n))
            connection.close()
        except BaseException as error:  # noqa: BLE001 - reported by the test's thread
            failed.append(error)

    threads = [threading.Thread(target=write, args=(client,)) for client in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    cursor.execute("SELECT client, n FROM written ORDER BY client, n")
    assert cursor.fetchall() == [(c, n) for c in range(_CLIENTS) for n in range(_EACH)]
    cursor.execute("DROP TABLE written")


def test_a_client_that_vanishes_is_rolled_back(port: int, cursor: Any) -> None:
    cursor.execute(f"CREATE TABLE kept (id INT) {_ACID}")
    cursor.execute("INSERT INTO kept VALUES (1), (2)")
    vanishing = connect(port)
    other = vanishing.cursor()
    other.execute("START TRANSACTION")
    other.execute("DELETE FROM kept")
    vanishing._transport.close()
    deadline = time.monotonic() + _SECONDS
    while _writers(cursor):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    cursor.execute("DELETE FROM kept WHERE id = 1")
    assert cursor.fetchall() == [(1, 1)]
    cursor.execute("DROP TABLE kept")


def _writers(cursor: Any) -> list[Any]:
    """Return the open transactions that may write."""
    cursor.execute("SHOW TRANSACTIONS")
    return [row for row in cursor.fetchall() if row[1:3] == ("open", "default")]


def test_rows_have_types(cursor: Any) -> None:
    cursor.execute(
        "SELECT 1, 2L, 1.5D, CAST(1.50 AS DECIMAL(5,2)), 'a', true, X'00FF', NULL, array(1, 2)"
    )
    (row,) = cursor.fetchall()
    assert [str(value) for value in row[:6]] == ["1", "2", "1.5", "1.50", "a", "True"]
    assert row[7:] == (None, "[1,2]")
    assert cursor.description[1][1] == "BIGINT_TYPE"
