"""Repair of the problems that can be repaired safely: no file is deleted.

Files and directories that are in the way are moved to a hidden directory of the table,
``_acidsql_aside``, which has a subdirectory for each repair. The readers, compactors and cleaners
of every engine skip hidden names.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from acidsql.checking import statistics
from acidsql.checking.checksums import checksum_name
from acidsql.checking.problems import Problem
from acidsql.commands.adopt_table import existing
from acidsql.errors import AcidSqlError
from acidsql.format.acid_metadata import footer_items
from acidsql.format.names import (
    ASIDE,
    VERSION_CONTENT,
    VERSION_FILE,
    DirectoryKind,
    parse_directory,
)
from acidsql.format.orc_tail import OrcTail, append_metadata, parse_tail
from acidsql.format.partitions import parse_partition_name
from acidsql.metastore.catalog_changes import AddPartitions, AlterTable, RecordWrites
from acidsql.metastore.write_ids_ahead import keep_write_ids_ahead
from acidsql.scan.snapshot import with_unknown_compactions
from acidsql.storage.filesystem import FileSystem, child
from acidsql.storage.object_store import WholeFile
from acidsql.storage.parallel import in_parallel
from acidsql.storage.sync import sync
from acidsql.storage.tails import OPERATION, last_keys, tail_bytes
from acidsql.storage.uploads import dead_uploads
from acidsql.transactions.write_transaction import TableWrite

logger = logging.getLogger(__name__)


def repair(transaction: TableWrite, problems: Sequence[Problem]) -> list[str | None]:
    """Repair problems of a table in a transaction that holds an EXCLUSIVE lock on it.

    Files are moved immediately, and moved back if the transaction is rolled back. The commit
    changes the metastore.

    Args:
        transaction: the transaction.
        problems: problems of the table.

    Returns:
        A description of the repair for each problem; None if it was not repaired.
    """
    work = _Repair(transaction=transaction, stamp=_stamp(transaction))
    by_name: Mapping[str, list[int]] = defaultdict(list)
    for index, problem in enumerate(problems):
        by_name[problem.name].append(index)
    done: list[str | None] = [None] * len(problems)
    for names, repairing in _REPAIRS.items():
        indexes = [index for name in names for index in by_name[name]]
        if not indexes:
            continue
        answers = repairing(work, [problems[index] for index in indexes])
        for index, answer in zip(indexes, answers, strict=True):
            done[index] = answer
    return done


def _stamp(transaction: TableWrite) -> str:
    """Return the name of a repair's directory: the time and the transaction id."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}_{transaction.txn_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repair:
    """Repair of one table.

    Attributes:
        transaction: the transaction that holds the lock.
        stamp: name of the repair's directory in ``_acidsql_aside``.
    """

    transaction: TableWrite
    stamp: str

    @property
    def files(self) -> FileSystem:
        return self.transaction.session.files

    def aside(self, path: str) -> str:
        """Return the path to which a file or directory is moved aside."""
        root = self.transaction.table.location
        if path.startswith(f"{root}/"):
            return child(root, ASIDE, self.stamp, path[len(root) + 1 :])
        # The partition is outside of the table's directory, perhaps on another file system.
        above, _, name = path.rpartition("/")
        outside, _, directory = above.rpartition("/")
        return child(outside, ASIDE, self.stamp, directory, name)

    def move_aside(self, path: str) -> str:
        """Move a file or directory aside."""
        return self.move(path, self.aside(path))

    def move(self, path: str, target: str) -> str:
        """Move a file or directory; a rollback of the transaction moves it back."""
        self.files.rename(path, target)
        self.transaction.transaction.reverts.append(lambda: self.files.rename(target, path))
        self.transaction.publication.add_name(path)
        self.transaction.publication.add_name(target)
        return target


def _move_aside(work: _Repair, problems: Sequence[Problem]) -> list[str | None]:
    return [f"moved to {work.move_aside(problem.path)}" for problem in problems]


def _abort_uploads(work: _Repair, problems: Sequence[Problem]) -> list[str | None]:
    session = work.transaction.session
    paths = {problem.path for problem in problems}
    for upload in dead_uploads(session.files, session.metastore, work.transaction.table):
        if upload.path in paths:
            session.files.abort_upload(upload)
    return ["aborted"] * len(problems)


def _move_checksums(work: _Repair, problems: Sequence[Problem]) -> list[str | None]:
    answers: list[str | None] = []
    for problem in problems:
        above, _, name = problem.path.rpartition("/")
        checksums = child(above, checksum_name(name))
        answers.append(f"moved to {_move_hidden(work, checksums)}")
    return answers


def _move_hidden(work: _Repair, path: str) -> str:
    """Move a checksum file aside, to a name that Hadoop does not use for checksum files."""
    return work.move(path, f"{work.aside(path)}_")


def _write_versions(work: _Repair, problems: Sequence[Problem]) -> list[str | None]:
    def write(problem: Problem) -> str:
        path = child(problem.path, VERSION_FILE)
        work.files.write(path, VERSION_CONTENT)
        work.transaction.publication.add(path)
        return f"written {path}"

    return list(in_parallel(write, problems))


