"""The figures in the documents are those of the recorded answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.dialects import answers

_PAGE = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text()


@pytest.mark.parametrize(
    ("dialect", "sentence"),
    [
        (
            "hive",
            "{same} give Hive's rows, {refused} are refused, {error} are errors of Spark, and "
            "{other} give other values",
        ),
        (
            "trino",
            "{same} give Trino's rows, {refused} are refused, {error} is an error of Spark, and "
            "{other} give other values",
        ),
    ],
)
def test_the_page_counts_right(dialect: str, sentence: str) -> None:
    given = [answer for answer in answers.read(dialect) if answer.rows is not None]
    counts = Counter(answer.expected for answer in given)
    page = " ".join(_PAGE.split())
    assert sentence.format(**counts) in page
    assert f"{len(given)} expressions and queries that {dialect.capitalize()} 4" in page


@pytest.mark.parametrize("dialect", list(answers.FILES))
def test_a_text_is_recorded_once(dialect: str) -> None:
    texts = [answer.text for answer in answers.read(dialect)]
    assert [text for text, count in Counter(texts).items() if count > 1] == []
