"""Constraints of a model's contract, as SQL, and their comparison with a table's constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from acidsql.format.identifiers import folded
from acidsql.metastore.embedded.constraints import named
from acidsql.syntax.constraints import ConstraintKind, parse_constraint
from acidsql.syntax.described import Described
from acidsql.syntax.lexer import quote

_KEYS = ("primary_key", "unique")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractConstraint:
    """Constraint of a contract, at a column or at the model.

    Attributes:
        kind: dbt's name: ``check``, ``not_null``, ``primary_key``, ``unique`` or ``foreign_key``.
        columns: columns of the constraint.
        name: name of the constraint; None if it has none.
        expression: condition of a check; for a key, the text after its columns.
        parent: table that a foreign key refers to (``to``).
        parent_columns: columns that a foreign key refers to (``to_columns``).
    """

    kind: str
    columns: tuple[str, ...]
    name: str | None = None
    expression: str | None = None
    parent: str | None = None
    parent_columns: tuple[str, ...] = ()


def contract_of(model: Mapping[str, Any]) -> Iterator[ContractConstraint]:
    """Yield the constraints of a parsed model: first those of the model, then of its columns."""
    for given in model["constraints"]:
        yield _constraint(given, given["columns"])
    for name, column in model["columns"].items():
        for given in column["constraints"]:
            yield _constraint(given, [name])


def _constraint(given: Mapping[str, Any], columns: Sequence[str]) -> ContractConstraint:
    return ContractConstraint(
        kind=str(getattr(given["type"], "value", given["type"])),
        columns=tuple(columns),
        name=given.get("name"),
        expression=given.get("expression"),
        parent=given.get("to"),
        parent_columns=tuple(given.get("to_columns") or ()),
    )


def not_null_columns(contract: Iterator[ContractConstraint]) -> Iterator[str]:
    """Yield the columns that are NOT NULL, each once."""
    seen = set()
    for constraint in contract:
        for column in constraint.columns if constraint.kind == "not_null" else ():
            if folded(column) not in seen:
                seen.add(folded(column))
                yield column


def constraint_sql(constraint: ContractConstraint) -> str | None:
    """Return a constraint as SQL for ALTER TABLE … ADD; None for NOT NULL, which it cannot add.

    Raises:
        DbtRuntimeError: acidsql does not support the constraint.
    """
    if constraint.kind == "not_null":
        return None
    name = f"constraint {quote(constraint.name)} " if constraint.name else ""
    columns = _list(constraint.columns)
    expression = constraint.expression or ""
    if constraint.kind == "check" and expression:
        return f"{name}check ({expression})"
    if constraint.kind in _KEYS:
        return f"{name}{constraint.kind.replace('_', ' ')} ({columns}) {expression}".rstrip()
    if constraint.kind == "foreign_key" and constraint.parent:
        parent = f"{constraint.parent} ({_list(constraint.parent_columns)})"
        return f"{name}foreign key ({columns}) references {parent} {expression}".rstrip()
    if constraint.kind == "foreign_key" and expression:
        return f"{name}foreign key ({columns}) references {expression}"
    raise DbtRuntimeError(
        f"acidsql has no constraint of type {constraint.kind} with expression {expression!r}: "
        "remove it, or give check an expression and foreign_key `to` and `to_columns`"
    )


def with_names(texts: Sequence[str], table: str) -> list[str]:
    """Give names to the constraints of a table that have none.

    The table is created under a temporary name. Without names, the constraints would be named after
    this temporary name.

    Args:
        texts: texts of the constraints from ``constraint_sql``.
        table: final name of the table.

    >>> with_names(["check (a > 0)", "constraint `x` unique (`a`)"], "t")
    ['constraint `t_chk_1` check (a > 0)', 'constraint `x` unique (`a`)']
    """
    parsed = [parse_constraint(text) for text in texts]
    made = iter(named(table, [one for one in parsed if one is not None]))
    names = [None if one is None else next(made).name for one in parsed]
    return [
        text if one is None or one.name or name is None else f"constraint {quote(name)} {text}"
        for text, one, name in zip(texts, parsed, names, strict=True)
    ]


def has_rules(table: Described, constraints: Sequence[str], not_null: Sequence[str]) -> bool:
    """Return whether a table has exactly these constraints.

    Args:
        table: the table.
        constraints: texts of the constraints from ``constraint_sql``.
        not_null: columns that are NOT NULL.
    """
    wanted = [_comparable(text) for text in constraints]
    present = [_comparable(one.definition) for one in table.constraints]
    return (
        None not in wanted
        and sorted(map(str, wanted)) == sorted(map(str, present))
        and set(map(folded, not_null)) == set(map(folded, table.not_null))
    )


def _comparable(text: str) -> str | None:
    """Return a text that is equal for equivalent constraints; None if it is not a constraint."""
    parsed = parse_constraint(text)
    if parsed is None:
        return None
    if parsed.kind is ConstraintKind.FOREIGN_KEY:
        parsed = replace(parsed, parent=parsed.parent[-1:])
    definition = replace(parsed, name="").definition
    return definition if parsed.kind is ConstraintKind.CHECK else definition.lower()


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quote, names))
