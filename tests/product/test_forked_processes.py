"""Children that were forked while a Spark session was open."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import acidsql
from acidsql.errors import AcidSqlError
from acidsql.metastore.model import TxnState
from acidsql.session.acid_session import AcidSession

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    # From Python 3.12 on os.fork warns in a process with threads, and py4j has some.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning"),
]


def condition_of(action: Callable[[], object]) -> str | None:
    try:
        action()
    except AcidSqlError as error:
        return error.getCondition()
    return "nothing was raised"


def use(spark: SparkSession, answers: Connection) -> None:
    answers.send(
        [
            condition_of(lambda: acidsql.sql(spark, "SHOW TABLES")),
            condition_of(lambda: acidsql.table(spark, "t")),
            condition_of(lambda: acidsql.release(spark)),
        ]
    )


def test_a_child_is_told_that_the_session_is_not_its_own(spark: SparkSession) -> None:
    acidsql.sql(spark, "SHOW TABLES")
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=use, args=(spark, sender))
    child.start()
    assert receiver.poll(60)
    assert receiver.recv() == ["SESSION_OF_ANOTHER_PROCESS"] * 3
    child.join(60)
    assert acidsql.sql(spark, "SELECT 1 AS one").head().one == 1


def test_leases_outlive_a_child_that_ends(spark: SparkSession) -> None:
    acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    acidsql.sql(spark, f"CREATE TABLE forked (id INT) {acid}")
    acidsql.sql(spark, "INSERT INTO forked VALUES (1)")
    acidsql.release(spark)
    frame = acidsql.table(spark, "forked")
    session = AcidSession.of(spark)

    def running() -> list[int]:
        return [t.txn_id for t in session.metastore.open_txns() if t.state is TxnState.OPEN]

    before = running()
    assert before
    child = os.fork()
    if child == 0:
        try:
            session.close()  # as atexit does
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - the parent reports it
            print(error, file=sys.stderr)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert running() == before
    assert frame.count() == 1
    del frame
    acidsql.sql(spark, "DROP TABLE forked")
