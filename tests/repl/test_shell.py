"""Tests of a shell in this process: results, errors and what happens after them."""

from __future__ import annotations

import threading

import pytest
from pyspark.sql import DataFrame, SparkSession

import acidsql
from acidsql.repl.runner import Result, fetch, run_statement
from acidsql.repl.shell import Ending, Settings, Shell
from acidsql.transactions.current import transaction_mark

pytestmark = pytest.mark.spark


def plain_sql(spark: SparkSession, text: str, _dialect: str) -> DataFrame:
    return spark.sql(text)


@pytest.fixture
def shell(spark: SparkSession) -> Shell:
    settings = Settings(format_name="csv", limit=3, timing=False, progress=False, tracebacks=False)
    return Shell(spark=spark, execute=plain_sql, settings=settings)


def test_values_are_rendered_by_spark(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT 1 a, 1.50 a, 1e10D c, X'00ff' d, map('k', array(1, null)) e, null f, true g,"
        " date'2020-01-02' h, struct(1 x) i"
    )
    assert fetch(frame, limit=10) == Result(
        columns=("a", "a", "c", "d", "e", "f", "g", "h", "i"),
        numeric=(True, True, True, False, False, False, False, False, False),
        rows=(
            (1, "1.50", "1.0E10", "X'00FF'", "{k -> [1, null]}", None, True, "2020-01-02", "{1}"),
        ),
        truncated=False,
    )


def test_timestamps_are_shown_in_the_session_s_zone(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT to_utc_timestamp(timestamp_seconds(0), current_timezone()) = timestamp_seconds(0),"
        " timestamp_seconds(0)"
    )
    shown = str(fetch(frame, limit=1).rows[0][1])
    expected = spark.sql("SELECT date_format(timestamp_seconds(0), 'yyyy-MM-dd HH:mm:ss')")
    assert [(shown,)] == expected.collect()


@pytest.mark.parametrize(("rows", "truncated"), [(2, False), (3, False), (4, True)])
def test_at_most_limit_rows(spark: SparkSession, rows: int, *, truncated: bool) -> None:
    result = fetch(spark.range(rows).orderBy("id"), limit=3)
    assert result.rows == ((0,), (1,), (2,))[:rows]
    assert result.truncated is truncated


def test_the_first_error_ends_a_batch(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    ending = shell.run_batch("SELECT 1 AS a;\n\nSELECT\n  );\nSELECT 2;", source="x.sql")
    printed = capsys.readouterr()
    assert ending is Ending.FAILED
    assert printed.out == "a\n1\n"
    assert "\nx.sql:4: error: [PARSE_SYNTAX_ERROR]" in f"\n{printed.err}"


def test_exit_ends_a_batch(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.run_batch("SELECT 1 AS a; exit; SELECT 2") is Ending.EXIT
    assert capsys.readouterr().out == "a\n1\n"


def test_statements_run_outside_the_main_thread_in_a_job_group(spark: SparkSession) -> None:
    seen = []

    def execute(session: SparkSession, text: str) -> DataFrame:
        group = session.sparkContext.getLocalProperty("spark.jobGroup.id")
        seen.append((threading.current_thread() is threading.main_thread(), group))
        return session.sql(text)

    outcome = run_statement(spark, "SELECT 1", work=execute, progress=None)
    assert outcome.result is not None
    assert outcome.result.collect() == [(1,)]
    ((in_main_thread, group),) = seen
    assert not in_main_thread
    assert group.startswith("acidsql-")
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None


def test_commands(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.run_input("\\timing") is Ending.DONE
    assert shell.run_input("\\format jsonl;") is Ending.DONE
    assert shell.run_input("SELECT 1 AS a;") is Ending.DONE
    printed = capsys.readouterr()
    assert printed.out == 'timing is on\n{"a":1}\n'
    assert printed.err.endswith(" s\n")
    assert shell.run_input("\\?") is Ending.DONE
    assert "\\format" in capsys.readouterr().out
    assert shell.run_input("\\format nosuch") is Ending.FAILED
    assert shell.run_input("\\nosuch") is Ending.FAILED
    assert "no such command: \\nosuch" in capsys.readouterr().err
    assert shell.run_input("\\q") is Ending.EXIT


def test_statements_of_a_shell_share_a_transaction_that_its_end_rolls_back(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(format_name="csv", limit=3, timing=False, progress=False, tracebacks=False)

    def execute(session: SparkSession, text: str, _dialect: str) -> DataFrame:
        return acidsql.sql(session, text)

    shell = Shell(spark=spark, execute=execute, settings=settings)
    properties = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    assert shell.run_batch(f"CREATE TABLE in_shell (id INT) {properties}; BEGIN") is Ending.DONE
    assert transaction_mark(spark) == "*"
    shell.run_batch("INSERT INTO in_shell VALUES (1); SELECT count(*) AS n FROM in_shell")
    shell.leave()
    assert transaction_mark(spark) == ""
    printed = capsys.readouterr()
    assert printed.out.endswith("n\n1\n")
    assert printed.err == (
        "warning: the open transaction was rolled back: it was not committed before the end\n"
    )
    shell.leave()
    assert shell.run_batch("SELECT * FROM in_shell; DROP TABLE in_shell") is Ending.DONE
    assert capsys.readouterr().err == ""
