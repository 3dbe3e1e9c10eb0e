"""Partition names, ``p=1/q=a%2Fb``.

Hive: ``FileUtils.escapePathName``, ``Warehouse.makePartName``.
Spark escapes the same characters and, on Windows, a few more. :func:`unescape` decodes both forms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidsql.errors import FormatError
from acidsql.format.identifiers import lowered

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"

_ESCAPED = frozenset(map(chr, (*range(1, 32), 127))) | frozenset("\"#%'*/:=?\\{[]^")
_ESCAPES = str.maketrans({character: f"%{ord(character):02X}" for character in _ESCAPED})
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")


def escape(text: str) -> str:
    """Escape a partition column's name or value for use in a path.

    >>> escape("a/b c")
    'a%2Fb c'
    """
    return text.translate(_ESCAPES)


def unescape(text: str) -> str:
    """Undo :func:`escape`; a ``%`` that two hexadecimal digits do not follow is kept."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def partition_name(columns: Sequence[str], values: Sequence[str]) -> str:
    """Return the name of a partition, with column names in lower case as in Hive.

    Args:
        columns: partition columns in the table's order.
        values: one text for each column; an empty text becomes ``DEFAULT_PARTITION``.

    >>> partition_name(["p", "q"], ["1", "a/b"])
    'p=1/q=a%2Fb'
    """
    pairs = zip(columns, values, strict=True)
    return "/".join(
        f"{escape(lowered(column))}={escape(value or DEFAULT_PARTITION)}" for column, value in pairs
    )


def parse_partition_name(text: str) -> tuple[tuple[str, str], ...]:
    """Return the (column, value) pairs of a partition's name.

    Raises:
        FormatError: a part is not ``column=value`` (INVALID_PARTITION_NAME).

    >>> parse_partition_name("p=1/q=a%2Fb")
    (('p', '1'), ('q', 'a/b'))
    """
    return tuple(_parse_part(part, text) for part in text.split("/"))


def _parse_part(part: str, text: str) -> tuple[str, str]:
    column, equals, value = part.partition("=")
    if not (column and equals and value):
        raise FormatError(
            "INVALID_PARTITION_NAME",
            f"{text!r} is not a partition name: expected column=value parts separated by '/'",
        )
    return unescape(column), unescape(value)
