"""Reading of events with Spark, for many rows.

All ACID files have the same six top-level columns, which do not depend on the table's columns. One
job reads five of the six columns from all files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, IntegerType, LongType

from acidsql.checking.contents import ReadFile
from acidsql.checking.problems import RowId
from acidsql.checking.reading import WRONG, Checked, Common, Summary, WithoutRows
from acidsql.checking.row_ids import Box
from acidsql.format.acid_metadata import KEY_INDEX
from acidsql.format.bucket_codec import BUCKET_SHIFT, VERSION_SHIFT
from acidsql.limits import limits
from acidsql.scan.relation import file_relation
from acidsql.schema.acid_file import KEYS, ROW_ID_FIELDS
from acidsql.storage.relation import event_file, metadata_columns

_DELETED_BY = "currentTransaction"
_BUCKET_MASK = 0xFFF
# Names of columns: index of the file, position of the row in the file (block and row), ordinal of
# the place, number of the row.
_FILE, _BLOCK, _ROW, _PLACE, _NUMBER = "__file", "__block", "__row", "__place", "__number"


class SparkEvents:
    """Reader of events by Spark jobs (``EventReader``)."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked

    def _scan(self, indexes: Sequence[int]) -> DataFrame:
        """Build the scan of some files, with the ACID columns and the index of the file."""
        session, files = self._checked.session, self._checked.files
        table = replace(self._checked.survey.table, columns=(), partition_columns=())
        read = [event_file(files[i].listing, files[i].name, i) for i in indexes]
        size = sum(file.length for file in read)
        relation = file_relation(session, table, (), read, statistics=(max(1, size), -1))
        names = metadata_columns(table)
        fields = zip(ROW_ID_FIELDS, KEYS, strict=True)
        return relation.select(
            f"{names.partition} AS {_FILE}",
            f"input_file_block_start() AS {_BLOCK}",
            f"monotonically_increasing_id() AS {_ROW}",
            f"{names.operation} AS operation",
            *[f"{names.row_id}.{field} AS {key}" for field, key in fields],
            f"{names.write_id} AS {_DELETED_BY}",
        ).frame()

    def _visible(self, indexes: Sequence[int]) -> DataFrame:
        """Build the scan of the events that the snapshot sees, with the ordinal of the place."""
        write_ids = self._checked.survey.write_ids
        hidden = [*write_ids.open, *write_ids.aborted]
        seen = F.col(_DELETED_BY) <= write_ids.high_water_mark
        if hidden:
            seen = seen & ~F.col(_DELETED_BY).isin(hidden)
        place = self._of_file([read.ordinal for read in self._checked.files], IntegerType())
        return self._scan(indexes).where(~self._filtered() | seen).withColumn(_PLACE, place)

    def _filtered(self) -> Column:
        of_files = [self._checked.is_filtered(i) for i in range(len(self._checked.files))]
        return self._of_file(of_files, BooleanType())

    def _of_file(self, values: Sequence[object], data_type: Any) -> Column:
        """Build a column with one value per file, as an element of a constant array."""
        constant = F.from_json(F.lit(json.dumps(values)), ArrayType(data_type))
        return F.get(constant, F.col(_FILE))

    def summaries(self, indexes: Sequence[int]) -> list[Summary]:
        """Summarise the events of each file; each file is sorted separately."""
        files = self._checked.files
        lows = [f.file.lowest_write_id for f in files]
        of = self._of_file
        key = F.struct(*KEYS)
        in_file = Window.partitionBy(_FILE).orderBy(_BLOCK, _ROW)
        events = self._scan(indexes).select(
            "*",
            key.alias("key"),
            F.lag(key).over(in_file).alias("before"),
            F.lag(_DELETED_BY).over(in_file).alias("deleted_before"),
            F.row_number().over(in_file).cast("long").alias(_NUMBER),
        )
        is_delete = of([f.file.is_delete for f in files], BooleanType())
        high = of([f.file.highest_write_id for f in files], LongType())
        low = of(lows, LongType())
        low_of_row = F.when(is_delete, F.lit(0)).otherwise(low)
        version = F.shiftrightunsigned("bucket", VERSION_SHIFT)
        bucket = F.when(
            version == 1,
            F.shiftrightunsigned("bucket", BUCKET_SHIFT).bitwiseAND(F.lit(_BUCKET_MASK)),
        ).when(version == 0, F.col("bucket"))
        same = F.col("before") == F.col("key")
        wrong = {
            "unsorted": (F.col("before") > F.col("key"))
            | (same & is_delete & (F.col("deleted_before") < F.col(_DELETED_BY))),
            "twice": same & ~self._filtered(),
            "operation": F.col("operation") != F.when(is_delete, F.lit(2)).otherwise(F.lit(0)),
            "write_id": ~F.col("originalTransaction").between(low_of_row, high)
            | ~F.col(_DELETED_BY).between(low, high),
            "property": bucket.isNull(),
            "bucket": bucket != of([f.file.bucket_id for f in files], IntegerType()),
        }
        ends = of([_stripe_ends(f) for f in files], ArrayType(LongType()))
        event = F.struct(_NUMBER, *KEYS, _DELETED_BY, "operation")
        aggregated = events.groupBy(_FILE).agg(
            F.max(_FILE).alias("file"),
            F.count("*").alias("events"),
            *[F.min(c).alias(f"least_{c}") for c in KEYS],
            *[F.max(c).alias(f"greatest_{c}") for c in KEYS],
            *[F.count_if(condition).alias(f"count_{name}") for name, condition in wrong.items()],
            *[F.min(F.when(c, event)).alias(f"first_{name}") for name, c in wrong.items()],
            F.collect_list(
                F.when(F.array_contains(ends, F.col(_NUMBER)), F.struct(_NUMBER, *KEYS))
            ).alias("ends"),
        )
        return [self._summary(row) for row in aggregated.collect()]

    def _summary(self, row: Row) -> Summary:
        write_ids, buckets, row_ids = ((row[f"least_{c}"], row[f"greatest_{c}"]) for c in KEYS)
        ordinal = self._checked.files[row.file].ordinal
        return Summary(
            box=Box(ordinal, row.file, write_ids, buckets, row_ids, row.events),
            wrong={
                name: (row[f"count_{name}"], _row_id(row[f"first_{name}"]))
                for name in WRONG
                if row[f"count_{name}"]
            },
            ends=tuple(_row_id(e) for e in sorted(row.ends, key=lambda event: event[_NUMBER])),
        )

    def common(self, indexes: Sequence[int]) -> list[Common]:
        """Find row ids that occur more than once, with a shuffle of all row ids."""
        groups = (
            self._visible(indexes)
            .groupBy(_PLACE, *KEYS)
            .agg(
                F.min(F.struct(*KEYS)).alias("key"),
                F.count("*").alias("count"),
                F.min(_FILE).alias("one"),
                F.max(_FILE).alias("other"),
            )
            .where("count > 1")
        )
        # Aggregate the group columns too: spark.sql.retainGroupColumns may omit them.
        pairs = groups.groupBy("one", "other").agg(
            F.min("one").alias("first_file"),
            F.max("other").alias("last_file"),
            F.min("key").alias("first"),
            F.count("*").alias("number"),
        )
        rows = pairs.select("first_file", "last_file", "first", "number").collect()
        return [
            Common(one=one, other=other, first=RowId(*first), number=number)
            for one, other, first, number in rows
        ]

    def without_rows(self, deletes: Sequence[int], inserts: Sequence[int]) -> list[WithoutRows]:
        """Find delete events without rows, with joins of the delete events and the rows."""
        checked = self._checked
        base = self._of_file([checked.base(i) for i in range(len(checked.files))], LongType())
        events = self._visible(deletes).where(F.col(_DELETED_BY) > base)
        number = sum(checked.files[i].file.tail.rows for i in deletes)
        missing = self._missing(events, number, inserts)
        counted = missing.groupBy(_FILE).agg(
            F.max(_FILE).alias("file"),
            F.count("*").alias("events"),
            F.min(F.struct(*KEYS)).alias("key"),
        )
        return [
            WithoutRows(file=file, first=RowId(*key), number=events)
            for file, events, key in counted.select("file", "events", "key").collect()
        ]

    def _missing(self, events: DataFrame, number: int, inserts: Sequence[int]) -> DataFrame:
        """Build the scan of the delete events for rows that no file contains.

        Args:
            events: delete events.
            number: upper bound for the number of delete events.
            inserts: files that may contain the rows.
        """
        places = [_PLACE, *KEYS]
        is_broadcast = number * len(places) <= limits().broadcast_numbers
        hint = "broadcast" if is_broadcast else "merge"
        if inserts:
            # There are many rows: a semi-join first removes the rows that were not deleted.
            keys = events.select(*places).distinct()
            deleted_rows = self._visible(inserts).join(keys.hint(hint), places, "left_semi")
            events = events.join(deleted_rows.select(*places).hint(hint), places, "left_anti")
        originals = self._checked.contents.originals
        if not originals:
            return events
        values = ", ".join(f"({p}, {w}L, {b}, {n}L)" for (p, w, b), n in originals.items())
        known = self._checked.session.spark.sql(
            f"SELECT * FROM VALUES {values} AS o(place, write_id, property, rows)"
        )
        condition = (
            (F.col(_PLACE) == F.col("place"))
            & (F.col("originalTransaction") == F.col("write_id"))
            & (F.col("bucket") == F.col("property"))
            & (F.col("rowId") < F.col("rows"))
        )
        return events.join(F.broadcast(known), condition, "left_anti")


def _row_id(event: Row) -> RowId:
    return RowId(*(event[name] for name in KEYS))


def _stripe_ends(read: ReadFile) -> list[int]:
    """Return the 1-based number of the last row of each stripe, if the file has a key index."""
    if KEY_INDEX not in read.file.tail.metadata:
        return []
    return list(accumulate(stripe.rows for stripe in read.file.tail.stripes))
