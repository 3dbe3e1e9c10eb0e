"""Row ids of all events of a table, read by Spark: their order, ranges and uniqueness.

Whatever columns a table has, its ACID files have the same six, of which five are read. So one job
reads all files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, IntegerType, LongType

from acidsql.checking.contents import Contents, ReadFile, same_row_ids
from acidsql.checking.problems import Problem, RowId
from acidsql.checking.reading import BLOCK, DELETED_BY, FILE, PLACE, ROW, Checked, run_readable
from acidsql.checking.row_ids import Box, covered, meeting
from acidsql.checking.survey import Survey
from acidsql.errors import FormatError
from acidsql.format.acid_metadata import KEY_INDEX, parse_key_index
from acidsql.format.bucket_codec import BUCKET_SHIFT, VERSION_SHIFT
from acidsql.format.names import DirectoryKind
from acidsql.limits import limits
from acidsql.schema.acid_file import KEYS
from acidsql.session.acid_session import AcidSession

_BUCKET_MASK = 0xFFF
# Column: number of a row in its file, from 1.
_NUMBER = "__number"


def look_into_keys(session: AcidSession, survey: Survey, contents: Contents) -> None:
    """Read the row ids of all events, and find what is wrong with them."""
    files = [read for read in contents.files if read.file.tail.rows]
    checked = Checked(session=session, survey=survey, contents=contents, files=files)
    summaries, readable = run_readable(
        checked, range(len(files)), lambda own: _summaries(checked, own)
    )
    for row in summaries or ():
        for problem in _summary_problems(checked.files[row[FILE]], row):
            checked.add(row[FILE], problem)
    # Of a file with events of another kind nothing else can be told.
    mixed = {row[FILE] for row in summaries or () if row["operation_wrong"]}
    contents.incomplete |= {files[index].ordinal for index in mixed}
    readable = [index for index in readable if index not in mixed]
    boxes = {row[FILE]: _box(checked, row) for row in summaries or () if row[FILE] not in mixed}
    rows = [i for i in readable if not files[i].file.is_delete]
    deletes = [i for i in readable if files[i].file.is_delete]
    unsorted = {row[FILE] for row in summaries or () if row["unsorted"] or row["twice"]}
    _check_unique(checked, boxes, rows, unsorted, "DUPLICATE_ROW_ID")
    _check_unique(checked, boxes, deletes, unsorted, "DUPLICATE_DELETE_EVENT")
    _check_deleted_rows(checked, boxes, rows, deletes, unsorted)


def _summaries(checked: Checked, indexes: Sequence[int]) -> list[Row]:
    """Return a row for each file: what its events have in common, and the first that are wrong."""
    files = checked.files
    lows = [f.file.lowest_write_id for f in files]
    of = checked.of_file
    key = F.struct(*KEYS)
    in_file = Window.partitionBy(FILE).orderBy(BLOCK, ROW)
    events = checked.scan(indexes).select(
        "*",
        key.alias("key"),
        F.lag(key).over(in_file).alias("before"),
        F.lag(DELETED_BY).over(in_file).alias("deleted_before"),
        F.row_number().over(in_file).cast("long").alias(_NUMBER),
    )
    is_delete = of([f.file.is_delete for f in files], BooleanType())
    high = of([f.file.highest_write_id for f in files], LongType())
    low = of(lows, LongType())
    low_of_row = F.when(is_delete, F.lit(0)).otherwise(low)
    filtered = of([checked.is_filtered(i) for i in range(len(files))], BooleanType())
    version = F.shiftrightunsigned("bucket", VERSION_SHIFT)
    bucket = F.when(
        version == 1, F.shiftrightunsigned("bucket", BUCKET_SHIFT).bitwiseAND(F.lit(_BUCKET_MASK))
    ).when(version == 0, F.col("bucket"))
    same = F.col("before") == F.col("key")
    wrong = {
        "unsorted": (F.col("before") > F.col("key"))
        | (same & is_delete & (F.col("deleted_before") < F.col(DELETED_BY))),
        "twice": same & ~filtered,
        "operation_wrong": F.col("operation") != F.when(is_delete, F.lit(2)).otherwise(F.lit(0)),
        "write_id_wrong": ~F.col("originalTransaction").between(low_of_row, high)
        | ~F.col(DELETED_BY).between(low, high),
        "property_wrong": bucket.isNull(),
        "bucket_wrong": bucket != of([f.file.bucket_id for f in files], IntegerType()),
    }
    ends = of([_stripe_ends(f) for f in files], ArrayType(LongType()))
    event = F.struct(_NUMBER, *KEYS, DELETED_BY, "operation")
    aggregated = events.groupBy(FILE).agg(
        F.max(FILE).alias("file"),
        F.count("*").alias("events"),
        *[F.min(c).alias(f"least_{c}") for c in KEYS],
        *[F.max(c).alias(f"greatest_{c}") for c in KEYS],
        *[F.count_if(condition).alias(name) for name, condition in wrong.items()],
        *[F.min(F.when(c, event)).alias(f"first_{name}") for name, c in wrong.items()],
        F.collect_list(
            F.when(F.array_contains(ends, F.col(_NUMBER)), F.struct(_NUMBER, *KEYS))
        ).alias("ends"),
    )
    # The group is an aggregate too: spark.sql.retainGroupColumns may leave it out.
    found: list[Row] = aggregated.drop(FILE).withColumnRenamed("file", FILE).collect()
    return found


def _stripe_ends(read: ReadFile) -> list[int]:
    """Return the number of the last row of each stripe, from 1, if the file has a key index."""
    if KEY_INDEX not in read.file.tail.metadata:
        return []
    return list(accumulate(stripe.rows for stripe in read.file.tail.stripes))


_MESSAGES = {
    "operation_wrong": "{count} events are of another operation, the first is {event[operation]}",
    "write_id_wrong": "the write ids of {count} events are not those of the directory",
    "property_wrong": "{count} events have a bucket property of an unknown version",
    "bucket_wrong": "{count} events have a bucket property of another bucket",
    "unsorted": "{count} events are below the event before them",
    "twice": "{count} events have the row id of the event before them",
}


def _summary_problems(read: ReadFile, row: Row) -> Iterator[Problem]:
    file = read.file
    if row["events"] != file.tail.rows:
        detail = f"{row['events']} events were read, its tail says {file.tail.rows}"
        yield file.problem("DAMAGED_STRIPES", detail)
    names = {
        "operation_wrong": "ROWS_AMONG_DELETE_EVENTS" if file.is_delete else "ACID_V1_EVENTS",
        "write_id_wrong": "WRITE_ID_OUT_OF_RANGE",
        "property_wrong": "INVALID_BUCKET_PROPERTY",
        "bucket_wrong": "BUCKET_OF_ANOTHER_FILE",
        "unsorted": "UNSORTED_DELETE_EVENTS" if file.is_delete else "UNSORTED_ROWS",
        "twice": "DUPLICATE_DELETE_EVENT" if file.is_delete else "DUPLICATE_ROW_ID",
    }
    for name, problem in names.items():
        if row[name]:
            event = row[f"first_{name}"]
            detail = _MESSAGES[name].format(count=row[name], event=event)
            yield file.problem(problem, detail, _row_id(event))
    yield from _wrong_keys(read, row)


def _row_id(event: Row) -> RowId:
    return RowId(*(event[name] for name in KEYS))


def _wrong_keys(read: ReadFile, row: Row) -> Iterator[Problem]:
    """Compare the key index with the last events of the stripes."""
    value = read.file.tail.metadata.get(KEY_INDEX)
    if value is None:
        return
    try:
        told = [RowId(*key) for key in parse_key_index(value)]
    except FormatError:
        return  # that was found from the tail
    ends = [_row_id(event) for event in sorted(row["ends"], key=lambda e: e[_NUMBER])]
    if len(told) != len(ends):
        return
    for number, (key, expected) in enumerate(zip(told, ends, strict=True)):
        if key != expected:
            detail = f"{key} is said to be the last key of stripe {number}, which is {expected}"
            yield read.file.problem("INVALID_KEY_INDEX", detail, expected)
            return


def _box(checked: Checked, row: Row) -> Box:
    write_ids, buckets, row_ids = ((row[f"least_{c}"], row[f"greatest_{c}"]) for c in KEYS)
    index = row[FILE]
    ordinal = checked.files[index].ordinal
    return Box(ordinal, index, write_ids, buckets, row_ids, row["events"])


def _check_unique(
    checked: Checked,
    boxes: dict[int, Box],
    indexes: Sequence[int],
    unsorted: set[int],
    name: str,
) -> None:
    """Find events of different files, or of one that is not sorted, with the same row id."""
    pairs = meeting(boxes[i] for i in indexes if i in boxes)
    wanted = {box.file for pair in pairs for box in pair} | (unsorted & set(indexes))
    if not wanted:
        return

    def job(own: Sequence[int]) -> list[Row]:
        groups = (
            checked.visible(own)
            .groupBy(PLACE, *KEYS)
            .agg(
                F.min(F.struct(*KEYS)).alias("key"),
                F.count("*").alias("count"),
                F.min(FILE).alias("one"),
                F.max(FILE).alias("other"),
            )
            .where("count > 1")
        )
        found = groups.groupBy("one", "other").agg(
            F.min("one").alias("first_file"),
            F.max("other").alias("last_file"),
            F.min("key").alias("first_key"),
            F.count("*").alias("keys"),
        )
        rows: list[Row] = found.select("first_file", "last_file", "first_key", "keys").collect()
        return rows

    found, _ = run_readable(checked, sorted(wanted), job)
    for row in found or ():
        one, other = checked.files[row.first_file], checked.files[row.last_file]
        row_id = RowId(*row.first_key)
        if row.first_file == row.last_file:
            detail = f"{row['keys']} row ids are in the file more than once"
            problem = other.file.problem(name, detail, row_id)
        elif name == "DUPLICATE_ROW_ID":
            problem = same_row_ids(other, one, row_id)
        else:
            detail = f"{one.file.path} has an event of the same row"
            problem = other.file.problem(name, detail, row_id)
        checked.add(row.last_file, problem)


def _check_deleted_rows(
    checked: Checked,
    boxes: dict[int, Box],
    inserts: Sequence[int],
    deletes: Sequence[int],
    unsorted: set[int],
) -> None:
    """Find delete events whose row is in no file, in places whose files can all be read.

    Events up to the write id of the base may be without their rows: the base has them applied.
    """
    # What statistics prove needs no join.
    dense = [
        *(boxes[i] for i in inserts if i in boxes and boxes[i].is_dense and i not in unsorted),
        *(
            Box(place, -1, (write_id, write_id), (bucket, bucket), (0, rows - 1), rows)
            for (place, write_id, bucket), rows in checked.contents.originals.items()
        ),
    ]
    bases = [0] * len(checked.survey.places)
    for seen in checked.survey.directories:
        if seen.directory.kind is DirectoryKind.BASE:
            bases[seen.ordinal] = max(0, seen.directory.max_write_id)
    wanted = [
        i
        for i in deletes
        if checked.files[i].ordinal not in checked.contents.incomplete
        and checked.files[i].file.highest_write_id > _base(checked, bases, i)
        and not (i in boxes and covered(boxes[i], dense))
    ]
    if not wanted:
        return
    touched = {
        box.file
        for pair in meeting(boxes[i] for i in (*inserts, *wanted) if i in boxes)
        if checked.files[pair[0].file].file.is_delete != checked.files[pair[1].file].file.is_delete
        for box in pair
    }
    touched &= set(inserts)

    def job(own: Sequence[int]) -> list[Row]:
        mine = [i for i in own if i in set(wanted)]
        base = checked.of_file(
            [_base(checked, bases, i) for i in range(len(checked.files))], LongType()
        )
        events = checked.visible(mine).where(F.col(DELETED_BY) > base)
        number = sum(checked.files[i].file.tail.rows for i in mine)
        missing = _without_rows(checked, events, number, sorted(set(own) & touched))
        counted = missing.groupBy(FILE).agg(
            F.max(FILE).alias("file"),
            F.count("*").alias("events"),
            F.min(F.struct(*KEYS)).alias("key"),
        )
        rows: list[Row] = counted.select("file", "events", "key").collect()
        return rows

    found, _ = run_readable(checked, sorted({*wanted, *touched}), job)
    for row in found or ():
        file = checked.files[row.file].file
        detail = f"{row.events} events delete rows that are in no file"
        checked.add(row.file, file.problem("DELETE_EVENT_WITHOUT_ROW", detail, RowId(*row.key)))


def _without_rows(
    checked: Checked, events: DataFrame, number: int, inserts: Sequence[int]
) -> DataFrame:
    """Build the delete events whose row is in no file.

    Args:
        events: the delete events.
        number: upper bound of their number.
        inserts: files that may have the rows.
    """
    places = [PLACE, *KEYS]
    few = number * len(places) <= limits().broadcast_numbers
    hint = "broadcast" if few else "merge"
    if inserts:
        # The rows are many: those that are not deleted are dropped before anything is joined.
        keys = events.select(*places).distinct()
        found = checked.visible(inserts).join(keys.hint(hint), places, "left_semi")
        events = events.join(found.select(*places).hint(hint), places, "left_anti")
    originals = checked.contents.originals
    if not originals:
        return events
    values = ", ".join(f"({p}, {w}L, {b}, {n}L)" for (p, w, b), n in originals.items())
    known = checked.session.spark.sql(
        f"SELECT * FROM VALUES {values} AS o(place, write_id, property, rows)"
    )
    condition = (
        (F.col(PLACE) == F.col("place"))
        & (F.col("originalTransaction") == F.col("write_id"))
        & (F.col("bucket") == F.col("property"))
        & (F.col("rowId") < F.col("rows"))
    )
    return events.join(F.broadcast(known), condition, "left_anti")


def _base(checked: Checked, bases: Sequence[int], index: int) -> int:
    return bases[checked.files[index].ordinal]
