"""Types of columns, and random values of them: as SQL, and as ``tests.hive_values`` shows them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 – a wall clock
# The calendar that Hive's users see has no such days.
_NO_DAYS = (date(1582, 10, 5), date(1582, 10, 14))
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\0": "\\0"}
_STRINGS = (
    *("", " ", "NULL", "a b", "it's", "-- x", "/* x", "x;y", "{x} :x ?", "\\", '"', "`"),
    *("ä猫\U0001f40b", "a\nb\tc", "x" * 3000, "__HIVE_DEFAULT_PARTITION__", "1.50"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Value of a column.

    Attributes:
        sql: an expression for it; Hive understands it too if ``Kind.literals``.
        shown: its form in ``tests.hive_values``.
    """

    sql: str
    shown: Any


NULL = Value(sql="NULL", shown=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Type of a column.

    Attributes:
        name: name in SQL.
        draw: returns a random value that is not NULL.
        literals: True if Hive keeps the type of the expressions.
        hashed: True if rows can be bucketed by it.
    """

    name: str
    draw: Callable[[Random], Value] = field(compare=False)
    literals: bool = True
    hashed: bool = True

    def value(self, rng: Random) -> Value:
        """Return a random value, sometimes NULL."""
        return NULL if rng.random() < 0.2 else self.draw(rng)


def literal(text: str) -> str:
    """Return a string literal for both dialects."""
    return "'" + "".join(_ESCAPES.get(c, c) for c in text) + "'"


def _simple(
    name: str,
    edges: tuple[str, ...],
    other: Callable[[Random], str],
    shown: Callable[[str], str] = str,
    *,
    hashed: bool = True,
) -> Kind:
    """Return a type whose values are casts of their texts."""

    def draw(rng: Random) -> Value:
        text = rng.choice(edges) if rng.random() < 0.5 else other(rng)
        return Value(sql=f"CAST({literal(text)} AS {name})", shown=shown(text))

    return Kind(name=name, draw=draw, hashed=hashed)


def _integer(name: str, bits: int) -> Kind:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    edges = tuple(str(n) for n in (low, high, 0, -1, 1))
    return _simple(name, edges, lambda rng: str(rng.randint(low, high)))


def _decimal(precision: int, scale: int) -> Kind:
    def text(unscaled: int) -> str:
        digits = f"{abs(unscaled):0{scale + 1}d}"
        whole, fraction = (digits[:-scale], digits[-scale:]) if scale else (digits, "")
        return ("-" if unscaled < 0 else "") + whole + (f".{fraction}" if scale else "")

    most = 10**precision - 1
    return _simple(
        f"DECIMAL({precision},{scale})",
        tuple(map(text, (most, -most, 0, 1, -1, 10**scale))),
        lambda rng: text(rng.randint(-most, most)),
        _decimal_shown,
    )


def _decimal_shown(text: str) -> str:
    value = f"{Decimal(text):f}"
    return value.rstrip("0").rstrip(".") if "." in value else value


def _float_shown(text: str) -> str:
    return repr(struct.unpack("f", struct.pack("f", float(text)))[0])


def _eighths(rng: Random) -> str:
    return str(rng.randint(-(1 << 20), 1 << 20) / 8)


def _string(rng: Random) -> str:
    return "".join(rng.choices("abcXYZ09 _-äß猫%'", k=rng.randint(1, 12)))


def _cut(length: int) -> tuple[tuple[str, ...], Callable[[Random], str]]:
    edges = tuple(s[:length] for s in _STRINGS if not s[:length].endswith("\\"))
    return edges, lambda rng: _string(rng)[:length]


def _day(rng: Random) -> str:
    day = date.fromordinal(rng.randint(1, date.max.toordinal()))
    return str(date(1582, 10, 15) if _NO_DAYS[0] <= day <= _NO_DAYS[1] else day)


def _instant(rng: Random) -> str:
    seconds = rng.choice((rng.randint(0, 1 << 32), -rng.randint(2, 1 << 32)))
    # Readers of ORC are a second late in the last one before 1970.
    micros = rng.choice((0, 1, 500_000, 999_999, rng.randint(0, 999_999)))
    return str(_EPOCH + timedelta(seconds=seconds, microseconds=micros))


def _instant_shown(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _bytes(rng: Random) -> Value:
    text = rng.choice(("", "00", "00ff80", "7c", "0a0d", rng.randbytes(rng.randint(1, 9)).hex()))
    return Value(sql=f"unhex('{text}')", shown=text)


BOOLEAN = Kind(
    name="BOOLEAN", draw=lambda rng: Value(sql=(b := rng.choice(("true", "false"))), shown=b)
)
INT = _integer("INT", 32)
BIGINT = _integer("BIGINT", 64)
# Without -0.0: beside it Spark's ORC writer writes 0.0 as -0.0, in flat files too.
FLOAT = _simple(
    "FLOAT",
    ("NaN", "Infinity", "-Infinity", "-1.0", "0.0", "1.17549435E-38", "1.4E-45", "3.4028235E38"),
    _eighths,
    _float_shown,
)
DOUBLE = _simple(
    "DOUBLE",
    ("NaN", "Infinity", "-Infinity", "-1.0", "0.0", "4.9E-324", "1.7976931348623157E308"),
    _eighths,
    lambda text: repr(float(text)),
)
STRING = _simple("STRING", _STRINGS, _string)
CHAR = _simple("CHAR(5)", *_cut(5), shown=lambda text: text.ljust(5))
VARCHAR = _simple("VARCHAR(5)", *_cut(5))
BINARY = Kind(name="BINARY", draw=_bytes, hashed=False)
DATE = _simple("DATE", ("0001-01-01", "1582-10-15", "1969-12-31", "1970-01-01", "9999-12-31"), _day)
TIMESTAMP = _simple(
    "TIMESTAMP",
    (
        "0001-01-01 00:00:00",
        "1931-07-01 01:02:03.000001",
        "1969-12-31 23:59:58.123456",
        "1970-01-01 00:00:00.5",
        "9999-12-31 23:59:59.999999",
    ),
    _instant,
    _instant_shown,
    hashed=False,
)
# Hive cannot read a TIMESTAMP WITH LOCAL TIME ZONE of an ACID table, not even its own.
SIMPLE = (
    *(BOOLEAN, _integer("TINYINT", 8), _integer("SMALLINT", 16), INT, BIGINT, FLOAT, DOUBLE),
    *(_decimal(5, 0), _decimal(10, 2), _decimal(18, 4), _decimal(38, 18), _decimal(38, 0)),
    *(STRING, CHAR, VARCHAR, BINARY, DATE, TIMESTAMP),
)
# No dates: Spark's ORC writer loses such entries, so that acidsql does not write them.
_KEYS = (INT, BIGINT, STRING, TIMESTAMP, VARCHAR, _decimal(10, 2))


def array_of(element: Kind) -> Kind:
    """Return a type of arrays of up to three elements."""
    name = f"ARRAY<{element.name}>"

    def draw(rng: Random) -> Value:
        items = [element.value(rng) for _ in range(rng.randint(0, 3))]
        # The files where a task of Hive leaves its answer do not distinguish array(NULL) from NULL,
        # nor array('') and array(array()) from array().
        items = [] if len(items) == 1 and items[0].shown in (None, "", ()) else items
        sql = f"CAST(array({', '.join(item.sql for item in items)}) AS {name})"
        return Value(sql=sql, shown=tuple(item.shown for item in items))

    return Kind(name=name, draw=draw, literals=False, hashed=False)


def map_of(key: Kind, element: Kind) -> Kind:
    """Return a type of maps of up to three entries, in the order of the keys' texts."""
    name = f"MAP<{key.name},{element.name}>"

    def draw(rng: Random) -> Value:
        keys = {k.shown: k for k in (key.draw(rng) for _ in range(rng.randint(0, 3)))}
        entries = [(k, element.value(rng)) for k in keys.values()]
        sql = f"CAST(map({', '.join(f'{k.sql}, {v.sql}' for k, v in entries)}) AS {name})"
        return Value(
            sql=sql, shown=tuple(sorted(((k.shown, v.shown) for k, v in entries), key=repr))
        )

    return Kind(name=name, draw=draw, literals=False, hashed=False)


def struct_of(*kinds: Kind) -> Kind:
    """Return a type of structs with fields ``f0``, ``f1``, …"""
    name = f"STRUCT<{','.join(f'f{i}:{kind.name}' for i, kind in enumerate(kinds))}>"

    def draw(rng: Random) -> Value:
        values = [kind.value(rng) for kind in kinds]
        fields = ", ".join(f"'f{i}', {value.sql}" for i, value in enumerate(values))
        return Value(
            sql=f"CAST(named_struct({fields}) AS {name})",
            shown=tuple(value.shown for value in values),
        )

    return Kind(name=name, draw=draw, literals=False, hashed=False)


def nested(rng: Random, depth: int = 2) -> Kind:
    """Return a random array, map or struct type."""

    def part() -> Kind:
        deeper = depth > 1 and rng.random() < 0.3
        return nested(rng, depth - 1) if deeper else rng.choice(SIMPLE)

    shape = rng.choice(("array", "map", "struct"))
    if shape == "array":
        return array_of(part())
    if shape == "map":
        return map_of(rng.choice(_KEYS), part())
    # The same holds for a struct of one field, and NULL.
    return struct_of(*(part() for _ in range(rng.randint(2, 3))))
