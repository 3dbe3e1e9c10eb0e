"""Record of a scan: what its plan reads, and how, noted while the plan is built.

EXPLAIN and the metrics of a statement show it, so their numbers are those of the plan.
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
    """Record of what the plan of a scan reads, and how.

    Attributes:
        snapshot: that is read.
        required: rows that the statement requires of it.
        inserts: places of the rows, None of an insert-only table.
        deletes: delete events, None of an insert-only table.
        files: number of files with rows that Spark reads.
        bytes: their size.
        counted_rows: number of rows, if the tails of the files show it and Spark reads none.
        known_partitions: number of partitions whose tails show whether they have rows, so that
            Spark does not read them.
        for_pruning: whether it is run while the statement is planned, for values that prune
            partitions of another table.
        reads_deletes: whether the plan reads the delete events from their files each time that it
            runs, and none that were kept.
        shows_deleted: whether the plan has the deleted rows too.
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
        sizes = [own.files[name].size for own in listings for name in bucket_files(own)]
        sizes += [file.listing.files[file.name].size for file in inserts.originals]
        self.files += len(sizes)
        self.bytes += sum(sizes)
