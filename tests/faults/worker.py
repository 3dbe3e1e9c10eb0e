"""Session of a fault campaign, which is used again after each fault."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import acidsql
from acidsql.session.acid_session import AcidSession
from tests.faults.checks import leftovers
from tests.faults.steps import Steps
from tests.faults.workload import (
    COPY,
    EMPTY,
    TABLES,
    Row,
    State,
    Statement,
    difference,
    insert_into,
)

_STAGING = "_acidsql_staging_"
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a statement ended.

    Attributes:
        returned: whether it returned.
        error: what it raised otherwise.
    """

    returned: bool
    error: BaseException | None

    @property
    def condition(self) -> str:
        """Its condition, or else the name of the error's class."""
        if self.error is None:
            return "returned"
        found = _CONDITION.search(str(self.error))
        return found[1] if found else type(self.error).__name__


NOT_RUN = Outcome(returned=False, error=None)
"""Outcome of a statement that is as if it had failed."""


@dataclass(slots=True, kw_only=True)
class Worker:
    """Spark session with the tables of the workload, and the rows that they should have.

    Attributes:
        home: directory of the child.
        spark: the session.
        steps: of this process.
        warehouse: directory of the tables.
        state: rows that the tables should have.
    """

    home: Path
    spark: SparkSession
    steps: Steps
    warehouse: Path
    state: State = field(default_factory=lambda: EMPTY)

    @property
    def metastore(self) -> Path:
        """File of the embedded metastore."""
        return Path(AcidSession.of(self.spark).settings.metastore)

    def make_tables(self) -> None:
        """Create the tables, and put rows into them."""
        for text in TABLES.values():
            self.run(text)
        for table in TABLES:
            insert = insert_into(table, self.state)
            self.run(insert.text)
            self.state = insert.after

    def run(self, text: str) -> None:
        """Run a statement."""
        acidsql.sql(self.spark, text)

    def attempt(self, text: str) -> Outcome:
        """Run a statement that may fail."""
        try:
            self.run(text)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
            return Outcome(returned=False, error=error.with_traceback(None))
        return Outcome(returned=True, error=None)

    def attempt_rows(self, frame: DataFrame) -> tuple[Row, ...] | str:
        """Return the rows of a DataFrame, or the condition of its error."""
        try:
            return tuple(sorted((row.id, row.v, row.p) for row in frame.collect()))
        except PySparkException as error:
            return Outcome(returned=False, error=error).condition

    def tables(self) -> State:
        """Read all tables.

        Raises:
            AssertionError: a row id is there twice.
        """
        names = {row.tableName for row in acidsql.sql(self.spark, "SHOW TABLES").collect()}
        return {name: self._rows(name) for name in sorted(names & {*TABLES, COPY})}

    def _rows(self, table: str) -> tuple[Row, ...]:
        frame = acidsql.sql(
            self.spark,
            f"SELECT id, v, p, concat_ws(',', row__id.writeid, row__id.bucketid, row__id.rowid) k"
            f"{', p AS place' if table == 'parted' else ', 0 AS place'} FROM {table}",
        )
        rows = frame.collect()
        keys = {(row.place, row.k) for row in rows}
        if len(keys) != len(rows):
            raise AssertionError(f"{table} has {len(rows)} rows with {len(keys)} row ids")
        return tuple(sorted((row.id, row.v, row.p) for row in rows))

    def verdict(
        self,
        statement: Statement,
        outcome: Outcome,
        *,
        may_leave: Sequence[str] = (),
        patience: float = 0.0,
        errors_may_come_after: bool = False,
    ) -> str | None:
        """Return what is wrong after a statement; take over what it did.

        Args:
            statement: what was run in ``state``.
            outcome: how it ended.
            may_leave: parts of the names of what it may leave behind.
            patience: seconds that transactions may take to time out.
            errors_may_come_after: whether an error may follow the commit.
        """
        try:
            wrong = self._state_after(statement, outcome)
            if wrong is None and not outcome.returned and not errors_may_come_after:
                wrong = self._says_too_little(statement)
            found = self._leftovers(patience)
            left = [one for one in found if not _is_allowed(one, may_leave)]
            follow_up = insert_into(statement.table, self.state)
            self.run(follow_up.text)
            self.state = follow_up.after
            if wrong is None and left:
                wrong = "left: " + "; ".join(left[:5])
            if wrong is None:
                table = follow_up.table
                found_rows = {table: self._rows(table)}
                wrong = difference(found_rows, {table: self.state[table]})
            acidsql.release(self.spark)
            if wrong is None and any(_STAGING in one for one in found):
                wrong = self._after_cleaning()
        # Whatever the session raises now is the violation.
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
            wrong = f"the session cannot be used: {type(error).__name__}: {str(error)[:500]}"
        if wrong is None:
            return None
        return (
            f"{wrong} (after {statement.text!r}, {outcome.condition}: {str(outcome.error)[:200]})"
        )

    def verdict_if(
        self,
        struck: bool,
        statement: Statement,
        outcome: Outcome,
        **named: Any,
    ) -> str | None:
        """Return the verdict; a statement that nothing struck counts as done, to save time."""
        if struck or not outcome.returned:
            return self.verdict(statement, outcome, **named)
        self.state = statement.after
        return None

    def _after_cleaning(self) -> str | None:
        """Compact, and return what staging directories are left.

        A job that Spark was running when its statement ended may write into its staging directory
        once more; a compaction removes it.
        """
        for table in TABLES:
            for _ in range(2):
                insert = insert_into(table, self.state)
                self.run(insert.text)
                self.state = insert.after
            place = " PARTITION (p = 1)" if table == "parted" else ""
            self.run(f"ALTER TABLE {table}{place} COMPACT 'major'")
        acidsql.release(self.spark)
        left = [one for one in leftovers(self.metastore, self.warehouse) if _STAGING in one]
        return f"left after cleaning: {left}" if left else None

    def _leftovers(self, patience: float) -> list[str]:
        deadline = time.monotonic() + patience
        while True:
            acidsql.release(self.spark)
            AcidSession.of(self.spark).metastore.reap()
            found = leftovers(self.metastore, self.warehouse)
            if not any("transaction" in one for one in found) or time.monotonic() > deadline:
                return found
            time.sleep(0.2)

    def _says_too_little(self, statement: Statement) -> str | None:
        """Return a complaint if a statement that raised has had an effect."""
        changes = difference(statement.before, statement.after) is not None
        if changes and difference(self.state, statement.after) is None:
            return "it raised, and has taken effect"
        return None

    def _state_after(self, statement: Statement, outcome: Outcome) -> str | None:
        found = self.tables()
        before, after = self.state, statement.after
        for_after = difference(found, after)
        for_before = difference(found, before)
        self.state = found
        if for_after is None:
            return None
        if outcome.returned:
            return f"it returned, and {for_after}"
        if for_before is None:
            return None
        return f"neither before ({for_before}) nor after ({for_after})"


