from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from acidsql.syntax import parse
from acidsql.syntax.nodes import Span

_MARK = re.compile(r"«(?P<name_span>.*?)»|\[\[(?P<field>\w+)\|(?P<content>.*?)\]\]", re.DOTALL)


@pytest.fixture
def check() -> Callable[[str, type[Any], dict[str, Any]], None]:
    """Return a function that compares a parsed text with the dataclass of its fields and marked
    spans.

    ``«…»`` marks the field ``name_span``, ``[[field|…]]`` any other.
    """
    return _check


def _check(marked: str, kind: type[Any], fields: dict[str, Any]) -> None:
    text, spans = _unmark(marked)
    assert parse(text) == kind(text=text, **spans, **fields)


def _unmark(marked: str) -> tuple[str, dict[str, Span]]:
    text = ""
    position = 0
    spans = {}
    for mark in _MARK.finditer(marked):
        content = mark["name_span"] or mark["content"]
        text += marked[position : mark.start()]
        spans[mark["field"] or "name_span"] = Span(start=len(text), end=len(text) + len(content))
        text += content
        position = mark.end()
    return text + marked[position:], spans
