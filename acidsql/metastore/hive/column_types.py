"""Conversion of column types between Spark's text and Hive's.

Hive writes ``struct<a:int,b c:string>`` where Spark writes ``STRUCT<a: INT NOT NULL, `b c`:
STRING>``. Primitive types have the same names, except for a few that only Spark's SQL has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from acidsql.errors import AcidAnalysisError
from acidsql.format.timestamp_types import (
    HIVE_INSTANT,
    INSTANT,
    LOCAL_TIME,
    TIMESTAMP,
    timestamps_in,
    with_timestamps,
)

_SIMPLE = re.compile(r"[a-z]\w*(\([\d, ]*\))?", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# Characters that Hive's type parser accepts in the name of a field.
_HIVE_NAME = re.compile(r"[\w.$ ]+")
_HIVE_FIELD = re.compile(r"(?<=[<,])[^<>,:()]+(?=:)")
_TOKEN = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|[<>,:]|[^<>,:`']+")
_NOT_NULL = re.compile(r"\bnot\s+null\b", re.IGNORECASE)
_SPARK_ONLY = {
    "byte": "tinyint",
    "dec": "decimal",
    "integer": "int",
    "long": "bigint",
    "numeric": "decimal",
    "real": "float",
    "short": "smallint",
    INSTANT: HIVE_INSTANT,
    LOCAL_TIME: TIMESTAMP,
}


def hive_type(text: str) -> str:
    """Convert the text of a type from Spark's SQL to Hive's.

    Raises:
        AcidAnalysisError: UNSUPPORTED_COLUMN_NAME, Hive's text cannot contain the name of a field;
            UNSUPPORTED_DATATYPE, the text is not a type.

    >>> hive_type("STRUCT<a: DECIMAL(5, 2) NOT NULL, `b c`: ARRAY<INT> COMMENT 'x, y'>")
    'struct<a:decimal(5,2),b c:array<int>>'
    """
    if _SIMPLE.fullmatch(text):
        return _primitive(text)
    tokens = list(_TOKEN.findall(text))
    made = "".join(_spark_to_hive(tokens))
    if tokens:
        raise AcidAnalysisError(
            "UNSUPPORTED_DATATYPE",
            f"{text!r} is not a column type: write one of Spark SQL, such as INT or ARRAY<STRING>",
        )
    return made


def has_required_field(text: str) -> bool:
    """Return whether a type contains NOT NULL, which Hive's text of a type never has.

    >>> has_required_field("ARRAY<STRUCT<a: INT NOT NULL>>")
    True
    >>> has_required_field("STRUCT<`not null`: INT COMMENT 'NOT NULL'>")
    False
    """
    return any(_NOT_NULL.search(token) for token in _TOKEN.findall(text) if token[0] not in "`'")


def spark_type(text: str) -> str:
    """Convert the text of a type from Hive's to one that Spark's parser accepts.

    >>> spark_type("struct<a:int,b c:map<string,int>>")
    'struct<a:int,`b c`:map<string,int>>'
    >>> spark_type("array<timestamp with local time zone>")
    'array<timestamp_ltz>'
    """
    text = with_timestamps(text, timestamps_in(text))
    return _HIVE_FIELD.sub(lambda match: _quoted(match[0]), text)


def _primitive(text: str) -> str:
    name, bracket, arguments = text.lower().partition("(")
    name = name.strip()
    return _SPARK_ONLY.get(name, name) + bracket + arguments.replace(" ", "")


def _quoted(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _spark_to_hive(tokens: list[str]) -> Iterator[str]:
    """Consume the tokens of a type and its attributes (NOT NULL, COMMENT); yield Hive's text."""
    word = tokens.pop(0).strip() if tokens else ""
    if not tokens or tokens[0] != "<":
        # ``DECIMAL(10`` and ``2)`` are two tokens.
        while "(" in word and ")" not in word and tokens:
            word += tokens.pop(0)
        yield _primitive(re.sub(r"(?i)\s+(not\s+null|comment)\b.*", "", word))
    else:
        kind = word.lower()
        yield kind + tokens.pop(0)
        separator = ""
        while tokens and tokens[0].strip() != ">":
            yield separator
            if kind == "struct":
                yield f"{_spark_field(tokens)}:"
            yield from _spark_to_hive(tokens)
            if tokens and tokens[0] == ",":
                tokens.pop(0)
            separator = ","
        if tokens:
            yield tokens.pop(0).strip()
    while tokens and tokens[0] not in (",", ">"):
        tokens.pop(0)  # NOT NULL, COMMENT 'text'


def _spark_field(tokens: list[str]) -> str:
    """Consume the name of a field and an optional colon; return the name."""
    while tokens[0].isspace():
        tokens.pop(0)
    token = tokens.pop(0)
    if token.startswith("`"):
        name = token[1:-1].replace("``", "`")
    else:
        name, _, rest = token.strip().partition(" ")
        if rest:
            tokens.insert(0, rest)
    if tokens and tokens[0].strip() == ":":
        tokens.pop(0)
    if not _HIVE_NAME.fullmatch(name):
        raise AcidAnalysisError(
            "UNSUPPORTED_COLUMN_NAME",
            f"Hive cannot have a field {name!r} in a struct: use letters, digits and underscores",
        )
    return name
