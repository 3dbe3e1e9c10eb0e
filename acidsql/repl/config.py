"""Configuration file of the shell, in TOML.

Each option is a field of ``Config``. The field's metadata contain the documentation of the option
and its possible values.
"""

from __future__ import annotations

import json
import textwrap
import tomllib
from collections.abc import Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from pygments.styles import STYLE_MAP

from acidsql.dialects import DIALECTS
from acidsql.repl.destructive import DANGERS
from acidsql.repl.printer import EXPANSIONS, FORMATS

_WIDTH = 100
_HEAD = """\
# Settings of the prompt of acidsql. The first start wrote this file, and each start reads it.
#
# An option that is commented out has the value shown, its default. Options of the command line
# win over this file, and commands such as \\timing over both, until the shell is left.
# Scripts (-e, -f, standard input) take nothing from here but warn_in_scripts, and with it
# destructive_warning, so that they do the same everywhere.
"""


class ConfigError(Exception):
    """Error in a configuration file; the message contains the file name."""


def _option(default: Any, text: str, choices: Sequence[str] = ()) -> Any:
    """Return a field with the documentation and the possible values of an option."""
    return field(default=default, metadata={"text": text, "choices": tuple(choices)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Values of the configuration file."""

    format: str = _option("table", "Format of results.", list(FORMATS))
    limit: int = _option(1000, "Rows of a table to show on the terminal at most.")
    timing: bool = _option(True, "Whether to show how long every statement took.")
    expanded: str = _option(
        "auto",
        "Whether to show each row as lines of column and value; auto: where the table is wider "
        "than the terminal.",
        EXPANSIONS,
    )
    dialect: str = _option("spark", "Dialect of statements.", DIALECTS)
    enable_pager: bool = _option(
        True, "Whether results that are larger than the terminal go to a pager."
    )
    pager: str = _option("", "Command of the pager. Empty: that of $PAGER, else less -SRXF.")
    key_bindings: str = _option(
        "emacs", "Keys of the prompt; F4 switches between them.", ("emacs", "vi")
    )
    keyword_casing: str = _option(
        "auto",
        "Case of keywords that Tab completes; auto: that of what was typed.",
        ("auto", "lower", "upper"),
    )
    syntax_style: str = _option(
        "default",
        "Colours of statements, a style of Pygments (https://pygments.org/styles/).",
        # Exclude the styles of plugins: listing them imports them, and some configure logging.
        sorted(STYLE_MAP),
    )
    destructive_warning: tuple[str, ...] = _option(
        ("unconditional_delete", "unconditional_update"),
        "Statements that are asked about before they run. The unconditional ones have no WHERE.",
        [danger.name for danger in DANGERS],
    )
    warn_in_scripts: bool = _option(
        False,
        "Whether scripts are asked about them too. Where standard input is no terminal, no user "
        "can be asked, and such a statement is refused.",
    )


def config_text() -> str:
    """Return the text of the file that the first start writes: each option with its default."""
    return _HEAD + "".join(f"\n{_documented(option)}" for option in fields(Config))


def read_config(file: Path) -> Config:
    """Return the values in ``file``, or the defaults if it does not exist.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or has an unknown option or value.
    """
    try:
        values = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return Config()
    except (OSError, ValueError) as error:  # invalid TOML and invalid UTF-8 are ValueErrors
        raise ConfigError(f"{file}: {error}") from error
    options = {option.name: option for option in fields(Config)}
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name not in options:
            raise ConfigError(f"{file}: there is no option {name} (of {', '.join(options)})")
        given[name] = tuple(value) if isinstance(value, list) else value
        if not _is_possible(options[name], given[name]):
            raise ConfigError(f"{file}: {name} = {value!r} is not {_wanted(options[name])}")
    return Config(**given)


def write_config(file: Path) -> None:
    """Write the file with all options commented out, unless it exists.

    Raises:
        OSError: the file cannot be written.
    """
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(config_text())
    except FileExistsError:  # another shell has written it
        return


def _documented(option: Field[Any]) -> str:
    text = f"{option.metadata['text']} It takes {_wanted(option)}."
    comment = textwrap.fill(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
    return f"{comment}\n#{option.name} = {_toml(option.default)}\n"


def _toml(value: Any) -> str:
    # The JSON text of these types is also valid TOML.
    return json.dumps(value)


def _wanted(option: Field[Any]) -> str:
    """Describe the possible values of an option."""
    choices = option.metadata["choices"]
    if isinstance(option.default, bool):
        return "true or false"
    if isinstance(option.default, int):
        return "a number, 0 or greater"
    if isinstance(option.default, tuple):
        return f"a list of {', '.join(choices)}"
    return f"one of {', '.join(choices)}" if choices else "a text"


def _is_possible(option: Field[Any], value: Any) -> bool:
    choices = option.metadata["choices"]
    if type(value) is not type(option.default):
        return False
    if isinstance(value, tuple):
        return all(one in choices for one in value)
    if isinstance(value, int):
        return value >= 0  # True and False too
    return not choices or value in choices
