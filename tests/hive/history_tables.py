"""Random tables of histories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any

from tests.hive.history_values import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    NULL,
    SIMPLE,
    STRING,
    TIMESTAMP,
    VARCHAR,
    Kind,
    Value,
    literal,
    nested,
)

# As ``tests.hive_values`` shows a row.
Shown = tuple[Any, ...]
KEY = "id"
_NAMES = (
    *("operation", "originaltransaction", "bucket", "rowid", "currenttransaction", "row"),
    *("writeid", "select", "key", "p", "value"),
)
_PARTITION_VALUES = {
    INT.name: ("0", "-7", "2147483647"),
    BIGINT.name: ("9223372036854775807", "1"),
    STRING.name: ("a", "A", "b/c=d", "a %41", "it's", "NULL", "1.50"),
    DATE.name: ("2024-02-29", "0001-01-01", "9999-12-31"),
    VARCHAR.name: ("a", "b c"),
    BOOLEAN.name: ("true", "false"),
    TIMESTAMP.name: ("2024-02-29 01:02:03", "1969-01-01 00:00:00"),
}
_PARTITION_KINDS = (INT, BIGINT, STRING, DATE, VARCHAR, BOOLEAN, TIMESTAMP)


class Engine(Enum):
    """Engine that runs a statement."""

    ACIDSQL = "acidsql"
    HIVE = "Hive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Column of a table.

    Attributes:
        name: current name.
        first_name: name in the source table.
        choices: values of a partition column.
    """

    name: str
    first_name: str
    kind: Kind
    choices: tuple[Value, ...] = ()

    @property
    def quoted(self) -> str:
        """Name in a statement."""
        return f"`{self.name}`"

    @property
    def in_source(self) -> str:
        """Name in the source table."""
        return f"`{self.first_name}`"

    @property
    def definition(self) -> str:
        """Name and type."""
        return f"{self.quoted} {self.kind.name}"

    def value(self, rng: Random) -> Value:
        """Return a random value of the column."""
        return rng.choice(self.choices) if self.choices else self.kind.value(rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """Row of a source table: batch of its statement, operation, key and values."""

    batch: int
    op: int
    key: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Definition with which a table is created; its first column is the key ``id``, an INT.

    Attributes:
        columns: columns after the key, without partition columns.
        later: columns that may be added, in this order.
        by: engine that creates the table.
    """

    columns: tuple[Column, ...]
    later: tuple[Column, ...]
    partitions: tuple[Column, ...]
    bucket_columns: tuple[str, ...]
    buckets: int
    properties: tuple[tuple[str, str], ...]
    by: Engine

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """Columns after the key, in the order of a row."""
        return self.columns + self.partitions

    @property
    def nested(self) -> bool:
        """Return whether there are arrays, maps or structs, or may be later."""
        return not all(c.kind.literals for c in (*self.columns, *self.later))

    def create(self, table: str) -> str:
        """Return the CREATE TABLE statement, for both dialects."""
        columns = ", ".join([f"`{KEY}` INT", *(c.definition for c in self.columns)])
        text = f"CREATE TABLE {table} ({columns})"
        if self.partitions:
            text += f" PARTITIONED BY ({', '.join(c.definition for c in self.partitions)})"
        if self.buckets:
            names = ", ".join(f"`{name}`" for name in self.bucket_columns)
            text += f" CLUSTERED BY ({names}) INTO {self.buckets} BUCKETS"
        pairs = (("transactional", "true"), *self.properties)
        return f"{text} STORED AS ORC TBLPROPERTIES ({', '.join(f'{k!r}={v!r}' for k, v in pairs)})"

    def create_source(self, table: str) -> str:
        """Return the CREATE TABLE statement of a source table."""
        columns = (*self.columns, *self.later, *self.partitions)
        return (
            f"CREATE TABLE {table} (`s_batch` INT, `s_op` INT, `{KEY}` INT, "
            f"{', '.join(c.definition for c in columns)}) "
            "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )

    def named(self, partition: Sequence[str | None]) -> str:
        """Return the text in PARTITION (…) for a partition, without NULL values."""
        pairs = zip(self.partitions, partition, strict=True)
        return ", ".join(f"{c.quoted}={literal(value)}" for c, value in pairs if value is not None)


def random_schema(rng: Random) -> Schema:
    """Return a random schema: partitioned or not, bucketed or not, with columns of any types."""
    names = iter(rng.sample(_NAMES, len(_NAMES)))

    def name(position: int) -> str:
        return next(names) if rng.random() < 0.15 else f"c{position}"

    kinds = [
        nested(rng) if rng.random() < 0.25 else rng.choice(SIMPLE)
        for _ in range(rng.choice((1, 2, 3, 4, 6, 9)))
    ]
    if rng.random() < 0.3:
        kinds.append(kinds[0])
    every = [Column(name=(n := name(i)), first_name=n, kind=kind) for i, kind in enumerate(kinds)]
    later = rng.choice((0, 1, 2)) if len(every) > 2 else 0
    columns, added = tuple(every[: len(every) - later]), tuple(every[len(every) - later :])
    partitions = tuple(
        _partition_column(rng, name(len(every) + i)) for i in range(rng.choice((0, 0, 1, 1, 2)))
    )
    hashed = [KEY, *(c.name for c in columns if c.kind.hashed)]
    bucketed = rng.random() < 0.45
    return Schema(
        columns=columns,
        later=added,
        partitions=partitions,
        bucket_columns=tuple(rng.sample(hashed, min(len(hashed), rng.choice((1, 1, 2)))))
        if bucketed
        else (),
        buckets=rng.choice((1, 2, 3, 5)) if bucketed else 0,
        properties=_properties(rng, bucketed=bucketed),
        by=rng.choice(list(Engine)),
    )


def _partition_column(rng: Random, name: str) -> Column:
    kind = rng.choice(_PARTITION_KINDS)
    texts = _PARTITION_VALUES[kind.name]
    choices = [
        Value(sql=f"CAST({literal(text)} AS {kind.name})", shown=text)
        for text in rng.sample(texts, 2)
    ]
    # Hive shows NULL there as __HIVE_DEFAULT_PARTITION__, and as true.
    if rng.random() < 0.3 and kind not in (STRING, VARCHAR, BOOLEAN):
        choices.append(NULL)
    return Column(name=name, first_name=name, kind=kind, choices=tuple(choices))


def _properties(rng: Random, *, bucketed: bool) -> tuple[tuple[str, str], ...]:
    pairs = []
    if rng.random() < 0.5:
        pairs.append(("orc.compress", rng.choice(("NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD"))))
    if bucketed and rng.random() < 0.3:
        pairs.append(("bucketing_version", "1"))
    return tuple(pairs)
