"""Writers of ACID tables' bucket files, in the tasks of a job or in the driver's memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.executor_classes import maker
from acidsql.bridge.instants import instants_in
from acidsql.bridge.jvm import SOURCES, JavaObject, java_type, jvm_class, scala_map, scala_object
from acidsql.bridge.plans import java_frame, logical_plan

_MAKER = "writer", "Writers"
# Setting of the writer (``BucketFile.TIME_ZONE``).
_TIME_ZONE = "acidsql.time.zone"
# TIMESTAMP_NTZ as a type, not as a name, in Spark's JSON of a schema.
_LOCAL_TIME = re.compile(r'"(type|elementType|keyType|valueType)":"timestamp_ntz"')
# Number of columns of an event before ``row``.
_EVENT_COLUMNS = 5


class WrittenFile(NamedTuple):
    """File that a task wrote.

    Attributes:
        path: path of the file.
        target: name of its target.
        bucket: number of its bucket.
        size: size in bytes.
        rows: number of insert events in the file.
        deletes: number of delete events in the file.
        values: values that determined its directory.
    """

    path: str
    target: str
    bucket: int
    size: int
    rows: int
    deletes: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSchema:
    """Schema of a bucket file, and settings of its writer.

    Attributes:
        events: the six columns of the file.
        columns: the table's columns in ``row``, or no columns if the write inserts nothing.
        options: settings of ORC's writer.
        zone: time zone of the local times that the file stores for TIMESTAMP.
    """

    events: StructType
    columns: StructType
    options: Mapping[str, str]
    zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Layout of the events of a write job in files.

    The job's rows have the first five columns of an event and the table's columns. Then come the
    name of the target, the values (as text) that determine the directory, and the bucket number.

    The first letter of a target's name shows the type of its events: ``i`` for new rows, ``u`` for
    both new and deleted rows, ``d`` or another letter for the keys of deleted rows. The files of a
    target with ``u`` have the names with ``i`` and ``d``.

    Attributes:
        only: the target of all events, or None. With one target, rows have no column for its name.
        inserting: targets whose events are new rows, each with the bucket property of bucket 0. The
            writer assigns the row ids.
        values: number of values that determine the directory.
        is_bucketed: whether rows contain their bucket number. Otherwise it is the task's number.
        stages_keys: whether the keys of deleted rows go into one file per target, in any order
            and for all directories.
    """

    only: str | None
    inserting: Mapping[str, int]
    values: int = 0
    is_bucketed: bool = False
    stages_keys: bool = False


def write_bucket_files(
    rows: DataFrame, place: str, write_id: int, schema: FileSchema, layout: Layout
) -> list[WrittenFile]:
    """Write events in a Spark job.

    Args:
        rows: the events. In each task, the events of one directory and bucket must be consecutive.
            Staged keys can be anywhere.
        place: directory for the files, whose names have no meaning.
        write_id: write id of new rows.
        schema: schema of the files.
        layout: layout of the events.
    """
    spark = rows.sparkSession
    gateway = spark.sparkContext._gateway
    names = gateway.new_array(gateway.jvm.java.lang.String, len(layout.inserting))
    properties = gateway.new_array(gateway.jvm.int, len(layout.inserting))
    for i, (name, number) in enumerate(layout.inserting.items()):
        names[i], properties[i] = name, number
    write = maker(spark, *_MAKER).write(
        place,
        _orc_schema(spark, schema.events),
        _orc_schema(spark, StructType(schema.events.fields[:_EVENT_COLUMNS])),
        java_type(spark, schema.columns),
        _configuration(spark, schema),
        write_id,
        layout.only,
        names,
        properties,
        layout.values,
        layout.is_bucketed,
        layout.stages_keys,
    )
    none = scala_object(spark, "scala.None")
    nothing = scala_object(spark, "scala.collection.immutable.Nil")
    command = jvm_class(spark, f"{SOURCES}.v2.WriteToDataSourceV2")(
        none, write, logical_plan(rows), nothing
    )
    java_frame(spark, spark._jsparkSession, command).collect()
    return _written(str(write.files()), 6 + layout.values)


def _written(text: str, width: int) -> list[WrittenFile]:
    fields = text.split("\0") if text else []
    files = [fields[i : i + width] for i in range(0, len(fields), width)]
    return [
        WrittenFile(
            path=file[0],
            target=file[1],
            bucket=int(file[2]),
            size=int(file[3]),
            rows=int(file[4]),
            deletes=int(file[5]),
            values=tuple(file[6:]),
        )
        for file in files
    ]


def _orc_schema(spark: SparkSession, schema: StructType) -> JavaObject:
    """Return Spark's ``TypeDescription`` of columns, with other types for timestamps.

    A TIMESTAMP_NTZ, which Spark writes as a number, becomes ORC's TIMESTAMP. An ``InstantType``
    becomes ORC's instant.
    """
    text = _LOCAL_TIME.sub(r'"\1":"timestamp"', schema.json())
    utils = scala_object(spark, f"{SOURCES}.orc.OrcUtils")
    made = utils.orcTypeDescription(java_type(spark, StructType.fromJson(json.loads(text))))
    instants = instants_in(schema)
    if not any(instants):
        return made
    return maker(spark, *_MAKER).withInstants(made, "".join("1" if i else "0" for i in instants))


def _configuration(spark: SparkSession, schema: FileSchema) -> JavaObject:
    wanted = scala_map(spark, [*schema.options.items(), (_TIME_ZONE, schema.zone)])
    return spark._jsparkSession.sessionState().newHadoopConfWithOptions(wanted)


class BucketFileEncoder:
    """Writer of bucket files in the driver's memory.

    Args:
        spark: the session.
        schema: schema of the files.
    """

    def __init__(self, spark: SparkSession, schema: FileSchema) -> None:
        self._spark = spark
        self._arguments = (
            _orc_schema(spark, schema.events),
            java_type(spark, schema.columns),
            _configuration(spark, schema),
        )

    def encode(self, rows: Iterable[tuple[int, JavaObject]], write_id: int, bucket: int) -> bytes:
        """Return the bytes of a file with new rows.

        Args:
            rows: for each row, its row id and Catalyst's ``InternalRow``, where the table's columns
                begin at the sixth field.
            write_id: write id of the rows.
            bucket: bucket property of the rows.
        """
        file = maker(self._spark, *_MAKER).file(*self._arguments)
        try:
            for number, row in rows:
                file.add(0, write_id, bucket, number, write_id, row)
        finally:
            file.close()
        return bytes(file.content())
