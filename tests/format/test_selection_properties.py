"""Directory selection against an independent statement of its rules, and against histories."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.errors import AcidAnalysisError
from acidsql.format.names import (
    AcidDirectory,
    DirectoryKind,
    base_name,
    delete_delta_name,
    delta_name,
    parse_directory,
)
from acidsql.format.selection import AcidState, needs_row_filter, select
from acidsql.format.valid_lists import (
    ValidTxnList,
    ValidWriteIdList,
    compactor_write_ids,
)

BASE, DELTA, DELETE_DELTA = DirectoryKind
WRITE_IDS = st.integers(min_value=1, max_value=9)
STATEMENT_IDS = st.none() | st.integers(min_value=0, max_value=2)
TXN_IDS = st.sampled_from([0, 0, 1, 2, 3, 4])


@st.composite
def directory_names(draw: st.DrawFn) -> str:
    low, high = sorted((draw(WRITE_IDS), draw(WRITE_IDS)))
    txn_id = draw(TXN_IDS)
    if draw(st.integers(min_value=0, max_value=3)) == 0:
        return base_name(low, txn_id)
    name = draw(st.sampled_from([delta_name, delete_delta_name]))
    return name(low, high, None if txn_id else draw(STATEMENT_IDS), txn_id)


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[ValidWriteIdList, ValidTxnList]:
    mark = draw(st.integers(min_value=0, max_value=10))
    invalid = draw(st.frozensets(WRITE_IDS, max_size=4))
    aborted = draw(st.frozensets(WRITE_IDS)) & invalid
    write_ids = ValidWriteIdList(
        table="db.t",
        high_water_mark=mark,
        open=frozenset(i for i in invalid - aborted if i <= mark),
        aborted=frozenset(i for i in aborted if i <= mark),
    )
    open_txns = draw(st.frozensets(st.sampled_from([2, 3])))
    txns = ValidTxnList(high_water_mark=3, open=open_txns, aborted=frozenset({1}))
    return write_ids, txns


# The rules of Hive's getAcidState, in sets of write ids; but a base that ends with the lowest open
# write id is not read.


def _ids(directory: AcidDirectory) -> set[int]:
    return set(range(directory.min_write_id, directory.max_write_id + 1))


def _usable_base(base: AcidDirectory, write_ids: ValidWriteIdList) -> bool:
    last = base.max_write_id
    if base.visibility_txn_id:
        return last <= write_ids.high_water_mark and all(i > last for i in write_ids.open)
    return write_ids.is_valid(last)


def _expected_base(
    visible: list[AcidDirectory], write_ids: ValidWriteIdList
) -> tuple[AcidDirectory | None, bool]:
    """Return the base, and whether there is not enough history."""
    bases = [directory for directory in visible if directory.kind is BASE]
    usable = [base for base in bases if _usable_base(base, write_ids)]
    if usable:
        return max(usable, key=lambda base: (base.max_write_id, base.visibility_txn_id)), False
    lowest = min((base.max_write_id for base in bases), default=None)
    oldest = [base for base in bases if base.max_write_id == lowest]
    return None, bool(oldest) and all(base.visibility_txn_id for base in oldest)


def _expected_deltas(
    visible: list[AcidDirectory], write_ids: ValidWriteIdList, base: AcidDirectory | None
) -> tuple[list[str], set[str]]:
    """Return the deltas to read, and the obsolete ones."""
    valid = {i for i in range(1, 20) if write_ids.is_valid(i)}
    seen = [d for d in visible if d.kind is not BASE and _ids(d) & valid]
    seen.sort(
        key=lambda d: (
            d.min_write_id,
            -d.max_write_id,
            -1 if d.statement_id is None else d.statement_id,
            d.name,
        )
    )
    stale = {
        old.name
        for old in seen
        for new in seen
        if (old.kind, _ids(old), old.statement_id) == (new.kind, _ids(new), new.statement_id)
        and old.visibility_txn_id < new.visibility_txn_id
    }
    seen = [delta for delta in seen if delta.name not in stale]
    covered = base.max_write_id if base else 0
    taken: list[AcidDirectory] = []
    opener: AcidDirectory | None = None
    obsolete = set(stale)
    for delta in seen:
        new = set(range(covered + 1, delta.max_write_id + 1))
        same_transaction = (
            opener is not None
            and opener.statement_id is not None
            and opener.max_write_id == delta.max_write_id
        )
        twin = bool(taken) and (taken[-1].min_write_id, taken[-1].max_write_id) == (
            delta.min_write_id,
            delta.max_write_id,
        )
        if new & valid:
            taken.append(delta)
            opener = delta
            covered = delta.max_write_id
        elif new:
            continue
        elif same_transaction or (twin and taken[-1].statement_id == delta.statement_id):
            taken.append(delta)
        else:
            obsolete.add(delta.name)
    return [delta.name for delta in taken], obsolete


@given(st.sets(directory_names(), max_size=12), snapshots())
@settings(max_examples=600)
def test_selection_follows_the_rules(
    names: set[str], snapshot: tuple[ValidWriteIdList, ValidTxnList]
) -> None:
    write_ids, txns = snapshot
    parsed = [directory for directory in map(parse_directory, names) if directory]
    visible = [d for d in parsed if txns.is_valid(d.visibility_txn_id)]
    base, too_old = _expected_base(visible, write_ids)
    if too_old:
        with pytest.raises(AcidAnalysisError, match="ACID_NOT_ENOUGH_HISTORY"):
            select([*names, "000000_0"], write_ids, txns)
        return
    state = select([*names, "000000_0"], write_ids, txns)
    deltas, obsolete = _expected_deltas(visible, write_ids, base)
    assert state.base == base
    assert [delta.name for delta in state.deltas] == deltas
    assert state.originals == (() if base else ("000000_0",))
    bases = {d.name for d in visible if d.kind is BASE}
    assert set(state.obsolete) - bases - {"000000_0"} == obsolete
    assert ("000000_0" in state.obsolete) == (base is not None)
    aborted = write_ids.aborted
    assert set(state.aborted) == {
        d.name
        for d in parsed
        if txns.is_aborted(d.visibility_txn_id)
        or (
            d in visible and _ids(d) <= aborted and not (d.kind is BASE and d.visibility_txn_id > 0)
        )
    }


# Histories: what writers and compactors leave behind, under any interleaving.

OPEN, COMMITTED, ABORTED = "open", "committed", "aborted"
Event = tuple[DirectoryKind, int, int]  # delta or delete delta, write id, statement id


@dataclass
class History:
    """Table as its transactions know it: outcomes by id, and the events in each directory."""

    writes: dict[int, str] = field(default_factory=dict)
    overwrites: set[int] = field(default_factory=set)
    compactions: dict[int, str] = field(default_factory=dict)
    directories: dict[str, set[Event]] = field(default_factory=dict)
    events: set[Event] = field(default_factory=set)

    def snapshot(self) -> tuple[ValidWriteIdList, ValidTxnList]:
        def ids(outcomes: dict[int, str], outcome: str) -> frozenset[int]:
            return frozenset(number for number, state in outcomes.items() if state == outcome)

        write_ids = ValidWriteIdList(
            table="db.t",
            high_water_mark=len(self.writes),
            open=ids(self.writes, OPEN),
            aborted=ids(self.writes, ABORTED),
        )
        txns = ValidTxnList(
            high_water_mark=len(self.compactions),
            open=ids(self.compactions, OPEN),
            aborted=ids(self.compactions, ABORTED),
        )
        return write_ids, txns

    def add(self, name: str, events: set[Event]) -> None:
        self.directories[name] = events
        self.events |= events

    def insert(self, statements: int, outcome: str) -> None:
        """Write ``statements`` statements, each of both halves of an update."""
        write_id = len(self.writes) + 1
        self.writes[write_id] = outcome
        for statement in range(statements):
            self.add(delta_name(write_id, write_id, statement), {(DELTA, write_id, statement)})
            self.add(
                delete_delta_name(write_id, write_id, statement),
                {(DELETE_DELTA, write_id, statement)},
            )

    def stream(self, outcomes: list[str]) -> None:
        """Write a streaming delta over several write ids."""
        first = len(self.writes) + 1
        last = first + len(outcomes) - 1
        self.writes.update(zip(range(first, last + 1), outcomes, strict=True))
        self.add(delta_name(first, last), {(DELTA, i, 0) for i in range(first, last + 1)})

    def overwrite(self, outcome: str) -> None:
        write_id = len(self.writes) + 1
        self.writes[write_id] = outcome
        self.overwrites.add(write_id)
        self.add(base_name(write_id), {(DELTA, write_id, 0)})

    def compact(self, outcome: str, *, major: bool) -> None:
        if OPEN in self.compactions.values():
            return
        write_ids, txns = self.snapshot()
        write_ids = compactor_write_ids(write_ids)
        state = select(self.directories, write_ids, txns)
        if len(state.deltas) < 2:
            return
        low = min(delta.min_write_id for delta in state.deltas)
        high = max(delta.max_write_id for delta in state.deltas)
        txn_id = len(self.compactions) + 1
        self.compactions[txn_id] = outcome
        events = self.read(state, write_ids)
        inserts = {event for event in events if event[0] is DELTA}
        if major:
            self.directories[base_name(high, txn_id)] = inserts
        else:
            merged = {event for event in inserts if event[1] >= low}
            self.directories[delta_name(low, high, None, txn_id)] = merged
            self.directories[delete_delta_name(low, high, None, txn_id)] = events - inserts

    def clean(self) -> None:
        state = select(self.directories, *self.snapshot())
        for name in (*state.obsolete, *state.aborted):
            del self.directories[name]

    def read(self, state: AcidState, write_ids: ValidWriteIdList) -> set[Event]:
        """Return the events that a reader sees, after its row filter; none may be seen twice."""
        seen: list[Event] = []
        for directory in filter(None, (state.base, *state.deltas)):
            filtered = needs_row_filter(directory, write_ids)
            seen += [
                event
                for event in self.directories[directory.name]
                if not filtered or write_ids.is_valid(event[1])
            ]
        assert len(seen) == len(set(seen))
        return set(seen)

    def expected(self, write_ids: ValidWriteIdList, state: AcidState) -> set[Event]:
        """Return the valid events; delete events up to the base have done their work."""
        overwritten = max((i for i in self.overwrites if write_ids.is_valid(i)), default=0)
        base = state.base.max_write_id if state.base else 0
        return {
            (kind, write_id, statement)
            for kind, write_id, statement in self.events
            if write_ids.is_valid(write_id)
            and write_id >= overwritten
            and (kind is DELTA or write_id > base)
        }

    def check(self, snapshot: tuple[ValidWriteIdList, ValidTxnList]) -> None:
        write_ids, txns = snapshot
        state = select(self.directories, write_ids, txns)
        assert self.read(state, write_ids) == self.expected(write_ids, state)


OUTCOMES = st.sampled_from([OPEN, COMMITTED, COMMITTED, COMMITTED, ABORTED])
ENDS = st.sampled_from([COMMITTED, ABORTED])


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_every_snapshot_reads_every_valid_event_once(data: st.DataObject) -> None:
    history = History()
    readers = [history.snapshot()]
    for _ in range(data.draw(st.integers(min_value=1, max_value=14), label="steps")):
        step = data.draw(
            st.sampled_from(
                ["insert", "insert", "stream", "overwrite", "minor", "major", "resolve", "clean"]
            )
        )
        if step == "insert":
            history.insert(data.draw(st.integers(min_value=1, max_value=2)), data.draw(OUTCOMES))
        elif step == "stream":
            history.stream(data.draw(st.lists(OUTCOMES, min_size=2, max_size=3)))
        elif step == "overwrite" and OPEN not in history.writes.values():
            # Its exclusive lock keeps other writers out: it starts when none is open.
            history.overwrite(data.draw(ENDS))
        elif step in {"minor", "major"}:
            history.compact(data.draw(OUTCOMES), major=step == "major")
        elif step == "resolve":
            for outcomes in (history.writes, history.compactions):
                for number in [i for i, state in outcomes.items() if state == OPEN]:
                    outcomes[number] = data.draw(st.sampled_from([OPEN, COMMITTED, ABORTED]))
        elif step == "clean":
            history.clean()
            readers.clear()
        readers.append(history.snapshot())
        for reader in readers:
            history.check(reader)