def _is_allowed(leftover: str, may_leave: Sequence[str]) -> bool:
    return any(part in leftover for part in (*may_leave, _STAGING))


def started(
    home: Path,
    *,
    master: str = "local[1]",
    disk: Path | None = None,
    scheme: str = "file",
    settings: Mapping[str, str] | None = None,
) -> Worker:
    """Start Spark with a warehouse and a metastore in a directory, and make the tables.

    Args:
        home: the directory.
        master: of Spark.
        disk: directory of the warehouse and the metastore, if it is another one.
        scheme: of the warehouse's file system.
        settings: of Spark, besides those of every campaign.
    """
    worker = joined(home, master=master, disk=disk, scheme=scheme, settings=settings)
    worker.make_tables()
    return worker


def joined(
    home: Path,
    *,
    master: str = "local[1]",
    disk: Path | None = None,
    scheme: str = "file",
    settings: Mapping[str, str] | None = None,
) -> Worker:
    """Start Spark as ``started`` does, with tables that somebody else makes."""
    place = disk or home
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{scheme}:{place / 'warehouse'}",
        "spark.acidsql.metastore": str(place / "metastore.sqlite"),
        "spark.acidsql.lock.timeout": "30",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
        **(settings or {}),
    }
    builder = SparkSession.builder.master(master).appName("faults")
    for key, value in options.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return Worker(home=home, spark=spark, steps=Steps(), warehouse=place / "warehouse")
