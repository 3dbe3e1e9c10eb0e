"""Stripes that are rewritten, cut into pieces for several threads, without Spark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.compaction import copying
from acidsql.compaction.copying import cut_evenly

MIB = 1024 * 1024


def cut(lengths: list[int], size: int) -> list[list[int]]:
    return [lengths[piece] for piece in cut_evenly(lengths, size)]


@pytest.mark.parametrize(
    ("lengths", "size", "pieces"),
    [
        ([12], 100, [[12]]),
        ([12, 11, 12, 11], 23, [[12, 11], [12, 11]]),
        ([10, 10, 10, 10, 10], 25, [[10, 10], [10, 10, 10]]),
        ([90, 1, 1, 1], 10, [[90], [1, 1, 1]]),
        ([1, 1, 1, 90], 10, [[1, 1, 1], [90]]),
    ],
)
def test_stripes_are_cut_into_equal_pieces(
    lengths: list[int], size: int, pieces: list[list[int]]
) -> None:
    assert cut(lengths, size) == pieces


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=60), st.integers(1, 5000))
def test_no_stripe_is_lost_and_no_piece_is_large(lengths: list[int], size: int) -> None:
    pieces = cut(lengths, size)
    assert [length for piece in pieces for length in piece] == lengths
    assert all(pieces)
    assert all(sum(piece) <= 1.5 * size + max(lengths) for piece in pieces)
    assert len(pieces) <= max(1, round(sum(lengths) / size))


@pytest.mark.parametrize(
    ("total", "threads", "size"),
    [(10 * MIB, 4, 16 * MIB), (100 * MIB, 2, 50 * MIB), (9000 * MIB, 2, 128 * MIB)],
)
def test_all_threads_have_a_piece_of_what_is_large(total: int, threads: int, size: int) -> None:
    assert copying._chunk_bytes(total, threads) == size
