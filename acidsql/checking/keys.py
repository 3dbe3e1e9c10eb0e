"""Check of the row ids of all events of a table: order, ranges and uniqueness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acidsql.checking.contents import Contents, ReadFile, same_row_ids
from acidsql.checking.driver_events import DriverEvents
from acidsql.checking.problems import Problem, RowId
from acidsql.checking.reading import WRONG, Checked, EventReader, Summary, run_readable
from acidsql.checking.row_ids import Box, covered, meeting
from acidsql.checking.spark_events import SparkEvents
from acidsql.checking.survey import Survey
from acidsql.errors import FormatError
from acidsql.format.acid_metadata import KEY_INDEX, parse_key_index
from acidsql.format.names import DirectoryKind
from acidsql.limits import limits
from acidsql.session.acid_session import AcidSession


def look_into_keys(session: AcidSession, survey: Survey, contents: Contents) -> None:
    """Read the row ids of all events, and find problems.

    The driver reads few events. Spark reads many events.
    """
    files = [read for read in contents.files if read.file.tail.rows]
    bases = [0] * len(survey.places)
    for seen in survey.directories:
        if seen.directory.kind is DirectoryKind.BASE:
            bases[seen.ordinal] = max(0, seen.directory.max_write_id)
    checked = Checked(session=session, survey=survey, contents=contents, files=files, bases=bases)
    is_small = sum(read.file.tail.rows for read in files) <= limits().checked_events
    reader: EventReader = DriverEvents(checked) if is_small else SparkEvents(checked)
    read_summaries, _ = run_readable(checked, range(len(files)), reader.summaries)
    summaries = {summary.box.file: summary for summary in read_summaries or ()}
    for index, summary in summaries.items():
        for problem in _summary_problems(files[index], summary):
            checked.add(index, problem)
        if "operation" in summary.wrong:
            contents.incomplete.add(files[index].ordinal)
    known = {i: summary for i, summary in summaries.items() if "operation" not in summary.wrong}
    inserts = [i for i in sorted(known) if not files[i].file.is_delete]
    deletes = [i for i in sorted(known) if files[i].file.is_delete]
    _check_unique(checked, reader, [known[i] for i in inserts], "DUPLICATE_ROW_ID")
    _check_unique(checked, reader, [known[i] for i in deletes], "DUPLICATE_DELETE_EVENT")
    _check_deleted_rows(checked, reader, known)


def _summary_problems(read: ReadFile, summary: Summary) -> Iterator[Problem]:
    file = read.file
    if summary.box.rows != file.tail.rows:
        detail = f"{summary.box.rows} events were read, its tail says {file.tail.rows}"
        yield file.problem("DAMAGED_STRIPES", detail)
    names = {
        "operation": "ROWS_AMONG_DELETE_EVENTS" if file.is_delete else "ACID_V1_EVENTS",
        "write_id": "WRITE_ID_OUT_OF_RANGE",
        "property": "INVALID_BUCKET_PROPERTY",
        "bucket": "BUCKET_OF_ANOTHER_FILE",
        "unsorted": "UNSORTED_DELETE_EVENTS" if file.is_delete else "UNSORTED_ROWS",
        "twice": "DUPLICATE_DELETE_EVENT" if file.is_delete else "DUPLICATE_ROW_ID",
    }
    # For a file with events of another kind, the other findings have no meaning.
    shown = {k: v for k, v in summary.wrong.items() if k == "operation"} or summary.wrong
    for wrong, (count, first) in shown.items():
        yield file.problem(names[wrong], WRONG[wrong].format(count=count), first)
    if "operation" not in summary.wrong:
        yield from _wrong_keys(read, summary.ends)


def _wrong_keys(read: ReadFile, ends: Sequence[RowId]) -> Iterator[Problem]:
    """Compare the key index with the last events of the stripes."""
    value = read.file.tail.metadata.get(KEY_INDEX)
    if value is None:
        return
    try:
        indexed = [RowId(*key) for key in parse_key_index(value)]
    except FormatError:
        return  # the check of the tail has reported it
    if len(indexed) != len(ends):
        return
    for number, (key, expected) in enumerate(zip(indexed, ends, strict=True)):
        if key != expected:
            detail = f"{key} is said to be the last key of stripe {number}, which is {expected}"
            yield read.file.problem("INVALID_KEY_INDEX", detail, expected)
            return


def _is_sorted(summary: Summary) -> bool:
    return not summary.wrong.keys() & {"unsorted", "twice"}


def _check_unique(
    checked: Checked, reader: EventReader, summaries: Sequence[Summary], name: str
) -> None:
    """Find events with the same row id in different files, or in one unsorted file."""
    wanted = {box.file for pair in meeting(s.box for s in summaries) for box in pair}
    wanted |= {summary.box.file for summary in summaries if not _is_sorted(summary)}
    if not wanted:
        return
    duplicates, _ = run_readable(checked, sorted(wanted), reader.common)
    for common in duplicates or ():
        one, other = checked.files[common.one], checked.files[common.other]
        if common.one == common.other:
            detail = f"{common.number} row ids are in the file more than once"
            problem = other.file.problem(name, detail, common.first)
        elif name == "DUPLICATE_ROW_ID":
            problem = same_row_ids(other, one, common.first)
        else:
            detail = f"{one.file.path} has an event of the same row"
            problem = other.file.problem(name, detail, common.first)
        checked.add(common.other, problem)


def _check_deleted_rows(
    checked: Checked, reader: EventReader, summaries: dict[int, Summary]
) -> None:
    """Find delete events for rows that no file contains, in places where all files are readable.

    Events up to the write id of the base need no rows, because the base has applied them.
    """
    boxes = {index: summary.box for index, summary in summaries.items()}
    inserts = [i for i in boxes if not checked.files[i].file.is_delete]
    # Events that dense files cover need no join.
    dense = [boxes[i] for i in inserts if boxes[i].is_dense and _is_sorted(summaries[i])]
    dense += [
        Box(place, -1, (write_id, write_id), (bucket, bucket), (0, rows - 1), rows)
        for (place, write_id, bucket), rows in checked.contents.originals.items()
    ]
    deletes = [
        i
        for i in sorted(boxes)
        if checked.files[i].file.is_delete
        and checked.files[i].ordinal not in checked.contents.incomplete
        and checked.files[i].file.highest_write_id > checked.base(i)
        and not covered(boxes[i], dense)
    ]
    if not deletes:
        return
    near = {
        box.file
        for pair in meeting(boxes[i] for i in (*inserts, *deletes))
        for box in pair
        if checked.files[pair[0].file].file.is_delete != checked.files[pair[1].file].file.is_delete
    }
    touched = near & set(inserts)

    missing, _ = run_readable(
        checked,
        sorted({*deletes, *touched}),
        lambda readable: reader.without_rows(
            [i for i in readable if i not in touched], [i for i in readable if i in touched]
        ),
    )
    for one in missing or ():
        detail = f"{one.number} events delete rows that are in no file"
        problem = checked.files[one.file].file.problem(
            "DELETE_EVENT_WITHOUT_ROW", detail, one.first
        )
        checked.add(one.file, problem)
