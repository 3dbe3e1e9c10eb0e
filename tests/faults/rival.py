"""The process that works while another one is stopped (family ``pauses``)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import acidsql
from tests.faults import worker
from tests.faults.children import Strike
from tests.faults.workload import TABLES, State, Statement, difference, draw

WORK = "work-{}.json"
_KINDS = ("INSERT", "UPDATE", "DELETE", "MERGE", "OVERWRITE")
# The stopped process may have a lock, if its heartbeats go on.
_CLEAR = ("LOCK_TIMEOUT", "CONCURRENT_WRITE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What was done meanwhile.

    Attributes:
        before: state that was found.
        after: state that was left.
        apply: does the same to another state.
        violation: what was wrong.
    """

    before: State
    after: State
    apply: Callable[[State], State]
    violation: str | None

    @classmethod
    def read(cls, file: Path) -> Work:
        """Read the work from a file."""
        read = json.loads(file.read_text())
        before = _state(read["before"])
        statements = _statements(read["seed"], before)
        done = [s for s, is_done in zip(statements, read["done"], strict=True) if is_done]

        def apply(state: State) -> State:
            for statement in done:
                state = statement.apply(state)
            return state

        return cls(
            before=before, after=_state(read["after"]), apply=apply, violation=read["violation"]
        )


def _state(read: dict[str, list[list[object]]]) -> State:
    return {
        table: tuple((int(str(i)), str(v), int(str(p))) for i, v, p in rows)
        for table, rows in read.items()
    }


def _statements(seed: int, state: State) -> list[Statement]:
    """Return the statements for a seed: one for each table, on rows that it has."""
    rng = random.Random(seed)
    found: list[Statement] = []
    while {s.table for s in found} != set(TABLES):
        statement = draw(rng, state, _KINDS)
        if statement.table not in {s.table for s in found}:
            found.append(statement)
    return found


def begin(home: Path) -> Rival:
    """Start the session of a child beside the one that is stopped."""
    from tests.faults.pauses import SETTINGS  # noqa: PLC0415 - it imports this module

    return Rival(worker.joined(home, disk=home.parent, settings=SETTINGS))


class Rival:
    """Session that shares the tables.

    Args:
        session: the session.
    """

    def __init__(self, session: worker.Worker) -> None:
        self._session = session

    def __call__(self, seed: int) -> Strike:
        """Write to each table, compact it and clean up."""
        session = self._session
        before = session.tables()
        done, violation = [], None
        session.state = before
        for statement in _statements(seed, before):
            outcome = session.attempt(statement.text)
            done.append(outcome.returned)
            if outcome.returned:
                session.state = statement.apply(session.state)
            elif outcome.condition not in _CLEAR:
                violation = f"the other process: {statement.text!r} raised {outcome.error!r:.500}"
        acidsql.release(session.spark)
        for table in TABLES:
            place = " PARTITION (p = 1)" if table == "parted" else ""
            session.attempt(f"ALTER TABLE {table}{place} COMPACT 'major'")
        acidsql.run_cleaner(session.spark)
        found = session.tables()
        acidsql.release(session.spark)
        violation = violation or difference(found, session.state)
        answer = {
            "seed": seed, "before": before, "after": found, "done": done, "violation": violation,
        }  # fmt: skip
        file = session.home.parent / WORK.format(seed)
        file.with_suffix(".new").write_text(json.dumps(answer))
        file.with_suffix(".new").rename(file)
        return Strike(step="", statement="", struck=True, violation=violation)
