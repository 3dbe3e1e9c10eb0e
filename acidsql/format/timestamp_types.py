"""Timestamps in the text of a type.

Spark has two of them, and files have two others. ``timestamp_ntz`` is a wall clock, ORC's
``timestamp``. ``timestamp_ltz`` is an instant, ORC's and Hive's ``timestamp with local time zone``.
``timestamp`` is an instant to Spark. Files have its wall clock, as Hive's ``timestamp``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

TIMESTAMP = "timestamp"
LOCAL_TIME = "timestamp_ntz"
INSTANT = "timestamp_ltz"
HIVE_INSTANT = "timestamp with local time zone"

# A quoted name or text, or a timestamp. A field may have the same name, before a colon.
_TIMESTAMP = re.compile(
    r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'"
    r"|(?:^|(?<=[<,:])|(?<=[<,:] ))"
    r"(?P<word>timestamp(?:_ltz|_ntz|\s+with\s+local\s+time\s+zone)?)"
    r"(?=\s*(?:[,>]|$)|\s(?:not|comment)\s)",
    re.IGNORECASE,
)


def timestamps_in(text: str) -> tuple[str, ...]:
    """Return all timestamps in a type of Spark's or of Hive's, in their order.

    >>> timestamps_in("STRUCT<timestamp: TIMESTAMP NOT NULL, b: ARRAY<TIMESTAMP_NTZ>>")
    ('timestamp', 'timestamp_ntz')
    >>> timestamps_in("map<string,timestamp with local time zone>")
    ('timestamp_ltz',)
    """
    words = (found["word"] for found in _TIMESTAMP.finditer(text))
    return tuple(_spark_word(word) for word in words if word)


def with_timestamps(text: str, timestamps: Iterable[str]) -> str:
    """Return a type with other timestamps in the places of its own, as many as it has.

    >>> with_timestamps("struct<timestamp:timestamp,b:timestamp>", ["timestamp", "timestamp_ntz"])
    'struct<timestamp:timestamp,b:timestamp_ntz>'
    """
    words = iter(timestamps)
    return _TIMESTAMP.sub(lambda found: next(words) if found["word"] else found[0], text)


def _spark_word(word: str) -> str:
    lower = word.lower()
    return lower if lower in (TIMESTAMP, LOCAL_TIME, INSTANT) else INSTANT
