"""Plays a random history with acidsql and Hive, and compares the two after each step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

import acidsql
from acidsql.errors import TransactionStateError
from acidsql.format.names import DirectoryKind, parse_directory
from acidsql.injection_points import Point, attached
from acidsql.transactions.transaction import Transaction
from tests.hive.agreement import MODES
from tests.hive.histories import Failure, History, Step, StepKind
from tests.hive.history_statements import source_statements
from tests.hive.history_tables import Engine
from tests.hive.hive import Hive, HiveError
from tests.hive_values import Identified, RowId, in_order, row_of_hive, rows_with_ids

_MAIN, _ASIDE = "main", "aside"
_MOST_SHOWN = 3
# After every third step, Hive is queried for the rows of a condition and their number.
_ASKED = 3
_COMPACTIONS = (StepKind.MINOR, StepKind.MAJOR)
# A row id is unique within a partition.
Place = tuple[RowId, tuple[str | None, ...]]


class HistoryError(Exception):
    """Error of a history that went wrong; the message has seed, statements and reason."""


class DifferenceError(Exception):
    """Error of a result that differs from the expected one."""


class _InjectedError(Exception):
    """Makes a statement fail."""


def play(spark: SparkSession, hive: Hive, history: History) -> None:
    """Play a history, from the creation of its table to the removal.

    Args:
        spark: its metastore is Hive's.

    Raises:
        HistoryError: a step failed, or left something else than it must.
    """
    player = _Player(spark, hive, history)
    statements = [f"-- history {history.seed}"]
    try:
        statements += player.create()
        for number, step in enumerate(history.steps):
            statements.append(str(step))
            player.do(step)
            player.check(step, number, last=number == len(history.steps) - 1)
        player.drop()
    except Exception as error:
        player.leave()
        told = "\n".join(statements)
        raise HistoryError(f"{told}\n-- {type(error).__name__}: {error}") from error
    finally:
        player.reset()


class RowIds:
    """Row ids of a table's rows, whose first column is their key.

    Args:
        partition_columns: number of partition columns, at the end of a row.
    """

    def __init__(self, *, partition_columns: int) -> None:
        self._partition_columns = partition_columns
        self._last: Mapping[str, RowId] = {}
        self._owners: dict[Place, str] = {}

    def check(self, found: Sequence[Identified], touched: AbstractSet[str]) -> None:
        """Check that only rewritten rows have new row ids, and that no row id changes its row.

        Args:
            found: the rows after a statement.
            touched: keys of the rows that it rewrote.
        """
        row_ids = {row[0]: row_id for row_id, row in found}
        for key in self._last.keys() & row_ids.keys():
            before, after = self._last[key], row_ids[key]
            if (before == after) is (key in touched):
                what = "kept its row id" if before == after else "has another row id"
                raise DifferenceError(f"the row {key} {what}: {before}, {after}")
        for row_id, row in found:
            place = (row_id, row[len(row) - self._partition_columns :])
            owner = self._owners.setdefault(place, row[0])
            if owner != row[0]:
                raise DifferenceError(f"the row {row[0]} has the row id of {owner}: {place}")
        self._last = row_ids


class _Player:
    """Plays one history."""

    def __init__(self, spark: SparkSession, hive: Hive, history: History) -> None:
        self._spark, self._hive, self._history = spark, hive, history
        self._types: list[DataType] = []
        self._hive_counts = True
        self._row_ids = RowIds(partition_columns=len(history.schema.partitions))

    def create(self) -> list[str]:
        """Create the table and its source; the statements."""
        history = self._history
        create = history.schema.create(history.table)
        source = source_statements(history.schema, history.source_table, history.source)
        # Hive keeps statistics of every other table.
        self._set("hive.stats.autogather", on=history.seed % 2 == 1)
        self._run(history.schema.by, create)
        self._note_types()
        for statement in source:
            self._run(Engine.ACIDSQL, statement)
        return [f"-- by {history.schema.by.value}\n{create};", *(f"{text};" for text in source)]

    def _note_types(self) -> None:
        frame = acidsql.table(self._spark, self._history.table)
        self._types = [field.dataType for field in frame.schema.fields]

    def drop(self) -> None:
        """Drop both tables."""
        acidsql.release(self._spark)
        for table in (self._history.table, self._history.source_table):
            self._run(Engine.ACIDSQL, f"DROP TABLE {table}")

    def leave(self) -> None:
        """End what a history that failed may have left open."""
        for session in (_MAIN, _ASIDE):
            with suppress(HiveError):
                self._hive.run("ROLLBACK", session=session)

    def reset(self) -> None:
        """Leave Hive's settings as they were."""
        for name in ("hive.stats.autogather", "hive.compute.query.using.stats"):
            self._set(name, on=False)

    def _set(self, name: str, *, on: bool) -> None:
        self._hive.run(f"SET {name}={str(on).lower()}")

    def do(self, step: Step) -> None:
        """Run the statements of a step."""
        session = _ASIDE if step.aside else _MAIN
        if step.kind is StepKind.MINOR and step.by is Engine.HIVE and self._in_one_write_id():
            return
        # Hive goes on counting the rows that it rolled back.
        self._hive_counts &= "ROLLBACK" not in step.statements
        for statement in step.statements:
            if statement == "worker":
                self._hive.call("compactor", statement)
            elif statement == "cleaner":
                acidsql.release(self._spark)  # no reader holds it back
                self._hive.clean(self._history.table)
            elif step.failure is not None:
                self._fail(statement, step.failure)
            else:
                try:
                    self._run(step.by, statement, session)
                except HiveError as error:
                    # Hive takes no request where what one left waits for the cleaner.
                    if step.kind in _COMPACTIONS and "state='ready for cleaning'" in str(error):
                        return
                    raise

    def _in_one_write_id(self) -> bool:
        """Return whether all deltas of a partition, delete deltas included, have one write id.

        Of such deltas Hive's compactor makes directories where Hive's vectorised reader applies no
        delete event, so that it shows deleted rows.
        """
        root = self._hive.warehouse / self._history.table
        for place in {root, *(path.parent for path in root.rglob("delete_delta_*"))}:
            found = [d for d in (parse_directory(p.name) for p in place.iterdir()) if d]
            base = max((d.max_write_id for d in found if d.kind is DirectoryKind.BASE), default=0)
            deltas = [
                d for d in found if d.kind is not DirectoryKind.BASE and d.min_write_id > base
            ]
            kinds = {d.kind for d in deltas}
            ids = {i for d in deltas for i in (d.min_write_id, d.max_write_id)}
            if len(ids) == 1 and len(kinds) == 2:
                return True
        return False

    def _run(self, by: Engine, statement: str, session: str = _MAIN) -> None:
        if by is Engine.HIVE:
            self._hive.run(statement, session=session)
        else:
            acidsql.sql(self._spark, statement)

    def _fail(self, statement: str, failure: Failure) -> None:
        with _failing(self._hive, failure), suppress(_InjectedError, TransactionStateError):
            acidsql.sql(self._spark, statement)

    def check(self, step: Step, number: int, *, last: bool) -> None:
        """Compare rows and row ids with those that must be there, and with those before."""
        if step.kind is StepKind.ALTER:
            self._note_types()
        ours = rows_with_ids(acidsql.table(self._spark, self._history.table))
        rows = sorted((row for _, row in ours), key=repr)
        compare("acidsql's rows", rows, sorted(step.rows, key=repr))
        # Row by row in the driver, and vectorised in a task.
        for mode in MODES if last else (MODES[0], MODES[-1]):
            for setting in mode:
                self._hive.run(setting)
            compare(f"Hive's rows and row ids with {mode}", self._theirs(), ours)
        asked = last or number % _ASKED == 0
        self._check_probe(step, in_hive=asked)
        if asked and self._hive_counts:
            self._check_count(step)
        self._row_ids.check(ours, step.touched)
        if step.kind in _COMPACTIONS:
            self._check_compactions()
        if last:
            self._check_table()

    def _theirs(self) -> list[Identified]:
        found = self._hive.run(f"SELECT row__id, * FROM {self._history.table}")
        return in_order(
            ((int(row[0][0]), int(row[0][1]), int(row[0][2])), row_of_hive(row[1:], self._types))
            for row in found
        )

    def _check_probe(self, step: Step, *, in_hive: bool) -> None:
        query = f"SELECT id FROM {self._history.table} WHERE {step.probe}"
        answers = {"acidsql": [tuple(row) for row in acidsql.sql(self._spark, query).collect()]}
        if in_hive:
            answers["Hive"] = self._hive.run(query)
        for who, rows in answers.items():
            found = sorted(str(key) for (key,) in rows)
            compare(f"{who}'s keys WHERE {step.probe}", found, sorted(step.probed))

    def _check_count(self, step: Step) -> None:
        """Check the count that Hive takes from its statistics, if these are marked as accurate."""
        self._set("hive.compute.query.using.stats", on=True)
        counted = self._hive.run(f"SELECT count(*) FROM {self._history.table}")
        self._set("hive.compute.query.using.stats", on=False)
        compare("Hive's count(*)", counted, [(str(len(step.rows)),)])

    def _check_table(self) -> None:
        """Check that CHECK TABLE finds nothing wrong; what a killed writer left is no fault."""
        found = acidsql.sql(self._spark, f"CHECK TABLE {self._history.table} FULL").collect()
        compare("problems", [tuple(row) for row in found if row.severity != "info"], [])

    def _check_compactions(self) -> None:
        for row in self._hive.run("SHOW COMPACTIONS"):
            if row[2] == self._history.table and row[5] in ("failed", "did not initiate"):
                raise DifferenceError(f"a compaction failed: {row}")


def compare(what: str, found: Sequence[object], wanted: Sequence[object]) -> None:
    """Compare rows in an order of their own.

    Raises:
        DifferenceError: they are not the same; says the first that are too many or missing.
    """
    if found == wanted:
        return
    more = [item for item in found if item not in wanted]
    less = [item for item in wanted if item not in found]
    raise DifferenceError(
        f"{what}: {len(found)} of {len(wanted)}\n--   not wanted: {more[:_MOST_SHOWN]}"
        f"\n--   missing:    {less[:_MOST_SHOWN]}"
    )


@contextmanager
def _failing(hive: Hive, failure: Failure) -> Iterator[None]:
    """Have write transactions fail when all is in its place and the commit is to come."""

    def leave() -> None:
        raise OSError("the process is gone")

    def fail(transaction: Transaction) -> None:
        if failure is Failure.KILLED:
            transaction.reverts.append(leave)
        if failure is not Failure.ABORTED:
            raise _InjectedError
        hive.call("abort_txn", transaction.txn_id)

    with attached(Point.BEFORE_COMMIT, fail):
        yield
