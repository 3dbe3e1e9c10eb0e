"""Tests of the command ``acidsql`` as a user starts it: options, exit codes, interactive shell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

import acidsql
from acidsql.repl import main as command
from acidsql.repl import spark_options
from acidsql.repl.config import config_text, read_config
from acidsql.repl.session import session_options
from acidsql.repl.shell import ShellSettings
from acidsql.repl.start import shell_settings

_COMMAND = [sys.executable, "-m", "acidsql"]
_SECONDS = 120
_CREATE = (
    "CREATE TABLE pets (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
)
_ENDLESS = "SELECT count(*) FROM range(100000000000) a JOIN range(1000) b ON a.id % 7 = b.id % 7;"


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory of the user's configuration, which is an empty one."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "acidsql"


def run(directory: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_COMMAND, "--master", "local[2]", "--warehouse", str(directory / "w"), *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        cwd=directory,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nosuch"], "No such option"),
        (["--conf", "x"], "'x' is not KEY=VALUE"),
        (["--conf", "=x"], "'=x' is not KEY=VALUE"),
        (["-f", "/nosuch.sql"], "does not exist"),
        (["-e", "SELECT 1", "-f", "-"], "give -e or -f, not both"),
        (["--format", "nosuch"], "'nosuch' is not one of"),
        (["--dialect", "impala"], "'impala' is not one of"),
        (["--hivevar", "x"], "'x' is not KEY=VALUE"),
        (["--limit", "-1"], "is not in the range"),
        (["--config-file", "/nosuch.toml"], "does not exist"),
        (["SELECT 1"], "No such command 'SELECT 1'"),
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], message: str) -> None:
    answer = CliRunner().invoke(command.main, arguments)
    assert answer.exit_code == 2
    assert message in answer.output
    assert answer.output.splitlines()[-1].startswith("error: ")


def test_a_wrong_configuration_exits_2(configuration: Path) -> None:
    configuration.mkdir(parents=True)
    (configuration / "config.toml").write_text("limit = -1")
    answer = CliRunner().invoke(command.main, ["-e", "SELECT 1"])
    assert answer.exit_code == 2
    assert "config.toml: limit = -1 is not a number, 0 or greater" in answer.output


def test_settings_of_prompt_and_script(configuration: Path, tmp_path: Path) -> None:
    def settings(*arguments: str, at_prompt: bool, values: str = "") -> ShellSettings:
        file = tmp_path / "other.toml"
        file.write_text(values)
        context = command.main.make_context("acidsql", list(arguments))
        return shell_settings(context, read_config(file), at_prompt=at_prompt)

    values = (
        'format = "unicode"\nlimit = 7\ndialect = "trino"\ntiming = false\nexpanded = "on"\n'
        'pager = "most"\ndestructive_warning = ["drop"]\n'
    )
    prompt = settings(at_prompt=True)
    assert (prompt.format_name, prompt.timing) == ("table", True)
    assert prompt.expanded == "auto"
    assert (prompt.limit, prompt.shown) == (None, 1000)
    assert prompt.warned_of == ("unconditional_delete", "unconditional_update")
    own = settings(at_prompt=True, values=values)
    assert (own.format_name, own.timing, own.dialect) == ("unicode", False, "trino")
    assert (own.limit, own.shown) == (None, 7)
    assert (own.expanded, own.pager, own.warned_of) == ("on", "most", ("drop",))
    options = ("--format", "table", "--limit", "9", "--timing", "--no-warn")
    given = settings(*options, at_prompt=True, values=values)
    assert (given.format_name, given.limit, given.timing, given.warned_of) == ("table", 9, True, ())
    script = settings(at_prompt=False, values=values)
    assert script == settings(at_prompt=False)
    assert (script.format_name, script.limit, script.timing) == ("table", None, False)
    assert script.shown == 1000
    assert (script.expanded, script.pager, script.warned_of) == ("off", None, ())
    assert settings("--warn", at_prompt=False, values=values).warned_of == ("drop",)
    values += "warn_in_scripts = true\n"
    assert settings(at_prompt=False, values=values).warned_of == ("drop",)
    assert settings("--no-warn", at_prompt=False, values=values).warned_of == ()
    assert not configuration.exists()


def test_help_describes_every_option_and_command() -> None:
    text = CliRunner().invoke(command.main, ["--help"]).output
    whole = " ".join(text.split())
    for one in command.main.commands.values():
        assert one.get_short_help_str(limit=1000) in whole
    assert "..." not in whole.replace("[ARGS]...", "")
    for option in command.main.params:
        assert max(option.opts, key=len) in text
        assert getattr(option, "help", "")


def test_the_user_s_options_win(tmp_path: Path) -> None:
    options = session_options(
        warehouse=tmp_path,
        conf={"spark.ui.enabled": "true", "spark.driver.extraJavaOptions": "-Dx=1"},
    )
    assert options["spark.ui.enabled"] == "true"
    assert options["spark.sql.warehouse.dir"] == tmp_path.as_uri()
    assert options["spark.driver.extraJavaOptions"].startswith("-Dlog4j2.configurationFile=file:")
    assert options["spark.driver.extraJavaOptions"].endswith(" -Dx=1")
    own = {"spark.driver.extraJavaOptions": "-Dlog4j2.configurationFile=mine"}
    assert session_options(warehouse=None, conf=own).items() >= own.items()


_STATEMENTS = [
    *("--format", "jsonl", "--limit", "2"),
    *("-e", f"{_CREATE}; INSERT INTO pets VALUES (1, 'a;b'), (2, NULL), (3, 'c')"),
    *("-e", "SELECT * FROM pets ORDER BY id"),
]
_ANSWER = [{"id": 1, "name": "a;b"}, {"id": 2, "name": None}]


@pytest.mark.repeated
@pytest.mark.spark
def test_a_file_in_hives_dialect(tmp_path: Path) -> None:
    script = tmp_path / "script.hql"
    script.write_text(
        "-- a comment ends here \\\n"
        "SET hive.exec.parallel=true;\n"
        "SELECT greatest(${low}, 2) AS a, 'x;''y' AS b, add_months('${hivevar:day}', 1) AS c;\n"
        "SELECT 1,\n  hash(1);\n"
    )
    answer = run(
        tmp_path,
        *("-f", str(script), "--dialect", "Hive", "--format", "csv"),
        *("--hivevar", "low=1", "--hivevar", "day=2024-02-29"),
    )
    assert answer.stdout.splitlines()[-2:] == ["a,b,c", "2,x;y,2024-03-31"]
    assert "warning: hive.exec.parallel is kept and has no effect on Spark" in answer.stderr
    assert "UNSUPPORTED_DIALECT_FEATURE" in answer.stderr
    assert "script.hql:5: error: [UNSUPPORTED_DIALECT_FEATURE] hash()" in answer.stderr
    assert answer.returncode == 1


@pytest.mark.repeated
@pytest.mark.spark
def test_statements_from_the_command_line(tmp_path: Path) -> None:
    answer = run(tmp_path, *_STATEMENTS)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert [json.loads(line) for line in answer.stdout.splitlines()[-2:]] == _ANSWER


@pytest.mark.spark
def test_statements_in_the_session_of_the_tests(
    empty: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[SparkSession] = []
    monkeypatch.setattr(spark_options, "start_session", lambda **_: empty)
    monkeypatch.setattr(SparkSession, "stop", lambda session: stopped.extend([session]))
    acidsql.sql(empty, "CREATE DATABASE of_the_command")
    acidsql.sql(empty, "USE of_the_command")
    answer = CliRunner().invoke(command.main, _STATEMENTS)
    acidsql.sql(empty, "DROP DATABASE of_the_command CASCADE")
    assert answer.exit_code == 0, answer.output
    assert [json.loads(line) for line in answer.stdout.splitlines()[-2:]] == _ANSWER
    assert stopped == [empty]


@pytest.mark.slow
@pytest.mark.spark
def test_checks_of_tables(empty: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check all tables, then some: the exit code shows whether there are problems."""
    monkeypatch.setattr(spark_options, "start_session", lambda **_: empty)
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    for name in ("well", "ill"):
        acidsql.sql(
            empty,
            f"CREATE TABLE {name} (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
        )
        acidsql.sql(empty, f"INSERT INTO {name} VALUES (1)")
    acidsql.sql(empty, "CREATE VIEW seen AS SELECT * FROM well")

    def check(*arguments: str) -> tuple[int, list[tuple[str, str]]]:
        answer = CliRunner().invoke(command.main, ["--format", "jsonl", "check", *arguments])
        lines = [json.loads(line) for line in answer.stdout.splitlines()]
        return answer.exit_code, [(line["table"], line["problem"]) for line in lines]

    assert check("--full") == (0, [])
    said = CliRunner().invoke(command.main, ["check"])
    assert (said.exit_code, said.stdout) == (0, "2 tables checked, no problems\n")
    (root,) = Path(acidsql.location(empty, "ill").removeprefix("file:")).glob("delta_*")
    (root / "_orc_acid_version").unlink()
    assert check() == (0, [("default.ill", "NO_VERSION_FILE")])  # no more than a piece of news
    (root / "part-0").touch()
    expected = [("ill", "FOREIGN_FILE"), ("ill", "NO_VERSION_FILE")]
    assert check("well", "ill") == (3, expected)
    assert check("--dry-run", "ill") == (3, expected)
    assert check("--repair", "ill") == (3, expected)
    assert check("ill") == (3, expected[:1])
    said = CliRunner().invoke(command.main, ["check", "ill"])
    assert said.stdout.endswith("1 row\n1 table checked, 1 problem\n")
    assert check("well", "nowhere") == (1, [])


