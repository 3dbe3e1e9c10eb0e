"""Files without row ids: those from before a table became transactional, and those of LOAD DATA.

Their rows are identified by where they stand (contract: AcidUtils, OrcRawRecordMerger). The write
id is 0, or that of the directory; the bucket id is the number that the file's name begins with; the
row id counts the rows of all files of that bucket id, in the order of their paths.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)

from acidsql import bridge
from acidsql.errors import FormatError
from acidsql.format.bucket_codec import encode
from acidsql.format.names import is_hidden, is_original_file
from acidsql.format.orc_tail import OrcTail
from acidsql.limits import limits
from acidsql.scan.columns import ORDINAL
from acidsql.scan.directories import DataDirectory, visible_columns
from acidsql.scan.snapshot import TableSnapshot
from acidsql.schema.acid_file import read_name, row_of
from acidsql.schema.spark_limits import has_maps_of_nested
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import Listing, child
from acidsql.storage.parallel import in_parallel

_OPTIONS = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}
_ROW_IN_TASK = (1 << 33) - 1  # monotonically_increasing_id keeps the task's number above these


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalFile:
    """A file without row ids, and what identifies its rows.

    Attributes:
        write_id: of all its rows.
        bucket: their bucket property.
        ordinal: of its partition.
        columns: names in the file of the table's columns, by position.
        first_row: row id of the first row of each split.
    """

    listing: Listing
    name: str
    write_id: int
    bucket: int
    ordinal: int
    columns: tuple[str, ...]
    first_row: tuple[int, ...]


def original_files(
    session: AcidSession,
    snapshot: TableSnapshot,
    raw: Sequence[DataDirectory],
    *,
    originals: bool,
) -> list[OriginalFile]:
    """The files without row ids that a snapshot reads.

    Args:
        raw: the directories of LOAD DATA.
        originals: whether those from before the table became transactional are meant too.

    Raises:
        FormatError: a file's name does not say its bucket (INVALID_ORIGINAL_FILE_NAME).
    """
    found: list[OriginalFile] = []
    for ordinal, partition in enumerate(snapshot.partitions if originals else ()):
        places = [_place(snapshot, partition.location, path) for path in partition.state.originals]
        found += _identified(session, snapshot, places, (0, 0), ordinal)
    for data in raw:
        listing = snapshot.listings.get(data.path)
        places = [(listing, name) for name in listing.names if not is_hidden(name)]
        key = data.directory.max_write_id, data.directory.statement_id or 0
        found += _identified(session, snapshot, sorted(places, key=_name), key, data.ordinal)
    return found


def _name(place: tuple[Listing, str]) -> str:
    return place[1]


def _place(snapshot: TableSnapshot, location: str, path: str) -> tuple[Listing, str]:
    above, _, name = path.rpartition("/")
    return snapshot.listings.get(child(location, above) if above else location), name


def _identified(
    session: AcidSession,
    snapshot: TableSnapshot,
    places: Sequence[tuple[Listing, str]],
    key: tuple[int, int],
    ordinal: int,
) -> Iterator[OriginalFile]:
    """The files of one directory in the order of their paths.

    Args:
        key: write id and statement id.
    """
    write_id, statement_id = key
    for listing, name in places:
        if not is_original_file(name):
            raise FormatError(
                "INVALID_ORIGINAL_FILE_NAME",
                f"{child(listing.path, name)} has no row ids, and its name does not say its "
                "bucket: rename it as Hive names files (000000_0, 000000_0_copy_1), or move it "
                "out of the table",
            )

    def tail(place: tuple[Listing, str]) -> OrcTail | None:
        listing, name = place
        version = listing.files[name]
        return session.tails.tail(child(listing.path, name), version) if version.size else None

    rows: dict[int, int] = defaultdict(int)
    for (listing, name), known in zip(places, in_parallel(tail, places), strict=True):
        if known is None or not known.rows:
            continue
        bucket_id = int(name.split("_")[0])
        first = rows[bucket_id]
        rows[bucket_id] += known.rows
        names = tuple(field for field, _ in known.struct_fields())
        yield OriginalFile(
            listing=listing,
            name=name,
            write_id=write_id,
            bucket=encode(bucket_id, statement_id),
            ordinal=ordinal,
            columns=names[: visible_columns(snapshot, ordinal)],
            first_row=tuple(first + n for n in _rows_before_splits(known, limits().split_bytes)),
        )


def _rows_before_splits(tail: OrcTail, split_bytes: int) -> list[int]:
    """How many rows stand before each split: ORC reads a stripe in the split where it begins."""
    starts = range(0, tail.file_length, split_bytes)
    return [sum(s.rows for s in tail.stripes if s.offset < start) for start in starts]


def original_events(
    session: AcidSession, files: Sequence[OriginalFile], row: StructType
) -> list[bridge.UnresolvedPlan]:
    """Insert events made of the rows of such files, with the ordinal of their partition last."""
    groups: dict[tuple[str, ...], list[OriginalFile]] = defaultdict(list)
    for file in files:
        groups[file.columns].append(file)
    return [bridge.UnresolvedPlan.of(_events(session, group, row)) for group in groups.values()]


def _events(session: AcidSession, files: Sequence[OriginalFile], row: StructType) -> DataFrame:
    scanned = [file.listing.scanned(file.name, ordinal) for ordinal, file in enumerate(files)]
    columns = files[0].columns
    fields = [
        StructField(read_name(name), field.dataType)
        for name, field in zip(columns, row.fields, strict=False)
    ]
    schema = StructType(fields)
    relation = bridge.orc_relation(
        session.spark,
        scanned,
        schema,
        _OPTIONS,
        split_bytes=limits().split_bytes,
        batches=False if has_maps_of_nested(schema) else None,
    )
    session.leases.watch(relation.index)
    file = F.expr(bridge.FILE_ORDINAL)
    split = (F.col("_metadata.file_block_start") / limits().split_bytes).cast("int")
    position = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_IN_TASK))
    write_id = _by_file([f.write_id for f in files], LongType(), file)
    first_row = F.get(
        _by_file([list(f.first_row) for f in files], ArrayType(LongType()), file), split
    )
    values = [F.col(f"`{f.name}`") for f in fields]
    return relation.rows.frame().select(
        F.lit(0).alias("operation"),
        write_id.alias("originalTransaction"),
        _by_file([f.bucket for f in files], IntegerType(), file).alias("bucket"),
        (first_row + position).alias("rowId"),
        write_id.alias("currentTransaction"),
        row_of(row, values).alias("row"),
        _by_file([f.ordinal for f in files], IntegerType(), file).alias(ORDINAL),
    )


def _by_file(values: Sequence[object], data_type: DataType, file: Column) -> Column:
    """A value of each file: a constant array, indexed by the file's ordinal."""
    constant = F.from_json(F.lit(json.dumps(values)), ArrayType(data_type))
    return F.get(constant, file)
