"""Statements without Spark that change, load, read and compact rows, as their commands do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from unittest.mock import patch

from acidsql.compaction import worker
from acidsql.compaction.cleaner import clean
from acidsql.errors import AcidSqlError
from acidsql.format.names import (
    METADATA_FILE,
    TRUNCATED_CONTENT,
    base_name,
    delete_delta_name,
    delta_name,
    original_file_name,
)
from acidsql.metastore.catalog_changes import DeleteLoadedFiles, LoadedFile
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import (
    Compaction,
    CompactionState,
    CompactionType,
    Operation,
    TxnType,
)
from acidsql.scan.snapshot import TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.publication import Publication
from acidsql.transactions.transaction import transaction
from acidsql.transactions.write_intent import change_intent, insert_intent
from acidsql.transactions.write_transaction import (
    commit_all,
    write_transaction,
    write_transactions,
)
from tests.faults.small_actor import (
    EMPTY,
    Actor,
    Change,
    Kind,
    P,
    T,
    kind_of,
    stage,
)
from tests.faults.small_world import (
    Rows,
    State,
    TableName,
    Values,
    merged,
    rows_of,
)

_INSERT, _OVERWRITE, _CHANGE, _LOAD = (
    RecordedStatement(operation=operation)
    for operation in ("INSERT", "INSERT OVERWRITE", "MERGE", "LOAD DATA")
)


def insert(actor: Actor, name: TableName, places: Sequence[Values]) -> None:
    """Insert a row into each of some partitions."""
    with write_transaction(actor.session, insert_intent(actor.table(name), _INSERT)) as write:
        added = {values: [f"{actor.tag}_{'_'.join(values)}"] for values in places}
        write.publish([stage(write, values, rows) for values, rows in added.items()])
        actor.note(Change(table=name, write_id=write.write_id, added=added))
        write.commit([(Operation.INSERT, places)])


def _inserted(state: State, tag: str, name: TableName, places: Sequence[Values]) -> State:
    return state.changed(name, added={v: [f"{tag}_{'_'.join(v)}"] for v in places})


def _insert_two(actor: Actor) -> None:
    intents = [insert_intent(actor.table(name), _INSERT) for name in (T, P)]
    with write_transactions(actor.session, intents) as (one, other):
        one.publish([stage(one, (), [f"{actor.tag}_"])])
        other.publish([stage(other, ("5",), [f"{actor.tag}_5"])])
        commit_all(
            [(one, [(Operation.INSERT, [()])]), (other, [(Operation.INSERT, [("5",)])])],
        )


def _overwrite(actor: Actor, name: TableName, partition: Values) -> None:
    intent = insert_intent(actor.table(name), _OVERWRITE, partition or None, overwrite=True)
    with write_transaction(actor.session, intent) as write:
        rows = [f"{actor.tag}_"]
        write.publish([stage(write, partition, rows)])
        note = Change(
            table=name, write_id=write.write_id, added={partition: rows}, replaced=[partition]
        )
        actor.note(note)
        write.commit([(intent.operation, [partition])])


def _overwritten(state: State, tag: str, name: TableName, partition: Values) -> State:
    return state.changed(name, added={partition: [f"{tag}_"]}, replaced=[partition])


def _chosen(rows: Mapping[Values, Rows]) -> dict[Values, list[str]]:
    """Choose the rows that a statement changes: the first one of each partition."""
    return {values: [min(own)] for values, own in sorted(rows.items()) if own}


def _change(actor: Actor, name: TableName, operation: Operation, *, adds: bool) -> None:
    """Run UPDATE or DELETE of the chosen rows; an update gives each a new name in its place."""
    intent = change_intent(actor.table(name), operation, _CHANGE)
    with write_transaction(actor.session, intent) as write:
        chosen = _chosen(rows_of(actor.session, write.table, write.txns, write.seen))
        deleted = [stage(write, v, rows, deletes=True) for v, rows in chosen.items()]
        added = _updated(chosen, actor.tag) if adds else {}
        write.publish([*deleted, *(stage(write, v, rows) for v, rows in added.items())])
        gone = [row for rows in chosen.values() for row in rows]
        actor.note(Change(table=name, write_id=write.write_id, added=added, deleted=gone))
        done = [(Operation.DELETE, list(chosen))]
        write.commit([*done, (Operation.INSERT, list(added))] if adds else done)


def _updated(chosen: Mapping[Values, Sequence[str]], tag: str) -> dict[Values, list[str]]:
    return {values: [f"{row}.{tag}" for row in rows] for values, rows in chosen.items()}


def _changed(state: State, tag: str, name: TableName, *, adds: bool) -> State:
    chosen = _chosen(state.tables[name])
    gone = [row for rows in chosen.values() for row in rows]
    return state.changed(name, added=_updated(chosen, tag) if adds else {}, deleted=gone)


def _merge(actor: Actor) -> None:
    """Delete in one partition and insert into another one."""
    intent = change_intent(actor.table(P), Operation.UPDATE, _CHANGE)
    with write_transaction(actor.session, intent) as write:
        rows = rows_of(actor.session, write.table, write.txns, write.seen)
        gone = sorted(rows.get(("1",), EMPTY))
        added: dict[Values, list[str]] = {("9",): [f"{actor.tag}_"]}
        staged = [stage(write, ("9",), added["9",])]
        if gone:
            staged.append(stage(write, ("1",), gone, deletes=True))
        write.publish(staged)
        actor.note(Change(table=P, write_id=write.write_id, added=added, deleted=gone))
        write.commit([(Operation.UPDATE, [("1",)] if gone else []), (Operation.INSERT, [("9",)])])


def _merge_effect(state: State, tag: str) -> State:
    return state.changed(P, added={("9",): [f"{tag}_"]}, deleted=state.rows(P, ("1",)))


def _truncate(actor: Actor, name: TableName) -> None:
    intent = insert_intent(actor.table(name), _OVERWRITE, overwrite=True)
    with write_transaction(actor.session, intent) as write:
        places = [p.values for p in write.partitions()] if write.table.partition_columns else [()]
        write.places.announce(intent.operation, places)
        for number, values in enumerate(places):
            path = child(write.staging.path, f"truncated_{number}")
            write.session.files.write(child(path, METADATA_FILE), TRUNCATED_CONTENT)
            write.place(path, values, base_name(write.write_id))
        actor.note(Change(table=name, write_id=write.write_id, added={}, replaced=places))
        write.commit([(intent.operation, places)])


def _load(actor: Actor, name: TableName, values: Values, *, overwrite: bool) -> None:
    """Run LOAD DATA of all files that wait."""
    files = actor.session.files
    place = actor.world.uri("landing")
    sources = [child(place, name) for name in files.names(place) if not name.startswith("_")]
    intent = insert_intent(actor.table(name), _LOAD, values or None, overwrite=overwrite)
    with write_transaction(actor.session, intent) as write:
        staged = child(write.staging.path, "loaded")
        versions = [(source, files.version(source)) for source in sources]
        for number, source in enumerate(sources):
            files.link(source, child(staged, original_file_name(number)))
        loaded = tuple(
            LoadedFile(path=path, size=version.size, modified=version.modified)
            for path, version in versions
            if version is not None
        )
        write.changes.append(DeleteLoadedFiles(files=loaded))
        if sources:
            own = write.write_id
            placed = base_name(own) if overwrite else delta_name(own, own, 0)
            write.place(staged, values, placed)
        write.commit([(intent.operation, [values] if sources else [])])


def _loaded(state: State, _: str, name: TableName, values: Values, *, overwrite: bool) -> State:
    if not state.landed:
        return state
    rows = [row for content in state.landed.values() for row in content.split()]
    after = state.changed(name, added={values: rows}, replaced=[values] if overwrite else [])
    return replace(after, landed={})


def _query(actor: Actor) -> None:
    """Read a snapshot, all of whose files must stay as long as its transaction is open."""
    session = actor.session
    with transaction(session, TxnType.READ_ONLY) as opened:
        txns = session.metastore.valid_txns()
        for name in (T, P):
            table = session.metastore.find_table(*name)
            if table is not None:
                rows_of(session, table, txns)
        opened.commit()


def compact(
    actor: Actor, name: TableName, partition: str | None, compaction_type: CompactionType
) -> None:
    """Request a compaction, do it and clean, as ALTER TABLE … COMPACT does."""
    session = actor.session
    metastore = session.metastore
    worker_name = "worker"
    entry = metastore.request_compaction(*name, partition, compaction_type, worker_name)
    taken = metastore.next_compaction(worker_name, entry.compaction_id)
    if taken is not None:
        with patch.object(worker, "write_merged", write_merged):
            worker.compact(session, taken)
    clean(session)


def do_queued(session: AcidSession) -> None:
    """Do the compactions that were requested, and that no worker has taken."""
    with patch.object(worker, "write_merged", write_merged):
        while any(c.state is CompactionState.INITIATED for c in session.metastore.compactions()):
            # One whose partition was dropped fails, and leaves the queue.
            with suppress(AcidSqlError):
                worker.run_next(session)


def write_merged(
    session: AcidSession,
    snapshot: TableSnapshot,
    compaction: Compaction,
    staging: str,
    publication: Publication,  # noqa: ARG001 - the local disk is no object store
    txn_id: int,
) -> list[str]:
    """Write the merged directories of a partition, in place of ``merging.write_merged``."""
    deltas = snapshot.partitions[0].state.deltas
    low = min((d.min_write_id for d in deltas), default=1)
    high = max((d.max_write_id for d in deltas), default=1)
    is_major = compaction.type is CompactionType.MAJOR
    ((rows, deleted),) = merged(snapshot, with_base=is_major)
    if is_major:
        contents = {base_name(high, txn_id): rows - deleted}
    else:
        contents = {
            delta_name(low, high, None, txn_id): rows,
            delete_delta_name(low, high, None, txn_id): deleted,
        }
    for name, lines in contents.items():
        path = child(staging, name)
        session.files.write(child(path, "bucket_00000"), "\n".join(sorted(lines)).encode())
    return [child(staging, name) for name in contents]


ROW_KINDS: Sequence[Kind] = (
    kind_of("insert", insert, _inserted, T, [()]),
    kind_of("insert partitions", insert, _inserted, P, [("1",), ("9",)]),
    kind_of(
        "multi insert",
        _insert_two,
        lambda s, t: _inserted(_inserted(s, t, T, [()]), t, P, [("5",)]),
    ),
    kind_of("overwrite", _overwrite, _overwritten, T, ()),
    kind_of("overwrite partition", _overwrite, _overwritten, P, ("1",)),
    Kind(
        name="update",
        run=lambda a: _change(a, T, Operation.UPDATE, adds=True),
        effect=lambda s, t: _changed(s, t, T, adds=True),
    ),
    Kind(
        name="update partitions",
        run=lambda a: _change(a, P, Operation.UPDATE, adds=True),
        effect=lambda s, t: _changed(s, t, P, adds=True),
    ),
    Kind(
        name="delete",
        run=lambda a: _change(a, P, Operation.DELETE, adds=False),
        effect=lambda s, t: _changed(s, t, P, adds=False),
    ),
    kind_of("merge", _merge, _merge_effect),
    kind_of("truncate", _truncate, lambda s, _, name: s.changed(name, replaced=s.tables[name]), P),
    kind_of("load", _load, _loaded, T, (), overwrite=False),
    kind_of("load overwrite", _load, _loaded, P, ("2",), overwrite=True),
    kind_of("query", _query),
    kind_of("compact minor", compact, None, T, None, CompactionType.MINOR),
    kind_of("compact major", compact, None, P, "p=1", CompactionType.MAJOR),
)
