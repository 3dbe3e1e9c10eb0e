"""Tests of the batches of a source, and of the partition columns in names of directories."""

from __future__ import annotations

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from acidsql.copies.sources import Piece, _path, batches_of, partition_keys

_WEIGHTS = st.lists(st.integers(0, 50), max_size=40)


@given(_WEIGHTS, st.integers(1, 100), st.integers(1, 9))
def test_every_piece_is_in_one_batch_in_order(weights: list[int], most: int, longest: int) -> None:
    pieces = [Piece(str(i), weight) for i, weight in enumerate(weights)]
    batches = batches_of(pieces, most, longest)
    assert list(chain.from_iterable(batches)) == pieces
    for batch in batches:
        assert len(batch) <= longest
        assert len(batch) <= 1 or sum(piece.weight for piece in batch) <= most
    assert all(batches) or batches == ((),)


def test_a_source_without_pieces_is_one_batch() -> None:
    assert batches_of((), 1) == ((),)


def test_partition_columns_are_named_by_directories() -> None:
    paths = ["file:/t/a=1/b%3Dc=x%20y/f", "file:/t/a=2/b%3Dc=z/f"]
    assert partition_keys("file:/t", paths) == ("a", "b=c")
    assert partition_keys("file:/t", ["file:/t/f"]) == ()
    assert partition_keys("file:/t/f", ["file:/t/f"]) == ()
    assert partition_keys("file:/t", []) == ()


def test_paths_of_uris() -> None:
    assert _path("file:///t/a%20b/c%252A") == "file:/t/a b/c%2A"
    assert _path("s3a://bucket/t/x;y") == "s3a://bucket/t/x;y"
