"""Compilers of SQLAlchemy's statements, tables and types to Spark's SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.sql import compiler

from acidsql.errors import AcidAnalysisError
from acidsql.sqlalchemy.types import Duration
from acidsql.syntax.identity import Identity
from acidsql.syntax.literals import property_list, quoted_string
from acidsql.syntax.values import literal

# Options of ``sqlalchemy.Identity`` that acidsql's identity columns do not support.
_IDENTITY_OPTIONS = ("minvalue", "maxvalue", "nominvalue", "nomaxvalue", "cycle", "cache", "order")
# Largest precision of a FLOAT in bits, as in the SQL standard.
_FLOAT_BITS = 24


class SparkIdentifierPreparer(compiler.IdentifierPreparer):
    """Names, which are quoted with backticks if they need quotes."""

    def __init__(self, dialect: Any, **options: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`", **options)


class SparkCompiler(compiler.SQLCompiler):
    """Compiler of queries and changes."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        """Write LIMIT and OFFSET, which Spark accepts independently."""
        text = ""
        if select._limit_clause is not None:
            text += f"\n LIMIT {self.process(select._limit_clause, **kw)}"
        if select._offset_clause is not None:
            text += f"\n OFFSET {self.process(select._offset_clause, **kw)}"
        return text

    def fetch_clause(self, select: Any, *arguments: Any, **kw: Any) -> str:
        """Write LIMIT for FETCH FIRST.

        Raises:
            CompileError: PERCENT or WITH TIES.
        """
        if any(select._fetch_clause_options.values()):
            raise exc.CompileError("FETCH with PERCENT or WITH TIES is not supported: use a window")
        text = f"\n LIMIT {self.process(select._fetch_clause, **kw)}"
        if select._offset_clause is not None:
            text += f"\n OFFSET {self.process(select._offset_clause, **kw)}"
        return text

    def render_literal_value(self, value: Any, type_: Any) -> str:
        """Write a value like ``execute`` writes the value of a parameter.

        Raises:
            CompileError: the value cannot be a literal.
        """
        to_dbapi = type_._cached_bind_processor(self.dialect)
        try:
            return literal(value if to_dbapi is None else to_dbapi(value))
        except AcidAnalysisError as error:
            raise exc.CompileError(str(error)) from error

    def visit_floordiv_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write a division that rounds down; a division of integers is exact."""
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        if all(side.type._type_affinity is sa.Integer for side in (binary.left, binary.right)):
            # Spark divides integers as DOUBLE, which has fewer digits than BIGINT.
            exact = (f"CAST({side} AS DECIMAL(20, 0))" for side in (left, right))
            return f"CAST(FLOOR({' / '.join(exact)}) AS BIGINT)"
        return f"FLOOR({left} / {right})"

    def visit_add_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write ``+``, including the sum of a time and a duration."""
        return self._generate_generic_binary(_with_durations(binary), " + ", **kw)

    def visit_sub_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write ``-``, including the difference of a time and a duration."""
        return self._generate_generic_binary(_with_durations(binary), " - ", **kw)

    def visit_extract(self, extract: Any, **kw: Any) -> str:
        """Write EXTRACT; ``epoch`` is the number of seconds since 1970, with a fraction."""
        if extract.field == "epoch":
            return f"CAST(CAST({self.process(extract.expr, **kw)} AS TIMESTAMP) AS DOUBLE)"
        return f"EXTRACT({extract.field} FROM {self.process(extract.expr, **kw)})"

    def visit_try_cast(self, cast: Any, **kw: Any) -> str:
        """Write TRY_CAST."""
        return (
            f"TRY_CAST({self.process(cast.clause, **kw)} AS {self.process(cast.typeclause, **kw)})"
        )

    def visit_aggregate_strings_func(self, fn: Any, **kw: Any) -> str:
        """Write an ``array_join`` of the collected texts, which every release of Spark has.

        Raises:
            CompileError: there is an ORDER BY.
        """
        texts, delimiter, *_ = fn.clauses
        if getattr(fn.clauses, "aggregate_order_by", None) is not None:
            raise exc.CompileError("aggregate_strings has no order: use sort_array and array_join")
        counted, collected = self.process(texts, **kw), self.process(texts, **kw)
        joined = f"array_join(collect_list({collected}), {self.process(delimiter, **kw)})"
        return f"CASE WHEN count({counted}) > 0 THEN {joined} END"

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """Write nothing, because queries do not lock rows."""
        return ""

    def returning_clause(self, stmt: Any, returning_cols: Any, **kw: Any) -> str:
        """Refuse RETURNING.

        Raises:
            CompileError: always.
        """
        raise exc.CompileError("RETURNING is not supported: query the rows afterwards")

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write RLIKE."""
        return f"{self.process(binary.left, **kw)} RLIKE {self._pattern(binary, **kw)}"

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write NOT RLIKE."""
        return f"{self.process(binary.left, **kw)} NOT RLIKE {self._pattern(binary, **kw)}"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write ``regexp_replace``, which replaces every match."""
        pattern, replacement = binary.right.clauses
        text = self.process(binary.left, **kw)
        searched = self._pattern(binary, pattern, **kw)
        return f"regexp_replace({text}, {searched}, {self.process(replacement, **kw)})"

    def _pattern(self, binary: Any, pattern: Any = None, **kw: Any) -> str:
        """Write a regular expression with its flags in Java's form.

        Raises:
            CompileError: there is an unsupported flag.
        """
        written = self.process(binary.right if pattern is None else pattern, **kw)
        flags = str(binary.modifiers["flags"] or "").replace("g", "")
        if set(flags) - set("imsx"):
            raise exc.CompileError(f"flags {flags!r} of a regular expression: i, m, s and x exist")
        return f"concat('(?{flags})', {written})" if flags else written

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        """Write a query without rows."""
        return f"SELECT {', '.join('1' for _ in element_types or (None,))} WHERE 1 != 1"


def _with_durations(binary: Any) -> Any:
    """Replace SQLAlchemy's durations, which are times after 1970, by durations of Spark."""
    sides = {
        name: _duration(getattr(binary, name))
        for name in ("left", "right")
        if isinstance(getattr(binary, name), sa.BindParameter)
        and isinstance(getattr(binary, name).type, sa.Interval)
    }
    if not sides:
        return binary
    made = binary._clone()
    for name, side in sides.items():
        setattr(made, name, side)
    return made


