"""Write jobs whose tasks create files under their final names, and a manifest that lists the files.

Spark's usual committers write below ``_temporary`` and then rename. On an object store, a rename
copies every byte. The committer of Spark's streaming file sink avoids this: a task writes files
with unique names, and the job lists the files of successful tasks in a manifest. The manifest omits
the files of failed or duplicate attempts. Committer settings of the session or cluster are unused.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from pyspark.sql import DataFrame

from acidsql.bridge.jvm import (
    SOURCES,
    JavaObject,
    elements,
    java_type,
    jvm_class,
    scala_map,
    scala_object,
    scala_seq,
)
from acidsql.bridge.plans import java_frame, logical_plan
from acidsql.bridge.spark_versions import differences

_STREAMING = "org.apache.spark.sql.execution.streaming"
_MANIFEST_VERSION, _BATCH = 1, 0


class WrittenFile(NamedTuple):
    """Path of a file that a task wrote, and its size in bytes."""

    path: str
    size: int


def write_with_manifest(
    rows: DataFrame,
    path: str,
    partition_by: Sequence[str],
    file_format: str,
    options: Mapping[str, str],
    manifest: Path,
) -> None:
    """Write rows in one job, like a DataFrame's writer.

    Args:
        rows: rows that are sorted by ``partition_by`` in each task. Column names must be unique.
        path: directory to write to.
        partition_by: the last columns of ``rows``, whose values become directories.
        file_format: class of Spark's ``FileFormat``.
        options: options of a DataFrame's writer.
        manifest: directory on the driver's disk for the manifest, which must not exist.
    """
    spark = rows.sparkSession
    session = spark._jsparkSession
    plan = logical_plan(rows)
    wanted = scala_map(spark, list(options.items()))
    job = jvm_class(spark, "org.apache.hadoop.mapreduce.Job").getInstance(
        session.sessionState().newHadoopConfWithOptions(wanted)
    )
    columns = elements(plan.output())
    first = len(columns) - len(partition_by)
    data, parts = columns[:first], columns[first:]
    schema = rows.select(rows.columns[:first]).schema
    writers = jvm_class(spark, file_format)().prepareWrite(
        session, job, wanted, java_type(spark, schema)
    )
    none = scala_object(spark, "scala.None")
    nothing = scala_object(spark, "scala.collection.immutable.Nil")
    description = jvm_class(spark, f"{SOURCES}.WriteJobDescription")(
        str(uuid.uuid4()),
        jvm_class(spark, "org.apache.spark.util.SerializableConfiguration")(job.getConfiguration()),
        writers,
        plan.output(),
        scala_seq(spark, data),
        scala_seq(spark, parts),
        none,
        path,
        scala_map(spark, []),
        0,
        str(session.sessionState().conf().sessionLocalTimeZone()),
        nothing,
    )
    committer = _committer(rows, path, manifest)
    committer.setupJob(job)
    batch = jvm_class(spark, f"{SOURCES}.v2.FileBatchWrite")(job, description, committer)
    command = jvm_class(spark, f"{SOURCES}.v2.WriteToDataSourceV2")(none, batch, plan, nothing)
    java_frame(spark, session, command).collect()


def _committer(rows: DataFrame, path: str, manifest: Path) -> JavaObject:
    spark = rows.sparkSession
    sinks = f"{_STREAMING}.sinks" if differences(spark).has_streaming_packages else _STREAMING
    log = jvm_class(spark, f"{sinks}.FileStreamSinkLog")(
        _MANIFEST_VERSION,
        spark._jsparkSession,
        manifest.as_uri(),
        scala_object(spark, "scala.None"),
    )
    committer = jvm_class(spark, f"{_STREAMING}.ManifestFileCommitProtocol")(
        str(uuid.uuid4()), path
    )
    committer.setupManifestOptions(log, _BATCH)
    return committer


def read_manifest(manifest: Path) -> list[WrittenFile]:
    """Return the files of a successful job."""
    # The first line is the version of the format.
    lines = (manifest / str(_BATCH)).read_text("utf-8").split("\n")[1:]
    files = map(json.loads, filter(None, lines))
    return [WrittenFile(unquote(file["path"]), int(file["size"])) for file in files]
