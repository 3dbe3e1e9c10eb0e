"""Statements without Spark that change the catalog, as their commands do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from acidsql.errors import AcidAnalysisError
from acidsql.metastore import catalog_changes
from acidsql.metastore.catalog_changes import ShowTable
from acidsql.metastore.history import RecordedStatement
from acidsql.metastore.model import (
    Column,
    LockType,
    Operation,
    Partition,
    Table,
)
from acidsql.session.table_owner import check_owner, check_unowned
from acidsql.storage.filesystem import child
from acidsql.storage.sync import make_directory
from acidsql.transactions.transaction import exclusive_request, transaction
from acidsql.transactions.write_intent import alter_intent, insert_intent, replace_intent
from acidsql.transactions.write_transaction import (
    TableWrite,
    write_transaction,
    write_transactions,
)
from tests.faults.small_actor import (
    EMPTY,
    NEW,
    RENAMED,
    Actor,
    Kind,
    P,
    T,
    kind_of,
    stage,
)
from tests.faults.small_world import (
    COLUMNS,
    State,
    TableName,
    definition,
)

_CREATE = RecordedStatement(operation="CREATE TABLE AS SELECT")
_ALTER = RecordedStatement(operation="ALTER TABLE")
_REPLACE = RecordedStatement(operation="CREATE OR REPLACE TABLE AS SELECT")
_EVOLVE = RecordedStatement(operation="INSERT")


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
        with write_transactions(session, [insert_intent(staged, _CREATE)], opened) as (write,):
            write.publish([stage(write, (), [f"{actor.tag}_"])])
            write.changes.append(ShowTable(staged=staged, name=table.name))
            write.commit([(Operation.INSERT, [()])])


def _drop(actor: Actor, name: TableName) -> None:
    table = actor.table(name)
    check_owner(actor.session, table)
    with transaction(actor.session) as opened:
        opened.wait_for_locks([exclusive_request(table)])
        opened.commit([catalog_changes.DropTable(table=table)])


def alter(
    actor: Actor,
    name: TableName,
    change: Callable[[TableWrite], catalog_changes.CatalogChange | None],
) -> None:
    """Run an ALTER TABLE: commit one change of the catalog under the lock of the table."""
    with write_transaction(actor.session, alter_intent(actor.table(name), _ALTER)) as write:
        made = change(write)
        if made is not None:
            write.changes.append(made)
        write.commit([])


def _set_properties(actor: Actor, write: TableWrite) -> catalog_changes.CatalogChange:
    after = replace(write.table, properties={"changed": actor.tag})
    return catalog_changes.AlterTable(before=write.table, after=after)


def _properties_set(state: State, tag: str) -> State:
    return _with_properties(state, {"changed": tag, **_columns_of(state)})


def _with_properties(state: State, properties: Mapping[str, str]) -> State:
    return replace(state, properties={**state.properties, T: properties})


def _columns_of(state: State) -> dict[str, str]:
    """Return what the properties of a table say of its columns."""
    return {key: text for key, text in state.properties[T].items() if key == COLUMNS}


def _evolving_insert(actor: Actor) -> None:
    """Run INSERT WITH SCHEMA EVOLUTION: a column and rows in one commit."""
    intent = insert_intent(actor.table(T), _EVOLVE)
    with write_transaction(actor.session, replace(intent, lock=LockType.EXCLUSIVE)) as write:
        columns = write.table.columns
        new = Column(name=f"c{len(columns)}", type="string")
        write.change_columns(replace(write.table, columns=(*columns, new)))
        write.publish([stage(write, (), [f"{actor.tag}_"])])
        write.commit([(Operation.INSERT, [()])])


def _evolved(state: State, tag: str) -> State:
    names = _columns_of(state).get(COLUMNS, "row")
    after = f"{names}, c{len(names.split(', '))}"
    added = state.changed(T, added={(): [f"{tag}_"]})
    return _with_properties(added, {**state.properties[T], COLUMNS: after})


def _replace_in_place(actor: Actor) -> None:
    """Run CREATE OR REPLACE TABLE with the columns that there are."""
    intent = insert_intent(actor.table(T), _REPLACE, overwrite=True)
    with write_transaction(actor.session, intent) as write:
        new = replace(write.table, properties={**write.table.properties, "replaced": actor.tag})
        write.publish([stage(write, (), [f"{actor.tag}_"])])
        write.changes.append(catalog_changes.AlterTable(before=write.table, after=new))
        write.commit([(intent.operation, [()])])


def _replaced_in_place(state: State, tag: str) -> State:
    rows = state.having(T, {(): frozenset({f"{tag}_"})})
    return _with_properties(rows, {**state.properties[T], "replaced": tag})


def _replace_apart(actor: Actor) -> None:
    """Run CREATE OR REPLACE TABLE with other columns, in a directory of its own."""
    with write_transaction(actor.session, replace_intent(actor.table(T), _REPLACE)) as write:
        first = "line" if write.table.columns[0].name == "row" else "row"
        location = f"{actor.world.uri(*T)}_acidsql_{write.txn_id}"
        columns = (Column(name=first, type="string"),)
        write.replace_table(replace(write.table, columns=columns, location=location))
        write.publish([stage(write, (), [f"{actor.tag}_"])])
        write.commit([(write.intent.operation, [()])])


def _replaced_apart(state: State, tag: str) -> State:
    was_row = _columns_of(state).get(COLUMNS, "row").split(", ")[0] == "row"
    kept = {key: text for key, text in state.properties[T].items() if key != COLUMNS}
    rows = state.having(T, {(): frozenset({f"{tag}_"})})
    return _with_properties(rows, {**kept, **({COLUMNS: "line"} if was_row else {})})


def _rename(actor: Actor, new: TableName, write: TableWrite) -> catalog_changes.CatalogChange:
    location = definition(actor.world, *new).location
    _make_room(actor, location)
    return catalog_changes.RenameTable(
        table=write.table, database=new[0], name=new[1], location=location
    )


def _make_room(actor: Actor, location: str) -> None:
    files = actor.session.files
    if files.exists(location) and not files.delete_if_empty(location):
        raise AcidAnalysisError("PATH_ALREADY_EXISTS", location)


def _renamed(state: State, _: str, old: TableName, new: TableName) -> State:
    moved = state.having(new, state.tables[old]).having(old, None)
    return replace(moved, properties={**moved.properties, new: state.properties[old]})


def _add_partition(actor: Actor, write: TableWrite) -> catalog_changes.CatalogChange:
    if ("7",) in {p.values for p in write.partitions()}:
        raise AcidAnalysisError("PARTITIONS_ALREADY_EXIST", "7")
    added = Partition(values=("7",), location=child(write.table.location, "p=7"))
    write.places.added.append(added)
    make_directory(actor.session.files, added.location)
    return catalog_changes.AddPartitions(table=write.table, partitions=(added,))


def _partition_added(state: State, _: str) -> State:
    return state.changed(P, added={("7",): ()})


def _drop_partition(_: Actor, write: TableWrite) -> catalog_changes.CatalogChange:
    dropped = tuple(p for p in write.partitions() if p.values in (("1",), ("2",)))
    return catalog_changes.DropPartitions(table=write.table, partitions=dropped)


def _partition_dropped(state: State, _: str) -> State:
    left = {v: rows for v, rows in state.tables[P].items() if v not in (("1",), ("2",))}
    return state.having(P, left)


def _rename_partition(actor: Actor, write: TableWrite) -> catalog_changes.CatalogChange | None:
    found = {p.values: p for p in write.partitions()}
    if ("1",) not in found or ("8",) in found:
        raise AcidAnalysisError("PARTITIONS_NOT_FOUND", "1 or 8")
    before = found["1",]
    after = replace(before, values=("8",), location=child(write.table.location, "p=8"))
    _make_room(actor, after.location)
    return catalog_changes.RenamePartition(table=write.table, before=before, after=after)


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
    made: list[catalog_changes.CatalogChange] = [
        catalog_changes.DropTable(table=table) for table in tables
    ]
    made.append(catalog_changes.DropDatabase(name="d"))
    with transaction(session) as opened:
        if tables:
            opened.wait_for_locks([exclusive_request(table) for table in tables])
        opened.commit(made)
    session.files.delete_if_empty(actor.world.uri("d"))


def _database_dropped(state: State, _: str) -> State:
    for name in [name for name in state.tables if name[0] == "d"]:
        state = state.having(name, None)
    return replace(state, databases=state.databases - {"d"})


def _altering(name: str, table: TableName, change: Callable[..., object], effect: object) -> Kind:
    def run(actor: Actor) -> None:
        alter(actor, table, partial(change, actor))  # type: ignore[arg-type]

    return Kind(name=name, run=run, effect=effect)  # type: ignore[arg-type]


CATALOG_KINDS: Sequence[Kind] = (
    kind_of(
        "create",
        _create,
        lambda s, _, name: s.having(name, {(): EMPTY}),
        NEW,
        in_transaction=False,
    ),
    kind_of(
        "create as select",
        _create_as_select,
        lambda s, t: s.having(NEW, {(): frozenset({f"{t}_"})}),
    ),
    kind_of("drop", _drop, lambda s, _, name: s.having(name, None), P),
    _altering(
        "rename",
        P,
        lambda a, w: _rename(a, RENAMED, w),
        lambda s, t: _renamed(s, t, P, RENAMED),
    ),
    _altering("set properties", T, _set_properties, _properties_set),
    kind_of("evolving insert", _evolving_insert, _evolved),
    kind_of("replace in place", _replace_in_place, _replaced_in_place),
    kind_of("replace apart", _replace_apart, _replaced_apart),
    _altering("add partition", P, _add_partition, _partition_added),
    _altering("drop partition", P, _drop_partition, _partition_dropped),
    _altering("rename partition", P, _rename_partition, _partition_renamed),
    kind_of(
        "create database",
        _create_database,
        lambda s, _: replace(s, databases=s.databases | {"e"}),
        in_transaction=False,
    ),
    kind_of("drop database", _drop_database, _database_dropped),
)
