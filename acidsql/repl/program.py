"""Group of commands whose errors have the form of those of statements, with an overview of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click


class Program(click.Group):
    """Group of commands that begins each error with ``error:``, where click has ``Error:``.

    Its help has the whole first sentence of each command.
    """

    def main(self, *args: Any, standalone_mode: bool = True, **others: Any) -> Any:
        """Run a command and leave with its exit code, as click does."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **others)
        try:
            code = run(*args, standalone_mode=False, **others)
        except click.ClickException as error:
            show_error(error)
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo("error: aborted", err=True)
            sys.exit(1)
        # Commands return nothing; a number is the exit code that click was given.
        sys.exit(code if isinstance(code, int) else 0)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands and what they do."""
        rows = [
            (name, self.commands[name].get_short_help_str(limit=1000))
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def show_error(error: click.ClickException) -> None:
    """Write an error of the command line to standard error, with the usage if that is wrong."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        click.echo(context.get_usage(), err=True)
        click.echo(f"Try '{context.command_path} --help' for help.\n", err=True)
    click.echo(f"error: {error.format_message()}", err=True)
