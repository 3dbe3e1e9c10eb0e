"""Random transactions of several statements against a model in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import acidsql
from tests.seeds import seeds

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = [pytest.mark.spark, pytest.mark.repeated]

# id, v, p
Row = tuple[int, int, int]
# Columns, partition columns and buckets.
_LAYOUTS = (
    ("id INT, v INT, p INT", "", ""),
    ("id INT, v INT", "p INT", ""),
    ("id INT, v INT, p INT", "", "(id) INTO 3 BUCKETS"),
)


@dataclass
class Model:
    """Rows of a table, and random statements that change them."""

    random: Random
    rows: list[Row] = field(default_factory=list)

    def statement(self, table: str) -> str:
        """Return a random statement, and change the rows as it does."""
        kinds = (self._insert, self._update, self._delete, self._merge, self._copy)
        return self.random.choice(kinds)(table)

    def _condition(self) -> tuple[str, int, int]:
        modulus, rest = self.random.randint(1, 4), self.random.randint(0, 3)
        return f"id % {modulus} = {rest}", modulus, rest

    def _insert(self, table: str) -> str:
        number = self.random.choice([1, 3, 250])
        added = [
            (self.random.randint(0, 40), self.random.randint(0, 9), self.random.randint(0, 2))
            for _ in range(number)
        ]
        self.rows += added
        return f"INSERT INTO {table} VALUES {', '.join(map(str, added))}"

    def _update(self, table: str) -> str:
        text, modulus, rest = self._condition()
        self.rows = [(i, v + 1, p) if i % modulus == rest else (i, v, p) for i, v, p in self.rows]
        return f"UPDATE {table} SET v = v + 1 WHERE {text}"

    def _delete(self, table: str) -> str:
        text, modulus, rest = self._condition()
        self.rows = [row for row in self.rows if row[0] % modulus != rest]
        return f"DELETE FROM {table} WHERE {text}"

    def _merge(self, table: str) -> str:
        source = self.random.sample(range(45), self.random.randint(1, 12))
        kept = []
        for i, v, p in self.rows:
            if i not in source:
                kept.append((i, v, p))
            elif i % 3:
                kept.append((i, v + 100, p))
        known = {row[0] for row in self.rows}
        self.rows = kept + [(i, 7, i % 3) for i in source if i not in known]
        values = ", ".join(f"({i})" for i in source)
        return (
            f"MERGE INTO {table} AS t USING (SELECT * FROM VALUES {values} AS s (k)) s "
            "ON t.id = s.k WHEN MATCHED AND t.id % 3 = 0 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET v = t.v + 100 "
            "WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.k, 7, s.k % 3)"
        )

    def _copy(self, table: str) -> str:
        text, modulus, rest = self._condition()
        copied = [(i + 50, v, p) for i, v, p in self.rows if i % modulus == rest]
        self.rows += copied if len(self.rows) < 2_000 else []
        if len(self.rows) >= 2_000:
            return f"DELETE FROM {table} WHERE id < 0"
        return f"INSERT INTO {table} (id, v, p) SELECT id + 50, v, p FROM {table} WHERE {text}"


@pytest.mark.parametrize("seed", seeds(1, 5))
def test_transactions_are_those_of_the_model(lab: Lab, other: Lab, seed: int) -> None:
    random = Random(seed)
    tables = []
    for columns, partitioned, clustered in random.sample(_LAYOUTS, 2):
        tables.append(lab.create(columns, partitioned=partitioned, clustered=clustered))
    committed: dict[str, list[Row]] = {table: [] for table in tables}
    for _ in range(3):
        models = {table: Model(random, list(committed[table])) for table in tables}
        lab.sql("START TRANSACTION")
        for _ in range(random.randint(1, 7)):
            table = random.choice(tables)
            if random.random() < 0.2 and models[table].rows:
                with pytest.raises(PySparkException, match="broken"):
                    lab.sql(f"UPDATE {table} SET v = CAST(raise_error('broken') AS INT)")
            else:
                text = models[table].statement(table)
                lab.sql(text)
            assert _rows(lab, table) == sorted(models[table].rows)
        for table in tables:
            assert _rows(other, table) == sorted(committed[table])
        if random.random() < 0.7:
            lab.sql("COMMIT")
            committed = {table: model.rows for table, model in models.items()}
        else:
            lab.sql("ROLLBACK")
        for table in tables:
            assert _rows(lab, table) == _rows(other, table) == sorted(committed[table])
            ids = lab.sql(f"SELECT p, row__id FROM {table}")
            assert len(set(ids)) == len(ids)
            assert acidsql.check(lab.spark, table, full=True).collect() == []
            own = [e for f in lab.files(table).values() for e in f.events if e[0] == 2]
            assert all(event[1] < event[4] for event in own)
        if random.random() < 0.5:
            table = random.choice(tables)
            acidsql.release(lab.spark)
            acidsql.release(other.spark)
            lab.sql(f"ALTER TABLE {table} COMPACT '{random.choice(['minor', 'major'])}'")
            assert _rows(lab, table) == sorted(committed[table])
    assert not [name for table in tables for name in lab.tree(table) if "staging" in name]


def _rows(lab: Lab, table: str) -> list[Row]:
    return sorted(lab.sql(f"SELECT id, v, p FROM {table}"))
