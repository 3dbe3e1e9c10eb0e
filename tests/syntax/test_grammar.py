"""Tests of the grammar as a whole, so that changing one statement breaks no other."""

from __future__ import annotations

import logging
from pathlib import Path

import lark
import pytest

from acidsql.syntax import builder, parser
from acidsql.syntax import grammar as grammar_file

# Of these any two match much of the same text.
OPAQUE = {"CHUNK", "DEFINITION", "NAME", "PART", "SOURCE", "TAIL", "VALUE_CHUNK"}


@pytest.fixture(scope="module")
def grammar() -> lark.Lark:
    return grammar_file.load_grammar()


def test_there_are_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    level = lark.logger.level
    lark.logger.setLevel(logging.DEBUG)
    lark.logger.addHandler(caplog.handler)
    try:
        grammar_file.load_grammar(debug=True)
    finally:
        lark.logger.removeHandler(caplog.handler)
        lark.logger.setLevel(level)
    assert [line for line in caplog.messages if "conflict" in line.lower()] == []


def test_no_state_accepts_two_opaque_terminals(grammar: lark.Lark) -> None:
    table = grammar.parser.parser._parse_table
    accepted = (OPAQUE.intersection(actions) for actions in table.states.values())
    assert [clash for clash in accepted if len(clash) > 1] == []


def test_the_builder_speaks_of_rules_that_exist(grammar: lark.Lark) -> None:
    rules = {str(rule.alias or rule.origin.name) for rule in grammar.rules}
    assert builder.STATEMENTS.keys() <= rules
    assert rules >= builder.UNSUPPORTED
    assert builder.FIELDS.keys() <= rules
    assert rules >= builder.WHOLE


def test_what_is_ours_alone_exists(grammar: lark.Lark) -> None:
    rules = {rule.origin.name for rule in grammar.rules}
    terminals = {terminal.name for terminal in grammar.terminals}
    assert rules | terminals >= parser.OURS


def test_the_installed_grammar_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "grammar").mkdir()
    (tmp_path / "grammar" / "acidsql.lark").write_text('start: "X"', encoding="utf-8")
    monkeypatch.setattr("acidsql.syntax.grammar.resources.files", lambda _: tmp_path)
    assert grammar_file.grammar_text() == 'start: "X"'


def test_a_source_checkout_has_the_grammar_at_its_root() -> None:
    root = Path(__file__).parents[2]
    assert grammar_file.grammar_text() == (root / "grammar/acidsql.lark").read_text(
        encoding="utf-8"
    )
