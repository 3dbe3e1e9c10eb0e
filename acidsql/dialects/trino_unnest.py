"""UNNEST of Trino, and the lateral views that replace it in Spark."""

from __future__ import annotations

from typing import Any

from acidsql.dialects.trino_trees import StatementSource, operand_of, raw, sql_of


def with_lateral_views(source: StatementSource, node: Any) -> Any:
    """Replace joins with UNNEST by lateral views, which come after all joins."""
    from sqlglot import exp  # noqa: PLC0415 - as in tokens.py

    joins = node.args.get("joins") or []
    unnested = [join for join in joins if type(join.this).__name__ == "Unnest"]
    if not unnested:
        return node
    if joins[-len(unnested) :] != unnested:
        source.refuse(
            "UNNEST", "a join behind UNNEST is not carried over to Spark", "put it before UNNEST"
        )
    views = [_lateral_view(source, join, exp) for join in unnested]
    node.set("joins", joins[: -len(unnested)])
    node.set("laterals", [*(node.args.get("laterals") or []), *views])
    return node


def _lateral_view(source: StatementSource, join: Any, exp: Any) -> Any:
    unnest = join.this
    side = str(join.args.get("side") or "").upper()
    condition = join.args.get("on")
    is_outer = side == "LEFT" and condition is not None and sql_of(condition) == "TRUE"
    alias = unnest.args.get("alias")
    offset = unnest.args.get("offset")
    names = [column.name for column in alias.columns] if alias is not None else []
    if type(offset).__name__ == "Identifier":
        names.append(offset.name)
    if not names or (condition is not None and not is_outer) or side not in ("", "LEFT"):
        source.refuse(
            "UNNEST",
            "this UNNEST is not carried over to Spark",
            "write CROSS JOIN UNNEST(x) AS t (column), or LEFT JOIN … ON TRUE",
        )
    return exp.Lateral(
        this=raw(_exploded(source, unnest, has_offset=bool(offset))),
        view=True,
        outer=is_outer,
        alias=exp.TableAlias(
            this=exp.to_identifier(alias.name), columns=[exp.to_identifier(n) for n in names]
        ),
    )


def _exploded(source: StatementSource, unnest: Any, *, has_offset: bool) -> str:
    operands = [operand_of(operand) for operand in unnest.expressions]
    if len(operands) == 1 and not has_offset:
        return f"explode({operands[0]})"
    if len(operands) == 1:
        counted = "(v, i) -> named_struct('v', v, 'i', CAST(i + 1 AS BIGINT))"
        return f"inline(transform({operands[0]}, {counted}))"
    if has_offset:
        source.refuse(
            "ORDINALITY",
            "UNNEST of several arrays WITH ORDINALITY is not carried over to Spark",
            "unnest one array",
        )
    listed = ", ".join(f"coalesce({operand}, array())" for operand in operands)
    return f"inline(arrays_zip({listed}))"


def unnest(source: StatementSource, node: Any) -> Any:
    """Keep an UNNEST in a join, which the SELECT around it replaces; refuse any other."""
    if type(node.parent).__name__ != "Join":
        source.refuse(
            "UNNEST",
            "FROM UNNEST is not carried over to Spark",
            "write FROM (VALUES 1) AS v (one) CROSS JOIN UNNEST(x) AS t (column)",
        )
    return node
