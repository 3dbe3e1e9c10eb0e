"""Docstrings begin as they should, and what they refer to exists.

Ruff has the same rule for verbs that it knows (D401); here are the words that begin riddles.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.docs import references
from tests.docs.references import PACKAGE, ROOT

_MODULES = sorted(PACKAGE.rglob("*.py"))
_KEPT = ROOT / "tpcds_bench" / "data"  # environments of other engines are there
_OTHERS = [
    path
    for name in ("tpcds_bench", "scripts")
    for path in (ROOT / name).rglob("*.py")
    if _KEPT not in path.parents
]
# Functions begin with an imperative verb, all else with a noun. "Whether" may begin a property.
_NO_VERBS = frozenset(
    {
        "A", "All", "An", "And", "Any", "As", "At", "By", "Each", "Every", "For", "From", "How",
        "If", "In", "Is", "It", "Its", "No", "None", "Of", "On", "One", "Only", "Other", "Same",
        "Some", "Such", "That", "The", "Their", "These", "They", "This", "Those", "To", "What",
        "When", "Where", "Whether", "Which", "Who", "Whose", "Why", "With", "Without",
    }
)  # fmt: skip
_NO_NOUNS = frozenset(
    {
        "From", "How", "If", "That", "Those", "What", "When", "Where", "Whether", "Which", "Who",
        "Why",
    }
)  # fmt: skip


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_function(node: references.Documented) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def is_property(node: references.Documented) -> bool:
    decorators = getattr(node, "decorator_list", ())
    return is_function(node) and any(ast.unparse(d).endswith("property") for d in decorators)


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    wrong = []
    for path in [*_MODULES, *sorted(_OTHERS)]:
        for node, text in references.documented(path):
            no_first = _NO_VERBS if is_function(node) else _NO_NOUNS
            if is_property(node):
                no_first = _NO_NOUNS - {"Whether"}
            if text.split()[0].strip(",:;") in no_first:
                wrong.append((name_of(path), text.splitlines()[0]))
    assert not wrong


@pytest.mark.slow
def test_names_in_docstrings_exist() -> None:
    missing = []
    for path in _MODULES:
        texts = [text for _, text in references.documented(path)]
        dotted = {name for text in texts for name in references.dotted_names(text)}
        words = {name for text in texts for name in references.snake_case_names(text)}
        unknown = {name for name in dotted if not references.exists(name)}
        unknown |= words - references.words_of_the_code()
        missing += [(name_of(path), name) for name in sorted(unknown)]
    assert not missing


def test_names_that_do_not_exist_are_found() -> None:
    text = "``scan.plan.scan`` is right, ``schema.guard`` and `Draft.project` are not: ``a_b_c``"
    names = references.dotted_names(text)
    assert {name for name in names if not references.exists(name)} == {
        "schema.guard",
        "Draft.project",
    }
    assert references.snake_case_names(text) == {"a_b_c"}
    assert "a_b_c" not in references.words_of_the_code()


@pytest.mark.parametrize(
    "name",
    [
        "AcidSession.of",
        "Metastore.commit_txn",
        "ValidWriteIdList.is_valid",
        "acidsql.sql",
        "bridge.job_errors",
        "bridge.conditions.condition_of",
        "planning.plan_requirements",
        "scan.plan.scan",
    ],
)
def test_names_that_exist_are_known(name: str) -> None:
    assert references.exists(name)


@pytest.mark.parametrize(
    "name", ["AcidSession.off", "acidsql.sqll", "bridge.job_error", "scan.plan.scans", "scans.plan"]
)
def test_misspelled_names_are_not(name: str) -> None:
    assert not references.exists(name)
