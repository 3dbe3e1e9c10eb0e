"""Expressions and queries with the answers that a real Hive and a real Trino gave.

A line of `hive_answers.jsonl` or `trino_answers.jsonl` has a text and the rows that the engine
gave, null if it refused the text. `record.py` asks the engines again. A new line has only
a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILES = {
    dialect: Path(__file__).parent / f"{dialect}_answers.jsonl" for dialect in ("hive", "trino")
}
"""The file of each engine's answers."""

Rows = tuple[tuple[Any, ...], ...]
_QUERY = re.compile(r"(SELECT|FROM|WITH)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an engine made of a text.

    Attributes:
        text: a query, or an expression over the columns of `v`.
        rows: the rows, None if the engine refused the text.
        expected: what acidsql makes of the text: the `same` rows, `other` rows since the text is
            not enough, an `error` of Spark, or `refused`.
    """

    text: str
    rows: Rows | None
    expected: str = "same"

    @property
    def is_query(self) -> bool:
        """Whether the text is a query, whose rows have an order."""
        return _QUERY.match(self.text) is not None

    @property
    def statement(self) -> str:
        """The query that is run."""
        return self.text if self.is_query else f"SELECT id, {self.text} AS x FROM v"


def read(dialect: str) -> list[Answer]:
    """Return the recorded answers of an engine."""
    return [_answer(json.loads(line)) for line in FILES[dialect].read_text().splitlines()]


def write(dialect: str, answers: Sequence[Answer]) -> None:
    """Write answers in place of those that were recorded."""
    lines = (json.dumps(_fields(answer), ensure_ascii=False) for answer in answers)
    FILES[dialect].write_text("".join(f"{line}\n" for line in lines))


def _answer(fields: dict[str, Any]) -> Answer:
    rows = fields.get("rows")
    return Answer(
        text=fields["text"],
        rows=None if rows is None else tuple(map(tuple, rows)),
        expected=fields.get("expected", "same"),
    )


def _fields(answer: Answer) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": answer.text, "rows": answer.rows}
    return fields | ({} if answer.expected == "same" else {"expected": answer.expected})
