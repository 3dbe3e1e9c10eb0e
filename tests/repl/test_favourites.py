"""Favourites are kept in a file, and take arguments."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.repl.favourites import (
    FavouriteError,
    read_favourites,
    substitute,
    write_favourites,
)

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(_TEXTS, _TEXTS, max_size=4))
def test_what_is_written_is_read(favourites: dict[str, str]) -> None:
    with TemporaryDirectory() as directory:
        file = Path(directory) / "new" / "favourites.toml"
        write_favourites(file, favourites)
        assert read_favourites(file) == favourites
        assert [path.name for path in file.parent.iterdir()] == ["favourites.toml"]


def test_there_are_none_without_a_file(tmp_path: Path) -> None:
    assert read_favourites(tmp_path / "none") == {}


@pytest.mark.parametrize("text", ["a = 1", "a = ", "[a]\nb = 'c'"])
def test_another_file_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "favourites.toml"
    file.write_text(text)
    with pytest.raises(FavouriteError, match="favourites.toml: "):
        read_favourites(file)


def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FavouriteError, match="file"):
        write_favourites(tmp_path / "file" / "favourites.toml", {})


@pytest.mark.parametrize(
    ("query", "arguments", "expected"),
    [
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT $1 + $2 + $1", ["$2", "3"], "SELECT $2 + 3 + $2"),
        ("SELECT '$$1'", [], "SELECT '$1'"),
        ("SELECT $10", list("abcdefghij"), "SELECT j"),
        ("SELECT ? AS a", [], "SELECT ? AS a"),
    ],
)
def test_arguments(query: str, arguments: list[str], expected: str) -> None:
    assert substitute(query, arguments) == expected


@pytest.mark.parametrize(
    ("query", "arguments", "message"),
    [
        ("SELECT $1", [], "it wants 1 argument, not 0: SELECT \\$1"),
        ("SELECT $2", ["a"], "it wants 2 arguments, not 1"),
        ("SELECT 1", ["a"], "it wants 0 arguments, not 1"),
        ("SELECT $0", [], "no \\$0"),
    ],
)
def test_wrong_arguments(query: str, arguments: list[str], message: str) -> None:
    with pytest.raises(FavouriteError, match=message):
        substitute(query, arguments)
