from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from acidsql.errors import AcidAnalysisError
from acidsql.syntax import bind

VALUES = {"a": "1", "b": "'x'", "_c1": "DATE'2024-01-01'", "int": "WRONG", "é": "2", "neg": "-1"}

NAMED = [
    ("SELECT :a, :b", "SELECT 1, 'x'"),
    ("WHERE d=:_c1 AND x IN(:a)", "WHERE d=DATE'2024-01-01' AND x IN(1)"),
    ("SELECT :é", "SELECT 2"),
    ("SELECT ':a', \":a\", `:a`, r':a'", "SELECT ':a', \":a\", `:a`, r':a'"),
    ("SELECT 1 -- :a\n, /* :a */ :a", "SELECT 1 -- :a\n, /* :a */ 1"),
    ("SELECT x::int, x :: int", "SELECT x::int, x :: int"),
    ("CAST(x AS STRUCT<a:int, `b`:int>)", "CAST(x AS STRUCT<a:int, `b`:int>)"),
    ("SELECT doc:a.b, f(x):a, l[0]:a", "SELECT doc:a.b, f(x):a, l[0]:a"),
    ("SELECT l[1:2], l[:a]", "SELECT l[1:2], l[1]"),
    ("SELECT -:neg, 1+:a+1", "SELECT - -1, 1+ 1 +1"),
    ("SELECT {df}, ?", "SELECT {df}, ?"),
    (":a", "1"),
]


@pytest.mark.parametrize(("text", "bound"), NAMED)
def test_named_markers(text: str, bound: str) -> None:
    assert bind(text, VALUES) == bound


POSITIONAL = [
    ("SELECT ?, ?", ("1", "'x'"), "SELECT 1, 'x'"),
    ("SELECT '?', `?`, ? -- ?", ("1",), "SELECT '?', `?`, 1 -- ?"),
    ("SELECT 'a'?'b'", ("'x'",), "SELECT 'a' 'x' 'b'"),
    ("SELECT :a, ?", ("1", "2"), "SELECT :a, 1"),
]


@pytest.mark.parametrize(("text", "values", "bound"), POSITIONAL)
def test_positional_markers(text: str, values: Sequence[str], bound: str) -> None:
    assert bind(text, values) == bound


@pytest.mark.parametrize("text", ["SELECT :a, ?", "SELECT 1"])
def test_without_args_the_text_stays(text: str) -> None:
    assert bind(text, None) == text


def test_a_value_is_not_bound_again() -> None:
    assert bind("SELECT :a, :b", {"a": "':b ?'", "b": "1"}) == "SELECT ':b ?', 1"


UNBOUND: list[tuple[str, Mapping[str, str] | Sequence[str], str]] = [
    (
        "SELECT :a, :x",
        VALUES,
        "the statement's parameter 'x' has no value: pass args={'x': …}",
    ),
    (
        "SELECT ?, ?",
        ("1",),
        "the statement's parameter number 2 has no value: pass at least 2 values in args",
    ),
    ("SELECT :a", {}, "the statement's parameter 'a' has no value: pass args={'a': …}"),
]


@pytest.mark.parametrize(("text", "args", "message"), UNBOUND)
def test_a_marker_without_value_is_refused(
    text: str, args: Mapping[str, str] | Sequence[str], message: str
) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        bind(text, args)
    assert caught.value.condition == "UNBOUND_SQL_PARAMETER"
    assert caught.value.message == message