@pytest.mark.repeated
@pytest.mark.spark
def test_a_failing_file_exits_1_and_names_the_line(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "SELECT 'before' AS a;\n-- next\nUPDATE pets\nSETT id = 1;\nSELECT 'after';\n"
    )
    answer = run(tmp_path, "--format", "csv", "-f", str(script))
    assert answer.returncode == 1
    assert answer.stdout == "a\nbefore\n"
    error, line, caret = answer.stderr.splitlines()[-3:]
    assert error.startswith(f"{script}:4: error: [PARSE_SYNTAX_ERROR] ")
    assert (line, caret) == ("SETT id = 1", "     ^")


@pytest.mark.repeated
@pytest.mark.spark
def test_standard_input_is_a_file_where_it_is_no_terminal(tmp_path: Path) -> None:
    answer = run(tmp_path, "--format", "tsv", text="SELECT 1 AS a, 'x' AS b;\nexit;\nSELECT 2;")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "a\tb\n1\tx\n"


@pytest.mark.spark
@pytest.mark.repeated
def test_interactive_shell(tmp_path: Path, configuration: Path) -> None:
    pager = "import sys; print('in the pager:', len(sys.stdin.readlines()), 'lines')"
    surroundings = {
        "TERM": "xterm",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "VISUAL": "sed -i 's/$/ -- ;/'",
        "PAGER": shlex.join([sys.executable, "-c", pager]),
    }
    shell = pexpect.spawn(
        _COMMAND[0],
        [*_COMMAND[1:], "--master", "local[2]", "--warehouse", str(tmp_path / "w")],
        cwd=str(tmp_path),
        env={**os.environ, **surroundings},
        encoding="utf-8",
        timeout=_SECONDS,
        dimensions=(40, 140),
    )
    try:
        shell.expect("acidsql>")
        # a statement of two lines
        shell.send("SELECT 40 +\r")
        shell.expect("->")
        shell.send("2 AS answer;\r")
        shell.expect("42 [|]")
        shell.expect("1 row")
        # an error, and where to read on
        shell.send("INSERT INTO nothing VALUES (1);\r")
        shell.expect("TABLE_OR_VIEW_NOT_FOUND")
        shell.expect("see https://.*#table_or_view_not_found")
        # a table, and its name completed
        shell.send(f"{_CREATE}; SELECT 'cre' || 'ated';\r")
        shell.expect("created")
        shell.expect("1 row")
        shell.send("SELECT count(*) FROM pe")
        shell.expect("pets")
        shell.send("\t")
        shell.expect("pets")
        shell.send(";\r")
        shell.expect("0 [|]")
        shell.expect(r"\d\.\d\d s\r\n")  # the time, which the prompt shows
        # its columns, too
        shell.send("DELETE FROM pets WHERE na")
        shell.expect("name")
        shell.sendintr()
        # a statement that is asked about
        shell.send("DELETE FROM pets;\r")
        shell.expect_exact("DELETE without WHERE removes every row of the table. Run it? [y/N]: ")
        shell.send("n\r")
        shell.expect("not run")
        # an editor, whose text is run with Enter
        shell.send("SELECT 5 * 5 AS edited \\e\r")
        shell.expect_exact("-- ;")
        shell.send("\r;\r")
        shell.expect("25 [|]")
        # a result for the pager
        shell.send("SELECT id FROM range(100);\r")
        shell.expect_exact("in the pager: 105 lines")
        # an error with a caret under its place
        shell.send("UPDATE pets SETT id = 1 WHERE id = 2;\r")
        shell.expect(r"error: \[PARSE_SYNTAX_ERROR\][^\r\n]*\r\n")
        shell.expect_exact("UPDATE pets SETT id = 1 WHERE id = 2\r\n                 ^\r\n")
        # Ctrl-C at the prompt drops the text
        shell.send("SELECT nonsense")
        shell.sendintr()
        # a statement that shows its progress and is cancelled; the shell goes on
        shell.send(f"{_ENDLESS}\r")
        shell.expect(r"tasks (?!00:00)\d\d:\d\d")
        shell.sendintr()
        shell.expect("cancelled")
        shell.send("SELECT 6 * 7 AS again;\r")
        shell.expect("again")
        shell.expect("42 [|]")
        shell.send("\\q\r")
        shell.expect(pexpect.EOF)
    finally:
        shell.close()
    assert shell.exitstatus == 0
    assert "+2 AS answer;" in (tmp_path / "state/acidsql/history").read_text()
    assert (configuration / "config.toml").read_text() == config_text()


@pytest.mark.slow
@pytest.mark.spark
def test_ctrl_c_ends_a_batch_with_a_write(tmp_path: Path) -> None:
    endless = f"{_CREATE}; INSERT INTO pets SELECT id % 9, 'x' FROM range(100000000000);"
    shell = pexpect.spawn(
        _COMMAND[0],
        [*_COMMAND[1:], "--master", "local[2]", "-e", f"{endless} SELECT 'after'"],
        cwd=str(tmp_path),
        encoding="utf-8",
        timeout=_SECONDS,
    )
    try:
        shell.expect(r"tasks (?!00:00)\d\d:\d\d")
        shell.sendintr()
        shell.expect("cancelled")
        assert "ERROR" not in shell.before
        shell.expect(pexpect.EOF)
    finally:
        shell.close()
    assert shell.before.strip() == ""
    assert shell.exitstatus == 130
