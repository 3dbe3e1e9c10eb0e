"""Conversion of CHECK constraints and keys to and from the server's structures.

A structure describes one CHECK constraint, or one column of a key (with ``key_seq`` from 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from acidsql.errors import AcidAnalysisError, MetastoreError
from acidsql.format.identifiers import lowered
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import CATALOG, Server
from acidsql.metastore.model import Table
from acidsql.syntax.constraints import Constraint, ConstraintKind

_NAME_EXISTS = "Constraint name already exists"
# The only message of a server about an error when it adds a constraint.
_REFUSED = "Internal error processing add_"
# NO ACTION of JDBC (DatabaseMetaData.importedKeyNoAction).
_NO_ACTION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Structures:
    """Constraints in the server's form, by kind."""

    primary_keys: Sequence[Any] = field(default_factory=list)
    foreign_keys: Sequence[Any] = field(default_factory=list)
    unique: Sequence[Any] = field(default_factory=list)
    checks: Sequence[Any] = field(default_factory=list)


def fetched(server: Server, database: str, name: str) -> Structures:
    """Return the constraints of a table, with one call for each kind."""
    of_table = {"catName": CATALOG, "db_name": database, "tbl_name": name}
    foreign = hms.ForeignKeysRequest(
        foreign_db_name=database, foreign_tbl_name=name, catName=CATALOG
    )
    return Structures(
        primary_keys=server.call(
            "get_primary_keys", hms.PrimaryKeysRequest(**of_table)
        ).primaryKeys,
        foreign_keys=server.call("get_foreign_keys", foreign).foreignKeys,
        unique=server.call(
            "get_unique_constraints", hms.UniqueConstraintsRequest(**of_table)
        ).uniqueConstraints,
        checks=server.call(
            "get_check_constraints", hms.CheckConstraintsRequest(**of_table)
        ).checkConstraints,
    )


def from_structures(structures: Structures) -> tuple[Constraint, ...]:
    """Convert the server's structures to constraints, sorted by kind and name."""
    made = [_check(structure) for structure in structures.checks]
    for kind, name_field, keys in (
        (ConstraintKind.PRIMARY_KEY, "pk_name", structures.primary_keys),
        (ConstraintKind.UNIQUE, "uk_name", structures.unique),
        (ConstraintKind.FOREIGN_KEY, "fk_name", structures.foreign_keys),
    ):
        by_name: dict[str, list[Any]] = {}
        for structure in sorted(keys, key=lambda key: int(key.key_seq)):
            by_name.setdefault(getattr(structure, name_field), []).append(structure)
        made += [_key(kind, name, parts) for name, parts in by_name.items()]
    order = list(ConstraintKind)
    return tuple(sorted(made, key=lambda c: (order.index(c.kind), c.name)))


def _check(structure: Any) -> Constraint:
    return Constraint(
        kind=ConstraintKind.CHECK,
        name=structure.dc_name,
        columns=(lowered(structure.column_name),) if structure.column_name else (),
        expression=structure.check_expression,
        enabled=bool(structure.enable_cstr),
        rely=bool(structure.rely_cstr),
    )


def _key(kind: ConstraintKind, name: str, parts: Sequence[Any]) -> Constraint:
    first = parts[0]
    made = Constraint(
        kind=kind,
        name=name,
        columns=tuple(lowered(_column_of(kind, part)) for part in parts),
        enabled=False,
        rely=bool(first.rely_cstr),
    )
    if kind is not ConstraintKind.FOREIGN_KEY:
        return made
    return replace(
        made,
        parent=(first.pktable_db, first.pktable_name),
        parent_columns=tuple(part.pkcolumn_name for part in parts),
    )


def _column_of(kind: ConstraintKind, structure: Any) -> str:
    return str(
        structure.fkcolumn_name if kind is ConstraintKind.FOREIGN_KEY else structure.column_name
    )


