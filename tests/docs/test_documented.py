"""What the documents must name is in them, and what they name exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import acidsql
from acidsql.repl import main as shell
from acidsql.syntax import builder

_ROOT = Path(__file__).parents[2]
_PACKAGE = _ROOT / "acidsql"
_DOCUMENTS = [_ROOT / "README.md", _ROOT / "CHANGELOG.md", _ROOT / "CONTRIBUTING.md"]
_DOCUMENTS += sorted((_ROOT / "docs").glob("*.md"))
_README = (_ROOT / "README.md").read_text("utf-8")
_LIMITS = (_ROOT / "docs" / "limits.md").read_text("utf-8")
_ARCHITECTURE = (_ROOT / "docs" / "architecture.md").read_text("utf-8")
_SETTING = re.compile(r"spark\.acidsql(?:\.\w+)+")
_UNSUPPORTED = "UNSUPPORTED_FEATURE."


def sources() -> Iterator[str]:
    for path in sorted(_PACKAGE.rglob("*.py")):
        yield path.read_text("utf-8")


def settings() -> set[str]:
    return {name for text in sources() for name in _SETTING.findall(text)}


def test_there_are_settings() -> None:
    assert "spark.acidsql.metastore" in settings()


@pytest.mark.parametrize("setting", sorted(settings()))
def test_setting_is_in_readme(setting: str) -> None:
    assert f"`{setting}`" in _README


def test_documents_name_no_other_setting() -> None:
    named = {name for path in _DOCUMENTS for name in _SETTING.findall(path.read_text("utf-8"))}
    assert named == settings()


@pytest.mark.parametrize("name", acidsql.__all__)
def test_public_name_is_in_readme(name: str) -> None:
    assert re.search(rf"`acidsql\.{name}\b", _README)


def literals(node: ast.expr) -> str:
    """The text of a literal, that of an f-string up to its first value."""
    if isinstance(node, ast.JoinedStr):
        return literals(node.values[0])
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def conditions(text: str) -> Iterator[str]:
    """The conditions of unsupported features in a module, those with a value in them cut short."""
    for node in ast.walk(ast.parse(text)):
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


def raised() -> set[str]:
    return {name for text in sources() for name in conditions(text)}


def test_conditions_are_collected_however_they_are_spelled() -> None:
    collected = raised()
    for name in (
        "ANALYZE_TABLE",
        "CACHE_TABLE",
        "CREATE_VIEW",
        "OR_REPLACE",
        "TABLE_PROPERTY",
    ):
        assert _UNSUPPORTED + name in collected


@pytest.mark.parametrize("condition", sorted(raised()))
def test_unsupported_feature_is_in_limits(condition: str) -> None:
    name = condition.removeprefix(_UNSUPPORTED)
    assert re.search(rf"`{name}[_`]|`{condition}", _LIMITS), f"{condition} is not in docs/limits.md"


@pytest.mark.parametrize("rule", sorted(builder.UNSUPPORTED))
def test_unsupported_clause_is_in_limits(rule: str) -> None:
    words = rule.replace("_", " ").upper()
    if words in ("COMPACTION ID", "LIMIT", "STATUS", "TYPE"):
        words = "SHOW COMPACTIONS` with filters"
    assert words in _LIMITS.replace("_", " "), f"{words} is not in docs/limits.md"


def test_benchmark_suites_are_in_readme() -> None:
    code = (_ROOT / "tpcds_bench" / "__main__.py").read_text("utf-8")
    suites = re.findall(r'@main\.command\("(\w+)"\)', code)
    assert suites
    assert set(suites) == set(re.findall(r"python -m tpcds_bench (\w+)", _README))


def test_shell_options_of_readme_exist() -> None:
    known = {name for option in shell.main.params for name in option.opts} | {"--help"}
    used = re.findall(
        r"(?<=\s)--?[a-z]+", "\n".join(re.findall(r"^    acidsql.*$", _README, re.MULTILINE))
    )
    assert used
    assert set(used) <= known


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text("utf-8")):
        if not target.startswith("https://"):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_modules_of_the_architecture_exist() -> None:
    names = set(re.findall(r"`([\w/]+\.py)`", _ARCHITECTURE))
    assert len(names) > 10
    known = [path.relative_to(_ROOT).as_posix() for path in _PACKAGE.rglob("*.py")]
    for name in names:
        assert any(path.endswith(f"/{name}") for path in known), name


def test_functions_of_the_architecture_exist() -> None:
    named = re.findall(r"`(\w+)\.(?!py`|lark`)(\w+)`", _ARCHITECTURE)
    assert ("row_level", "update") in named
    for owner, name in named:
        modules = [path.read_text("utf-8") for path in _PACKAGE.rglob(f"{owner}.py")]
        code = "\n".join(modules or (text for text in sources() if f"class {owner}" in text))
        if code:  # others are Spark's, or fields of a file
            assert re.search(rf"def {name}\(", code), f"{owner}.{name}"


def test_picture_is_well_formed_and_names_the_packages() -> None:
    texts = {e.text for e in ET.parse(_ROOT / "docs" / "architecture.svg").iter() if e.text}
    for package in (
        "syntax",
        "commands",
        "planning",
        "scan",
        "compaction",
        "metastore",
        "format",
    ):
        assert (_PACKAGE / package).exists() or (_PACKAGE / f"{package}.py").exists()
        assert package in texts
