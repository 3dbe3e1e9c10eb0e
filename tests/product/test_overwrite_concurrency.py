"""Tests of INSERT OVERWRITE and TRUNCATE beside other writers: no row is lost or comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.injection_points import Point
from acidsql.metastore.model import LockState
from tests.injection import Plan, once

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

BeforeCommit = Callable[[Callable[[], Any]], None]
Rows = list[tuple[Any, ...]]


class Waiting:
    """Statement that another session runs in a thread, and that waits for a lock."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._answer: Future[Rows] = Future()

    def start(self, lab: Lab, text: str) -> None:
        """Run a statement until it waits for a lock."""
        self._answer = self._pool.submit(lab.sql, text)
        deadline = time.monotonic() + 60
        while all(lock.state is LockState.ACQUIRED for lock in lab.session.metastore.locks()):
            assert not self._answer.done(), f"{text} did not wait"
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def answer(self) -> Rows:
        """Return the rows of the statement."""
        return self._answer.result(60)


@pytest.fixture
def waiting() -> Iterator[Waiting]:
    """Yield a ``Waiting`` for one statement."""
    with ThreadPoolExecutor(1) as pool:
        yield Waiting(pool)


@pytest.fixture
def before_lock() -> Iterator[Plan]:
    """Do something once, when the next transaction is open and has requested no lock yet."""
    with once(Point.BEFORE_LOCKS) as plan:
        yield plan


@pytest.mark.sample(1)
@pytest.mark.parametrize("partitioned", [False, True])
def test_an_overwrite_waits_for_an_insert_and_replaces_its_rows(
    lab: Lab, other: Lab, before_commit: BeforeCommit, waiting: Waiting, partitioned: bool
) -> None:
    t = lab.create("id int", partitioned="p int" if partitioned else "")
    row = "({}, 1)" if partitioned else "({})"
    text = f"INSERT OVERWRITE {t} VALUES {row.format(2)}"
    before_commit(lambda: waiting.start(other, text))
    lab.insert(t, row.format(1))
    assert waiting.answer() == [(1, 1)]
    assert lab.rows(t, "id, row__id.writeid") == [(2, 2)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("statement", ["overwrite", "truncate"])
def test_an_insert_waits_for_an_overwrite_and_is_not_lost_below_its_base(
    lab: Lab,
    other: Lab,
    before_commit: BeforeCommit,
    waiting: Waiting,
    partitioned: bool,
    statement: str,
) -> None:
    t = lab.create("id int", partitioned="p int" if partitioned else "")
    row = "({}, 1)" if partitioned else "({})"
    lab.insert(t, row.format(1))
    inserted = f"INSERT INTO {t} VALUES {row.format(3)}"
    before_commit(lambda: waiting.start(other, inserted))
    part = "PARTITION (p = 1)" if partitioned else ""
    if statement == "overwrite":
        lab.sql(f"INSERT OVERWRITE {t} {part} VALUES (2)")
    else:
        lab.sql(f"TRUNCATE TABLE {t} {part}")
    assert waiting.answer() == [(1, 1)]
    # Its first write id was below that of the base, so it began again.
    left = [(2, 2), (3, 4)] if statement == "overwrite" else [(3, 4)]
    assert lab.rows(t, "id, row__id.writeid") == left


def test_an_update_waits_for_an_overwrite_and_sees_its_rows(
    lab: Lab, other: Lab, before_commit: BeforeCommit, waiting: Waiting
) -> None:
    t = lab.create("id int, v int", values="(1, 1)")
    before_commit(lambda: waiting.start(other, f"UPDATE {t} SET v = v + 1"))
    lab.sql(f"INSERT OVERWRITE {t} VALUES (1, 10), (2, 20)")
    assert waiting.answer() == [(2, 2)]
    assert lab.rows(t) == [(1, 11), (2, 21)]


@pytest.mark.slow
def test_an_overwrite_waits_for_an_update_and_sees_its_rows(
    lab: Lab, other: Lab, before_commit: BeforeCommit, waiting: Waiting
) -> None:
    t = lab.create("id int, v int", values="(1, 1)")
    text = f"INSERT OVERWRITE {t} SELECT id, v * 100 FROM {t}"
    before_commit(lambda: waiting.start(other, text))
    lab.sql(f"UPDATE {t} SET v = 2")
    assert waiting.answer() == [(1, 1)]
    assert lab.rows(t) == [(1, 200)]


def test_an_overwrite_of_itself_keeps_what_was_committed_just_before_its_lock(
    lab: Lab, other: Lab, before_lock: BeforeCommit
) -> None:
    t = lab.create("id int", values="(1)")
    before_lock(lambda: other.insert(t, "(2)"))
    lab.sql(f"INSERT OVERWRITE {t} SELECT id * 10 FROM {t}")
    assert lab.rows(t) == [(10,), (20,)]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("first", "change", "left"),
    [
        ("TRUNCATE TABLE {t}", "UPDATE {t} SET v = 5", []),
        ("TRUNCATE TABLE {t}", "DELETE FROM {t} WHERE id = 1", []),
        ("INSERT OVERWRITE {t} VALUES (1, 9), (2, 9)", "UPDATE {t} SET v = 5", [(1, 5), (2, 5)]),
        ("INSERT OVERWRITE {t} VALUES (1, 9), (2, 9)", "DELETE FROM {t} WHERE id = 1", [(2, 9)]),
    ],
)
def test_a_change_that_opened_before_rows_were_replaced_sees_those_that_are_there_now(
    lab: Lab, other: Lab, before_lock: BeforeCommit, first: str, change: str, left: list[Any]
) -> None:
    """Check that a change whose write id is below the base's begins again."""
    t = lab.create("id int, v int", values="(1, 1)")
    before_lock(lambda: other.sql(first.format(t=t)))
    lab.sql(change.format(t=t))
    assert lab.rows(t) == left
    assert lab.session.metastore.next_write_id("default", t) == 5


def test_overwrites_of_two_partitions_do_not_wait_for_each_other(
    lab: Lab, other: Lab, before_commit: BeforeCommit
) -> None:
    t = lab.create("v int", partitioned="p int", values="(1, 1), (2, 2)")
    before_commit(lambda: other.sql(f"INSERT OVERWRITE {t} PARTITION (p = 2) VALUES (20)"))
    lab.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1) VALUES (10)")
    assert lab.rows(t) == [(10, 1), (20, 2)]
    before_commit(lambda: other.sql(f"TRUNCATE TABLE {t} PARTITION (p = 2)"))
    lab.sql(f"TRUNCATE TABLE {t} PARTITION (p = 1)")
    assert lab.rows(t) == []


def test_an_aborted_overwrite_leaves_nothing(lab: Lab, before_commit: BeforeCommit) -> None:
    t = lab.create("id int", values="(1)")
    before = lab.state(t)

    def fail() -> None:
        raise KeyboardInterrupt

    for text in (f"INSERT OVERWRITE {t} VALUES (2)", f"TRUNCATE TABLE {t}"):
        before_commit(fail)
        with pytest.raises(KeyboardInterrupt):
            lab.sql(text)
        assert lab.state(t) == before
