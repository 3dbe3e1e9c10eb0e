"""Named steps of statements: calls before and after which a process can be killed.

A worker installs wrappers around the calls that matter. Each counts how often a step is reached,
and strikes when it is reached for the n-th time.
"""

from __future__ import annotations

import functools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from acidsql import bridge
from acidsql.bridge import s3_uploads
from acidsql.commands import create, databases_and_views
from acidsql.compaction import cleaner
from acidsql.metastore import file_moves
from acidsql.metastore.embedded import commit_abort, file_operations
from acidsql.metastore.embedded.database import Database
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import TxnType
from acidsql.storage import sync
from acidsql.storage.filesystem import FileSystem

RANDOM = "random"
# Whatever the step is: the n-th of all. On S3 these are enough, since each is a request or a call
# of the metastore.
ANY = "any"
# The steps around a commit, and around a rename that it decides on or that it makes visible.
COMMITS_AND_RENAMES = frozenset(
    {
        "journal entry",
        "holding directory",
        "before COMMIT",
        "after COMMIT",
        "before rename",
        "after rename",
        "before move",
        "after move",
    }
)
# Where the tables of a campaign are.
LOCAL, S3 = "local", "s3"
_RECORDS = {
    LOCAL: Path(__file__).with_name("kill_steps.json"),
    S3: Path(__file__).with_name("kill_steps_s3.json"),
}


@cache
def recorded(filesystem: str = LOCAL) -> dict[str, dict[str, int]]:
    """Return how often each case reaches each step, as ``record_kills`` counted it."""
    record = _RECORDS[filesystem]
    read: dict[str, dict[str, int]] = json.loads(record.read_text()) if record.exists() else {}
    return read


def record(steps: Mapping[str, Mapping[str, int]], filesystem: str = LOCAL) -> None:
    """Keep how often each case reaches each step."""
    lines = (f"  {json.dumps(name)}: {json.dumps(steps[name], sort_keys=True)}" for name in steps)
    _RECORDS[filesystem].write_text("{\n" + ",\n".join(lines) + "\n}\n")


class Steps:
    """Counters of the steps that a statement reaches.

    Attributes:
        counts: by the names of the steps; empty until ``armed``.
        armed: whether steps are counted.
    """

    def __init__(self, step: str | None, number: int, strike: Callable[[], None]) -> None:
        self.counts: Counter[str] = Counter()
        self._total = 0
        self.armed = False
        self._target = step, number
        self._strike = strike
        self._lock = threading.Lock()

    def reach(self, step: str | None) -> None:
        """Count a step, and strike if it is the one; None is no step."""
        if step is None or not self.armed:
            return
        with self._lock:
            self.counts[step] += 1
            self._total += 1
            if self._target in ((step, self.counts[step]), (ANY, self._total)):
                self._strike()


Name = Callable[..., str | None]


def _around(steps: Steps, function: Callable[..., Any], name: Name, *, split: bool) -> Any:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        step = name(*args)
        steps.reach(f"before {step}" if step and split else step)
        result = function(*args, **kwargs)
        steps.reach(f"after {step}" if step and split else step)
        return result

    return wrapped


def _named(name: str) -> Name:
    return lambda *_: name


def _rename(_: FileSystem, _source: str, target: str) -> str | None:
    return None if _is_staged(target) else "rename"


def _staged_rename(_: FileSystem, _source: str, target: str) -> str | None:
    return "staged file" if _is_staged(target) else None


def _write(_: FileSystem, path: str, *_content: bytes) -> str:
    return "staged file" if _is_staged(path) else "owner file"


def _move(_: FileSystem, _source: str, target: str) -> str | None:
    return None if target.endswith("_done") else "move"


def _away(_: FileSystem, _source: str, target: str) -> str | None:
    return "holding directory away" if target.endswith("_done") else None


def _delete(_: FileSystem, path: str) -> str:
    name = path.rpartition("/")[2]
    if name.startswith("_acidsql_loaded_"):
        return "delete loaded file"
    if name.endswith("_done"):
        return "holding directory away"
    if name.startswith("_acidsql_staging_"):
        return "delete staging"
    return "staged file" if _is_staged(path) else "delete old directory"