def to_structures(table: Table, constraints: Iterable[Constraint]) -> Structures:
    """Convert constraints of a table; the server names the constraints without a name."""
    made: Mapping[ConstraintKind, list[Any]] = {kind: [] for kind in ConstraintKind}
    for constraint in constraints:
        made[constraint.kind].extend(_structures(table, constraint))
    return Structures(
        primary_keys=made[ConstraintKind.PRIMARY_KEY],
        foreign_keys=made[ConstraintKind.FOREIGN_KEY],
        unique=made[ConstraintKind.UNIQUE],
        checks=made[ConstraintKind.CHECK],
    )


def _structures(table: Table, constraint: Constraint) -> list[Any]:
    name = constraint.name or None
    common = {
        "catName": CATALOG,
        "enable_cstr": constraint.is_enforced,
        "validate_cstr": False,
        "rely_cstr": constraint.rely,
    }
    names = {"table_db": lowered(table.database), "table_name": lowered(table.name)}
    columns = [lowered(column) for column in constraint.columns]
    numbered = list(enumerate(columns, start=1))
    match constraint.kind:
        case ConstraintKind.CHECK:
            column = columns[0] if columns else None
            text = constraint.expression
            return [
                hms.SQLCheckConstraint(
                    **common, **names, column_name=column, check_expression=text, dc_name=name
                )
            ]
        case ConstraintKind.PRIMARY_KEY:
            return [
                hms.SQLPrimaryKey(**common, **names, column_name=column, key_seq=n, pk_name=name)
                for n, column in numbered
            ]
        case ConstraintKind.UNIQUE:
            return [
                hms.SQLUniqueConstraint(
                    **common, **names, column_name=column, key_seq=n, uk_name=name
                )
                for n, column in numbered
            ]
        case ConstraintKind.FOREIGN_KEY:
            database, parent = constraint.parent
            return [
                hms.SQLForeignKey(
                    **common,
                    pktable_db=database,
                    pktable_name=parent,
                    pkcolumn_name=lowered(constraint.parent_columns[n - 1]),
                    fktable_db=names["table_db"],
                    fktable_name=names["table_name"],
                    fkcolumn_name=column,
                    key_seq=n,
                    update_rule=_NO_ACTION,
                    delete_rule=_NO_ACTION,
                    fk_name=name,
                )
                for n, column in numbered
            ]


def add(server: Server, made: Structures) -> None:
    """Add constraints to their table."""
    requests = (
        ("add_primary_key", hms.AddPrimaryKeyRequest(primaryKeyCols=made.primary_keys)),
        ("add_unique_constraint", hms.AddUniqueConstraintRequest(uniqueConstraintCols=made.unique)),
        ("add_check_constraint", hms.AddCheckConstraintRequest(checkConstraintCols=made.checks)),
        ("add_foreign_key", hms.AddForeignKeyRequest(foreignKeyCols=made.foreign_keys)),
    )
    lists = (made.primary_keys, made.unique, made.checks, made.foreign_keys)
    for (call, request), structures in zip(requests, lists, strict=True):
        if not structures:
            continue
        try:
            server.call(call, request, repeatable=False)
        except MetastoreError as error:
            if _REFUSED not in error.message:
                raise
            raise AcidAnalysisError(
                "INVALID_OBJECT",
                "the metastore refuses a constraint and does not say why: another table may have "
                "one of its name, or the table that a foreign key refers to is not there",
            ) from error


def name_exists(message: str) -> AcidAnalysisError:
    """Return the error for a constraint whose name another constraint has.

    In Hive 4, names are unique within a table, and names of foreign keys within the table that they
    refer to. In Hive 3.1, names are unique within the metastore.

    Args:
        message: message of the server.
    """
    name = message.partition(_NAME_EXISTS)[2].strip(" :)'\"").rpartition(".")[2]
    return AcidAnalysisError(
        "CONSTRAINT_ALREADY_EXISTS",
        f"the metastore has a constraint {name}, perhaps of another table: give the new one "
        "another name, or none",
        {"constraintName": name},
    )


def is_name_taken(message: str) -> bool:
    """Return whether a server refuses a constraint because its name is taken."""
    return _NAME_EXISTS in message
