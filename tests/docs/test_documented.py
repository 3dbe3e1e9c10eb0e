"""Tests that the documents name everything that they must, and only things that exist."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree as ET

import pytest

from acidsql.bridge.spark_versions import TRIED
from acidsql.checking.problems import KINDS
from acidsql.errors import condition_page
from acidsql.repl import main as shell
from acidsql.repl.commands import COMMANDS
from acidsql.repl.config import Config, config_text
from acidsql.repl.console import PromptCommand
from acidsql.repl.printer import FORMATS
from acidsql.repl.statements import split
from acidsql.session.setting_names import SETTINGS
from acidsql.sqlstates import SQLSTATES, sqlstate
from acidsql.syntax import builder, parse, statements
from scripts import draw_costs, make_man, record_shell
from tests.docs import pages, references
from tests.metastore.server.launcher import VERSIONS

_ROOT = Path(__file__).parents[2]
_PACKAGE = _ROOT / "acidsql"
_PAGES = sorted((_ROOT / "docs").rglob("*.md"))
_DOCUMENTS = [_ROOT / "README.md", _ROOT / "CHANGELOG.md", _ROOT / "CONTRIBUTING.md", *_PAGES]
_DOCUMENTS.append(_ROOT / "tpcds_bench" / "README.md")


def page(name: str) -> str:
    return (_ROOT / "docs" / f"{name}.md").read_text("utf-8")


_LIMITS = page("limits")
_ENABLE = page("enable")
_SERVE = page("serve")
_ARCHITECTURE = page("architecture")
_SETTINGS = page("reference/settings")
_STATEMENTS = page("reference/statements")
_CONDITIONS = page("reference/conditions")
_SHELL = page("reference/shell")
_SETTING = re.compile(r"spark\.acidsql(?:\.\w+)+")
_UNSUPPORTED = "UNSUPPORTED_FEATURE."
_CONDITION = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:\.[A-Z_]+)?")


def sources() -> Iterator[str]:
    for path in sorted(_PACKAGE.rglob("*.py")):
        yield path.read_text("utf-8")


def settings() -> set[str]:
    found = {name for text in sources() for name in _SETTING.findall(text)}
    return found - {"spark.acidsql.retrys"}  # of an example


def test_settings_are_those_that_are_known() -> None:
    assert set(SETTINGS) == settings()


def test_each_setting_is_documented() -> None:
    assert not {name for name in settings() if f"| `{name}` |" not in _SETTINGS}


def test_documents_name_no_other_setting() -> None:
    named = {name for path in _DOCUMENTS for name in _SETTING.findall(path.read_text("utf-8"))}
    assert named == settings()


def properties() -> set[str]:
    """Return the table properties that the code of CREATE TABLE knows."""
    code = (_PACKAGE / "commands" / "definitions.py").read_text("utf-8")
    return {"transactional", *re.findall(r'"(orc\.[\w.]+\w|[a-z]+_[a-z]+)"', code)}


@pytest.mark.parametrize("name", sorted(properties()))
def test_table_property_is_documented(name: str) -> None:
    assert f"| `{name}` |" in _SETTINGS or name == "insert_only"


def kinds() -> dict[str, str]:
    """Return the texts of the example statements by their kind."""
    texts = (
        statement.text
        for example in pages.examples(_STATEMENTS)
        if example.kind == "sql"
        for statement in split(example.text)
    )
    return {type(parse(text)).__name__: text for text in texts}


@pytest.mark.parametrize("kind", get_args(statements.Statement), ids=lambda kind: kind.__name__)
def test_statement_has_an_example(kind: type) -> None:
    refused = {"DropColumns", "SetLocation", "AlterTable"}
    assert kind.__name__ in kinds() or kind.__name__ in refused


def literals(node: ast.expr) -> str:
    """Return the text of a string literal; of an f-string, the text before its first value."""
    if isinstance(node, ast.JoinedStr):
        return literals(node.values[0])
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """Return the syntax tree of a module as a list."""
    return tuple(ast.walk(ast.parse(text)))


def conditions(text: str) -> Iterator[str]:
    """Yield the conditions of unsupported features in a module, up to a value in their name."""
    for node in nodes(text):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(rf"{re.escape(_UNSUPPORTED)}[A-Z_]*[A-Z]", node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = [a for a in node.args if not (isinstance(a, ast.Name) and a.id == "table")]
            words = re.findall(r"\w+", literals(named[0])) if named else []
            if node.func.id in ("_unsupported", "_refused") and words:
                yield _UNSUPPORTED + "_".join(words).upper()
    # The clauses of CREATE TABLE that are refused stand in a table of their own.
    for clause in re.findall(r'"([A-Z][A-Z ]+)": (?:bool\()?statement\.', text):
        yield _UNSUPPORTED + clause.replace(" ", "_")


@cache
def raised() -> set[str]:
    return {name for text in sources() for name in conditions(text)}


@pytest.mark.slow
def test_conditions_are_collected_however_they_are_spelled() -> None:
    collected = raised()
    for name in (
        "ANALYZE_VIEW",
        "CREATE_VIEW",
        "OR_REPLACE",
        "TABLE_PROPERTY",
    ):
        assert _UNSUPPORTED + name in collected


def test_each_unsupported_feature_is_in_limits() -> None:
    def is_documented(condition: str) -> bool:
        name = condition.removeprefix(_UNSUPPORTED)
        return re.search(rf"`{name}[_`]|`{condition}", _LIMITS + _ENABLE + _SERVE) is not None

    assert not {name for name in raised() if not is_documented(name)}


@pytest.mark.parametrize("rule", sorted(builder.UNSUPPORTED))
def test_unsupported_clause_is_in_limits(rule: str) -> None:
    words = rule.replace("_", " ").upper()
    if words in ("COMPACTION ID", "LIMIT", "STATUS", "TYPE"):
        words = "SHOW COMPACTIONS` with filters"
    assert words in _LIMITS.replace("_", " "), f"{words} is not in docs/limits.md"


@cache
def error_names() -> set[str]:
    tree = ast.parse((_PACKAGE / "errors.py").read_text("utf-8"))
    classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return {name for name in classes if name.endswith("Error")}


def raised_conditions(text: str) -> Iterator[str]:
    """Yield the conditions of errors that a module creates, and those in messages of Spark's
    errors.

    A condition is cut off at a value in its name. For one that is given by a name, the name is
    yielded.
    """
    for node in nodes(text):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(rf"^\[({_CONDITION.pattern})\] ", node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in error_names() and node.args:
                yield literals(node.args[0]) or ast.unparse(node.args[0])
        elif isinstance(node, ast.Dict):  # of subclasses, from which one is chosen
            keys = [literals(key) for key in node.keys if key is not None]
            yield from (key for key in keys if re.fullmatch(r"[A-Z_]+\.[A-Z_]+", key))


@cache
def all_raised() -> set[str]:
    found = {name for text in sources() for name in raised_conditions(text)}
    # Of errors that are passed on, of clauses that are refused (above), of texts that do not parse.
    assert {"condition", "error.condition", "message"} >= {n for n in found if n.islower()}
    return {n for n in found if not n.islower() and not n.startswith(_UNSUPPORTED)}


def test_there_are_conditions() -> None:
    assert {"CONCURRENT_WRITE", "SNAPSHOT_EXPIRED", "LOAD_DATA_DIRECTORY"} <= all_raised()


@cache
def sections() -> dict[str, str]:
    """Return the text below the heading of each condition."""
    parts = re.split(r"^### `(.+)`$", _CONDITIONS, flags=re.MULTILINE)
    assert len(set(parts[1::2])) == len(parts[1::2])
    return {
        name: text.partition("\n## ")[0]
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_each_condition_has_a_section() -> None:
    def has_section(condition: str) -> bool:  # it may be cut off at a value in its name
        return any(name.startswith(condition) for name in sections())

    assert not {name for name in all_raised() | _PLACED if not has_section(name)}


@pytest.mark.parametrize("name", sections())
def test_section_of_a_condition_has_cause_example_and_remedy(name: str) -> None:
    state = sqlstate(name.removesuffix(".*"))
    beginning = rf"SQLSTATE {state}\. " if state else ""
    form = rf"\n\n{beginning}[^\n]+\.\n\n- Example: .+\n- What to do: .+\n+"
    assert re.fullmatch(form, sections()[name])


def test_the_shell_links_to_the_sections() -> None:
    def anchor(heading: str) -> str:  # as GitHub makes it
        return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")

    named = [name for name in sections() if not name.endswith("*")]
    assert [condition_page(name).partition("#")[2] for name in named] == list(map(anchor, named))
    assert "\n## Refused statements\n" in _LIMITS


# Those of errors that know their condition, and are made with a place.
_PLACED = {"PARSE_SYNTAX_ERROR", "UNSUPPORTED_DIALECT_FEATURE"}


def test_every_condition_has_a_sqlstate() -> None:
    named = {name.partition(".")[0] for name in all_raised() | raised() | _PLACED}
    assert set(SQLSTATES) == named - {"SNAPSHOT_EXPIRED"}  # of Spark's errors


def test_documents_name_no_other_condition() -> None:
    code = "\n".join(sources())
    for name in sections():
        assert name.removesuffix(".*") in code, name


@pytest.mark.parametrize("name", ["policy", "internals/spark"])
def test_releases_of_spark_that_were_tried_are_documented(name: str) -> None:
    found = set(re.findall(r"\b[3-9]\.\d\.\d\b", page(name)))
    assert found >= set(TRIED)


def test_metastores_that_were_tried_are_documented() -> None:
    (row,) = re.findall(r"^\| Hive Metastore \| ([^|]+) \|", page("policy"), re.MULTILINE)
    assert sorted(row.split(", ")) == sorted(VERSIONS)


def test_oldest_python_is_the_same_everywhere() -> None:
    settings = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))
    oldest = settings["project"]["requires-python"].removeprefix(">=")
    assert settings["tool"]["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"
    assert settings["tool"]["mypy"]["python_version"] == oldest
    assert f"({oldest.replace('.', ', ')}) <=" in (_ROOT / "scripts/environment.sh").read_text()
    for name in ("README.md", "CONTRIBUTING.md"):
        assert f"Python {oldest} or newer" in (_ROOT / name).read_text("utf-8")
    (row,) = re.findall(r"^\| Python \| ([^|]+) \|", page("policy"), re.MULTILINE)
    versions = row.split(", ")
    assert min(versions, key=lambda version: int(version.partition(".")[2])) == oldest
    tried = {f"Programming Language :: Python :: {version}" for version in versions}
    assert tried <= set(settings["project"]["classifiers"])


def test_benchmark_suites_are_documented() -> None:
    files = ("__main__.py", "writer_commands.py", "peers/commands.py")
    code = "".join((_ROOT / "tpcds_bench" / file).read_text("utf-8") for file in files)
    suites = re.findall(r'@(?:main|click)\.command\("(\w+)"\)', code)
    assert suites
    listed = (_ROOT / "tpcds_bench" / "README.md").read_text("utf-8")
    commands = re.findall(r"^    python -m tpcds_bench (\w+)", listed, re.MULTILINE)
    assert set(suites) == set(commands)
    named = re.findall(r"`python -m tpcds_bench (\w+)`", page("performance"))
    assert named
    assert set(named) <= set(suites)


@pytest.mark.parametrize("name", KINDS)
def test_problem_is_documented(name: str) -> None:
    kind = KINDS[name]
    repaired = " Repaired." if kind.repair else ""
    row = rf"^\| `{name}` \| {kind.severity.value} \| (?:FAST|FULL) \| [^|]+ \| (.*) \|$"
    assert re.findall(row, page("check"), re.MULTILINE) == [kind.remedy + repaired]


def test_documents_name_no_other_problem() -> None:
    named = re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \|", page("check"), re.MULTILINE)
    assert sorted(named) == sorted(KINDS)


def shell_options() -> set[str]:
    commands = (shell.main, shell.main.commands["maintain"], shell.main.commands["ingest"])
    given = {name for each in commands for option in each.params for name in option.opts}
    return given | {"-h", "--help"}


@pytest.mark.parametrize("option", sorted(shell_options()))
def test_shell_option_is_documented(option: str) -> None:
    assert re.search(rf"^\| .*`{option}`.* \|", _SHELL, re.MULTILINE)


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.stem)
def test_shell_options_of_the_documents_exist(document: Path) -> None:
    text = re.sub(r'"[^"\n]*"', "", document.read_text("utf-8"))  # of SQL
    commands = re.findall(r"^(?:    |\$ )(acidsql .*)$", text, re.MULTILINE)
    used = re.findall(r"(?<=\s)--?[a-z][a-z-]*", "\n".join(commands))
    own = [option for command in shell.main.commands.values() for option in command.params]
    assert set(used) <= shell_options() | {name for option in own for name in option.opts}


def test_the_manual_page_has_the_options_of_today() -> None:
    assert make_man.PAGE.read_text("utf-8") == make_man.man_page(), "run scripts/make_man.py"


def test_options_of_checks_are_documented() -> None:
    options = {name for option in shell.check.params for name in option.opts if name[0] == "-"}
    assert options == set(re.findall(r"\[(--[a-z-]+)\]", _SHELL))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_command_of_the_prompt_is_documented(command: PromptCommand) -> None:
    row = rf"^\| (?:… )?{', '.join(f'`{re.escape(n)}`' for n in (command.name, *command.aliases))}"
    assert re.search(row, _SHELL, re.MULTILINE)


def test_documents_name_no_other_command_of_the_prompt() -> None:
    named = set(re.findall(r"`(\\[^\s`|]+)`", _SHELL))
    assert named - {"\\N"} == {name for c in COMMANDS for name in (c.name, *c.aliases)}


def test_options_of_the_configuration_are_documented() -> None:
    section = _SHELL[_SHELL.index("## The configuration file") :]
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \| ", section, re.MULTILINE)
    assert [name for name, _ in rows] == [option.name for option in fields(Config)]
    for name, default in rows:
        assert f"\n#{name} = {default}\n" in config_text()


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_format_is_documented(name: str) -> None:
    assert f"`{name}`" in _SHELL


def anchors(document: Path) -> set[str]:
    """Return the anchors that GitHub, and the site, give to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.stem)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", document.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        if not path.startswith("https://"):
            found = document.parent / path if path else document
            assert found.exists(), f"{document.name}: {target}"
            assert not anchor or anchor in anchors(found), f"{document.name}: {target}"


