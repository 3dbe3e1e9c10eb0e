"""The relation `v`, four rows in each engine that the expressions are about."""

from __future__ import annotations

from collections.abc import Mapping

_TYPES = {
    "id": "INT",
    "i": "INT",
    "n": "INT",
    "b": "BIGINT",
    "d": "DOUBLE",
    "m": "DECIMAL(10,2)",
    "s": "STRING",
    "e": "STRING",
    "t": "STRING",
    "dt": "DATE",
    "ts": "TIMESTAMP",
    "f": "BOOLEAN",
    "a": "ARRAY<INT>",
    "ma": "MAP<STRING, INT>",
    "st": "STRUCT<p: INT, q: STRING>",
}
_LITERALS = (
    """1 | 7 | NULL | 1234567890 | 1.5 | 12.50 | 'abc' | '' | '2024-02-29' | DATE '2024-02-29'
     | TIMESTAMP '2024-02-29 10:11:12.345' | true | array(3, 1, 2) | map('x', 1)
     | named_struct('p', 1, 'q', 'a')""",
    """2 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
     | NULL | NULL | NULL | NULL
     | NULL""",
    """3 | -3 | NULL | -1 | -2.5 | -0.05 | '' | '' | '2023-01-31 23:59:59' | DATE '2023-01-31'
     | TIMESTAMP '2023-01-31 23:59:59' | false | array_remove(array(0), 0) | map('z', 26)
     | named_struct('p', 2, 'q', 'b')""",
    """4 | 1 | NULL | 0 | 2 | 100.00 | '12.7' | '' | 'nonsense' | DATE '2020-12-31'
     | TIMESTAMP '2020-12-31 00:00:00' | true | array(2, NULL) | map('y', 2)
     | named_struct('p', 3, 'q', 'c')""",
)
# What Hive makes a NULL of such a type of: it casts none.
_SOME = {"ARRAY<INT>": "array(0)", "MAP<STRING, INT>": "map('', 0)"}
_TYPES_OF_TRINO = {
    "STRING": "VARCHAR",
    "TIMESTAMP": "TIMESTAMP(3)",
    "ARRAY<INT>": "ARRAY(INTEGER)",
    "MAP<STRING, INT>": "MAP(VARCHAR, INTEGER)",
    "STRUCT<p: INT, q: STRING>": "ROW(p INTEGER, q VARCHAR)",
}
_LITERALS_OF_TRINO = {
    "array(3, 1, 2)": "ARRAY[3, 1, 2]",
    "array_remove(array(0), 0)": "ARRAY[]",
    "array(2, NULL)": "ARRAY[2, NULL]",
}


def _rows() -> list[dict[str, str]]:
    return [
        dict(zip(_TYPES, (literal.strip() for literal in row.split("|")), strict=True))
        for row in _LITERALS
    ]


def create_in_hive() -> list[str]:
    """Return the statements that make `v` in Hive."""
    columns = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
    inserts = [f"INSERT INTO v SELECT {', '.join(_of_hive(row))}" for row in _rows()]
    return [f"CREATE TABLE v ({columns}) STORED AS ORC", *inserts]


def _of_hive(row: Mapping[str, str]) -> list[str]:
    some = _SOME | {_TYPES["st"]: "named_struct('p', 0, 'q', '')"}
    return [
        f"if(true, NULL, {some[_TYPES[name]]})"
        if literal == "NULL" and _TYPES[name] in some
        else literal
        for name, literal in row.items()
    ]


def view_in_spark() -> str:
    """Return the statement that makes `v` in Spark."""
    queries = [
        "SELECT "
        + ", ".join(f"CAST({literal} AS {_TYPES[name]}) AS {name}" for name, literal in row.items())
        for row in _rows()
    ]
    return f"CREATE OR REPLACE TEMPORARY VIEW v AS {' UNION ALL '.join(queries)}"


def with_of_trino() -> str:
    """Return the clause that a query of Trino begins with, so that it has `v`."""
    types = {name: _TYPES_OF_TRINO.get(kind, kind) for name, kind in _TYPES.items()}
    queries = [
        "SELECT "
        + ", ".join(
            f"CAST({_of_trino(literal)} AS {types[name]}) {name}" for name, literal in row.items()
        )
        for row in _rows()
    ]
    return f"WITH v AS ({' UNION ALL '.join(queries)})"


def _of_trino(literal: str) -> str:
    if literal.startswith("map("):
        key, value = literal[4:-1].split(", ")
        return f"MAP(ARRAY[{key}], ARRAY[{value}])"
    if literal.startswith("named_struct("):
        _, p, _, q = literal.removeprefix("named_struct(")[:-1].split(", ")
        return f"ROW({p}, {q})"
    return _LITERALS_OF_TRINO.get(literal, literal)
