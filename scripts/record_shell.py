"""Record a session of the shell as docs/images/shell.svg: ``python scripts/record_shell.py``.

The shell runs in a pseudo-terminal, in an empty directory, with the statements below. What it draws
is kept as frames, one under the other in the picture, and an animation steps through them. Where
nothing is animated, the last one is seen.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import pexpect
import pyte

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "shell.svg"
STATEMENTS = (
    """CREATE TABLE pet (id INT, name STRING)
STORED AS ORC TBLPROPERTIES ('transactional' = 'true');""",
    "INSERT INTO pet VALUES (1, 'Rex'), (2, 'Tom'), (3, 'Kim');",
    "UPDATE pet SET name = 'Felix' WHERE id = 2;",
    """MERGE INTO pet USING (SELECT * FROM VALUES (3, NULL), (4, 'Ida') AS v (id, name)) AS n
ON pet.id = n.id
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT *;""",
    "SELECT row__id.writeid, * FROM pet ORDER BY id;",
)
_ROWS, _COLUMNS = 26, 96
_PROMPT, _CONTINUATION = "acidsql> ", "      -> "
_CLEAR = "\f"  # Ctrl-L
_START_SECONDS, _STATEMENT_SECONDS = 120, 120
# How long a frame is seen: while typing, with a result, at the end.
_TYPED, _SHOWN, _LAST = 0.12, 1.8, 5.0

_WIDTH, _HEIGHT, _MARGIN = 8.43, 18, 14  # of a character of 14 px, in pixels
_BACKGROUND, _TEXT = "#f6f8fa", "#24292f"
_COLOURS = {
    "black": "#24292f",
    "red": "#b35900",
    "green": "#116329",
    "brown": "#7d4e00",
    "blue": "#0550ae",
    "magenta": "#8250df",
    "cyan": "#1b7c83",
    "white": "#6e7781",
}

Run = tuple[str, str, bool]
"""Characters in a row that look the same: text, colour, bold."""
Line = tuple[Run, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Screen of the terminal at one moment.

    Attributes:
        lines: of the screen, from the top.
        cursor: column and row of the cursor.
        seconds: how long it is seen.
    """

    lines: tuple[Line, ...]
    cursor: tuple[int, int]
    seconds: float


class Terminal:
    """A program in a pseudo-terminal, and the screen that it draws on."""

    def __init__(self, program: str, arguments: Sequence[str], directory: str) -> None:
        self._screen = pyte.Screen(_COLUMNS, _ROWS)
        self._stream = pyte.Stream(self._screen)
        self._child = pexpect.spawn(
            program,
            list(arguments),
            cwd=directory,
            dimensions=(_ROWS, _COLUMNS),
            encoding="utf-8",
            env={
                **os.environ,
                "TERM": "xterm-256color",
                "PROMPT_TOOLKIT_NO_CPR": "1",
                "XDG_CONFIG_HOME": directory,
                "XDG_STATE_HOME": directory,
            },
        )

    def wait_for(self, text: str, seconds: float) -> None:
        """Draw what the program prints until the line of the cursor begins with a text."""
        for _ in range(int(seconds * 10)):
            try:
                self._stream.feed(self._child.read_nonblocking(65536, timeout=0.1))
            except pexpect.TIMEOUT:
                if self._screen.display[self._screen.cursor.y].startswith(text):
                    return
        raise TimeoutError(f"no {text!r} within {seconds} s:\n{self.text()}")

    def type(self, text: str) -> None:
        """Send keys, and draw what comes of them."""
        self._child.send(text)
        self._draw()

    def _draw(self) -> None:
        try:
            while True:
                self._stream.feed(self._child.read_nonblocking(65536, timeout=0.2))
        except pexpect.TIMEOUT:
            return

    def frame(self, seconds: float) -> Frame:
        """Return what is on the screen."""
        rows = [self._screen.buffer[y] for y in range(_ROWS)]
        return Frame(
            lines=tuple(_line([row[x] for x in range(_COLUMNS)]) for row in rows),
            cursor=(self._screen.cursor.x, self._screen.cursor.y),
            seconds=seconds,
        )

    def text(self) -> str:
        """Return what is on the screen, without its colours."""
        return "\n".join(self._screen.display)

    def close(self) -> None:
        """End the program as Ctrl-D does."""
        self._child.sendeof()
        self._child.expect(pexpect.EOF, timeout=_START_SECONDS)
        self._child.close()


def _line(characters: Sequence[pyte.screens.Char]) -> Line:
    runs = []
    for (colour, bold), same in groupby(characters, lambda c: (_colour(c.fg), c.bold)):
        runs.append(("".join(c.data for c in same), colour, bold))
    if runs and not runs[-1][0].strip():
        runs.pop()
    return tuple(runs)