_LISTS = {"index", "changelog", "contributing"}


@pytest.mark.parametrize(
    "document", [p for p in _PAGES if p.stem not in _LISTS], ids=lambda path: path.stem
)
def test_page_begins_with_its_purpose_and_ends_with_the_next_one(document: Path) -> None:
    text = document.read_text("utf-8")
    assert re.match(r"# .+\n\n(!\[.+\)\n\n)?[`\w]", text)  # a sentence, perhaps below a picture
    last = re.split(r"^## ", text, flags=re.MULTILINE)[-1]
    assert re.fullmatch(r"Where to go next\n\n(?:- .*\[.+\]\(.+\).*\n(?:  .+\n)*)+", last)


_INSIDE = [_ROOT / "CONTRIBUTING.md", _ROOT / "docs" / "architecture.md"]
_INSIDE += [_ROOT / "docs" / "guarantees.md", *sorted((_ROOT / "docs" / "internals").glob("*.md"))]


@pytest.mark.parametrize("document", _INSIDE, ids=lambda path: path.stem)
def test_modules_of_the_documents_exist(document: Path) -> None:
    known = [path.relative_to(_ROOT).as_posix() for path in _ROOT.glob("*/**/*.py")]
    for name in set(re.findall(r"`([\w/]+\.py)`", document.read_text("utf-8"))):
        assert any(path == name or path.endswith(f"/{name}") for path in known), name