def _add_partitions(work: _Repair, problems: Sequence[Problem]) -> list[str | None]:
    """Add the partitions that MSCK REPAIR TABLE would add; skip the others."""
    transaction = work.transaction
    session, table = transaction.session, transaction.table
    answers: list[str | None] = []
    for problem in problems:
        values = tuple(value for _, value in parse_partition_name(problem.partition or ""))
        try:
            adopted = existing(session, table, places=[(values, problem.path)])
        except AcidSqlError as error:
            answers.append(None)
            logger.warning("%s was not added: %s", problem.path, error)
            continue
        transaction.changes.append(
            AddPartitions(table=table, partitions=adopted.partitions, had_files=True)
        )
        session.metastore.seed_write_id(table.database, table.name, adopted.highest_write_id + 1)
        session.metastore.seed_txn_id(adopted.highest_txn_id + 1)
        answers.append("added to the metastore")
    return answers


def _raise_ids(work: _Repair, problems: Sequence[Problem]) -> list[str | None]:
    """Raise the metastore's next ids above the directories' ids, which then count as committed.

    A metastore server is the authority on ids, so directories with other ids were put there by
    hand. They are not repaired.
    """
    transaction = work.transaction
    metastore, table = transaction.session.metastore, transaction.table
    if metastore.capabilities.is_id_authority:
        return [None] * len(problems)
    names = [problem.path.rpartition("/")[2] for problem in problems]
    keep_write_ids_ahead(metastore, table, names)
    with_unknown_compactions(metastore, transaction.txns, names)
    return ["raised the ids of the metastore"] * len(problems)


def _forget_statistics(work: _Repair, problems: Sequence[Problem]) -> list[str | None]:
    table = work.transaction.table
    kept = {k: v for k, v in table.properties.items() if k not in statistics.NAMES}
    after = replace(table, properties=kept)
    work.transaction.changes.append(AlterTable(before=table, after=after))
    written = work.transaction.partitions() if table.partition_columns else ()
    work.transaction.changes.append(RecordWrites(table=table, written=written))
    return ["taken out of the metastore"] * len(problems)


def _restamp(work: _Repair, problems: Sequence[Problem]) -> list[str | None]:
    """Rewrite the metadata of files; rewrite each file once, even if it has several problems."""
    paths = list(dict.fromkeys(problem.path for problem in problems))
    staged = in_parallel(lambda path: _stamped_copy(work, path), paths)
    answers: dict[str, str | None] = {}
    for path, copy in zip(paths, staged, strict=True):
        answers[path] = None if copy is None else _replace(work, path, copy)
    return [answers[problem.path] for problem in problems]


def _stamped_copy(work: _Repair, path: str) -> str | None:
    """Copy a file to staging and rewrite the copy's metadata; return None if events are mixed."""
    files = work.files
    size = files.size(path)
    last = tail_bytes(files, path, size)
    tail = parse_tail(last, size)
    counts = _counts(path, tail)
    if counts is None:
        return None
    keys = last_keys(files, path, len(tail.stripes))
    copy = child(work.transaction.staging.path, "repaired", path.partition(":")[2].lstrip("/"))
    added = append_metadata(last, size, footer_items(keys, *counts))
    if files.is_object_store(copy):
        files.complete(WholeFile(path, size), added, copy)
        work.transaction.transaction.at_end.callback(files.delete, work.transaction.staging.path)
    else:
        files.copy(path, copy)
        files.append(copy, added)
    sync(files, trees=[copy])
    return copy


def _counts(path: str, tail: OrcTail) -> tuple[int, int] | None:
    """Return the numbers of inserts and deletes in a file; None if a kind of event is wrong."""
    directory = parse_directory(path.split("/")[-2])
    is_delete = directory is not None and directory.kind is DirectoryKind.DELETE_DELTA
    operation = tail.file_int_stats(OPERATION)
    expected = 2 if is_delete else 0
    if operation is None:
        return (0, 0) if not tail.rows else None
    if (operation.minimum, operation.maximum) != (expected, expected):
        return None
    return (0, tail.rows) if is_delete else (tail.rows, 0)


def _replace(work: _Repair, path: str, copy: str) -> str:
    """Replace a file with a copy atomically, and keep the old file aside.

    Readers that have the old file open continue to read it. Both files have the same stripes.
    """
    above, _, name = path.rpartition("/")
    checksums = child(above, checksum_name(name))
    if work.files.local(path) is not None and work.files.exists(checksums):
        _move_hidden(work, checksums)
    target = work.aside(path)
    work.files.link(path, target)
    work.transaction.publication.add(target)
    work.files.replace(copy, path)
    work.transaction.transaction.reverts.append(lambda: work.files.replace(target, path))
    work.transaction.publication.add(path)
    return f"rewritten; the old file is {target}"


_REPAIRS: Mapping[tuple[str, ...], Callable[[_Repair, Sequence[Problem]], list[str | None]]] = {
    # First, because a checksum file that does not match would make the other repairs fail.
    ("CHECKSUM_MISMATCH",): _move_checksums,
    (
        "NO_KEY_INDEX",
        "INVALID_KEY_INDEX",
        "NO_ACID_STATS",
        "INVALID_ACID_STATS",
        "INVALID_ACID_VERSION",
    ): _restamp,
    ("ABORTED_DIRECTORY", "DEAD_STAGING_DIRECTORY"): _move_aside,
    ("DEAD_UPLOAD",): _abort_uploads,
    ("NO_VERSION_FILE",): _write_versions,
    ("WRITE_ID_ABOVE_METASTORE", "TRANSACTION_ID_ABOVE_METASTORE"): _raise_ids,
    ("UNREGISTERED_PARTITION",): _add_partitions,
    ("STALE_STATISTICS",): _forget_statistics,
}
