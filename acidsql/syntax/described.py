"""Parsing of the rows that DESCRIBE EXTENDED returns for a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from acidsql.syntax.constraints import Constraint, ConstraintKind, parse_constraint
from acidsql.syntax.identity import Identity, identity_of

_Row = tuple[str, str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """Result of DESCRIBE EXTENDED for a table or view.

    Attributes:
        columns: name, type and comment of each column.
        details: details of the table, by name.
        defaults: defaults as SQL, by column.
        generated: expressions of generated columns as SQL, by column.
        identities: declarations of identity columns, by column.
        not_null: columns that are NOT NULL.
        constraints: all other constraints, with their names.
        is_partitioned: whether the table has partition columns.
    """

    columns: Sequence[_Row]
    details: Mapping[str, str]
    defaults: Mapping[str, str]
    generated: Mapping[str, str]
    identities: Mapping[str, Identity]
    not_null: frozenset[str]
    constraints: Sequence[Constraint] = ()
    is_partitioned: bool = False

    def of_kind(self, kind: ConstraintKind) -> list[Constraint]:
        """Return the constraints of a kind."""
        return [constraint for constraint in self.constraints if constraint.kind is kind]


def described(rows: Iterable[Sequence[Any]]) -> Described:
    """Parse the rows of DESCRIBE EXTENDED.

    A heading begins with # and has no type. The name of a column may also begin with #, but the
    column has a type.

    >>> described([("id", "int", None), ("# Constraints", "", ""), ("c", "CHECK (id > 0)", "")])
    ...     # doctest: +ELLIPSIS
    Described(columns=[('id', 'int', None)], ..., is_partitioned=False)
    """
    sections: dict[str, list[_Row]] = {"": []}
    section = ""
    for name, kind, comment in rows:
        if kind:
            sections[section].append((name, kind, comment))
        elif name.startswith("#"):
            section = name
            sections[section] = []
    columns = sections[""]
    details = {name: value for name, value, _ in sections.get("# Detailed Table Information", ())}
    return Described(
        columns=columns,
        details=details,
        defaults=_expressions(sections.get("# Column Default Values", ())),
        generated=_expressions(sections.get("# Generated Columns", ())),
        identities={
            name: identity_of(text or "")
            for name, _, text in sections.get("# Identity Columns", ())
        },
        not_null=_listed(details.get("Not Null", ""), [name for name, _, _ in columns]),
        constraints=[
            replace(constraint, name=name)
            for name, text, _ in sections.get("# Constraints", ())
            if (constraint := parse_constraint(text)) is not None
        ],
        is_partitioned="# Partition Information" in sections,
    )


def _expressions(rows: Iterable[_Row]) -> dict[str, str]:
    return {name: value or "" for name, _, value in rows}


def _listed(text: str, names: Iterable[str]) -> frozenset[str]:
    """Return the names that a comma-separated list contains. The list has the order of ``names``.

    A name may contain any characters, also commas.
    """
    listed = set()
    for name in names:
        if text == name or text.startswith(f"{name}, "):
            listed.add(name)
            text = text[len(name) + 2 :]
    return frozenset(listed)
