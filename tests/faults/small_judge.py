"""What must hold after a fault in a statement without Spark."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from acidsql.errors import AcidSqlError
from acidsql.format.names import OWNER_FILE
from acidsql.metastore.model import CompactionType, TxnInfo, TxnState
from acidsql.session.acid_session import AcidSession
from tests.faults.forked import Ending, Forked, Shot
from tests.faults.small_actor import Actor, Kind, T
from tests.faults.small_rows import compact, do_queued, insert
from tests.faults.small_statements import KINDS
from tests.faults.small_templates import Template
from tests.faults.small_world import State, TableName, Values, World, found_state

_ENDED_WITHOUT_COMMIT = {"aborted", "rolled back"}
# Nothing of a process that has timed out may be in anybody's way.
_STUCK = {"LOCK_TIMEOUT", "METASTORE_BUSY", "FILE_OPERATION_PENDING"}
# Part of the trials after which others write to all tables and compact them. After the rest it is
# looked up that no lock, transaction or journal entry can be in their way.
_GONE_ON = 0.2


class Violation(Exception):
    """Something is lost, doubled, half done or stuck."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Statement and the fault that strikes it."""

    world: World
    template: Template
    kind: Kind
    shot: Shot
    chance: random.Random


def judge(trial: Trial) -> tuple[bool, str | None]:
    """Run a trial; return whether the fault struck, and what was wrong after it."""
    world, kind = trial.world, trial.kind
    world.copy_from(trial.template.path)
    child = Forked(
        trial.shot,
        lambda session: kind.run(Actor(world, session, "new")),
        world.process,
        lambda session: insert(Actor(world, session, "same"), T, [()]),
    )
    try:
        child.started()
        wake = None
        if trial.shot.action == "pause" and child.paused():
            wake = _while_paused(trial, child)
        ending = child.ending()
        struck = ending.struck
        _check(trial, child, ending, wake)
    except (Violation, AcidSqlError, OSError, AssertionError) as error:
        return True, f"{type(error).__name__}: {error}"
    finally:
        child.close()
    return struck, None


def _check(
    trial: Trial,
    child: Forked,
    ending: Ending,
    after_pause: Callable[[Ending], Sequence[State]] | None,
) -> None:
    """Check what the statement left, that its process goes on, and that others do."""
    if ending.wrong is not None:
        raise Violation(ending.wrong)
    if ending.beating:
        raise Violation(f"heartbeats go on for {ending.beating}")
    before = trial.template.state
    if after_pause is None:
        allowed = _allowed(ending, before, trial.kind.effect(before, "new"))
    else:
        allowed = after_pause(ending)
    with trial.world.process() as session:
        found = _one_of(allowed, trial.world, session, "after the statement")
    if trial.shot.action != "kill":
        if trial.shot.action == "two interrupts":
            # The second one may have kept it from ending its transaction.
            trial.world.clock.pass_timeout()
        error = child.go_on()
        if error is not None:
            raise Violation(f"its process cannot go on: {error}")
        found = KINDS["insert"].effect(found, "same")
    child.close()
    goes_on(trial.world, trial.template, found, trial.chance)


def _allowed(ending: Ending, before: State, after: State) -> Sequence[State]:
    """Return the states that may be found after a statement that was not disturbed."""
    if ending.returned:
        return [after]
    if ending.error is None:
        return [before, after]
    if not ending.error.startswith("KeyboardInterrupt"):
        raise Violation(f"it raised {ending.error}")
    if "committed" in ending.statuses:
        return [after]
    if ending.statuses and _ENDED_WITHOUT_COMMIT.issuperset(ending.statuses):
        return [before]
    return [before, after]


def _while_paused(trial: Trial, child: Forked) -> Callable[[Ending], Sequence[State]]:
    """Do something else while a process is stopped for longer than the time-out, and wake it."""
    world, kind, before = trial.world, trial.kind, trial.template.state
    after = kind.effect(before, "new")
    with world.process() as session:
        now = int(world.clock())
        open_before = {t.txn_id for t in _open(session) if t.last_heartbeat >= now}
        world.clock.pass_timeout()
        found = _one_of([before, after], world, session, "while it is stopped")
        other = KINDS[trial.chance.choice(sorted(KINDS))]
        if trial.chance.random() < 0.3:
            other = kind
        expected = _disturbed(world, session, other, found)
        if kind.name == "create as select" and trial.chance.random() < 0.5:
            session.metastore.reap()
            expected = _disturbed(world, session, KINDS["create"], expected)
            insert(Actor(world, session, "third"), ("default", "new"), [()])
            expected = expected.changed(("default", "new"), added={(): ["third_"]})
        # Some statements open no transaction, and time out none.
        has_timed_out = bool(open_before - {t.txn_id for t in _open(session)})
    child.wake()
    had_committed = found != before

    def allowed(ending: Ending) -> Sequence[State]:
        # Somebody else may have loaded the file.
        is_gone = "FileNotFoundError" in (ending.error or "") and "/landing/" in str(ending.error)
        if ending.error is not None and not ending.is_own and not is_gone:
            raise Violation(f"it raised {ending.error}")
        if had_committed and not ending.returned:
            raise Violation(f"it had committed, and raised {ending.error}")
        if before == after or had_committed or not ending.returned:
            return [expected]
        # Before it has a write id, a statement begins again if others have committed meanwhile.
        began_anew = len(ending.statuses) > 1
        if has_timed_out and kind.in_transaction and not began_anew:
            raise Violation("it had timed out, and returned")
        return [kind.effect(expected, "new")]

    return allowed


