"""Faults of a Hive Metastore without Spark: the product's transactions over small files, with each
call cut.

It takes seconds where ``metastore_server`` takes minutes, and so goes through all calls of all
kinds of statements.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, cast
from unittest.mock import patch

import pytest

from acidsql.compaction import worker
from acidsql.errors import AcidSqlError
from acidsql.metastore import catalog_changes
from acidsql.metastore.hive.connection import Connections, parse_uris
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import FileFormat, Table, TxnState
from acidsql.session.acid_session import AcidSession
from acidsql.transactions.write_transaction import TableWrite
from tests.faults import small_catalog
from tests.faults.campaign import Family, Fault, Options
from tests.faults.metastore_server import CLEAR, Blow, ViolationError, kill
from tests.faults.server_proxy import Cut, counted
from tests.faults.server_site import SETTINGS, end_transactions, served
from tests.faults.small_actor import NEW, A, Actor, Kind, P, T
from tests.faults.small_rows import insert
from tests.faults.small_statements import KINDS
from tests.faults.small_world import COLUMNS, SharedClock, State, World, definition, rows_of, shown
from tests.limits import set_limits
from tests.metastore.local_files import LocalFiles, session_without_spark
from tests.metastore.server.launcher import VERSIONS, MetastoreServer
from tests.metastore.subjects import empty

if TYPE_CHECKING:
    from acidsql.storage.filesystem import FileSystem

NAME = "metastore-calls"
_PARTS = {Blow.DROP: 66, Blow.LOSS: 30, Blow.KILL: 4}
# Kinds whose change of the catalog stands if the commit after it does not come.
_STANDS = frozenset(
    {"create", "drop", "rename", "set properties", "add partition", "drop partition",
     "rename partition", "create database", "drop database"}
)  # fmt: skip
# Kinds that change a definition and rows, in this order.
_CHANGES_FIRST = frozenset({"evolving insert", "replace in place"})
# What statements change of the properties of tables.
_NOTED = frozenset({"changed", "replaced", COLUMNS})
# Kinds that need no partitioned table, and those that need a database.
_OF_T = frozenset(
    {"insert", "overwrite", "update", "load", "create", "create as select", "set properties",
     "create database", "compact minor"}
)  # fmt: skip
_OF_DATABASES = frozenset({"rename", "drop database"})
_OF_PARTITIONS = frozenset({"add partition", "drop partition", "rename partition"})


@dataclass(slots=True, kw_only=True)
class Site:
    """Running server, with the world of the tables there.

    Attributes:
        calls: names of the calls of each kind of statement.
    """

    server: MetastoreServer
    world: World
    calls: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @contextmanager
    def client(self, uri: str) -> Iterator[AcidSession]:
        """Yield what transactions need of a session of a new client."""
        files = LocalFiles()
        connections = Connections(parse_uris(uri), user="ann", timeout=60)
        metastore = HiveMetastore(connections, user="ann", files=files)
        session = session_without_spark(metastore, cast("FileSystem", files))
        try:
            yield session
        finally:
            session.heartbeater.stop()
            metastore.close()


def _set_properties(actor: Actor, write: TableWrite) -> catalog_changes.CatalogChange:
    after = replace(write.table, properties={**write.table.properties, "changed": actor.tag})
    return catalog_changes.AlterTable(before=write.table, after=after)


# A server has no table put into the place of another in one step.
_KINDS: Mapping[str, Kind] = {
    **{name: kind for name, kind in KINDS.items() if name != "replace apart"},
    "set properties": replace(
        KINDS["set properties"],
        run=lambda actor: small_catalog.alter(actor, T, partial(_set_properties, actor)),
    ),
}


def _defined(world: World, database: str, name: str, *, partitioned: bool = False) -> Table:
    """Define a table as a server wants it: of ORC, which is not read here."""
    made = definition(world, database, name, partitioned=partitioned)
    properties = {"transactional": "true"}
    return replace(made, file_format=FileFormat.ORC, owner="ann", properties=properties)


def run(options: Options) -> Iterator[Fault]:
    """Strike ``count`` times; seeds in a row go through versions, kinds and their calls."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(small_catalog, "definition", _defined))
        stack.enter_context(patch.object(worker, "_why_not", return_value=None))
        set_limits(stack.enter_context(pytest.MonkeyPatch.context()), attempt_pause_seconds=0.1)
        sites: dict[str, Site] = {}
        for seed in range(options.seed, options.seed + options.count):
            turn, version = divmod(seed, len(VERSIONS))
            turn, number = divmod(turn, len(_KINDS))
            at = VERSIONS[version]
            if at not in sites:
                server = stack.enter_context(served(at, options.home, SETTINGS))
                world = World(root=server.warehouse, clock=SharedClock())
                sites[at] = Site(server=server, world=world)
            yield _strike(sites[at], list(_KINDS)[number], turn, seed)


def _strike(site: Site, name: str, turn: int, seed: int) -> Fault:
    calls = _calls(site, name)
    turn, cut_number = divmod(turn, len(Cut))
    number, cut = len(calls) - 1 - turn % len(calls), tuple(Cut)[cut_number]
    (blow,) = random.Random(seed).choices(list(_PARTS), list(_PARTS.values()))
    violation = None
    with site.client(site.server.uri) as looker, counted(site.server.port) as proxy:
        try:
            _set_up(site, looker, name)
            before = _state(site, looker, name)
            back = threading.Event()
            then: dict[Blow, Callable[[], object]] = {
                Blow.DROP: lambda: None,
                Blow.KILL: partial(kill, site.server, proxy, back),
                Blow.LOSS: proxy.close,
            }
            with site.client(proxy.uri) as client:
                proxy.arm(number, cut, then[blow])
                error = _attempt(lambda: _KINDS[name].run(Actor(site.world, client, "new")))
                if blow is Blow.KILL and proxy.struck:
                    back.wait()
            if blow is not Blow.DROP:
                end_transactions(site.server)
            lost = cut is Cut.ANSWER and proxy.struck == "open_txns"
            _judge(site, looker, name, before, error, blow, lost=lost)
        except ViolationError as found:
            violation = str(found)
        struck = proxy.struck
    return Fault(
        family=NAME,
        step=f"{blow.value} {cut.value} {struck}" if struck else "none",
        statement=f"{name} {site.server.version[:3]}",
        seed=seed,
        struck=bool(struck),
        violation=violation,
    )


