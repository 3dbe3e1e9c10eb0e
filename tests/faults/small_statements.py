"""Statements without Spark: each kind as its command does it, and what the model says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from unittest.mock import patch

from acidsql.compaction import worker
from acidsql.compaction.cleaner import clean
from acidsql.errors import AcidAnalysisError, AcidSqlError
from acidsql.format.names import (
    METADATA_FILE,
    TRUNCATED_CONTENT,
    base_name,
    delete_delta_name,
    delta_name,
    original_file_name,
)
from acidsql.metastore import changes
from acidsql.metastore.changes import DeleteLoadedFiles, LoadedFile, ShowTable
from acidsql.metastore.model import (
    CompactionState,
    CompactionType,
    Operation,
    Partition,
    Table,
    TxnType,
)
from acidsql.scan.snapshot import TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.session.table_owner import check_owner, check_unowned
from acidsql.storage.filesystem import child
from acidsql.storage.finalize import FinishedDirectory
from acidsql.storage.sync import make_directory
from acidsql.transaction.transaction import exclusive_request, transaction
from acidsql.transaction.write_intent import alter_intent, change_intent, insert_intent
from acidsql.transaction.write_transaction import (
    WriteTransaction,
    commit_all,
    write_transaction,
    write_transactions,
)
from tests.faults.small_world import (
    Rows,
    State,
    TableName,
    Values,
    World,
    definition,
    merged,
    rows_of,
)

T: TableName = ("default", "t")
P: TableName = ("default", "p")
A: TableName = ("d", "a")
NEW: TableName = ("default", "new")
EMPTY: Rows = frozenset()


@dataclass(frozen=True, slots=True)
class Actor:
    """Process that runs a statement.

    Attributes:
        tag: begins the names of its new rows.
        note: is called with what a statement is about to commit (see ``Change``).
    """

    world: World
    session: AcidSession
    tag: str
    note: Callable[[Change], None] = lambda _: None

    def table(self, name: TableName) -> Table:
        """Look a table up."""
        return self.session.metastore.table(*name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Change of the rows of a table that a transaction is about to commit."""

    table: TableName
    write_id: int
    added: Mapping[Values, Sequence[str]]
    deleted: Sequence[str] = ()
    replaced: Sequence[Values] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Kind of statement.

    Attributes:
        run: runs one.
        effect: returns the state after it, given the state before and the tag of the actor.
        in_transaction: whether a transaction that timed out before its commit cannot do it.
    """

    name: str
    run: Callable[[Actor], object]
    effect: Callable[[State, str], State] = lambda state, _: state
    in_transaction: bool = True


def _stage(
    write: WriteTransaction, values: Values, rows: Iterable[str], *, deletes: bool = False
) -> FinishedDirectory:
    path = child(write.staging, f"{'deletes' if deletes else 'rows'}_{'_'.join(values)}")
    files = write.session.files
    files.write(child(path, "bucket_00000"), "\n".join(sorted(rows)).encode())
    return FinishedDirectory(path=path, values=values, deletes=deletes, statement_id=0, events=1)


def insert(actor: Actor, name: TableName, places: Sequence[Values]) -> None:
    """Insert a row into each of some partitions."""
    with write_transaction(actor.session, insert_intent(actor.table(name))) as write:
        added = {values: [f"{actor.tag}_{'_'.join(values)}"] for values in places}
        write.publish([_stage(write, values, rows) for values, rows in added.items()])
        actor.note(Change(table=name, write_id=write.write_id, added=added))
        write.commit([(Operation.INSERT, places)])


def _inserted(state: State, tag: str, name: TableName, places: Sequence[Values]) -> State:
    return state.changed(name, added={v: [f"{tag}_{'_'.join(v)}"] for v in places})


def _insert_two(actor: Actor) -> None:
    intents = [insert_intent(actor.table(T)), insert_intent(actor.table(P))]
    with write_transactions(actor.session, intents) as (one, other):
        one.publish([_stage(one, (), [f"{actor.tag}_"])])
        other.publish([_stage(other, ("5",), [f"{actor.tag}_5"])])
        commit_all(
            [(one, [(Operation.INSERT, [()])]), (other, [(Operation.INSERT, [("5",)])])],
        )


def _overwrite(actor: Actor, name: TableName, partition: Values) -> None:
    intent = insert_intent(actor.table(name), partition or None, overwrite=True)
    with write_transaction(actor.session, intent) as write:
        rows = [f"{actor.tag}_"]
        write.publish([_stage(write, partition, rows)])
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
    intent = change_intent(actor.table(name), operation)
    with write_transaction(actor.session, intent) as write:
        chosen = _chosen(rows_of(actor.session, write.table, write.txns, write.seen))
        deleted = [_stage(write, v, rows, deletes=True) for v, rows in chosen.items()]
        added = _updated(chosen, actor.tag) if adds else {}
        write.publish([*deleted, *(_stage(write, v, rows) for v, rows in added.items())])
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
    with write_transaction(actor.session, change_intent(actor.table(P), Operation.UPDATE)) as write:
        rows = rows_of(actor.session, write.table, write.txns, write.seen)
        gone = sorted(rows.get(("1",), EMPTY))
        added: dict[Values, list[str]] = {("9",): [f"{actor.tag}_"]}
        staged = [_stage(write, ("9",), added["9",])]
        if gone:
            staged.append(_stage(write, ("1",), gone, deletes=True))
        write.publish(staged)
        actor.note(Change(table=P, write_id=write.write_id, added=added, deleted=gone))
        write.commit([(Operation.UPDATE, [("1",)] if gone else []), (Operation.INSERT, [("9",)])])


def _merge_effect(state: State, tag: str) -> State:
    return state.changed(P, added={("9",): [f"{tag}_"]}, deleted=state.rows(P, ("1",)))


def _truncate(actor: Actor, name: TableName) -> None:
    intent = insert_intent(actor.table(name), overwrite=True)
    with write_transaction(actor.session, intent) as write:
        places = [p.values for p in write.partitions()] if write.table.partition_columns else [()]
        write.announce(intent.operation, places)
        for number, values in enumerate(places):
            path = child(write.staging, f"truncated_{number}")
            write.session.files.write(child(path, METADATA_FILE), TRUNCATED_CONTENT)
            write.place(path, values, base_name(write.write_id))
        actor.note(Change(table=name, write_id=write.write_id, added={}, replaced=places))
        write.commit([(intent.operation, places)])


def _load(actor: Actor, name: TableName, values: Values, *, overwrite: bool) -> None:
    """Run LOAD DATA of all files that wait."""
    files = actor.session.files
    place = actor.world.uri("landing")
    sources = [child(place, name) for name in files.names(place) if not name.startswith("_")]
    intent = insert_intent(actor.table(name), values or None, overwrite=overwrite)
    with write_transaction(actor.session, intent) as write:
        staged = child(write.staging, "loaded")
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


def _create(actor: Actor, name: TableName) -> None:
    session = actor.session
    table = definition(actor.world, *name)
    _refuse_taken(actor, table)
    make_directory(session.files, table.location)
    session.metastore.create_table(table)


def _refuse_taken(actor: Actor, table: Table) -> None:
    """Look beforehand, as the command does."""
    metastore = actor.session.metastore
    taken = metastore.find_table(table.database, table.name)
    if taken or metastore.table_at(table.location, table.database):
        raise AcidAnalysisError("LOCATION_IN_USE", "taken")
    check_unowned(actor.session, table.location)
    if any(not name.startswith("_") for name in actor.session.files.names(table.location)):
        raise AcidAnalysisError("LOCATION_ALREADY_EXISTS", "not empty")


def _create_as_select(actor: Actor) -> None:
    session = actor.session
    table = definition(actor.world, *NEW)
    _refuse_taken(actor, table)
    with transaction(session) as opened:
        staged = session.metastore.stage_table(opened.txn_id, table)
        make_directory(session.files, table.location)
        with write_transactions(session, [insert_intent(staged)], opened) as (write,):
            write.publish([_stage(write, (), [f"{actor.tag}_"])])
            write.changes.append(ShowTable(staged=staged, name=table.name))
            write.commit([(Operation.INSERT, [()])])


def _drop(actor: Actor, name: TableName) -> None:
    table = actor.table(name)
    check_owner(actor.session, table)
    with transaction(actor.session) as opened:
        opened.wait_for_locks([exclusive_request(table)])
        opened.commit([changes.DropTable(table=table)])


def _alter(
    actor: Actor,
    name: TableName,
    change: Callable[[WriteTransaction], changes.CatalogChange | None],
) -> None:
    with write_transaction(actor.session, alter_intent(actor.table(name))) as write:
        made = change(write)
        if made is not None:
            write.changes.append(made)
        write.commit([])


def _set_properties(actor: Actor, write: WriteTransaction) -> changes.CatalogChange:
    after = replace(write.table, properties={"changed": actor.tag})
    return changes.AlterTable(before=write.table, after=after)


def _properties_set(state: State, tag: str) -> State:
    return replace(state, properties={**state.properties, T: {"changed": tag}})


def _rename(actor: Actor, new: TableName, write: WriteTransaction) -> changes.CatalogChange:
    location = definition(actor.world, *new).location
    _make_room(actor, location)
    return changes.RenameTable(table=write.table, database=new[0], name=new[1], location=location)


def _make_room(actor: Actor, location: str) -> None:
    files = actor.session.files
    if files.exists(location) and not files.delete_if_empty(location):
        raise AcidAnalysisError("PATH_ALREADY_EXISTS", location)


def _renamed(state: State, _: str, old: TableName, new: TableName) -> State:
    moved = state.having(new, state.tables[old]).having(old, None)
    return replace(moved, properties={**moved.properties, new: state.properties[old]})


def _add_partition(actor: Actor, write: WriteTransaction) -> changes.CatalogChange:
    if ("7",) in {p.values for p in write.partitions()}:
        raise AcidAnalysisError("PARTITIONS_ALREADY_EXIST", "7")
    added = Partition(values=("7",), location=child(write.table.location, "p=7"))
    write.added.append(added)
    make_directory(actor.session.files, added.location)
    return changes.AddPartitions(table=write.table, partitions=(added,))


def _partition_added(state: State, _: str) -> State:
    return state.changed(P, added={("7",): ()})


def _drop_partition(_: Actor, write: WriteTransaction) -> changes.CatalogChange:
    dropped = tuple(p for p in write.partitions() if p.values in (("1",), ("2",)))
    return changes.DropPartitions(table=write.table, partitions=dropped)


def _partition_dropped(state: State, _: str) -> State:
    left = {v: rows for v, rows in state.tables[P].items() if v not in (("1",), ("2",))}
    return state.having(P, left)


def _rename_partition(actor: Actor, write: WriteTransaction) -> changes.CatalogChange | None:
    found = {p.values: p for p in write.partitions()}
    if ("1",) not in found or ("8",) in found:
        raise AcidAnalysisError("PARTITIONS_NOT_FOUND", "1 or 8")
    before = found["1",]
    after = replace(before, values=("8",), location=child(write.table.location, "p=8"))
    _make_room(actor, after.location)
    return changes.RenamePartition(table=write.table, before=before, after=after)


def _partition_renamed(state: State, _: str) -> State:
    partitions = dict(state.tables[P])
    partitions["8",] = partitions.pop(("1",))
    return state.having(P, partitions)


def _create_database(actor: Actor) -> None:
    actor.session.metastore.create_database("e", actor.world.uri("e"))


def _drop_database(actor: Actor) -> None:
    session = actor.session
    tables = [actor.table(("d", name)) for name in session.metastore.tables("d")]
    for table in tables:
        check_owner(session, table)
    made: list[changes.CatalogChange] = [changes.DropTable(table=table) for table in tables]
    made.append(changes.DropDatabase(name="d"))
    with transaction(session) as opened:
        if tables:
            opened.wait_for_locks([exclusive_request(table) for table in tables])
        opened.commit(made)
    session.files.delete_if_empty(actor.world.uri("d"))


def _database_dropped(state: State, _: str) -> State:
    for name in [name for name in state.tables if name[0] == "d"]:
        state = state.having(name, None)
    return replace(state, databases=state.databases - {"d"})


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
    """Do the compactions that somebody requested, and that nobody works at."""
    with patch.object(worker, "write_merged", write_merged):
        while any(c.state is CompactionState.INITIATED for c in session.metastore.compactions()):
            # One whose partition was dropped fails, and leaves the queue.
            with suppress(AcidSqlError):
                worker.run_next(session)


def write_merged(
    session: AcidSession,
    snapshot: TableSnapshot,
    compaction_type: CompactionType,
    staging: str,
    txn_id: int,
) -> list[str]:
    """Write the merged directories of a partition, in place of ``merging.write_merged``."""
    deltas = snapshot.partitions[0].state.deltas
    low = min((d.min_write_id for d in deltas), default=1)
    high = max((d.max_write_id for d in deltas), default=1)
    is_major = compaction_type is CompactionType.MAJOR
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


def _kind(
    name: str,
    run: Callable[..., object],
    effect: Callable[..., State] | None = None,
    *arguments: object,
    in_transaction: bool = True,
    **named: object,
) -> Kind:
    return Kind(
        name=name,
        run=lambda actor: run(actor, *arguments, **named),
        effect=(lambda s, t: effect(s, t, *arguments, **named)) if effect else lambda s, _: s,
        in_transaction=in_transaction,
    )


def _altering(name: str, table: TableName, change: Callable[..., object], effect: object) -> Kind:
    def run(actor: Actor) -> None:
        _alter(actor, table, partial(change, actor))  # type: ignore[arg-type]

    return Kind(name=name, run=run, effect=effect)  # type: ignore[arg-type]


RENAMED: TableName = ("d", "renamed")
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        _kind("insert", insert, _inserted, T, [()]),
        _kind("insert partitions", insert, _inserted, P, [("1",), ("9",)]),
        _kind(
            "multi insert",
            _insert_two,
            lambda s, t: _inserted(_inserted(s, t, T, [()]), t, P, [("5",)]),
        ),
        _kind("overwrite", _overwrite, _overwritten, T, ()),
        _kind("overwrite partition", _overwrite, _overwritten, P, ("1",)),
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
        _kind("merge", _merge, _merge_effect),
        _kind(
            "truncate", _truncate, lambda s, _, name: s.changed(name, replaced=s.tables[name]), P
        ),
        _kind("load", _load, _loaded, T, (), overwrite=False),
        _kind("load overwrite", _load, _loaded, P, ("2",), overwrite=True),
        _kind(
            "create",
            _create,
            lambda s, _, name: s.having(name, {(): EMPTY}),
            NEW,
            in_transaction=False,
        ),
        _kind(
            "create as select",
            _create_as_select,
            lambda s, t: s.having(NEW, {(): frozenset({f"{t}_"})}),
        ),
        _kind("drop", _drop, lambda s, _, name: s.having(name, None), P),
        _altering(
            "rename",
            P,
            lambda a, w: _rename(a, RENAMED, w),
            lambda s, t: _renamed(s, t, P, RENAMED),
        ),
        _altering("set properties", T, _set_properties, _properties_set),
        _altering("add partition", P, _add_partition, _partition_added),
        _altering("drop partition", P, _drop_partition, _partition_dropped),
        _altering("rename partition", P, _rename_partition, _partition_renamed),
        _kind(
            "create database",
            _create_database,
            lambda s, _: replace(s, databases=s.databases | {"e"}),
            in_transaction=False,
        ),
        _kind("drop database", _drop_database, _database_dropped),
        _kind("query", _query),
        _kind("compact minor", compact, None, T, None, CompactionType.MINOR),
        _kind("compact major", compact, None, P, "p=1", CompactionType.MAJOR),
    )
}
