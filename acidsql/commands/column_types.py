"""Types to which ALTER TABLE can change a column."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from acidsql import bridge
from acidsql.commands.type_widening import CONVERSIONS, convertible
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Column, Table
from acidsql.session.acid_session import AcidSession


def retyped(session: AcidSession, table: Table, old: Column, given: Column) -> Column:
    """Return a column with the name and type of its new definition.

    The column keeps its NOT NULL, default and comment if the definition does not contain them.
    """
    is_other = refuse_other_type(session, table, old, given)
    return Column(
        name=given.name,
        type=given.type if is_other else old.type,
        nullable=old.nullable and given.nullable,
        default=given.default or old.default,
        comment=given.comment if given.comment is not None else old.comment,
        initial=old.initial,
        generated=old.generated,
        identity=old.identity,
    )


def refuse_other_type(session: AcidSession, table: Table, old: Column, given: Column) -> bool:
    """Return whether a definition changes the type of a column.

    Raises:
        AcidAnalysisError: NOT_SUPPORTED_CHANGE_COLUMN, the files cannot be read as the new type.
    """
    before, after = (bridge.parse_stored_type(session.spark, c.type) for c in (old, given))
    if old.identity is not None and before != after:
        raise AcidAnalysisError(
            "NOT_SUPPORTED_CHANGE_COLUMN",
            f"column {old.name} of {table.full_name} is an identity column: it stays BIGINT",
        )
    if not convertible(before, after) or _becomes_instant(before, after):
        raise AcidAnalysisError(
            "NOT_SUPPORTED_CHANGE_COLUMN",
            f"column {old.name} of {table.full_name} cannot change from {old.type} to "
            f"{given.type}, because its files are not rewritten: possible are {CONVERSIONS}",
        )
    if before != after and old.name in table.bucket_columns:
        raise AcidAnalysisError(
            "NOT_SUPPORTED_CHANGE_COLUMN",
            f"column {old.name} of {table.full_name} is in CLUSTERED BY, and another type has "
            "other hash codes: keep its type",
        )
    return bool(before != after)


def _becomes_instant(before: DataType, after: DataType) -> bool:
    """Return whether a type without instants would become one whose files contain instants."""
    if isinstance(before, StructType):
        pairs = zip(before.fields, after.fields, strict=False)
        return any(_becomes_instant(o.dataType, n.dataType) for o, n in pairs)
    if isinstance(before, ArrayType):
        return _becomes_instant(before.elementType, after.elementType)
    if isinstance(before, MapType):
        is_key = _becomes_instant(before.keyType, after.keyType)
        return is_key or _becomes_instant(before.valueType, after.valueType)
    return isinstance(after, bridge.InstantType) and not isinstance(before, bridge.InstantType)
