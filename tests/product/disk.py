"""Disk that forgets: what a power failure leaves of the files that statements wrote.

A model of a POSIX file system. The content of a file, and the names in a directory, are certain as
of their last fsync. Of what came later, any part may be there: a new file may be empty, cut off or
full of zeros, and each name that was added or removed may be there or not, whatever became of
others. A journaling file system loses less.

A directory that was renamed is in its old place or in its new one, and never in both or in none, as
in any file system with a journal. Renamings reach the disk in their order, at the latest with the
fsync of a directory that they changed.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from acidsql.metastore.embedded.database import Database
from acidsql.storage.filesystem import FileSystem

_OPERATIONS = (
    *("write", "append", "make_directory", "rename", "move", "link"),
    *("copy", "assemble", "delete"),
)

# Number of a file or directory; a number of the file system is used again after a deletion.
Node = int
# Content of files, and numbers by name of directories.
Contents = dict[Node, "bytes | dict[str, Node]"]
# Directory and name in it.
Position = tuple[Node, str]
# Positions of a directory that may be found, each with the number of the look that found it there
# first. The first one is on the disk; None is its deletion.
Positions = tuple[tuple[int, "Position | None"], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """State after an operation.

    Attributes:
        statement: number of the statement at work.
        returned: whether it has returned.
        present: what programs see.
        synced: what was seen at the last fsync of each file and directory.
        positions: of directories whose names have been on the disk.
        metastore: the SQLite file, whose commits are synced.
    """

    statement: int
    returned: bool
    present: Contents
    synced: Contents
    positions: Mapping[Node, Positions]
    metastore: bytes


@dataclass(slots=True, kw_only=True)
class Recorder:
    """Record of what the statements of a session do below a directory.

    Attributes:
        root: the directory; all that is in it at first is on the disk.
        moments: states after each operation of the driver. What Spark's tasks wrote is in the
            next one.
    """

    root: Path
    moments: list[Moment] = field(default_factory=list)
    _statement: int = 0
    _synced: Contents = field(default_factory=dict)
    _metastore: bytes = b""
    _nodes: dict[int, Node] = field(default_factory=dict)
    _known: dict[tuple[Node, int, int], bytes] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _count: int = 0
    _positions: dict[Node, Positions] = field(default_factory=dict)
    _looks: int = 0

    @contextmanager
    def recording(self, database: Database) -> Iterator[None]:
        """Record in the block."""
        self._metastore = _content(database)
        self._synced = self._look()
        for node in self._synced:
            self._settle(node, self._synced)
        with ExitStack() as stack:
            stack.enter_context(patch.object(os, "fsync", self._fsync(os.fsync)))
            for name in _OPERATIONS:
                stack.enter_context(
                    patch.object(FileSystem, name, self._after(getattr(FileSystem, name)))
                )
            stack.enter_context(patch.object(Database, "write", self._write(Database.write)))
            yield

    def statement_returned(self) -> None:
        """Note that the statement has returned, and another one begins."""
        self._note(returned=True)
        self._statement += 1

    def _note(self, *, returned: bool = False) -> None:
        with self._lock:
            present = self._look()
            self.moments.append(
                Moment(
                    statement=self._statement,
                    returned=returned,
                    present=present,
                    synced=dict(self._synced),
                    positions=dict(self._positions),
                    metastore=self._metastore,
                )
            )

    def _fsync(self, original: Any) -> Any:
        def fsync(descriptor: int) -> None:
            original(descriptor)
            with self._lock:
                present = self._look()
                node = self._nodes.get(os.fstat(descriptor).st_ino)
                if node in present:
                    self._synced[node] = present[node]
                    self._settle(node, present)
                self._note()

        return fsync

    def _after(self, original: Any) -> Any:
        def operation(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._note()
            return result

        return operation

    def _write(self, original: Any) -> Any:
        @contextmanager
        def write(database: Database) -> Iterator[sqlite3.Connection]:
            with original(database) as connection:
                yield connection
            with self._lock:
                self._metastore = _content(database)
                self._note()

        return write

    def _settle(self, directory: Node, present: Contents) -> None:
        """Note that the renamings that changed a directory are on the disk."""
        now = _positions_in(present)
        for node, found in list(self._positions.items()):
            if any(position and position[0] == directory for _, position in found):
                if node in now:
                    self._positions[node] = ((self._looks, now[node]),)
                else:
                    del self._positions[node]
        for node, position in now.items():
            if position[0] == directory:
                self._positions[node] = ((self._looks, position),)

    def _look(self) -> Contents:
        """Look at all files and directories."""
        found = self._listed()
        self._looks += 1
        now = _positions_in(found)
        for node, positions in self._positions.items():
            if positions[-1][1] != now.get(node):
                self._positions[node] = (*positions, (self._looks, now.get(node)))
        return found

    def _listed(self) -> Contents:
        found: Contents = {}
        numbers: dict[int, Node] = {}

        def node_of(number: int) -> Node:
            if number not in numbers:
                if number not in self._nodes:
                    self._count += 1
                numbers[number] = self._nodes.get(number, self._count)
            return numbers[number]

        def walk(directory: str, node: Node) -> None:
            names: dict[str, Node] = {}
            found[node] = names
            with os.scandir(directory) as entries:
                for entry in entries:
                    try:
                        status = entry.stat()
                        own = node_of(status.st_ino)
                        if entry.is_dir():
                            walk(entry.path, own)
                        else:
                            key = own, status.st_size, status.st_mtime_ns
                            if key not in self._known:
                                self._known[key] = Path(entry.path).read_bytes()
                            found[own] = self._known[key]
                    except FileNotFoundError:  # a task works at the same time
                        continue
                    names[entry.name] = own

        walk(str(self.root), node_of(self.root.stat().st_ino))
        self._nodes = numbers
        return found


def _positions_in(contents: Contents) -> dict[Node, Position]:
    """Return the position of each directory."""
    return {
        own: (node, name)
        for node, names in contents.items()
        if isinstance(names, dict)
        for name, own in names.items()
        if isinstance(contents.get(own), dict)
    }


def _content(database: Database) -> bytes:
    with database.read() as connection:
        return connection.serialize()


def crash(moment: Moment, place: Path, random: Random | None) -> None:
    """Write what a power failure leaves.

    Args:
        place: a directory that does not exist.
        random: chooses what is left of that which was not synced; None leaves nothing.
    """

    looks = sorted({look for found in moment.positions.values() for look, _ in found})
    last = random.choice([0, *looks]) if random else 0
    renamed: dict[Node, dict[str, Node]] = {}
    for node, (on_disk, *later) in moment.positions.items():
        reached = [on_disk[1], *(position for look, position in later if look <= last)]
        if reached[-1] is not None:
            parent, name = reached[-1]
            renamed.setdefault(parent, {})[name] = node

    def chosen(synced: Any, present: Any) -> Any:
        if random is None or synced == present:
            return synced
        return random.choice((synced, present))

    def grow(node: Node, path: Path) -> None:
        synced, present = moment.synced.get(node), moment.present.get(node)
        if isinstance(synced, dict) or isinstance(present, dict):
            path.mkdir()
            old: Mapping[str, Node] = synced if isinstance(synced, dict) else {}
            new: Mapping[str, Node] = present if isinstance(present, dict) else {}
            certain = renamed.get(node, {})
            for name, own in certain.items():
                grow(own, path / name)
            for name in sorted({*old, *new} - certain.keys()):
                own = chosen(old.get(name), new.get(name))
                if own is not None and own not in moment.positions:
                    grow(own, path / name)
            return
        content = synced if isinstance(synced, bytes) else b""
        if isinstance(present, bytes) and random is not None and content != present:
            cut = present[: random.randrange(len(present) + 1)]
            content = random.choice((content, present, cut, bytes(len(present))))
        path.write_bytes(content)

    root = next(iter(moment.present))
    grow(root, place)


def survived(moment: Moment, place: Path) -> None:
    """Write what is left if power does not fail."""
    synced = {**moment.synced, **moment.present}
    crash(
        Moment(
            statement=moment.statement,
            returned=moment.returned,
            present=moment.present,
            synced=synced,
            positions={},
            metastore=moment.metastore,
        ),
        place,
        None,
    )
