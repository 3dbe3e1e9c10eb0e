"""Results go to standard output, a pager or a file."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from acidsql.repl.output import Output, fits, is_narrow, pager_command, terminal

_SCREEN = os.terminal_size((10, 6))
_SHORT, _LONG, _WIDE = "a\n" * 3, "a\n" * 4, f"{'a' * 11}\n"


@pytest.mark.parametrize(("text", "expected"), [(_SHORT, True), (_LONG, False), (_WIDE, False)])
def test_what_fits(text: str, *, expected: bool) -> None:
    assert fits(text, _SCREEN) is expected


def test_wide_characters_count_twice() -> None:
    assert is_narrow("日本語日本", 10)
    assert not is_narrow("日本語日本語", 10)


@pytest.mark.parametrize("text", [_LONG, _WIDE])
def test_what_does_not_fit_goes_to_the_pager(
    text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT)
    paged = tmp_path / "a file"
    Output(lambda: _SCREEN).write(text, f"tee '{paged}'")
    assert paged.read_text() == capfd.readouterr().out == text
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("text", "pager", "screen"),
    [(_SHORT, "false", _SCREEN), (_LONG, None, _SCREEN), (_LONG, "false", None)],
)
def test_the_rest_goes_to_standard_output(
    text: str,
    pager: str | None,
    screen: os.terminal_size | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Output(lambda: screen).write(text, pager)
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("pager", ["/no/such/pager -x", "'"])
def test_a_pager_that_does_not_start_costs_no_result(
    pager: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Output(lambda: _SCREEN).write(_LONG, pager)
    printed = capsys.readouterr()
    assert printed.out == _LONG
    assert printed.err.startswith("warning: the pager ")


def test_a_pager_may_be_left_early() -> None:
    Output(lambda: _SCREEN).write("a\n" * 1_000_000, "true")


def test_a_file_takes_what_is_written_until_it_is_closed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = Output(lambda: _SCREEN)
    widths = [output.columns]
    file = tmp_path / "out"
    file.write_text("old")
    output.redirect(file)
    widths.append(output.columns)
    assert widths == [10, None]
    output.write(_LONG, "false")
    output.write(_SHORT)
    assert file.read_text() == _LONG + _SHORT
    with pytest.raises(OSError, match="directory"):
        output.redirect(tmp_path)
    output.write("b\n")
    output.redirect(None)
    output.write("c\n")
    assert file.read_text() == f"{_LONG}{_SHORT}b\n"
    assert capsys.readouterr().out == "c\n"


@pytest.mark.usefixtures("capfd")
def test_a_captured_output_is_no_terminal() -> None:
    assert terminal() is None


def test_the_pager_is_the_configured_one_then_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PAGER", "more")
    assert pager_command("most") == "most"
    assert pager_command("") == "more"
    monkeypatch.delenv("PAGER")
    monkeypatch.setenv("PATH", "")
    assert pager_command("") is None
