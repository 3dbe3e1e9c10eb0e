"""Random statements on three tables, each with the rows that it leaves."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Row = tuple[int, str, int]
State = Mapping[str, tuple[Row, ...]]
"""Sorted rows by table; a table that is not there has no entry."""

_PROPERTIES = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
TABLES = {
    "plain": f"CREATE TABLE plain (id INT, v STRING, p INT) {_PROPERTIES}",
    "parted": f"CREATE TABLE parted (id INT, v STRING) PARTITIONED BY (p INT) {_PROPERTIES}",
    "bucketed": "CREATE TABLE bucketed (id INT, v STRING, p INT)"
    f" CLUSTERED BY (id) INTO 2 BUCKETS {_PROPERTIES}",
}
COPY = "copy"
EMPTY: State = dict.fromkeys(TABLES, ())
_PARTITIONS = 3
_MOST_ROWS = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Statement, and the state after it.

    Attributes:
        kind: what it is, as in a table of the report.
        table: the table that it changes.
        text: its SQL.
        apply: returns the state after it.
        before: the state for which it was drawn.
        after: the state after it.
    """

    kind: str
    table: str
    text: str
    apply: Callable[[State], State]
    before: State
    after: State


_Apply = Callable[[Sequence[Row]], Sequence[Row]]
_Draw = Callable[[random.Random, State, str], tuple[str, _Apply]]


def _fresh(state: State, table: str) -> int:
    return 1 + max((row[0] for row in state[table]), default=0)


def _insert(_: random.Random, state: State, table: str) -> tuple[str, _Apply]:
    first = _fresh(state, table)
    new = [(first + i, "i", i % _PARTITIONS) for i in range(3)]
    values = ", ".join(f"({i}, '{v}', {p})" for i, v, p in new)
    return f"INSERT INTO {table} VALUES {values}", lambda rows: [*rows, *new]


def _of_range(first: int, end: int, value: str) -> tuple[str, list[Row]]:
    query = (
        f"SELECT CAST(id AS INT) id, '{value}' v, CAST(id % {_PARTITIONS} AS INT) p"
        f" FROM range({first}, {end}, 1, 2)"
    )
    return query, [(i, value, i % _PARTITIONS) for i in range(first, end)]


def _insert_select(rng: random.Random, state: State, table: str) -> tuple[str, _Apply]:
    # More rows than the driver writes itself.
    first = _fresh(state, table)
    query, new = _of_range(first, first + rng.randrange(250, 400), "s")
    return f"INSERT INTO {table} {query}", lambda rows: [*rows, *new]


def _update(rng: random.Random, _: State, table: str) -> tuple[str, _Apply]:
    modulus = rng.randrange(2, 6)
    value = f"u{rng.randrange(100)}"

    def apply(rows: Sequence[Row]) -> Sequence[Row]:
        return [(i, value if i % modulus == 0 else v, p) for i, v, p in rows]

    return f"UPDATE {table} SET v = '{value}' WHERE id % {modulus} = 0", apply


def _delete(rng: random.Random, _: State, table: str) -> tuple[str, _Apply]:
    modulus = rng.randrange(2, 6)
    text = f"DELETE FROM {table} WHERE id % {modulus} = 1"
    return text, lambda rows: [row for row in rows if row[0] % modulus != 1]


def _merge(rng: random.Random, state: State, table: str) -> tuple[str, _Apply]:
    end = _fresh(state, table) + rng.randrange(5, 300)
    first = max(1, end - rng.randrange(10, 600))
    query, source = _of_range(first, end, "m")
    text = (
        f"MERGE INTO {table} t USING ({query}) s ON t.id = s.id"
        " WHEN MATCHED AND s.id % 5 = 0 THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET v = s.v"
        " WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, s.v, s.p)"
    )

    def apply(rows: Sequence[Row]) -> Sequence[Row]:
        present = {row[0] for row in rows}
        given = {row[0] for row in source}
        kept = [row for row in rows if row[0] not in given]
        changed = [(i, "m", p) for i, _, p in rows if i in given and i % 5]
        return [*kept, *changed, *(row for row in source if row[0] not in present)]

    return text, apply


