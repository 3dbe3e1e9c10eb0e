from __future__ import annotations

import pytest

from acidsql.errors import AcidParseError
from acidsql.syntax import parse
from acidsql.syntax.statements import Commit, Rollback, StartTransaction


@pytest.mark.parametrize(
    ("text", "read_only"),
    [
        ("START TRANSACTION", False),
        ("start transaction read write", False),
        ("START TRANSACTION ISOLATION LEVEL SNAPSHOT", False),
        ("START /* ! */ TRANSACTION READ ONLY;", True),
        ("BEGIN", False),
        ("BEGIN TRANSACTION READ ONLY", True),
        ("BEGIN WORK", False),
    ],
)
def test_start(text: str, read_only: bool) -> None:
    assert parse(text) == StartTransaction(text=text.rstrip(";"), read_only=read_only)


@pytest.mark.parametrize("word", ["", " WORK"])
def test_end(word: str) -> None:
    assert parse(f"COMMIT{word}") == Commit(text=f"COMMIT{word}")
    assert parse(f"rollback{word};") == Rollback(text=f"rollback{word}")


@pytest.mark.parametrize(
    "text",
    ["START TRANSACTION READ", "COMMIT t", "ROLLBACK TO s", "BEGIN TRANSACTION NOW"],
)
def test_what_is_malformed_is_refused(text: str) -> None:
    with pytest.raises(AcidParseError):
        parse(text)


@pytest.mark.parametrize(
    "text", ["BEGIN SELECT 1; END", "BEGIN\n  DECLARE x INT;\nEND", "SELECT commit FROM start"]
)
def test_scripts_and_names_are_sparks(text: str) -> None:
    assert parse(text) is None