def _duration(parameter: Any) -> Any:
    made = parameter._clone(maintain_key=True)
    made.type = Duration()
    return made


class SparkDDLCompiler(compiler.DDLCompiler):
    """Compiler of definitions of tables, which are transactional."""

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        """Write a column's name, type, NOT NULL, DEFAULT or GENERATED clause, and COMMENT."""
        kind = self.dialect.type_compiler_instance.process(column.type, type_expression=column)
        text = f"{self.preparer.format_column(column)} {kind}"
        if not column.nullable:
            text += " NOT NULL"
        default = self.get_column_default_string(column)
        if column.computed is not None:
            text += f" {self.process(column.computed)}"
        elif column.identity is not None:
            text += f" {self.process(column.identity)}"
        elif default is not None:
            text += f" DEFAULT {default}"
        if column.comment is not None:
            text += f" COMMENT {quoted_string(column.comment)}"
        return text

    def visit_computed_column(self, generated: Any, **kw: Any) -> str:
        """Write GENERATED ALWAYS AS.

        Raises:
            CompileError: the column is defined as not stored.
        """
        if generated.persisted is False:
            raise exc.CompileError("Computed: the values of generated columns are stored in files")
        expression = self.sql_compiler.process(
            generated.sqltext, include_table=False, literal_binds=True
        )
        return f"GENERATED ALWAYS AS ({expression})"

    def visit_identity_column(self, identity: Any, **kw: Any) -> str:
        """Write GENERATED … AS IDENTITY with the first number and the increment.

        Raises:
            CompileError: there is another option of the numbers.
        """
        refused = [name for name in _IDENTITY_OPTIONS if getattr(identity, name) is not None]
        if refused:
            raise exc.CompileError(f"Identity: {', '.join(refused)} is not supported, leave it out")
        return Identity(
            start=1 if identity.start is None else identity.start,
            increment=1 if identity.increment is None else identity.increment,
            always=bool(identity.always),
        ).text

    def define_constraint_deferrability(self, constraint: Any) -> str:
        """Write nothing.

        Raises:
            CompileError: the constraint is deferrable.
        """
        if constraint.deferrable is not None or constraint.initially is not None:
            raise exc.CompileError(
                f"{type(constraint).__name__}: no constraint is deferrable, leave it out"
            )
        return ""

    def define_constraint_cascades(self, constraint: Any) -> str:
        """Write nothing.

        Raises:
            CompileError: the foreign key has an action, which nothing would perform.
        """
        if constraint.ondelete is not None or constraint.onupdate is not None:
            raise exc.CompileError(
                "ForeignKeyConstraint: nothing enforces foreign keys, leave ondelete and onupdate "
                "out"
            )
        return ""

    def post_create_table(self, table: Any) -> str:
        """Write the comment, STORED AS and TBLPROPERTIES."""
        comment = "" if table.comment is None else f" COMMENT {quoted_string(table.comment)}"
        given: Mapping[str, str] = table.dialect_options["acidsql"]["properties"] or {}
        written = property_list({"transactional": "true", **given})
        return f"{comment} STORED AS ORC TBLPROPERTIES ({written})"

    def visit_create_index(self, create: Any, *arguments: Any, **kw: Any) -> str:
        """Write an empty statement, which does not run: files have statistics, not indexes.

        Raises:
            CompileError: the index is UNIQUE, which nothing would enforce.
        """
        if create.element.unique:
            raise exc.CompileError(
                f"index {create.element.name}: UNIQUE is not enforced, leave it out"
            )
        return ""

    def visit_drop_index(self, drop: Any, **kw: Any) -> str:
        """Write an empty statement, which does not run."""
        return ""


