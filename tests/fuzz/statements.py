"""Targets ``parser`` and ``dialects``: texts of statements."""

from __future__ import annotations

import json
import re
import time
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

from acidsql.dialects import DIALECTS, translate
from acidsql.errors import AcidAnalysisError, AcidParseError, AcidTextError
from acidsql.syntax import parse
from acidsql.syntax.grammar import grammar_text
from acidsql.syntax.lexer import Lexis, blank_comments, code_spans, marks
from acidsql.syntax.parameters import bind
from tests.fuzz.broken import broken_texts
from tests.fuzz.target import Target

_ROOT = Path(__file__).parents[2]
_SYMBOLS = [
    *"()[]{}'\"`;,.=<>!-+*/\\$:?%@#&|~^",
    *(
        "--",
        "/*",
        "*/",
        "/*+",
        "r'",
        "==",
        "<=>",
        "''",
        "\\'",
        "\0",
        "\n",
        "\t",
        "\ufeff",
        "\u2028",
    ),
    *("x", "1", "1e5", "9" * 30, "0.5", "'a'", '"b"', "`c`", "İ", "ß", "😀", "\ud800", "e\u0301"),
    *("${x}", ":x", "?", "\u202e", "\u00a0", "transactional", "'transactional'='true'"),
]
# Seconds of processor time that the longest text here may take; quadratic ones take hundreds.
_LONGEST = 30.0


@cache
def statements() -> tuple[str, ...]:
    """Return the statements of the cases and of the documents."""
    lines = (_ROOT / "tests/cases/dml_cases.jsonl").read_text().splitlines()
    cases = [text for line in lines for text in _texts(json.loads(line))]
    documents = [path.read_text() for path in sorted((_ROOT / "docs").rglob("*.md"))]
    examples = [
        statement
        for text in documents
        for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
        for statement in block.split(";\n")
    ]
    answers = [
        json.loads(line)["text"]
        for name in ("hive", "trino")
        for line in (_ROOT / f"tests/dialects/{name}_answers.jsonl").read_text().splitlines()
    ]
    return tuple(dict.fromkeys(t for t in [*cases, *examples, *answers] if len(t) < 2000))


def _texts(case: object) -> list[str]:
    """Return the texts in a case, at any depth."""
    if isinstance(case, str):
        return [case] if " " in case else []
    parts = case.values() if isinstance(case, dict) else case if isinstance(case, list) else []
    return [text for part in parts for text in _texts(part)]


@cache
def words() -> tuple[str, ...]:
    """Return the keywords of the grammar, and what else may be in a statement."""
    return (*sorted(set(re.findall(r'"([A-Z_]+)"', grammar_text()))), *_SYMBOLS)


def repeated(text: str) -> st.SearchStrategy[str]:
    """Draw a text with a part that comes again many times."""
    return st.tuples(
        st.integers(0, len(text)),
        st.integers(0, len(text)),
        st.sampled_from([1, 1, 1, 1, 50, 3000]),
    ).map(lambda at: text[: at[1]] + text[at[0] : at[1]] * (at[2] - 1) + text[at[1] :])


def _check_parser(text: str) -> None:
    begin = time.process_time()
    for lexis in Lexis:
        end = 0
        for mark in marks(text, lexis):
            assert end <= mark.span.start < mark.span.end <= len(text)
            end = mark.span.end
        assert len(blank_comments(text, lexis)) == len(text)
    assert all(0 <= span.start <= span.end <= len(text) for span in code_spans(text))
    try:
        statement = parse(text)
        assert statement is None or statement.text in text
        bind(text, {"x": "1"})
        bind(text, ["1"])
    except AcidParseError as error:
        _check_place(text, error)
    except AcidAnalysisError as error:
        assert error.getCondition() == "UNBOUND_SQL_PARAMETER"
    spent = time.process_time() - begin
    assert spent < _LONGEST, f"{spent:.0f} s for {len(text)} characters"


def _check_place(text: str, error: AcidTextError) -> None:
    lines = text.split("\n")
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    assert 0 <= error.offset <= len(text)
    assert len(str(error)) < 1000


def _check_dialect(drawn: tuple[str, str]) -> None:
    dialect, text = drawn
    begin = time.process_time()
    try:
        translated = translate(text, dialect, lambda _: None)
        assert isinstance(translated.text, str)
    except AcidTextError as error:
        _check_place(text, error)
    except AcidAnalysisError as error:
        assert error.getCondition() == "FAILED_TO_PARSE_TOO_COMPLEX"
    spent = time.process_time() - begin
    assert spent < _LONGEST, f"{spent:.0f} s for {len(text)} characters"


_TEXTS = broken_texts(statements(), words()).flatmap(repeated)

PARSER = Target(name="parser", summary="texts of statements", inputs=_TEXTS, check=_check_parser)
DIALECT = Target(
    name="dialects",
    summary="statements of Hive and Trino",
    inputs=st.tuples(st.sampled_from([d for d in DIALECTS if d != "spark"]), _TEXTS),
    check=_check_dialect,
)
