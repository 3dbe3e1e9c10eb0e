"""Packing of row ids in Python, as the SQL of a packing does it."""

from __future__ import annotations

from acidsql.scan.deletes.packing import NONE, Packing, _parts
from acidsql.storage.delete_files import RowId


def packed_number(packing: Packing, ordinal: int, key: RowId) -> int:
    """Return the number of a row id; ``NONE`` if a part of it does not fit its field."""
    number = ordinal
    for width, part in zip(packing.bits[1:], _parts(key), strict=True):
        if not 0 <= part < 1 << width:
            return NONE
        number = number << width | part
    return number
