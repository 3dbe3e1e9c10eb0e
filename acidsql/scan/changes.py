"""Plan of the changes of a table between two valid lists: rows that were inserted, and old rows.

Inserted rows are those of the write ids in question. Deleted rows are named by these write ids'
delete events, and are read from the directories that can have them, by a join. What a base has
replaced was deleted as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession, Window
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
from acidsql.scan.columns import ORDINAL, columns_of_table, project, scan_schema
from acidsql.scan.deletes.plan import (
    Deletes,
    anti_join,
    by_row,
    delete_join,
    deleter_join,
    find_deletes,
    hinted,
    join_keys,
)
from acidsql.scan.directories import DataDirectory, delete_deltas, insert_directories
from acidsql.scan.inserts import Inserts
from acidsql.scan.lost_rows import failing, without_rows
from acidsql.scan.metadata_count import has_rows_of_deletes
from acidsql.scan.plan import find_inserts, insert_events, surviving_parts, valid_events
from acidsql.scan.record import ScanRecord
from acidsql.scan.required_rows import RequiredRows
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema.acid_file import KEYS, ROW_ID_COLUMN
from acidsql.schema.columns import file_schema
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

_DELETED_BY = "__deleted_by"
# Of more write ids nobody asks whether all were updates.
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
        snapshots: that tell the changes.
        required: changes that the statement requires; others may be left out.
        form: of the changes.
        commits: facts about the write ids.
        records: to which what the plan reads is added.

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
        f"{columns_of_table(session, table).row_id} AS {ROW_ID_COLUMN}",
    )
    return _paired(rows, form) if form.keys else rows


@dataclass(frozen=True, slots=True)
class _Branches:
    """Plans of the changes that some directories tell, by the kind of change."""

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
        """Build the plans of the rows that were inserted, and not deleted by the same write id or,
        of net changes, at all.
        """
        if self._is_replaced and self.form.net:
            return []
        snapshot = only_changed(self.changes)
        own = [d for d in insert_directories(snapshot) if _has_some(self._changed, d)]
        places = find_inserts(self.session, snapshot, own, originals=self._changed.is_valid(0))
        if places.is_empty:
            return []
        record = ScanRecord(snapshot=snapshot, required=self.required)
        parts = insert_events(self.session, record, places, self._row)
        self._note(record)
        deletes = self._new_deletes(snapshot)
        joined = any(file.write_ids.greatest >= self._changed.lowest for file in deletes.files)
        if joined:
            events = self._new_events(snapshot)
            if not self.form.net:
                events = events.where(_hidden(self.session, KEYS[0]) == F.col(_DELETED_BY))
            way = delete_join(snapshot, deletes)
            parts = anti_join(snapshot, parts, way, events.drop(_DELETED_BY))
        kind = self._kind(INSERT, POSTIMAGE)
        return [self._projected(part, "currentTransaction", kind, barrier=joined) for part in parts]

    def deleted(self) -> list[bridge.UnresolvedPlan]:
        """Build the plans of the old rows that delete events name, but those that the same write
        id had inserted or, of net changes, that were not there before.

        One of them fails if such a row is nowhere, unless tails prove that all are there.
        """
        snapshot = only_changed(self.changes)
        deletes = self._new_deletes(snapshot)
        # Before write id 0 there was no row.
        if not deletes.files or (self.form.net and self._changed.is_valid(0)):
            return []
        _, places = self._all_places().split(deletes)
        old = _hidden(self.session, KEYS[0])
        is_change = ~_is_new(self._changed, old) if self.form.net else old != F.col(_DELETED_BY)
        events = self._new_events(snapshot).where(is_change)
        way = deleter_join(snapshot, deletes)
        keys = join_keys(snapshot, way.packing)
        deleters = hinted(_first_by_row(events, keys), way)
        # Spark would push that a key is not NULL, and replace the search argument by it.
        same = [
            bridge.no_pushdown(self.session.spark, value, nullable=True) == F.col(f"__d_{k}")
            for k, value in keys.items()
        ]
        record = ScanRecord(snapshot=self.changes.snapshot, required=self.required)
        parts = insert_events(self.session, record, places, self._row)
        self._note(record)
        self.noted.deletes = deletes
        rows = [bridge.UnresolvedPlan.of(part.frame().join(deleters, same)) for part in parts]
        if not has_rows_of_deletes(self.session, self.changes.snapshot, places, snapshot, deletes):
            few = deletes.events * (len(_keys(snapshot)) + 1) <= limits().broadcast_numbers
            rows.append(self._lost(places, events, few=few))
        kind = self._kind(DELETE, PREIMAGE)
        return [self._projected(part, _DELETED_BY, kind, barrier=True) for part in rows]

    def _lost(self, places: Inserts, events: DataFrame, *, few: bool) -> bridge.UnresolvedPlan:
        """Build the plan that fails if the row of a delete event is in none of some places.

        Conditions of the statement leave rows out where these are read, so the keys of all of them
        are read once more.

        Args:
            places: in which the rows may be.
            events: the delete events.
            few: whether they can be broadcast.
        """
        snapshot = self.changes.snapshot
        keys = _keys(snapshot)
        deleters = _first_by_row(events, {k: F.col(k) for k in keys})
        same = [_hidden(self.session, k) == F.col(f"__d_{k}") for k in keys]
        every = insert_events(self.session, ScanRecord(snapshot=snapshot), places, self._row)
        found = [part.frame().select(*keys) for part in every]
        lost = without_rows(deleters, found, same, few=few)
        lost = lost.select(*[F.col(f"__d_{k}").alias(k) for k in keys], _DELETED_BY)
        return failing(lost, _DELETED_BY, snapshot.table.full_name, self._row)

    def replaced(self) -> list[bridge.UnresolvedPlan]:
        """Build the plans of the rows that a base has replaced."""
        if not self._is_replaced:
            return []
        snapshot = self.changes.snapshot
        record = ScanRecord(snapshot=snapshot, required=self.required)
        deletes = find_deletes(self.session, snapshot)
        filtered, joined = surviving_parts(self.session, record, self._all_places(), deletes)
        self._note(record)
        written = list(self.changes.replaced_by)
        by = f"{written[0]}L"
        if snapshot.table.partition_columns:
            by = f"get(from_json('{json.dumps(written)}', 'array<bigint>'), {ORDINAL})"
        parts = []
        for part, barrier in [*((p, False) for p in filtered), *((p, True) for p in joined)]:
            rows = part
            if self.form.net:
                rows = rows.where(
                    ~_is_new(self._changed, _hidden(self.session, "currentTransaction"))
                )
            rows = rows.select("*", f"{by} AS {_DELETED_BY}")
            parts.append(self._projected(rows, _DELETED_BY, f"'{DELETE}'", barrier=barrier))
        return parts

    def _note(self, record: ScanRecord) -> None:
        """Add what a part reads to the record of all of them."""
        self.noted.files += record.files
        self.noted.bytes += record.bytes
        self.noted.searches += record.searches

    @property
    def _row(self) -> StructType:
        return file_schema(self.session.spark, self.changes.snapshot.table)

    def _all_places(self) -> Inserts:
        snapshot = self.changes.snapshot
        places = insert_directories(snapshot)
        return find_inserts(self.session, snapshot, places, originals=True)

    def _new_directories(self, snapshot: TableSnapshot) -> list[DataDirectory]:
        return [d for d in delete_deltas(snapshot) if _has_some(self._changed, d)]

    def _new_deletes(self, snapshot: TableSnapshot) -> Deletes:
        return find_deletes(self.session, snapshot, self._new_directories(snapshot))

    def _new_events(self, snapshot: TableSnapshot) -> DataFrame:
        """Build the delete events of the write ids: keys of rows, and who deleted them."""
        places = self._new_directories(snapshot)
        first, *others = valid_events(self.session, snapshot, places, StructType([]))
        deleted_by = _hidden(self.session, "currentTransaction").alias(_DELETED_BY)
        return first.union(others).frame().select(*_keys(snapshot), deleted_by)

    def _kind(self, plain: str, of_update: str) -> str:
        """Build the type of a change as SQL; a constant where it can be, so that Spark prunes by
        it.
        """
        updates = self.commits.updates
        if self.form.keys or self.form.net or not updates:
            return f"'{plain}'"
        if updates == frozenset(self._changed.listed(_MOST_LISTED) or ()):
            return f"'{of_update}'"
        listed = ", ".join(f"{w}L" for w in sorted(updates))
        return f"IF({COMMIT_VERSION} IN ({listed}), '{of_update}', '{plain}')"

    def _projected(
        self, part: bridge.UnresolvedPlan, version: str, kind: str, *, barrier: bool
    ) -> bridge.UnresolvedPlan:
        """Project a part to the columns of the table, those of the row id, version and type."""
        version_column = _hidden(self.session, version).alias(COMMIT_VERSION)
        (rows,) = project(self.session, self.changes.snapshot, [part], version_column)
        if barrier:
            rows = rows.pushdown_barrier()
        # Above the barrier, so that conditions on the type leave out whole parts.
        return rows.select("*", f"{kind} AS {CHANGE_TYPE}")


def _first_by_row(events: DataFrame, keys: Mapping[str, Column]) -> DataFrame:
    """Return one event for each row, of who has deleted it first (``by_row``).

    Nothing but a conflict that went unnoticed deletes a row twice.
    """
    return by_row(events, keys, F.min(_DELETED_BY), _DELETED_BY)


def _hidden(session: AcidSession, name: str) -> Column:
    """Build a column of events on which Spark pushes no condition into a scan."""
    return bridge.no_pushdown(session.spark, F.col(name), nullable=True)


def _has_some(changed: ChangedWriteIds, data: DataDirectory) -> bool:
    """Return whether a directory can have rows or events of the write ids."""
    directory = data.directory
    if directory.kind is DirectoryKind.BASE:
        return changed.is_valid(max(directory.max_write_id, 0))
    bounds = directory.min_write_id, directory.max_write_id
    return changed.range_validity(*bounds) is not RangeValidity.NONE


def _is_new(changed: ChangedWriteIds, write_id: Column) -> Column:
    """Build the condition that a visible write id is one of those that have changed something."""
    return (write_id > changed.above) | write_id.isin(sorted(changed.earlier))


def _keys(snapshot: TableSnapshot) -> list[str]:
    return [*KEYS, ORDINAL] if snapshot.table.partition_columns else list(KEYS)


def _time_sql(times: Mapping[int, int]) -> str:
    """Return the SQL of the time at which the write id of a row committed: an element of a constant
    array, since the write ids of a table are dense.
    """
    if not times:
        return "CAST(NULL AS TIMESTAMP)"
    least, greatest = min(times), max(times)
    listed = json.dumps([times.get(w) for w in range(least, greatest + 1)])
    known = f"from_json('{listed}', 'array<bigint>')"
    place = f"CAST({COMMIT_VERSION} - {least}L AS INT)"
    return f"timestamp_micros(get({known}, IF({COMMIT_VERSION} < {least}L, -1, {place})))"


def _paired(rows: bridge.UnresolvedPlan, form: ChangeForm) -> bridge.UnresolvedPlan:
    """Make updates of what is deleted and inserted with the same key: of net changes in all, else
    by the same write id.
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
