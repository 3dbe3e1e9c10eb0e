"""Column types, parsed without Spark from the text that a metastore stores.

Spark and Hive write such texts: ``decimal(10,2)``, ``struct<a:int,`b c`:array<string>>``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from acidsql.errors import AcidAnalysisError

_TOKEN = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|[<>,:()]|[^\s<>,:()`']+")
_MAX_PRECISION = 38

_SIMPLE = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    # A timestamp with a time zone is another ORC type, an instant.
    "timestamp": pa.timestamp("us"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_WITH_LENGTH = ("char", "varchar")
_DECIMALS = ("decimal", "dec", "numeric")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """Type of a column, or of a part of a nested column.

    Attributes:
        text: text of the type.
        arrow: Arrow type of the values that are written to files; string for char and varchar.
        kind: ``char``, ``varchar``, ``list``, ``map``, ``struct``, or ``simple`` for all others.
        length: length of a char or varchar in characters.
        names: names of the fields of a struct.
        children: types of a list's element, of a map's key and value, or of a struct's fields.
    """

    text: str
    arrow: pa.DataType
    kind: str = "simple"
    length: int = 0
    names: tuple[str, ...] = ()
    children: tuple[ColumnType, ...] = ()

    @property
    def has_limits(self) -> bool:
        """Whether the Arrow type has values that this type does not have.

        This is true for char, varchar, DATE and TIMESTAMP, and for types that contain them.
        """
        is_limited = self.length > 0 or pa.types.is_temporal(self.arrow)
        return is_limited or any(child.has_limits for child in self.children)


def parse_type(text: str) -> ColumnType:
    """Parse the text of a type.

    Raises:
        AcidAnalysisError: UNSUPPORTED_DATATYPE.

    >>> parse_type("map<string,decimal(5,2)>").arrow
    MapType(map<string, decimal128(5, 2)>)
    """
    tokens = _TOKEN.findall(text)
    try:
        parsed = _type(tokens)
    except (IndexError, ValueError) as error:
        raise _unsupported(text) from error
    if tokens:
        raise _unsupported(text)
    return parsed


def _type(tokens: list[str]) -> ColumnType:
    """Parse the type at the beginning of the tokens, and remove its tokens."""
    word = tokens.pop(0).lower()
    if word in _SIMPLE:
        return ColumnType(text=word, arrow=_SIMPLE[word])
    if word in _DECIMALS:
        precision, scale = [*_numbers(tokens), 10, 0][:2] if "(" in tokens[:1] else (10, 0)
        if not 0 < precision <= _MAX_PRECISION or not 0 <= scale <= precision:
            raise ValueError(word)
        arrow = pa.decimal128(precision, scale)
        return ColumnType(text=f"decimal({precision},{scale})", arrow=arrow)
    if word in _WITH_LENGTH:
        (length,) = _numbers(tokens)
        return ColumnType(text=f"{word}({length})", arrow=pa.string(), kind=word, length=length)
    parse = _NESTED.get(word)
    if parse is None:
        raise ValueError(word)
    _expect(tokens, "<")
    made = parse(tokens)
    _expect(tokens, ">")
    return made


def _list(tokens: list[str]) -> ColumnType:
    element = _type(tokens)
    _skip_attributes(tokens)
    return ColumnType(
        text=f"array<{element.text}>",
        arrow=pa.list_(element.arrow),
        kind="list",
        children=(element,),
    )


def _map(tokens: list[str]) -> ColumnType:
    key = _type(tokens)
    _expect(tokens, ",")
    value = _type(tokens)
    _skip_attributes(tokens)
    return ColumnType(
        text=f"map<{key.text},{value.text}>",
        arrow=pa.map_(key.arrow, value.arrow),
        kind="map",
        children=(key, value),
    )


def _struct(tokens: list[str]) -> ColumnType:
    names: list[str] = []
    children: list[ColumnType] = []
    while tokens[0] != ">":
        if names:
            _expect(tokens, ",")
        name = tokens.pop(0)
        names.append(name[1:-1].replace("``", "`") if name.startswith("`") else name)
        if tokens[0] == ":":
            tokens.pop(0)
        children.append(_type(tokens))
        _skip_attributes(tokens)
    fields = list(zip(names, (child.arrow for child in children), strict=True))
    text = ",".join(f"{name}:{child.text}" for name, child in zip(names, children, strict=True))
    return ColumnType(
        text=f"struct<{text}>",
        arrow=pa.struct(fields),
        kind="struct",
        names=tuple(names),
        children=tuple(children),
    )


_NESTED = {"array": _list, "map": _map, "struct": _struct}


def _numbers(tokens: list[str]) -> list[int]:
    _expect(tokens, "(")
    numbers = [int(tokens.pop(0))]
    while tokens[0] == ",":
        tokens.pop(0)
        numbers.append(int(tokens.pop(0)))
    _expect(tokens, ")")
    return numbers


def _skip_attributes(tokens: list[str]) -> None:
    """Skip NOT NULL and COMMENT 'text', which can follow a type inside another type."""
    while tokens[0] not in (",", ">"):
        tokens.pop(0)


def _expect(tokens: list[str], token: str) -> None:
    if tokens.pop(0) != token:
        raise ValueError(token)


def _unsupported(text: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        "UNSUPPORTED_DATATYPE",
        f"a streaming client cannot write values of type {text}: write them by a statement",
        {"typeName": text},
    )
