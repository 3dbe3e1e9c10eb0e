"""Transactions of several random statements: what they do together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tests.concurrency.changes import Overwrite, Table, Truncate, random_change
from tests.concurrency.histories import Change, Effect, RowId, Rows

_MOST = 5  # statements
_SHARE = 0.15  # of all that is written


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """Transaction of several statements. Each sees what those before it did.

    Attributes:
        parts: the statements.
        read: tables that it reads before its commit.
    """

    parts: tuple[Change, ...]
    read: tuple[Table, ...] = ()

    @property
    def sql(self) -> str:
        return "; ".join(["START TRANSACTION", *(part.sql for part in self.parts), "COMMIT"])

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:
        now: dict[str, Rows] = dict(seen)
        deleted: dict[str, set[RowId]] = {}
        for number, part in enumerate(self.parts):
            for table, effect in part.effects(now).items():
                deleted.setdefault(table, set()).update(effect.deleted & seen[table].keys())
                kept = {i: row for i, row in now[table].items() if i not in effect.deleted}
                # Row ids of its own, which no table has.
                new = {(-1, number, n): row for n, row in enumerate(effect.inserted.elements())}
                now[table] = {**kept, **new}
        return {
            table: Effect(
                deleted=frozenset(own),
                inserted=Counter(row for i, row in now[table].items() if i not in seen[table]),
            )
            for table, own in deleted.items()
        }


def random_work(rng: Random, tables: Sequence[Table]) -> Change:
    """Choose a statement that writes, or a transaction of several."""
    if rng.random() >= _SHARE:
        return random_change(rng, tables)
    number = rng.randint(2, _MOST)
    parts: list[Change] = []
    while len(parts) < number:
        part = random_change(rng, tables)
        if not isinstance(part, Overwrite | Truncate):  # refused in a transaction
            parts.append(part)
    return Several(parts=tuple(parts), read=tuple(rng.sample(tables, 1)))
