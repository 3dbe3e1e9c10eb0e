"""Group of commands that formats errors like errors of statements, and lists the commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click


class Program(click.Group):
    """Group of commands that begins each error with ``error:``, not with click's ``Error:``.

    Its help contains the whole first sentence of each command.
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
        # Commands return None. A number is an exit code that was passed to click.
        sys.exit(code if isinstance(code, int) else 0)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands and their descriptions."""
        rows = [
            (name, self.commands[name].get_short_help_str(limit=1000))
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def show_error(error: click.ClickException) -> None:
    """Write an error of the command line to standard error; after wrong usage, with the usage."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        click.echo(context.get_usage(), err=True)
        click.echo(f"Try '{context.command_path} --help' for help.\n", err=True)
    click.echo(f"error: {error.format_message()}", err=True)
