"""Timestamps in the text of a type.

Spark has two timestamp types, and files have two others. ``timestamp_ntz`` is a local time, which
is ORC's ``timestamp``. ``timestamp_ltz`` is an instant, which is ``timestamp with local time zone``
in ORC and Hive. ``timestamp`` is an instant in Spark; files store its local time, as for Hive's
``timestamp``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

TIMESTAMP = "timestamp"
LOCAL_TIME = "timestamp_ntz"
INSTANT = "timestamp_ltz"
HIVE_INSTANT = "timestamp with local time zone"

# A quoted name or text, or a timestamp. A field before a colon can have the same name.
_TIMESTAMP = re.compile(
    r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'"
    r"|(?:^|(?<=[<,:])|(?<=[<,:] ))"
    r"(?P<word>timestamp(?:_ltz|_ntz|\s+with\s+local\s+time\s+zone)?)"
    r"(?=\s*(?:[,>]|$)|\s(?:not|comment)\s)",
    re.IGNORECASE,
)


def timestamps_in(text: str) -> tuple[str, ...]:
    """Return all timestamps in a Spark or Hive type, in their order.

    >>> timestamps_in("STRUCT<timestamp: TIMESTAMP NOT NULL, b: ARRAY<TIMESTAMP_NTZ>>")
    ('timestamp', 'timestamp_ntz')
    >>> timestamps_in("map<string,timestamp with local time zone>")
    ('timestamp_ltz',)
    """
    words = (match["word"] for match in _TIMESTAMP.finditer(text))
    return tuple(_spark_word(word) for word in words if word)


def with_timestamps(text: str, timestamps: Iterable[str]) -> str:
    """Replace all timestamps in a type by the same number of other timestamps.

    >>> with_timestamps("struct<timestamp:timestamp,b:timestamp>", ["timestamp", "timestamp_ntz"])
    'struct<timestamp:timestamp,b:timestamp_ntz>'
    """
    words = iter(timestamps)
    return _TIMESTAMP.sub(lambda match: next(words) if match["word"] else match[0], text)


def _spark_word(word: str) -> str:
    lower = word.lower()
    return lower if lower in (TIMESTAMP, LOCAL_TIME, INSTANT) else INSTANT
