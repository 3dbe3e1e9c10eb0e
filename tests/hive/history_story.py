"""State of a table while its history is generated, and conditions on its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.hive.history_tables import KEY, Column, Engine, Schema, Shown, SourceRow
from tests.hive.history_values import NULL, Value

Values = tuple[Value, ...]
Rows = dict[int, Values]
# Types whose equality is that of their texts, in both engines.
_COMPARED = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "STRING", "DATE", "TIMESTAMP")
# What becomes of a source row in MERGE.
INSERTED, DELETED, LEFT = 0, 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Condition in both dialects, with a function that evaluates it for a row."""

    text: str
    holds: Callable[[int, Values], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Statement, and the table after it.

    Attributes:
        rows: rows of the table.
        touched: keys of the rows that were changed.
        schema: new schema of the table, or None.
    """

    statement: str
    rows: Rows
    touched: frozenset[str] = frozenset()
    schema: Schema | None = None


@dataclass(slots=True, kw_only=True)
class Story:
    """State of a table while its history is generated.

    Attributes:
        rows: rows by key.
        partitions: partitions that have had rows, as the texts of their values.
        source: rows that statements take from the source table.
    """

    rng: Random
    table: str
    source_table: str
    schema: Schema
    rows: Rows = field(default_factory=dict)
    partitions: list[tuple[str | None, ...]] = field(default_factory=list)
    source: list[SourceRow] = field(default_factory=list)
    last_key: int = 0
    batches: int = 0

    def take(self, written: Written) -> None:
        """Go on from a statement that committed."""
        self.rows = dict(written.rows)
        self.schema = written.schema or self.schema
        self._note_partitions()

    def add(self, written: Written) -> None:
        """Go on from an INSERT that committed late, among what came after it."""
        new = {k: v for k, v in written.rows.items() if str(k) in written.touched}
        self.rows = {**self.rows, **new}
        self._note_partitions()

    def _note_partitions(self) -> None:
        count = len(self.schema.partitions)
        for values in self.rows.values():
            partition = tuple(value.shown for value in values[len(values) - count :])
            if count and partition not in self.partitions:
                self.partitions.append(partition)

    def shown(self) -> tuple[Shown, ...]:
        """Return the rows in the order of their keys."""
        return tuple(
            (str(key), *(v.shown for v in values)) for key, values in sorted(self.rows.items())
        )

    def keys(self, condition: Condition) -> list[int]:
        """Return the keys of the rows for which a condition is true."""
        return [key for key, values in self.rows.items() if condition.holds(key, values)]

    def condition(self, by: Engine | None = None) -> Condition:
        """Return a random condition that is true of some rows, sometimes of none or of all.

        Args:
            by: the engine that changes those rows, or None.
        """
        conditions = [_key_condition(self), _key_condition(self)]
        # Hive's optimizer fails (NullPointerException in HiveRelMdSize) where it finds that a
        # condition on a partition column is never true and the table has a nested column.
        columns = () if by is Engine.HIVE and self.schema.nested else self.schema.all_columns
        conditions += [c for i, column in enumerate(columns) if (c := _of(self, i, column))]
        first, second = self.rng.choice(conditions), self.rng.choice(conditions)
        how = self.rng.choice(("", "", "", "AND", "OR"))
        if not how or first is second:
            return first
        both = {"AND": all, "OR": any}[how]
        return Condition(
            text=f"({first.text}) {how} ({second.text})",
            holds=lambda key, values: both((first.holds(key, values), second.holds(key, values))),
        )

    def new_keys(self, count: int) -> list[int]:
        """Return keys that no row has had."""
        self.last_key += count
        return list(range(self.last_key - count + 1, self.last_key + 1))

    def new_values(self) -> Values:
        """Return random values of a row."""
        return tuple(column.value(self.rng) for column in self.schema.all_columns)

    def batch(self, rows: Rows, ops: Sequence[int] | None = None) -> int:
        """Put rows into the source table; the number of their batch."""
        self.batches += 1
        count, later = len(self.schema.columns), (NULL,) * len(self.schema.later)
        self.source += [
            SourceRow(
                batch=self.batches,
                op=op,
                key=key,
                values=(*values[:count], *later, *values[count:]),
            )
            for op, (key, values) in zip(ops or [INSERTED] * len(rows), rows.items(), strict=True)
        ]
        return self.batches

    def settable(self, by: Engine) -> list[int]:
        """Return the positions of the columns that an UPDATE may set: Hive's moves no rows."""
        columns = self.schema.columns if by is Engine.HIVE else self.schema.all_columns
        fixed = self.schema.bucket_columns if by is Engine.HIVE else ()
        return [i for i, column in enumerate(columns) if column.name not in fixed]


def _key_condition(story: Story) -> Condition:
    rng = story.rng
    keys = sorted(story.rows) or [0]
    if rng.random() < 0.4:
        some = frozenset([*rng.sample(keys, min(len(keys), rng.randint(1, 3))), story.last_key + 1])
        listed = ", ".join(map(str, sorted(some)))
        return Condition(text=f"{KEY} IN ({listed})", holds=lambda key, _: key in some)
    if rng.random() < 0.5:
        modulus, rest = rng.randint(1, 4), rng.randint(0, 1)
        return Condition(
            text=f"{KEY} % {modulus} = {rest}", holds=lambda key, _: key % modulus == rest
        )
    low = rng.choice(keys)
    high = low + rng.randint(0, 4)
    return Condition(
        text=f"{KEY} BETWEEN {low} AND {high}", holds=lambda key, _: low <= key <= high
    )


def _of(story: Story, position: int, column: Column) -> Condition | None:
    """Return a condition on a column: NULL or not, or the value of one row."""
    if story.rng.random() < 0.4 or column.kind.name not in _COMPARED or not story.rows:
        if story.rng.random() < 0.5:
            return Condition(
                text=f"{column.quoted} IS NULL",
                holds=lambda _, values: values[position].shown is None,
            )
        return Condition(
            text=f"{column.quoted} IS NOT NULL",
            holds=lambda _, values: values[position].shown is not None,
        )
    wanted = story.rng.choice(list(story.rows.values()))[position]
    if wanted.shown is None:
        return None
    return Condition(
        text=f"{column.quoted} = {wanted.sql}",
        holds=lambda _, values: values[position].shown == wanted.shown,
    )
