"""Golden histories: tables that Hive 4.1.0 wrote, with the rows that it read after each statement.

A folder of ``histories`` has ``data`` (the table's directory in the end, from which nothing was
cleaned), ``meta.json`` (as that of a golden table), and ``steps.jsonl``: statement, newest write id
and rows with their row ids. ``python -m tests.hive.record_histories`` records them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.types import DataType

from acidsql.format.names import AcidDirectory, DirectoryKind, parse_directory
from tests.hive_tables import HiveTable, hive_table
from tests.hive_values import Identified, in_order, row_of_hive

HISTORIES = Path(__file__).parent / "histories"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenHistory:
    """Table with the texts of Hive's rows as of each version.

    Attributes:
        table: as it was in the end.
        versions: row ids and rows, by write id.
    """

    table: HiveTable
    versions: Mapping[int, Sequence[tuple[tuple[int, int, int], Sequence[str | None]]]]

    @property
    def data(self) -> Path:
        """Directory of the table."""
        return HISTORIES / self.table.name / "data"

    @property
    def newest_base(self) -> int:
        """Write id of the newest base of all partitions; 0 if there is none."""
        return max((base.max_write_id for base in self._bases()), default=0)

    @property
    def oldest_with_changes(self) -> int:
        """Oldest version after which changes can be read: compactions of Hive are in no history, so
        that a base may have been rebalanced.
        """
        return max((b.max_write_id for b in self._bases() if b.visibility_txn_id), default=0)

    def _bases(self) -> Iterator[AcidDirectory]:
        for path in self.data.rglob("base_*"):
            found = parse_directory(path.name)
            if found is not None and found.kind is DirectoryKind.BASE:
                yield found

    def rows(self, version: int, types: Sequence[DataType]) -> list[Identified]:
        """Return the rows as of a version with their row ids, sorted by these."""
        return in_order((key, row_of_hive(row, types)) for key, row in self.versions[version])


def _read(described: Path) -> GoldenHistory:
    directory, meta = described.parent, json.loads(described.read_text())
    versions = {}
    for line in (directory / "steps.jsonl").read_text().splitlines():
        step = json.loads(line)
        # A compaction has no write id, and changes no row; only the last step of one counts.
        found = [((*row["row__id"],), row["row"]) for row in step["rows"]]
        versions[step["write_id"]] = found
    return GoldenHistory(table=hive_table(directory.name, meta, "ORC"), versions=versions)


GOLDEN_HISTORIES = tuple(map(_read, sorted(HISTORIES.glob("*/meta.json"))))
