"""Reading of the events of a table's files, whatever is wrong with some of them."""

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
    """Files whose events are checked together; a file is known by its index.

    Attributes:
        session: the session.
        survey: to which problems are added.
        contents: of the files.
        files: those with events.
        bases: write id of the base of each place, 0 without one.
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
    """Events of a file, all together.

    Attributes:
        box: ranges of their row ids, and their number.
        wrong: number of events with something wrong, and the first one's row id, by a key of
            ``WRONG``.
        ends: row id of the last event of each stripe, if the file has a key index.
    """

    box: Box
    wrong: Mapping[str, tuple[int, RowId]]
    ends: tuple[RowId, ...]


# What may be wrong with events, in words.
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
    """Row ids that two files have in common, or one file more than once.

    Attributes:
        one: index of a file.
        other: index of the other file, or the same.
        first: lowest of the row ids.
        number: of row ids.
    """

    one: int
    other: int
    first: RowId
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutRows:
    """Delete events of a file whose rows are in no file.

    Attributes:
        file: index of the file.
        first: lowest row id.
        number: of events.
    """

    file: int
    first: RowId
    number: int


class EventReader(Protocol):
    """Reader of the events of files, by the driver or by Spark."""

    def summaries(self, indexes: Sequence[int]) -> list[Summary]:
        """Summarise the events of each of some files."""

    def common(self, indexes: Sequence[int]) -> list[Common]:
        """Find the row ids that occur more than once among the visible events of some files."""

    def without_rows(self, deletes: Sequence[int], inserts: Sequence[int]) -> list[WithoutRows]:
        """Find the visible delete events above the base whose rows are in no file.

        Args:
            deletes: files of delete events.
            inserts: files that may have the rows, beside those without row ids.
        """


def run_readable(
    checked: Checked, indexes: Iterable[int], job: Callable[[Sequence[int]], T]
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
        except (PySparkException, WriteJobError, FormatError) as error:
            damaged = _damaged(checked, left, error, job)
            if not damaged:
                raise
            for index, detail in damaged.items():
                file = checked.files[index].file
                # Hadoop reads no file that does not match its checksums, which was found before.
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
        except (PySparkException, WriteJobError, FormatError) as one:
            found |= _damaged(checked, part, one, job)
    return found
