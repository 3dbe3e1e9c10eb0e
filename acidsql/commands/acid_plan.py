"""Text of EXPLAIN's section ``== ACID ==``: a statement's reads and planned writes of ACID tables.

It also gives the reasons why directories and partitions are read or skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from acidsql import bridge
from acidsql.format.hidden_names import hidden_names
from acidsql.format.names import OWNER_FILE, is_hidden
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.metastore.names import object_name
from acidsql.scan.directories import bucket_files
from acidsql.scan.metadata_count import rows_in_files
from acidsql.scan.record import ScanRecord
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import Listing
from acidsql.storage.staging import Target
from acidsql.transactions.current import current_transaction
from acidsql.transactions.write_intent import WriteIntent

_WRITE_ID = "<write id>"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWrite:
    """Planned write of a statement into one table.

    Attributes:
        operation: name of the statement, such as ``UPDATE``.
        intent: intent with which the statement would lock the table.
        targets: rows and delete events, by statement id.
        writer: description of the writer: the driver or a Spark job.
        notes: further sentences.
    """

    operation: str
    intent: WriteIntent
    targets: tuple[Target, ...]
    writer: str
    notes: tuple[str, ...] = ()


def acid_section(
    session: AcidSession,
    scans: Sequence[ScanRecord],
    writes: Sequence[PlannedWrite],
    *,
    whole: bool,
) -> str:
    """Return the section for the scans and writes of a statement.

    Args:
        session: the session.
        scans: the scans.
        writes: the planned writes.
        whole: whether to list all directories, and to show conditions in full.
    """
    most = None if whole else limits().explained_directories
    lines = ["== ACID =="]
    for scan in scans:
        lines += _scan_lines(session, scan, most)
    for write in writes:
        lines += _write_lines(write)
    if not scans and not writes:
        lines.append("Nothing is read or written")
    return bridge.redacted(session.spark, "\n".join(lines) + "\n")


def _scan_lines(session: AcidSession, scan: ScanRecord, most: int | None) -> Iterator[str]:
    snapshot = scan.snapshot
    when = ", run while the statement is planned" if scan.for_pruning else ""
    yield f"Scan {snapshot.table.full_name}{when}"
    if snapshot.version is not None:
        version = snapshot.version.version
        committed = "" if version.committed is None else f", committed {_time(version.committed)}"
        yield f"  Version: {version.write_id}{committed}"
    txns, write_ids = snapshot.txns, snapshot.write_ids
    yield (
        f"  Snapshot: transactions up to {txns.high_water_mark}{_but(txns.open, txns.aborted)}; "
        f"write ids up to {write_ids.high_water_mark}{_but(write_ids.open, write_ids.aborted)}"
    )
    if snapshot.table.partition_columns:
        yield f"  Partitions: {_partitions(session, scan, most)}"
    yield from _directory_lines(snapshot, most)
    if not snapshot.table.insert_only:
        yield f"  Search argument: {_search(scan, most)}"
        yield f"  Delete events: {_deletes(scan)}"
    yield f"  Rows: {_rows(session, scan)}"
    yield f"  Data: {_size(scan.bytes)} in {_number(scan.files, 'file')}"


def _but(open_ids: Collection[int], aborted_ids: Collection[int]) -> str:
    parts = [
        f"{word} {id_ranges(ids)}"
        for word, ids in (("open", open_ids), ("aborted", aborted_ids))
        if ids
    ]
    return f" ({', '.join(parts)})" if parts else ""


def id_ranges(ids: Collection[int], most: int = 10) -> str:
    """Return ids as ranges; after ``most`` ranges, return the number of ids.

    >>> id_ranges({3, 4, 5, 9})
    '3-5 9'
    >>> id_ranges(range(0, 100, 2), most=2)
    '0 2 … 50 in all'
    """
    ranges: list[tuple[int, int]] = []
    for one in sorted(ids):
        if ranges and ranges[-1][1] == one - 1:
            ranges[-1] = ranges[-1][0], one
        else:
            ranges.append((one, one))
    texts = [f"{low}-{high}" if high > low else str(low) for low, high in ranges]
    if len(texts) > most:
        texts = [*texts[:most], f"… {len(ids)} in all"]
    return " ".join(texts)


def _partitions(session: AcidSession, scan: ScanRecord, most: int | None) -> str:
    kept, required = len(scan.snapshot.partitions), scan.required
    known = ""
    if scan.known_partitions:
        known = f"; the tails of files show whether {scan.known_partitions} of them have rows"
    if not required.partition_conditions:
        return f"all {kept}{known}"
    by = _shortened(bridge.conditions_text(required.partition_conditions), most)
    return f"{kept} of {_number_of_partitions(session, scan.snapshot.table)}, by {by}{known}"


def _number_of_partitions(session: AcidSession, table: Table) -> int:
    """Return the number of a table's partitions, with those that this transaction has added."""
    values = session.metastore.partition_values(table.database, table.name)
    transaction = current_transaction(session)
    writes = transaction and transaction.transaction.written.get(table.full_name)
    return len({*values, *(writes.partitions if writes else ())})