def _colour(name: str) -> str:
    if name == "default":
        return _TEXT
    return _COLOURS.get(name.removeprefix("bright"), f"#{name}")


def record(terminal: Terminal, statements: Sequence[str]) -> Iterator[Frame]:
    """Type statements word by word; yield a frame for each word and each result."""
    terminal.wait_for(_PROMPT, _START_SECONDS)
    terminal.type(_CLEAR)  # of what Java prints when it starts
    yield terminal.frame(_SHOWN)
    for statement in statements:
        for number, line in enumerate(statement.split("\n")):
            if number:
                terminal.type("\n")
                terminal.wait_for(_CONTINUATION, _STATEMENT_SECONDS)
            for position, word in enumerate(line.split(" ")):
                terminal.type(f" {word}" if position else word)
                yield terminal.frame(_TYPED)
        terminal.type("\n")
        terminal.wait_for(_PROMPT, _STATEMENT_SECONDS)
        if "error:" in terminal.text():
            raise RuntimeError(terminal.text())
        yield terminal.frame(_LAST if statement is statements[-1] else _SHOWN)


def svg(frames: Sequence[Frame]) -> str:
    """Return an animated picture of frames."""
    width = _COLUMNS * _WIDTH + 2 * _MARGIN
    height = _ROWS * _HEIGHT + 2 * _MARGIN
    drawn = {line: number for number, line in enumerate(dict.fromkeys(_all_lines(frames)))}
    defined = "\n".join(f'<g id="l{number}">{_runs(line)}</g>' for line, number in drawn.items())
    strip = "\n".join(_drawn(frame, n * height, drawn) for n, frame in enumerate(frames))
    total = sum(frame.seconds for frame in frames)
    steps, begin = [], 0.0
    for n, frame in enumerate(frames):
        steps.append(f"{begin / total:.3%}{{transform:translateY({-n * height}px)}}")
        begin += frame.seconds
    last = f"translateY({-(len(frames) - 1) * height}px)"
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" \
xml:space="preserve" \
aria-label="A session of the acidsql shell">
<style>
text{{font:14px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}}
.strip{{transform:{last};animation:play {total:.1f}s step-end infinite}}
@keyframes play{{{"".join(steps)}}}
@media (prefers-reduced-motion:reduce){{.strip{{animation:none}}}}
</style>
<defs>
{defined}
</defs>
<rect width="100%" height="100%" rx="8" fill="{_BACKGROUND}"/>
<g class="strip">
{strip}
</g>
</svg>
"""


def _all_lines(frames: Sequence[Frame]) -> Iterator[Line]:
    for frame in frames:
        yield from filter(None, frame.lines)


def _runs(line: Line) -> str:
    """Draw a line as text, each run at its column, so that no font moves the others."""
    parts, column = [], 0
    for text, colour, bold in line:
        blanks = len(text) - len(text.lstrip())
        x = (column + blanks) * _WIDTH
        weight = ' font-weight="bold"' if bold else ""
        wide = f' textLength="{len(text.strip()) * _WIDTH:.1f}"'
        if text.strip():
            parts.append(
                f'<text x="{x:.1f}" fill="{colour}"{weight}{wide}>{escape(text.strip())}</text>'
            )
        column += len(text)
    return "".join(parts)


def _drawn(frame: Frame, top: float, drawn: dict[Line, int]) -> str:
    """Draw a frame at its place in the strip."""
    x, y = frame.cursor
    parts = [
        f'<use href="#l{drawn[line]}" y="{row * _HEIGHT}"/>'
        for row, line in enumerate(frame.lines)
        if line
    ]
    cursor = (
        f'<rect x="{x * _WIDTH:.1f}" y="{y * _HEIGHT - 13}" width="{_WIDTH}" height="17" '
        f'fill="{_TEXT}" opacity="0.6"/>'
    )
    place = f"translate({_MARGIN},{top + _MARGIN + 13})"
    return f'<g transform="{place}">{"".join(parts)}{cursor}</g>'


def main() -> None:
    """Record the session; the shell is that of the interpreter's environment."""
    program = shutil.which("acidsql", path=str(Path(sys.executable).parent))
    if program is None:
        sys.exit("error: there is no acidsql beside this interpreter: use that of .venv")
    with tempfile.TemporaryDirectory() as directory:
        # Times depend on the machine, and would differ in each picture.
        own = ["--no-timing", "--conf", "spark.sql.shuffle.partitions=2"]
        options = ["--master", "local[2]", *own]
        terminal = Terminal(program, options, directory)
        frames = list(record(terminal, STATEMENTS))
        terminal.close()
    PICTURE.write_text(svg(frames), "utf-8")


if __name__ == "__main__":
    main()
