"""Constraints of tables in the embedded metastore: their names, and their JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from acidsql.format.identifiers import folded
from acidsql.syntax.constraints import Constraint, ConstraintKind

# Short words in the names that constraints without a name get.
_SHORT = {
    ConstraintKind.CHECK: "chk",
    ConstraintKind.PRIMARY_KEY: "pk",
    ConstraintKind.UNIQUE: "unique",
    ConstraintKind.FOREIGN_KEY: "fk",
}


def named(table: str, constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Name the constraints of a table that have no name, for example t_pk.

    >>> [c.name for c in named("t", [Constraint(kind=ConstraintKind.CHECK, expression="a > 0")])]
    ['t_chk_1']
    """
    taken_names = {folded(constraint.name) for constraint in constraints}
    named = []
    for constraint in constraints:
        stem = f"{table}_{_SHORT[constraint.kind]}"
        is_one = constraint.kind is ConstraintKind.PRIMARY_KEY
        free = ([stem] if is_one else []) + [f"{stem}_{n + 1}" for n in range(len(taken_names) + 1)]
        name = constraint.name or next(name for name in free if folded(name) not in taken_names)
        taken_names.add(folded(name))
        named.append(replace(constraint, name=name))
    return tuple(named)


def constraints_text(constraints: Iterable[Constraint]) -> str:
    """Return the JSON text of constraints, which ``constraints_of`` reads."""
    return json.dumps([asdict(constraint) for constraint in constraints])


def constraints_of(text: str) -> tuple[Constraint, ...]:
    """Return the constraints of a JSON text."""
    return tuple(map(_constraint, json.loads(text)))


def _constraint(fields: Mapping[str, Any]) -> Constraint:
    lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return Constraint(**{**fields, **lists, "kind": ConstraintKind(fields["kind"])})
