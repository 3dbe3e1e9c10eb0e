r"""Help on statements, ``\h``, with the syntax from the reference of statements."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from acidsql.repl.console import CommandError, Completes, Console, PromptCommand
from acidsql.repl.shell import Ending

_BLOCK = re.compile(r"(?<=\n\n)(?:    .+\n)+")
_HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
_BEGINNING = re.compile(r"[A-Z]+(?: [A-Z]+)*")
_OF_SPARK = "https://spark.apache.org/docs/latest/sql-ref-syntax.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Statements of one section of the reference.

    Attributes:
        title: heading of the section.
        syntax: syntax of the statements.
    """

    title: str
    syntax: str

    @property
    def beginnings(self) -> tuple[str, ...]:
        """The words in capitals at the beginning of the statements."""
        matches = (_BEGINNING.match(line) for line in self.syntax.splitlines())
        return tuple(dict.fromkeys(match[0] for match in matches if match))


@cache
def topics() -> tuple[Topic, ...]:
    """Return the sections of the reference that show the syntax of statements."""
    return tuple(_topics(_reference()))


def find_topics(words: str) -> list[Topic]:
    """Return the topics with a title or a statement that begins with some words.

    If there are none, return the topics that contain the words anywhere.

    >>> [topic.title for topic in find_topics("merge")]
    ['MERGE']
    """
    wanted = " ".join(words.upper().split())
    first = [t for t in topics() if any(_begins(one, wanted) for one in (t.title, *t.beginnings))]
    whole = re.compile(rf"\b{re.escape(wanted)}\b")
    return first or [t for t in topics() if whole.search(t.syntax)]


def syntax_text(words: str) -> str:
    r"""Return the help text of ``\h``.

    Raises:
        CommandError: there is no help on these words.
    """
    if not words:
        names = dict.fromkeys(name for topic in topics() for name in topic.beginnings)
        listed = textwrap.fill(", ".join(sorted(names)), 78, break_on_hyphens=False)
        return f"{listed}\nAll other statements are Spark's: {_OF_SPARK}\n"
    matching_topics = find_topics(words)
    if not matching_topics:
        raise CommandError(
            f"there is no help on {words}: \\h lists the statements, and those of Spark are "
            f"described at {_OF_SPARK}"
        )
    return "\n".join(f"{topic.title}\n{topic.syntax}" for topic in matching_topics)


def _begins(text: str, words: str) -> bool:
    upper = text.upper()
    return upper == words or upper.startswith(f"{words} ") or words.startswith(f"{upper} ")


def _topics(text: str) -> Iterator[Topic]:
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=True):
        blocks = _BLOCK.findall(text[heading.end() : end])
        if blocks:
            yield Topic(title=heading[1], syntax=textwrap.dedent("".join(blocks)))


def _reference() -> str:
    """Read the page from the installed package, or from the source checkout that contains it."""
    packaged = resources.files("acidsql") / "repl" / "statements.md"
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    checkout = Path(__file__).parents[2]
    return (checkout / "docs" / "reference" / "statements.md").read_text(encoding="utf-8")


def _show(console: Console, argument: str) -> Ending:
    text = syntax_text(argument.rstrip("; "))
    console.shell.output.write(text, console.shell.settings.pager)
    return Ending.DONE


SYNTAX_COMMAND = PromptCommand(
    name="\\h",
    arguments="[STATEMENT]",
    help="Show how a statement is written, or list the statements.",
    run=_show,
    completes=Completes.SYNTAX,
)
"""Command that shows help on statements."""