class SparkTypeCompiler(compiler.GenericTypeCompiler):
    """Compiler of types."""

    def visit_INTEGER(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "INT"

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        is_short = type_.precision is not None and type_.precision <= _FLOAT_BITS
        return "FLOAT" if is_short else "DOUBLE"

    def visit_REAL(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "FLOAT"

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "DOUBLE"

    def visit_DOUBLE_PRECISION(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "DOUBLE"

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        # Spark's DECIMAL without arguments has no fraction.
        if type_.precision is None:
            return "DECIMAL(38, 18)"
        return f"DECIMAL({type_.precision}, {type_.scale or 0})"

    def visit_DECIMAL(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return self.visit_NUMERIC(type_, **kw)

    def visit_VARCHAR(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "STRING" if type_.length is None else f"VARCHAR({type_.length})"

    def visit_NVARCHAR(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return self.visit_VARCHAR(type_, **kw)

    def visit_CHAR(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return f"CHAR({type_.length or 1})"

    def visit_NCHAR(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return self.visit_CHAR(type_, **kw)

    def visit_TEXT(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "STRING"

    def visit_CLOB(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "STRING"

    def visit_NCLOB(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "STRING"

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        return "BINARY"

    def visit_BLOB(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "BINARY"

    def visit_BINARY(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "BINARY"

    def visit_VARBINARY(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "BINARY"

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "TIMESTAMP"

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        return "TIMESTAMP"

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        text = self.process(type_.item_type, **kw)
        for _ in range(type_.dimensions or 1):
            text = f"ARRAY<{text}>"
        return text

    def visit_TIME(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        raise exc.CompileError("ORC tables have no TIME: use a text or a TIMESTAMP")

    def visit_JSON(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        raise exc.CompileError("there is no JSON type: use a text")
