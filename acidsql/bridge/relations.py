"""Relations over given files, which Spark's file formats read without a directory listing."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.file_splits import even_share
from acidsql.bridge.file_statuses import ScanFile, encode
from acidsql.bridge.java_sources import only_object
from acidsql.bridge.jvm import (
    SOURCES,
    JavaObject,
    cloned_session,
    java_map,
    java_type,
    jvm_class,
    scala_object,
)
from acidsql.bridge.jvm_planning import jvm_planning
from acidsql.bridge.spark_versions import differences
from acidsql.bridge.unresolved_plan import UnresolvedPlan

# SQL expression for the ordinal (``ScanFile.ordinal``) of the file that contains a scanned row.
FILE_ORDINAL = "CAST(unix_millis(_metadata.file_modification_time) AS INT)"
_LISTENER_MILLISECONDS = 5_000
_NEVER_LISTED = "_acidsql_snapshot"
_TASK_BYTES = "spark.sql.files.maxPartitionBytes"
_CASE_SENSITIVE = "spark.sql.caseSensitive"


@dataclass(frozen=True)
class Relation:
    """Rows of a scan, with its file index.

    Attributes:
        rows: plan of the scan.
        index: Java ``InMemoryFileIndex``, to which a plan refers while it can run.
    """

    rows: UnresolvedPlan
    index: JavaObject


def _root(files: Sequence[ScanFile]) -> str:
    """Return the root path of a file index for all of its files.

    The path is a missing name below their common directory, so that Spark finds nothing to list.
    Spark treats two scans with equal root paths as the same scan and runs it once. The name
    therefore contains a digest of paths, sizes and ordinals.
    """
    ordered = sorted(files)
    first, last = (file.path.split("/")[:-1] for file in (ordered[0], ordered[-1]))
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    common = [part for part, _ in same]
    of_file_system = 3 if "" in first else 1  # "hdfs:", "" and the authority, or "file:"
    text = "\n".join(f"{file.path}\t{file.size}\t{file.ordinal}" for file in ordered)
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    parent = common if len(common) > of_file_system else first
    return "/".join([*parent, f"{_NEVER_LISTED}_{digest}"])


def file_scan(
    spark: SparkSession,
    files: Sequence[ScanFile],
    schema: StructType,
    options: Mapping[str, str],
    file_format: str,
) -> Relation:
    """Build a scan of some files whose splits are balanced over the tasks.

    Spark gets the files in a file status cache, so it does not list directories. The arguments are
    the same as for ``file_relation``.
    """
    changed: dict[str, str | None] = {}
    share = even_share(spark, [file.size for file in files])
    if share is not None:
        changed[_TASK_BYTES] = str(share)
    if str(spark.conf.get(_CASE_SENSITIVE)).lower() == "true":
        # Files can have struct fields in any case: Hive writes lower case.
        changed[_CASE_SENSITIVE] = "false"
    session = cloned_session(spark, changed) if changed else None
    relation, index = file_relation(
        spark, files, schema, options, StructType([]), session, file_format
    )
    return Relation(rows=rows_of(spark, relation), index=index)


def rows_of(spark: SparkSession, relation: JavaObject) -> UnresolvedPlan:
    """Build the plan that reads a ``HadoopFsRelation``."""
    plan = scala_object(spark, f"{SOURCES}.LogicalRelation").apply(relation, False)
    return UnresolvedPlan(spark, plan)


def file_relation(
    spark: SparkSession,
    files: Sequence[ScanFile],
    schema: StructType,
    options: Mapping[str, str],
    partitions: StructType,
    session: JavaObject = None,
    file_format: str = "orc.OrcFileFormat",
) -> tuple[JavaObject, JavaObject]:
    """Build a ``HadoopFsRelation`` over some files, and return it with its file index.

    Args:
        spark: the session.
        files: the files.
        schema: columns of the files.
        options: options of the data source.
        partitions: partition columns.
        session: Java session whose settings apply to the scan; by default the session of ``spark``.
        file_format: class of the format, relative to Spark's package of data sources.
    """
    relation = jvm_planning(spark).relation(
        session or spark._jsparkSession,
        _root(files) if files else None,
        encode(files),
        java_type(spark, schema),
        java_type(spark, partitions),
        f"{SOURCES}.{file_format}",
        java_map(spark, list(options.items())),
    )
    return relation, relation.location()


class RelationWatch:
    """Queue of the file indexes that the JVM has collected because no plan can reach them."""

    def __init__(self, spark: SparkSession) -> None:
        self._weak = jvm_class(spark, "java.lang.ref.WeakReference")
        self._collected = jvm_class(spark, "java.lang.ref.ReferenceQueue")()

    def reference(self, index: JavaObject) -> JavaObject:
        """Return a weak reference to a file index, registered with the queue."""
        return self._weak(index, self._collected)

    def has_unreachable(self) -> bool:
        """Return whether the JVM has collected any file index since the last call."""
        has_collected = False
        while self._collected.poll() is not None:
            has_collected = True
        return has_collected


def reachable(reference: JavaObject) -> bool:
    """Return whether a weak reference still has its file index."""
    return reference.get() is not None


def collect_garbage(spark: SparkSession) -> None:
    """Request that Python and the JVM collect unreachable objects now.

    Wait first until Spark's listeners have handled the ends of queries, because the event of a
    query's end refers to its plan.
    """
    gc.collect()
    _drop_dead_proxies(spark)
    _wait_for_listeners(spark)
    jvm_class(spark, "java.lang.System").gc()


def _wait_for_listeners(spark: SparkSession) -> None:
    """Wait at most five seconds until the listeners have handled all events."""
    try:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_LISTENER_MILLISECONDS)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getSimpleName() != "TimeoutException":
            raise


def _drop_dead_proxies(spark: SparkSession) -> None:
    """Release the JVM objects whose Python proxies no longer exist.

    py4j's worker does so once per second, which is too late for a collection that follows
    immediately.
    """
    pending = getattr(spark.sparkContext._gateway._gateway_client, "finalizer_deque", ())
    while pending:
        try:
            task = pending.pop()
        except IndexError:  # the worker was faster
            return
        if not isinstance(task, tuple):  # the request that ends the worker
            pending.append(task)
            return
        client, target_id = task
        client.garbage_collect_object(target_id, False)


def plan_source_scans(spark: SparkSession) -> None:
    """Give each query of a session its own scans, if this release of Spark would reuse them.

    Raises:
        AcidAnalysisError: UNSUPPORTED_SPARK_VERSION.
    """
    if not differences(spark).keeps_source_scans:
        return
    rule = only_object(spark, "SourceScans.java", "SourceScans")
    experimental = spark._jsparkSession.experimental()
    rules = experimental.extraOptimizations()
    if not rules.contains(rule):
        getattr(experimental, "extraOptimizations_$eq")(rules.appended(rule))
