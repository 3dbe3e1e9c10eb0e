"""Random histories of a table: its changes between two versions make the later of the earlier
one.
"""

from __future__ import annotations

import random
from collections import Counter
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from tests.seeds import seeds

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = [pytest.mark.spark, pytest.mark.repeated]

Row = tuple[int, int, int]
_STEPS = 9
_IDS = range(1, 7)


class History:
    """Table with its rows after each write id; an id is that of one row."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab, self.chosen = lab, random.Random(seed)
        self.table = lab.create(
            "id int, v int", partitioned="p int", properties={"acidsql.history.retention": "1d"}
        )
        self.rows: dict[int, Row] = {}
        self.versions: list[frozenset[Row]] = [frozenset()]
        self.updated: set[int] = set()

    def step(self) -> None:
        """Do something to the table."""
        steps = [self.insert, self.insert, self.update, self.update, self.delete, self.merge]
        self.chosen.choice([*steps, self.overwrite, self.compact])()

    def _write(self, text: str) -> None:
        self.lab.sql(text)
        self.versions.append(frozenset(self.rows.values()))

    def insert(self) -> None:
        """Insert rows of new ids."""
        new = [i for i in _IDS if i not in self.rows]
        if not new:
            return
        for i in self.chosen.sample(new, min(2, len(new))):
            self.rows[i] = i, self.chosen.randrange(9), i % 2
        values = ", ".join(map(str, [self.rows[i] for i in new if i in self.rows]))
        self._write(f"INSERT INTO {self.table} VALUES {values}")

    def update(self) -> None:
        """Update rows; some go to the other partition."""
        bound, moves = self.chosen.choice([2, 4, 7]), self.chosen.random() < 0.3
        if not any(i < bound for i in self.rows):
            return
        for i, (_, v, p) in self.rows.items():
            if i < bound:
                self.rows[i] = i, v + 10, 1 - p if moves else p
        self.updated.add(len(self.versions))
        move = ", p = 1 - p" if moves else ""
        self._write(f"UPDATE {self.table} SET v = v + 10{move} WHERE id < {bound}")

    def delete(self) -> None:
        """Delete a row."""
        if self.rows:
            gone = self.chosen.choice(sorted(self.rows))
            del self.rows[gone]
            self._write(f"DELETE FROM {self.table} WHERE id = {gone}")

    def merge(self) -> None:
        """Update a row and insert it if it is not there; delete another one."""
        one, other = self.chosen.sample(_IDS, 2)
        p = self.rows[one][2] if one in self.rows else 0
        if other not in self.rows and one not in self.rows:
            return
        if one in self.rows and other not in self.rows:
            self.updated.add(len(self.versions))
        self.rows[one] = one, 77, p
        self.rows.pop(other, None)
        self._write(
            f"MERGE INTO {self.table} AS t USING (SELECT {one} AS i UNION ALL SELECT {other}) AS s"
            f" ON t.id = s.i WHEN MATCHED AND s.i = {other} THEN DELETE"
            " WHEN MATCHED THEN UPDATE SET v = 77"
            f" WHEN NOT MATCHED AND s.i = {one} THEN INSERT (id, v, p) VALUES (s.i, 77, 0)"
        )

    def overwrite(self) -> None:
        """Replace the rows of a partition."""
        p = self.chosen.randrange(2)
        new = [i for i in _IDS if i not in self.rows or self.rows[i][2] == p][:1]
        if not new:
            return
        self.rows = {i: row for i, row in self.rows.items() if row[2] != p}
        self.rows[new[0]] = new[0], 5, p
        self._write(f"INSERT OVERWRITE {self.table} PARTITION (p = {p}) VALUES ({new[0]}, 5)")

    def compact(self) -> None:
        """Compact the partitions."""
        kind = self.chosen.choice(["minor", "major"])
        for partition in self.lab.sql(f"SHOW PARTITIONS {self.table}"):
            self.lab.compact(self.table, kind, str(partition[0]))

    def check(self, first: int, last: int, *, net: bool) -> None:
        """Compare changes with the versions before and after them."""
        arguments = f"'{self.table}', {first}, {last}" + (", net => true" if net else "")
        changes = self.lab.sql(
            f"SELECT id, v, p, _change_type, _commit_version FROM table_changes({arguments})"
        )
        self._check_source(first, last, changes, net=net)
        expected: Counter[tuple[Row, bool, int]] = Counter()
        found = Counter(
            (row[:3], row[3] in ("insert", "update_postimage"), row[4]) for row in changes
        )
        for version in range(first, last + 1):
            old, new = self.versions[version - 1], self.versions[version]
            expected.update((row, False, version) for row in old - new)
            expected.update((row, True, version) for row in new - old)
        balance: Counter[Row] = Counter(self.versions[first - 1])
        for (row, is_new, _), count in found.items():
            balance[row] += count if is_new else -count
        assert +balance == Counter(self.versions[last]), arguments
        assert not -balance, arguments
        if net:
            assert all(count == 1 for count in found.values()), arguments
            return
        # Unchanged rows of an UPDATE or INSERT OVERWRITE may be reported as deleted and inserted.
        assert not expected - found, arguments
        for row in changes:
            is_update = row[3].startswith("update_")
            assert is_update == (row[4] in self.updated), (arguments, row)

    def _check_source(
        self, first: int, last: int, changes: list[tuple[Any, ...]], *, net: bool
    ) -> None:
        """Compare changes with those of the data source, which reads without Spark."""
        if find_spec("pyspark.sql.datasource") is None:
            return
        # Imported here because PySpark 3.5 has no such sources.
        from tests.product.data_source_changes import told_by_source  # noqa: PLC0415

        told = told_by_source(
            self.lab,
            self.table,
            startingVersion=str(first),
            endingVersion=str(last),
            deduplicationMode="netChanges" if net else "none",
            columns="id, v, p, _change_type, _commit_version",
        )
        assert told == sorted(changes, key=repr), (first, last, net)


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_changes_make_the_later_version_of_the_earlier_one(lab: Lab, seed: int) -> None:
    history = History(lab, seed)
    while len(history.versions) <= _STEPS:
        history.step()
    for _ in range(4):
        first, last = sorted(history.chosen.choices(range(1, _STEPS + 1), k=2))
        history.check(first, last, net=False)
        history.check(first, last, net=True)
