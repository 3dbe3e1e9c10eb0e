"""Grouping of pieces of work by their weights: bytes or rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_Piece = TypeVar("_Piece")


def weighted_groups(
    pieces: Iterable[_Piece],
    weight: Callable[[_Piece], int],
    most: int,
    longest: int | None = None,
) -> Iterator[list[_Piece]]:
    """Yield pieces in groups, in their order.

    Args:
        pieces: the pieces.
        weight: returns the weight of a piece.
        most: largest weight of a group, unless it has only one piece.
        longest: largest number of pieces in a group; None for no limit.

    >>> list(weighted_groups([2, 2, 2, 9], int, 4))
    [[2, 2], [2], [9]]
    """
    group: list[_Piece] = []
    total = 0
    for piece in pieces:
        piece_weight = weight(piece)
        if group and (total + piece_weight > most or len(group) == longest):
            yield group
            group, total = [], 0
        group.append(piece)
        total += piece_weight
    if group:
        yield group
