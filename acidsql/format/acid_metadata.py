"""ORC user metadata of ACID files: key index, event counts and ACID version.

Hive: ``OrcRecordUpdater.KeyIndexBuilder``, ``AcidStats``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from acidsql.errors import FormatError

KEY_INDEX = "hive.acid.key.index"
STATS = "hive.acid.stats"
VERSION = "hive.acid.version"


class AcidStats(NamedTuple):
    """Counts of the events in a file."""

    inserts: int
    updates: int
    deletes: int


def key_index(last_keys: Iterable[tuple[int, int, int]]) -> bytes:
    """Return the key index of a file.

    Args:
        last_keys: the (original write id, bucket property, row id) of the last row of each stripe,
            in order; empty for a file without stripes.

    >>> key_index([(2, 536870912, 4999), (2, 536870912, 9999)])
    b'2,536870912,4999;2,536870912,9999;'
    """
    return "".join(f"{owid},{bucket},{row_id};" for owid, bucket, row_id in last_keys).encode()


def parse_key_index(value: bytes) -> tuple[tuple[int, int, int], ...]:
    """Parse a key index, and return the last key of each stripe.

    Raises:
        FormatError: the value is not a key index (INVALID_KEY_INDEX).
    """
    *entries, rest = value.decode("ascii", "replace").split(";")
    keys = tuple(_integers(entry) for entry in entries)
    if rest or not all(key is not None and len(key) == 3 for key in keys):
        raise FormatError(
            "INVALID_KEY_INDEX",
            f"{value[:80]!r} is not a key index: expected 'writeId,bucket,rowId;' for each stripe; "
            "a major compaction rewrites it",
        )
    return tuple((key[0], key[1], key[2]) for key in keys if key)


def stats(inserts: int, updates: int, deletes: int) -> bytes:
    """Return the event counts of a file; ``updates`` is 0 in every file of ACID v2.

    >>> stats(0, 0, 1000)
    b'0,0,1000'
    """
    return f"{inserts},{updates},{deletes}".encode()


def parse_stats(value: bytes) -> AcidStats:
    """Parse the event counts of a file.

    Raises:
        FormatError: the value is not three counts (INVALID_ACID_STATS).
    """
    counts = _integers(value.decode("ascii", "replace"))
    if counts is None or len(counts) != 3:
        raise FormatError(
            "INVALID_ACID_STATS",
            f"{value[:80]!r} are not the event counts of a file: "
            "expected 'inserts,updates,deletes'; a major compaction rewrites them",
        )
    return AcidStats(*counts)


def footer_items(
    last_keys: Iterable[tuple[int, int, int]], inserts: int, deletes: int
) -> dict[str, bytes]:
    """Return the three metadata items of a file by key.

    See :func:`key_index` and :func:`stats` for the arguments.
    """
    return {
        KEY_INDEX: key_index(last_keys),
        STATS: stats(inserts, 0, deletes),
        VERSION: b"2",
    }


def _integers(text: str) -> tuple[int, ...] | None:
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        return None
