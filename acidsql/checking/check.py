"""Check of a table, which finds all of its problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from acidsql.checking.buckets import look_into_buckets
from acidsql.checking.committed_files import lost_files
from acidsql.checking.contents import Contents, ReadFile, look_into_files
from acidsql.checking.keys import look_into_keys
from acidsql.checking.layout import level, shared_locations
from acidsql.checking.names import staging_problems
from acidsql.checking.problems import Problem, Severity, by_severity
from acidsql.checking.survey import Survey, take_survey, with_unknown_ids
from acidsql.errors import FormatError
from acidsql.format.names import OWNER_FILE, is_original_file, parse_directory
from acidsql.format.selection import select
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore.model import Partition, Table
from acidsql.session.acid_session import AcidSession
from acidsql.session.table_owner import Ownership, ownership
from acidsql.storage.filesystem import child
from acidsql.storage.listings import Listings
from acidsql.storage.parallel import in_parallel
from acidsql.storage.pyorc_files import count_events, has_pyorc
from acidsql.storage.uploads import dead_uploads

_CODECS = frozenset({"none", "zlib", "snappy", "lz4", "zstd"})  # of pyorc


def find_problems(
    session: AcidSession,
    table: Table,
    txns: ValidTxnList,
    listings: Listings,
    partitions: Sequence[Partition] | None,
    *,
    full: bool,
    known_write_id: int | None = None,
) -> tuple[Problem, ...]:
    """Check a table, or some of its partitions, without changing it.

    The check reads the directories that a statement with this snapshot reads. For other
    directories, it checks only the names.

    Args:
        txns: visible transactions.
        listings: listings of the statement.
        partitions: partitions to check; None checks the whole table.
        full: whether to also read the row ids of all events.
        known_write_id: see ``survey.take_survey``.

    Returns:
        The problems, the most severe first.
    """
    places = partitions
    if places is None and table.partition_columns:
        places = session.metastore.partitions(table.database, table.name)
    survey = take_survey(session, table, txns, listings, places, known_write_id)
    survey.problems += staging_problems(
        table.location, listings.get(table.location).names, survey.known
    )
    survey.problems += _upload_problems(session, table)
    survey.problems += _owner_problems(session, table)
    if places is not None:
        survey.problems += _without_root(survey)
        survey.problems += shared_locations(table, places)
    if partitions is None and places is not None:
        survey.problems += _unregistered(session, survey, places)
    if partitions is None and session.metastore.capabilities.keeps_history:
        history = session.metastore.history(table.database, table.name, None)
        survey.problems += lost_files(survey, history)
    contents = look_into_files(session, survey, full=full)
    if full and not table.insert_only:
        look_into_keys(session, survey, contents)
        look_through_pyorc(session, survey, contents)
        if table.num_buckets and not _has_errors(survey):
            look_into_buckets(session, survey)
    return tuple(sorted(dict.fromkeys(_once(survey.problems)), key=by_severity))


def _upload_problems(session: AcidSession, table: Table) -> list[Problem]:
    """Find uploads to an object store that no process will complete or abort."""
    return [
        Problem(
            name="DEAD_UPLOAD", path=path, detail="its transaction has ended, and its parts stay"
        )
        for path in sorted({u.path for u in dead_uploads(session.files, session.metastore, table)})
    ]


def _has_errors(survey: Survey) -> bool:
    return any(problem.kind.severity is Severity.ERROR for problem in survey.problems)


def _once(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Yield the first problem of each file and kind: tails and rows show the same problems."""
    seen = set()
    for problem in problems:
        key = problem.name, problem.path
        if key not in seen:
            seen.add(key)
            yield problem


def _owner_problems(session: AcidSession, table: Table) -> Iterator[Problem]:
    path = child(table.location, OWNER_FILE)
    owner = ownership(session, table)
    if owner is Ownership.OTHER:
        detail = "it says that the directory is that of another table or metastore"
        yield Problem(name="TABLE_OF_ANOTHER_METASTORE", path=path, detail=detail)
    elif owner is Ownership.DAMAGED:
        yield Problem(name="INVALID_OWNER_FILE", path=path, detail="it cannot be read")


def _without_root(survey: Survey) -> Iterator[Problem]:
    """Report a missing directory of a partitioned table; all partitions may also be missing."""
    location = survey.table.location
    if not survey.listings.get(location).exists:
        detail = "the metastore has it, and there is no such directory"
        yield Problem(name="DIRECTORY_NOT_FOUND", path=location, detail=detail)


def _unregistered(
    session: AcidSession, survey: Survey, places: Sequence[Partition]
) -> Iterator[Problem]:
    """Find directories that contain committed rows, but do not belong to a partition."""
    table, listings = survey.table, survey.listings
    # Partitions may have been added since ``places`` was read; they are queried below.
    known = {partition.location for partition in places}
    directories: tuple[tuple[tuple[str, ...], str], ...] = (((), table.location),)
    for column in table.partition_columns:
        listings.fetch([path for _, path in directories])
        step = level(column.name, [(values, listings.get(path)) for values, path in directories])
        yield from step.problems
        directories = step.deeper
    unknown = [(values, path) for values, path in directories if path not in known]
    listings.fetch([path for _, path in unknown])
    candidates = [(v, path) for v, path in unknown if _has_rows(survey, path)]
    wanted = [values for values, _ in candidates]
    added = session.metastore.partitions(table.database, table.name, wanted) if wanted else ()
    values_added = {partition.values for partition in added}
    for values, path in candidates:
        if values not in values_added:
            yield Problem(
                name="UNREGISTERED_PARTITION",
                path=path,
                detail="it has rows, and the metastore does not know it",
                partition=table.partition_name(values),
            )


def _has_rows(survey: Survey, path: str) -> bool:
    known = survey.known
    names = [
        n for n in survey.listings.get(path).names if parse_directory(n) or is_original_file(n)
    ]
    # Ignore the write ids that a repair itself received: its own rows must not hide older rows.
    before = replace(
        survey.write_ids,
        high_water_mark=min(survey.write_ids.high_water_mark, known.write_id),
        open=frozenset(w for w in survey.write_ids.open if w <= known.write_id),
    )
    seen, txns = with_unknown_ids(before, survey.txns, names, known)
    state = select(names, seen, txns)
    return bool(state.directories or state.originals)


def look_through_pyorc(session: AcidSession, survey: Survey, contents: Contents) -> None:
    """Count the events of each file with pyorc, if installed, and compare with the tail."""
    if not has_pyorc():
        return
    files = [read for read in contents.files if read.file.tail.compression in _CODECS]

    def count(read: ReadFile) -> int | FormatError:
        file = read.file
        try:
            return count_events(session.files, file.path, file.tail.file_length)
        except FormatError as error:
            return error

    for read, events in zip(files, in_parallel(count, files), strict=True):
        if isinstance(events, FormatError):
            # acidsql's reader may already have reported the file.
            if not survey.has("FAILED_READ_FILE", read.file.path):
                survey.add(read.ordinal, [read.file.problem("FAILED_READ_FILE", events.message)])
        elif events != read.file.tail.rows:
            detail = f"pyorc reads {events} events, its tail says {read.file.tail.rows}"
            survey.add(read.ordinal, [read.file.problem("DAMAGED_STRIPES", detail)])
