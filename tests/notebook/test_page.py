"""The cells of the page about notebooks do what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from acidsql.notebook import cell

_PAGE = (Path(__file__).parents[2] / "docs" / "notebook.md").read_text("utf-8")
_CELL = re.compile(r"^```none\n(.*?)^```(?:\n+```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.spark
def test_cells(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    cells = _CELL.findall(_PAGE)
    assert len(cells) > 5
    for text, expected in cells:
        capsys.readouterr()
        done = shell.run_cell(text)
        printed = "".join(capsys.readouterr())
        if done.error_in_exec is None:
            printed = "" if done.result is None else f"{done.result!r}\n"
        assert printed == expected, text


def test_options_are_those_of_the_page() -> None:
    options = set(re.findall(r"^\| `--(\w+) \w+` \|", _PAGE, re.MULTILINE))
    assert options == set(cell.OPTIONS)
    assert f"{cell.DEFAULT_LIMIT} by default" in _PAGE
