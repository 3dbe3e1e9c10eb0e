"""Checksums that compare the rows of two tables and do not depend on the row order.

The hash of a row is ``xxhash64`` of all its columns. acidsql regards two tables as equal if they
have the same number of rows, the same sum of the hashes and the same exclusive or of the hashes.
Different rows pass this test by accident with a probability of one in 2^64.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from acidsql.copies.report import Checksum
from acidsql.errors import FormatError
from acidsql.syntax.lexer import quote


def fields_of(schema: StructType) -> tuple[tuple[str, DataType], ...]:
    """Return the names and types of the columns of a schema."""
    return tuple((field.name, field.dataType) for field in schema.fields)


def hash_sql(fields: Sequence[tuple[str, DataType]]) -> str:
    """Return the SQL expression that hashes a row.

    Args:
        fields: names and types of the columns, in the order of hashing.
    """
    parts = [text for name, kind in fields for text in _hashed(quote(name), kind, 0)]
    return f"xxhash64({', '.join(parts)})"


def _hashed(value: str, kind: DataType, depth: int) -> tuple[str, str]:
    """Return the two SQL expressions that are hashed for a value.

    The first is whether the value is NULL, because a NULL does not change the hash. The second is
    the value in its comparable form.
    """
    return f"isnull({value})", comparable_sql(value, kind, depth)


def comparable_sql(value: str, kind: DataType, depth: int = 0) -> str:
    """Return SQL that converts a value to a form where equal values have equal hashes.

    A map becomes a sorted array of its entries, because Spark does not hash maps. In nested values,
    the hash depends on the positions of the NULLs.

    Args:
        value: SQL expression of the value.
        kind: type of the value.
        depth: number of lambdas that enclose the expression.
    """
    if isinstance(kind, ArrayType):
        item = f"x{depth}"
        inner = ", ".join(_hashed(item, kind.elementType, depth + 1))
        return f"transform({value}, {item} -> struct({inner}))"
    if isinstance(kind, MapType):
        entry = f"x{depth}"
        keys = comparable_sql(f"{entry}.key", kind.keyType, depth + 1)
        inner = ", ".join(_hashed(f"{entry}.value", kind.valueType, depth + 1))
        entries = f"transform(map_entries({value}), {entry} -> struct({keys} AS k, {inner}))"
        return f"array_sort({entries})"
    if isinstance(kind, StructType):
        parts = [
            text
            for field in kind.fields
            for text in _hashed(f"{value}.{quote(field.name)}", field.dataType, depth)
        ]
        return f"struct({', '.join(parts)})" if parts else f"isnull({value})"
    return value


def checksum(frame: DataFrame, fields: Sequence[tuple[str, DataType]]) -> Checksum:
    """Return the checksum of a frame's rows.

    Args:
        frame: the rows.
        fields: names of the columns, and the types to use for the comparison.
    """
    return _checksums(frame, [hash_sql(fields)])[0]


def _checksums(frame: DataFrame, hashes: Sequence[str]) -> list[Checksum]:
    hashed = frame.selectExpr(*(f"{text} AS h{i}" for i, text in enumerate(hashes)))
    aggregates = [
        text
        for i in range(len(hashes))
        for text in (f"sum(CAST(h{i} AS DECIMAL(38,0)))", f"bit_xor(h{i})")
    ]
    (totals,) = hashed.selectExpr("count(1)", *aggregates).collect()
    return [
        Checksum(totals[0], int(totals[2 * i + 1] or 0), int(totals[2 * i + 2] or 0))
        for i in range(len(hashes))
    ]


def compare(
    source: DataFrame,
    target: DataFrame,
    fields: Sequence[tuple[str, DataType]],
    names: tuple[str, str],
) -> Checksum:
    """Check that two tables have the same rows, and return their common checksum.

    Args:
        source: rows that were copied.
        target: rows of the copy.
        fields: names of the columns, and the types to use for the comparison.
        names: names of the source and the target, for the error message.

    Raises:
        FormatError: COPY_DIFFERS, the rows are not the same.
    """
    expected, actual = checksum(source, fields), checksum(target, fields)
    if expected == actual:
        return actual
    if expected.rows != actual.rows:
        what = f"{expected.rows} rows became {actual.rows}"
    else:
        hashes = [hash_sql([field]) for field in fields]
        both = zip(_checksums(source, hashes), _checksums(target, hashes), strict=True)
        differ = [name for (name, _), (a, b) in zip(fields, both, strict=True) if a != b]
        what = f"column {', '.join(differ)} has other values" if differ else "rows differ"
    raise FormatError(
        "COPY_DIFFERS",
        f"{names[1]} is not equal to {names[0]}: {what}. The copy is kept, to be looked at; drop "
        "it before it is made again. If neither was written to meanwhile, set "
        "spark.sql.session.timeZone to UTC, where every timestamp has a local time of its own",
        {"source": names[0], "target": names[1]},
    )
