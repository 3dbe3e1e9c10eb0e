"""Reading of the events of a table's files, even if some files are damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pyspark.errors import PySparkException

from acidsql import bridge
from acidsql.checking.contents import Contents, ReadFile
from acidsql.checking.problems import Problem, RowId
from acidsql.checking.row_ids import Box
from acidsql.checking.survey import Survey
from acidsql.errors import FormatError, WriteJobError
from acidsql.format.selection import needs_row_filter
from acidsql.session.acid_session import AcidSession

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Files to check together; their index identifies them.

    Attributes:
        session: the session.
        survey: survey that collects the problems.
        contents: contents of the table's files.
        files: files with events.
        bases: write id of the base of each place, 0 without a base.
    """

    session: AcidSession
    survey: Survey
    contents: Contents
    files: Sequence[ReadFile]
    bases: Sequence[int]

    def is_filtered(self, index: int) -> bool:
        """Return whether a file has events that the snapshot does not see."""
        return needs_row_filter(self.files[index].file.directory, self.survey.write_ids)

    def base(self, index: int) -> int:
        """Return the write id of the base of the place of a file."""
        return self.bases[self.files[index].ordinal]

    def add(self, index: int, problem: Problem) -> None:
        """Add a problem of a file."""
        self.survey.add(self.files[index].ordinal, [problem])


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Summary of the events of a file.

    Attributes:
        box: ranges of the row ids, and the number of events.
        wrong: for each key of ``WRONG``, the number of wrong events and the row id of the first.
        ends: row id of the last event of each stripe, if the file has a key index.
    """

    box: Box
    wrong: Mapping[str, tuple[int, RowId]]
    ends: tuple[RowId, ...]


# Possible errors of events, with their descriptions.
WRONG = {
    "operation": "{count} events are of another operation",
    "write_id": "the write ids of {count} events are not those of the directory",
    "property": "{count} events have a bucket property of an unknown version",
    "bucket": "{count} events have a bucket property of another bucket",
    "unsorted": "{count} events are below the event before them",
    "twice": "{count} events have the row id of the event before them",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """Row ids that two files share, or that one file contains more than once.

    Attributes:
        one: index of a file.
        other: index of the other file, or of the same file.
        first: lowest of the row ids.
        number: number of row ids.
    """

    one: int
    other: int
    first: RowId
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutRows:
    """Delete events of a file for rows that no file contains.

    Attributes:
        file: index of the file with the delete events.
        first: lowest row id.
        number: number of events.
    """

    file: int
    first: RowId
    number: int


class EventReader(Protocol):
    """Reader of the events of files, in the driver or with Spark."""

    def summaries(self, indexes: Sequence[int]) -> list[Summary]:
        """Summarise the events of each file."""

    def common(self, indexes: Sequence[int]) -> list[Common]:
        """Find the row ids that occur more than once among the visible events of the files."""

    def without_rows(self, deletes: Sequence[int], inserts: Sequence[int]) -> list[WithoutRows]:
        """Find visible delete events above the base for rows that no file contains.

        Args:
            deletes: files of delete events.
            inserts: files that may contain the rows, in addition to the files without row ids.
        """


def run_readable(
    checked: Checked, indexes: Iterable[int], job: Callable[[Sequence[int]], T]
) -> tuple[T | None, list[int]]:
    """Run a job over files. Report unreadable files, and run the job over the others.

    Returns:
        The result of the job, None without files; and the readable files.
    """
    left = list(indexes)
    while left:
        try:
            with bridge.job_errors():
                return job(left), left
        except (PySparkException, WriteJobError, FormatError) as error:
            damaged = _damaged(checked, left, error, job)
            if not damaged:
                raise
            for index, detail in damaged.items():
                file = checked.files[index].file
                # Hadoop also fails on a checksum mismatch, which was reported before.
                if not checked.survey.has("CHECKSUM_MISMATCH", file.path):
                    checked.add(index, file.problem("FAILED_READ_FILE", detail))
                checked.contents.incomplete.add(checked.files[index].ordinal)
            left = [index for index in left if index not in damaged]
    return None, []


def _damaged(
    checked: Checked,
    indexes: Sequence[int],
    error: Exception,
    job: Callable[[Sequence[int]], object],
) -> dict[int, str]:
    """Return the files that made a job fail, with the message.

    Most error messages of Spark contain the file. Otherwise the job runs over each half of the
    files, recursively.
    """
    message = str(error)
    detail = message.strip().splitlines()[0][:500] if message.strip() else type(error).__name__
    named = {i: detail for i in indexes if checked.files[i].file.path in message}
    if named or len(indexes) == 1:
        return named or {indexes[0]: detail}
    if "cancel" in message.lower():
        return {}
    half = len(indexes) // 2
    damaged: dict[int, str] = {}
    for part in (indexes[:half], indexes[half:]):
        try:
            with bridge.job_errors():
                job(part)
        except (PySparkException, WriteJobError, FormatError) as one:
            damaged |= _damaged(checked, part, one, job)
    return damaged
