"""Changes of the catalog that a transaction makes at its commit, and their file operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from acidsql.format.paths import parent
from acidsql.metastore.history import RecordedStatement, WriteCounts
from acidsql.metastore.model import CompactionType, Partition, Table
from acidsql.metastore.table_statistics import Statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTable:
    """Replace the definition of a table; its name stays the same.

    Attributes:
        before: its definition under the lock of the transaction.
        after: its new definition.
    """

    before: Table
    after: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTable:
    """Replace the definition of a table, its directory and all of its partitions.

    Transactions that are open at the commit may read the old directory. It is deleted when they
    have ended, or when the table is dropped.

    Attributes:
        before: its definition under the lock of the transaction.
        after: its new definition, with a new directory (``Metastore.delete_if_aborted``).
        table_id: table id of ``Metastore.table_owner``.
    """

    before: Table
    after: Table
    table_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable:
    """Rename a table, and move it with the partitions below it.

    Attributes:
        table: its definition before the change.
        database: database of the new name.
        name: the new name.
        location: its new directory; a server that chooses locations ignores it.
    """

    table: Table
    database: str
    name: str
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable:
    """Drop a table or view, and delete its directory."""

    table: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTable:
    """Make a table that was created only for this transaction visible under its final name.

    Attributes:
        staged: its definition before the commit (``Metastore.stage_table``).
        name: its final name.
    """

    staged: Table
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDatabase:
    """Drop a database that is empty after the preceding changes.

    Attributes:
        location: its directory, which is deleted if it is empty then; '' deletes nothing.
    """

    name: str
    location: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions:
    """Add partitions; partitions that exist already do not change.

    Attributes:
        had_files: whether their directories already had files, which older versions of the table
            did not contain.
    """

    table: Table
    partitions: tuple[Partition, ...]
    had_files: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitions:
    """Replace the location and columns of partitions.

    Attributes:
        before: the partitions under the lock of the transaction.
        after: the same partitions, changed.
    """

    table: Table
    before: tuple[Partition, ...]
    after: tuple[Partition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamePartition:
    """Change the values of a partition, and move its directory if the location changes."""

    table: Table
    before: Partition
    after: Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitions:
    """Drop partitions, and delete their directories."""

    table: Table
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordWrites:
    """Record that the transaction wrote to partitions, which are added if they are missing.

    The metastore marks the statistics as out of date from which other engines answer queries.

    Attributes:
        written: the partitions; none for a table without partition columns.
        mark: highest write id of the transactions that write together with this one and do not
            commit earlier. Under this write id, the statistics must be marked only once. None: the
            write id of this transaction.
    """

    table: Table
    written: tuple[Partition, ...]
    mark: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStatistics:
    """Store statistics that the transaction has computed.

    They are out of date immediately if another transaction, which this one does not see, has
    committed a write meanwhile. Later writers mark them at their commit (``RecordWrites``).

    Attributes:
        computed: statistics of the table, of partitions, or of both.
    """

    table: Table
    computed: tuple[Statistics, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedFile:
    """File outside of all tables whose content a transaction has copied into a table.

    Attributes:
        size: size in bytes.
        modified: time of modification, as ``FileSystem`` reports it.
    """

    path: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteLoadedFiles:
    """Delete the sources of LOAD DATA, except those that have changed since they were copied."""

    files: tuple[LoadedFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCounts:
    """Record in the history of a table what the transaction wrote to it.

    Attributes:
        statement: the statement, if it differs from the one recorded with the write id; otherwise
            None.
    """

    table: Table
    counts: WriteCounts
    statement: RecordedStatement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCompaction:
    """Record in the history of a table that the transaction compacted the table or a partition.

    Attributes:
        partition: name of the partition, or None.
        first_write_id: lowest write id that was merged.
        write_id: highest write id that was merged.
        counts: number of written files and bytes.
    """

    table: Table
    partition: str | None
    type: CompactionType
    first_write_id: int
    write_id: int
    counts: WriteCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOffset:
    """Record up to which offset of a stream the transaction wrote the records to a table.

    Attributes:
        stream: name of the stream.
        before: offset at which the client continued; None if there was none.
        offset: offset of the record after the last written one.
    """

    table: Table
    stream: str
    before: int | None
    offset: int


CatalogChange = (
    AlterTable
    | ReplaceTable
    | RenameTable
    | DropTable
    | ShowTable
    | DropDatabase
    | AddPartitions
    | AlterPartitions
    | RenamePartition
    | DropPartitions
    | RecordWrites
    | RecordStatistics
    | DeleteLoadedFiles
    | RecordCounts
    | RecordCompaction
    | RecordOffset
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Move of a directory or file.

    Attributes:
        source: its path.
        target: its new path; None deletes it.
        keeps_directory: whether an empty directory replaces it.
    """

    source: str
    target: str | None = None
    keeps_directory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOperation:
    """File operation that depends on the outcome of a transaction and is executed after it.

    Any process may execute it, and several may do so at the same time. Every moved directory goes
    through the holding directory, which exists before the outcome is known. A process that finds
    the moves done removes the holding directory. A late process can then no longer move anything,
    even if another directory has taken the name of the source.

    Attributes:
        holding: hidden directory on the file system of the sources; '' if there are no moves.
        moves: moves of the directories below one parent.
        loaded: files that are deleted unless they have changed.
        emptied: directories that are deleted at the end if they are empty, the inner ones first.
        txn_id: the transaction, whose id is in the names of hidden files.
        after_readers_of: id of a table. While that table exists, the operation waits for the end of
            all transactions that were open at the commit. 0: it does not wait.
        readers_up_to: highest id of these transactions; 0 before the commit.
    """

    txn_id: int
    holding: str = ""
    moves: tuple[Move, ...] = ()
    loaded: tuple[LoadedFile, ...] = ()
    emptied: tuple[str, ...] = ()
    after_readers_of: int = 0
    readers_up_to: int = 0


