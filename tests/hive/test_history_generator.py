"""Tests of random histories: a seed fixes them, all kinds occur, and differences are found."""

from __future__ import annotations

import pytest

from tests.hive.histories import Failure, History, StepKind, history
from tests.hive.history_runner import DifferenceError, RowIds, compare
from tests.hive.history_tables import Engine
from tests.hive.history_values import SIMPLE
from tests.hive_values import Identified

_SEEDS = 200


@pytest.fixture(scope="module")
def histories() -> list[History]:
    return [history(seed) for seed in range(_SEEDS)]


def test_a_seed_makes_the_same_history_again(histories: list[History]) -> None:
    assert [history(seed) for seed in range(_SEEDS)] == histories
    assert len({str(told).partition("\n")[2] for told in histories}) == _SEEDS


def test_every_type_occurs_alone_and_nested(histories: list[History]) -> None:
    names = [c.kind.name for told in histories for c in told.schema.columns]
    assert {kind.name for kind in SIMPLE} <= set(names)
    inside = [name for name in names if "<" in name]
    assert {name.partition("<")[0] for name in inside} == {"ARRAY", "MAP", "STRUCT"}
    assert all(any(kind.name in name for name in inside) for kind in SIMPLE)


def test_every_kind_of_table_occurs(histories: list[History]) -> None:
    found = {
        (len(s.partitions), bool(s.buckets), s.by) for s in (told.schema for told in histories)
    }
    assert found == {(p, b, by) for p in range(3) for b in (False, True) for by in Engine}
    assert {
        v.shown is None for told in histories for c in told.schema.partitions for v in c.choices
    }
    assert {k for told in histories for k, _ in told.schema.properties} == {
        "bucketing_version",
        "orc.compress",
    }


def test_every_step_occurs_on_both_sides(histories: list[History]) -> None:
    found = {(step.kind, step.by) for told in histories for step in told.steps}
    of_hive_alone = {StepKind.TRANSACTION, StepKind.OPEN, StepKind.END}
    assert found == {
        (kind, by)
        for kind in StepKind
        for by in Engine
        if by is Engine.HIVE or kind not in of_hive_alone
    }
    assert {step.failure for told in histories for step in told.steps} == {None, *Failure}


@pytest.mark.parametrize(
    "part",
    [
        "VALUES",
        "SELECT /*+ REPARTITION(3) */",
        "INSERT INTO history_{} PARTITION (",
        "FROM history_{}_source INSERT",
        "WHEN NOT MATCHED BY SOURCE",
        "INSERT OVERWRITE TABLE history_{} PARTITION (",
        "TRUNCATE TABLE history_{} PARTITION (",
        "SET id = id +",
        " AND WAIT",
        ";\nworker;\ncleaner;",
        "AND (",
        "OR (",
        "IS NULL",
        " ADD COLUMNS (",
        " CHANGE `",
        ") CASCADE",
    ],
)
def test_every_form_of_statement_occurs(histories: list[History], part: str) -> None:
    assert any(part.format(told.seed) in str(told) for told in histories)


def test_every_open_transaction_ends(histories: list[History]) -> None:
    for told in histories:
        kinds = [s.kind for s in told.steps if s.aside]
        assert kinds == [StepKind.OPEN, StepKind.END] * (len(kinds) // 2)


def test_rows_are_those_of_the_steps() -> None:
    """Check that a step changes only the rows that it touches, adds or removes."""
    for told in map(history, range(_SEEDS)):
        before: dict[str, object] = {}
        for step in told.steps:
            after = {row[0]: row for row in step.rows}
            assert len(after) == len(step.rows)
            assert set(step.probed) <= after.keys()
            changed = {k for k in before.keys() & after.keys() if before[k] != after[k]}
            assert changed <= step.touched or step.kind is StepKind.ALTER
            if step.kind in (StepKind.MINOR, StepKind.MAJOR, StepKind.ABORT):
                assert after == before
            before = dict(after)


_FIRST, _SECOND, _THIRD = (1, 536870912, 0), (1, 536870912, 1), (2, 536870912, 0)


@pytest.mark.parametrize(
    ("after", "touched", "message"),
    [
        ([(_FIRST, ("1", "p")), (_SECOND, ("2", "p"))], set(), None),
        ([(_THIRD, ("1", "p")), (_SECOND, ("2", "p"))], {"1"}, None),
        ([(_FIRST, ("1", "p")), (_FIRST, ("3", "q"))], set(), None),
        ([(_THIRD, ("1", "p"))], set(), "another row id"),
        ([(_FIRST, ("1", "p"))], {"1"}, "kept its row id"),
        ([(_SECOND, ("3", "p"))], set(), "row id of 2"),
    ],
)
def test_rows_keep_their_row_ids_until_they_are_written_anew(
    after: list[Identified], touched: set[str], message: str | None
) -> None:
    row_ids = RowIds(partition_columns=1)
    row_ids.check([(_FIRST, ("1", "p")), (_SECOND, ("2", "p"))], frozenset())
    if message is None:
        row_ids.check(after, touched)
    else:
        with pytest.raises(DifferenceError, match=message):
            row_ids.check(after, touched)


def test_a_difference_says_what_is_wrong() -> None:
    compare("rows", [1, 2], [1, 2])
    with pytest.raises(DifferenceError, match=r"(?s)rows: 3 of 3.*wanted: \[4\].*missing: +\[3\]"):
        compare("rows", [1, 2, 4], [1, 2, 3])
    with pytest.raises(DifferenceError, match="rows: 3 of 2"):
        compare("rows", [1, 2, 2], [1, 2])
