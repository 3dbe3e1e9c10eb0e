"""The magics in an IPython of this process; ``test_kernel`` has a real kernel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import acidsql

pytestmark = pytest.mark.spark

_PETS = """\
%%acidsql
CREATE TABLE pet (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO pet VALUES (1, 'Rex'), (2, 'a<b'), (3, NULL)
"""


def ran(shell: InteractiveShell, text: str) -> Any:
    done = shell.run_cell(text)
    done.raise_error()
    return done.result


@pytest.mark.slow
def test_a_cell_shows_the_rows_of_its_last_statement(shell: InteractiveShell) -> None:
    ran(shell, _PETS)
    changed = "UPDATE pet SET id = 9 WHERE id = 3;\nSELECT * FROM pet ORDER BY id;\n"
    table = ran(shell, f"%%acidsql --limit 2\n{changed}")
    assert table.rows == ((1, "Rex"), (2, "a<b"))
    data, _ = shell.display_formatter.format(table)
    assert set(data) == {"text/plain", "text/html"}
    assert '<td style="text-align: left">a&lt;b</td>' in data["text/html"]
    assert data["text/plain"].endswith("first 2 rows; there are more (change this with --limit)")


@pytest.mark.slow
def test_braces_and_dollars_of_a_line_are_sql(shell: InteractiveShell) -> None:
    shell.user_ns["x"] = "changed"
    assert ran(shell, "%acidsql SELECT '{x}' AS a, '$x' AS b;").rows == (("{x}", "$x"),)


@pytest.mark.slow
def test_variables_of_the_notebook_are_parameters(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    ran(shell, _PETS)
    shell.user_ns |= {"wanted": "it's :id", "id_": 3}
    ran(shell, "%%acidsql\nUPDATE pet SET name = :wanted WHERE id = :id_;\nSELECT 1")
    shown = ran(shell, "%acidsql SELECT name, ':none' AS t FROM pet WHERE id = :id_")
    assert shown.rows == (("it's :id", ":none"),)
    capsys.readouterr()
    shell.run_cell("%acidsql SELECT :id_, :nowhere")
    assert capsys.readouterr().err == (
        "UsageError: there is no variable nowhere for the parameter :nowhere of the statement\n"
    )


def test_a_plan_is_shown_in_lines(shell: InteractiveShell) -> None:
    plan = ran(shell, "%acidsql EXPLAIN SELECT id FROM range(3)")
    assert repr(plan).startswith("== Physical Plan ==\n")
    assert plan._repr_html_().startswith("<pre>== Physical Plan ==\n")


def test_a_dataframe_goes_to_a_variable(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    ran(shell, _PETS)
    capsys.readouterr()
    assert ran(shell, "%acidsql pets << SELECT id FROM pet WHERE id < 3") is None
    assert capsys.readouterr() == ("", "")
    pets = shell.user_ns["pets"]
    assert isinstance(pets, DataFrame)
    assert sorted(pets.collect()) == [(1,), (2,)]


def test_an_error_is_shown_without_a_traceback_and_ends_the_cell(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    done = shell.run_cell(
        "%%acidsql\nALTER TABLE nowhere COMPACT 'major';\nCREATE TABLE made (a INT)"
    )
    assert isinstance(done.error_in_exec, acidsql.AcidSqlError)
    printed = "".join(capsys.readouterr())
    assert printed == (
        "error: [TABLE_OR_VIEW_NOT_FOUND] there is no table nowhere: check the spelling, the "
        "current database (USE) and SHOW TABLES\n"
    )
    assert not shell.user_ns["spark"].catalog.tableExists("made")


def test_sparks_own_errors_have_a_caret(
    shell: InteractiveShell, capfd: pytest.CaptureFixture[str]
) -> None:
    done = shell.run_cell("%%acidsql\nSELECT 1;\n\nSELECT id,, name\n  FROM range(3)")
    assert isinstance(done.error_in_exec, PySparkException)
    printed = "".join(capfd.readouterr())
    assert printed.startswith("error: [PARSE_SYNTAX_ERROR] ")
    assert printed.endswith("\nSELECT id,, name\n          ^\n")
    assert len(printed.splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%acidsql --limit x SELECT 1", "--limit is 'x': give a number of rows"),
        ("%acidsql --spark y SELECT 1", "--spark y: there is no Spark session in this variable"),
    ],
)
def test_wrong_usage_is_one_line(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    shell.run_cell(text)
    assert capsys.readouterr().err == f"UsageError: {message}\n"


@pytest.mark.slow
def test_the_session_may_be_in_another_variable_or_be_the_active_one(
    shell: InteractiveShell, spark: SparkSession
) -> None:
    shell.user_ns["mine"] = shell.user_ns.pop("spark")
    ran(shell, _PETS.replace("%%acidsql", "%%acidsql --spark mine"))
    assert ran(shell, "%acidsql --spark mine SELECT count(*) FROM pet").rows == ((3,),)
    shell.user_ns["spark"] = "no session"
    spark.range(1).collect()  # makes it the active one
    assert ran(shell, "%acidsql SELECT 1").rows == ((1,),)


def test_without_a_session(
    shell: InteractiveShell,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del shell.user_ns["spark"]
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    shell.run_cell("%acidsql SELECT 1")
    assert "spark = SparkSession.builder.getOrCreate()" in capsys.readouterr().err


def test_the_magics_can_be_unloaded(shell: InteractiveShell) -> None:
    ran(shell, "%unload_ext acidsql")
    assert shell.find_line_magic("acidsql") is None
    ran(shell, "%load_ext acidsql")
    assert shell.find_cell_magic("acidsql") is not None


def test_ipython_is_imported_by_the_magics_alone() -> None:
    package = Path(acidsql.__file__).parent
    found = {
        path.parent.name
        for path in package.rglob("*.py")
        if re.search(r"^(?:from|import) IPython", path.read_text("utf-8"), re.MULTILINE)
    }
    assert found == {"notebook"}