# The readers and compactors of every engine skip names with this prefix.
HOLDING_PREFIX = "_acidsql_holding_"


def file_operations(
    txn_id: int,
    changes: Sequence[CatalogChange],
    exists: Callable[[str], bool] = lambda _: True,
) -> tuple[FileOperation, ...]:
    """Return the file operations of changes, one for each directory with moves.

    Args:
        txn_id: the transaction.
        changes: changes of its commit.
        exists: returns whether a directory exists; a missing directory is not moved.
    """
    grouped: dict[str, list[Move]] = {}
    loaded: list[LoadedFile] = []
    emptied: list[str] = []
    for change in changes:
        emptied += _emptied(change)
        if isinstance(change, DeleteLoadedFiles):
            loaded += change.files
        for move in filter(lambda move: exists(move.source), _moves(change)):
            grouped.setdefault(parent(move.source), []).append(move)
    operations = [moving(txn_id, place, moves) for place, moves in grouped.items()]
    operations += [
        _deleting_later(txn_id, change) for change in changes if isinstance(change, ReplaceTable)
    ]
    if loaded or emptied:
        rest = tuple(dict.fromkeys(emptied))
        operations.append(FileOperation(txn_id=txn_id, loaded=tuple(loaded), emptied=rest))
    return tuple(operations)


def tables_of(change: CatalogChange) -> tuple[Table, ...]:
    """Return the tables whose definitions or partitions a change affects."""
    match change:
        case AlterTable(before=table) | ReplaceTable(before=table) | ShowTable(staged=table):
            return (table,)
        case DropDatabase() | DeleteLoadedFiles():
            return ()
    return (change.table,)


def new_places(changes: Sequence[CatalogChange]) -> tuple[str, ...]:
    """Return the locations of the partitions that changes add or may add."""
    added: list[Partition] = []
    for change in changes:
        match change:
            case AddPartitions(partitions=partitions) | RecordWrites(written=partitions):
                added += partitions
    return tuple(partition.location for partition in added)


def moving(txn_id: int, place: str, moves: Sequence[Move]) -> FileOperation:
    """Return the operation that moves directories out of the directory ``place``."""
    return FileOperation(
        txn_id=txn_id, holding=f"{place}/{HOLDING_PREFIX}{txn_id}", moves=tuple(moves)
    )


def _deleting_later(txn_id: int, change: ReplaceTable) -> FileOperation:
    """Return the operation that deletes the old directory as soon as no reader needs it."""
    location = change.before.location
    operation = moving(txn_id, parent(location), [Move(source=location)])
    # The transaction has a second operation, for its abort, which needs another holding directory.
    holding = f"{operation.holding}_replaced"
    return replace(operation, holding=holding, after_readers_of=change.table_id)


def _moves(change: CatalogChange) -> Iterator[Move]:
    match change:
        case DropTable(table=table) if table.location:
            yield Move(source=table.location)
        case RenameTable(table=table, location=location) if location != table.location:
            yield Move(source=table.location, target=location)
        case RenamePartition(before=before, after=after) if before.location != after.location:
            yield Move(source=before.location, target=after.location)
        case DropPartitions(partitions=partitions):
            yield from (Move(source=partition.location) for partition in partitions)


def _emptied(change: CatalogChange) -> Iterator[str]:
    """Yield directories that may be empty after a change, the inner ones first."""
    match change:
        case DropDatabase(location=location) if location:
            yield location
        case DropPartitions(table=table, partitions=partitions):
            for partition in partitions:
                yield from _between(table, partition)
        case RenamePartition(table=table, before=before, after=after):
            if before.location != after.location:
                yield from _between(table, before)


def _between(table: Table, partition: Partition) -> Iterator[str]:
    """Yield the directories between a table's directory and a partition's, the inner ones first."""
    above = parent(partition.location)
    while above.startswith(f"{table.location}/"):
        yield above
        above = parent(above)
