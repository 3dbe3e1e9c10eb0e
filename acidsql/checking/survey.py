"""Survey of a table: lists each directory and finds problems with the names."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from acidsql.checking import names as of_names
from acidsql.checking.names import KnownIds
from acidsql.checking.problems import Problem
from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.format.names import (
    METADATA_FILE,
    AcidDirectory,
    DirectoryKind,
    parse_directory,
)
from acidsql.format.selection import AcidState, max_write_id, select
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import Partition, Table, TxnState
from acidsql.scan.directories import is_raw
from acidsql.scan.snapshot import with_nested_originals
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import Listing, child
from acidsql.storage.listings import Listings
from acidsql.storage.parallel import in_parallel

_DATA_FORMATS = ("compacted", "truncated", "dropped")


class CheckedPartition(NamedTuple):
    """Partition to check; a table without partitions is one place without name and values."""

    partition: Partition
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenDirectory:
    """Directory that the snapshot reads.

    Attributes:
        ordinal: index of its place in the survey.
        directory: the parsed name.
        listing: listing of its files.
        is_raw: whether its files have no row ids; None if this is unknown.
    """

    ordinal: int
    directory: AcidDirectory
    listing: Listing
    is_raw: bool | None


@dataclass(slots=True, kw_only=True)
class Survey:
    """Directories and files of a table, and the problems of the table.

    Attributes:
        table: definition of the table.
        places: partitions to check.
        txns: visible transactions.
        write_ids: visible write ids.
        listings: listings of the statement.
        known: ids of the metastore.
        states: for each place, the directories that the snapshot reads; None if this fails.
        directories: the selected directories.
        originals: for each place, the listings and names of its original files.
        problems: problems found so far.
    """

    table: Table
    places: Sequence[CheckedPartition]
    txns: ValidTxnList
    write_ids: ValidWriteIdList
    listings: Listings
    known: KnownIds
    states: list[AcidState | None] = field(default_factory=list)
    directories: list[SeenDirectory] = field(default_factory=list)
    originals: list[list[tuple[Listing, str]]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, ordinal: int, problems: Iterable[Problem]) -> None:
        """Add problems of a place."""
        name = self.places[ordinal].name
        self.problems += (replace(problem, partition=name) for problem in problems)

    def has(self, problem: str, path: str) -> bool:
        """Return whether a file or directory has a problem with this name."""
        return any((each.name, each.path) == (problem, path) for each in self.problems)


def take_survey(
    session: AcidSession,
    table: Table,
    txns: ValidTxnList,
    listings: Listings,
    partitions: Sequence[Partition] | None,
    known_write_id: int | None = None,
) -> Survey:
    """List a table and find problems with its names.

    Args:
        txns: visible transactions.
        listings: listings of the statement.
        partitions: partitions to check; None for a table without partitions.
        known_write_id: highest write id that the metastore had issued before the statement received
            its own; None queries the metastore.
    """
    places = [CheckedPartition(Partition(values=(), location=table.location), None)]
    if partitions is not None:
        places = [CheckedPartition(p, table.partition_name(p.values)) for p in partitions]
    if listings.txn_id is not None:
        txns = session.metastore.hold_back_cleaner(
            listings.txn_id, table.database, table.name, txns
        )
    listings.fetch([table.location, *(place.partition.location for place in places)])
    names = [_names(session, listings, place.partition.location) for place in places]
    # Query the ids after the listing, so that no later statement wrote a directory above them.
    known = _known_ids(session, table, known_write_id)
    seen = session.metastore.valid_write_ids(table.database, table.name, txns)
    if not session.metastore.capabilities.is_id_authority:
        every_name = [name for names_of_place in names for name in names_of_place]
        seen, txns = with_unknown_ids(seen, txns, every_name, known)
    survey = Survey(
        table=table, places=places, txns=txns, write_ids=seen, listings=listings, known=known
    )
    formats = _base_formats(session, survey, names)
    for ordinal, names_of_place in enumerate(names):
        survey.states.append(_state(session, survey, ordinal, names_of_place, formats))
        survey.originals.append(_originals(survey, ordinal))
    _look_into_directories(session, survey)
    return survey


def _names(session: AcidSession, listings: Listings, location: str) -> Sequence[str]:
    return with_nested_originals(session.files, listings, location)


def _known_ids(session: AcidSession, table: Table, write_id: int | None) -> KnownIds:
    metastore, name = session.metastore, (table.database, table.name)
    open_txns = (t.txn_id for t in metastore.open_txns() if t.state is TxnState.OPEN)
    asked_before = write_id is not None
    if write_id is None:
        write_id = metastore.next_write_id(*name) - 1
    return KnownIds(
        write_id=write_id,
        txn_id=metastore.valid_txns().high_water_mark,
        given=metastore.write_ids_after(*name, write_id) if asked_before else frozenset(),
        open_txns=frozenset(open_txns),
    )


def with_unknown_ids(
    write_ids: ValidWriteIdList, txns: ValidTxnList, names: Sequence[str], known: KnownIds
) -> tuple[ValidWriteIdList, ValidTxnList]:
    """Add the ids that the metastore does not know, like the next statement does.

    These ids count as committed (``keep_write_ids_ahead``). Ids that other transactions received
    after the snapshot stay invisible.
    """
    highest = max_write_id(names)
    if highest > max(known.write_id, write_ids.high_water_mark):
        later = range(write_ids.high_water_mark + 1, known.write_id + 1)
        write_ids = replace(
            write_ids, high_water_mark=highest, open=write_ids.open | frozenset(later)
        )
    newest = max((d.visibility_txn_id for d in map(parse_directory, names) if d), default=0)
    if newest > known.txn_id:
        later = range(txns.high_water_mark + 1, known.txn_id + 1)
        txns = replace(txns, high_water_mark=newest, open=txns.open | frozenset(later))
    return write_ids, txns


def _base_formats(
    session: AcidSession, survey: Survey, names: Sequence[Sequence[str]]
) -> Mapping[int, Mapping[str, str]]:
    """Read ``dataFormat`` of the bases that Hive 4's compactor did not write.

    Returns:
        The formats, by the ordinal of the place and the name of the base.
    """
    bases = [
        (ordinal, directory, child(survey.places[ordinal].partition.location, directory.name))
        for ordinal, names_of_place in enumerate(names)
        for directory in filter(None, map(parse_directory, names_of_place))
        if directory.kind is DirectoryKind.BASE and not directory.visibility_txn_id
    ]
    survey.listings.fetch([path for _, _, path in bases])

    def read(base: tuple[int, AcidDirectory, str]) -> str | None:
        _, directory, path = base
        listing = survey.listings.get(path)
        if not of_names.has_metadata(listing, directory):
            return None
        try:
            return str(json.loads(session.files.read(child(path, METADATA_FILE)))["dataFormat"])
        except (ValueError, KeyError, TypeError):
            # A base without files is an incomplete TRUNCATE, which no reader sees.
            is_seen = survey.write_ids.is_valid(directory.max_write_id)
            return "" if is_seen or len(listing.names) > 1 else None

    formats: dict[int, dict[str, str]] = defaultdict(dict)
    for (ordinal, directory, path), data_format in zip(
        bases, in_parallel(read, bases), strict=True
    ):
        if data_format in _DATA_FORMATS:
            formats[ordinal][directory.name] = str(data_format)
        elif data_format is not None:
            detail = f"{METADATA_FILE} is damaged, or has the unknown data format {data_format!r}"
            problem = Problem(name="INVALID_BASE_METADATA", path=path, detail=detail)
            survey.add(ordinal, [problem])
    return formats


def _state(
    session: AcidSession,
    survey: Survey,
    ordinal: int,
    names: Sequence[str],
    formats: Mapping[int, Mapping[str, str]],
) -> AcidState | None:
    """Select the directories of a place, without the names that no reader accepts."""
    place = survey.places[ordinal]
    location = place.partition.location
    listing = survey.listings.get(location)
    if not listing.exists:
        survey.add(ordinal, _missing(session, survey.table, place))
        return None
    insert_only = survey.table.insert_only
    problems = of_names.directory_problems(location, names, survey.known, insert_only=insert_only)
    survey.add(ordinal, problems)
    stray = frozenset(of_names.strays(names))
    clean = [name for name in names if name not in stray]
    try:
        state = select(clean, survey.write_ids, survey.txns, formats.get(ordinal))
    except AcidAnalysisError:
        # The snapshot sees no base. An id above the metastore's ids explains this.
        if any(p.name.endswith("_ABOVE_METASTORE") for p in survey.problems):
            return None
        raise
    survey.add(ordinal, of_names.state_problems(location, names, state))
    rules = _rules(survey.table)
    survey.add(ordinal, of_names.original_problems(location, state.originals, rules))
    forgotten = of_names.forgotten_problems(listing, state, insert_only=insert_only)
    survey.add(ordinal, forgotten)
    return state


def _missing(session: AcidSession, table: Table, place: CheckedPartition) -> Iterator[Problem]:
    """Report a missing directory, unless its partition was dropped in the meantime."""
    values = place.partition.values
    if values and not session.metastore.partitions(table.database, table.name, [values]):
        return
    yield Problem(
        name="DIRECTORY_NOT_FOUND",
        path=place.partition.location,
        detail="the metastore has it, and there is no such directory",
    )


def _rules(table: Table) -> of_names.FileRules:
    return of_names.FileRules(buckets=table.num_buckets, insert_only=table.insert_only)


def _originals(survey: Survey, ordinal: int) -> list[tuple[Listing, str]]:
    """Return the listing and the name of each original file of a place, in path order."""
    state = survey.states[ordinal]
    location = survey.places[ordinal].partition.location
    originals = []
    for path in state.originals if state else ():
        place, _, name = child(location, path).rpartition("/")
        originals.append((survey.listings.get(place), name))
    return originals


def _look_into_directories(session: AcidSession, survey: Survey) -> None:
    """List the selected directories, and find problems with the names of their files."""
    selected = [
        (ordinal, d, child(survey.places[ordinal].partition.location, d.name))
        for ordinal, state in enumerate(survey.states)
        for d in (state.directories if state else ())
    ]
    survey.listings.fetch([path for _, _, path in selected])
    insert_only = survey.table.insert_only

    def raw(one: tuple[int, AcidDirectory, str]) -> bool | None:
        try:
            return not insert_only and is_raw(session, survey.listings.get(one[2]), one[1])
        except FormatError:  # its first file cannot be read, which is a separate problem
            return None

    raw_flags = in_parallel(raw, selected)
    for (ordinal, directory, path), raw_flag in zip(selected, raw_flags, strict=True):
        listing = survey.listings.get(path)
        problems = of_names.file_problems(
            directory, listing, _rules(survey.table), is_raw=bool(raw_flag)
        )
        survey.add(ordinal, problems)
        survey.directories.append(
            SeenDirectory(ordinal=ordinal, directory=directory, listing=listing, is_raw=raw_flag)
        )
