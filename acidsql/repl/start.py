"""Start of the shell, with the settings of the user's files and of the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from platformdirs import user_config_path, user_state_path

from acidsql.repl.commands import run_file, run_script
from acidsql.repl.config import Config, ConfigError, read_config, write_config
from acidsql.repl.console import Console
from acidsql.repl.interaction import interact, make_console
from acidsql.repl.output import pager_command
from acidsql.repl.shell import Ending, Shell, ShellSettings


def user_config(file: Path | None, *, at_prompt: bool) -> Config:
    """Return the configuration; write the user's file before the first prompt."""
    default_file = _config_directory() / "config.toml"
    if at_prompt and file is None:
        try:
            write_config(default_file)
        except OSError as error:
            show_warning(f"{default_file} is not written: {error}")
    try:
        return read_config(file or default_file)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error


def _config_directory() -> Path:
    return user_config_path("acidsql")


def shell_settings(context: click.Context, config: Config, *, at_prompt: bool) -> ShellSettings:
    """Return the settings of the command line; at the prompt, also those of the configuration."""

    def given(name: str, configured: Any) -> Any:
        is_default = context.get_parameter_source(name) is ParameterSource.DEFAULT
        return configured if at_prompt and is_default else context.params[name]

    warn = context.params["warn"]
    warns = at_prompt or config.warn_in_scripts if warn is None else warn
    return ShellSettings(
        format_name=given("format_name", config.format),
        limit=context.params["limit"],
        shown=config.limit if at_prompt else Config().limit,
        timing=bool(given("timing", config.timing)),
        progress=sys.stderr.isatty(),
        tracebacks=context.params["tracebacks"],
        dialect=given("dialect", config.dialect),
        expanded=config.expanded if at_prompt else "off",
        pager=pager_command(config.pager) if at_prompt and config.enable_pager else None,
        warned_of=config.destructive_warning if warns else (),
    )


def user_console(shell: Shell, variables: dict[str, str]) -> Console:
    """Return the console of a shell, with the user's favourites.

    Args:
        shell: shell that runs the statements.
        variables: variables of the statements, which are already set in the session.
    """
    console = make_console(shell, _config_directory() / "favourites.toml")
    console.variables = dict(variables)
    return console


def run_prompt(console: Console, config: Config) -> Ending:
    """Read from the terminal until the user leaves."""
    interact(console, config, history=user_state_path("acidsql") / "history")
    return Ending.DONE


def run_texts(console: Console, texts: Sequence[str], file: Path | None) -> Ending:
    """Run the statements of the command line, of a file, or by default of standard input."""
    for text in texts:
        ending = run_script(console, text)
        if ending is not Ending.DONE:
            return ending
    if texts:
        return Ending.DONE
    if file is None or str(file) == "-":
        return run_script(console, sys.stdin.read())
    return run_file(console, file)


def show_warning(message: Warning | str, *_place: Any, **_more: Any) -> None:
    """Write a warning in one line to standard error."""
    sys.stderr.write(f"warning: {message}\n")
