"""Ctrl-C in the ``acidsql`` shell, in a terminal, once and twice."""

from __future__ import annotations

import random
import re
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pexpect

from tests.faults.campaign import Fault
from tests.faults.checks import READER, leftovers, open_transactions
from tests.faults.children import environment
from tests.faults.workload import EMPTY, KINDS, TABLES, State, Statement, draw

_SECONDS = 600
_START_SECONDS = 900
_MOST_SECONDS = 2.0
_DIGEST = re.compile(r"DIGEST:(\w+):(\d+):(\d+):(\d+)")
_KINDS = tuple(kind for kind in KINDS if kind != "CTAS or DROP")


def interrupted(home: Path, seeds: range) -> Iterator[Fault]:
    """Interrupt a statement of one shell for each seed."""
    shell = Shell(home)
    try:
        for seed in seeds:
            try:
                fault = shell.strike(seed)
            except (pexpect.TIMEOUT, pexpect.EOF) as error:
                yield _fault(seed, "?", violation=f"the shell is stuck or gone: {error!s:.1500}")
                return
            yield fault
            if fault.violation is not None:
                return
    finally:
        shell.close()


class Shell:
    """Shell in a terminal, and the rows that its tables should have.

    Args:
        home: directory of its warehouse.
    """

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._home = home
        self._state: State = EMPTY
        self._turns = 0
        options = ["--master", "local[1]", "--warehouse", str(home / "warehouse"), "--timing"]
        options.append("--no-warn")
        settings = {
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.acidsql.lock.timeout": "30",
            "spark.acidsql.metastore": str(home / "metastore.sqlite"),
        }
        for key, value in settings.items():
            options += ["--conf", f"{key}={value}"]
        directories = {f"XDG_{kind}_HOME": str(home / kind) for kind in ("CONFIG", "STATE")}
        self._terminal = pexpect.spawn(
            sys.executable,
            ["-c", "from acidsql.repl.main import main; main()", *options],
            cwd=str(home),
            env=environment({"TERM": "xterm", "PAGER": "cat", **directories}),
            encoding="utf-8",
            timeout=_SECONDS,
            dimensions=(40, 400),
        )
        self._terminal.expect("acidsql>", timeout=_START_SECONDS)
        for text in TABLES.values():
            self._run(text)

    def close(self) -> None:
        """End the shell."""
        self._terminal.close(force=True)

    def strike(self, seed: int) -> Fault:
        """Interrupt a statement."""
        rng = random.Random(seed)
        statement = draw(rng, self._state, _KINDS)
        self._terminal.send(f"{statement.text};\r")
        time.sleep(rng.uniform(0, _MOST_SECONDS) * rng.random())
        self._terminal.sendintr()
        if rng.random() < 0.5:
            time.sleep(rng.uniform(0, 0.3))
            self._terminal.sendintr()
        said = self._until_prompt()
        cancelled = "cancelled" in said or "left running" in said
        failed = cancelled or "error:" in said
        return _fault(
            seed,
            statement.kind,
            struck=cancelled or "affected" not in said,
            violation=self._verdict(statement, returned=not failed and "affected" in said),
        )

    def _run(self, text: str) -> str:
        self._terminal.send(f"{text};\r")
        return self._until_prompt()

    def _until_prompt(self) -> str:
        """Return what the shell said until it answers again."""
        self._turns += 1
        self._terminal.send(f"\rSELECT 'TURN' || '{self._turns}';\r")
        self._terminal.expect_exact(f"TURN{self._turns}", timeout=_SECONDS)
        return str(self._terminal.before)

    def _verdict(self, statement: Statement, *, returned: bool) -> str | None:
        metastore = self._home / "metastore.sqlite"
        # One that was left running ends by itself.
        deadline = time.monotonic() + _SECONDS
        while open_transactions(metastore) and time.monotonic() < deadline:
            time.sleep(0.2)
        found = self._digests()
        before, after = _digests_of(self._state), _digests_of(statement.after)
        if found == after:
            self._state = statement.after
        elif found != before:
            return f"neither before nor after {statement.text!r}: {found}, {before}, {after}"
        elif returned:
            return f"{statement.text!r} returned, and the tables are as before"
        left = [
            one
            for one in leftovers(metastore, self._home / "warehouse")
            # What the shell has shown may be read as long as Java has not collected it.
            if "_acidsql_staging_" not in one and READER not in one
        ]
        return f"left by {statement.text!r}: {left[:5]}" if left else None

    def _digests(self) -> dict[str, tuple[int, int]]:
        parts = [
            f"SELECT concat_ws(':', 'DIGEST', '{table}', count(*),"
            " coalesce(sum(crc32(concat_ws('|', id, v, p))), 0),"
            f" count(DISTINCT row__id.writeid, row__id.bucketid, row__id.rowid"
            f"{', p' if table == 'parted' else ''})) AS digest FROM {table}"
            for table in TABLES
        ]
        said = self._run(" UNION ALL ".join(parts))
        found = {}
        for table, count, total, keys in _DIGEST.findall(said):
            if count != keys:
                raise AssertionError(f"{table} has {count} rows with {keys} row ids")
            found[table] = (int(count), int(total))
        return found


def _digests_of(state: State) -> dict[str, tuple[int, int]]:
    return {
        table: (len(rows), sum(zlib.crc32("|".join(map(str, row)).encode()) for row in rows))
        for table, rows in state.items()
    }


def _fault(seed: int, kind: str, *, struck: bool = True, violation: str | None = None) -> Fault:
    return Fault(
        family="interrupts",
        step="shell",
        statement=kind,
        seed=seed,
        struck=struck,
        violation=violation,
    )
