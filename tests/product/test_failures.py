"""Tests that an error at any step of a command leaves the table as it was and usable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from acidsql import bridge
from acidsql.commands import events
from acidsql.compaction import merging, rewriting, worker
from acidsql.errors import MetastoreError, WriteJobError
from acidsql.format.names import STAGING_PREFIX
from acidsql.injection_points import Point
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import TxnState, TxnType
from acidsql.planning.statement import StatementSnapshot
from acidsql.storage import delete_files, finalize
from acidsql.storage.filesystem import FileSystem
from acidsql.transactions.transaction import Transaction
from acidsql.transactions.write_transaction import TableWrite
from tests import injection
from tests.limits import set_limits

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

STATEMENTS = {
    "insert": "INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (7, 'g', 1), (8, 'h', 5)",
    "update": "UPDATE {t} SET v = 'x', p = p + 4",
    "delete": "DELETE FROM {t} WHERE id <> 2",
    "merge": """MERGE INTO {t} USING (SELECT * FROM VALUES (1, 1), (2, 2), (9, 5) AS s(id, p)) s
        ON {t}.id = s.id
        WHEN MATCHED AND s.id = 1 THEN UPDATE SET v = 'm', p = 6
        WHEN MATCHED THEN DELETE
        WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, 'n', s.p)""",
}


class Injected(Exception):
    """Error that nothing in the product expects."""


def failing(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    *,
    when: Callable[..., bool] = lambda *_: True,
    error: BaseException | None = None,
) -> list[int]:
    """Make a function raise when its arguments say so; the list gets an item when it did."""
    original = getattr(owner, name)
    raised: list[int] = []

    def replacement(*args: Any, **kwargs: Any) -> Any:
        if when(*args):
            raised.append(1)
            raise error or Injected(name)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, replacement)
    return raised


def on_call(number: int, condition: Callable[..., bool]) -> Callable[..., bool]:
    """Return a function that is true on the call with this number (from 1) for the condition."""
    calls = [0]

    def when(*args: Any) -> bool:
        calls[0] += bool(condition(*args))
        return bool(condition(*args)) and calls[0] == number

    return when


def into_the_table(_files: FileSystem, _source: str, target: str) -> bool:
    """Return whether a rename puts a directory where readers see it."""
    return STAGING_PREFIX not in target


# Where each step's function is looked up, and on which of its calls it fails.
STEPS: dict[str, tuple[object, str, Callable[[], Callable[..., bool]]]] = {
    "planning": (StatementSnapshot, "snapshot", lambda: lambda *_: True),
    "staging": (events, "finalize", lambda: lambda *_: True),
    "naming": (finalize, "put_bucket_files", lambda: lambda *_: True),
    "first rename": (FileSystem, "rename", lambda: on_call(1, into_the_table)),
    "second rename": (FileSystem, "rename", lambda: on_call(2, into_the_table)),
    "adding partitions": (EmbeddedMetastore, "prepare_commit", lambda: lambda *_: True),
    "commit": (EmbeddedMetastore, "commit_txn", lambda: lambda *_: True),
}
APPLICABLE = [
    (statement, step)
    for statement in STATEMENTS
    for step in STEPS
    # An INSERT of values reads no table.
    if (statement, step) != ("insert", "planning")
]


def make_table(lab: Lab) -> str:
    return lab.create(
        "id int, v string", partitioned="p int", values="(1, 'a', 1), (2, 'b', 2), (3, 'c', 2)"
    )


@pytest.mark.sample("insert-commit", "update-first rename", "delete-first rename", "merge-planning")
@pytest.mark.parametrize(("statement", "step"), APPLICABLE)
def test_a_failed_write_leaves_everything_as_it_was(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, statement: str, step: str
) -> None:
    t = make_table(lab)
    before = lab.state(t)
    text = STATEMENTS[statement].format(t=t)
    owner, name, when = STEPS[step]
    with monkeypatch.context() as patch:
        raised = failing(patch, owner, name, when=when())
        with pytest.raises(Injected, match=name):
            lab.sql(text)
        assert raised
    assert lab.state(t) == before
    assert lab.session.metastore.open_txns()[-1].state is not TxnState.COMMITTED
    affected = lab.sql(text)[0][0]
    assert affected == {"insert": 2, "update": 3, "delete": 2, "merge": 3}[statement]
    assert lab.rows(t) != list(before.rows)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO {t} SELECT id, raise_error('oops'), p FROM {t}",
        "UPDATE {t} SET v = IF(id = 3, raise_error('oops'), 'x')",
        "DELETE FROM {t} WHERE IF(id = 3, raise_error('oops'), true)",
        """MERGE INTO {t} USING (SELECT 1 AS id) s ON {t}.id = s.id
        WHEN MATCHED THEN UPDATE SET v = raise_error('oops')""",
        "UPDATE {t} SET no_such_column = 1",
        "INSERT INTO {t} VALUES (1, 2)",
        "DELETE FROM {t} WHERE id = no_such_column",
    ],
)
def test_an_error_in_the_users_expressions_leaves_everything_as_it_was(lab: Lab, text: str) -> None:
    t = make_table(lab)
    before = lab.state(t)
    with pytest.raises((PySparkException, WriteJobError)):
        lab.sql(text.format(t=t))
    assert lab.state(t) == before


def test_an_interrupted_write_leaves_everything_as_it_was(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = make_table(lab)
    before = lab.state(t)
    with monkeypatch.context() as patch:
        when = on_call(2, into_the_table)
        failing(patch, FileSystem, "rename", when=when, error=KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            lab.sql(STATEMENTS["merge"].format(t=t))
    assert lab.state(t) == before


@pytest.mark.repeated
def test_a_merge_that_matches_a_row_twice_leaves_everything_as_it_was(lab: Lab) -> None:
    t = make_table(lab)
    before = lab.state(t)
    with pytest.raises(Exception, match="MERGE_CARDINALITY_VIOLATION"):
        lab.sql(
            f"""MERGE INTO {t} USING (SELECT * FROM VALUES (2, 1), (2, 2), (9, 3) AS s(id, n)) s
            ON {t}.id = s.id
            WHEN MATCHED THEN UPDATE SET v = 'twice'
            WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, 'n', 9)"""
        )
    assert lab.state(t) == before


def test_a_failed_create_table_as_select_leaves_nothing(lab: Lab) -> None:
    t = make_table(lab)
    root = lab.root(t).parent / f"{t}_copy"
    with pytest.raises((PySparkException, WriteJobError), match="oops"):
        lab.sql(
            f"CREATE TABLE {t}_copy STORED AS ORC TBLPROPERTIES ('transactional'='true') "
            f"AS SELECT id, IF(id < 3, v, raise_error('oops')) AS v FROM {t}"
        )
    assert not root.exists()
    assert lab.session.metastore.find_table("default", f"{t}_copy") is None
    assert lab.state(t).locks == lab.state(t).open_writers == 0


@pytest.mark.slow
def test_a_commit_of_unknown_fate_keeps_its_files_out_of_sight(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = make_table(lab)
    before = lab.state(t)
    error = MetastoreError("METASTORE_UNAVAILABLE", "the connection was lost")
    with monkeypatch.context() as patch:
        failing(patch, EmbeddedMetastore, "commit_txn", error=error)
        with pytest.raises(MetastoreError):
            lab.sql(f"UPDATE {t} SET v = 'x' WHERE id = 1")
    after = lab.state(t)
    assert after.rows == before.rows
    new = set(after.tree) - set(before.tree)
    assert {path.split("/")[1] for path in new} == {
        "delta_0000002_0000002_0000",
        "delete_delta_0000002_0000002_0000",
    }
    (writer,) = [
        txn for txn in lab.session.metastore.open_txns()
        if txn.state is TxnState.OPEN and txn.type is TxnType.DEFAULT
    ]  # fmt: skip
    lab.sql(f"ABORT TRANSACTIONS {writer.txn_id}")
    assert lab.sql(f"UPDATE {t} SET v = 'y' WHERE id = 1") == [(1, 1)]
    assert lab.rows(t) == [(1, "y", 1), (2, "b", 2), (3, "c", 2)]
    assert lab.compact(t, "major", "p = 1").state == "succeeded"
    assert not [path for path in lab.tree(t) if path.startswith("p=1/delta_0000002")]
    assert lab.rows(t) == [(1, "y", 1), (2, "b", 2), (3, "c", 2)]


def test_a_commit_that_was_made_but_not_answered_is_kept(lab: Lab) -> None:
    t = make_table(lab)
    lost = MetastoreError("METASTORE_UNAVAILABLE", "the connection was lost")
    with injection.failing(Point.COMMITTED, lost), pytest.raises(MetastoreError):
        lab.sql(f"UPDATE {t} SET v = 'x' WHERE id = 1")
    assert lab.rows(t) == [(1, "x", 1), (2, "b", 2), (3, "c", 2)]


def test_an_interrupt_after_the_commit_was_made_takes_nothing_back(lab: Lab) -> None:
    t = make_table(lab)
    interrupted = injection.failing(Point.COMMITTED, KeyboardInterrupt())
    with interrupted, pytest.raises(KeyboardInterrupt):
        lab.sql(f"UPDATE {t} SET v = 'x' WHERE id = 1")
    assert lab.rows(t) == [(1, "x", 1), (2, "b", 2), (3, "c", 2)]


def test_what_a_dead_writer_left_in_staging_goes_with_the_next_cleaning(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id int", values="(1)")
    with monkeypatch.context() as patch:
        set_limits(patch, driver_read_bytes=-1)
        failing(patch, events, "finalize", error=Injected("killed"))
        failing(patch, TableWrite, "undo", error=MetastoreError("DOWN", "gone"))
        failing(
            patch, FileSystem, "delete", when=lambda _, path: STAGING_PREFIX in path.split("/")[-1]
        )
        with pytest.raises((Injected, MetastoreError)):
            lab.sql(f"UPDATE {t} SET id = 2")
    (left,) = [name for name in lab.directories(t) if name.startswith(STAGING_PREFIX)]
    assert lab.rows(t) == [(1,)]
    lab.sql(f"ABORT TRANSACTIONS {left.removeprefix(STAGING_PREFIX)}")
    lab.insert(t, "(3)")
    lab.compact(t, "major")
    assert lab.rows(t) == [(1,), (3,)]
    assert [name[:4] for name in lab.directories(t)] == ["base"]


COMPACTION_STEPS: dict[str, tuple[object, str, Callable[[], Callable[..., bool]]]] = {
    "locking": (Transaction, "wait_for_locks", lambda: lambda *_: True),
    "planning": (worker, "is_enough", lambda: lambda *_: True),
    "copying": (FileSystem, "assemble", lambda: lambda *_: True),
    "rewriting": (bridge, "rewrite_stripes", lambda: lambda *_: True),
    "merging deletes": (delete_files, "encode", lambda: lambda *_: True),
    "writing": (rewriting, "write_buckets", lambda: lambda *_: True),
    "naming": (rewriting, "put_bucket_files", lambda: lambda *_: True),
    "first rename": (FileSystem, "rename", lambda: on_call(1, into_the_table)),
    "second rename": (FileSystem, "rename", lambda: on_call(2, into_the_table)),
    "reporting": (EmbeddedMetastore, "compaction_done", lambda: lambda *_: True),
    "commit": (EmbeddedMetastore, "commit_txn", lambda: lambda *_: True),
}
APPLICABLE_COMPACTIONS = [
    (kind, step)
    for kind in ("minor", "major")
    for step in COMPACTION_STEPS
    # A major compaction puts one directory in place, a minor one copies these stripes.
    if step not in (("second rename", "merging deletes") if kind == "major" else ("rewriting",))
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("kind", "step"), APPLICABLE_COMPACTIONS)
def test_a_failed_compaction_leaves_everything_as_it_was(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, kind: str, step: str
) -> None:
    t = lab.create("id int", values="(1), (2)")
    lab.sql(f"UPDATE {t} SET id = 3 WHERE id = 2")
    before = lab.state(t)
    owner, name, when = COMPACTION_STEPS[step]
    with monkeypatch.context() as patch:
        if step in ("writing", "naming"):
            for copying in ("copy_base", "copy_deltas", "merge_few_deletes"):
                patch.setattr(merging, copying, lambda *_, **__: False)
        raised = failing(patch, owner, name, when=when())
        with pytest.raises(Injected, match=name):
            lab.sql(f"ALTER TABLE {t} COMPACT '{kind}'")
        assert raised
    assert lab.state(t) == before
    entry = lab.compaction(t)
    assert (entry.type, entry.state) == (kind, "failed")
    assert name in entry.errormessage
    assert lab.compact(t, kind).state == "succeeded"
    assert lab.rows(t, "*, row__id") == list(before.rows)
    assert lab.tree(t) != list(before.tree)


@pytest.mark.slow
def test_tasks_of_a_cancelled_write_end(lab: Lab) -> None:
    t = lab.create("id BIGINT, v INT")
    context, errors = lab.spark.sparkContext, list[BaseException]()

    def write() -> None:
        context.setJobGroup(t, "a write", interruptOnCancel=True)
        try:
            lab.sql(f"INSERT INTO {t} SELECT id, 1 FROM range(100000000000)")
        except PySparkException as error:
            errors.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    while not any(_running(lab)):
        time.sleep(0.1)
    time.sleep(2)
    context.cancelJobGroup(t)
    writer.join(60)
    assert len(errors) == 1
    # The statement has ended, and what computed its rows too: its cores are free.
    reader = threading.Thread(target=lab.spark.range(5).count, daemon=True)
    reader.start()
    reader.join(20)
    assert not reader.is_alive()
    assert lab.rows(t) == []


def _running(lab: Lab) -> list[int]:
    """Return the numbers of running tasks of the stages that are active."""
    tracker = lab.spark.sparkContext.statusTracker()
    found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return [stage.numActiveTasks for stage in found if stage is not None]
