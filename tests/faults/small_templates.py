"""Worlds of small tables with different pasts, from which statements start."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from acidsql.format.names import OWNER_FILE
from acidsql.session.acid_session import AcidSession
from tests.faults.forked import Forked, Shot
from tests.faults.small_actor import Actor, P
from tests.faults.small_rows import insert
from tests.faults.small_statements import KINDS
from tests.faults.small_world import State, World, definition, found_state


@dataclass(frozen=True, slots=True)
class Template:
    """World to start from, and its state."""

    name: str
    path: Path
    state: State


def _plain(_: World) -> None:
    """Rows in a few deltas."""


def _changed(world: World) -> None:
    """Rows that were changed and deleted, in directories that earlier releases have written."""
    _run(world, ["update", "update partitions", "delete", "insert", "set properties"])
    for name in ("t", "p"):
        (world.root / "default" / name / OWNER_FILE).unlink()


def _compacted(world: World) -> None:
    """Compacted directories beside the old ones: a reader keeps the cleaner away."""
    with world.process() as session:
        session.metastore.open_txn("ann", "host")
        _run(world, ["update", "delete", "compact minor", "compact major", "insert"])


def _interrupted(world: World) -> None:
    """What processes left that were killed in the middle."""
    _run(world, ["insert partitions"])
    for kind, step in (
        ("insert", "before commit_txn"),
        ("insert partitions", "before commit_txn"),
        ("load overwrite", "before commit_txn"),
        ("create as select", "before commit_txn"),
        ("compact minor", "before commit_txn"),
        ("update", "before rename staged to delete delta"),
        ("drop partition", "before commit_txn"),
    ):
        _kill(world, kind, step)
        world.clock.pass_timeout()


_PASTS: Sequence[Callable[[World], None]] = (_plain, _changed, _compacted, _interrupted)


_NAMES = [past.__name__.strip("_") for past in _PASTS]


def make_templates(
    world: World, place: Path, names: Sequence[str] = tuple(_NAMES)
) -> Mapping[str, Template]:
    """Make templates in a directory; the world is used to make them."""
    found = {}
    for name, past in zip(_NAMES, _PASTS, strict=True):
        if name not in names:
            continue
        _found(world)
        past(world)
        world.clock.pass_timeout()
        with world.process() as session:
            state = found_state(world, session)
        shutil.copytree(world.root, place / name)
        found[name] = Template(name, place / name, state)
    return found


def _found(world: World) -> None:
    """Make the tables ``t``, ``p`` and ``d.a`` with a few rows, and files to load."""
    shutil.rmtree(world.root, ignore_errors=True)
    (world.root / "landing").mkdir(parents=True)
    for name in ("f", "g"):
        (world.root / "landing" / name).write_text(f"loaded_{name}")
    with world.process() as session:
        session.metastore.create_database("d", world.uri("d"))
        for database, name in (("default", "t"), ("default", "p"), ("d", "a"), ("d", "b")):
            table = definition(world, database, name, partitioned=name == "p")
            session.files.make_directory(table.location)
            session.metastore.create_table(table)
    _run(world, ["overwrite", "insert", "insert partitions", "insert partitions"], "first")
    with world.process() as session:
        for tag in ("third", "fourth"):
            insert(Actor(world, session, tag), P, [("1",), ("2",)])
            insert(Actor(world, session, tag), ("d", "a"), [()])


def _run(world: World, kinds: Sequence[str], tag: str = "old") -> None:
    with world.process() as session:
        for number, kind in enumerate(kinds):
            KINDS[kind].run(Actor(world, session, f"{tag}{number}"))


def _kill(world: World, kind: str, step: str) -> None:
    def work(session: AcidSession) -> None:
        KINDS[kind].run(Actor(world, session, "dead"))

    killed = Forked(Shot(action="kill", step=step), work, world.process)
    killed.started()
    ending = killed.ending()
    killed.close()
    assert not ending.returned, ending
    assert ending.error is None, ending
