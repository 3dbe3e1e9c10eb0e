"""Properties of the checker: every serial history is accepted, and none that was tampered with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.concurrency.changes import Table
from tests.concurrency.checker import Unit, check
from tests.concurrency.histories import (
    Commit,
    History,
    Reading,
    RowId,
    Rows,
    Snapshot,
    State,
    Statement,
    Values,
    Write,
)
from tests.concurrency.several import random_work

TABLES = (Table(name="t"), Table(name="u", partitioned=True))
START = State(number=0, tables={"t": {}, "u": {}}, highest={"t": 0, "u": 0})


def serial(seed: int, length: int) -> History:
    """Return the history of statements that ran one after the other, each followed by a query."""
    rng = Random(seed)
    state: dict[str, Rows] = dict(START.tables)
    highest = dict(START.highest)
    commits: list[Commit] = []
    statements: list[Statement] = []
    readings = [_reading(0, highest, state)]
    for number in range(1, length + 1):
        change = random_work(rng, TABLES)
        seen = {name: _snapshot(write_id) for name, write_id in highest.items()}
        writes: dict[str, Write] = {}
        for table, effect in change.effects(state).items():
            highest[table] += 1
            made = _inserted(highest[table], effect.inserted)
            rows = state[table]
            writes[table] = Write(
                write_id=highest[table],
                inserted=made,
                deleted=frozenset((rows[i][2], i) for i in effect.deleted),
                replaced=effect.replaced,
            )
            kept = {
                i: row
                for i, row in rows.items()
                if i not in effect.deleted and row[2] not in effect.replaced
            }
            state[table] = {**kept, **made}
        statement = Statement(
            by="w",
            change=change,
            began=number - 1,
            ended=number,
            txn_id=number,
            snapshots=tuple(seen.items()),
            writes=writes,
        )
        statements.append(statement)
        write_ids = {table: write.write_id for table, write in writes.items()}
        commits.append(Commit(number=number, txn_id=number, write_ids=write_ids))
        readings.append(_reading(number, highest, state))
    return History(commits=tuple(commits), statements=tuple(statements), readings=tuple(readings))


def _snapshot(write_id: int) -> Snapshot:
    return Snapshot(high=write_id)


def _reading(number: int, highest: Mapping[str, int], state: Mapping[str, Rows]) -> Reading:
    seen = tuple((name, _snapshot(write_id)) for name, write_id in highest.items())
    return Reading(by="r", began=number, ended=number, snapshots=seen, rows=dict(state))


def _inserted(write_id: int, rows: Counter[Values]) -> dict[RowId, Values]:
    return {(write_id, 0, number): row for number, row in enumerate(rows.elements())}


def _replaced(history: Sequence[Statement], place: int, new: Statement) -> tuple[Statement, ...]:
    return tuple(new if i == place else s for i, s in enumerate(history))


seeds = st.integers(0, 10_000)
lengths = st.integers(1, 8)


@given(seeds, lengths, st.sampled_from(Unit))
def test_a_serial_history_is_accepted(seed: int, length: int, unit: Unit) -> None:
    history = serial(seed, length)
    found = check(history, START, unit=unit)
    assert found.violations == ()
    assert found.after.tables == history.readings[-1].rows


@given(seeds, lengths)
def test_a_history_may_be_checked_in_windows(seed: int, length: int) -> None:
    whole = serial(seed, length)
    state = START
    for place, statement in enumerate(whole.statements):
        window = History(
            commits=(whole.commits[place],),
            statements=(statement,),
            readings=(whole.readings[place + 1],),
        )
        found = check(window, state)
        assert found.violations == ()
        state = found.after
    assert state == check(whole, START).after


@given(seeds, lengths, st.data())
def test_a_row_that_is_lost_or_changed_is_found(
    seed: int, length: int, data: st.DataObject
) -> None:
    history = serial(seed, length)
    places = [
        (place, table)
        for place, reading in enumerate(history.readings)
        for table, rows in reading.rows.items()
        if rows
    ]
    assume(places)
    place, table = data.draw(st.sampled_from(places))
    reading = history.readings[place]
    rows = dict(reading.rows[table])
    row_id = data.draw(st.sampled_from(sorted(rows)))
    key, value, partition = rows.pop(row_id)
    if data.draw(st.booleans()):
        rows[row_id] = (key, value + 1, partition)
    wrong = replace(reading, rows={**reading.rows, table: rows})
    readings = [wrong if i == place else r for i, r in enumerate(history.readings)]
    assert check(replace(history, readings=tuple(readings)), START).violations


@given(seeds, lengths, st.data())
def test_a_write_that_is_not_that_of_the_statement_is_found(
    seed: int, length: int, data: st.DataObject
) -> None:
    history = serial(seed, length)
    places = [
        (place, table)
        for place, statement in enumerate(history.statements)
        for table, write in statement.writes.items()
        if write.inserted
    ]
    assume(places)
    place, table = data.draw(st.sampled_from(places))
    statement = history.statements[place]
    write = statement.writes[table]
    row_id = data.draw(st.sampled_from(sorted(write.inserted)))
    inserted = {i: row for i, row in write.inserted.items() if i != row_id}
    writes = {**statement.writes, table: replace(write, inserted=inserted)}
    wrong = _replaced(history.statements, place, replace(statement, writes=writes))
    assert check(replace(history, statements=wrong), START).violations


@given(seeds, lengths, st.data())
def test_a_snapshot_that_misses_a_commit_is_found(
    seed: int, length: int, data: st.DataObject
) -> None:
    history = serial(seed, length)
    place = data.draw(st.integers(0, len(history.readings) - 1))
    reading = history.readings[place]
    seen = dict(reading.snapshots)
    places = [table for table, snapshot in seen.items() if snapshot.high]
    assume(places)
    table = data.draw(st.sampled_from(places))
    hidden = data.draw(st.integers(1, seen[table].high))
    seen[table] = replace(seen[table], hidden=frozenset({hidden}))
    wrong = replace(reading, snapshots=tuple(seen.items()))
    readings = [wrong if i == place else r for i, r in enumerate(history.readings)]
    assert check(replace(history, readings=tuple(readings)), START).violations


@given(seeds, lengths, st.data())
def test_a_failure_that_committed_is_found(seed: int, length: int, data: st.DataObject) -> None:
    history = serial(seed, length)
    place = data.draw(st.integers(0, length - 1))
    failed = replace(history.statements[place], failure="CONCURRENT_WRITE")
    wrong = _replaced(history.statements, place, failed)
    assert check(replace(history, statements=wrong), START).violations
