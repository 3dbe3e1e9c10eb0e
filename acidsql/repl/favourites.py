"""Favourites: statements that are saved under a name, and run with arguments."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

_PARAMETER = re.compile(r"\$(\$|\d+)")
# TOML requires an escape for this character, but JSON does not escape it.
_DELETE = "\x7f"


class FavouriteError(Exception):
    """Error in a favourite, or in the file of favourites."""


def read_favourites(file: Path) -> dict[str, str]:
    """Return the statements by their names; none if the file does not exist.

    Raises:
        FavouriteError: the file cannot be read, or contains other data.
    """
    try:
        statements = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise FavouriteError(f"{file}: {error}") from error
    for name, query in statements.items():
        if not isinstance(query, str):
            raise FavouriteError(f"{file}: {name} is no text")
    return statements


def write_favourites(file: Path, favourites: Mapping[str, str]) -> None:
    """Replace the file atomically, so that a reader never sees a part of it.

    Raises:
        FavouriteError: the file cannot be written.
    """
    lines = (f"{_toml(name)} = {_toml(query)}\n" for name, query in sorted(favourites.items()))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor, written = tempfile.mkstemp(dir=file.parent, prefix=file.name)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.writelines(lines)
        Path(written).replace(file)
    except OSError as error:
        raise FavouriteError(f"{file}: {error}") from error


def substitute(query: str, arguments: Sequence[str]) -> str:
    """Replace the parameters ``$1``, ``$2``, … in ``query``; ``$$`` becomes one ``$``.

    Raises:
        FavouriteError: the number of arguments is not the number of parameters.

    >>> substitute("SELECT * FROM $1 WHERE price > '$$2'", ["pet"])
    "SELECT * FROM pet WHERE price > '$2'"
    """
    numbers = {int(match[1]) for match in _PARAMETER.finditer(query) if match[1] != "$"}
    wanted = max(numbers, default=0)
    if 0 in numbers:
        raise FavouriteError("parameters are $1, $2, …: there is no $0")
    if len(arguments) != wanted:
        plural = "" if wanted == 1 else "s"
        raise FavouriteError(f"it wants {wanted} argument{plural}, not {len(arguments)}: {query}")
    return _PARAMETER.sub(
        lambda match: "$" if match[1] == "$" else arguments[int(match[1]) - 1], query
    )


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace(_DELETE, "\\u007f")
