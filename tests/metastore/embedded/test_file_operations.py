"""File operations of the catalog's changes: interrupted anywhere, and done by several processes."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acidsql.errors import AcidAnalysisError, MetastoreError, TransactionStateError
from acidsql.injection_points import Point
from acidsql.metastore import file_moves
from acidsql.metastore.catalog_changes import (
    AlterTable,
    CatalogChange,
    DeleteLoadedFiles,
    DropDatabase,
    DropPartitions,
    DropTable,
    LoadedFile,
    RenamePartition,
    RenameTable,
    ReplaceTable,
    ShowTable,
    file_operations,
)
from acidsql.metastore.embedded.database import Database
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, Partition, Table, TxnType
from tests.injection import once
from tests.metastore.exclusive import lock_table
from tests.metastore.local_files import LocalFiles

TIMEOUT = 300.0


class Killed(BaseException):
    """The end of a process: no handler of the product catches it."""


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class World:
    """Directory with a metastore file and tables, seen by one process after the other.

    ``t`` has the partitions 1 and 2, and ``land/f`` is a file to load.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = Clock()
        self.table = Table(
            database="db",
            name="t",
            columns=(Column(name="id", type="int"),),
            partition_columns=(Column(name="p", type="int"),),
            location=self.uri("db/t"),
        )
        self.parts = tuple(
            Partition(values=(v,), location=self.uri(f"db/t/p={v}")) for v in ("1", "2")
        )
        with self.process() as metastore:
            metastore.create_database("db", self.uri("db"))
            metastore.create_table(self.table, self.parts)
        for partition in self.parts:
            self.write(f"db/t/p={partition.values[0]}/delta_1/bucket_0")
        self.write("land/f")

    def uri(self, path: str) -> str:
        return f"file:{self.root / path}"

    def write(self, path: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)

    @contextmanager
    def process(self) -> Iterator[EmbeddedMetastore]:
        metastore = EmbeddedMetastore(
            str(self.root / "metastore.sqlite"),
            txn_timeout=TIMEOUT,
            clock=self.clock,
            files=LocalFiles(),
        )
        yield metastore
        metastore.close()

    def state(self) -> tuple[str, tuple[str, ...]]:
        """What the next process finds: tables, partitions, and the files in their places."""
        with self.process() as metastore:
            found = {
                (database, name): (table, metastore.partitions(database, name))
                for database in metastore.databases()
                for name in metastore.tables(database)
                for table in [metastore.table(database, name)]
            }
        roots = [table.location for table, _ in found.values()] + [self.uri("land")]
        places = [Path(place.removeprefix("file:")) for place in roots]
        files = sorted(str(f) for place in places for f in place.rglob("*") if f.is_file())
        return repr(sorted(found.items())), tuple(f for f in files if "/_acidsql" not in f)

    def leftovers(self) -> list[str]:
        return [str(p.relative_to(self.root)) for p in self.root.rglob("_acidsql*")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def loaded(world: World) -> LoadedFile:
    version = LocalFiles().version(world.uri("land/f"))
    assert version is not None
    return LoadedFile(path=world.uri("land/f"), size=version.size, modified=version.modified)


CHANGES: dict[str, Callable[[World], Sequence[CatalogChange]]] = {
    "drop table": lambda w: [DropTable(table=w.table)],
    "drop database": lambda w: [
        DropTable(table=w.table),
        DropDatabase(name="db", location=w.uri("db")),
    ],
    "rename table": lambda w: [
        RenameTable(table=w.table, database="default", name="u", location=w.uri("default/u"))
    ],
    "drop partitions": lambda w: [DropPartitions(table=w.table, partitions=w.parts)],
    "rename partition": lambda w: [
        RenamePartition(
            table=w.table,
            before=w.parts[0],
            after=Partition(values=("7",), location=w.uri("db/t/p=7")),
        )
    ],
    "alter table": lambda w: [
        AlterTable(before=w.table, after=replace(w.table, properties={"a": "b"}))
    ],
    "load": lambda w: [DeleteLoadedFiles(files=(loaded(w),))],
}


def change(world: World, metastore: EmbeddedMetastore, kind: str) -> None:
    txn_id = metastore.open_txn("ann", "host")
    lock_table(metastore, txn_id, world.table)
    metastore.prepare_commit(txn_id, CHANGES[kind](world))
    metastore.commit_txn(txn_id)


def create_as_select(world: World, metastore: EmbeddedMetastore) -> None:
    txn_id = metastore.open_txn("ann", "host")
    new = replace(world.table, name="new", location=world.uri("db/new"), partition_columns=())
    staged = metastore.stage_table(txn_id, new)
    metastore.allocate_write_id(txn_id, staged.database, staged.name)
    world.write("db/new/delta_1/bucket_0")
    metastore.prepare_commit(txn_id, [ShowTable(staged=staged, name="new")])
    metastore.commit_txn(txn_id)


def replace_table(world: World, metastore: EmbeddedMetastore) -> int:
    txn_id = metastore.open_txn("ann", "host")
    lock_table(metastore, txn_id, world.table)
    metastore.allocate_write_id(txn_id, "db", "t")
    new = replace(world.table, partition_columns=(), location=world.uri("db/t_new"))
    metastore.delete_if_aborted(txn_id, new.location)
    world.write("db/t_new/base_1/bucket_0")
    table_id = metastore.table_owner("db", "t").table_id
    metastore.prepare_commit(
        txn_id, [ReplaceTable(before=world.table, after=new, table_id=table_id)]
    )
    metastore.commit_txn(txn_id)
    return txn_id


def act(world: World, metastore: EmbeddedMetastore, kind: str) -> None:
    if kind == "create as select":
        create_as_select(world, metastore)
    elif kind == "replace table":
        replace_table(world, metastore)
    else:
        change(world, metastore, kind)


KINDS = [*CHANGES, "create as select", "replace table"]
# What a process does to the world outside of it, before and after which it may end.
STEPS = [
    (LocalFiles, "move"),
    (LocalFiles, "delete"),
    (LocalFiles, "make_directory"),
    (Database, "write"),
]


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[list[str]]:
    """End the process at one of its steps; yields the names of the steps until then."""
    taken: list[str] = []

    def step(name: str) -> None:
        if len(taken) >= number:
            raise Killed(name)
        taken.append(name)

    def wrapped(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: object, *args: Any) -> Any:
            step(f"before {name}")
            answer = original(self, *args)
            step(f"after {name}")
            return answer

        @contextmanager
        def block(self: object) -> Iterator[Any]:
            step(f"before {name}")
            with original(self) as connection:
                yield connection
            step(f"after {name}")

        return block if name == "write" else call

    with monkeypatch.context() as patch:
        for owner, name in STEPS:
            patch.setattr(owner, name, wrapped(name, getattr(owner, name)))
        yield taken


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_that_ends_at_any_step_leaves_the_state_before_or_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """And the one that comes next completes it, also when the dead one has timed out."""
    outcomes = set()
    number = 0
    finished = False
    while not finished:
        # Paths are in the metastore's file, so each try has the same root.
        root = tmp_path / "tried"
        shutil.rmtree(root, ignore_errors=True)
        world = World(root)
        before = world.state()
        with world.process() as metastore, killed_at(monkeypatch, number), suppress(Killed):
            act(world, metastore, kind)
            finished = True
        found = world.state()
        world.clock.now += 2 * TIMEOUT
        with world.process() as metastore:
            metastore.reap()
        assert world.state() == found
        assert [path for path in world.leftovers() if "holding" in path or "loaded" in path] == []
        outcomes.add(found)
        number += 1
    assert number > 5
    assert len(outcomes) == 2
    assert before in outcomes


class Late(LocalFiles):
    """Files of a process that sleeps before one of its steps until the test lets it go on."""

    def __init__(self, sleeps_before: int) -> None:
        super().__init__()
        self.sleeps_before = sleeps_before
        self.steps = 0
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def __getattribute__(self, name: str) -> Any:
        if name in ("move", "delete", "make_directory", "version"):
            self.steps += 1
            if self.steps == self.sleeps_before:
                self.reached.set()
                assert self.go_on.wait(10)
        return super().__getattribute__(name)


@pytest.mark.parametrize("kind", ["drop table", "drop partitions", "rename partition", "load"])
def test_a_process_that_comes_late_moves_nothing_of_what_came_after(
    tmp_path: Path, kind: str
) -> None:
    """Meanwhile another one completes the operation, and something new takes the freed place."""
    source = {"drop table": "db/t", "load": "land/f"}.get(kind, "db/t/p=1")
    new = source if kind == "load" else f"{source}/delta_9/bucket_0"
    sleeps_before, steps = 0, 1
    while sleeps_before < steps:
        sleeps_before += 1
        shutil.rmtree(tmp_path / "w", ignore_errors=True)
        world = World(tmp_path / "w")
        (operation,) = file_operations(1, CHANGES[kind](world))
        file_moves.prepare(LocalFiles(), operation)
        late = Late(sleeps_before)
        thread = threading.Thread(target=file_moves.perform, args=(late, operation))
        thread.start()
        assert late.reached.wait(10)
        file_moves.perform(LocalFiles(), operation)
        world.write(new)
        (world.root / new).write_text("something new")
        late.go_on.set()
        thread.join()
        assert (world.root / new).read_text() == "something new"
        if sleeps_before == 1:
            steps = late.steps
    assert steps >= 3


def test_a_transaction_that_was_aborted_changes_nothing(world: World) -> None:
    before = world.state()
    for changes in CHANGES.values():
        with world.process() as metastore:
            txn_id = metastore.open_txn("ann", "host")
            lock_table(metastore, txn_id, world.table)
            metastore.abort_txn(txn_id)
            with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
                metastore.commit_txn(txn_id)
            late = metastore.open_txn("ann", "host")
            metastore.prepare_commit(late, changes(world))
            world.clock.now += 2 * TIMEOUT
            metastore.reap()
            with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
                metastore.commit_txn(late)
        assert world.state() == before
        assert world.leftovers() == []


def test_a_replaced_directory_stays_as_long_as_somebody_may_read_it(world: World) -> None:
    with world.process() as metastore:
        older = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
        replace_table(world, metastore)
        younger = metastore.open_txn("ann", "host", TxnType.READ_ONLY)
        table = metastore.table("db", "t")
        assert (table.location, table.replaced_by) == (world.uri("db/t_new"), 1)
        assert metastore.partitions("db", "t") == ()
        assert (world.root / "db/t").exists()
        metastore.commit_txn(older)
        metastore.table("db", "t")
        assert not (world.root / "db/t").exists()
        metastore.commit_txn(younger)
    assert world.leftovers() == []


def test_a_replaced_directory_does_not_outlive_its_table(world: World) -> None:
    with world.process() as metastore:
        metastore.open_txn("ann", "host", TxnType.READ_ONLY)
        replace_table(world, metastore)
        txn_id = metastore.open_txn("ann", "host")
        metastore.prepare_commit(txn_id, [DropTable(table=metastore.table("db", "t"))])
        metastore.commit_txn(txn_id)
        assert not (world.root / "db/t").exists()
        assert not (world.root / "db/t_new").exists()
    assert world.leftovers() == []


def test_a_file_that_was_written_again_after_it_was_loaded_stays(world: World) -> None:
    with world.process() as metastore:
        txn_id = metastore.open_txn("ann", "host")
        metastore.prepare_commit(txn_id, CHANGES["load"](world))
        (world.root / "land/f").write_text("of today, and longer")
        metastore.commit_txn(txn_id)
    assert (world.root / "land/f").read_text() == "of today, and longer"
    assert world.leftovers() == []


def test_a_table_is_created_for_a_transaction_alone(world: World) -> None:
    new = replace(world.table, name="new", location=world.uri("db/new"), partition_columns=())
    (world.root / "db/new").mkdir()
    with world.process() as mine, world.process() as theirs:
        txn_id = mine.open_txn("ann", "host")
        staged = mine.stage_table(txn_id, new)
        assert theirs.find_table("db", "new") is None
        assert theirs.tables("db") == ("t",)
        assert theirs.table_at(new.location, "db") == staged
        with pytest.raises(AcidAnalysisError, match="SCHEMA_NOT_EMPTY"):
            theirs.drop_database("db")
        world.write("db/new/delta_1/bucket_0")
        mine.abort_txn(txn_id)
        assert theirs.table_at(new.location, "db") is None
        # The directory was there before, and was empty.
        assert list((world.root / "db/new").iterdir()) == []
        txn_id = mine.open_txn("ann", "host")
        staged = mine.stage_table(txn_id, new)
        theirs.create_table(replace(new, location=world.uri("elsewhere")))
        mine.prepare_commit(txn_id, [ShowTable(staged=staged, name="new")])
        with pytest.raises(AcidAnalysisError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
            mine.commit_txn(txn_id)


def test_what_cannot_be_deleted_keeps_its_place(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other tables go on; a new table there would find the old rows."""
    with monkeypatch.context() as patch, world.process() as metastore:
        patch.setattr(LocalFiles, "move", lambda *_: (_ for _ in ()).throw(OSError("read-only")))
        change(world, metastore, "drop table")
        assert metastore.tables("db") == ()
        elsewhere = replace(world.table, name="other", location=world.uri("db/other"))
        metastore.create_table(elsewhere)
        with pytest.raises(MetastoreError) as caught:
            metastore.create_table(world.table)
        assert caught.value.condition == "FILE_OPERATION_PENDING"
    with world.process() as metastore:
        metastore.create_table(world.table)
    assert list(world.root.glob("db/t/*")) == []
    assert world.leftovers() == []


def test_a_table_that_cannot_be_moved_is_not_read_as_empty(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, world.process() as metastore:
        patch.setattr(LocalFiles, "move", lambda *_: (_ for _ in ()).throw(OSError("read-only")))
        change(world, metastore, "rename table")
        for read in (metastore.table, metastore.find_table, metastore.partitions):
            with pytest.raises(MetastoreError, match="read-only") as caught:
                read("default", "u")
            assert caught.value.condition == "FILE_OPERATION_PENDING"
        assert metastore.tables("default") == ("u",)
        other = replace(world.table, name="other", location=world.uri("db/other"))
        metastore.create_table(other)
        assert metastore.table("db", "other") == other
    with world.process() as metastore:
        assert metastore.table("default", "u").location == world.uri("default/u")
    assert (world.root / "default/u/p=1/delta_1/bucket_0").exists()


def test_a_partition_without_a_directory_leaves_none_when_it_is_dropped(world: World) -> None:
    shutil.rmtree(world.root / "db/t")
    with world.process() as metastore:
        change(world, metastore, "drop partitions")
        assert metastore.partitions("db", "t") == ()
    assert [path.name for path in (world.root / "db").glob("*")] == []


@pytest.mark.parametrize("kind", ["drop", "rename", "drop database"])
def test_directories_that_become_empty_are_deleted_wherever_the_process_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    number = 0
    finished = False
    outcomes = set()
    while not finished:
        shutil.rmtree(tmp_path, ignore_errors=True)
        world = World(tmp_path)
        nested = replace(world.table, database="sub", name="n", location=world.uri("sub/n"))
        old, new = (
            Partition(values=(v,), location=world.uri(f"sub/n/p={v}/q=1")) for v in ("1", "2")
        )
        changes: dict[str, list[CatalogChange]] = {
            "drop": [DropPartitions(table=nested, partitions=(old,))],
            "rename": [RenamePartition(table=nested, before=old, after=new)],
            "drop database": [
                DropTable(table=nested),
                DropDatabase(name="sub", location=world.uri("sub")),
            ],
        }
        with world.process() as metastore:
            metastore.create_database("sub", world.uri("sub"))
            metastore.create_table(nested, [old])
        world.write("sub/n/p=1/q=1/delta_1/bucket_0")
        with world.process() as metastore, killed_at(monkeypatch, number), suppress(Killed):
            txn_id = metastore.open_txn("ann", "host")
            lock_table(metastore, txn_id, nested)
            metastore.prepare_commit(txn_id, changes[kind])
            metastore.commit_txn(txn_id)
            finished = True
        with world.process() as metastore:
            databases = metastore.databases()
            kept = "sub" in databases and metastore.partition_values("sub", "n") == (("1",),)
        outcomes.add(kept)
        emptied = world.root / ("sub" if kind == "drop database" else "sub/n/p=1")
        assert emptied.exists() is kept, f"ended at step {number}"
        number += 1
    assert outcomes == {True, False}


def test_a_process_that_made_its_holding_directory_too_late_removes_it(world: World) -> None:
    """It slept for longer than the time-out, and another one has dropped the operation."""

    def sleep() -> None:
        world.clock.now += 2 * TIMEOUT
        with world.process() as other:
            other.reap()
            other.tables("db")

    with world.process() as metastore, once(Point.BEFORE_HOLDING) as plan:
        txn_id = metastore.open_txn("ann", "host")
        plan(sleep)
        with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
            metastore.prepare_commit(txn_id, CHANGES["drop table"](world))
    assert world.leftovers() == []


@pytest.mark.parametrize("name", ["new", "other"])
def test_a_table_that_came_first_keeps_its_directory(world: World, name: str) -> None:
    """Another process made it, in the same place, since CREATE TABLE AS SELECT looked."""
    new = replace(world.table, name="new", location=world.uri("db/new"), partition_columns=())
    with world.process() as mine, world.process() as theirs:
        txn_id = mine.open_txn("ann", "host")
        theirs.create_table(replace(new, name=name))
        world.write("db/new/delta_1/bucket_0")
        with pytest.raises(AcidAnalysisError):
            mine.stage_table(txn_id, new)
        mine.abort_txn(txn_id)
        assert theirs.table("db", name).location == new.location
    assert (world.root / "db/new/delta_1/bucket_0").exists()


def test_a_file_that_came_after_a_process_died_does_not_hold_up_the_load(world: World) -> None:
    """The dead process had hidden the old file, and not deleted it yet."""
    with world.process() as metastore:
        txn_id = metastore.open_txn("ann", "host")
        metastore.prepare_commit(txn_id, CHANGES["load"](world))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LocalFiles, "delete", lambda *_: (_ for _ in ()).throw(Killed()))
            with pytest.raises(Killed):
                metastore.commit_txn(txn_id)
    (world.root / "land/f").write_text("of today")
    for _ in range(2):
        with world.process() as metastore:
            metastore.tables("db")
        assert (world.root / "land/f").read_text() == "of today"
        assert world.leftovers() == []


@pytest.mark.parametrize("kind", ["rename table", "rename partition"])
def test_an_empty_directory_does_not_hold_up_a_renaming(world: World, kind: str) -> None:
    """A process that fails to create something there has left it after the renaming looked."""
    target = {"rename table": "default/u", "rename partition": "db/t/p=7"}[kind]
    with world.process() as metastore:
        txn_id = metastore.open_txn("ann", "host")
        lock_table(metastore, txn_id, world.table)
        metastore.prepare_commit(txn_id, CHANGES[kind](world))
        (world.root / target).mkdir(parents=True)
        metastore.commit_txn(txn_id)
        found = metastore.tables("default") if kind == "rename table" else ()
        assert [metastore.table("default", name).name for name in found] == ["u"] * len(found)
        assert metastore.partitions("default" if found else "db", "u" if found else "t")
    assert list((world.root / target).rglob("bucket_0"))
    assert world.leftovers() == []
