"""Record of a scan: files, rows and deletes that its plan reads, noted while the plan is built.

EXPLAIN and the metrics of a statement show this record, so their numbers agree with the plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.scan.deletes import Deletes
from acidsql.scan.directories import bucket_files
from acidsql.scan.inserts import Inserts
from acidsql.scan.required_rows import ALL_ROWS, RequiredRows
from acidsql.scan.snapshot import TableSnapshot


@dataclass(slots=True, kw_only=True)
class ScanRecord:
    """Record of the data that the plan of a scan reads.

    Attributes:
        snapshot: snapshot that is read.
        required: rows that the statement requires of the snapshot.
        inserts: places of the rows, None for an insert-only table.
        deletes: delete events, None for an insert-only table.
        files: number of files with rows that Spark reads.
        bytes: total size of these files.
        counted_rows: number of rows, if the tails of the files show it and Spark reads no rows.
        known_partitions: number of partitions whose tails show whether they have rows, so that
            Spark does not read them.
        for_pruning: whether the scan runs while the statement is planned, to compute values that
            prune partitions of another table.
        reads_deletes: whether each run of the plan reads the delete events from their files, rather
            than use cached events.
        shows_deleted: whether the plan includes deleted rows.
    """

    snapshot: TableSnapshot
    required: RequiredRows = ALL_ROWS
    inserts: Inserts | None = None
    deletes: Deletes | None = None
    files: int = 0
    bytes: int = 0
    counted_rows: int | None = None
    known_partitions: int = 0
    for_pruning: bool = False
    reads_deletes: bool = False
    shows_deleted: bool = False

    @property
    def table_name(self) -> str:
        """Full name of the table."""
        return self.snapshot.table.full_name

    @property
    def directories(self) -> int:
        """Number of the directories that are read."""
        return sum(len(p.state.directories) for p in self.snapshot.partitions)

    def note(self, inserts: Inserts) -> None:
        """Note that the files in some places are read."""
        listings = [self.snapshot.listings.get(d.path) for d in inserts.directories]
        sizes = [each.files[name].size for each in listings for name in bucket_files(each)]
        sizes += [file.listing.files[file.name].size for file in inserts.originals]
        self.files += len(sizes)
        self.bytes += sum(sizes)
