"""Tests of run-length encoded numbers: examples of ORC's specification, and what pyorc wrote."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import BytesIO

import pyorc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.errors import FormatError
from acidsql.format.orc_compression import decompress
from acidsql.format.orc_runs import decode_unsigned
from acidsql.format.orc_stripe_footer import SECONDARY, parse_stripe_footer
from acidsql.format.orc_tail import parse_tail

_PATCHED = [2030, 2000, 2020, 1000000, *range(2040, 2200, 10)]
_PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]

# Version, bytes in hexadecimal, numbers.
EXAMPLES = {
    "v1 run": (1, "61 00 07", [7] * 100),
    "v1 falling run": (1, "61 ff 64", list(range(100, 0, -1))),
    "v1 literals": (1, "fb 02 03 06 07 0b", [2, 3, 6, 7, 11]),
    "short repeat": (2, "0a 27 10", [10000] * 5),
    "direct": (2, "5e 03 5c a1 ab 1e de ad be ef", [23713, 43806, 57005, 48879]),
    "patched base": (
        2,
        "8e 13 2b 21 07 d0 1e 00 14 70 28 32 3c 46 50 5a 64 6e 78 82 8c 96 a0 aa b4 be fc e8",
        _PATCHED,
    ),
    "delta": (2, "c6 09 02 02 22 42 42 46", _PRIMES),
    "fixed delta": (2, "c0 02 64 05", [100, 97, 94]),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_specification(name: str) -> None:
    version, stream, numbers = EXAMPLES[name]
    content = bytes.fromhex(stream)
    assert decode_unsigned(content, len(numbers), version=version).tolist() == numbers
    twice = decode_unsigned(content * 2, 2 * len(numbers), version=version)
    assert twice.tolist() == numbers * 2


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_stream_that_ends_early_is_damaged(name: str) -> None:
    version, stream, numbers = EXAMPLES[name]
    content = bytes.fromhex(stream)
    for end in range(len(content)):
        with pytest.raises(FormatError) as error:
            decode_unsigned(content[:end], len(numbers), version=version)
        assert error.value.condition == "INVALID_ORC_TAIL"


_NANOS = st.one_of(st.integers(0, 999_999), st.sampled_from([0, 1, 500_000, 123_000, 999_999]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), _NANOS), min_size=1, max_size=1500), st.integers(1, 40))
def test_fractions_that_pyorc_wrote(micros: list[int | None], repeats: int) -> None:
    values = [m for one in micros[:50] for m in [one] * repeats] + micros
    written = BytesIO()
    start = datetime(2024, 2, 29, tzinfo=UTC)
    with pyorc.Writer(written, "struct<ts:timestamp>") as writer:
        writer.writerows(
            [(None if m is None else start + timedelta(microseconds=m),) for m in values]
        )
    content = written.getvalue()
    tail = parse_tail(content, len(content))
    stripe = tail.stripes[0]
    begin = stripe.offset + stripe.index_length + stripe.data_length
    footer = parse_stripe_footer(content[begin : begin + stripe.footer_length], tail, 0)
    stream = footer.stream(1, SECONDARY)
    expected = [m * 1000 for m in values if m is not None]
    section = b"" if stream is None else content[stream.offset : stream.offset + stream.length]
    raw = decode_unsigned(
        decompress(section, tail.compression, tail.block_size),
        len(expected),
        version=footer.encodings[1],
    ).tolist()
    # The lowest three bits are the number of zeros that were cut off, less one.
    assert [(n >> 3) * 10 ** ((n & 7) + 1 if n & 7 else 0) for n in raw] == expected
