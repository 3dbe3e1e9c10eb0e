"""Commands of the prompt that run no statement: settings, favourites, files, the editor, errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession

from acidsql.repl.catalog_commands import is_partitioned, is_transactional, listing
from acidsql.repl.commands import (
    COMMANDS,
    find_command,
    help_text,
    run_file,
    run_input,
    run_script,
)
from acidsql.repl.console import CommandError, Console
from acidsql.repl.runner import Result
from acidsql.repl.setting_commands import (
    Change,
    changed_dialect,
    changed_format,
    changed_pager,
    switched_expansion,
    switched_timing,
)
from acidsql.repl.shell import Ending, Shell, ShellSettings
from acidsql.repl.statement_commands import Watch, read_watch

SETTINGS = ShellSettings(
    format_name="csv", limit=3, timing=False, progress=False, tracebacks=False, pager="less"
)


def nothing_runs(_spark: SparkSession, text: str, _dialect: str) -> DataFrame:
    raise AssertionError(text)


@pytest.fixture
def console(tmp_path: Path) -> Console:
    """Return a console whose session is never used, and whose editor adds a line."""

    def edit_file(file: Path) -> None:
        file.write_text(f"{file.read_text() if file.exists() else ''}-- edited\n")

    return Console(
        shell=Shell(spark=cast("SparkSession", None), execute=nothing_runs, settings=SETTINGS),
        favourites=tmp_path / "own" / "favourites.toml",
        history=None,
        edit=lambda text: f"{text}\n-- edited\n" if text else None,
        edit_file=edit_file,
    )


def test_names_of_commands_are_unique() -> None:
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert len(set(names)) == len(names)
    assert all(find_command(name) is not None for name in names)


def test_help_describes_every_command(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_input(console, "\\?") is Ending.DONE
    assert capsys.readouterr().out == help_text()
    for command in COMMANDS:
        (line,) = [one for one in help_text().splitlines() if one.endswith(command.help)]
        assert line.startswith(", ".join([command.name, *command.aliases]))
        assert command.arguments in line


@pytest.mark.parametrize(
    ("change", "argument", "expected", "said"),
    [
        (switched_timing, "", {"timing": True}, "timing is on"),
        (switched_timing, "off", {"timing": False}, "timing is off"),
        (switched_expansion, "", {"expanded": "on"}, "expanded display is on"),
        (switched_expansion, "auto", {"expanded": "auto"}, "expanded display is auto"),
        (changed_format, "jsonl", {"format_name": "jsonl"}, ""),
        (changed_dialect, "Hive", {"dialect": "hive"}, ""),
        (changed_dialect, "", {}, "dialect is spark (of spark, hive, trino)"),
        (changed_pager, "most -s", {"pager": "most -s"}, "pager is most -s"),
        (changed_pager, "off", {"pager": None}, "pager is off"),
    ],
)
def test_settings(change: Change, argument: str, expected: dict[str, Any], said: str) -> None:
    assert change(SETTINGS, argument) == (replace(SETTINGS, **expected), said)


def test_switches_go_back() -> None:
    on, _ = switched_timing(SETTINGS, "")
    assert switched_timing(on, "") == (SETTINGS, "timing is off")
    automatic, _ = switched_expansion(SETTINGS, "auto")
    on, said = switched_expansion(automatic, "")
    assert (on.expanded, said) == ("on", "expanded display is on")
    assert switched_expansion(on, "") == (SETTINGS, "expanded display is off")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\\nosuch", "no such command: \\nosuch (\\? shows them)"),
        ("\\timing maybe", "maybe is none of on, off"),
        ("\\x 1", "1 is none of off, on, auto"),
        ("\\format nosuch;", "nosuch is none of table, unicode,"),
        ("\\dialect impala", "impala is none of spark, hive, trino"),
        ("\\d DROP TABLE pet", "DROP TABLE pet is no name"),
        ("\\d+ a.", "a. is no name"),
        ("\\dt a b", "a b is no pattern of names, such as pet* or shop.*"),
        ("\\i", "name a file: \\i FILE"),
        ("\\i /no/such.sql", "/no/such.sql: "),
        ("\\o /", "Is a directory"),
        ("\\watch", "nothing ran before: \\watch [SECONDS] STATEMENT"),
        ("\\watch 0 SELECT 1", "seconds between two runs must be more than 0"),
        ("\\f nosuch", "there is no favourite nosuch (\\f lists them)"),
        ("\\fs", "name it: \\fs NAME [STATEMENT]"),
        ("\\fs a", "nothing ran before: \\fs NAME STATEMENT"),
        ("\\fd a", "there is no favourite a"),
        ("\\fd", "name it: \\fd NAME"),
        ("\\set 'a", "name it: \\set NAME VALUE"),
        ("\\unset a", "there is no variable a"),
        ("\\c a b", "a b is no name"),
        ("\\h nosuch", "there is no help on nosuch: \\h lists the statements"),
        ("\\s", "only a prompt has a history"),
        ("\\! exit 3", "exit 3 ended with 3"),
        ("SELECT 1 +\n\\nosuch", "no such command: \\nosuch"),
    ],
)
def test_errors(
    console: Console, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_input(console, text) is Ending.FAILED
    printed = capsys.readouterr()
    assert printed.err.startswith("error: ")
    assert message in printed.err
    assert printed.out == ""


def test_a_command_in_the_middle_of_a_statement_leaves_it_to_be_typed_on(
    console: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_input(console, "SELECT 1 +\n\\?") is Ending.DONE
    assert (console.draft, capsys.readouterr().out) == ("SELECT 1 +", help_text())
    assert run_input(console, "SELECT 1 +\n\\timing nonsense") is Ending.FAILED
    assert console.draft == "SELECT 1 +"
    assert run_input(console, "SELECT 1 +\n\\r") is Ending.DONE
    assert console.draft == ""
    assert run_input(console, "SELECT 1 +\n\\q") is Ending.EXIT


def test_help_is_no_statement(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("help", "HELP;"):
        assert run_input(console, text) is Ending.DONE
        assert "\\h MERGE how one is written" in capsys.readouterr().out


def test_statements_have_help(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    def shown(words: str) -> str:
        assert run_input(console, f"\\h {words}") is Ending.DONE
        return capsys.readouterr().out

    assert shown("").startswith("ABORT COMPACTIONS, ABORT TRANSACTIONS, ALTER DATABASE,")
    assert shown("merge;").startswith(
        "MERGE\nMERGE [WITH SCHEMA EVOLUTION] INTO name [[AS] alias] USING source "
        "[[AS] alias] ON condition\nWHEN MATCHED"
    )
    assert "\nDELETE FROM name [[AS] alias] [WHERE condition]\n" in shown("delete")
    assert "COMPACT 'minor' | 'major'" in shown("compact")
    assert "COMPACT 'minor' | 'major'" in shown("ALTER TABLE")
    assert "RENAME COLUMN" in shown("alter  table")


def test_the_surroundings(
    console: Console, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    console.variables = {"day": "2024-02-29"}
    assert run_input(console, "\\echo it's ${day}; ${none}") is Ending.DONE
    assert run_input(console, "\\!echo 'from the system'") is Ending.DONE
    assert run_input(console, "\\set") is Ending.DONE
    printed = capfd.readouterr()
    assert printed.out == "it's 2024-02-29; ${none}\nfrom the system\n"
    assert printed.err == "day = 2024-02-29\n"
    console.history = tmp_path / "history"
    console.history.write_text("\n# a\n+SELECT\n+1;\n\n# b\n+\\q\n")
    assert run_input(console, "\\s") is Ending.DONE
    assert run_input(console, f"\\s {tmp_path}/out") is Ending.DONE
    assert (tmp_path / "out").read_text() == "SELECT\n1;\n\\q\n"
    assert capfd.readouterr().out == f"SELECT\n1;\n\\q\nthe history is in {tmp_path}/out\n"


def test_commands_in_files(
    console: Console, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner, outer = tmp_path / "inner.sql", tmp_path / "outer.sql"
    inner.write_text("\\echo inside\n\\timing on\n")
    outer.write_text(
        f"\\i {inner}\nSELECT 1 +\n\\r\n\\echo outside\n-- end\n\n\\x maybe\n\\echo not"
    )
    assert run_file(console, outer) is Ending.FAILED
    printed = capsys.readouterr()
    assert printed.out == "inside\noutside\n"
    assert printed.err == (f"timing is on\n{outer}:7: error: maybe is none of off, on, auto\n")
    outer.write_text(f"\\echo once\n\\i '{outer}'")
    assert run_file(console, outer) is Ending.FAILED
    assert capsys.readouterr().err == (
        f"{outer}:2: error: {outer} runs already: a file cannot run itself\n"
    )
    assert run_script(console, "\\q\n\\echo no") is Ending.EXIT
    assert console.files == []


def test_favourites_are_saved_listed_and_deleted(
    console: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    console.last = "SELECT 2"
    console.history = Path("of a prompt")
    assert run_input(console, "\\fs one SELECT $1,\n  1;") is Ending.DONE
    assert run_input(console, "\\fs two") is Ending.DONE
    assert run_input(console, "\\f") is Ending.DONE
    assert run_input(console, "\\fd two;") is Ending.DONE
    assert run_input(console, "\\f") is Ending.DONE
    printed = capsys.readouterr()
    listed = 'name,query\none,"SELECT $1,\n  1;"\n'
    assert printed.out == f"saved one\nsaved two\n{listed}two,SELECT 2\ndeleted two\n{listed}"
    assert run_input(console, "\\f one") is Ending.FAILED
    assert "favourite one: it wants 1 argument, not 0" in capsys.readouterr().err
    assert run_input(console, "\\f one 'a") is Ending.FAILED
    assert "favourite one: No closing quotation" in capsys.readouterr().err


def test_a_file_that_is_no_list_of_favourites(
    console: Console, capsys: pytest.CaptureFixture[str]
) -> None:
    console.favourites.parent.mkdir()
    console.favourites.write_text("a = 1")
    assert run_input(console, "\\f a") is Ending.FAILED
    assert run_input(console, "\\fs b SELECT 1") is Ending.FAILED
    assert console.favourites.read_text() == "a = 1"
    assert capsys.readouterr().err == 2 * f"error: {console.favourites}: a is no text\n"


def test_what_is_edited_is_the_draft_of_the_next_input(console: Console, tmp_path: Path) -> None:
    assert run_input(console, "SELECT 1 \\e") is Ending.DONE
    assert console.draft == "SELECT 1\n-- edited"
    assert run_input(console, "\\e") is Ending.DONE
    assert console.draft == "SELECT 1\n-- edited"
    file = tmp_path / "a b.sql"
    assert run_input(console, f"\\e '{file}'") is Ending.DONE
    assert run_input(console, f"\\e {file}") is Ending.DONE
    assert console.draft == "-- edited\n-- edited"
    console.last = ""
    assert run_input(console, "\\e") is Ending.DONE
    assert console.draft == ""


@pytest.mark.parametrize(
    ("argument", "watch"),
    [
        ("", Watch(seconds=2, statements="")),
        ("5", Watch(seconds=5, statements="")),
        ("0.5 SELECT 1;", Watch(seconds=0.5, statements="SELECT 1")),
        ("SELECT 1", Watch(seconds=2, statements="SELECT 1")),
        ("3d", Watch(seconds=2, statements="3d")),
        ("2;", Watch(seconds=2, statements="")),
    ],
)
def test_what_is_watched(argument: str, watch: Watch) -> None:
    assert read_watch(argument) == watch


@pytest.mark.parametrize(
    ("pattern", "statement"),
    [
        ("", "SHOW TABLES"),
        ("pet*", "SHOW TABLES LIKE 'pet*'"),
        ("shop.*", "SHOW TABLES IN shop LIKE '*'"),
        ("a", "SHOW TABLES LIKE 'a'"),
        ("`a b`.pet|own*", "SHOW TABLES IN `a b` LIKE 'pet|own*'"),
    ],
)
def test_tables_are_listed_by_pattern(pattern: str, statement: str) -> None:
    assert listing(pattern) == statement
    assert listing(pattern, "VIEWS") == statement.replace("TABLES", "VIEWS")


def test_a_pattern_is_no_text_of_sql() -> None:
    with pytest.raises(CommandError, match="no pattern"):
        listing("a' OR 'b")


def rows(*cells: tuple[str, str]) -> Result:
    return Result(columns=("a", "b"), numeric=(False, False), rows=cells, truncated=False)


def test_what_is_partitioned_and_transactional() -> None:
    assert is_partitioned(rows(("id", "int"), ("# Partition Information", "")))
    assert not is_partitioned(rows(("id", "int")))
    assert is_transactional(rows(("a", "b"), ("transactional", "TRUE")))
    assert not is_transactional(rows(("transactional", "false")))
    assert not is_transactional(rows())