@pytest.mark.parametrize("document", _INSIDE, ids=lambda path: path.stem)
def test_names_in_the_documents_exist(document: Path) -> None:
    named = references.dotted_names(document.read_text("utf-8"))
    assert not {name for name in named if not references.exists(name)}


def test_architecture_names_functions() -> None:
    named = re.findall(r"`(\w+)\.(\w+)`", _ARCHITECTURE)
    assert {
        ("row_level", "update"),
        ("bridge", "update_rows"),
        ("orc_tail", "append_metadata"),
    } <= set(named)
    assert len(set(re.findall(r"`([\w/]+\.py)`", _ARCHITECTURE))) > 10


def texts(picture: Path) -> set[str]:
    """Return the texts of a picture, which must be well-formed."""
    return {e.text.strip() for e in ET.parse(picture).iter() if e.text}


def test_picture_names_the_packages() -> None:
    found = texts(_ROOT / "docs" / "architecture.svg")
    for package in ("syntax", "commands", "planning", "scan", "compaction", "metastore", "format"):
        assert (_PACKAGE / package).is_dir()
        assert package in found


def test_chart_shows_the_table_of_costs() -> None:
    found = texts(draw_costs.PICTURE)
    rows = draw_costs.costs(page("performance"))
    assert len(rows) > 5
    for row in rows:
        assert {row.task, f"beside {row.against}", f"{row.ratio:.2f}"} <= found
    assert f"TPC-DS, {draw_costs.setup(page('performance'))}" in found


def test_recording_shows_its_statements() -> None:
    shown = "".join(ET.parse(record_shell.PICTURE).getroot().itertext())
    for statement in record_shell.STATEMENTS:
        for word in statement.split():
            assert word.strip("();,") in shown, word
    for answer in ("num_updated_rows", "num_deleted_rows", "Felix", "Ida"):
        assert answer in shown


def test_frames_of_a_recording_share_their_lines() -> None:
    first = record_shell.Frame(lines=((("a < b", "#111", True),), ()), cursor=(5, 0), seconds=1)
    second = record_shell.Frame(
        lines=((("a < b", "#111", True),), ((" c", "#222", False),)), cursor=(0, 1), seconds=3
    )
    drawn = ET.fromstring(record_shell.svg([first, second]))
    space = {"svg": "http://www.w3.org/2000/svg"}
    assert [e.text for e in drawn.findall(".//svg:text", space)] == ["a < b", "c"]
    used = [e.get("href") for e in drawn.findall(".//svg:use", space)]
    assert used == ["#l0", "#l0", "#l1"]
    style = drawn.findtext("svg:style", namespaces=space) or ""
    assert "0.000%{transform:translateY(0px)}25.000%{transform:translateY(-" in style
