"""Scans of the events of a table's files, whatever is wrong with some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegerType, StructType

from acidsql import bridge
from acidsql.checking.contents import Contents, ReadFile
from acidsql.checking.problems import Problem
from acidsql.checking.survey import Survey
from acidsql.errors import WriteJobError
from acidsql.format.selection import needs_row_filter
from acidsql.scan.original_files import by_file
from acidsql.schema.acid_file import KEYS, event_schema, guarded_columns, padded
from acidsql.session.acid_session import AcidSession

_OPTIONS = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
DELETED_BY = "currentTransaction"
# Columns: index of the file, position of the row in it, ordinal of the place.
FILE, BLOCK, ROW, PLACE = "__file", "__block", "__row", "__place"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Files whose events are checked together; a file is known by its index."""

    session: AcidSession
    survey: Survey
    contents: Contents
    files: Sequence[ReadFile]

    def scan(self, indexes: Sequence[int]) -> DataFrame:
        """Build the scan of some files: the ACID columns, and the index of the file."""
        spark = self.session.spark
        scanned = [self.files[i].listing.scanned(self.files[i].name, i) for i in indexes]
        nothing = StructType([])
        schema = event_schema(padded(nothing), deletes=True)
        relation = bridge.orc_relation(spark, scanned, schema, _OPTIONS)
        self.session.leases.watch(relation.index)
        return (
            relation.rows.guarded(guarded_columns(nothing))
            .frame()
            .select(
                F.expr(bridge.FILE_ORDINAL).alias(FILE),
                F.col("_metadata.file_block_start").alias(BLOCK),
                F.monotonically_increasing_id().alias(ROW),
                "operation",
                *KEYS,
                DELETED_BY,
            )
        )

    def visible(self, indexes: Sequence[int]) -> DataFrame:
        """Build the scan without the events of write ids that the snapshot does not see, with the
        ordinal of the place.
        """
        write_ids = self.survey.write_ids
        hidden = [*write_ids.open, *write_ids.aborted]
        seen = F.col(DELETED_BY) <= write_ids.high_water_mark
        if hidden:
            seen = seen & ~F.col(DELETED_BY).isin(hidden)
        filtered = self.of_file(
            [self.is_filtered(i) for i in range(len(self.files))], BooleanType()
        )
        place = self.of_file([read.ordinal for read in self.files], IntegerType())
        return self.scan(indexes).where(~filtered | seen).withColumn(PLACE, place)

    def is_filtered(self, index: int) -> bool:
        """Return whether a file has events that the snapshot does not see."""
        return needs_row_filter(self.files[index].file.directory, self.survey.write_ids)

    def of_file(self, values: Sequence[object], data_type: Any) -> Column:
        """Build a column with a value for each file."""
        return by_file(values, data_type, F.col(FILE))

    def add(self, index: int, problem: Problem) -> None:
        """Add a problem of a file."""
        self.survey.add(self.files[index].ordinal, [problem])


def run_readable(
    checked: Checked, indexes: Sequence[int], job: Callable[[Sequence[int]], T]
) -> tuple[T | None, list[int]]:
    """Run a job over files; report those that cannot be read, and run it over the others.

    Returns:
        The result of the job, None without files; and the files that could be read.
    """
    left = list(indexes)
    while left:
        try:
            with bridge.job_errors():
                return job(left), left
        except (PySparkException, WriteJobError) as error:
            damaged = _damaged(checked, left, error, job)
            if not damaged:
                raise
            for index, detail in damaged.items():
                checked.add(index, checked.files[index].file.problem("FAILED_READ_FILE", detail))
                checked.contents.incomplete.add(checked.files[index].ordinal)
            left = [index for index in left if index not in damaged]
    return None, []


def _damaged(
    checked: Checked,
    indexes: Sequence[int],
    error: Exception,
    job: Callable[[Sequence[int]], object],
) -> dict[int, str]:
    """Return which files a job failed on, with the message.

    Spark names the file in most failures. Otherwise each half of the files is tried.
    """
    message = str(error)
    detail = message.strip().splitlines()[0][:500] if message.strip() else type(error).__name__
    named = {i: detail for i in indexes if checked.files[i].file.path in message}
    if named or len(indexes) == 1:
        return named or {indexes[0]: detail}
    if "cancel" in message.lower():
        return {}
    half = len(indexes) // 2
    found: dict[int, str] = {}
    for part in (indexes[:half], indexes[half:]):
        try:
            with bridge.job_errors():
                job(part)
        except (PySparkException, WriteJobError) as one:
            found |= _damaged(checked, part, one, job)
    return found
