"""Tests of what random statements are said to do."""

from __future__ import annotations

from collections import Counter

from tests.concurrency.changes import (
    Copy,
    Delete,
    Insert,
    Merge,
    MergeFrom,
    Overwrite,
    Some,
    Table,
    Truncate,
    Update,
)
from tests.concurrency.histories import Effect, RowId, Values
from tests.concurrency.several import Several

PLAIN, PARTS = Table(name="plain"), Table(name="parts", partitioned=True)
SEEN: dict[str, dict[RowId, Values]] = {
    "plain": {(1, 0, 0): (1, 10, 0), (1, 0, 1): (2, 21, 0)},
    "parts": {(1, 0, 0): (1, 10, 1), (1, 0, 1): (2, 21, 2), (2, 0, 0): (5, 50, 2)},
}
EVEN = Some(modulus=2, rest=0)


def test_an_update_may_move_rows_to_other_partitions() -> None:
    change = Update(table=PARTS, where=EVEN, add=980, move=3)
    assert change.sql == ("UPDATE parts SET v = (v + 980) % 1000, p = (p + 3) % 4 WHERE id % 2 = 0")
    assert change.effects(SEEN) == {
        "parts": Effect(deleted=frozenset({(1, 0, 1)}), inserted=Counter([(2, 1, 1)]))
    }


def test_a_delete_of_one_partition() -> None:
    change = Delete(table=PARTS, where=Some(modulus=1, rest=0, partition=2))
    assert change.effects(SEEN) == {"parts": Effect(deleted=frozenset({(1, 0, 1), (2, 0, 0)}))}


def test_the_three_clauses_of_a_merge() -> None:
    change = Merge(table=PARTS, source=((1, 5, 0), (2, 5, 0), (7, 70, 3)))
    assert change.effects(SEEN) == {
        "parts": Effect(
            deleted=frozenset({(1, 0, 0), (1, 0, 1)}), inserted=Counter([(1, 15, 1), (7, 70, 3)])
        )
    }


def test_a_merge_deletes_what_the_source_has_not() -> None:
    gone = Some(modulus=5, rest=0)
    change = MergeFrom(table=PARTS, source=PLAIN, where=Some(modulus=1, rest=0), gone=gone)
    assert change.effects(SEEN) == {
        "parts": Effect(
            deleted=frozenset({(1, 0, 0), (1, 0, 1), (2, 0, 0)}),
            inserted=Counter([(1, 10, 1), (2, 21, 2)]),
        )
    }


def test_an_overwrite_replaces_the_partitions_that_get_rows() -> None:
    change = Overwrite(table=PARTS, where=EVEN, add=1)
    assert change.effects(SEEN) == {
        "parts": Effect(inserted=Counter([(2, 22, 2)]), replaced=frozenset({2}))
    }
    named = Overwrite(table=PARTS, where=Some(modulus=2, rest=0, partition=1), add=1)
    assert named.effects(SEEN) == {"parts": Effect(replaced=frozenset({1}))}


def test_a_truncate_replaces_all_partitions() -> None:
    assert Truncate(table=PARTS).effects(SEEN)["parts"].replaced == {0, 1, 2, 3}
    assert Truncate(table=PLAIN).effects(SEEN)["plain"].replaced == {0}


def test_a_copy_writes_to_several_tables() -> None:
    change = Copy(source=PARTS, targets=(PLAIN, PARTS), where=Some(modulus=5, rest=0))
    assert change.sql == (
        "FROM parts INSERT INTO plain SELECT id, v WHERE id % 5 = 0 "
        "INSERT INTO parts SELECT id, v, id % 4 WHERE id % 5 = 0"
    )
    assert change.effects(SEEN) == {
        "plain": Effect(inserted=Counter([(5, 50, 0)])),
        "parts": Effect(inserted=Counter([(5, 50, 1)])),
    }


def test_a_transaction_of_several_does_what_its_statements_do_one_after_the_other() -> None:
    change = Several(
        parts=(
            Insert(table=PLAIN, rows=((4, 40, 0), (6, 60, 0))),
            Update(table=PLAIN, where=EVEN, add=1),
            Delete(table=PLAIN, where=Some(modulus=6, rest=0)),
            Copy(source=PLAIN, targets=(PARTS,), where=Some(modulus=4, rest=0)),
        )
    )
    assert change.sql.startswith("START TRANSACTION; INSERT INTO plain VALUES (4, 40), (6, 60); ")
    assert change.effects(SEEN) == {
        "plain": Effect(deleted=frozenset({(1, 0, 1)}), inserted=Counter([(2, 22, 0), (4, 41, 0)])),
        "parts": Effect(inserted=Counter([(4, 41, 0)])),
    }
