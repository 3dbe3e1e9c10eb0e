"""Tests of a shell in this process: results, errors and what happens after them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import acidsql
from acidsql.repl.commands import run_input
from acidsql.repl.console import Console
from acidsql.repl.output import Output
from acidsql.repl.runner import Result, fetch, run_statement
from acidsql.repl.shell import Ending, Shell, ShellSettings
from acidsql.transactions.current import transaction_mark

pytestmark = pytest.mark.spark


def plain_sql(spark: SparkSession, text: str, _dialect: str) -> DataFrame:
    return spark.sql(text)


@pytest.fixture
def shell(spark: SparkSession) -> Shell:
    settings = ShellSettings(
        format_name="csv", limit=3, timing=False, progress=False, tracebacks=False
    )
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


_NESTED = """\
SELECT array('x', 'a"b') a, map(date'2020-01-02', 1.5D) m, map(1.50, X'00ff') h,
  named_struct('id', 1, 'at', timestamp_ntz'2020-01-02 03:04:05', 'no', null, 'd', 2.50) s,
  array(named_struct('b', X'01'), null) l, cast(null AS struct<t: timestamp>) z,
  double('NaN') f, float(1.5) g, 2.50 d, true t, array(double('NaN'), 1e10D) n, 'x,y' c,
  interval 1 day i
"""


def test_programs_get_nested_values_as_json(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.settings = replace(shell.settings, format_name="jsonl")
    assert shell.run_batch(_NESTED) is Ending.DONE
    line = capsys.readouterr().out
    assert '"d":2.50,' in line
    nested = {
        "a": ["x", 'a"b'],
        "m": {"2020-01-02": 1.5},
        "h": {"1.50": "X'00FF'"},
        "s": {"id": 1, "at": "2020-01-02 03:04:05", "no": None, "d": 2.5},
        "l": [{"b": "X'01'"}, None],
        "z": None,
        "n": ["NaN", 1e10],
    }
    assert json.loads(line) == nested | {
        "f": "NaN",
        "g": 1.5,
        "d": 2.5,
        "t": True,
        "c": "x,y",
        "i": "INTERVAL '1' DAY",
    }
    for format_name, delimiter in (("csv", ","), ("tsv", "\t")):
        shell.settings = replace(shell.settings, format_name=format_name)
        assert shell.run_batch(_NESTED) is Ending.DONE
        out = io.StringIO(capsys.readouterr().out, newline="")
        (row,) = csv.DictReader(out, delimiter=delimiter)
        values = {name: None if row[name] == "NULL" else json.loads(row[name]) for name in nested}
        assert values == nested
        assert (row["d"], row["f"], row["t"], row["c"]) == ("2.50", "NaN", "true", "x,y")


@pytest.mark.slow
def test_all_rows_are_written_but_for_a_limit(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Write two partitions of rows, to standard output and to a file, in every format."""
    query = "SELECT /*+ REPARTITION(2) */ id FROM range(2500)"
    for format_name, more in (("csv", 1), ("tsv", 1), ("jsonl", 0), ("table", 5)):
        shell.settings = replace(shell.settings, format_name=format_name, limit=None)
        assert shell.run_batch(query) is Ending.DONE
        printed = capsys.readouterr().out
        assert len(printed.splitlines()) == 2500 + more
        shell.output.redirect(tmp_path / format_name)
        assert shell.run_batch(query) is Ending.DONE
        shell.settings = replace(shell.settings, limit=2)
        assert shell.run_batch(query) is Ending.DONE
        shell.output.redirect(None)
        written = (tmp_path / format_name).read_text().splitlines()
        more_lines = more + 2
        assert written[: 2500 + more] == printed.splitlines()
        assert len(written) == 2500 + more + more_lines
    assert capsys.readouterr().out == ""