def _overwrite(rng: random.Random, state: State, table: str) -> tuple[str, _Apply]:
    first = _fresh(state, table) if rng.random() < 0.5 else 1
    query, new = _of_range(first, first + 250, "o")
    return f"INSERT OVERWRITE {table} {query}", lambda _: new


def _truncate(_: random.Random, __: State, table: str) -> tuple[str, _Apply]:
    return f"TRUNCATE TABLE {table}", lambda _: []


def _compact(rng: random.Random, state: State, table: str) -> tuple[str, _Apply]:
    kind = rng.choice(["major", "minor"])
    place = ""
    if table == "parted":
        present = sorted({row[2] for row in state[table]})
        if not present:
            return _insert(rng, state, table)
        place = f" PARTITION (p = {rng.choice(present)})"
    return f"ALTER TABLE {table}{place} COMPACT '{kind}' AND WAIT", lambda rows: rows


def _drop_partition(rng: random.Random, _: State, table: str) -> tuple[str, _Apply]:
    value = rng.randrange(_PARTITIONS)
    text = f"ALTER TABLE {table} DROP IF EXISTS PARTITION (p = {value})"
    return text, lambda rows: [row for row in rows if row[2] != value]


_DRAWS: Mapping[str, _Draw] = {
    "INSERT": _insert,
    "INSERT SELECT": _insert_select,
    "UPDATE": _update,
    "DELETE": _delete,
    "MERGE": _merge,
    "OVERWRITE": _overwrite,
    "TRUNCATE": _truncate,
    "COMPACT": _compact,
    "DROP PARTITION": _drop_partition,
}
KINDS = (*_DRAWS, "CTAS or DROP")
_RARE = frozenset({"TRUNCATE", "OVERWRITE", "DROP PARTITION"})
_EMPTYING = "OVERWRITE"


def draw(rng: random.Random, state: State, kinds: Sequence[str] = KINDS) -> Statement:
    """Return a random statement for the tables as they are.

    Args:
        rng: source of the choices.
        state: the tables.
        kinds: those to choose from.
    """
    table = rng.choice(sorted(TABLES))
    kind = rng.choices(kinds, weights=[1 if one in _RARE else 3 for one in kinds])[0]
    if len(state[table]) > _MOST_ROWS:
        kind = _EMPTYING
    if kind == "CTAS or DROP":
        return _create_or_drop(state, table)
    if kind == "DROP PARTITION":
        table = "parted"
    return _of_table(kind, table, state, *_DRAWS[kind](rng, state, table))


def _of_table(kind: str, table: str, state: State, text: str, change: _Apply) -> Statement:
    def apply(before: State) -> State:
        return {**before, table: tuple(sorted(change(before[table])))}

    return Statement(
        kind=kind, table=table, text=text, apply=apply, before=state, after=apply(state)
    )


def insert_into(table: str, state: State) -> Statement:
    """Return an INSERT of three rows, into another table if this one is a copy."""
    table = table if table in TABLES else "plain"
    return _of_table("INSERT", table, state, *_insert(random.Random(0), state, table))


def _create_or_drop(state: State, table: str) -> Statement:
    if COPY in state:
        return _of_copy("DROP", state, f"DROP TABLE {COPY}", _without_copy)
    text = f"CREATE TABLE {COPY} {_PROPERTIES} AS SELECT id, v, p FROM {table}"
    return _of_copy("CTAS", state, text, lambda before: {**before, COPY: before[table]})


def _without_copy(state: State) -> State:
    return {name: rows for name, rows in state.items() if name != COPY}


def _of_copy(kind: str, state: State, text: str, apply: Callable[[State], State]) -> Statement:
    return Statement(
        kind=kind, table=COPY, text=text, apply=apply, before=state, after=apply(state)
    )


def difference(found: State, expected: State) -> str | None:
    """Return in words how tables differ from what they should be; None if they do not."""
    for table in sorted({*found, *expected}):
        if table not in found or table not in expected:
            return f"{table} is {'there' if table in found else 'gone'}"
        if found[table] != expected[table]:
            missing = sorted(set(expected[table]) - set(found[table]))
            extra = sorted(set(found[table]) - set(expected[table]))
            return (
                f"{table} has {len(found[table])} rows instead of {len(expected[table])};"
                f" missing {missing[:3]}, too many {extra[:3]}"
            )
    return None
