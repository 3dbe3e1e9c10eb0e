"""Plan of the changes of a table between two valid lists: rows that were inserted, and old rows.

Inserted rows have one of the write ids between the lists. The delete events of these write ids name
the deleted rows, which are read from the files that can contain them. Rows that a base has replaced
were deleted too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from acidsql import bridge
from acidsql.format.changed_write_ids import ChangedWriteIds
from acidsql.format.names import DirectoryKind
from acidsql.format.valid_lists import RangeValidity
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.scan.change_form import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    DELETE,
    INSERT,
    POSTIMAGE,
    PREIMAGE,
    ChangeForm,
)
from acidsql.scan.change_lists import Commits
from acidsql.scan.change_snapshot import ChangeSnapshot, only_changed
from acidsql.scan.columns import partition_columns, scan_schema
from acidsql.scan.deletes import Deletes, find_deletes
from acidsql.scan.directories import DataDirectory, delete_deltas, insert_directories
from acidsql.scan.inserts import Inserts
from acidsql.scan.lost_rows import failing, without_rows
from acidsql.scan.metadata_count import has_rows_of_deletes
from acidsql.scan.plan import (
    DELETED_BY,
    EVENT_KEYS,
    delete_events,
    find_inserts,
    keys_of_rows,
)
from acidsql.scan.record import ScanRecord
from acidsql.scan.relation import row_relation
from acidsql.scan.required_rows import RequiredRows
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema.acid_file import KEYS, ROW_ID_COLUMN, ROW_ID_FIELDS
from acidsql.schema.columns import data_schema
from acidsql.session.acid_session import AcidSession
from acidsql.storage.relation import MetadataColumns, ReadOptions, metadata_columns
from acidsql.syntax.lexer import quote

# Above this number, acidsql does not check whether all write ids are updates.
_MOST_LISTED = 100_000


def change_schema(spark: SparkSession, table: Table) -> StructType:
    """Return the schema of a table's changes; ``row__id`` is last."""
    *fields, row_id = scan_schema(spark, table).fields
    return StructType(
        [
            *fields,
            StructField(CHANGE_TYPE, StringType()),
            StructField(COMMIT_VERSION, LongType()),
            StructField(COMMIT_TIMESTAMP, TimestampType()),
            row_id,
        ]
    )


def change_plan(
    session: AcidSession,
    table: Table,
    snapshots: Sequence[ChangeSnapshot],
    required: RequiredRows,
    form: ChangeForm,
    commits: Commits,
    records: list[ScanRecord],
) -> bridge.UnresolvedPlan:
    """Build the plan of a table's changes, in the columns of ``change_schema``.

    Args:
        session: the session.
        table: the table.
        snapshots: snapshots that contain the changes.
        required: changes that the statement requires; others may be left out.
        form: form of the changes.
        commits: facts about the write ids.
        records: list to which a record of the plan's reads is added for each snapshot.

    Raises:
        FormatError: a file cannot be read as part of an ACID table.
    """
    required = replace(required, columns=None, count_only=False, distinct_partitions_only=False)
    parts = []
    for changes in snapshots:
        noted = ScanRecord(snapshot=changes.snapshot, required=required)
        records.append(noted)
        branches = _Branches(session, changes, required, form, commits, noted)
        parts += branches.inserted() + branches.deleted() + branches.replaced()
    schema = change_schema(session.spark, table)
    if not parts:
        return bridge.count_only_rows(session.spark, 0, schema)
    names = [quote(f.name) for f in schema.fields[:-4]]
    first, *others = parts
    rows = first.union(others).select(
        *names,
        CHANGE_TYPE,
        COMMIT_VERSION,
        f"{_time_sql(commits.times)} AS {COMMIT_TIMESTAMP}",
        ROW_ID_COLUMN,
    )
    return _paired(rows, form) if form.keys else rows


