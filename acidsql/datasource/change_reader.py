"""Changes of a table by ``format("acidsql")``, for batches and streams.

The offset of a stream is a checkpoint: the set of write ids whose changes the stream has read. A
number would not be enough, because write id 7 can commit before write id 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from acidsql.arrow_reader.cached_files import CachedFiles, local_source
from acidsql.arrow_reader.change_rows import CHANGE_FIELDS, ChangeReader, paired
from acidsql.arrow_reader.columns import columns_of
from acidsql.arrow_reader.data_files import data_files
from acidsql.arrow_reader.reading import check_readable
from acidsql.arrow_reader.rows import FileStripe, Wanted, partitions_of, stripes_of
from acidsql.datasource.change_options import ChangeOptions
from acidsql.datasource.reading import FilePart, file_parts, stripe_bytes
from acidsql.errors import quoted_name
from acidsql.format.changed_write_ids import ChangedWriteIds
from acidsql.format.checkpoints import Checkpoint
from acidsql.format.identifiers import folded
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.metastore.moments import ChangeRange
from acidsql.metastore.protocol import Metastore
from acidsql.scan.change_form import (
    ChangeForm,
    check_has_changes,
    invalid_changes,
    keys_then,
    seen_at,
)
from acidsql.scan.change_lists import ChangeLists, Commits
from acidsql.scan.change_snapshot import ChangeSnapshot
from acidsql.scan.history_reader import HistoryFiles
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.scan.versions import at_moment
from acidsql.storage.listings import Listings
from acidsql.storage.local_files import LocalFiles
from acidsql.storage.tails import TailCache
from acidsql.storage.weighted_groups import weighted_groups
from acidsql.streaming.client import Client

_NAMES = tuple(field.name for field in CHANGE_FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePart:
    """Stripes that contain changes of a table.

    Attributes:
        table: definition of the table.
        names: columns of the table that are read.
        form: form of the changes.
        commits: facts about the write ids.
        changed: the write ids.
        txns: transactions that are visible.
        write_ids: write ids that are visible.
        partitions: partitions of the files, in the order of their ordinals.
        replaced_by: write id of the base that replaced the rows of each partition, or None.
        files: the files, each with its stripes to read.
    """

    table: Table
    names: tuple[str, ...]
    form: ChangeForm
    commits: Commits
    changed: ChangedWriteIds
    txns: ValidTxnList
    write_ids: ValidWriteIdList
    partitions: tuple[PartitionSnapshot, ...]
    replaced_by: tuple[int | None, ...]
    files: tuple[FilePart, ...]

    def batches(self, source: CachedFiles) -> Iterator[pa.RecordBatch]:
        """Read the changes: the columns of the table, then the columns of ``CHANGE_FIELDS``."""
        snapshot = TableSnapshot(
            table=self.table,
            txns=self.txns,
            write_ids=self.write_ids,
            partitions=self.partitions,
            listings=Listings(source.files, None),
        )
        changes = ChangeSnapshot(
            snapshot=snapshot, changed=self.changed, replaced_by=self.replaced_by
        )
        reader = ChangeReader(
            source=source,
            changes=changes,
            wanted=Wanted(columns=columns_of(self.table), names=self.names, rows=None),
            form=self.form,
            commits=self.commits,
        )
        stripes = (
            FileStripe(part.file, number, first_row)
            for part in self.files
            for number, first_row in part.stripes
        )
        yield from reader.read(stripes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTask:
    """Changes that one task reads; if keys pair changes, one task reads all changes.

    Attributes:
        names: names of the columns that are returned.
        parts: parts of the changes; at least one.
    """

    names: tuple[str, ...]
    parts: tuple[ChangePart, ...]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the changes.

        Raises:
            FormatError: see ``TaskPart.batches``.
        """
        source = local_source()
        form = self.parts[0].form
        every = (batch for part in self.parts for batch in part.batches(source))
        if not form.keys:
            yield from (batch.select(list(self.names)) for batch in every)
            return
        batches = list(every)
        if batches:
            known = {folded(name): name for name in batches[0].schema.names}
            pairs = paired(pa.Table.from_batches(batches), form, known)
            yield from pairs.select(list(self.names)).to_batches()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reader of versions and changes without Spark."""

    metastore: Metastore
    files: HistoryFiles
    tails: TailCache
    learnt_places: set[str]


class Changes:
    """Changes of a table, read under an open transaction.

    Args:
        client: client of the metastore.
        name: name of the table.
        options: options that select the changes.
        txn_id: the transaction, which holds back cleaners; None if no rows will be read.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.CHANGE_FEED, UNSUPPORTED_FEATURE.ARROW_TABLE,
            COLUMN_ALREADY_EXISTS, INVALID_PARAMETER_VALUE.CHANGES.
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
    """

    def __init__(
        self, client: Client, name: str, options: ChangeOptions, txn_id: int | None
    ) -> None:
        now = client.table(name)
        check_has_changes(now)
        check_readable(now)
        self.table = at_moment(client.metastore, now, options.last)
        self._options = options
        form = options.form(now)
        self._form = replace(form, keys=keys_then(now, self.table, form.keys))
        self._metastore = client.metastore
        self._source = local_source()
        own_txns = frozenset() if txn_id is None else frozenset({txn_id})
        self._lists = ChangeLists(
            reader=_Reader(
                metastore=client.metastore,
                files=LocalFiles(),
                tails=self._source.tails,
                learnt_places=client.learnt_places,
            ),
            txns=client.metastore.valid_txns(txn_id),
            own_txns=own_txns,
            listings=Listings(self._source.files, txn_id),
        )

    def first(self) -> str | None:
        """Return the checkpoint before the first change; None to begin with the existing rows.

        Raises:
            AcidAnalysisError: VERSION_NOT_FOUND, HISTORY_NOT_AVAILABLE.
        """
        options = self._options
        if options.first is None:
            return self.latest() if options.from_now else None
        wanted = ChangeRange(first=options.first, includes_first=options.includes_first)
        now = self._lists.end(self.table, wanted)
        return self._checkpoint(self._lists.seen(self.table, wanted, options.first, now))

    def latest(self) -> str:
        """Return the checkpoint after the latest commit."""
        return self._checkpoint(self._lists.end(self.table, ChangeRange(first=None)))

    def _checkpoint(self, write_ids: ValidWriteIdList) -> str:
        identity = self._metastore.table_identity(self.table.database, self.table.name)
        return Checkpoint(write_ids=write_ids, table_id=identity).to_string()

    def tasks_of_options(self, names: Sequence[str]) -> list[ChangeTask]:
        """Divide the changes between the bounds of the options among tasks.

        Args:
            names: names of the columns, including the columns of changes.

        Raises:
            AcidAnalysisError: see ``ChangeLists.between``; INVALID_PARAMETER_VALUE.CHANGES, the
                options have no first bound.
        """
        options = self._options
        if options.first is None:
            raise invalid_changes(self.table, "give startingVersion or startingTimestamp")
        wanted = ChangeRange(
            first=options.first,
            last=options.last,
            includes_first=options.includes_first,
            includes_last=options.includes_last,
        )
        return self._tasks(wanted, names)

    def tasks_between(self, start: str | None, end: str, names: Sequence[str]) -> list[ChangeTask]:
        """Divide the changes between two checkpoints among tasks.

        Args:
            start: the earlier checkpoint; None returns the rows that exist at ``end``, each as an
                insert.
            end: the later checkpoint.
            names: names of the columns, including the columns of changes.

        Raises:
            AcidAnalysisError: INVALID_CHECKPOINT, HISTORY_NOT_AVAILABLE, VERSION_HAS_OTHER_COLUMNS.
        """
        seen = None if start is None else seen_at(self._metastore, self.table, start)
        wanted = ChangeRange(first=seen)
        key = self.table.full_name, wanted.last, wanted.includes_last
        self._lists.ends[key] = seen_at(self._metastore, self.table, end)
        return self._tasks(wanted, names)

    def _tasks(self, wanted: ChangeRange, names: Sequence[str]) -> list[ChangeTask]:
        table_columns, keys = self._names(names)
        form = replace(self._form, net=self._form.net or wanted.first is None)
        changed, snapshots = self._lists.between(self.table, wanted, None)
        times = any(folded(name) == _NAMES[-1] for name in names)
        commits = self._lists.commits(self.table, changed, with_times=times)
        columns = columns_of(self.table)
        read = Wanted(columns=columns, names=(*table_columns, *keys), rows=None)
        parts: list[ChangePart] = []
        for snapshot in snapshots:
            reader = ChangeReader(
                source=self._source, changes=snapshot, wanted=read, form=form, commits=commits
            )
            parts += self._parts(reader)
        known = {folded(name): name for name in (*table_columns, *_NAMES)}
        shown = tuple(known[folded(name)] for name in names)
        if form.keys and parts:
            return [ChangeTask(names=shown, parts=tuple(parts))]
        return [ChangeTask(names=shown, parts=(part,)) for part in parts]

    def _names(self, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the requested columns of the table, and the key columns that are read as well.

        Raises:
            AcidAnalysisError: COLUMN_NOT_FOUND; INVALID_PARAMETER_VALUE.CHANGES, a key has a type
                that only Spark can compare.
        """
        columns = columns_of(self.table)
        wanted = [name for name in names if folded(name) not in _NAMES]
        table_columns = list(columns.chosen(wanted))
        keys = columns.chosen(self._form.keys)
        for name in keys:
            if not _compares_alike(columns.field(name).type):
                raise invalid_changes(
                    self.table,
                    f"the key {quoted_name([name])} has a type that is not compared without Spark: "
                    "use acidsql.changes",
                )
        return table_columns, [name for name in keys if name not in table_columns]

    def _parts(self, reader: ChangeReader) -> Iterator[ChangePart]:
        taken = reader.changes.snapshot
        table_files = data_files(self._source, taken)
        stripes = stripes_of(table_files, reader.wanted, partitions_of(taken, reader.wanted))
        reader.check_nothing_is_lost(stripes)
        telling = filter(reader.may_contain_changes, stripes)
        for group in weighted_groups(telling, stripe_bytes, limits().task_stripe_bytes):
            ordinals, files = file_parts(group)
            yield ChangePart(
                table=self.table,
                names=reader.wanted.names,
                form=reader.form,
                commits=reader.commits,
                changed=reader.changes.changed,
                txns=taken.txns,
                write_ids=taken.write_ids,
                partitions=tuple(taken.partitions[ordinal] for ordinal in ordinals),
                replaced_by=tuple(reader.changes.replaced_by[ordinal] for ordinal in ordinals),
                files=files,
            )


def _compares_alike(kind: pa.DataType) -> bool:
    """Return whether Arrow and Spark agree on which values of a type are equal."""
    return not (pa.types.is_floating(kind) or pa.types.is_nested(kind))