def _in_store(name: str) -> Name:
    """Name a step of object stores, whose first argument is a path, or several."""

    def named(files: FileSystem, path: Any, *_: Any) -> str | None:
        paths = [path] if isinstance(path, str) else list(path)
        return name if paths and files.is_object_store(paths[0]) else None

    return named


def _is_staged(path: str) -> bool:
    return "/_acidsql_staging_" in path


_CALLS: tuple[tuple[Any, str, Name], ...] = (
    *(
        (EmbeddedMetastore, method, _named(method))
        for method in (
            "open_txn",
            "allocate_write_id",
            "lock",
            "add_dynamic_partitions",
            "stage_table",
            "create_table",
            "request_compaction",
            "next_compaction",
            "compaction_started",
            "compaction_done",
            "compaction_cleaned",
        )
    ),
    (file_operations, "enter", _named("journal entry")),
    (file_moves, "prepare", _named("holding directory")),
    (file_operations, "remove", _named("journal removal")),
    (bridge, "write_bucket_files", _named("write")),
    (FileSystem, "assemble", _named("write")),
    (FileSystem, "write", _write),
    (FileSystem, "append", _named("stamp")),
    (FileSystem, "put", _in_store("put")),
    (FileSystem, "delete_trees", _in_store("delete old directories")),
    (FileSystem, "delete_objects", _in_store("delete objects")),
    (FileSystem, "complete", _named("complete staged file")),
    (s3_uploads, "begin", _named("upload")),
    (s3_uploads.Multipart2, "send", _named("upload")),
    (s3_uploads.Multipart2, "complete", _named("upload")),
    (FileSystem, "rename", _staged_rename),
    (FileSystem, "link", _named("link")),
    (FileSystem, "move", _away),
    (FileSystem, "delete", _delete),
    (FileSystem, "delete_if_empty", _named("delete empty directory")),
    (FileSystem, "make_directory", _named("make directory")),
    (sync, "sync", _named("sync")),
    (cleaner, "sync", _named("sync")),
    (create, "make_directory", _named("make directory")),
    (databases_and_views, "_drop_in_spark", _named("drop in Spark")),
)
# Before and after these are steps of their own.
_SPLIT: tuple[tuple[Any, str, Name], ...] = (
    (FileSystem, "rename", _rename),
    (FileSystem, "move", _move),
)


@contextmanager
def installed(steps: Steps) -> Iterator[None]:
    """Have all named steps counted in the block."""
    undo = []
    for calls, split in ((_CALLS, False), (_SPLIT, True)):
        for owner, attribute, name in calls:
            wrapped = _around(steps, getattr(owner, attribute), name, split=split)
            undo.append(patch.object(owner, attribute, wrapped))
    undo.extend(_commits(steps))
    for one in undo:
        one.start()
    try:
        yield
    finally:
        for one in reversed(undo):
            one.stop()


def _commits(steps: Steps) -> list[Any]:
    """Return patches for the moments before and after SQLite's COMMIT of a transaction's commit."""
    commit, write = commit_abort.commit, Database.write
    committing = threading.local()

    def commit_and_reach(connection: Any, txn_id: int, *args: Any) -> Any:
        row = connection.execute("SELECT type FROM txns WHERE txn_id = ?", (txn_id,)).fetchone()
        result = commit(connection, txn_id, *args)
        # A reader's commit changes nothing.
        if row is not None and row[0] != TxnType.READ_ONLY.value:
            committing.now = True
            steps.reach("before COMMIT")
        return result

    @contextmanager
    def write_and_reach(database: Database) -> Iterator[Any]:
        with write(database) as connection:
            yield connection
        if getattr(committing, "now", False):
            committing.now = False
            steps.reach("after COMMIT")

    return [
        patch.object(commit_abort, "commit", commit_and_reach),
        patch.object(Database, "write", write_and_reach),
    ]
