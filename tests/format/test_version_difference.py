"""Directories where versions of a partition differ, on histories of a model."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from acidsql.format.names import DirectoryKind, base_name, delete_delta_name, delta_name
from acidsql.format.selection import AcidState, select, without_later_compactions
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.format.version_difference import (
    Lost,
    has_rows,
    is_replaced_after,
    later_delete_deltas,
    ways_of_loss,
    with_later_rows,
    with_write_ids,
)

Row = tuple[int, int]
"""Write id that inserted it, and its number there."""

_TXNS = ValidTxnList(high_water_mark=10_000)


@dataclass
class History:
    """Partition whose old directories are never removed.

    Attributes:
        rows: rows in each base and delta.
        deletes: deleted rows in each delete delta, with the write id that deleted each.
        committed: write ids in the order of their commits.
        versions: write ids that were visible after each commit.
    """

    rows: dict[str, set[Row]] = field(default_factory=dict)
    deletes: dict[str, set[tuple[Row, int]]] = field(default_factory=dict)
    committed: list[int] = field(default_factory=list)
    versions: list[ValidWriteIdList] = field(default_factory=list)
    write_id: int = 0
    txn_id: int = 100

    def visible(self) -> ValidWriteIdList:
        highest = max(self.committed, default=0)
        is_open = set(range(1, highest + 1)) - set(self.committed)
        return ValidWriteIdList(table="t", high_water_mark=highest, open=frozenset(is_open))

    def state(self, write_ids: ValidWriteIdList) -> AcidState:
        lowest = write_ids.min_open
        complete = write_ids.high_water_mark if lowest is None else lowest - 1
        names = without_later_compactions([*self.rows, *self.deletes], complete)
        return select(names, write_ids, _TXNS)

    def live(self, state: AcidState, write_ids: ValidWriteIdList) -> set[Row]:
        deleted = {
            row
            for delta in state.delete_deltas
            for row, by in self.deletes[delta.name]
            if write_ids.is_valid(by)
        }
        stored = {
            row
            for directory in state.directories
            if directory.kind is not DirectoryKind.DELETE_DELTA
            for row in self.rows[directory.name]
            if write_ids.is_valid(row[0])
        }
        return stored - deleted

    def now(self) -> set[Row]:
        write_ids = self.visible()
        return self.live(self.state(write_ids), write_ids)

    def commit(self, *write_ids: int) -> None:
        for write_id in write_ids:
            self.committed.append(write_id)
            self.versions.append(self.visible())

    def step(self, kind: str, number: int) -> None:
        if kind in ("minor", "major"):
            self.compact(kind)
            return
        self.write_id += 1
        write_id = self.write_id
        rows = {(write_id, i) for i in range(number)}
        if kind == "overwrite":
            self.rows[base_name(write_id)] = rows
        if kind in ("insert", "update", "inverted"):
            self.rows[delta_name(write_id, write_id, 0)] = rows
        if kind in ("delete", "update"):
            gone = sorted(self.now())[: number + 1]
            name = delete_delta_name(write_id, write_id, 0)
            self.deletes[name] = {(row, write_id) for row in gone}
        if kind == "inverted":
            self.write_id += 1
            later = self.write_id
            self.rows[delta_name(later, later, 0)] = {(later, 0)}
            self.commit(later, write_id)
        else:
            self.commit(write_id)

    def compact(self, kind: str) -> None:
        write_ids = self.visible()
        state, highest = self.state(write_ids), write_ids.high_water_mark
        self.txn_id += 1
        if kind == "major" and state.directories:
            name = f"base_{highest:07}_v{self.txn_id:07}"
            self.rows[name] = self.live(state, write_ids)
        inserts, deletes = state.insert_deltas, state.delete_deltas
        if kind == "minor" and len(inserts) + len(deletes) > 1:
            lowest = min(d.min_write_id for d in state.deltas)
            suffix = f"{lowest:07}_{highest:07}_v{self.txn_id:07}"
            self.rows[f"delta_{suffix}"] = set().union(*(self.rows[d.name] for d in inserts))
            events = (self.deletes[d.name] for d in deletes)
            self.deletes[f"delete_delta_{suffix}"] = set().union(*events)


_KINDS = ("insert", "delete", "update", "overwrite", "inverted", "minor", "major")
_STEPS = st.lists(st.tuples(st.sampled_from(_KINDS), st.integers(0, 3)), min_size=1, max_size=12)


@given(_STEPS)
def test_the_directories_have_the_difference(steps: list[tuple[str, int]]) -> None:
    history = History()
    for kind, number in steps:
        history.step(kind, number)
    write_ids = history.visible()
    new = history.state(write_ids)
    for seen in [ValidWriteIdList(table="t", high_water_mark=0), *history.versions]:
        old = history.state(seen)
        before, after = history.live(old, seen), history.live(new, write_ids)
        later = history.live(with_later_rows(old, new, seen), write_ids)
        assert {row for row in later if not seen.is_valid(row[0])} == after - before
        named = {
            row
            for delta in later_delete_deltas(new, seen)
            for row, by in history.deletes[delta.name]
            if not seen.is_valid(by)
        }
        match ways_of_loss(old, new, seen):
            case Lost.NONE:
                assert before <= after
            case Lost.BY_EVENTS:
                assert before & named == before - after
                for row in before & named:
                    assert row in history.live(with_write_ids(old, row[0], row[0]), seen)
            case Lost.ALL:
                assert seen.min_open is not None


def test_nothing_is_read_where_nobody_has_written() -> None:
    names = [delta_name(1, 1, 0), delete_delta_name(2, 2, 0)]
    seen = ValidWriteIdList(table="t", high_water_mark=2)
    now = ValidWriteIdList(table="t", high_water_mark=9)
    old, new = select(names, seen, _TXNS), select(names, now, _TXNS)
    assert ways_of_loss(old, new, seen) is Lost.NONE
    assert not has_rows(with_later_rows(old, new, seen))


def test_row_ids_that_a_rebalance_may_have_given_again() -> None:
    names = [delta_name(i, i, 0) for i in (1, 2, 3)]
    seen = ValidWriteIdList(table="t", high_water_mark=3, open=frozenset({2}))
    now = ValidWriteIdList(table="t", high_water_mark=3)
    old = select(names, seen, _TXNS)
    new = select([*names, "base_0000003_v0000050"], now, _TXNS)
    assert ways_of_loss(old, new, seen) is Lost.ALL
    assert ways_of_loss(AcidState(), new, seen) is Lost.NONE


def test_bases_that_replace_rows() -> None:
    now = ValidWriteIdList(table="t", high_water_mark=9, aborted=frozenset({6}))
    names = ["base_0000005", "base_0000006", "base_0000007", "base_0000008_v0000050"]
    bases = [select([name], now, _TXNS).base for name in names]
    found = [b.name for b in bases if b is not None and is_replaced_after(b, 5, now)]
    assert found == ["base_0000007"]


def test_original_files_have_write_id_0() -> None:
    state = select(
        ["000000_0", delta_name(1, 1, 0)], ValidWriteIdList(table="t", high_water_mark=1), _TXNS
    )
    assert with_write_ids(state, 0, 0).originals == ("000000_0",)
    assert not has_rows(with_write_ids(state, 2, 3))
    assert has_rows(with_write_ids(state, 1, 1))
