"""Run the examples of a Markdown page, in order, and compare what they print with the page.

An example is a fenced block:

``python``  a session with prompts (as doctest reads it), or code that is run
``sql``     statements, run by ``acidsql.sql``
``console`` lines after ``$ `` are run by the shell, the others are what they print

A ``text`` block that follows a ``sql`` block or code is what the last statement shows, or the code
prints. ``error: [CONDITION] …`` is the result of a statement that fails. ``...`` matches anything,
and spaces do not count. A block after a comment ``<!-- not run: reason -->`` is not run.

``python -m tests.docs.pages PAGE …`` runs pages in the current directory, each without what the
ones before it left in the catalog.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import acidsql
from acidsql.repl.printer import error_text, result_text
from acidsql.repl.runner import fetch
from acidsql.repl.statements import split

_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n+)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_ANSWER = re.compile(r"\n+```text\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_RUN = frozenset({"python", "sql", "console"})
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """Fenced block of a page.

    Attributes:
        kind: language of the fence.
        text: text inside the fence.
        line: 1-based line of the page on which the text begins.
        answer: text of the ``text`` block that follows, or None.
        reason: reason why it is not run, or None.
    """

    kind: str
    text: str
    line: int
    answer: str | None
    reason: str | None


def examples(page: str) -> Iterator[Example]:
    """Yield the blocks of a page that are run, or would be but for a reason."""
    for block in _BLOCK.finditer(page):
        if block["kind"] in _RUN:
            answer = _ANSWER.match(page, block.end())
            yield Example(
                kind=block["kind"],
                text=block["text"],
                line=page.count("\n", 0, block.start("text")) + 1,
                answer=answer["text"] if answer else None,
                reason=block["reason"],
            )


def run_page(path: Path) -> list[str]:
    """Run the examples of a page; return what went wrong, an item for each block."""
    names: dict[str, Any] = {}
    wrong = []
    for example in examples(path.read_text("utf-8")):
        if example.reason is None:
            report = _RUNNERS[example.kind](example, names, path.name)
            if report:
                wrong.append(f"{path.name}:{example.line}:\n{report}")
    return wrong


def _run_python(example: Example, names: dict[str, Any], page: str) -> str:
    if ">>> " not in example.text:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example.text, f"{page}:{example.line}", "exec"), names)
        return _difference(example.answer, printed.getvalue())
    session = doctest.DocTestParser().get_doctest(example.text, names, page, page, example.line - 1)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=_FLAGS)
    runner.run(session, out=report.append, clear_globs=False)
    names.update(session.globs)
    return "".join(report)


def _run_sql(example: Example, names: dict[str, Any], _page: str) -> str:
    spark = names.get("spark") or SparkSession.builder.getOrCreate()
    shown = ""
    for statement in split(example.text):
        try:
            frame = acidsql.sql(spark, statement.text)
            shown = result_text(fetch(frame, 1000), "table")
        except PySparkException as error:
            shown = error_text(error, statement)
            break
    if example.answer is None:
        return shown if shown.startswith("error:") else ""
    return _difference(example.answer, shown)


def _run_console(example: Example, _names: dict[str, Any], _page: str) -> str:
    wrong = ""
    for command in re.split(r"^\$ ", example.text, flags=re.MULTILINE)[1:]:
        line, expected = _command(command)
        done = subprocess.run(
            line, shell=True, capture_output=True, text=True, timeout=_SECONDS, check=False
        )  # the pages are ours
        if done.returncode != 0:
            wrong += f"{line} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        else:
            wrong += _difference(expected, done.stdout)
    return wrong


def _command(text: str) -> tuple[str, str]:
    """Split a console block into its command, which a backslash continues, and its output."""
    lines = text.splitlines(keepends=True)
    count = next(i for i, line in enumerate(lines, start=1) if not line.endswith("\\\n"))
    return "".join(lines[:count]).strip(), "".join(lines[count:])


def _difference(expected: str | None, got: str) -> str:
    if expected is None or doctest.OutputChecker().check_output(expected, got, _FLAGS):
        return ""
    return f"Expected:\n{expected}Got:\n{got}"


def _tidy_up() -> None:
    """Drop what a page left: tables, views, temporary views."""
    spark = SparkSession.builder.getOrCreate()
    for row in acidsql.sql(spark, "SHOW TABLES").collect():
        kind = "VIEW" if row.isTemporary else "TABLE"
        acidsql.sql(spark, f"DROP {kind} `{row.tableName}`")


_RUNNERS = {"python": _run_python, "sql": _run_sql, "console": _run_console}


if __name__ == "__main__":
    found = []
    for page in map(Path, sys.argv[1:]):
        found += run_page(page)
        _tidy_up()
    print("\n".join(found))
    sys.exit(bool(found))
