"""Several processes at once on the same small tables; some are killed or interrupted.

The metastore's history of write ids has the order of their commits. Each one notes what it
is about to commit; applied in that order, these changes must give what is found at the end.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acidsql.errors import AcidSqlError
from acidsql.session.acid_session import AcidSession
from tests.faults.forked import Action, Ending, Forked, Shot
from tests.faults.small_actor import Actor, Change
from tests.faults.small_judge import Violation, difference, goes_on
from tests.faults.small_statements import KINDS
from tests.faults.small_templates import Template
from tests.faults.small_world import State, TableName, World, found_state

_KINDS = (
    *("insert", "insert partitions", "update", "update partitions", "delete", "merge"),
    *("overwrite", "overwrite partition", "truncate", "compact minor", "compact major", "query"),
)
_PROCESSES = 3
_STATEMENTS = 4
# Lines of the product's code that a few statements run.
_LINES = 8000
_LOCK_TIMEOUT = 10.0
# What may become of a statement beside others.
_EXPECTED = {"CONCURRENT_WRITE", "TXN_ABORTED", "COMPACTION_STATE_CHANGED"}


def judge_together(world: World, template: Template, seed: int) -> tuple[bool, str | None]:
    """Run processes at once; return whether one was struck, and what was wrong afterwards."""
    chance = random.Random(seed)
    world.copy_from(template.path)
    logs = [world.root / f"log_{number}" for number in range(_PROCESSES)]
    children = [_start(world, log, chance, seed * 10 + n) for n, log in enumerate(logs)]
    struck = True
    try:
        for child in children:
            child.started()
        endings = [child.ending() for child in children]
        struck = any(ending.struck for ending in endings)
        for child in children:
            child.close()
        _check(world, template, endings, logs, chance)
    except (Violation, AcidSqlError, OSError, AssertionError) as error:
        return struck, f"{type(error).__name__}: {error}"
    finally:
        for child in children:
            child.close()
    return struck, None


def _start(world: World, log: Path, chance: random.Random, seed: int) -> Forked:
    shot = Shot(action="kill")  # which never strikes
    if chance.random() < 0.7:
        action: Action = chance.choice(("kill", "interrupt", "two interrupts"))
        shot = Shot(action=action, line=chance.randrange(_LINES), second=chance.randrange(8))
    kinds = [random.Random(seed + n).choice(_KINDS) for n in range(_STATEMENTS)]

    def work(session: AcidSession) -> None:
        for number, kind in enumerate(kinds):
            _run(world, session, log, kind, f"s{seed}x{number}")

    return Forked(shot, work, lambda: world.process(lock_timeout=_LOCK_TIMEOUT))


def _run(world: World, session: AcidSession, log: Path, kind: str, tag: str) -> None:
    """Run a statement, and log what it was about to commit and how it ended."""

    def write(**entry: Any) -> None:
        with log.open("a") as lines:
            lines.write(json.dumps({"kind": kind, "tag": tag} | entry) + "\n")

    def note(change: Change) -> None:
        fields = asdict(change)
        write(change=fields | {"added": sorted(fields["added"].items())})

    try:
        KINDS[kind].run(Actor(world, session, tag, note))
    except AcidSqlError as error:
        write(raised=error.condition)
    except OSError as error:
        write(raised=f"{type(error).__name__}: {error}")
    else:
        write(returned=True)


def _check(
    world: World,
    template: Template,
    endings: Sequence[Ending],
    logs: Sequence[Path],
    chance: random.Random,
) -> None:
    expected_errors = set(_EXPECTED)
    if any(len(ending.statuses) and ending.statuses[-1] == "open" for ending in endings):
        # The second interrupt kept it from ending its transaction, and its process lives on.
        expected_errors.add("LOCK_TIMEOUT")
    for ending in endings:
        if ending.wrong is not None or ending.beating:
            raise Violation(f"{ending.wrong}, heartbeats for {ending.beating}")
    entries = [json.loads(line) for log in logs if log.exists() for line in _lines(log)]
    for log in logs:
        log.unlink(missing_ok=True)
    with world.process() as session:
        session.metastore.reap()
        found = found_state(world, session)
    commits = _commits(world)
    expected, committed = _replayed(template.state, entries, commits)
    if found != expected:
        raise Violation(f"{difference(found, [expected])}, after {entries}")
    for entry in entries:
        if "raised" in entry and entry["raised"] not in expected_errors:
            raise Violation(f"{entry} among {entries}")
        if "raised" in entry and entry["tag"] in committed:
            raise Violation(f"it has committed: {entry}")
    writers = {entry["tag"] for entry in entries if "change" in entry}
    lost = [e for e in entries if "returned" in e and e["tag"] in writers - committed]
    if lost:
        raise Violation(f"they returned, and have not committed: {lost}")
    goes_on(world, template, found, chance)


def _lines(log: Path) -> list[str]:
    """Return the whole lines of a log: its writer may have been killed in the last one."""
    text = log.read_text()
    return text[: text.rfind("\n") + 1].splitlines()


def _commits(world: World) -> dict[tuple[TableName, int], int]:
    """Return the number of each commit, by table and write id."""
    with closing(sqlite3.connect(world.root / "metastore.sqlite")) as connection:
        rows = connection.execute(
            "SELECT database_name, table_name, write_id, commit_number FROM write_ids"
            " JOIN tables USING (table_id) WHERE outcome = 'committed'"
        )
        return {((database, name), write_id): number for database, name, write_id, number in rows}


def _replayed(
    state: State, entries: Sequence[Any], commits: dict[tuple[TableName, int], int]
) -> tuple[State, set[str]]:
    """Apply the committed changes in the order of their commits; return the tags of these, too."""
    done = []
    for entry in entries:
        if "change" in entry:
            change = entry["change"]
            number = commits.get((tuple(change["table"]), change["write_id"]))
            if number is not None:
                done.append((number, entry["tag"], change))
    for _, tag, change in sorted(done, key=lambda one: one[0]):
        name = tuple(change["table"])
        present = {row for rows in state.tables[name].values() for row in rows}
        missing = set(change["deleted"]) - present
        if missing:
            raise Violation(f"{tag} has deleted {missing}, which somebody had deleted before")
        state = state.changed(
            name,
            added={tuple(values): rows for values, rows in change["added"]},
            deleted=change["deleted"],
            replaced=[tuple(values) for values in change["replaced"]],
        )
    return state, {tag for _, tag, _ in done}
