"""Checker of histories: replays them, and returns what snapshot isolation does not allow.

It knows nothing of files, sessions or Spark.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum

from tests.concurrency.histories import (
    Commit,
    Effect,
    History,
    Reading,
    Rows,
    Snapshot,
    State,
    Statement,
    Write,
)


class Unit(StrEnum):
    """What two statements that run at the same time may not both update or delete."""

    PARTITION = "partition"
    ROW = "row"


class Rule(StrEnum):
    """Rule that a history can break."""

    OUTCOME = "a statement that returned has committed, one that raised has not"
    FAILURE = "statements fail for known reasons"
    SNAPSHOT = "a statement sees what was committed when it began, of all tables together"
    READING = "a query returns the state of its snapshot, whenever it is evaluated"
    EFFECT = "a statement applied to the state of its snapshot gives what it wrote"
    ROW_ID = "no row id is given twice"
    PRESENCE = "a row that is deleted is there"
    CONFLICT = "of two that overlap in time and in what they change, the first to commit wins"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Rule that was broken."""

    rule: Rule
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the checker found.

    Attributes:
        violations: rules that were broken.
        needless: conflicts that were reported where none was.
        conflicts: number of statements that failed with a conflict.
        after: state at the end of the history.
    """

    violations: tuple[Violation, ...]
    needless: tuple[Statement, ...]
    conflicts: int
    after: State


def check(
    history: History,
    before: State,
    *,
    unit: Unit = Unit.PARTITION,
    failures: AbstractSet[str] = frozenset({"CONCURRENT_WRITE"}),
) -> Verdict:
    """Check a history.

    Args:
        history: what happened.
        before: state of all tables when it began.
        unit: of conflicts.
        failures: conditions with which its statements may fail.
    """
    replay = _Replay(history, before)
    violations = [
        *replay.violations,
        *_outcomes(history, failures),
        *(v for s in history.statements for v in replay.of_statement(s)),
        *(v for r in history.readings for v in replay.of_reading(r, failures)),
        *replay.lost(unit),
    ]
    losers = [s for s in history.statements if s.failure == "CONCURRENT_WRITE"]
    needless = [s for s in losers if not replay.has_winner(s, unit)]
    return Verdict(
        violations=tuple(violations),
        needless=tuple(needless),
        conflicts=len(losers),
        after=replay.after(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Committed:
    """Commit with the statement that made it, and the number of the last commit that it saw."""

    commit: Commit
    statement: Statement
    seen: int


@dataclass(slots=True)
class _Replay:
    """States of all tables after each commit, and what was wrong on the way.

    Attributes:
        numbers: of the commits, ascending.
        versions: state after each of them.
        committed: statements that committed, in this order.
    """

    history: History
    before: State
    numbers: list[int] = field(init=False)
    versions: list[Mapping[str, Rows]] = field(init=False)
    committed: list[_Committed] = field(init=False, default_factory=list)
    violations: list[Violation] = field(init=False, default_factory=list)
    _highest: dict[str, int] = field(init=False)
    _write_ids: dict[str, dict[int, int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.numbers, self.versions = [self.before.number], [self.before.tables]
        self._highest = dict(self.before.highest)
        by_txn = {s.txn_id: s for s in self.history.statements if s.txn_id is not None}
        commits = sorted(self.history.commits, key=lambda commit: commit.number)
        for commit in commits:
            for table, write_id in commit.write_ids.items():
                self._write_ids.setdefault(table, {})[write_id] = commit.number
        for commit in commits:
            statement = by_txn.get(commit.txn_id)
            writes = {} if statement is None else statement.writes
            self.numbers.append(commit.number)
            self.versions.append(self._applied(commit, writes))
            if statement is not None:
                low, _ = self._span(statement.snapshots)
                self.committed.append(_Committed(commit=commit, statement=statement, seen=low))
        self.violations += self._repeated_write_ids()

    def _applied(self, commit: Commit, writes: Mapping[str, Write]) -> Mapping[str, Rows]:
        tables = dict(self.versions[-1])
        for table, write in writes.items():
            rows = dict(tables[table])
            for partition, row_id in sorted(write.deleted):
                old = rows.pop(row_id, None)
                if old is None or old[2] != partition:
                    self._add(
                        Rule.PRESENCE,
                        f"commit {commit.number} deletes {row_id} of {table}, which is "
                        f"{'gone' if old is None else f'in partition {old[2]}'}",
                    )
            rows = {i: row for i, row in rows.items() if row[2] not in write.replaced}
            doubled = sorted(rows.keys() & write.inserted.keys())
            foreign = sorted(i for i in write.inserted if i[0] != write.write_id)
            if doubled or foreign or commit.write_ids.get(table) != write.write_id:
                self._add(
                    Rule.ROW_ID,
                    f"commit {commit.number} has write id {commit.write_ids.get(table)} of {table} "
                    f"and wrote as {write.write_id}, {doubled} again, {foreign} of others",
                )
            tables[table] = {**rows, **write.inserted}
        return tables

    def _repeated_write_ids(self) -> Iterator[Violation]:
        given = [(t, w.write_id) for s in self.history.statements for t, w in s.writes.items()]
        for (table, write_id), times in Counter(given).items():
            if times > 1 or write_id <= self.before.highest.get(table, 0):
                yield Violation(
                    rule=Rule.ROW_ID, text=f"write id {write_id} of {table} was given before"
                )
        for table, write_id in given:
            self._highest[table] = max(write_id, self._highest.get(table, 0))

    def _add(self, rule: Rule, text: str) -> None:
        self.violations.append(Violation(rule=rule, text=text))

    def _span(self, snapshots: Iterable[tuple[str, Snapshot]]) -> tuple[int, float]:
        """Return the last commit that snapshots see, and the first that they do not see."""
        low, high = self.before.number, float("inf")
        for table, snapshot in snapshots:
            for write_id, number in self._write_ids.get(table, {}).items():
                if snapshot.sees(write_id):
                    low = max(low, number)
                else:
                    high = min(high, number)
        return low, high

    def _at(self, number: int) -> Mapping[str, Rows]:
        """Return the state after a commit."""
        return self.versions[bisect_right(self.numbers, number) - 1]

    def _of_snapshot(self, what: Statement | Reading, latest: float) -> Iterator[Violation]:
        """Check that a snapshot is the state after some commit between two moments."""
        low, high = self._span(what.snapshots)
        if low >= high:
            text = f"{what} saw commit {low} and not {high}"
        elif low > latest:
            text = f"{what} saw commit {low} of the future, after {latest}"
        elif high <= what.began:
            text = f"{what} did not see commit {high}"
        else:
            return
        yield Violation(rule=Rule.SNAPSHOT, text=text)

    def of_statement(self, statement: Statement) -> Iterator[Violation]:
        """Check what a statement saw, and what it wrote, also if it failed after that."""
        yield from self._of_snapshot(statement, statement.ended)
        if statement.failure is not None and not statement.writes:
            return
        low, _ = self._span(statement.snapshots)
        expected = statement.change.effects(self._at(low))
        for table, rows in statement.last_seen.items():
            effect = expected.get(table, Effect())
            before = self._at(low)[table].items()
            kept = Counter(row for row_id, row in before if row_id not in effect.deleted)
            if rows != kept + effect.inserted:
                yield Violation(
                    rule=Rule.READING,
                    text=f"{statement} saw {_shown(rows.elements())} of {table} before its commit, "
                    f"where it has made {_shown((kept + effect.inserted).elements())}",
                )
        for table in sorted({*expected, *statement.writes}):
            if table not in expected:
                yield Violation(rule=Rule.EFFECT, text=f"{statement} wrote to {table}")
                continue
            effect = expected[table]
            done = statement.writes.get(table, Write(write_id=0))
            wanted = effect.deleted, effect.inserted, effect.replaced
            got = (
                frozenset(row_id for _, row_id in done.deleted),
                Counter(done.inserted.values()),
                done.replaced,
            )
            names = ("deleted", "inserted", "replaced")
            for name, should, did in zip(names, wanted, got, strict=True):
                if should != did:
                    yield Violation(
                        rule=Rule.EFFECT,
                        text=f"{statement} {name} {_shown(did)} of {table} where the state after "
                        f"commit {low} asks for {_shown(should)}",
                    )

    def of_reading(self, reading: Reading, failures: AbstractSet[str]) -> Iterator[Violation]:
        """Check what a query returned."""
        if reading.failure is not None:
            if reading.failure not in failures:
                yield Violation(rule=Rule.FAILURE, text=f"{reading} raised {reading.failure}")
            return
        expected = reading.before
        if expected is None:
            yield from self._of_snapshot(reading, reading.ended)
            low, _ = self._span(reading.snapshots)
            state = self._at(low)
            expected = {table: state[table] for table in reading.rows}
        for table, rows in reading.rows.items():
            if rows != expected[table]:
                lacks = expected[table].items() - rows.items()
                more = rows.items() - expected[table].items()
                yield Violation(
                    rule=Rule.READING,
                    text=f"{reading} lacks {_shown(lacks)} of {table} and has {_shown(more)}",
                )

    def lost(self, unit: Unit) -> Iterator[Violation]:
        """Find pairs that both committed although they overlap in time and in the unit."""
        for place, later in enumerate(self.committed):
            for earlier in reversed(self.committed[:place]):
                if earlier.commit.number <= later.seen:
                    break
                if _clash(earlier.statement.writes, later.statement.writes, unit):
                    yield Violation(
                        rule=Rule.CONFLICT,
                        text=f"{later.statement} committed as {later.commit.number} and had not "
                        f"seen {earlier.statement}, commit {earlier.commit.number}",
                    )

    def has_winner(self, loser: Statement, unit: Unit) -> bool:
        """Return whether a conflict that a statement reported was there."""
        low, _ = self._span(loser.snapshots)
        return any(
            low < other.commit.number <= loser.ended
            and _clash(other.statement.writes, loser.writes, unit)
            for other in self.committed
        )

    def after(self) -> State:
        """Return the state at the end of the history."""
        return State(number=self.numbers[-1], tables=self.versions[-1], highest=self._highest)


def _outcomes(history: History, failures: AbstractSet[str]) -> Iterator[Violation]:
    """Compare the results that the writers saw with what the metastore has."""
    committed = {commit.txn_id for commit in history.commits}
    known = {s.txn_id for s in history.statements}
    for statement in history.statements:
        if statement.failure is not None and statement.failure not in failures:
            yield Violation(rule=Rule.FAILURE, text=f"{statement} raised {statement.failure}")
        if statement.txn_id is None:
            continue
        if statement.failure is None and statement.txn_id not in committed:
            yield Violation(rule=Rule.OUTCOME, text=f"{statement} returned and has not committed")
        if statement.failure is not None and statement.txn_id in committed:
            yield Violation(
                rule=Rule.OUTCOME, text=f"{statement} raised {statement.failure} and has committed"
            )
    for txn_id in sorted(committed - known):
        yield Violation(
            rule=Rule.OUTCOME, text=f"transaction {txn_id} committed and no writer made it"
        )


def _clash(earlier: Mapping[str, Write], later: Mapping[str, Write], unit: Unit) -> bool:
    return any(_overlap(earlier[t], later[t], unit) for t in earlier.keys() & later.keys())


def _overlap(earlier: Write, later: Write, unit: Unit) -> bool:
    """Return whether two writes to a table change the same unit.

    What replaces all rows of a partition excludes every other write to it, also those that only
    insert. After it, only a transaction of several statements may insert without having seen it:
    with a higher write id its rows stand beside the new ones.
    """
    is_hidden = later.write_id < earlier.write_id
    if earlier.replaced & (later.touched if is_hidden else later.changed):
        return True
    if later.replaced & earlier.touched:
        return True
    if unit is Unit.ROW:
        return bool(earlier.deleted & later.deleted)
    return bool(earlier.changed & later.changed)


def _shown(found: Iterable[object]) -> str:
    texts = sorted(map(repr, found))
    return f"{{{', '.join(texts[:6])}{f' and {len(texts) - 6} more' if len(texts) > 6 else ''}}}"
