"""Report words, names and semicolons that are hard to read: ``python scripts/check_words.py``.

The words, their replacements, the files and the exceptions are in ``words.toml``. Paths as
arguments are checked in place of those of the file. Words in code are not checked: in Markdown
neither blocks nor words in backticks, in Python only comments and strings. Names are checked in
Python only.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LIST = ROOT / "scripts" / "words.toml"
_CODE = re.compile(
    r"^```.*?^```$"  # blocks between fences
    r"|^(?: {4}|\t).*?$"  # blocks that are indented
    r"|<!--.*?-->"
    r"|(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
    r"|\]\([^)]*\)",  # addresses of links
    re.DOTALL | re.MULTILINE,
)
# From Python 3.12 on, f-strings are several tokens.
_PROSE_TOKENS = (
    tokenize.COMMENT,
    tokenize.STRING,
    getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING),
)
_TABLE_ROW = re.compile(r"^ *\|.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word to avoid, as a regular expression of whole words, and better ones."""

    pattern: re.Pattern[str]
    better: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WordList:
    """Words to avoid, and the files that are checked for them.

    Attributes:
        paths: patterns of paths below the root.
        words: the words to avoid.
        names: names of variables, arguments and attributes that say nothing about the value.
        words_per_semicolon: words of prose for which a file may have one semicolon.
        exceptions: texts of lines that may stay, by file.
    """

    paths: tuple[str, ...]
    words: tuple[Word, ...]
    names: frozenset[str]
    words_per_semicolon: int
    exceptions: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A line of a file, numbered from 1, and what is wrong with it."""

    file: str
    line: int
    found: str
    better: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.found!r}, better: {self.better}"


def read_list(path: Path = _LIST) -> WordList:
    """Read the list of words.

    Raises:
        ValueError: an exception has no reason.
    """
    read = tomllib.loads(path.read_text("utf-8"))
    exceptions: dict[str, tuple[str, ...]] = {}
    for each in read.get("exceptions", ()):
        if not each.get("reason"):
            raise ValueError(f"{path}: the exception {each} has no reason")
        exceptions[each["file"]] = (*exceptions.get(each["file"], ()), each["text"])
    return WordList(
        paths=tuple(read["paths"]),
        words=tuple(
            Word(
                pattern=re.compile(rf"\b(?:{each['pattern']})\b", re.IGNORECASE),
                better=each["better"],
            )
            for each in read["words"]
        ),
        names=frozenset(read.get("names", ())),
        words_per_semicolon=read["words_per_semicolon"],
        exceptions=exceptions,
    )


def markdown_prose(text: str) -> str:
    """Blank out the code of a page; lines keep their numbers.

    >>> markdown_prose("Use `a; b` now")
    'Use        now'
    """
    return _CODE.sub(lambda found: _blank(found[0]), text)


def python_prose(text: str) -> str:
    """Keep the comments and strings of a module; lines keep their numbers."""
    lines: list[list[str]] = [[] for _ in range(text.count("\n") + 2)]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _PROSE_TOKENS:
            for offset, part in enumerate(token.string.split("\n")):
                lines[token.start[0] - 1 + offset].append(part)
    prose = "\n".join(" ".join(parts) for parts in lines)
    return re.sub(r"(`+).+?\1|\\[nrt]", lambda found: _blank(found[0]), prose)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def hits(name: str, text: str, words: WordList) -> Iterator[Hit]:
    """Yield the hits in the text of a file, those of words first."""
    prose = python_prose(text) if name.endswith(".py") else markdown_prose(text)
    lines = text.splitlines()
    for word in words.words:
        for found in word.pattern.finditer(prose):
            line = prose.count("\n", 0, found.start()) + 1
            if not any(kept in lines[line - 1] for kept in words.exceptions.get(name, ())):
                shown = " ".join(found[0].split())
                yield Hit(file=name, line=line, found=shown, better=word.better)
    if name.endswith(".py"):
        yield from _names(name, text, words.names)
    if name.endswith(".md"):
        yield from _semicolons(name, _TABLE_ROW.sub("", prose), words.words_per_semicolon)


def _names(name: str, text: str, avoided: frozenset[str]) -> Iterator[Hit]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string in avoided:
            yield Hit(
                file=name, line=token.start[0], found=token.string, better="what the value is"
            )


def _semicolons(name: str, prose: str, words_each: int) -> Iterator[Hit]:
    allowed = 1 + len(prose.split()) // words_each
    places = [found.start() for found in re.finditer(";", prose)]
    for place in places[allowed:]:
        better = f"two sentences ({len(places)} semicolons, {allowed} allowed)"
        yield Hit(file=name, line=prose.count("\n", 0, place) + 1, found=";", better=better)


def main(paths: Sequence[str]) -> int:
    """Print the hits in files, or in those of the list; return 1 if there are any."""
    words = read_list()
    files = sorted({path for each in paths or words.paths for path in ROOT.glob(each)})
    found = [
        hit
        for path in files
        for hit in hits(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"), words)
    ]
    print("\n".join(map(str, found)) if found else f"{len(files)} files have no hits")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
