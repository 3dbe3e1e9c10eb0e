"""Work of a day: small changes of one table."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpcds_bench.data import Column
from tpcds_bench.measure import Contender, duel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TABLE, PARTITIONED_BY = "account", "branch"
COLUMNS = (
    Column(name="id", type="BIGINT"),
    Column(name="balance", type="DECIMAL(12, 2)"),
    Column(name="note", type="VARCHAR"),
    Column(name=PARTITIONED_BY, type="INT"),
)
QUERY = "SELECT count(*), sum(balance), max(length(note)) FROM {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Size of a day.

    Args:
        statements: number of all statements.
        processes: number of processes that run them, each on a separate partition.
        rows: rows of the table at the beginning.
        rounds: rounds of the read at the end.
    """

    statements: int
    processes: int
    rows: int
    rounds: int


def reading_ratio(collect: Callable[[str], None], table: str, fresh: str, size: Size) -> float:
    """Return the time to read a table, divided by the time for a fresh table of its rows.

    Args:
        collect: runs a query and fetches its rows.
    """

    def reading(name: str) -> Contender:
        return Contender(run=lambda _: collect(QUERY.format(name)))

    compared = reading(table), reading(fresh)
    return duel(*compared, rounds=size.rounds, progress=lambda: None).wall_ratio


def filling(table: str, size: Size) -> str:
    """Return the INSERT of the initial rows."""
    return (
        f"INSERT INTO {table} SELECT id, CAST(id % 1000 AS DECIMAL(12, 2)),"
        f" concat('note ', id % 97), CAST(id % {size.processes} AS INT) FROM range({size.rows})"
    )


def statements(number: int, size: Size, table: str) -> Iterator[str]:
    """Yield the statements of a process on its own partition; they depend only on its number."""
    chance = random.Random(number)
    branch = f"branch = {number}"
    for i in range(size.statements // size.processes):
        new = size.rows + i * size.processes + number
        some = chance.randrange(size.rows // size.processes) * size.processes + number
        yield chance.choice(
            (
                f"INSERT INTO {table} VALUES ({new}, 1.5, 'new', {number})",
                f"UPDATE {table} SET balance = balance + 1 WHERE {branch} AND id = {some}",
                f"DELETE FROM {table} WHERE {branch} AND id = {some}",
                (
                    f"MERGE INTO {table} a USING (SELECT {some} AS id, 'merged' AS note) s"
                    f" ON a.{branch} AND a.id = s.id WHEN MATCHED THEN UPDATE SET note = s.note"
                    f" WHEN NOT MATCHED THEN INSERT (id, balance, note, branch)"
                    f" VALUES (s.id, 0, s.note, {number})"
                ),
            )
        )
