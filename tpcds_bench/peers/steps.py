"""Measured steps in their order, with the goals of acidsql."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tpcds_bench.peers.sources import APPENDED, SCATTERED, Keys
from tpcds_bench.peers.statements import (
    KEY,
    Cluster,
    Compact,
    Count,
    Delete,
    Insert,
    Maxima,
    Merge,
    Read,
    Statement,
    Update,
)

TABLE, SMALL = "store_sales", "small"
"""The tables that each round creates again; the small table is loaded before its steps."""


_SCATTERED_PERCENT = "ss_ticket_number % 100 = 37"


class Yardstick(StrEnum):
    """Contender that acidsql is compared with."""

    PEER = "best peer"
    FLAT = "flat ORC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Goal for the processor time.

    Args:
        limit: highest ratio.
        against: the yardstick.
    """

    limit: float
    against: Yardstick

    def __str__(self) -> str:
        return f"≤ {self.limit:g} of {self.against.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Statement that every engine runs.

    Args:
        name: description of the statement.
        statement: the statement.
        goal: goal for the processor time, or None.
    """

    name: str
    statement: Statement
    goal: Goal | None = None

    @property
    def writes(self) -> bool:
        """Return whether the statement changes files."""
        return not isinstance(self.statement, (Count, Maxima))


def steps(keys: Keys) -> tuple[Step, ...]:
    """Return the steps of a round."""
    return (*_changes(keys), *_reads(keys), *_compaction(), *_clustering(keys), *_small(keys))


def cold_steps(keys: Keys) -> tuple[Step, ...]:
    """Return the steps that run in new processes, each as the first of its kind."""
    warm = {step.name: step.statement for step in steps(keys)}
    goals = {
        "INSERT of all rows": _peer(0.8),
        "find 1 % scattered": _peer(0.8),
        f"append of {APPENDED} rows": _peer(0.8),
        "UPDATE of 1 row": _peer(0.8),
        "UPDATE of 1 % scattered": _peer(0.8),
        "MERGE of 1.7 % with all branches": _peer(0.8),
        "max of all columns": _peer(0.8),
        "major compaction": _peer(0.8),
    }
    count = Count(table=TABLE, where=_SCATTERED_PERCENT)
    statements = {**warm, "find 1 % scattered": count}
    return tuple(
        Step(name=name, statement=statements[name], goal=goal) for name, goal in goals.items()
    )


def chosen(every: Sequence[Step], only: Sequence[str]) -> tuple[Step, ...]:
    """Return the steps with one of these parts in their names, or all if no parts are given.

    The first step fills the table, so it is always included.
    """
    return tuple(
        step
        for number, step in enumerate(every)
        if number == 0 or not only or any(part in step.name for part in only)
    )


def _changes(keys: Keys) -> tuple[Step, ...]:
    tickets = ", ".join(map(str, keys.scattered))
    return (
        Step(
            name="INSERT of all rows",
            statement=Insert(table=TABLE, source="all_rows"),
            goal=_peer(0.5),
        ),
        Step(
            name=f"append of {APPENDED} rows",
            statement=Insert(table=TABLE, source="appended_rows"),
            goal=_peer(0.9),
        ),
        Step(
            name="UPDATE of 1 row",
            statement=_more(TABLE, _row(keys.updated)),
            goal=_peer(0.6),
        ),
        Step(
            name="DELETE of 1 row",
            statement=Delete(table=TABLE, where=_row(keys.deleted)),
            goal=_peer(0.6),
        ),
        Step(
            name=f"DELETE of {SCATTERED} scattered rows",
            statement=Delete(
                table=TABLE, where=f"ss_ticket_number IN ({tickets}) AND ss_item_sk % 12 = 7"
            ),
            goal=_peer(0.9),
        ),
        Step(
            name="UPDATE of 1 % scattered",
            statement=_more(TABLE, _SCATTERED_PERCENT),
            goal=_peer(0.7),
        ),
        Step(
            name="DELETE of 1 % scattered",
            statement=Delete(table=TABLE, where="ss_ticket_number % 100 = 58"),
            goal=_peer(0.7),
        ),
        Step(
            name="DELETE of a range of 5 %",
            statement=Delete(table=TABLE, where=_between("ss_ticket_number", keys.tickets)),
            goal=_peer(0.9),
        ),
        Step(
            name="MERGE of 1.7 % with all branches",
            statement=Merge(table=TABLE, source="merged_rows", deleted="s.ss_item_sk % 3 = 1"),
            goal=_peer(0.6),
        ),
    )


def _reads(keys: Keys) -> tuple[Step, ...]:
    days = _between("ss_sold_date_sk", keys.days)
    statements: dict[str, Read] = {
        "max of all columns": Maxima(table=TABLE),
        "max of all columns of 30 days": Maxima(table=TABLE, where=days),
        "count(*)": Count(table=TABLE),
        "count(*) of 30 days": Count(table=TABLE, where=days),
    }
    return tuple(
        Step(name=name, statement=statement, goal=_peer(1.0))
        for name, statement in statements.items()
    )


def _compaction() -> tuple[Step, ...]:
    return (
        Step(name="major compaction", statement=Compact(table=TABLE), goal=_peer(0.3)),
        Step(
            name="max of all columns, compacted",
            statement=Maxima(table=TABLE),
            goal=_peer(1.0),
        ),
    )


def _clustering(keys: Keys) -> tuple[Step, ...]:
    conditions = {
        "one customer": f"ss_customer_sk = {keys.customer}",
        "one item": f"ss_item_sk = {keys.updated[1]}",
    }
    return (
        Step(
            name="clustering by 2 columns",
            statement=Cluster(table=TABLE, columns=("ss_customer_sk", "ss_item_sk")),
        ),
        *(
            Step(
                name=f"count(*) of {name}, clustered",
                statement=Count(table=TABLE, where=where),
                goal=_peer(1.0),
            )
            for name, where in conditions.items()
        ),
    )


def _small(keys: Keys) -> tuple[Step, ...]:
    return (
        Step(
            name="small table: UPDATE of 1 row",
            statement=_more(SMALL, _row(keys.small_updated)),
            goal=_peer(0.6),
        ),
        Step(
            name="small table: DELETE of 1 row",
            statement=Delete(table=SMALL, where=_row(keys.small_deleted)),
            goal=_peer(0.6),
        ),
    )


def _more(table: str, where: str) -> Update:
    return Update(table=table, column="ss_quantity", value="ss_quantity + 1", where=where)


def _row(key: tuple[int, int]) -> str:
    return " AND ".join(f"{name} = {value}" for name, value in zip(KEY, key, strict=True))


def _between(column: str, bounds: tuple[int, int]) -> str:
    return f"{column} BETWEEN {bounds[0]} AND {bounds[1]}"


def _flat(limit: float) -> Goal:
    return Goal(limit=limit, against=Yardstick.FLAT)


def _peer(limit: float) -> Goal:
    return Goal(limit=limit, against=Yardstick.PEER)