def test_a_terminal_shows_the_first_rows_of_a_table(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = ShellSettings(
        format_name="table", limit=None, shown=3, timing=False, progress=False, tracebacks=False
    )
    terminal = Output(lambda: os.terminal_size((80, 24)))
    shell = Shell(spark=spark, execute=plain_sql, settings=settings, output=terminal)
    assert shell.run_batch("SELECT id FROM range(5)") is Ending.DONE
    assert "first 3 rows; there are more" in capfd.readouterr().out
    shell.settings = replace(settings, format_name="csv", pager="cat")
    assert shell.run_batch("SELECT id FROM range(50)") is Ending.DONE
    assert len(capfd.readouterr().out.splitlines()) == 51


@pytest.mark.slow
def test_an_export_that_is_cut_short_is_an_error(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.settings = replace(shell.settings, limit=None)
    failing = "SELECT id, if(id = 2100, raise_error('broken'), 0) e FROM range(0, 3000, 1, 30)"
    shell.output.redirect(tmp_path / "out")
    assert shell.run_batch(f"{failing}; SELECT 1") is Ending.FAILED
    shell.output.redirect(None)
    written = (tmp_path / "out").read_text().splitlines()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "broken" in printed.err
    assert printed.err.endswith(f"the result is cut short: it ends after {len(written) - 1} rows\n")
    assert 0 < len(written) - 1 <= 2100
    if Path("/dev/full").exists():
        for format_name in ("csv", "table"):
            shell.settings = replace(shell.settings, format_name=format_name)
            shell.output.redirect(Path("/dev/full"))
            assert shell.run_batch("SELECT 1 AS a") is Ending.FAILED
            assert "No space left on device" in capsys.readouterr().err
            with suppress(OSError):
                shell.output.redirect(None)


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


def no_editor(*_arguments: object) -> None:
    raise AssertionError("no editor was requested")


def console_of(shell: Shell, directory: Path, wait: Callable[[float], None]) -> Console:
    favourites = directory / "favourites.toml"
    return Console(
        shell=shell,
        favourites=favourites,
        edit=no_editor,
        edit_file=no_editor,
        wait=wait,
        history=directory / "history",
    )


def test_commands(shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            raise KeyboardInterrupt

    console = console_of(shell, tmp_path, wait)

    def printed(text: str, ending: Ending = Ending.DONE) -> str:
        assert run_input(console, text) is ending
        return capsys.readouterr().out

    assert printed("SELECT 1 AS a;") == "a\n1\n"
    assert printed("\\fs add SELECT $1 + 1 AS a; SELECT $2 AS b;") == "saved add\n"
    assert printed("\\f add 41 '1 IS NULL';") == "a\n42\nb\nfalse\n"
    (tmp_path / "a b.sql").write_text("SELECT 3 AS a;\nSELECT nosuch;\nSELECT 4 AS a;")
    assert run_input(console, f"\\i {tmp_path}/a b.sql;") is Ending.FAILED
    assert run_input(console, f"\\i '{tmp_path}/a b.sql'") is Ending.FAILED
    both = capsys.readouterr()
    assert both.out == "a\n3\na\n3\n"
    assert "a b.sql:2: error: [UNRESOLVED_COLUMN" in both.err
    assert printed(f"\\o {tmp_path}/out") == f"results go to {tmp_path}/out\n"
    assert printed("SELECT 5 AS a;") == ""
    assert printed("\\o") == ""
    assert (tmp_path / "out").read_text() == "a\n5\n"
    assert re.fullmatch(
        r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(every 0.5 s\)\na\n5\n){2}\n",
        printed("\\watch 0.5"),
    )
    assert waited == [0.5, 0.5]
    assert printed("SELECT nosuch \\watch", Ending.FAILED).endswith("(every 2 s)\n")
    shell.settings = replace(shell.settings, format_name="table")
    assert "\na | 5\n" in printed("SELECT 5 AS a \\G")
    assert printed("SELECT 5 AS a;").startswith("+---+\n")
    assert "\n| 5 |\n" in printed("SELECT 4 AS a; SELECT 5 AS a \\g")
    assert printed("\\set shell.low 6") == ""
    assert "\n| 6 |\n" in printed("SELECT ${shell.low} AS a;")
    assert printed("\\unset shell.low") == ""
    assert "a is 6; ${shell.low}" not in printed("\\echo a is ${shell.low}")
    assert printed("\\q", Ending.EXIT) == ""
    assert printed("exit;", Ending.EXIT) == ""


def test_dangerous_statements_are_asked_about(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []
    ran = []

    def execute(session: SparkSession, text: str, _dialect: str) -> DataFrame:
        ran.append(text)
        return session.range(1)

    def confirm(question: str) -> bool:
        asked.append(question)
        return len(asked) == 1

    settings = ShellSettings(
        format_name="csv",
        limit=3,
        timing=False,
        progress=False,
        tracebacks=False,
        warned_of=("unconditional_delete",),
    )
    shell = Shell(spark=spark, execute=execute, settings=settings, confirm=confirm)
    batch = "DELETE FROM a; DELETE FROM b WHERE c; DELETE FROM d; DELETE FROM e WHERE c"
    assert shell.run_batch(batch) is Ending.FAILED
    assert asked == 2 * ["DELETE without WHERE removes every row of the table. Run it?"]
    assert ran == ["DELETE FROM a", "DELETE FROM b WHERE c"]
    assert capsys.readouterr().err == "not run\n"
    alone = Shell(spark=spark, execute=execute, settings=settings)
    assert alone.run_batch("\nDELETE FROM a", source="x.sql") is Ending.FAILED
    assert capsys.readouterr().err == (
        "x.sql:2: error: not run: DELETE without WHERE removes every row of the table, "
        "and no user can be asked\n"
    )
    assert len(ran) == 2


@pytest.mark.slow
def test_the_catalog_is_shown(
    empty: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def execute(session: SparkSession, text: str, dialect: str) -> DataFrame:
        return acidsql.sql(session, text, dialect=dialect)

    settings = ShellSettings(
        format_name="table",
        limit=100,
        timing=False,
        progress=False,
        tracebacks=False,
        dialect="trino",
    )
    shell = Shell(spark=empty, execute=execute, settings=settings)
    console = console_of(shell, tmp_path, no_editor)
    acidsql.sql(
        empty,
        "CREATE TABLE pet (id INT, name STRING) PARTITIONED BY (kind STRING) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')",
    )
    acidsql.sql(empty, "ALTER TABLE pet ADD PARTITION (kind = 'dog')")
    acidsql.sql(empty, "CREATE VIEW seen AS SELECT id FROM pet")

    def printed(text: str, ending: Ending = Ending.DONE) -> str:
        assert run_input(console, text) is ending
        return capsys.readouterr().out

    assert "| pet " in printed("\\d")
    assert "| seen " in printed("\\dt se*")
    assert "| pet " not in printed("\\d se*")
    assert "| default " in printed("\\l")
    assert "| seen " in printed("\\dv")
    assert "| pet " not in printed("\\dv")
    assert "row_number" in printed("\\df row_n*")
    assert printed("\\c default") == "the database is default\n"
    assert run_input(console, "\\c nosuch") is Ending.FAILED
    assert "SCHEMA_NOT_FOUND" in capsys.readouterr().err
    info = printed("\\conninfo")
    for part in ("spark ", "local[2]", "database ", "| default", "metastore.sqlite"):
        assert part in info
    assert "row_number" in shell.names.functions()
    assert shell.names.tables("default") == shell.names.tables()
    assert "default" in shell.names.databases()
    described = printed("\\d default.pet;")
    assert "| name " in described
    assert "transactional" not in described
    more = printed("\\d+ pet")
    for part in ("Columns of pet\n", "Properties of pet\n", "Partitions of pet\n", "| kind=dog "):
        assert part in more
    storage = more[more.index("Storage of pet\n") : more.index("Health of pet\n")]
    shown = dict(re.findall(r"^(\w+) +\| (.*)$", storage, re.MULTILINE))
    (detail,) = acidsql.sql(empty, "DESCRIBE DETAIL pet").collect()
    assert list(shown) == ["location", "owner", "numFiles", "sizeInBytes"]
    assert shown["location"] == detail.location
    assert shown["owner"] == detail.owner
    assert int(shown["numFiles"]) == detail.numFiles
    assert int(shown["sizeInBytes"]) == detail.sizeInBytes
    health = more[more.index("Health of pet\n") :]
    assert re.search(r"^numDeltas +\| 0$", health, re.MULTILINE)
    view = printed("\\d+ seen")
    assert "Properties of seen\n" in view
    assert "Health" not in view
    shell.names.forget()
    for text in ("SELECT * FROM pett;", "UPDATE pett SET id = 1;", "SELECT * FROM default.pett;"):
        assert run_input(console, text) is Ending.FAILED
        dot = "default." if "default." in text else ""
        assert capsys.readouterr().err.endswith(f"\nhint: is it {dot}pet?\n")
    assert run_input(console, "SELECT * FROM something_else;") is Ending.FAILED
    assert "hint" not in capsys.readouterr().err
    assert run_input(console, "\\d+ nosuch") is Ending.FAILED
    assert "TABLE_OR_VIEW_NOT_FOUND" in capsys.readouterr().err
    assert shell.names.columns("pet") == ("id", "name", "kind")
    assert shell.names.columns("seen") == ("id",)
    acidsql.sql(empty, "DROP VIEW seen")


def test_statements_of_a_shell_share_a_transaction_that_its_end_rolls_back(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ShellSettings(
        format_name="csv", limit=3, timing=False, progress=False, tracebacks=False
    )

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