def _directory_lines(snapshot: TableSnapshot, most: int | None) -> Iterator[str]:
    read = [
        f"{_within(snapshot, partition)}{name}: {files}"
        for partition in snapshot.partitions
        for name, files in _read(snapshot, partition)
    ]
    yield f"  Read: {_counted(len(read))}"
    yield from _limited(read, most)
    hidden = [
        f"{_within(snapshot, partition)}{name}: {reason.value}"
        for partition in snapshot.partitions
        for name, reason in hidden_names(
            snapshot.listings.get(partition.location).names,
            partition.state,
            snapshot.write_ids,
            snapshot.txns,
        )
        if name != OWNER_FILE
    ]
    if hidden:
        yield f"  Hidden: {len(hidden)}"
        yield from _limited(hidden, most)


def _read(snapshot: TableSnapshot, partition: PartitionSnapshot) -> Iterator[tuple[str, str]]:
    """Yield the directories that are read in a partition, each with a description of its files."""
    for directory in partition.state.directories:
        yield directory.name, _files(snapshot, snapshot.listings.get(partition.path(directory)))
    if partition.state.originals:
        yield "original files", _number(len(partition.state.originals), "file")


def _files(snapshot: TableSnapshot, listing: Listing) -> str:
    names = bucket_files(listing)
    if snapshot.table.insert_only or not names:  # files without row ids, such as from LOAD DATA
        names = [name for name in listing.files if not is_hidden(name)]
    size = sum(listing.files[name].size for name in names)
    return f"{_number(len(names), 'file')}, {_size(size)}"


def _within(snapshot: TableSnapshot, partition: PartitionSnapshot) -> str:
    """Return the name of a partition as a path prefix; '' for a table without partitions."""
    table = snapshot.table
    return f"{table.partition_name(partition.values)}/" if table.partition_columns else ""


def _limited(lines: Sequence[str], most: int | None) -> Iterator[str]:
    shown = lines if most is None else lines[:most]
    for line in shown:
        yield f"    {line}"
    if len(shown) < len(lines):
        yield f"    … {len(lines) - len(shown)} more (EXPLAIN EXTENDED shows them)"


def _search(scan: ScanRecord, most: int | None) -> str:
    if scan.required.conditions:
        return _shortened(bridge.conditions_text(scan.required.conditions), most)
    return "of the predicates that Spark pushes into the scan"


def _deletes(scan: ScanRecord) -> str:
    deletes = scan.deletes
    if deletes is None or not deletes.files:
        return "none"
    number = f"{deletes.events} in {_number(len(deletes.files), 'file')}"
    if scan.snapshot.table.changes is not None:
        return f"{number}, whose rows are changes"
    if scan.counted_rows is not None:
        return f"{number}, counted from the files"
    if scan.shows_deleted:
        return f"{number}, whose rows are shown"
    return f"{number}, applied as the rows are read"


def _rows(session: AcidSession, scan: ScanRecord) -> str:
    if scan.counted_rows is not None:
        return f"{scan.counted_rows}, counted from the tails of the files; Spark reads no file"
    if scan.inserts is None:
        return "not known before they are read"
    rows = rows_in_files(session, scan.snapshot, scan.inserts)
    if rows is None:
        return f"not counted, in more than {limits().counted_files} files"
    deleted = scan.deletes.events if scan.deletes is not None else 0
    return f"{rows}, up to {deleted} of them deleted" if deleted else str(rows)


def _write_lines(write: PlannedWrite) -> Iterator[str]:
    intent = write.intent
    request = intent.request()
    yield f"Write {intent.table.full_name} by {write.operation}"
    locked = object_name(request.database, request.table, request.partition)
    yield f"  Lock: {intent.lock.value.upper()} on {locked}"
    where = "" if not intent.table.partition_columns else " in the partitions of the rows"
    if intent.partition is not None and intent.table.partition_columns:
        where = f" in {intent.table.partition_name(intent.partition)}"
    names = dict.fromkeys(_directory_name(intent, target) for target in write.targets)
    yield f"  Directories: {', '.join(names)}{where}"
    yield f"  Writer: {write.writer}"
    for note in write.notes:
        yield f"  {note}"


def _directory_name(intent: WriteIntent, target: Target) -> str:
    if intent.overwrite:
        return f"base_{_WRITE_ID}"
    kind = "delete_delta" if target.deletes else "delta"
    return f"{kind}_{_WRITE_ID}_{_WRITE_ID}_{target.statement_id:04}"


def _shortened(text: str, most: int | None) -> str:
    longest = limits().explained_characters
    return text if most is None or len(text) <= longest else f"{text[:longest]}…"


def _counted(directories: int) -> str:
    return f"{directories} directories" if directories != 1 else "1 directory"


def _time(seconds: float) -> str:
    return str(datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)) + " UTC"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _size(size: int) -> str:
    """Return a number of bytes with a unit.

    >>> [_size(n) for n in (0, 1023, 1536, 5 * 2**30)]
    ['0 B', '1023 B', '1.5 KiB', '5.0 GiB']
    """
    if size < 1024:
        return f"{size} B"
    value = float(size)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1024 or unit == "TiB":
            break
    return f"{value:.1f} {unit}"
