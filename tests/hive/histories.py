"""Random histories of a table that acidsql and Hive write in turns.

A history is data: a schema, rows of a source table, and steps with the rows that each must leave.
A seed makes it, and makes the same one again. Nothing here needs Spark or Hive.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from random import Random

from tests.hive.history_statements import (
    alter,
    delete,
    insert,
    merge,
    overwrite,
    truncate,
    update,
)
from tests.hive.history_story import Story, Written
from tests.hive.history_tables import Engine, Schema, Shown, SourceRow, random_schema

_MOST_STEPS = 12
_FEWEST_STEPS = 6


class StepKind(Enum):
    """Kind of a step."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    MERGE = "merge"
    OVERWRITE = "overwrite"
    TRUNCATE = "truncate"
    ALTER = "alter"
    MINOR = "minor"
    MAJOR = "major"
    ABORT = "abort"
    TRANSACTION = "transaction"
    OPEN = "open"
    END = "end"


class Failure(Enum):
    """Kind of failure of a statement of acidsql."""

    AT_COMMIT = "an error at the commit, after which it takes back what it wrote"
    KILLED = "an error at the commit, after which its files stay, as those of a killed client"
    ABORTED = "somebody else aborts its transaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Step of a history, with the rows that it must leave.

    Attributes:
        statements: statements of one engine, in order; ``worker`` and ``cleaner`` are rounds of
            Hive's compactor.
        rows: rows of the table after it.
        touched: keys of older rows that got a new row id.
        probe: a condition.
        probed: keys of the rows for which the condition is true.
        failure: how the statement must fail, or None.
        aside: True if the statements run in a session of Hive whose transaction stays open for
            several steps.
    """

    kind: StepKind
    by: Engine
    statements: tuple[str, ...]
    rows: tuple[Shown, ...]
    probe: str
    probed: tuple[str, ...]
    touched: frozenset[str] = frozenset()
    failure: Failure | None = None
    aside: bool = False

    def __str__(self) -> str:
        how = f", {self.failure.value}" if self.failure else ""
        how += ", in another session" if self.aside else ""
        return f"-- {self.kind.value} by {self.by.value}{how}\n" + ";\n".join(self.statements) + ";"


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """History of a table.

    Attributes:
        table: its name.
        source: rows of the table ``source_table``, from which statements take rows.
    """

    seed: int
    table: str
    source_table: str
    schema: Schema
    source: tuple[SourceRow, ...]
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "\n".join(
            [f"-- history {self.seed}", f"{self.schema.create(self.table)};", *map(str, self.steps)]
        )


def history(seed: int) -> History:
    """Generate the history of a seed."""
    rng = Random(seed)
    table = f"history_{seed}"
    schema = random_schema(rng)
    story = Story(rng=rng, table=table, source_table=f"{table}_source", schema=schema)
    teller = _Teller(story)
    count = rng.randint(_FEWEST_STEPS, _MOST_STEPS)
    steps = [teller.change(StepKind.INSERT), *(teller.step() for _ in range(count - 1))]
    if teller.open_rows is not None:
        steps.append(teller.end())
    return History(
        seed=seed,
        table=table,
        source_table=story.source_table,
        schema=schema,
        source=tuple(story.source),
        steps=tuple(steps),
    )


_CHANGES = {
    StepKind.INSERT: insert,
    StepKind.UPDATE: update,
    StepKind.DELETE: delete,
    StepKind.MERGE: merge,
    StepKind.OVERWRITE: overwrite,
    StepKind.TRUNCATE: truncate,
    StepKind.ALTER: alter,
}
_EVENTS = (StepKind.INSERT, StepKind.UPDATE, StepKind.DELETE, StepKind.MERGE)
_WEIGHTS = {
    StepKind.INSERT: 10,
    StepKind.UPDATE: 10,
    StepKind.DELETE: 7,
    StepKind.MERGE: 9,
    StepKind.OVERWRITE: 2,
    StepKind.TRUNCATE: 1,
    StepKind.ALTER: 3,
    StepKind.MINOR: 7,
    StepKind.MAJOR: 6,
    StepKind.ABORT: 6,
    StepKind.TRANSACTION: 4,
    StepKind.OPEN: 2,
    StepKind.END: 0,
}
# They wait until the table has no other writer.
_EXCLUSIVE = (StepKind.OVERWRITE, StepKind.TRUNCATE)
_ALONE = (*_EXCLUSIVE, StepKind.ALTER)


class _Teller:
    """Chooses the steps of a story, one after the other.

    Attributes:
        open_rows: those of a transaction of Hive that is open, if one is.
    """

    def __init__(self, story: Story) -> None:
        self._story = story
        self._rng = story.rng
        self.open_rows: Written | None = None

    def step(self) -> Step:
        weights = dict(_WEIGHTS)
        if self.open_rows is not None:
            weights |= {StepKind.OPEN: 0, StepKind.END: 8, **dict.fromkeys(_ALONE, 0)}
        (kind,) = self._rng.choices(list(weights), list(weights.values()))
        if kind in _CHANGES:
            return self.change(kind)
        if kind in (StepKind.MINOR, StepKind.MAJOR):
            return self._compact(kind)
        if kind is StepKind.ABORT:
            return self._abort()
        if kind is StepKind.TRANSACTION:
            return self._transaction()
        return self._open() if kind is StepKind.OPEN else self.end()

    def change(self, kind: StepKind) -> Step:
        """Return a step with a statement that commits."""
        by = self._engine()
        written = self._written(kind, by)
        self._story.take(written)
        return self._step(kind, by, (written.statement,), written.touched)

    def _written(self, kind: StepKind, by: Engine) -> Written:
        made = _CHANGES[kind](self._story, by)
        # Hive can only change some columns, and there may be none.
        return delete(self._story, by) if made is None else made

    def _compact(self, kind: StepKind) -> Step:
        story, by = self._story, self._engine()
        partitions = [p for p in story.partitions if None not in p]
        where = ""
        if story.schema.partitions:
            if not partitions and by is Engine.HIVE:
                by = Engine.ACIDSQL
            if by is Engine.HIVE or (partitions and self._rng.random() < 0.7):
                where = f" PARTITION ({story.schema.named(self._rng.choice(partitions))})"
        statement = f"ALTER TABLE {story.table}{where} COMPACT '{kind.value}'"
        if by is Engine.ACIDSQL:
            statements = [statement + self._rng.choice(("", " AND WAIT"))]
        else:
            statements = [statement, "worker"]
        if self._rng.random() < 0.7:
            statements.append("cleaner")
        return self._step(kind, by, tuple(statements))

    def _abort(self) -> Step:
        story, by = self._story, self._engine()
        rows, partitions = dict(story.rows), list(story.partitions)
        failure = None
        if by is Engine.HIVE:
            aborted, _ = self._in_transaction(self._rng.randint(1, 2))
            statements = ("START TRANSACTION", *aborted, "ROLLBACK")
        else:
            kinds = _EVENTS if self.open_rows is not None else (*_EVENTS, *_EXCLUSIVE)
            statements = (self._written(self._rng.choice(kinds), by).statement,)
            failure = self._rng.choice(list(Failure))
        story.rows, story.partitions = rows, partitions
        return self._step(StepKind.ABORT, by, statements, failure=failure)

    def _in_transaction(self, count: int) -> tuple[tuple[str, ...], frozenset[str]]:
        """Return statements of Hive in their order, and the keys that they touch."""
        statements, touched = [], set[str]()
        for _ in range(count):
            written = self._written(self._rng.choice(_EVENTS), Engine.HIVE)
            self._story.take(written)
            statements.append(written.statement)
            touched |= written.touched
        return tuple(statements), frozenset(touched)

    def _transaction(self) -> Step:
        statements, touched = self._in_transaction(self._rng.randint(2, 4))
        statements = ("START TRANSACTION", *statements, "COMMIT")
        return self._step(StepKind.TRANSACTION, Engine.HIVE, statements, touched)

    def _open(self) -> Step:
        written = self.open_rows = insert(self._story, Engine.HIVE)
        statements = ("START TRANSACTION", written.statement)
        return self._step(StepKind.OPEN, Engine.HIVE, statements, aside=True)

    def end(self) -> Step:
        """Return a step that ends the open transaction."""
        written, self.open_rows = self.open_rows, None
        assert written is not None
        commits = self._rng.random() < 0.6
        if commits:
            self._story.add(written)
        statements = ("COMMIT" if commits else "ROLLBACK",)
        return self._step(StepKind.END, Engine.HIVE, statements, aside=True)

    def _engine(self) -> Engine:
        return self._rng.choice(list(Engine))

    def _step(
        self,
        kind: StepKind,
        by: Engine,
        statements: tuple[str, ...],
        touched: frozenset[str] = frozenset(),
        *,
        failure: Failure | None = None,
        aside: bool = False,
    ) -> Step:
        condition = self._story.condition()
        return Step(
            kind=kind,
            by=by,
            statements=statements,
            rows=self._story.shown(),
            touched=touched,
            probe=condition.text,
            probed=tuple(str(key) for key in sorted(self._story.keys(condition))),
            failure=failure,
            aside=aside,
        )
