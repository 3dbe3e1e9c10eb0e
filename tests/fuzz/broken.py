"""Strategies of broken inputs, made of whole ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

_Whole = TypeVar("_Whole", str, bytes)
# Numbers at which lengths, varints and signs go wrong.
_NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 2**16, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1]
_AWKWARD_BYTES = st.one_of(
    st.binary(max_size=8),
    st.sampled_from([b"\xff" * 9 + b"\x01", b"\xff" * 10, b"\x80\x00"]),
    st.sampled_from([n.to_bytes(8, "little") for n in _NUMBERS]),
)


@st.composite
def broken(draw: st.DrawFn, whole: Sequence[_Whole], pieces: st.SearchStrategy[_Whole]) -> _Whole:
    """Draw one of the inputs with a few changes: parts left out, put in, doubled and exchanged."""
    made = draw(st.sampled_from(whole))
    for _ in range(draw(st.integers(0, 4))):
        # Counted from the end, where ORC files have their tails.
        begin, end = sorted(draw(st.tuples(_place(made), _place(made))))
        piece = draw(pieces)
        changed = [
            made[:begin] + made[end:],
            made[begin:],
            made[:end],
            made[:end] + made[begin:],
            made[:begin] + piece + made[begin:],
            made[:begin] + piece + made[begin + len(piece) :],
        ]
        made = changed[draw(st.integers(0, len(changed) - 1))]
    return made


def _place(whole: str | bytes) -> st.SearchStrategy[int]:
    near = st.integers(0, min(len(whole), 300)).map(lambda back: len(whole) - back)
    return st.one_of(near, st.integers(0, len(whole)))


def broken_bytes(whole: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Draw random bytes, and broken ones of files."""
    return st.one_of(st.binary(max_size=400), broken(whole, _AWKWARD_BYTES))


def broken_texts(whole: Sequence[str], words: Sequence[str]) -> st.SearchStrategy[str]:
    """Draw random texts, soups of words, and broken ones of texts."""
    word = st.one_of(st.sampled_from(words), st.text(max_size=3))
    return st.one_of(
        st.text(max_size=200),
        st.lists(word, max_size=40).map(" ".join),
        broken(whole, word),
    )
