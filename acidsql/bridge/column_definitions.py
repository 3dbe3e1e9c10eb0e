"""Functions that parse the column definitions of CREATE TABLE and ALTER TABLE … ADD COLUMNS."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from acidsql.bridge.jvm import JavaObject, defined, elements
from acidsql.bridge.jvm_planning import field_names
from acidsql.bridge.spark_versions import differences
from acidsql.bridge.sql_text import parse, parse_part, with_given_instants, with_short_names
from acidsql.errors import AcidAnalysisError


def parse_columns(spark: SparkSession, text: str) -> StructType:
    """Parse the column definitions between the parentheses of a CREATE TABLE.

    The metadata of the fields contains their defaults.

    Raises:
        AcidAnalysisError: the text has a constraint other than NOT NULL, which acidsql's parser of
            constraints did not accept (UNSUPPORTED_FEATURE.TABLE_CONSTRAINT).
        AcidParseError: the text is not a list of columns.
    """
    text = with_short_names(text)
    plan = parse_part(spark, "CREATE TABLE t (", text, ") USING orc")
    if differences(spark).has_table_constraints and _has_constraints(spark, plan.tableSpec()):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.TABLE_CONSTRAINT",
            "this constraint is not supported here: CREATE TABLE and ALTER TABLE … ADD CONSTRAINT "
            "take CHECK, PRIMARY KEY, UNIQUE and FOREIGN KEY",
        )
    schema = StructType.fromJson(json.loads(plan.tableSchema().json()))
    return with_given_instants(
        text,
        schema,
        lambda other: StructType.fromJson(
            json.loads(parse(spark, f"CREATE TABLE t ({other}) USING orc").tableSchema().json())
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewField:
    """New field of a struct.

    Attributes:
        path: names of the column and of the nested fields, down to the struct; ``element``, ``key``
            and ``value`` are the parts of arrays and maps.
        field: the field.
    """

    path: tuple[str, ...]
    field: StructField


@dataclass(frozen=True, slots=True, kw_only=True)
class NewColumns:
    """New columns and new fields of an ALTER TABLE … ADD COLUMNS."""

    columns: StructType
    fields: tuple[NewField, ...] = ()


def parse_new_columns(spark: SparkSession, text: str) -> NewColumns:
    """Parse the column definitions of an ALTER TABLE … ADD COLUMNS like ``parse_columns``.

    Raises:
        AcidAnalysisError: a column has a position (UNSUPPORTED_FEATURE.COLUMN_POSITION), or a field
            has NOT NULL or a DEFAULT (UNSUPPORTED_FEATURE.NESTED_COLUMN).
    """
    text = with_short_names(text)
    plan = parse_part(spark, "ALTER TABLE t ADD COLUMNS (", text, ")")
    definitions = elements(plan.columnsToAdd())
    for added in definitions:
        if added.position().isDefined():
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.COLUMN_POSITION",
                "columns have their positions in files for ever: leave FIRST or AFTER out; CREATE "
                "OR REPLACE TABLE … AS SELECT rewrites the rows, with columns in another order",
            )
    if not any(added.path().isDefined() for added in definitions):
        return NewColumns(columns=parse_columns(spark, text))
    columns, fields = [], []
    parsed = with_given_instants(
        text,
        StructType([_field_of(added) for added in definitions]),
        lambda other: StructType(
            [
                _field_of(added)
                for added in elements(
                    parse(spark, f"ALTER TABLE t ADD COLUMNS ({other})").columnsToAdd()
                )
            ]
        ),
    )
    for added, field in zip(definitions, parsed.fields, strict=True):
        if not added.path().isDefined():
            columns.append(field)
            continue
        path = tuple(str(part) for part in elements(added.path().get().name()))
        fields.append(NewField(path=path, field=field))
    return NewColumns(columns=StructType(columns), fields=tuple(fields))


def _field_of(added: JavaObject) -> StructField:
    """Return the field of a definition from a list that also adds a field of a struct."""
    name = str(added.colName())
    if not added.nullable() or added.default().isDefined():
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.NESTED_COLUMN",
            f"{name} is added together with a field of a struct, which has no DEFAULT and is NULL "
            "in the rows that are there: leave NOT NULL and DEFAULT out",
        )
    comments = [str(comment) for comment in defined(added.comment())]
    return StructField.fromJson(
        {
            "name": name,
            "type": json.loads(added.dataType().json()),
            "nullable": True,
            "metadata": {"comment": comments[0]} if comments else {},
        }
    )


def _has_constraints(spark: SparkSession, table_spec: JavaObject) -> bool:
    fields = field_names(spark, table_spec)
    return "constraints" in fields and bool(table_spec.constraints().nonEmpty())
