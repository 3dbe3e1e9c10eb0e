"""Short texts and small HTML tables for values that Python and notebooks show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from html import escape
from typing import Any


def changed_fields(value: Any) -> dict[str, object]:
    """Return the fields of a dataclass whose values differ from their defaults, by name.

    >>> from acidsql import Health
    >>> changed_fields(Health(deltas=2))
    {'deltas': 2}
    """
    changed = {}
    for one in fields(value):
        current = getattr(value, one.name)
        default = one.default if one.default_factory is MISSING else one.default_factory()
        if default is MISSING or current != default:
            changed[one.name] = current
    return changed


def short(value: Any) -> str:
    """Return the text of a dataclass without fields that have their default.

    >>> from acidsql import Health
    >>> short(Health(deltas=2))
    'Health(deltas=2)'
    """
    pairs = ", ".join(f"{name}={current!r}" for name, current in changed_fields(value).items())
    return f"{type(value).__name__}({pairs})"


def html_table(rows: Mapping[str, object]) -> str:
    """Return an HTML table of two columns: names and values.

    >>> html_table({"a": "<b>"})
    '<table><tr><th>a</th><td>&lt;b&gt;</td></tr></table>'
    """
    cells = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table>{cells}</table>"
