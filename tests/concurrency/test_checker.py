"""Tests of the checker on histories made by hand, each with one anomaly."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.concurrency.changes import Delete, Insert, Overwrite, Some, Table, Update
from tests.concurrency.checker import Rule, Unit, Verdict, check
from tests.concurrency.histories import (
    Change,
    Commit,
    History,
    Reading,
    RowId,
    Snapshot,
    State,
    Statement,
    Values,
    Write,
)
from tests.concurrency.several import Several

T, U = Table(name="t", partitioned=True), Table(name="u", partitioned=True)
# Rows 1 and 2 of partition 0, row 3 of partition 1.
ROWS: dict[RowId, Values] = {(1, 0, 0): (1, 10, 0), (1, 0, 1): (2, 20, 0), (1, 0, 2): (3, 30, 1)}
START = State(number=1, tables={"t": ROWS, "u": {}}, highest={"t": 1, "u": 0})
ALL = Some(modulus=1, rest=0)


def one(key: int, partition: int | None = None) -> Some:
    return Some(modulus=100, rest=key, partition=partition)


def sees(*write_ids: int, of: str = "t") -> tuple[tuple[str, Snapshot], ...]:
    """Return a snapshot of write ids beside those from before the history."""
    high = max([1, *write_ids])
    hidden = frozenset(range(2, high + 1)) - set(write_ids)
    return ((of, Snapshot(high=high, hidden=hidden)),)


def update(key: int, *, add: int, write_id: int, old: RowId, was: Values) -> Statement:
    """Return a correct UPDATE of one row by transaction ``10 + write_id``."""
    new = (was[0], was[1] + add, was[2])
    return Statement(
        by="w",
        change=Update(table=T, where=one(key), add=add),
        began=1,
        ended=9,
        txn_id=10 + write_id,
        snapshots=sees(),
        writes={
            "t": Write(
                write_id=write_id,
                inserted={(write_id, 0, 0): new},
                deleted=frozenset({(was[2], old)}),
            )
        },
    )


def insert(write_id: int, row: Values = (9, 90, 0)) -> Statement:
    write = Write(write_id=write_id, inserted={(write_id, 0, 0): row})
    change: Change = Insert(table=T, rows=(row,))
    return Statement(
        by="w", change=change, began=1, ended=9, txn_id=10 + write_id, snapshots=sees(),
        writes={"t": write},
    )  # fmt: skip


FIRST = update(1, add=1, write_id=2, old=(1, 0, 0), was=(1, 10, 0))
SECOND = update(2, add=1, write_id=3, old=(1, 0, 1), was=(2, 20, 0))
ELSEWHERE = update(3, add=1, write_id=3, old=(1, 0, 2), was=(3, 30, 1))
AFTER_FIRST = {
    (2, 0, 0): (1, 11, 0),
    (1, 0, 1): (2, 20, 0),
    (1, 0, 2): (3, 30, 1),
}


def commits(*statements: Statement) -> tuple[Commit, ...]:
    """Return commits of statements, in this order, as 2, 3 and so on."""
    return tuple(
        Commit(
            number=number,
            txn_id=s.txn_id or 0,
            write_ids={table: write.write_id for table, write in s.writes.items()},
        )
        for number, s in enumerate(statements, start=2)
    )


def reading(rows: dict[RowId, Values], *seen: int, began: int = 1, ended: int = 9) -> Reading:
    return Reading(by="r", began=began, ended=ended, snapshots=sees(*seen), rows={"t": rows})


def verdict(
    *statements: Statement,
    readings: tuple[Reading, ...] = (),
    unit: Unit = Unit.PARTITION,
) -> Verdict:
    """Check a history where all statements that raised nothing commit, in their order."""
    done = commits(*(s for s in statements if s.failure is None and s.txn_id is not None))
    history = History(commits=done, statements=statements, readings=readings)
    return check(history, START, unit=unit)


def rules(found: Verdict) -> list[Rule]:
    return [violation.rule for violation in found.violations]


def test_a_correct_history_is_accepted() -> None:
    then = replace(
        update(1, add=5, write_id=3, old=(2, 0, 0), was=(1, 11, 0)), snapshots=sees(2), began=2
    )
    last = {**AFTER_FIRST, (3, 0, 0): (1, 16, 0)}
    del last[2, 0, 0]
    found = verdict(
        FIRST,
        then,
        readings=(reading(ROWS), reading(AFTER_FIRST, 2), reading(last, 2, 3, began=3)),
    )
    assert rules(found) == []
    assert found.after == State(number=3, tables={"t": last, "u": {}}, highest={"t": 3, "u": 0})


def test_a_lost_update() -> None:
    late = update(1, add=5, write_id=3, old=(1, 0, 0), was=(1, 10, 0))
    for unit in Unit:
        assert rules(verdict(FIRST, late, unit=unit)) == [Rule.PRESENCE, Rule.CONFLICT]


def test_two_rows_of_a_partition_conflict_where_the_unit_is_the_partition() -> None:
    assert rules(verdict(FIRST, SECOND, unit=Unit.PARTITION)) == [Rule.CONFLICT]
    assert rules(verdict(FIRST, SECOND, unit=Unit.ROW)) == []


def test_different_partitions_do_not_conflict() -> None:
    assert rules(verdict(FIRST, ELSEWHERE)) == []


def test_inserts_do_not_conflict() -> None:
    assert rules(verdict(FIRST, insert(3), insert(4))) == []


def test_an_insert_that_an_overwrite_has_not_seen_is_lost() -> None:
    overwrite = Statement(
        by="w", change=Overwrite(table=T, where=one(2, 0), add=0), began=1, ended=9, txn_id=13,
        snapshots=sees(),
        writes={"t": Write(write_id=3, inserted={(3, 0, 0): (2, 20, 0)}, replaced=frozenset({0}))},
    )  # fmt: skip
    assert rules(verdict(overwrite)) == []
    for unit in Unit:
        assert rules(verdict(insert(2), overwrite, unit=unit)) == [Rule.CONFLICT]
        assert rules(verdict(overwrite, insert(2), unit=unit)) == [Rule.CONFLICT]
        assert rules(verdict(overwrite, insert(4), unit=unit)) == []
    assert rules(verdict(insert(2, (9, 90, 1)), overwrite)) == []


def test_a_transaction_of_several_sees_what_it_did_and_nothing_of_others() -> None:
    parts = (Insert(table=T, rows=((9, 90, 0),)), Update(table=T, where=one(9), add=1))
    several = replace(
        insert(2, (9, 91, 0)),
        change=Several(parts=parts),
        last_seen={"t": Counter([*ROWS.values(), (9, 91, 0)]), "u": Counter()},
    )
    assert rules(verdict(several)) == []
    late = replace(several, last_seen={"t": Counter([*ROWS.values(), (9, 90, 0)])})
    assert rules(verdict(late)) == [Rule.READING]
    twice = replace(several, last_seen={"u": Counter([(1, 1, 1)])})
    assert rules(verdict(twice)) == [Rule.READING]
    one_of_them = replace(several, writes=insert(2).writes)
    assert rules(verdict(one_of_them)) == [Rule.EFFECT]


def test_write_skew_is_allowed() -> None:
    """Each deletes what the other one has not: both see the two rows, and both commit."""
    one_side = Statement(
        by="w", change=Delete(table=T, where=one(1)), began=1, ended=9, txn_id=12,
        snapshots=sees(), writes={"t": Write(write_id=2, deleted=frozenset({(0, (1, 0, 0))}))},
    )  # fmt: skip
    other = Statement(
        by="w", change=Delete(table=T, where=one(3)), began=1, ended=9, txn_id=13,
        snapshots=sees(), writes={"t": Write(write_id=3, deleted=frozenset({(1, (1, 0, 2))}))},
    )  # fmt: skip
    assert rules(verdict(one_side, other)) == []


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ({**ROWS, (2, 0, 0): (1, 11, 0)}, Rule.READING),  # of a transaction that fails: dirty
        ({i: row for i, row in ROWS.items() if i != (1, 0, 2)}, Rule.READING),  # lost
        ({**ROWS, (1, 0, 0): (1, 77, 0)}, Rule.READING),  # other values
    ],
)
def test_a_query_that_returns_other_rows(rows: dict[RowId, Values], rule: Rule) -> None:
    failed = replace(FIRST, failure="CONCURRENT_WRITE")
    assert rules(verdict(failed, readings=(reading(rows),))) == [rule]


def test_a_query_that_returns_other_rows_the_second_time() -> None:
    again = replace(reading(AFTER_FIRST), before={"t": ROWS})
    assert rules(verdict(FIRST, readings=(reading(ROWS), again))) == [Rule.READING]
    same = replace(reading(ROWS), before={"t": ROWS})
    assert rules(verdict(FIRST, readings=(reading(ROWS), same))) == []


def test_a_snapshot_of_an_earlier_time() -> None:
    assert rules(verdict(FIRST, readings=(reading(ROWS, began=2),))) == [Rule.SNAPSHOT]


def test_a_snapshot_of_a_later_time() -> None:
    assert rules(verdict(FIRST, readings=(reading(AFTER_FIRST, 2, ended=1),))) == [Rule.SNAPSHOT]


def test_a_snapshot_that_sees_the_second_commit_and_not_the_first() -> None:
    mixed = {**ROWS, (3, 0, 0): (3, 31, 1)}
    del mixed[1, 0, 2]
    found = verdict(FIRST, ELSEWHERE, readings=(reading(mixed, 3),))
    assert rules(found) == [Rule.SNAPSHOT, Rule.READING]


def test_two_tables_at_two_times() -> None:
    row = (7, 70, 0)
    both = Statement(
        by="w", change=Insert(table=U, rows=(row,)), began=1, ended=9, txn_id=13,
        snapshots=sees(of="u"), writes={"u": Write(write_id=2, inserted={(2, 0, 0): row})},
    )  # fmt: skip
    mixed = Reading(
        by="r", began=1, ended=9, snapshots=(*sees(), *sees(2, of="u")),
        rows={"t": ROWS, "u": {(2, 0, 0): row}},
    )  # fmt: skip
    assert Rule.SNAPSHOT in rules(verdict(FIRST, both, readings=(mixed,)))


def test_a_statement_that_read_another_state_than_its_snapshot() -> None:
    wrong = replace(
        update(1, add=5, write_id=3, old=(1, 0, 0), was=(1, 10, 0)), snapshots=sees(2), began=2
    )
    assert Rule.EFFECT in rules(verdict(FIRST, wrong))


def test_a_statement_that_skips_a_row() -> None:
    half = replace(FIRST, change=Update(table=T, where=ALL, add=1))
    assert rules(verdict(half)) == [Rule.EFFECT, Rule.EFFECT]  # deleted and inserted


def test_a_row_id_that_is_given_twice() -> None:
    write = Write(write_id=1, inserted={(1, 0, 0): (9, 90, 0)})
    doubled = replace(insert(1), writes={"t": write})
    assert set(rules(verdict(doubled))) == {Rule.ROW_ID}


def test_a_write_id_that_is_given_twice() -> None:
    failed = replace(FIRST, txn_id=99, failure="CONCURRENT_WRITE")
    assert rules(verdict(failed, FIRST)) == [Rule.ROW_ID]


def test_a_row_id_with_another_write_id() -> None:
    foreign = replace(insert(2), writes={"t": Write(write_id=2, inserted={(5, 0, 0): (9, 90, 0)})})
    assert rules(verdict(foreign)) == [Rule.ROW_ID]


def test_outcomes_are_those_of_the_metastore() -> None:
    history = History(commits=(), statements=(FIRST,))
    assert rules(check(history, START)) == [Rule.OUTCOME]
    failed = replace(FIRST, failure="CONCURRENT_WRITE")
    history = History(commits=commits(FIRST), statements=(failed,))
    assert rules(check(history, START)) == [Rule.OUTCOME]
    history = History(commits=commits(FIRST), statements=())
    assert rules(check(history, START)) == [Rule.OUTCOME]


def test_an_unknown_failure() -> None:
    failed = Statement(
        by="w", change=FIRST.change, began=1, ended=9, failure="LOCK_TIMEOUT", snapshots=sees()
    )
    assert rules(verdict(failed)) == [Rule.FAILURE]
    unread = replace(reading({}), failure="FILE_NOT_EXIST")
    assert rules(verdict(readings=(unread,))) == [Rule.FAILURE]


def test_a_conflict_that_is_none_is_no_violation_and_is_reported() -> None:
    loser = replace(SECOND, failure="CONCURRENT_WRITE")
    found = verdict(FIRST, loser, unit=Unit.PARTITION)
    assert (rules(found), found.needless, found.conflicts) == ([], (), 1)
    found = verdict(FIRST, loser, unit=Unit.ROW)
    assert (rules(found), found.needless, found.conflicts) == ([], (loser,), 1)
    elsewhere = replace(ELSEWHERE, failure="CONCURRENT_WRITE")
    assert verdict(FIRST, elsewhere).needless == (elsewhere,)
