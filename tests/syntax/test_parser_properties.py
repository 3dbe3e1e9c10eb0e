"""Tests that white space, comments and the case of keywords never change what a statement means."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.errors import AcidParseError
from acidsql.syntax import Statement, parse
from acidsql.syntax.lexer import blank_comments
from acidsql.syntax.nodes import PartitionSpec, Span
from acidsql.syntax.statements import InsertBranch

# Keywords are upper case, names lower case or quoted; `~` is where nothing or blanks may stand.
TEMPLATES = [
    (
        "CREATE TABLE IF NOT EXISTS d~.~t (~a INT~, b STRUCT<x~:~INT> COMMENT 'a  B;'~) "
        "PARTITIONED BY~(~p~, q~) CLUSTERED BY (~a~,~`b  C`~) SORTED BY (~a DESC~) INTO 4 BUCKETS "
        "STORED AS ORC LOCATION~'/a  b' COMMENT 'c' "
        "TBLPROPERTIES~(~'transactional'~=~'true'~, x~.~y 5~, z~=~TRUE~) AS SELECT~(~1~)"
    ),
    "CREATE TRANSACTIONAL TABLE `a  B` ROW FORMAT DELIMITED FIELDS TERMINATED BY ';'",
    "CREATE OR REPLACE TEMP VIEW v (~a COMMENT ';'~, b~) COMMENT 'x' AS SELECT 1",
    "CREATE SCHEMA IF NOT EXISTS d WITH DBPROPERTIES (~a~=~1~) COMMENT 'x'",
    "DROP TABLE IF EXISTS `a`~.~if PURGE",
    "ALTER TABLE compact PARTITION (~p~=~'a  B;'~, q~=~+ 1~) COMPACT~'MAJOR' AND WAIT POOL~'p'",
    "ALTER TABLE t SET LOCATION '/x'",
    "OPTIMIZE TABLE t REWRITE DATA",
    (
        "INSERT OVERWRITE TABLE d~.~t PARTITION (~p~==~DATE '2024-01-01'~, q~) IF NOT EXISTS "
        "(~a~, `b`~) SELECT~'x;'~, r'\\'~, \"y\"~, f(~1~)"
    ),
    "INSERT INTO t (~SELECT 1~)",
    "WITH RECURSIVE c~(~a~)~AS~(~SELECT~')'~) INSERT INTO t BY NAME SELECT * FROM c",
    "FROM s~, (~SELECT 1~) INSERT INTO a SELECT x INSERT OVERWRITE TABLE b SELECT y",
    "UPDATE d~.~set AS x SET a~=~1 WHERE b~=~';'",
    "DELETE FROM where y WHERE y~.~a > 1",
    "MERGE WITH SCHEMA EVOLUTION INTO using x~(~a~) USING s ON TRUE",
    "DESCRIBE FORMATTED t PARTITION (~p~=~1~) a~.~b",
    "SHOW TABLES IN d LIKE~'a*'",
    "SHOW COMPACTIONS t PARTITION (~p~=~1~) STATUS 'x'",
    "SHOW LOCKS DATABASE d EXTENDED",
    "ABORT TRANSACTIONS 1 2 3",
    "EXPLAIN EXTENDED DELETE FROM t",
    "LOAD DATA INPATH '/x' INTO TABLE t",
]

comments = st.sampled_from(
    ["-- it's; `é\n", "--\\\n more\n", "/**/", "/* ; /* ' */ \" */", "/* 😀 /*+ */", "--\r\n"]
)
blanks = st.sampled_from([" ", "\n", "\t", "\r\n", "\u3000", "\xa0"])
gaps = st.lists(st.one_of(blanks, comments), max_size=3).map("".join)
_LITERAL = r"r'[^']*'|'[^']*'|\"[^\"]*\"|`[^`]*`"


@st.composite
def variants(draw: st.DrawFn, template: str) -> str:
    pieces = [draw(gaps)]
    for token in re.findall(rf"{_LITERAL}|[A-Z]+|~|\s|.", template):
        if token == "~":
            pieces.append(draw(gaps))
        elif token == " ":
            pieces.append(draw(gaps) + draw(blanks))
        elif re.fullmatch("[A-Z]+", token):
            upper = draw(st.integers(min_value=0, max_value=2 ** len(token) - 1))
            pieces += (c if upper >> i & 1 else c.lower() for i, c in enumerate(token))
        else:
            pieces.append(token)
    return "".join((*pieces, draw(gaps), draw(st.sampled_from(["", ";", " ; ;", ";-- x"]))))


def meaning(statement: Statement | None) -> dict[str, Any]:
    """Return the fields of a statement, with the code of spans in place of their offsets."""
    assert statement is not None
    fields = {"kind": type(statement)}
    for field in dataclasses.fields(statement):
        if field.name != "text":
            value = getattr(statement, field.name)
            fields[field.name] = _normal(value, statement.text)
    return fields


def _normal(value: Any, text: str) -> Any:
    if isinstance(value, Span):
        return _code(value.of(text))
    if isinstance(value, PartitionSpec):
        return [(column, literal and _code(literal)) for column, literal in value.values]
    if isinstance(value, InsertBranch):
        return value.name, _code(value.head.of(text)), _code(value.body.of(text))
    if isinstance(value, tuple):
        return tuple(_normal(item, text) for item in value)
    if isinstance(value, str):
        return value.lower()
    if isinstance(value, dict):
        return {key: content.lower() for key, content in value.items()}
    return value


def _code(text: str) -> str:
    """Return the tokens: literals as they are, the rest in lower case without blanks."""
    tokens = re.findall(rf"{_LITERAL}|\w+|\S", blank_comments(text))
    return " ".join(t if re.fullmatch(_LITERAL, t) else t.lower() for t in tokens)


@pytest.mark.parametrize("template", TEMPLATES)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_meaning_depends_on_nothing_but_the_tokens(template: str, data: st.DataObject) -> None:
    variant = data.draw(variants(template))
    assert meaning(parse(variant)) == meaning(parse(template.replace("~", "")))


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(" ".join(TEMPLATES).replace("~", "").split()),
            st.sampled_from([*list("'\"`();\n\\"), "--", "/*", "*/", "/*+", "r'"]),
            st.text(max_size=4),
        ),
        max_size=25,
    ).map(" ".join)
)
def test_any_text_is_a_statement_or_not_ours_or_malformed_at_a_place_inside_it(text: str) -> None:
    line, column = 1, 1
    statement = None
    try:
        statement = parse(text)
    except AcidParseError as err:
        line, column = err.line, err.column
    lines = text.split("\n")
    assert 1 <= line <= len(lines)
    assert 1 <= column <= len(lines[line - 1]) + 1
    assert statement is None or text.startswith(statement.text)