@dataclass(frozen=True, slots=True)
class _Branches:
    """Plans of the changes that some directories contain, by the kind of change."""

    session: AcidSession
    changes: ChangeSnapshot
    required: RequiredRows
    form: ChangeForm
    commits: Commits
    noted: ScanRecord

    @property
    def _changed(self) -> ChangedWriteIds:
        return self.changes.changed

    @property
    def _is_replaced(self) -> bool:
        return any(w is not None for w in self.changes.replaced_by)

    def inserted(self) -> list[bridge.UnresolvedPlan]:
        """Build the plans of the inserted rows.

        Rows that the same write id deleted are left out. Net changes leave out all rows that were
        deleted later.
        """
        if self._is_replaced and self.form.net:
            return []
        snapshot = only_changed(self.changes)
        directories = [d for d in insert_directories(snapshot) if _has_some(self._changed, d)]
        places = find_inserts(
            self.session, snapshot, directories, originals=self._changed.is_valid(0)
        )
        if places.is_empty:
            return []
        record = ScanRecord(snapshot=snapshot, required=self.required)
        deletes = self._new_deletes(snapshot)
        counted = replace(deletes, own_rows_only=not self.form.net)
        rows = row_relation(self.session, record, places, counted)
        self._note(record)
        version = f"{self._names.row_id}.writeid"
        return [self._changes(rows, version, self._kind(INSERT, POSTIMAGE))]

    def deleted(self) -> list[bridge.UnresolvedPlan]:
        """Build the plans of the old rows that delete events name.

        Rows that the same write id had inserted are left out. Net changes also leave out rows that
        did not exist before the changes. One of the plans fails if no file contains a deleted row.
        That plan is omitted if tails prove that files contain all of them.
        """
        snapshot = only_changed(self.changes)
        deletes = self._new_deletes(snapshot)
        # No row is older than write id 0.
        if not deletes.files or (self.form.net and self._changed.is_valid(0)):
            return []
        places = self._all_places()
        record = ScanRecord(snapshot=self.changes.snapshot, required=self.required)
        rows = row_relation(
            self.session,
            record,
            places,
            replace(deletes, deleters=self._changed),
            ReadOptions(deleted=bridge.DeletedRowsMode.ONLY),
        )
        self._note(record)
        self.noted.deletes = deletes
        inserted, deleted = f"{self._names.row_id}.writeid", self._names.write_id
        kind = self._kind(DELETE, PREIMAGE)
        plans = [self._changes(rows.where(self._is_change(inserted, deleted)), deleted, kind)]
        if not has_rows_of_deletes(self.session, self.changes.snapshot, places, snapshot, deletes):
            can_broadcast = deletes.events * (len(EVENT_KEYS) + 1) <= limits().broadcast_numbers
            plans.append(self._lost(snapshot, places, can_broadcast=can_broadcast))
        return plans

    def _is_change(self, inserted: str, deleted: str) -> str:
        """Return, as SQL, the condition that the deletion of a row is a change.

        Args:
            inserted: column with the write id that inserted the row.
            deleted: column with the write id that deleted the row.
        """
        if self.form.net:
            return f"NOT {_is_new(self._changed, inserted)}"
        return f"{inserted} != {deleted}"

    def _lost(
        self, changed: TableSnapshot, places: Inserts, *, can_broadcast: bool
    ) -> bridge.UnresolvedPlan:
        """Build the plan that fails if none of some places contains the row of a delete event.

        The plan reads the keys of all rows again, because the other plans apply the conditions of
        the statement and leave rows out.

        Args:
            changed: snapshot that sees the delete events.
            places: places that can contain the rows.
            can_broadcast: whether the events are few enough to be broadcast.
        """
        snapshot = self.changes.snapshot
        directories = self._new_directories(changed)
        events = delete_events(self.session, changed, directories)
        events = events.where(self._is_change(EVENT_KEYS[0], DELETED_BY))
        rows = keys_of_rows(self.session, snapshot, places)
        missing = without_rows(_by_row(events), rows, can_broadcast=can_broadcast)
        lost = failing(missing, snapshot.table.full_name)
        values = (
            partition_columns(self.session, snapshot) if snapshot.table.partition_columns else []
        )
        row_id = F.struct(
            *[F.col(k).alias(f) for k, f in zip(KEYS, ROW_ID_FIELDS, strict=True)]
        ).alias(ROW_ID_COLUMN)
        nothing = [
            F.lit(None).cast(f.dataType).alias(f.name)
            for f in data_schema(self.session.spark, snapshot.table).fields
        ]
        whole = lost.select(*nothing, *values, row_id, F.col(DELETED_BY).alias(COMMIT_VERSION))
        kind = self._kind(DELETE, PREIMAGE)
        # All of these columns are NULL. Without the barrier, a condition on one of them would empty
        # the plan, which could not fail then.
        held = bridge.UnresolvedPlan.of(whole).pushdown_barrier()
        return held.select("*", f"{kind} AS {CHANGE_TYPE}")

    def replaced(self) -> list[bridge.UnresolvedPlan]:
        """Build the plans of the rows that a base has replaced."""
        if not self._is_replaced:
            return []
        snapshot = self.changes.snapshot
        record = ScanRecord(snapshot=snapshot, required=self.required)
        deletes = find_deletes(self.session, snapshot)
        rows = row_relation(self.session, record, self._all_places(), deletes)
        self._note(record)
        if self.form.net:
            rows = rows.where(f"NOT {_is_new(self._changed, f'{self._names.row_id}.writeid')}")
        written = list(self.changes.replaced_by)
        by = f"{written[0]}L"
        if snapshot.table.partition_columns:
            listed = json.dumps(written)
            by = f"get(from_json('{listed}', 'array<bigint>'), {self._names.partition})"
        return [self._changes(rows, by, f"'{DELETE}'")]

    def _note(self, record: ScanRecord) -> None:
        """Add the files and bytes that a part reads to the common record."""
        self.noted.files += record.files
        self.noted.bytes += record.bytes

    @property
    def _names(self) -> MetadataColumns:
        return metadata_columns(self.changes.snapshot.table)

    def _all_places(self) -> Inserts:
        snapshot = self.changes.snapshot
        places = insert_directories(snapshot)
        return find_inserts(self.session, snapshot, places, originals=True)

    def _new_directories(self, snapshot: TableSnapshot) -> list[DataDirectory]:
        return [d for d in delete_deltas(snapshot) if _has_some(self._changed, d)]

    def _new_deletes(self, snapshot: TableSnapshot) -> Deletes:
        return find_deletes(self.session, snapshot, self._new_directories(snapshot))

    def _kind(self, plain: str, of_update: str) -> str:
        """Build the type of a change as SQL.

        The SQL is a constant if possible, so that Spark can prune by it.
        """
        updates = self.commits.updates
        if self.form.keys or self.form.net or not updates:
            return f"'{plain}'"
        if updates == frozenset(self._changed.listed(_MOST_LISTED) or ()):
            return f"'{of_update}'"
        listed = ", ".join(f"{w}L" for w in sorted(updates))
        return f"IF({COMMIT_VERSION} IN ({listed}), '{of_update}', '{plain}')"

    def _changes(
        self, rows: bridge.UnresolvedPlan, version: str, kind: str
    ) -> bridge.UnresolvedPlan:
        """Project rows to the columns of the table, ``row__id``, the version and the type.

        Args:
            rows: rows of the files.
            version: SQL of the write id that made the change.
            kind: SQL of the type.
        """
        table = self.changes.snapshot.table
        names = [f.name for f in scan_schema(self.session.spark, table).fields]
        versioned = rows.select(*map(quote, names), f"{version} AS {COMMIT_VERSION}")
        # A separate projection, so that conditions on the type can leave out whole parts.
        return versioned.select("*", f"{kind} AS {CHANGE_TYPE}")