def _calls(site: Site, name: str) -> tuple[str, ...]:
    """Return the calls of a kind of statement, which are learned by running it once."""
    if name not in site.calls:
        with site.client(site.server.uri) as looker, counted(site.server.port) as proxy:
            _set_up(site, looker, name)
            with site.client(proxy.uri) as client:
                proxy.arm()
                _KINDS[name].run(Actor(site.world, client, "new"))
                site.calls[name] = tuple(proxy.calls)
    return site.calls[name]


def _set_up(site: Site, looker: AcidSession, name: str) -> None:
    """Make the tables and files that a kind of statement needs, on an empty server."""
    empty(site.server)
    store = looker.metastore
    if name in _OF_DATABASES:
        store.create_database("d", site.world.uri("d"))
        store.create_table(_defined(site.world, *A))
    store.create_table(_defined(site.world, *T))
    if name not in _OF_T:
        store.create_table(_defined(site.world, *P, partitioned=True))
    for tag in ("one", "two") if "compact" in name else ("one",):
        actor = Actor(site.world, looker, tag)
        insert(actor, T, [()])
        if name not in _OF_T:
            insert(actor, P, [("1",), ("2",)])
    landing = site.world.root / "landing"
    landing.mkdir()
    (landing / "load").write_text("loaded\n")


def _state(site: Site, looker: AcidSession, name: str) -> State:
    """Return what users see; partitions without rows do not count, unless they matter."""
    store = looker.metastore
    txns = store.valid_txns()
    tables, properties = {}, {}
    for database in store.databases():
        for found in store.tables(database):
            table = store.table(database, found)
            rows = rows_of(looker, table, txns)
            kept = {v: own for v, own in rows.items() if own or not v or name in _OF_PARTITIONS}
            tables[database, found] = kept
            noted = {k: v for k, v in shown(table).items() if k in _NOTED}
            properties[database, found] = noted
    landing = site.world.root / "landing"
    return State(
        databases=frozenset(store.databases()),
        tables=tables,
        landed={path.name: path.read_text() for path in landing.iterdir()},
        properties=properties,
    )


def _attempt(work: Callable[[], object]) -> Exception | None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - which one it may be is judged later
        return error
    return None


def _judge(
    site: Site,
    looker: AcidSession,
    name: str,
    before: State,
    error: Exception | None,
    blow: Blow,
    *,
    lost: bool,
) -> None:
    """Check what a fault left, and that the next statements work.

    Raises:
        ViolationError: something is not as documented.
    """
    if error is not None and not isinstance(error, CLEAR):
        raise ViolationError(f"not a clear error: {error!r}")
    after = _seen(_KINDS[name].effect(before, "new"), name)
    now = _state(site, looker, name)
    allowed = [after] if error is None else [before]
    unknown = isinstance(error, AcidSqlError) and error.getCondition() == "COMMIT_OUTCOME_UNKNOWN"
    if error is not None and blow is not Blow.DROP:
        allowed += [after] if blow is Blow.LOSS or name in _STANDS or unknown else []
        allowed += [before.having(A, None)] if name == "drop database" else []
        if name in _CHANGES_FIRST:
            allowed.append(replace(before, properties=after.properties))
        allowed += [before.having(NEW, {(): frozenset()})] if "select" in name else []
    elif unknown:
        allowed.append(after)
    if now not in allowed:
        raise ViolationError(f"after {error!r} there is {now}, and none of {allowed}")
    if blow is Blow.DROP:
        _check_leftovers(site, looker, error, lost=lost)
    if NEW in now.tables and "select" in name and now != after:
        looker.metastore.drop_table(*NEW)
        now = before
    if now == before != after:
        problem = _attempt(lambda: _KINDS[name].run(Actor(site.world, looker, "again")))
        wanted = _seen(_KINDS[name].effect(before, "again"), name)
        if problem is not None or _state(site, looker, name) != wanted:
            raise ViolationError(f"after {error!r} it does not work again: {problem!r}")
        now = wanted
    problem = _attempt(lambda: insert(Actor(site.world, looker, "next"), T, [()]))
    if problem is not None:
        raise ViolationError(f"after {error!r} the next statement fails: {problem!r}")


def _seen(state: State, name: str) -> State:
    """Return a state of the model as ``_state`` gives it."""
    tables = {
        table: {v: own for v, own in rows.items() if own or not v or name in _OF_PARTITIONS}
        for table, rows in state.tables.items()
    }
    return replace(state, tables=tables)


def _check_leftovers(
    site: Site, looker: AcidSession, error: Exception | None, *, lost: bool
) -> None:
    store = looker.metastore
    still_open = [t.txn_id for t in store.open_txns() if t.state is TxnState.OPEN]
    locks = store.locks()
    staged = [str(path) for path in site.world.root.rglob("_acidsql_*")]
    if locks or staged or len(still_open) > lost:
        raise ViolationError(f"after {error!r} are left: {still_open}, {locks}, {staged}")


FAMILY = Family(
    name=NAME,
    summary="the same without Spark, for every call of every kind of statement",
    run=run,
    needed={},
    is_local=False,
)