def _open(session: AcidSession) -> list[TxnInfo]:
    return [t for t in session.metastore.open_txns() if t.state is TxnState.OPEN]


def _disturbed(world: World, session: AcidSession, other: Kind, found: State) -> State:
    try:
        other.run(Actor(world, session, "other"))
    except AcidSqlError as error:
        if error.condition in _STUCK:
            raise Violation(f"{other.name} while it is stopped: {error}") from error
        return found
    return other.effect(found, "other")


def _one_of(allowed: Sequence[State], world: World, session: AcidSession, when: str) -> State:
    found = found_state(world, session)
    if found not in allowed:
        raise Violation(f"{when}: {difference(found, allowed)}")
    return found


def difference(found: State, allowed: Iterable[State]) -> str:
    """Describe how a state differs from each of those that are allowed."""
    texts = []
    for state in allowed:
        parts = [
            f"{name} is {getattr(found, name)}, not {getattr(state, name)}"
            for name in ("databases", "landed", "properties")
            if getattr(found, name) != getattr(state, name)
        ]
        for table in sorted({*found.tables, *state.tables}):
            one, two = found.tables.get(table), state.tables.get(table)
            if one != two:
                parts.append(f"{table} is {_text(one)}, not {_text(two)}")
        texts.append("; ".join(parts))
    return " / ".join(texts)


def _text(partitions: object) -> str:
    return str(partitions).replace("frozenset", "")


def goes_on(world: World, template: Template, found: State, chance: random.Random) -> None:
    """Check that statements go on, and that what the dead process left goes away by itself."""
    with world.process() as session:
        session.metastore.reap()
        found_state(world, session)
        if left := _but_staging(world):
            raise Violation(f"left behind: {left}")
        if chance.random() >= _GONE_ON:
            return
        expected = found
        for name in sorted(found.tables):
            if name[0] != "d" or name not in template.state.tables:
                expected = _insert_everywhere(world, session, name, expected)
        _one_of([expected], world, session, "when others go on")
        _tidy(world, session, expected)
        _one_of([expected], world, session, "after compactions")
        left = [*world.leftovers(), *orphans(world, session)]
        left += [str(entry) for entry in session.metastore.ready_to_clean()]
        if left:
            raise Violation(f"left behind: {left}")


def _but_staging(world: World) -> list[str]:
    """Return what is left behind, but for staging, which goes with the next compaction."""
    return [path for path in world.leftovers() if "/_acidsql_staging_" not in path]


def _insert_everywhere(world: World, session: AcidSession, name: TableName, state: State) -> State:
    """Insert a row into each partition that there is, or has a directory."""
    places: list[Values] = [()]
    table = session.metastore.table(*name)
    if table.partition_columns:
        names = session.files.names(table.location)
        found = {(n.removeprefix("p="),) for n in names if n.startswith("p=")}
        places = sorted(found | set(state.tables[name]))
    insert(Actor(world, session, "after"), name, places)
    return state.changed(name, added={v: [f"after_{'_'.join(v)}"] for v in places})


def _tidy(world: World, session: AcidSession, state: State) -> None:
    actor = Actor(world, session, "tidy")
    do_queued(session)
    for name, partitions in sorted(state.tables.items()):
        table = session.metastore.table(*name)
        for values in sorted(partitions):
            partition = table.partition_name(values) if values else None
            compact(actor, name, partition, CompactionType.MAJOR)


def orphans(world: World, session: AcidSession) -> list[str]:
    """Return the files that belong to no table, and the directories that no partition needs."""
    metastore = session.metastore
    known = {world.uri("landing")}
    for database in metastore.databases():
        for name in metastore.tables(database):
            table = metastore.table(database, name)
            places = [table.location]
            known.add(f"{table.location}/{OWNER_FILE}")
            if table.partition_columns:
                places = [p.location for p in metastore.partitions(database, name)]
            for place in places:
                bases = [n for n in session.files.names(place) if n.startswith("base_")]
                known.update(f"{place}/{n}" for n in bases[:1])
                # Too little to compact, or nothing was written since the last compaction.
                names = [n for n in session.files.names(place) if n != OWNER_FILE]
                if database == "d" or len(names) == 1:
                    known.update(f"{place}/{n}" for n in names)
    files = [
        file
        for file in world.root.rglob("*")
        if file.is_file() and file.parent != world.root and f"file:{file}" not in known
    ]
    return sorted(str(f) for f in files if f"file:{f.parent}" not in known)
