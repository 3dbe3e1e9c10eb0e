"""Random statements whose effect follows from the rows that they see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tests.concurrency.histories import Change, Effect, RowId, Rows, Values

PARTITIONS = 4
_IDS = 120
_VALUES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Table with the columns ``id`` and ``v``.

    Attributes:
        partitioned: whether ``p``, from 0 to 3, is a partition column.
        buckets: number of buckets of ``id``, 0 for none.
    """

    name: str
    partitioned: bool = False
    buckets: int = 0

    @property
    def columns(self) -> str:
        """Names of the columns."""
        return "id, v, p" if self.partitioned else "id, v"

    def row(self, key: int, value: int, partition: int) -> Values:
        """Return a row, as this table holds it."""
        return key, value, partition if self.partitioned else 0

    def ddl(self) -> list[str]:
        """Return the statements that create it."""
        create = f"CREATE TABLE {self.name} (id INT, v INT)"
        if self.partitioned:
            create += " PARTITIONED BY (p INT)"
        if self.buckets:
            create += f" CLUSTERED BY (id) INTO {self.buckets} BUCKETS"
        create += " STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        names = " ".join(f"PARTITION (p = {p})" for p in range(PARTITIONS))
        return [create, *([f"ALTER TABLE {self.name} ADD {names}"] if self.partitioned else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Some:
    """Condition ``id % modulus = rest``, perhaps of one partition."""

    modulus: int
    rest: int
    partition: int | None = None

    @property
    def sql(self) -> str:
        """Text of the condition."""
        also = "" if self.partition is None else f" AND p = {self.partition}"
        return f"id % {self.modulus} = {self.rest}{also}"

    def __call__(self, row: Values) -> bool:
        """Return whether a row meets it."""
        key, _, partition = row
        return key % self.modulus == self.rest and self.partition in (None, partition)

    def of(self, rows: Rows) -> dict[RowId, Values]:
        """Return the rows that meet it."""
        return {row_id: row for row_id, row in rows.items() if self(row)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """INSERT of some rows."""

    table: Table
    rows: tuple[Values, ...]

    @property
    def sql(self) -> str:
        values = ", ".join(map(_literal(self.table), self.rows))
        return f"INSERT INTO {self.table.name} VALUES {values}"

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:  # noqa: ARG002
        return {self.table.name: Effect(inserted=Counter(self.table.row(*r) for r in self.rows))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """UPDATE of ``v``, and of ``p`` if ``move`` is not 0."""

    table: Table
    where: Some
    add: int
    move: int = 0

    @property
    def sql(self) -> str:
        moved = f", p = (p + {self.move}) % {PARTITIONS}" if self.move else ""
        return (
            f"UPDATE {self.table.name} SET v = (v + {self.add}) % {_VALUES}{moved} "
            f"WHERE {self.where.sql}"
        )

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:
        rows = self.where.of(seen[self.table.name])
        new = [
            (i, (v + self.add) % _VALUES, (p + self.move) % PARTITIONS) for i, v, p in rows.values()
        ]
        return {self.table.name: Effect(deleted=frozenset(rows), inserted=Counter(new))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """DELETE."""

    table: Table
    where: Some

    @property
    def sql(self) -> str:
        return f"DELETE FROM {self.table.name} WHERE {self.where.sql}"

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:
        return {self.table.name: Effect(deleted=frozenset(self.where.of(seen[self.table.name])))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """MERGE of some rows, with three clauses."""

    table: Table
    source: tuple[Values, ...]

    @property
    def sql(self) -> str:
        values = ", ".join(map(str, self.source))
        names = self.table.columns
        return (
            f"MERGE INTO {self.table.name} AS t USING (SELECT * FROM VALUES {values} "
            f"AS s(id, v, p)) AS s ON t.id = s.id WHEN MATCHED AND t.v % 3 = 0 THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET v = (t.v + s.v) % {_VALUES} "
            f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES (s.{names.replace(', ', ', s.')})"
        )

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:
        source = {key: (value, partition) for key, value, partition in self.source}
        matched = {i: row for i, row in seen[self.table.name].items() if row[0] in source}
        old = {row[0] for row in matched.values()}
        new = [(k, (v + source[k][0]) % _VALUES, p) for k, v, p in matched.values() if v % 3 != 0]
        new += [self.table.row(*row) for row in self.source if row[0] not in old]
        return {self.table.name: Effect(deleted=frozenset(matched), inserted=Counter(new))}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeFrom:
    """MERGE of another table's rows, which deletes some of those that are not there."""

    table: Table
    source: Table
    where: Some
    gone: Some

    @property
    def sql(self) -> str:
        partition = f", s.id % {PARTITIONS}" if self.table.partitioned else ""
        return (
            f"MERGE INTO {self.table.name} AS t USING (SELECT id, max(v) AS v FROM "
            f"{self.source.name} WHERE {self.where.sql} GROUP BY id) AS s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED AND s.v % 2 = 0 THEN "
            f"INSERT ({self.table.columns}) VALUES (s.id, s.v{partition}) "
            f"WHEN NOT MATCHED BY SOURCE AND t.{self.gone.sql} THEN DELETE"
        )

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:
        source: dict[int, int] = {}
        for key, value, _ in self.where.of(seen[self.source.name]).values():
            source[key] = max(value, source.get(key, value))
        rows = seen[self.table.name]
        matched = {i: row for i, row in rows.items() if row[0] in source}
        gone = {i for i, row in rows.items() if row[0] not in source and self.gone(row)}
        old = {key for key, _, _ in matched.values()}
        new = [(key, source[key], p) for key, _, p in matched.values()]
        new += [
            self.table.row(key, value, key % PARTITIONS)
            for key, value in source.items()
            if key not in old and value % 2 == 0
        ]
        return {
            self.table.name: Effect(deleted=frozenset({*matched, *gone}), inserted=Counter(new))
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwrite:
    """INSERT OVERWRITE of a table, or one partition, by some of its own rows.

    Where no partition is named, those are replaced that get rows.
    """

    table: Table
    where: Some
    add: int

    @property
    def sql(self) -> str:
        place, columns = "", f"id, (v + {self.add}) % {_VALUES}"
        if self.where.partition is not None:
            place = f" PARTITION (p = {self.where.partition})"
        elif self.table.partitioned:
            columns += ", p"
        return (
            f"INSERT OVERWRITE TABLE {self.table.name}{place} SELECT {columns} "
            f"FROM {self.table.name} WHERE {self.where.sql}"
        )

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:
        rows = self.where.of(seen[self.table.name]).values()
        new = Counter((key, (v + self.add) % _VALUES, p) for key, v, p in rows)
        if self.where.partition is not None:
            replaced = {self.where.partition}
        elif self.table.partitioned:
            replaced = {p for _, _, p in new}
        else:
            replaced = {0}
        return {self.table.name: Effect(inserted=new, replaced=frozenset(replaced))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate:
    """TRUNCATE of a table or one partition."""

    table: Table
    partition: int | None = None

    @property
    def sql(self) -> str:
        place = "" if self.partition is None else f" PARTITION (p = {self.partition})"
        return f"TRUNCATE TABLE {self.table.name}{place}"

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:  # noqa: ARG002
        replaced = range(PARTITIONS) if self.table.partitioned else [0]
        if self.partition is not None:
            replaced = [self.partition]
        return {self.table.name: Effect(replaced=frozenset(replaced))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """INSERT of one table's rows into one or several others, in one transaction."""

    source: Table
    targets: tuple[Table, ...]
    where: Some

    @property
    def sql(self) -> str:
        parts = [
            f"INSERT INTO {t.name} SELECT id, v"
            f"{f', id % {PARTITIONS}' if t.partitioned else ''} WHERE {self.where.sql}"
            for t in self.targets
        ]
        return f"FROM {self.source.name} {' '.join(parts)}"

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:
        rows = self.where.of(seen[self.source.name]).values()
        return {
            t.name: Effect(inserted=Counter(t.row(key, v, key % PARTITIONS) for key, v, _ in rows))
            for t in self.targets
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """UPDATE that fails while Spark computes the new rows, if there are any."""

    table: Table
    where: Some

    @property
    def sql(self) -> str:
        return (
            f"UPDATE {self.table.name} SET v = CAST(concat('x', v) AS INT) WHERE {self.where.sql}"
        )

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:  # noqa: ARG002
        return {self.table.name: Effect()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Compaction, with cleaning."""

    table: Table
    kind: str

    @property
    def sql(self) -> str:
        return f"ALTER TABLE {self.table.name} COMPACT '{self.kind}'"

    def effects(self, seen: Mapping[str, Rows]) -> Mapping[str, Effect]:  # noqa: ARG002
        return {}


FAILURES = frozenset({"CONCURRENT_WRITE", "CAST_INVALID_INPUT"})
"""Conditions with which these statements may fail."""


def random_change(rng: Random, tables: Sequence[Table]) -> Change:
    """Choose a statement that writes."""
    table = rng.choice(tables)
    make = rng.choices(list(_WEIGHTS), weights=list(_WEIGHTS.values()))[0]
    return make(rng, table, tables)


def random_compaction(rng: Random, tables: Sequence[Table]) -> Change:
    """Choose a compaction."""
    return Compact(table=rng.choice(tables), kind=rng.choice(["minor", "major"]))


def _some(rng: Random, table: Table, *moduli: int) -> Some:
    modulus = rng.choice(moduli)
    partition = rng.randrange(PARTITIONS) if table.partitioned and rng.random() < 0.6 else None
    return Some(modulus=modulus, rest=rng.randrange(modulus), partition=partition)


def _rows(rng: Random, count: int) -> tuple[Values, ...]:
    keys = rng.sample(range(_IDS), count)
    return tuple((key, rng.randrange(_VALUES), rng.randrange(PARTITIONS)) for key in keys)


def _literal(table: Table) -> Callable[[Values], str]:
    return str if table.partitioned else lambda row: str(row[:2])


def _insert(rng: Random, table: Table, _: Sequence[Table]) -> Change:
    return Insert(table=table, rows=_rows(rng, rng.randint(4, 24)))


def _update(rng: Random, table: Table, _: Sequence[Table]) -> Change:
    return Update(table=table, where=_some(rng, table, 2, 3, 7, 11), add=rng.randint(1, 9))


def _move(rng: Random, table: Table, _: Sequence[Table]) -> Change:
    move = rng.randint(1, PARTITIONS - 1) if table.partitioned else 0
    return Update(table=table, where=_some(rng, table, 5, 7), add=1, move=move)


def _delete(rng: Random, table: Table, _: Sequence[Table]) -> Change:
    return Delete(table=table, where=_some(rng, table, 2, 3, 5))


def _merge(rng: Random, table: Table, _: Sequence[Table]) -> Change:
    return Merge(table=table, source=_rows(rng, rng.randint(3, 20)))


def _merge_from(rng: Random, table: Table, tables: Sequence[Table]) -> Change:
    source = rng.choice([t for t in tables if t != table])
    where, gone = _some(rng, source, 3, 5), Some(modulus=9, rest=rng.randrange(9))
    return MergeFrom(table=table, source=source, where=where, gone=gone)


def _copy(rng: Random, table: Table, tables: Sequence[Table]) -> Change:
    targets = [t for t in tables if t != table]
    chosen = rng.sample(targets, rng.randint(1, len(targets)))
    return Copy(source=table, targets=tuple(chosen), where=_some(rng, table, 8, 12))


def _overwrite(rng: Random, table: Table, _: Sequence[Table]) -> Change:
    return Overwrite(table=table, where=_some(rng, table, 1, 2), add=rng.randint(1, 9))


def _truncate(rng: Random, table: Table, _: Sequence[Table]) -> Change:
    one = table.partitioned and rng.random() < 0.7
    return Truncate(table=table, partition=rng.randrange(PARTITIONS) if one else None)


def _fail(rng: Random, table: Table, _: Sequence[Table]) -> Change:
    return Fail(table=table, where=_some(rng, table, 3))


_WEIGHTS: dict[Callable[[Random, Table, Sequence[Table]], Change], int] = {
    _insert: 30,
    _update: 25,
    _move: 6,
    _delete: 12,
    _merge: 12,
    _merge_from: 8,
    _copy: 6,
    _overwrite: 5,
    _truncate: 2,
    _fail: 3,
}
