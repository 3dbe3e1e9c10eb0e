r"""Commands of settings: ``\timing``, ``\x``, ``\format``, ``\dialect``, ``\pager``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from acidsql.dialects import DIALECTS
from acidsql.repl.console import CommandError, Completes, Console, PromptCommand, say
from acidsql.repl.output import pager_command
from acidsql.repl.printer import EXPANSIONS, FORMATS
from acidsql.repl.shell import Ending, ShellSettings

Change = Callable[[ShellSettings, str], tuple[ShellSettings, str]]
"""Function that returns the settings changed by an argument, and a message about the change."""


def switched_timing(settings: ShellSettings, argument: str) -> tuple[ShellSettings, str]:
    """Toggle the display of the statements' times, or set it to ``on`` or ``off``."""
    timing = not settings.timing if not argument else _choice(argument, ("on", "off")) == "on"
    return replace(settings, timing=timing), f"timing is {'on' if timing else 'off'}"


def switched_expansion(settings: ShellSettings, argument: str) -> tuple[ShellSettings, str]:
    """Toggle the expanded display, or set it to one of ``EXPANSIONS``."""
    toggled = "off" if settings.expanded == "on" else "on"
    expanded = _choice(argument, EXPANSIONS) if argument else toggled
    return replace(settings, expanded=expanded), f"expanded display is {expanded}"


def changed_format(settings: ShellSettings, argument: str) -> tuple[ShellSettings, str]:
    """Set the format of results, or show it."""
    if not argument:
        return settings, f"format is {settings.format_name} (of {', '.join(FORMATS)})"
    return replace(settings, format_name=_choice(argument, list(FORMATS))), ""


def changed_dialect(settings: ShellSettings, argument: str) -> tuple[ShellSettings, str]:
    """Set the dialect of statements, or show it."""
    if not argument:
        return settings, f"dialect is {settings.dialect} (of {', '.join(DIALECTS)})"
    return replace(settings, dialect=_choice(argument.lower(), DIALECTS)), ""


def changed_pager(settings: ShellSettings, argument: str) -> tuple[ShellSettings, str]:
    """Switch the pager on or off, or set its command."""
    pager = None if argument == "off" else pager_command("" if argument == "on" else argument)
    return replace(settings, pager=pager), f"pager is {pager or 'off'}"


def without_pager(settings: ShellSettings, _argument: str) -> tuple[ShellSettings, str]:
    """Switch the pager off."""
    return changed_pager(settings, "off")


def _choice(argument: str, choices: Sequence[str]) -> str:
    if argument not in choices:
        raise CommandError(f"{argument} is none of {', '.join(choices)}")
    return argument


def _setting(change: Change) -> Callable[[Console, str], Ending]:
    def run(console: Console, argument: str) -> Ending:
        console.shell.settings, said = change(console.shell.settings, argument.rstrip("; "))
        return say(console, said) if said else Ending.DONE

    return run


SETTING_COMMANDS = (
    PromptCommand(
        name="\\timing",
        arguments="[on | off]",
        help="Show how long every statement took, or stop it.",
        run=_setting(switched_timing),
        completes=Completes.CHOICE,
        choices=("on", "off"),
    ),
    PromptCommand(
        name="\\x",
        arguments="[on | off | auto]",
        help="Show each row as lines of column and value; auto: where the table is too wide.",
        run=_setting(switched_expansion),
        completes=Completes.CHOICE,
        choices=EXPANSIONS,
    ),
    PromptCommand(
        name="\\format",
        arguments="[FORMAT]",
        aliases=("\\T",),
        help="Show or set the format of results.",
        run=_setting(changed_format),
        completes=Completes.CHOICE,
        choices=tuple(FORMATS),
    ),
    PromptCommand(
        name="\\dialect",
        arguments="[DIALECT]",
        help="Show or set the dialect of statements.",
        run=_setting(changed_dialect),
        completes=Completes.CHOICE,
        choices=tuple(DIALECTS),
    ),
    PromptCommand(
        name="\\pager",
        arguments="[COMMAND | on | off]",
        aliases=("\\P",),
        help="Show what is larger than the terminal with a pager.",
        run=_setting(changed_pager),
        completes=Completes.CHOICE,
        choices=("on", "off"),
    ),
    PromptCommand(
        name="\\nopager",
        aliases=("\\n",),
        help="Use no pager.",
        run=_setting(without_pager),
    ),
)
"""Commands of settings."""
