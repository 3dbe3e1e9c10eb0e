"""Conversion of Thrift structures to and from Thrift's JSON (``TJSONProtocol``).

A structure is an object whose keys are the numbers of the fields. Each value contains the type and
the value of the field. A list is an array that starts with the type and the number of its elements.
A map is an array of the two types, the number of entries, and an object. thriftpy2 writes another
form of JSON, which Hive cannot read.
"""

from __future__ import annotations

import json
from typing import Any

from thriftpy2.thrift import TType

_STRUCT, _MAP, _LIST, _SET = "rec", "map", "lst", "set"
_TYPES = {
    TType.BOOL: "tf",
    TType.BYTE: "i8",
    TType.I16: "i16",
    TType.I32: "i32",
    TType.I64: "i64",
    TType.DOUBLE: "dbl",
    TType.STRING: "str",
    TType.STRUCT: _STRUCT,
    TType.MAP: _MAP,
    TType.LIST: _LIST,
    TType.SET: _SET,
}


def encode(structure: Any) -> str:
    """Return a structure as a text without the fields that are None."""
    return json.dumps(_fields(structure), separators=(",", ":"))


def decode(kind: type[Any], text: str) -> Any:
    """Return the structure in a text, without fields that the class does not have.

    Args:
        kind: class of the structure.
        text: text that ``encode`` or Hive has written.

    Raises:
        ValueError: the text does not contain a structure of this class.
    """
    try:
        return _structure(kind, json.loads(text))
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"no {kind.__name__}: {error!r}") from error


def _fields(structure: Any) -> dict[str, Any]:
    fields = {}
    for number, (kind, name, *rest) in sorted(structure.thrift_spec.items()):
        value = getattr(structure, name)
        if value is not None:
            inner = rest[0] if len(rest) > 1 else None
            fields[str(number)] = {_TYPES[kind]: _value(kind, inner, value)}
    return fields


def _value(kind: int, inner: Any, value: Any) -> Any:
    """Return a value as JSON.

    Args:
        kind: type of the value.
        inner: the class of a structure, the type of the elements of a list, or the types of the
            keys and values of a map. A type that contains other types is a pair of both.
    """
    if kind == TType.STRUCT:
        return _fields(value)
    if kind in (TType.LIST, TType.SET):
        element, deeper = _with_inner(inner)
        return [_TYPES[element], len(value), *[_value(element, deeper, v) for v in value]]
    if kind == TType.MAP:
        (key, _), (item, deeper) = map(_with_inner, inner)
        entries = {str(k): _value(item, deeper, v) for k, v in value.items()}
        return [_TYPES[key], _TYPES[item], len(entries), entries]
    return int(value) if kind == TType.BOOL else value


def _with_inner(kind: Any) -> tuple[int, Any]:
    return kind if isinstance(kind, tuple) else (kind, None)


def _structure(kind: type[Any], fields: dict[str, Any]) -> Any:
    made = kind()
    for number, typed in fields.items():
        spec = kind.thrift_spec.get(int(number))
        ((name, value),) = typed.items()
        if spec is not None and _TYPES[spec[0]] == name:
            inner = spec[2] if len(spec) > 3 else None
            setattr(made, spec[1], _read(spec[0], inner, value))
    return made


def _read(kind: int, inner: Any, value: Any) -> Any:
    """Return the value of a JSON value; the arguments are those of ``_value``."""
    if kind == TType.STRUCT:
        return _structure(inner, value)
    if kind in (TType.LIST, TType.SET):
        element, deeper = _with_inner(inner)
        return [_read(element, deeper, v) for v in value[2:]]
    if kind == TType.MAP:
        (key, _), (item, deeper) = map(_with_inner, inner)
        read_key = str if key == TType.STRING else int
        return {read_key(k): _read(item, deeper, v) for k, v in value[3].items()}
    return bool(value) if kind == TType.BOOL else value
