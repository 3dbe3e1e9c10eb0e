"""Statistics of stripes add up to those that writers give to the file."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import FormatError
from acidsql.format.orc_statistics import merge_columns, merge_statistics
from acidsql.format.orc_stripes import stripe_file, stripes_of
from acidsql.format.protobuf import (
    octets,
    read_fields,
    write_integer,
    write_octets,
    write_varint,
    zigzag_decode,
    zigzag_encode,
)

_TESTS = Path(__file__).parent.parent
_FILES = [
    path
    for path in sorted(_TESTS.rglob("*"))
    if path.is_file() and path.stat().st_size > 3 and path.read_bytes()[:3] == b"ORC"
]
_LONGS = st.integers(-(2**63), 2**63 - 1)


def fields(message: bytes) -> list[tuple[int, int | bytes]]:
    return sorted((field.number, field.value) for field in read_fields(message))


def known(message: bytes, kind: int) -> dict[int, int | bytes] | None:
    found = {field.number: field for field in read_fields(message)}
    return dict(fields(octets(found[kind]))) if kind in found else None


def test_those_of_real_files_are_their_stripes() -> None:
    """Check files of Hive 3.1, 4.0 and 4.1, of Trino, Impala and Spark, of all types."""
    several = 0
    for path in _FILES:
        content = path.read_bytes()
        try:
            file = stripe_file(content, len(content))
        except FormatError:
            continue
        if file is None or not file.tail.stripes:
            continue
        several += len(file.tail.stripes) > 1
        merged = merge_columns([stripe.column_statistics for stripe in stripes_of(file)])
        assert len(merged) == len(file.tail.file_statistics)
        for own, theirs in zip(merged, file.tail.file_statistics, strict=True):
            bounds = known(theirs, 3)
            if bounds and b"\0\0\0\0\0\0\xf8\x7f" in bounds.values():
                assert known(own, 3) is None  # NaN: nothing is said
            else:
                assert fields(own) == fields(theirs)
    assert several >= 5


def message(kind: int, content: bytes, values: int = 1) -> bytes:
    return write_integer(1, values) + write_octets(kind, content) + write_integer(10, 0)


def integers(low: int, high: int, total: int | None) -> bytes:
    pairs = [(1, low), (2, high), *([] if total is None else [(3, total)])]
    return message(2, b"".join(write_integer(n, zigzag_encode(v)) for n, v in pairs))


@given(st.lists(st.tuples(_LONGS, _LONGS, st.none() | _LONGS), min_size=1))
def test_integers(parts: list[tuple[int, int, int | None]]) -> None:
    found = known(merge_statistics([integers(*part) for part in parts]), 2)
    assert found is not None
    decoded = {n: zigzag_decode(v) for n, v in found.items() if isinstance(v, int)}
    expected = {1: min(p[0] for p in parts), 2: max(p[1] for p in parts)}
    sums = [p[2] for p in parts if p[2] is not None]
    if len(sums) == len(parts) and -(2**63) <= sum(sums) < 2**63:
        expected[3] = sum(sums)
    assert decoded == expected


@given(st.lists(st.tuples(st.binary(), st.booleans(), st.binary(), st.booleans()), min_size=1))
def test_strings_whose_bounds_may_be_cut_off(
    parts: list[tuple[bytes, bool, bytes, bool]],
) -> None:
    messages = [
        message(4, write_octets(4 if cut else 1, low) + write_octets(5 if over else 2, high))
        for low, cut, high, over in parts
    ]
    found = known(merge_statistics(messages), 4)
    assert found is not None
    low, high = min(p[0] for p in parts), max(p[2] for p in parts)
    is_cut = any(cut for value, cut, _, _ in parts if value == low)
    is_over = any(over for _, _, value, over in parts if value == high)
    assert found == {4 if is_cut else 1: low, 5 if is_over else 2: high}


@given(st.lists(st.tuples(st.integers(-(2**50), 2**50), st.integers(0, 999_999)), min_size=1))
def test_timestamps_are_compared_to_the_nanosecond(values: list[tuple[int, int]]) -> None:
    def bounds(millis: int, nanos: int) -> bytes:
        pairs = [(1, millis + 7), (2, millis + 7), (3, millis), (4, millis)]
        content = b"".join(write_integer(n, zigzag_encode(v)) for n, v in pairs)
        content += write_integer(5, nanos + 1) if nanos else b""
        return content + (write_integer(6, nanos + 1) if nanos != 999_999 else b"")

    found = known(merge_statistics([message(9, bounds(*v)) for v in values]), 9)
    low, high = min(values), max(values)
    expected = {1: low[0] + 7, 2: high[0] + 7, 3: low[0], 4: high[0]}
    whole = {n: zigzag_encode(v) for n, v in expected.items()}
    whole |= {5: low[1] + 1} if low[1] else {}
    whole |= {6: high[1] + 1} if high[1] != 999_999 else {}
    assert found == whole


def decimals(low: str, high: str, total: str) -> bytes:
    texts = enumerate((low, high, total), start=1)
    return message(6, b"".join(write_octets(n, text.encode()) for n, text in texts))


def test_decimals() -> None:
    parts = [decimals("-1.5", "99.25", "100"), decimals("-10", "9", "0.75")]
    assert known(merge_statistics(parts), 6) == {1: b"-10", 2: b"99.25", 3: b"100.75"}
    large = decimals("1", "2", "9" * 38)
    assert known(merge_statistics([large, large]), 6) == {1: b"1", 2: b"2"}


def double(value: float) -> bytes:
    return message(
        3, b"".join(write_varint(n << 3 | 1) + struct.pack("<d", value) for n in (1, 2, 3))
    )


def test_floating_point_numbers() -> None:
    found = known(merge_statistics([double(1.5), double(-2.0)]), 3)
    assert found == {
        1: struct.pack("<d", -2.0),
        2: struct.pack("<d", 1.5),
        3: struct.pack("<d", -0.5),
    }
    assert known(merge_statistics([double(1.5), double(float("nan"))]), 3) is None


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        # A part whose values have no bounds leaves nothing to say of all.
        ([integers(1, 2, 3), write_integer(1, 5)], {1: 6}),
        # One without values takes nothing away.
        ([integers(1, 2, 3), write_integer(1, 0)], {1: 1, 2: b"\x08\x02\x10\x04\x18\x06"}),
        # Whether there are NULLs is known if all parts know it.
        ([write_integer(10, 0), write_integer(10, 1)], {1: 0, 10: 1}),
        ([write_integer(10, 0), b""], {1: 0}),
        ([write_integer(11, 7), write_integer(11, 8)], {1: 0, 11: 15}),
    ],
)
def test_what_a_part_does_not_tell(parts: list[bytes], expected: dict[int, int | bytes]) -> None:
    assert dict(fields(merge_statistics(parts))) == expected


def test_booleans_and_collections() -> None:
    counts = [message(5, write_octets(1, write_varint(n))) for n in (3, 300)]
    assert known(merge_statistics(counts), 5) == {1: write_varint(303)}
    sizes = [
        message(12, b"".join(write_integer(n, v) for n, v in enumerate(s, start=1)))
        for s in ((0, 5, 9), (2, 3, 5))
    ]
    assert known(merge_statistics(sizes), 12) == {1: 0, 2: 5, 3: 14}