def _by_row(events: DataFrame) -> DataFrame:
    """Return one event for each row, from the first write id that deleted it.

    A row is deleted twice only if a conflict went unnoticed.
    """
    # The keys are aggregates too: spark.sql.retainGroupColumns may leave out the groups.
    names = [*EVENT_KEYS, DELETED_BY]
    first = [F.min(name).alias(f"__{name}") for name in names]
    grouped = events.groupBy(*EVENT_KEYS).agg(*first)
    return grouped.select(*[F.col(f"__{name}").alias(name) for name in names])


def _has_some(changed: ChangedWriteIds, data: DataDirectory) -> bool:
    """Return whether a directory can contain rows or events of the write ids."""
    directory = data.directory
    if directory.kind is DirectoryKind.BASE:
        return changed.is_valid(max(directory.max_write_id, 0))
    bounds = directory.min_write_id, directory.max_write_id
    return changed.range_validity(*bounds) is not RangeValidity.NONE


def _is_new(changed: ChangedWriteIds, write_id: str) -> str:
    """Return, as SQL, the condition that a visible write id is among the changed ones."""
    later = f"{write_id} > {changed.above}"
    listed = ", ".join(map(str, sorted(changed.earlier)))
    return f"({later} OR {write_id} IN ({listed}))" if listed else f"({later})"


def _time_sql(times: Mapping[int, int]) -> str:
    """Return the SQL of the time at which the write id of a row committed.

    The time is an element of a constant array, because the write ids of a table are dense.
    """
    if not times:
        return "CAST(NULL AS TIMESTAMP_LTZ)"
    least, greatest = min(times), max(times)
    listed = json.dumps([times.get(w) for w in range(least, greatest + 1)])
    known = f"from_json('{listed}', 'array<bigint>')"
    place = f"CAST({COMMIT_VERSION} - {least}L AS INT)"
    return f"timestamp_micros(get({known}, IF({COMMIT_VERSION} < {least}L, -1, {place})))"


def _paired(rows: bridge.UnresolvedPlan, form: ChangeForm) -> bridge.UnresolvedPlan:
    """Turn a deleted and an inserted row with the same key into an update.

    Except for net changes, the same write id must have deleted and inserted them.
    """
    keys = [F.col(quote(key)) for key in form.keys]
    same = Window.partitionBy(*keys, *([] if form.net else [F.col(COMMIT_VERSION)]))
    kind = F.col(CHANGE_TYPE)
    has_both = [F.max(kind == one).over(same) for one in (INSERT, DELETE)]
    is_update = has_both[0] & has_both[1]
    for key in keys:
        is_update = is_update & key.isNotNull()
    of_update = F.when(kind == DELETE, PREIMAGE).otherwise(POSTIMAGE)
    return bridge.UnresolvedPlan.of(
        rows.frame().withColumn(CHANGE_TYPE, F.when(is_update, of_update).otherwise(kind))
    )
