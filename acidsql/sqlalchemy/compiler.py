"""Compilers of SQLAlchemy's statements, tables and types to Spark's SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import exc, schema
from sqlalchemy.sql import compiler

from acidsql.syntax.literals import property_list, quoted_string

# Largest precision in bits of a number that is a FLOAT, as in the SQL standard.
_FLOAT_BITS = 24


class SparkIdentifierPreparer(compiler.IdentifierPreparer):
    """Names, quoted by backticks where they need it."""

    def __init__(self, dialect: Any, **options: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`", **options)


class SparkCompiler(compiler.SQLCompiler):
    """Queries and changes."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        """Write LIMIT and OFFSET; Spark has either without the other."""
        text = ""
        if select._limit_clause is not None:
            text += f"\n LIMIT {self.process(select._limit_clause, **kw)}"
        if select._offset_clause is not None:
            text += f"\n OFFSET {self.process(select._offset_clause, **kw)}"
        return text

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """Write nothing: queries lock no rows."""
        return ""

    def returning_clause(self, stmt: Any, returning_cols: Any, **kw: Any) -> str:
        """Refuse RETURNING.

        Raises:
            CompileError: always.
        """
        raise exc.CompileError("RETURNING is not supported: query the rows afterwards")

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write RLIKE."""
        return self._generate_generic_binary(binary, " RLIKE ", **kw)

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write NOT RLIKE."""
        return self._generate_generic_binary(binary, " NOT RLIKE ", **kw)

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        """Write a query without rows."""
        return f"SELECT {', '.join('1' for _ in element_types or (None,))} WHERE 1 != 1"


class SparkDDLCompiler(compiler.DDLCompiler):
    """Definitions of tables, which are transactional."""

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        """Write name, type, NOT NULL, DEFAULT and COMMENT of a column."""
        kind = self.dialect.type_compiler_instance.process(column.type, type_expression=column)
        text = f"{self.preparer.format_column(column)} {kind}"
        if not column.nullable and not column.primary_key:
            text += " NOT NULL"
        default = self.get_column_default_string(column)
        if default is not None:
            text += f" DEFAULT {default}"
        if column.comment is not None:
            text += f" COMMENT {quoted_string(column.comment)}"
        return text

    def create_table_constraints(self, table: Any, *arguments: Any, **kw: Any) -> str:
        """Write nothing: keys are known to the program alone.

        Raises:
            CompileError: a UNIQUE or CHECK, which would hold nothing.
        """
        for constraint in table.constraints:
            if isinstance(constraint, schema.UniqueConstraint | schema.CheckConstraint):
                raise exc.CompileError(
                    f"{type(constraint).__name__} of table {table.name}: no constraint but "
                    "NOT NULL is enforced, leave it out"
                )
        return ""

    def post_create_table(self, table: Any) -> str:
        """Write the comment, STORED AS and TBLPROPERTIES."""
        comment = "" if table.comment is None else f" COMMENT {quoted_string(table.comment)}"
        given: Mapping[str, str] = table.dialect_options["acidsql"]["properties"] or {}
        written = property_list({"transactional": "true", **given})
        return f"{comment} STORED AS ORC TBLPROPERTIES ({written})"

    def visit_create_index(self, create: Any, *arguments: Any, **kw: Any) -> str:
        """Write nothing, which is not run: files have statistics instead of indexes.

        Raises:
            CompileError: the index is UNIQUE, which would hold nothing.
        """
        if create.element.unique:
            raise exc.CompileError(
                f"index {create.element.name}: UNIQUE is not enforced, leave it out"
            )
        return ""

    def visit_drop_index(self, drop: Any, **kw: Any) -> str:
        """Write nothing, which is not run."""
        return ""


class SparkTypeCompiler(compiler.GenericTypeCompiler):
    """Types."""

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
        # Spark's own DECIMAL has no fraction.
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

    def visit_TIME(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        raise exc.CompileError("ORC tables have no TIME: use a text or a TIMESTAMP")

    def visit_JSON(self, type_: Any, **kw: Any) -> str:  # noqa: N802
        raise exc.CompileError("there is no JSON type: use a text")
