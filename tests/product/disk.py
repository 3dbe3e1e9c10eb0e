"""Disk that forgets: what a power failure leaves of the files that statements wrote.

A model of a POSIX file system. The content of a file, and the names in a directory, are certain as
of their last fsync. Of what came later, any part may be there: a new file may be empty, cut off or
full of zeros, and each name that was added, removed or renamed may be there or not, whatever became
of others. A journaling file system loses less.
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

_OPERATIONS = ("write", "append", "make_directory", "rename", "copy", "assemble", "delete")

# Number of a file or directory; a number of the file system is used again after a deletion.
Node = int
# Content of files, and numbers by name of directories.
Contents = dict[Node, "bytes | dict[str, Node]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """State after an operation.

    Attributes:
        statement: number of the statement at work.
        returned: whether it has returned.
        present: what programs see.
        synced: what was seen at the last fsync of each file and directory.
        metastore: the SQLite file, whose commits are synced.
    """

    statement: int
    returned: bool
    present: Contents
    synced: Contents
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

    @contextmanager
    def recording(self, database: Database) -> Iterator[None]:
        """Record in the block."""
        self._metastore = _content(database)
        self._synced = self._look()
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
            self.moments.append(
                Moment(
                    statement=self._statement,
                    returned=returned,
                    present=self._look(),
                    synced=dict(self._synced),
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

    def _look(self) -> Contents:
        """Look at all files and directories."""
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


def _content(database: Database) -> bytes:
    with database.read() as connection:
        return connection.serialize()


def crash(moment: Moment, place: Path, random: Random | None) -> None:
    """Write what a power failure leaves.

    Args:
        place: a directory that does not exist.
        random: chooses what is left of that which was not synced; None leaves nothing.
    """

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
            for name in sorted({*old, *new}):
                own = chosen(old.get(name), new.get(name))
                if own is not None:
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
            metastore=moment.metastore,
        ),
        place,
        None,
    )
